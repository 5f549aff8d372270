"""A run on made-up judgements: what is learnable is found better, what is chance never, what is broken says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.engine.adapter_file import SHIPPED, load_adapter
from memory.engine.importance import KINDS, ImportanceHead
from training.learner.dataset import Dataset
from training.learner.failures import ClassMissing, Diverged, NotANumber, TooFewConversations, TooFewLabels
from training.learner.public_slice import Slice, slice_for
from training.learner.shared_head import HowToLearn, split
from training.learner.training import train

CHAMPION = load_adapter(SHIPPED)
WIDTH = len(CHAMPION.importance.priors["two_people"].weights)
NOWHERE = Slice({})
TASTE = np.random.default_rng(7).standard_normal(WIDTH)


def judged(seed: int, conversations: int = 40, each: int = 10, kind: str = "two_people", taste: float = 1.0) -> Dataset:
    """Judgements by a made-up taste; with 0 they are drawn without looking."""
    random = np.random.default_rng(seed)
    size = conversations * each
    z = random.standard_normal((size, WIDTH))
    chance = 1 / (1 + np.exp(-(taste * z @ TASTE - 1)))
    return Dataset(
        z=z, value=(random.random(size) < chance).astype(np.float64), weight=np.ones(size),
        kind=np.full(size, KINDS.index(kind)), group=np.repeat(np.arange(conversations), each),
        other=np.full(size, -1), memory=random.integers(0, 255, (size, 16), dtype=np.uint8),
    )  # fmt: skip


def test_a_taste_is_learned_and_found_better_and_the_other_kinds_keep_their_weights() -> None:
    outcome = train(judged(1), CHAMPION, how=HowToLearn(), public=NOWHERE)
    assert outcome.evaluation.verdict(0.95) == "better"
    found = outcome.evaluation.by_kind["two_people"].ranking
    assert found.challenger > 0.85 > 0.7 > found.champion
    assert outcome.challenger is not None
    learned = outcome.challenger.importance.priors
    assert np.corrcoef(learned["two_people"].weights, TASTE)[0, 1] > 0.8
    for kind in ("user_assistant", "tool_use"):
        assert learned[kind] is CHAMPION.importance.priors[kind]
    assert outcome.missing == {"user_assistant": 100, "tool_use": 100, "recall": 40}


def test_from_another_base_what_is_not_learned_is_the_bases_and_the_champion_is_the_measure_all_the_same() -> None:
    champion = replace(
        CHAMPION, version="tainted", floor=replace(CHAMPION.floor, threshold=0.9),
        importance=ImportanceHead(
            {kind: replace(one, weights=-one.weights) for kind, one in CHAMPION.importance.priors.items()}
        ),
    )  # fmt: skip
    how = HowToLearn(from_scratch=True)
    outcome = train(judged(1), champion, how=how, public=NOWHERE, base=CHAMPION)
    assert outcome.challenger is not None
    for kind in ("user_assistant", "tool_use"):
        assert outcome.challenger.importance.priors[kind] is CHAMPION.importance.priors[kind]
    assert outcome.challenger.floor == CHAMPION.floor
    assert outcome.challenger.recall.asking is CHAMPION.recall.asking
    beside = train(judged(1), CHAMPION, how=how, public=NOWHERE).evaluation.by_kind["two_people"].ranking
    found = outcome.evaluation.by_kind["two_people"].ranking
    assert found.challenger == beside.challenger
    assert found.champion != beside.champion


def test_with_labels_shuffled_no_challenger_is_found_better_in_twenty_of_twenty_seeds() -> None:
    verdicts = []
    for seed in range(20):
        data = judged(seed)
        shuffled = replace(data, value=np.random.default_rng(seed).permutation(data.value))
        verdicts.append(train(shuffled, CHAMPION, how=HowToLearn(seed), public=NOWHERE).evaluation.verdict(0.95))
    assert verdicts == ["not better"] * 20


def test_the_same_data_and_seed_give_the_same_weights_and_another_seed_holds_out_others() -> None:
    once, again, other = (train(judged(1), CHAMPION, how=HowToLearn(seed), public=NOWHERE) for seed in (1, 1, 2))
    bits = [one.learned.head.priors["two_people"].weights.tobytes() for one in (once, again, other)]
    assert bits[0] == bits[1] != bits[2]


def test_conversations_are_held_out_whole_and_by_seed() -> None:
    data = judged(1)
    parts = split(data, HowToLearn(3))
    held_out = set(data.group[parts.held_out].tolist())
    assert len(held_out) == 12
    assert not held_out & set(data.group[parts.train].tolist())
    assert held_out == set(data.group[split(data, HowToLearn(3)).held_out].tolist())
    assert held_out != set(data.group[split(data, HowToLearn(4)).held_out].tolist())


def test_comparisons_alone_teach_a_taste() -> None:
    data = judged(2, conversations=60)
    first, second = np.arange(0, len(data), 2), np.arange(1, len(data), 2)
    liking = data.z @ TASTE
    better, worse = np.where(liking[first] > liking[second], (first, second), (second, first))
    other, weight = np.full(len(data), -1), np.zeros(len(data))
    other[better], weight[better] = worse, 1.0
    compared = replace(data, other=other, weight=weight, value=np.where(other >= 0, 1.0, 0.0))
    outcome = train(compared, CHAMPION, how=HowToLearn(), public=NOWHERE)
    assert outcome.evaluation.verdict(0.95) == "better"
    pairs = outcome.evaluation.by_kind["two_people"].pairs
    assert pairs is not None
    assert pairs.challenger > 0.9 > pairs.champion


def test_what_costs_too_much_on_the_public_slice_is_not_taken() -> None:
    """The public conversations want the opposite of the taste: the head moves only as far as they lose .02."""
    head = CHAMPION.importance
    z = np.random.default_rng(3).standard_normal((400, WIDTH))
    prior = head.priors["two_people"]
    needed = z @ prior.weights > 1.0
    public = Slice({"two_people": [(z, needed)]})
    opposite = judged(4)
    flipped = replace(opposite, value=(opposite.z @ prior.weights < 0).astype(np.float64))
    free = train(flipped, CHAMPION, how=HowToLearn(most_lost=1.0), public=public)
    bound = train(flipped, CHAMPION, how=HowToLearn(), public=public)
    before = np.append(prior.weights, prior.bias).astype(np.float64)

    def lost(outcome: object) -> float:
        moved = outcome.learned.head.priors["two_people"]  # type: ignore[attr-defined]
        return public.lost("two_people", before, np.append(moved.weights, moved.bias))

    assert lost(free) > 0.1
    assert lost(bound) <= 0.02
    assert all(guard.ok for guard in bound.evaluation.guards)


def test_too_few_labels_are_counted_by_kind() -> None:
    with pytest.raises(TooFewLabels) as raised:
        train(judged(1, conversations=3), CHAMPION, how=HowToLearn(), public=NOWHERE)
    assert raised.value.missing == {"two_people": 70, "user_assistant": 100, "tool_use": 100, "recall": 40}


def test_labels_of_too_few_conversations_cannot_be_held_out() -> None:
    with pytest.raises(TooFewConversations) as raised:
        train(judged(1, conversations=5, each=40), CHAMPION, how=HowToLearn(), public=NOWHERE)
    assert (raised.value.have, raised.value.need) == (5, 10)


def test_a_class_that_is_missing_and_what_is_no_number_end_the_run_by_name() -> None:
    data = judged(1)
    with pytest.raises(ClassMissing):
        train(replace(data, value=np.ones(len(data))), CHAMPION, how=HowToLearn(), public=NOWHERE)
    broken = data.z.copy()
    broken[3, 2] = np.nan
    with pytest.raises(NotANumber):
        train(replace(data, z=broken), CHAMPION, how=HowToLearn(), public=NOWHERE)


def test_weights_that_run_away_end_the_run() -> None:
    data = judged(1)
    with pytest.raises(Diverged):
        train(replace(data, z=data.z * 1e-6, weight=data.weight * 1e12), CHAMPION, how=HowToLearn(), public=NOWHERE)


def test_the_public_slice_ships_numbers_of_all_kinds_that_the_champion_ranks_well() -> None:
    public = slice_for(CHAMPION.importance)
    assert set(public.streams) == set(KINDS)
    for kind in KINDS:
        prior = CHAMPION.importance.priors[kind]
        assert public.ranking(kind, np.append(prior.weights, prior.bias)) > 0.6
