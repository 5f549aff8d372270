"""One bank's reads against a bank made by hand: what stays, what left, what was recalled, missed, told again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest

from agora_web.accounts.models import User
from memory import bank_lists, bank_past, bank_recalls
from memory.engine.types import State
from memory.models import Doubt, Event, Memory, Recall, Turn
from memory.services import memories
from memory.services.conversations import forget_conversation
from memory.services.turns import NotFound
from memory.stretch import Stretch
from tests.memory.services.desk import Desk
from tests.scenes import make_person

pytestmark = pytest.mark.django_db
ALL = Stretch()
TOLD = ("Anna lives in Lisbon", "My bike is red", "I drink tea", "My dog is old", "The sea is blue")


@pytest.fixture
def desk() -> Desk:
    desk = Desk(make_person(), memories=5, policy="fifo")
    for text in TOLD:
        desk.tell(text, "Noted.")
    return desk


def held(desk: Desk) -> Counter[str]:
    with desk.acting():
        return Counter(Memory.objects.filter(bank=desk.bank_id, state=State.HELD).values_list("role", flat=True))


def past(desk: Desk) -> bank_past.BankPast:
    with desk.acting():
        return bank_past.past_of(desk.bank_id)


def test_the_past_of_no_bank_or_of_anothers_is_not_found(desk: Desk) -> None:
    for bank, person in ((uuid4(), desk.person), (desk.bank_id, make_person("ben@example.org"))):
        other = Desk(person) if person != desk.person else desk
        with other.acting(), pytest.raises(NotFound):
            bank_past.past_of(bank)


@pytest.mark.parametrize(("days", "age"), [(0, "day"), (0.99, "day"), (1, "week"), (8, "month"), (31, "quarter"),
                                          (92, "year"), (365, "older"), (9999, "older")])  # fmt: skip
def test_ages_begin_where_the_one_before_ends(days: float, age: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert bank_past.age_of(now - timedelta(days=days), now) == age


def test_steps_begin_with_the_readers_hour_day_or_monday() -> None:
    zone = ZoneInfo("Europe/Lisbon")
    at = datetime(2026, 7, 15, 23, 40, tzinfo=UTC)  # Thursday, 00:40 in Lisbon
    assert bank_past.begins(at, "hour", zone).isoformat() == "2026-07-16T00:00:00+01:00"
    assert bank_past.begins(at, "day", zone).isoformat() == "2026-07-16T00:00:00+01:00"
    assert bank_past.begins(at, "week", zone).isoformat() == "2026-07-13T00:00:00+01:00"


@pytest.mark.parametrize(("days", "step"), [(4, "hour"), (5, "day"), (200, "day"), (201, "week")])
def test_long_times_are_told_in_long_steps(days: int, step: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert bank_past.step_of([], Stretch(since=now - timedelta(days=days)), now) == step


def test_the_composition_counts_what_is_held_by_age_and_group(desk: Desk) -> None:
    now = datetime.now(UTC)
    old = desk.memory("The sea is blue")
    with desk.acting():
        memories.pin(old.pk, now=now)
        Memory.objects.filter(pk=old.pk).update(at=now - timedelta(days=40))
        rows = bank_past.composition_rows(desk.bank_id, now, ALL)
        (tea,) = bank_past.composition_rows(desk.bank_id, now, ALL, group="user")[:1]
        recent = bank_past.composition_rows(desk.bank_id, now, Stretch(since=now - timedelta(days=1)))
        assert bank_past.composition_rows(desk.bank_id, now, ALL, adapter="none such") == []
        kept = Memory.objects.filter(bank=desk.bank_id, state=State.HELD)
        assert sum(row.tokens for row in rows) == sum(kept.values_list("tokens", flat=True))
    assert Counter({row.group: 0 for row in rows}) | sum(
        (Counter({row.group: row.memories}) for row in rows), Counter()
    ) == held(desk)
    assert [(row.age, row.pinned) for row in rows if row.age != "day"] == [("quarter", 1)]
    assert tea.group == "user"
    assert {row.age for row in recent} == {"day"}


def test_rows_of_several_banks_become_one_with_the_mean_by_memories() -> None:
    row = bank_past.CompositionRow
    assert bank_past.summed_composition(
        [row("week", "user", 1, 0, 10, 0.9), row("day", "user", 2, 1, 5, 0.5), row("week", "user", 3, 1, 6, 0.5)]
    ) == [row("day", "user", 2, 1, 5, 0.5), row("week", "user", 4, 1, 16, 0.6)]


def test_fullness_is_the_ledgers_own_count_at_the_end_of_each_step_and_at_most(desk: Desk) -> None:
    (row,) = bank_past.fullness_rows(past(desk), "week", ALL)
    with desk.acting():
        kept = Memory.objects.filter(bank=desk.bank_id, state=State.HELD)
        assert (row.memories, row.tokens) == (kept.count(), sum(kept.values_list("tokens", flat=True)))
    assert (row.budget_memories, row.share, row.most) == (5, 1.0, 1.0)
    assert bank_past.fullness_rows(past(desk), "week", Stretch(until=datetime(2020, 1, 1, tzinfo=UTC))) == []


def test_turnover_and_leaving_say_what_the_ledger_says(desk: Desk) -> None:
    gone = desk.memory("Anna lives in Lisbon")
    assert gone.state == State.ARCHIVED
    with desk.acting():
        memories.restore(gone.pk, now=datetime.now(UTC))
        memories.forget(desk.memory("The sea is blue").pk, now=datetime.now(UTC))
        (row,) = bank_past.turnover_rows([past(desk)], "week", ALL)
        events = Counter(Event.objects.filter(bank=desk.bank_id).values_list("kind", flat=True))
        leaving = bank_past.leaving_rows(past(desk), ALL)
    assert (row.written, row.back, row.evicted) == (events["written"], events["restored"], events["evicted"])
    assert row.gone == 1
    assert Counter(one.reason for one in leaving) == Counter({"budget": events["evicted"], "forgotten": 1})
    assert leaving[0].left_at == max(one.left_at for one in leaving)
    assert {one.policy for one in leaving if one.reason == "budget"} == {"fifo"}
    only = bank_past.leaving_rows(past(desk), ALL, reason="forgotten")
    assert [one.memory for one in only] == [desk.memory("The sea is blue").pk]
    assert bank_past.leaving_rows(past(desk), ALL, adapter="none such") == []


def test_a_banks_line_has_its_numbers(desk: Desk) -> None:
    desk.ask("My dog is old?")
    row = bank_past.bank_row(past(desk), ALL, name="Scribe", opened=True)
    with desk.acting():
        rows = Memory.objects.filter(bank=desk.bank_id)
        assert row.held == rows.filter(state=State.HELD).count() == 5
        assert row.archived == rows.filter(state=State.ARCHIVED).count()
        assert row.written == rows.count()
    assert (row.recalls, row.share, row.opened) == (1, 1.0, True)
    later = bank_past.bank_row(past(desk), Stretch(since=datetime(2999, 1, 1, tzinfo=UTC)), name="", opened=False)
    assert (later.written, later.evicted, later.recalls, later.held) == (0, 0, 0, 5)
    none = bank_past.bank_row(past(desk), ALL, name="", opened=False, adapter="none such")
    assert (none.written, none.evicted, none.recalls, none.held) == (0, 0, 0, 5)


def test_the_work_of_each_memory_is_the_weight_that_its_recalls_tell(desk: Desk) -> None:
    asked = [desk.ask("My dog is old?"), desk.ask("Is the sea blue?"), desk.ask("The blue sea and my dog")]
    wanted: Counter[UUID] = Counter()
    for one in asked:
        for row in one.trace.rows:
            if row["recalled"]:
                wanted[UUID(row["memory"])] += row["weight"]
    assert wanted
    with desk.acting():
        rows = bank_recalls.ranked_work(bank_recalls.work_rows(desk.bank_id, ALL))
        adapter = asked[0].trace.adapter
        same = bank_recalls.recalls_of(desk.bank_id, ALL, adapter)
        assert bank_recalls.recalls_of(desk.bank_id, ALL, "none such") == {}
        assert bank_recalls.recalls_of(desk.bank_id, Stretch(until=asked[0].trace.at)) == {}
        counts = Recall.objects.filter(bank=desk.bank_id).count()
    assert counts == 3
    assert {row.memory: pytest.approx(row.mass, abs=1e-4) for row in rows if row.recalls} == dict(wanted)
    assert same.keys() == wanted.keys()
    assert [row.mass for row in rows] == sorted((row.mass for row in rows), reverse=True)
    assert rows[-1].cumulative == pytest.approx(1)
    assert sum(row.share for row in rows) == pytest.approx(1, abs=1e-4)
    assert {row.memory for row in rows} >= {desk.memory("My dog is old").pk, desk.memory("I drink tea").pk}


def test_without_recalls_nothing_has_a_share() -> None:
    row = bank_recalls.WorkRow(uuid4(), uuid4(), "held", 0, 0.0)
    assert bank_recalls.ranked_work([row]) == [row]


def test_never_recalled_is_all_but_what_a_recall_handed_on(desk: Desk) -> None:
    asked = desk.ask("My dog is old?")
    handed = {UUID(row["memory"]) for row in asked.trace.rows if row["recalled"]}
    now = datetime.now(UTC)
    with desk.acting():
        counts = bank_recalls.never_rows(desk.bank_id, now, ALL)
        inside = set(Memory.objects.filter(bank=desk.bank_id, state=State.HELD).values_list("pk", flat=True))
        of_person = bank_recalls.never_rows(desk.bank_id, now, ALL, group="user")
    assert counts == {"day": (len(inside), len(inside - handed))}
    assert of_person["day"][0] == held(desk)["user"]
    (row,) = bank_recalls.summed_never([counts, counts])
    assert (row.age, row.memories, row.never) == ("day", 2 * len(inside), 2 * len(inside - handed))


def test_a_departure_is_missed_where_a_later_cue_would_have_recalled_it(desk: Desk) -> None:
    gone, other = desk.memory("Anna lives in Lisbon"), desk.memory("My bike is red")
    asked = desk.ask("Where does Anna live?")
    with desk.acting():
        left = Event.objects.filter(bank=desk.bank_id, kind="evicted", memory=gone.pk).get()
        Recall.objects.filter(pk=asked.trace.pk).update(
            regretted=[{"memory": str(gone.pk)}, {"memory": str(desk.memory("The sea is blue").pk)}]
        )
        found = bank_recalls.departures(past(desk), ALL, {(asked.trace.pk, gone.pk)})
        unheard = bank_recalls.departures(past(desk), ALL)
    assert sum(one.missed for one in found) == sum(one.said_again for one in found) == 1
    assert [one.left_at for one in found if one.missed] == [left.at]
    assert not any(one.said_again for one in unheard)
    rows = bank_recalls.regret_rows(found, "week", ALL)
    assert [(row.policy, row.left, row.missed, row.said_again) for row in rows] == [("fifo", len(found), 1, 1)]
    assert rows[0].share == pytest.approx(1 / len(found), abs=1e-6)
    assert bank_recalls.regret_rows(found, "week", ALL, policy="lru") == []
    assert other.pk != gone.pk


def test_what_was_missed_before_it_left_or_after_it_came_back_and_left_again_counts_where_it_belongs(
    desk: Desk,
) -> None:
    gone = desk.memory("Anna lives in Lisbon")
    with desk.acting():
        first = Event.objects.filter(bank=desk.bank_id, kind="evicted", memory=gone.pk).get().at
        memories.restore(gone.pk, now=datetime.now(UTC))
    for number in range(6):
        desk.tell(f"Number {number} is a new thing")
    asked = desk.ask("Where does Anna live?")
    with desk.acting():
        last = Event.objects.filter(bank=desk.bank_id, kind="evicted", memory=gone.pk).latest("seq").at
        assert first < last
        Recall.objects.filter(pk=asked.trace.pk).update(regretted=[{"memory": str(gone.pk)}])
        found = bank_recalls.departures(past(desk), ALL)
    assert [one.left_at for one in found if one.missed] == [last]


def test_what_was_told_again_is_counted_by_how(desk: Desk) -> None:
    for _ in range(2):
        desk.tell("The sea is blue")
    with desk.acting():
        rows = bank_lists.again_rows(desk.bank_id, ALL)
        assert bank_lists.again_rows(desk.bank_id, Stretch(until=datetime(2020, 1, 1, tzinfo=UTC))) == []
        words = {row.pk: row.text for row in Memory.objects.filter(bank=desk.bank_id)}
    told = {words[row.memory]: (row.retold, row.merged, row.times) for row in rows}
    assert told["The sea is blue"] == (2, 0, 3)
    assert rows[0].times == max(row.times for row in rows)


def test_contradictions_have_both_texts_and_none_of_what_is_hidden(desk: Desk) -> None:
    sea, dog = desk.memory("The sea is blue"), desk.memory("My dog is old")
    with desk.acting():
        for older, newer in ((dog, sea), (desk.memory("I drink tea"), sea)):
            Doubt.objects.create(
                owner=desk.person, bank_id=desk.bank_id, memory=older, newer=newer, what=Doubt.What.NUMBER,
                settled_at=None if older == dog else datetime.now(UTC),
            )  # fmt: skip
        rows = bank_lists.with_both_texts(bank_lists.doubt_rows(desk.bank_id, ALL))
        assert {(row.text, row.newer_text, row.looked) for row in rows} == {
            ("My dog is old", "The sea is blue", "open"), ("I drink tea", "The sea is blue", "settled"),
        }  # fmt: skip
        memories.forget(sea.pk, now=datetime.now(UTC))
        assert bank_lists.doubt_rows(desk.bank_id, ALL) == []


def test_conversations_of_a_bank_say_what_is_left_of_them_and_forgotten_ones_are_none(desk: Desk) -> None:
    other = desk.begin()
    desk.tell("Walnuts are dear", conversation=other)
    with desk.acting():
        rows = {row.conversation: row for row in bank_lists.conversation_rows(desk.bank_id, ALL)}
        assert rows[desk.conversation_id].turns == len(TOLD)
        assert rows[other].turns == 1
        for key, row in rows.items():
            of = Memory.objects.filter(bank=desk.bank_id, conversation=key)
            assert (row.held, row.archived) == tuple(of.filter(state=state).count() for state in ("held", "archived"))
        # used in this time is what had a turn in it, whatever was done with it later
        turn = Turn.objects.get(conversation=other)
        until = Stretch(until=turn.created_at)
        assert [row.conversation for row in bank_lists.conversation_rows(desk.bank_id, until)] == [desk.conversation_id]
        assert len(bank_lists.conversation_rows(desk.bank_id, Stretch(since=turn.created_at))) == 1
        desk.tell("My dog is old")
        assert len(bank_lists.conversation_rows(desk.bank_id, Stretch(since=turn.created_at))) == 2
        assert len(bank_lists.conversation_rows(desk.bank_id, Stretch(until=turn.created_at))) == 1
        forget_conversation(other, keep_memories=True, now=datetime.now(UTC))
        assert [row.conversation for row in bank_lists.conversation_rows(desk.bank_id, ALL)] == [desk.conversation_id]


def test_no_read_shows_another_persons_bank(desk: Desk) -> None:
    ben: User = make_person("ben@example.org")
    now = datetime.now(UTC)
    reads: list[Callable[[], object]] = [
        lambda: bank_past.composition_rows(desk.bank_id, now, ALL), lambda: bank_recalls.work_rows(desk.bank_id, ALL),
        lambda: bank_recalls.recalls_of(desk.bank_id, ALL), lambda: bank_recalls.never_rows(desk.bank_id, now, ALL),
        lambda: bank_lists.again_rows(desk.bank_id, ALL), lambda: bank_lists.doubt_rows(desk.bank_id, ALL),
        lambda: bank_lists.conversation_rows(desk.bank_id, ALL),
    ]  # fmt: skip
    with Desk(ben).acting():
        assert not any(read() for read in reads)
