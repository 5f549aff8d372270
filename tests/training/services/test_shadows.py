"""A challenger scores silently: what it would have said is kept beside what was said, and nothing else changes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agora_web.accounts.models import User
from memory.adapters import shipped_adapter
from memory.models import AdapterVersion, Event
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from tests.training.services.challengers import stored, upside_down
from training.models import Promotion, PromotionMode, ShadowScore
from training.services import shadows
from training.services.promotions import promote, roll_back

TOLD = ["My boat is called Seagull", "Rent is 900 euros", "The key lies under the third pot", "Hello there",
        "Ana's birthday is 5 May", "I never eat walnuts", "How are you?", "Flight TP361 leaves at 7:40"]  # fmt: skip


@pytest.fixture
def shadowed(desk: Desk, operator: User) -> tuple[Desk, Promotion]:
    desk.tell("Told before the shadow began", "")
    stored(upside_down())
    with acting_as(operator.pk):
        made = promote("run-1", by=operator.pk, mode=PromotionMode.SHADOW, now=datetime.now(UTC))
    for text in TOLD:
        desk.tell(text, "")
    return desk, made


def test_what_was_written_since_is_scored_by_both_as_it_was_at_writing(shadowed: tuple[Desk, Promotion]) -> None:
    desk, _made = shadowed
    before = desk.agree()
    assert shadows.score_silently() == len(TOLD)
    assert desk.agree() == before, "a shadow changes nothing"
    with desk.acting():
        said = dict(Event.objects.filter(bank=desk.bank_id, kind="written").values_list("seq", "data"))
        for row in ShadowScore.objects.all():
            assert row.champion == pytest.approx(said[row.seq]["importance"], abs=2e-3)
            assert row.challenger == pytest.approx(1 - row.champion, abs=2e-3)


def test_a_recall_is_weighed_by_both_and_compared_by_what_comes_first(shadowed: tuple[Desk, Promotion]) -> None:
    desk, made = shadowed
    shadows.score_silently()
    asked = desk.ask("Where is the key?")
    assert shadows.score_silently() == 1
    row = ShadowScore.objects.using("worker").get(promotion=made, kind="recalled")
    assert row.seq == desk.agree().seq
    assert row.same is True, "both have the same recall head"
    assert row.champion == row.challenger == pytest.approx(asked.trace.rows[0]["weight"], abs=1e-3)


def test_each_event_is_scored_once_however_often_the_clock_strikes(shadowed: tuple[Desk, Promotion]) -> None:
    desk, made = shadowed
    assert shadows.score_silently() == len(TOLD)
    assert shadows.score_silently() == 0
    desk.tell("One more thing", "")
    assert shadows.score_silently() == 1
    assert ShadowScore.objects.using("worker").filter(promotion=made).count() == len(TOLD) + 1


def test_the_agreement_is_told_over_all_banks_and_by_bank(shadowed: tuple[Desk, Promotion], operator: User) -> None:
    desk, made = shadowed
    desk.ask("Where is the key?")
    with acting_as(operator.pk):
        assert shadows.agreement(made) == []
    shadows.score_silently()
    with acting_as(operator.pk):
        every, one = shadows.agreement(made)
    assert (every.bank, one.bank) == (None, desk.bank_id)
    assert (one.written, one.recalled, one.same_first) == (len(TOLD), 1, 1.0)
    assert one.rank == pytest.approx(-1.0), "it puts everything the other way round"
    assert one.change is not None


def test_without_a_shadow_nothing_is_scored_and_people_see_their_own_scores_alone(
    shadowed: tuple[Desk, Promotion], operator: User, stranger: User
) -> None:
    desk, made = shadowed
    shadows.score_silently()
    with desk.acting():
        assert ShadowScore.objects.exists()
    with acting_as(stranger.pk):
        assert not ShadowScore.objects.exists()
    with acting_as(operator.pk):
        roll_back(made.pk, by=operator.pk, now=datetime.now(UTC))
    desk.tell("One more thing", "")
    assert shadows.score_silently() == 0


def test_an_adapter_that_is_gone_shadows_nothing(shadowed: tuple[Desk, Promotion]) -> None:
    assert AdapterVersion.objects.filter(version="run-1").update(weights=None) == 1
    from memory import adapters

    adapters._at_hand.clear()
    assert shadows.score_silently() == 0
    assert shipped_adapter().version not in adapters._at_hand
