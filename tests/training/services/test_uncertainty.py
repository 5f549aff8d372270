"""How sure a bank's judge is of a score: numbers worked beside it from what is stored."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agora_web.pages import sureness
from memory.adapters import adapter_named, adapter_of
from memory.models import Memory
from memory.story import ScoreRow, score_rows, story_of
from tests.memory.services.desk import Desk
from tests.training.services.test_own_heads import NOW, bank_of, odd, questions
from tests.training.services.test_own_heads import judge as say
from training.services.own_heads import learn
from training.services.uncertainty import judge_of

__all__ = ["odd"]


def deviations(desk: Desk) -> dict[str, float]:
    """Of every memory, by its words."""
    with desk.acting():
        texts = dict(Memory.objects.filter(bank=desk.bank_id).values_list("pk", "text"))
        return {texts[memory]: found for memory, found in judge_of(bank_of(desk)).deviations(texts).items()}


def test_of_a_shared_head_every_weight_is_open_by_one_over_the_root_of_three(desk: Desk) -> None:
    desk.tell("Vera bakes walnut bread.", "Noted.")
    with desk.acting():
        memory = Memory.objects.get(bank=desk.bank_id, role="user")
        judge, serves = judge_of(bank_of(desk)), adapter_of(bank_of(desk)).version
        _found, z = judge.usual.standardised([memory.pk])
        (deviation,) = judge.deviations([memory.pk]).values()
    # precision 3 in each direction: the variance of w.z + b is (z.z + 1) / 3
    assert deviation == pytest.approx(math.sqrt((float((z.astype(float) ** 2).sum()) + 1) / 3))
    assert (judge.version, judge.learned_from) == (serves, 0)


def test_a_head_of_the_banks_own_is_surer_by_the_curvature_of_what_it_learned_from(odd: Desk) -> None:
    before = deviations(odd)
    say(odd, questions)
    assert deviations(odd) == pytest.approx(before)  # not learned yet: the shared head judges as before
    with odd.acting():
        learn(bank_of(odd), now=NOW)
        judge = judge_of(bank_of(odd))
        memories = list(Memory.objects.filter(bank=odd.bank_id))
        found, z = judge.usual.standardised([one.pk for one in memories])
        head = adapter_named(judge.version).importance.priors[judge.usual.kind]
    assert judge.learned_from == len(memories) == 32
    x = np.hstack([z.astype(float), np.ones((len(z), 1))])
    p = 1 / (1 + np.exp(-(x[:, :-1] @ head.weights.astype(float) + head.bias)))
    precision = 3 * np.eye(x.shape[1]) + sum(
        one * (1 - one) * np.outer(row, row) for one, row in zip(p, x, strict=True)
    )
    expected = np.sqrt(np.diag(x @ np.linalg.inv(precision) @ x.T))
    after = deviations(odd)
    texts = {one.pk: one.text for one in memories}
    assert after == pytest.approx({texts[pk]: value for pk, value in zip(found, expected, strict=True)}, rel=1e-4)
    assert all(after[text] < before[text] for text in before)


def test_a_score_gets_an_interval_only_from_the_adapter_that_gave_it_and_with_features(desk: Desk) -> None:
    desk.tell("Vera bakes walnut bread.", "")
    desk.tell("The harbour opens at nine.", "")
    with desk.acting():
        first, second = Memory.objects.filter(bank=desk.bank_id).order_by("written_seq")
        Memory.objects.filter(pk=second.pk).update(features=[])
        judge = judge_of(bank_of(desk))
        (own,) = score_rows(story_of(first.pk))
        other = ScoreRow(**{**vars(own), "adapter": "another-1"})
        shown = sureness.with_intervals([own, other], judge, lambda row: first.pk)
        (bare,) = sureness.with_intervals(score_rows(story_of(second.pk)), judge, lambda row: second.pk)
        (deviation,) = judge.deviations([first.pk]).values()
    odds = own.importance / (1 - own.importance)
    low, high = (odds * math.exp(side * deviation) for side in (-1, 1))
    assert (shown[0].low, shown[0].high) == pytest.approx((low / (1 + low), high / (1 + high)), abs=2e-6)
    assert [(one.low, one.high, one.unsure) for one in (shown[1], bare)] == [
        (None, None, "other_adapter"), (None, None, "no_features")
    ]  # fmt: skip
    assert sureness.note(shown, judge) == (
        "Bars reach one standard deviation of the score’s logit to each side. They are wide: "
        f"{judge.version} is shared by all banks and has learned nothing of this one. "
        f"1 score has no bar: another adapter gave it than {judge.version}, which judges now."
    )
