"""A run on made-up judged cues: what is learnable is found better, what is chance never, what is broken says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.engine.adapter import Adapter, Interplay
from memory.engine.adapter_file import SHIPPED, load_adapter
from memory.engine.signals import NAMES
from tests.training.learner.made_up_cues import SIGNAL, cues_by, shuffled, together
from tests.training.learner.test_run_training import judged
from training.learner.cue_likelihood import Prior, attention, loss, most_probable, offsets
from training.learner.cue_ranking import UNSAID, UNSEEN, RankedCues
from training.learner.cue_training import RECALL, split_cues
from training.learner.cues import Cues, nothing
from training.learner.dataset import Dataset
from training.learner.failures import ClassMissing, Diverged, NotANumber, TooFewConversations, TooFewLabels
from training.learner.public_cues import PublicCues
from training.learner.public_slice import Slice
from training.learner.shared_head import LEAST_CUES, HowToLearn
from training.learner.training import Outcome, Public, train

CHAMPION = load_adapter(SHIPPED)
NOWHERE = Public(Slice({}), PublicCues({}))
S = len(NAMES)


def no_judgements() -> Dataset:
    return judged(1, conversations=0)


def run(cues: Cues, seed: int = 1, public: Public = NOWHERE, champion: Adapter = CHAMPION, **how: float) -> Outcome:
    return train(no_judgements(), champion, how=HowToLearn(seed, **how), cues=cues, public=public)  # type: ignore[arg-type]


def test_what_decides_is_learned_and_found_better_and_the_other_modes_keep_their_weights() -> None:
    outcome = run(cues_by(1))
    assert outcome.evaluation.verdict(0.95) == "better"
    found = outcome.evaluation.recall.by_mode["asking"].ranking
    assert found.challenger > 0.85 > 0.7 > found.champion
    assert found.low > 0
    assert outcome.challenger is not None
    learned = outcome.challenger.recall
    assert int(np.argmax(learned.asking)) == SIGNAL
    assert learned.asking[SIGNAL] > CHAMPION.recall.asking[SIGNAL] + 0.5
    assert learned.telling is CHAMPION.recall.telling
    assert outcome.challenger.importance.priors == CHAMPION.importance.priors
    assert outcome.missing == {"two_people": 100, "user_assistant": 100, "tool_use": 100}


def test_with_labels_shuffled_no_challenger_is_found_better_in_twenty_of_twenty_seeds() -> None:
    verdicts = [run(shuffled(cues_by(seed), seed), seed).evaluation.verdict(0.95) for seed in range(20)]
    assert verdicts == ["not better"] * 20


def test_the_same_cues_and_seed_give_the_same_weights_and_another_seed_holds_out_others() -> None:
    once, again, other = (run(cues_by(1), seed) for seed in (1, 1, 2))
    bits = [one.recalled.head.asking.tobytes() for one in (once, again, other)]
    assert bits[0] == bits[1] != bits[2]
    assert once.calibration == again.calibration


def test_importance_and_recall_are_learned_in_one_run_and_share_its_confidence() -> None:
    outcome = train(judged(1), CHAMPION, how=HowToLearn(), cues=cues_by(1), public=NOWHERE)
    assert outcome.evaluation.verdict(0.95) == "better"
    assert outcome.challenger is not None
    assert (outcome.challenger.recall.asking != CHAMPION.recall.asking).any()
    before = CHAMPION.importance.priors["two_people"].weights
    assert (outcome.challenger.importance.priors["two_people"].weights != before).any()
    alone = run(cues_by(1))
    assert outcome.recalled.head.asking.tobytes() == alone.recalled.head.asking.tobytes()


def test_cues_that_the_encoder_cannot_read_are_not_learned_from() -> None:
    unread = cues_by(1, mode="unread")
    with pytest.raises(TooFewLabels):
        run(unread)
    both = run(together(cues_by(1), unread))
    assert [one.mode for one in both.recalled.modes] == ["asking"]
    assert both.recalled.head.unread is CHAMPION.recall.unread


def test_several_modes_are_corrected_for_there_being_several() -> None:
    noise = shuffled(cues_by(3, mode="telling"), 3)
    both = run(together(cues_by(1), noise))
    confidences = both.evaluation.recall.confidence
    assert both.evaluation.better == max(0.0, 1 - len(confidences) * (1 - max(confidences)))
    assert set(both.evaluation.recall.by_mode) == {"asking", "telling"}


def test_too_few_labels_of_both_say_how_many_are_missing_of_each() -> None:
    few = cues_by(1, conversations=3, each=1)  # 18 judgements
    with pytest.raises(TooFewLabels) as raised:
        run(few)
    assert raised.value.missing == {
        "two_people": 100, "user_assistant": 100, "tool_use": 100, RECALL: LEAST_CUES - 18,
    }  # fmt: skip
    outcome = train(judged(1), CHAMPION, how=HowToLearn(), cues=few, public=NOWHERE)
    assert outcome.missing[RECALL] == LEAST_CUES - 18
    assert outcome.recalled.modes == ()
    assert outcome.recalled.head is CHAMPION.recall


def test_cues_of_too_few_conversations_cannot_be_held_out_and_leave_importance_alone() -> None:
    narrow = cues_by(1, conversations=5, each=10)
    with pytest.raises(TooFewConversations) as raised:
        run(narrow)
    assert (raised.value.have, raised.value.need) == (5, 10)
    assert train(judged(1), CHAMPION, how=HowToLearn(), cues=narrow, public=NOWHERE).challenger is not None


def test_labels_that_all_say_the_same_end_a_run_by_name_and_leave_importance_alone() -> None:
    one_sided = cues_by(1)
    one_sided = replace(one_sided, value=one_sided.judged * 1.0)
    with pytest.raises(ClassMissing) as raised:
        run(one_sided)
    assert (raised.value.kind, raised.value.high) == ("asking", True)
    assert train(judged(1), CHAMPION, how=HowToLearn(), cues=one_sided, public=NOWHERE).challenger is not None


def test_what_is_no_number_ends_the_run_by_name() -> None:
    told = cues_by(1)
    broken = told.signals.copy()
    broken[3, 2] = np.nan
    with pytest.raises(NotANumber):
        run(replace(told, signals=broken))


def test_weights_that_run_away_end_the_run() -> None:
    told = cues_by(1)
    with pytest.raises(Diverged):
        run(replace(told, signals=told.signals * 1e-3, weight=told.weight * 1e9))


def test_conversations_are_held_out_whole_and_by_seed() -> None:
    told = cues_by(1)
    parts = split_cues(told, HowToLearn(3))
    held_out = set(told.group[parts.held_out].tolist())
    assert len(held_out) == 9
    assert not held_out & set(told.group[parts.train].tolist())
    assert held_out != set(told.group[split_cues(told, HowToLearn(4)).held_out].tolist())


def test_an_interplay_stays_and_is_reckoned_with() -> None:
    random = np.random.default_rng(2)
    parts = [random.standard_normal(size).astype(np.float32) for size in ((4, S), 4, 4)]
    champion = replace(CHAMPION, recall=replace(CHAMPION.recall, interplay=Interplay(*parts)))
    outcome = run(cues_by(1), champion=champion)
    assert outcome.challenger is not None
    assert outcome.challenger.recall.interplay is champion.recall.interplay
    assert outcome.evaluation.verdict(0.95) == "better"
    assert outcome.recalled.head.asking.tobytes() != run(cues_by(1)).recalled.head.asking.tobytes()


def test_from_scratch_the_untrained_weights_are_believed_at_first() -> None:
    scratch, on = run(cues_by(1), from_scratch=True), run(cues_by(1))
    assert scratch.challenger is not None
    assert scratch.recalled.head.asking.tobytes() != on.recalled.head.asking.tobytes()
    assert scratch.evaluation.recall.by_mode["asking"].ranking.champion == (
        on.evaluation.recall.by_mode["asking"].ranking.champion
    )  # fmt: skip


def test_what_costs_too_much_on_the_public_cues_is_not_taken_and_what_still_loses_is_guarded() -> None:
    """The public cues want the champion's order, the people its opposite."""
    random = np.random.default_rng(3)
    head = CHAMPION.recall
    questions = []
    for _ in range(40):
        signals = random.standard_normal((30, S)).astype(np.float32)
        logits = signals @ head.asking
        questions.append((signals, logits >= np.sort(logits)[-3]))
    public = Public(Slice({}), PublicCues({"asking": questions}))
    told = cues_by(4)
    logits = told.signals @ head.asking
    opposite = replace(told, value=((logits < 0) & told.judged) * 1.0)
    before = np.asarray(head.asking, dtype=np.float64)

    def lost(outcome: Outcome) -> float:
        after = public.cues.ranking("asking", head, outcome.recalled.head.asking.astype(np.float64))
        return public.cues.ranking("asking", head, before) - after

    assert lost(run(opposite, public=public, most_lost=1.0)) > 0.1
    bound = run(opposite, public=public)
    assert lost(bound) <= 0.02
    assert all(one.ok for one in bound.evaluation.guards)
    (guard,) = [one for one in bound.evaluation.guards if one.name == "public"]
    assert guard.kind == "asking"


def test_a_challenger_takes_temperature_and_floor_along_and_the_floor_is_guarded() -> None:
    told = cues_by(1, judged=12)
    told = replace(told, fit=np.where(told.value > 0.5, 0.6, 0.38).astype(np.float32))
    outcome = run(told)
    assert outcome.challenger is not None
    assert CHAMPION.floor.threshold < outcome.challenger.floor.threshold <= 0.382
    assert outcome.challenger.recall.temperature == outcome.calibration.temperature
    (guard,) = [one for one in outcome.evaluation.guards if one.name == "floor"]
    assert (guard.kind, guard.champion, guard.challenger, guard.ok) == (RECALL, 1.0, 1.0, True)
    chance = run(shuffled(told, 1))
    assert chance.calibration.floor == CHAMPION.floor


# --- the likelihood -------------------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_likelihood_and_the_weights_found_are_its_mode() -> None:
    told = cues_by(5, conversations=6)
    prior = Prior(np.asarray(CHAMPION.recall.asking, dtype=np.float64), 2.0)
    none = offsets(told, CHAMPION.recall)
    curve: list[float] = []
    found = most_probable(told, prior, 1.1, none, curve.append)
    assert curve == sorted(curve, reverse=True)
    assert len(curve) > 2

    def value(weights: np.ndarray) -> float:  # type: ignore[type-arg]
        far = weights - prior.mean
        return loss(told, told.signals @ weights + none, 1.1) + float(far @ far)

    for axis in np.eye(S):
        slope = (value(found + 1e-4 * axis) - value(found - 1e-4 * axis)) / 2e-4
        assert abs(slope) < 0.02
    assert value(found) < value(prior.mean) - 10


def test_attention_is_that_of_the_engine() -> None:
    told = cues_by(5, conversations=2)
    logits = told.signals @ CHAMPION.recall.asking.astype(np.float64)
    p = attention(told, logits, 1.3)
    assert np.bincount(told.cue, p) == pytest.approx(np.ones(len(told)))
    first = np.exp(logits[:12] / 1.3)
    assert p[:12] == pytest.approx(first / first.sum())


def test_a_cue_of_a_single_row_says_nothing_and_breaks_nothing() -> None:
    single = cues_by(1, rows=1, judged=1)
    prior = Prior(np.zeros(S), 1.0)
    assert most_probable(single, prior, 1.0, np.zeros(len(single.cue))).tolist() == [0.0] * S


# --- the figures ----------------------------------------------------------------------------------------------------


def test_ranking_counts_pairs_within_a_cue_and_silence_weakly() -> None:
    told = cues_by(1, conversations=1, each=1, rows=4, judged=3)
    told = replace(
        told, value=np.array([1.0, 0.0, 0.0, 0.0]), weight=np.array([1.0, 1.0, 0.0, 0.0]),
        shown=np.array([True, True, True, False]),
    )  # fmt: skip
    champion, challenger = np.array([2.0, 3.0, 1.0, 9.0]), np.array([3.0, 2.0, 3.0, 9.0])
    ranked = RankedCues(told, champion, challenger, (1.0, 1.0))
    # one is judged not to fit (1), of one nothing was said (.1), one was not shown and leads by far (.03)
    whole = 1 + UNSAID + UNSEEN
    wanted = (UNSAID / whole, (1 + UNSAID / 2) / whole)
    assert ranked.now() == pytest.approx(wanted)
    mean = ranked.attended(1)
    assert mean.champion == pytest.approx(float(np.exp(2) / np.exp(champion).sum()))
    assert ranked.ranking(1).n == 2


def test_without_a_cue_there_is_no_pair_and_neither_is_ahead() -> None:
    none = np.zeros(0)
    ranked = RankedCues(nothing(), none, none, (1.0, 1.0))
    assert (ranked.paired, ranked.now()) == (False, (0.5, 0.5))
