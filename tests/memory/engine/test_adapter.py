import math

import numpy as np
import pytest

from memory.engine import features, signals
from memory.engine.features import Context
from memory.engine.importance import KINDS, ImportanceHead, ImportancePrior
from memory.engine.lexical import LexicalIndex, terms
from memory.engine.prior import prior, vector_of
from memory.engine.statistics import ROLES, RoleStatistics
from memory.engine.types import Role


def only(**weights: float) -> ImportanceHead:
    """A head of these weights and bias 1 for every kind; every feature usually 3, give or take 2."""
    usual = np.full((len(ROLES), len(features.NAMES)), 3.0, dtype=np.float32)
    one = ImportancePrior(vector_of(features.NAMES, weights), 1.0, usual, usual - 1)
    return ImportanceHead(dict.fromkeys(KINDS, one))


def test_importance_is_the_logistic_of_the_weighted_features() -> None:
    head = only(log_words=0.5, novelty=-2.0, role_user=0.25)
    values = vector_of(features.NAMES, {"log_words": 5.0, "novelty": 2.0, "role_user": 1.0})
    # usual moments 3 +- 2 for every feature: z is 1 and -0.5; the flag is taken as it is
    logit = 0.5 * 1 - 2.0 * -0.5 + 0.25 + 1.0
    assert head.importance(values, Role.USER, RoleStatistics()) == pytest.approx(1 / (1 + math.exp(-logit)))


def test_the_prior_has_a_weight_for_every_feature_and_signal() -> None:
    adapter = prior()
    assert adapter.version == "prior-2"
    assert set(adapter.importance.priors) == set(KINDS)
    for one in adapter.importance.priors.values():
        assert one.weights.shape == (len(features.NAMES),)
        assert one.mean.shape == one.deviation.shape == (len(ROLES), len(features.NAMES))
        assert (one.deviation > 0).all()
    for weights in (adapter.recall.asking, adapter.recall.telling, adapter.recall.unread):
        assert weights.shape == (len(signals.NAMES),)
    assert adapter.floor.threshold < adapter.floor.highly


def test_cues_that_ask_and_cues_that_tell_have_weights_of_their_own() -> None:
    head = prior().recall
    assert head.weights(True) is head.asking
    assert head.weights(False) is head.telling
    assert head.weights(True, readable=False) is head.weights(False, readable=False) is head.unread
    assert not np.array_equal(head.asking, head.telling)
    assert not np.array_equal(head.asking, head.unread)


def test_a_weight_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no_such_signal"):
        vector_of(signals.NAMES, {"no_such_signal": 1.0})


def test_the_prior_keeps_facts_before_small_talk_and_questions() -> None:
    def importance(text: str, role: Role = Role.USER) -> float:
        values = features.features(text, terms(text), role, Context(False, False, 0.0), LexicalIndex())
        return prior().importance.importance(values, role, RoleStatistics())

    fact = importance("My passport number is X1234567 and it expires on 3 May 2027")
    assert fact > importance("I went to the shop and then home again")
    assert fact > importance("When does my passport expire?") > importance("ok thanks!")
    assert importance("Anna lives in Lisbon") > importance("Anna lives in Lisbon", Role.ASSISTANT)
    assert 0 < importance("ok thanks!") < importance("x" * 100) < 1
