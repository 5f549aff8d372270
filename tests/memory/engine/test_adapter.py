import math

import numpy as np
import pytest

from memory.engine import features, signals
from memory.engine.adapter import ImportanceHead, _vector, prior
from memory.engine.features import Context
from memory.engine.lexical import LexicalIndex, terms
from memory.engine.types import Role
from tests.memory.engine.toy_bank import floats


def test_importance_is_the_logistic_of_the_weighted_features() -> None:
    head = ImportanceHead(weights=floats(0.5, -2.0), bias=1.0)
    assert head.importance(floats(2.0, 1.0)) == pytest.approx(1 / (1 + math.exp(-(0.5 * 2 - 2 + 1))))
    assert head.importance(floats(0.0, 0.5)) == pytest.approx(0.5)


def test_the_prior_has_a_weight_for_every_feature_and_signal() -> None:
    adapter = prior()
    assert adapter.version == "prior-1"
    assert adapter.importance.weights.shape == (len(features.NAMES),)
    assert adapter.recall.asking.shape == adapter.recall.telling.shape == (len(signals.NAMES),)
    assert adapter.floor.threshold < adapter.floor.highly


def test_cues_that_ask_and_cues_that_tell_have_weights_of_their_own() -> None:
    head = prior().recall
    assert head.weights(True) is head.asking
    assert head.weights(False) is head.telling
    assert not np.array_equal(head.asking, head.telling)


def test_a_weight_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no_such_signal"):
        _vector(signals.NAMES, {"no_such_signal": 1.0})


def test_the_prior_keeps_facts_before_small_talk_and_questions() -> None:
    def importance(text: str, role: Role = Role.USER) -> float:
        values = features.features(text, terms(text), role, Context(False, False, 0.0), LexicalIndex())
        return prior().importance.importance(values)

    fact = importance("My passport number is X1234567 and it expires on 3 May 2027")
    assert fact > importance("I went to the shop and then home again")
    assert fact > importance("When does my passport expire?") > importance("ok thanks!")
    assert importance("Anna lives in Lisbon") > importance("Anna lives in Lisbon", Role.ASSISTANT)
    assert 0 < importance("ok thanks!") < importance("x" * 100) < 1
