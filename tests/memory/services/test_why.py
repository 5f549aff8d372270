"""One recall explained and read again, on a bank made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import StringIO
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection

from agora_web.accounts.models import User
from memory.adapters import serving_adapter
from memory.charts.why import contributions_figure, floor_figure, reread_figure
from memory.engine import attention
from memory.engine.bank import BankEvent, Kind, replay
from memory.engine.hot import HotBank
from memory.engine.lexical import terms
from memory.engine.types import RecallLimits, State
from memory.figure_rows import read_csv, write_csv
from memory.history import histories
from memory.hot_banks import hot_banks, load, read_events
from memory.models import Bank, Memory
from memory.rereading import CannotReread, _recalls, reproduces, reread, reread_rows
from memory.services import memories
from memory.services.recalls import prepare_cue
from memory.services.turns import NotFound
from memory.why import CandidateRow, archived_then, candidate_rows, contributions_of, recalled_rows, why_of
from tests.memory.charts.test_parts import checked
from tests.memory.services.desk import Asked, Desk

SAID = [
    "The red bike stands in the cellar in Lisbon.",
    "My sister Vera lives in Porto.",
    "Green tea is what I drink in the morning.",
    "The passport lies in the second drawer.",
    "An old dog sleeps in the garden.",
    "The red bike needs a new chain.",
    "Vera plays the piano on Fridays.",
    "Rent is 900 euros a month.",
]


@pytest.fixture
def asked(desk: Desk) -> Asked:
    """A bank of eight memories that is asked for the bike, and lives on afterwards."""
    for text in SAID:
        desk.tell(text)
    found = desk.ask("Where is the red bike and what does it need?")
    desk.tell("The red bike was sold last week.")
    desk.ask("Does Vera play the piano?")
    return found


@contextmanager
def nothing_changes(desk: Desk) -> Iterator[None]:
    """No row of any table of memory is written, and the shared hot bank stays as it is."""

    def rows() -> dict[str, object]:
        with desk.acting(), connection.cursor() as cursor:
            out = {}
            for model in apps.get_app_config("memory").get_models():
                table = connection.ops.quote_name(model._meta.db_table)
                cursor.execute(f"SELECT count(*), md5(string_agg(one::text, ' ' ORDER BY one::text)) FROM {table} one")
                out[model._meta.label] = cursor.fetchone()
            return out

    before, seq = rows(), desk.hot().state.seq
    yield
    assert rows() == before
    assert (desk.hot().state.seq, len(desk.hot())) == (seq, len(desk.texts()))


def test_contributions_sum_to_the_logit_in_the_rows_and_in_the_figure(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        rows = candidate_rows(why_of(asked.trace.pk))
    assert [row.text for row in recalled_rows(rows)] == asked.injected
    assert [row.rank for row in rows] == list(range(1, len(SAID) + 1))
    for row in rows:
        assert sum(contributions_of(row).values()) == pytest.approx(row.logit, abs=6e-4)
        assert (row.what == "below") == (row.fit < row.floor)
    drawn = contributions_figure(rows, address=lambda memory: f"/{memory}/")
    checked(drawn)
    bars = [trace for trace in drawn["data"] if trace["type"] == "bar"]
    for place, row in enumerate(rows):
        assert sum(trace["x"][place] for trace in bars) == pytest.approx(row.logit, abs=1e-3)
    marks = {y: x for one in drawn["data"] if one["type"] == "scatter" for y, x in zip(one["y"], one["x"], strict=True)}
    assert marks == {place: row.logit for place, row in enumerate(rows)}


def test_the_floor_stands_where_it_was_and_parts_what_was_recalled_from_what_was_not(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        why = why_of(asked.trace.pk)
        rows = candidate_rows(why)
        below = candidate_rows(why, what=["below"])
    drawn = floor_figure(rows, why.trace.floor, why.trace.highly)
    checked(drawn)
    assert drawn["layout"]["shapes"][0]["x0"] == asked.trace.floor
    points = {(x, y) for trace in drawn["data"] for x, y in zip(trace["x"], trace["y"], strict=True)}
    assert points == {(row.fit, row.weight) for row in rows}
    assert below == [row for row in rows if row.what == "below"]
    assert 0 < len(below) < len(rows)
    assert len(below) == asked.trace.below_floor


def test_rows_come_back_from_their_csv_as_they_were(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        rows = candidate_rows(why_of(asked.trace.pk))
    out = StringIO()
    write_csv(out, CandidateRow, rows)
    assert list(read_csv(CandidateRow, StringIO(out.getvalue(), newline=""))) == rows


def test_words_pass_through_what_the_view_gives(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        rows = candidate_rows(why_of(asked.trace.pk), shown=lambda text: f"masked {len(text)}")
    assert all(row.text.startswith("masked ") for row in rows)


def test_anothers_recall_is_not_found(desk: Desk, asked: Asked, person: User) -> None:
    other = User.objects.create_user(f"{uuid4().hex}@example.org", name="Ben")
    with Desk(other).acting(), pytest.raises(NotFound):
        why_of(asked.trace.pk)
    hot_banks.clear()
    User.objects.using("owner").get(pk=other.pk).delete()


def test_a_recall_is_read_again_exactly_from_its_ledger(desk: Desk, asked: Asked) -> None:
    with desk.acting(), nothing_changes(desk):
        found = reread(why_of(asked.trace.pk))
    assert (found.exact, found.then, found.adapter, found.gone, found.after) == (True, True, True, 0, None)
    assert [row.item.text for row in found.before.injected] == asked.injected
    assert reread_rows(found) == []


def bank_then(desk: Desk, asked: Asked, *more: BankEvent) -> HotBank:
    bank = Bank.objects.get(pk=desk.bank_id)
    hot = HotBank(bank.space.width)
    hot.apply(read_events(bank, upto=asked.trace.seq), load(Memory.objects.values_list("pk", flat=True)))
    hot.apply(more, load([one.memory for one in more if one.memory]))
    return hot


def test_without_a_memory_is_the_recall_of_the_bank_without_it(desk: Desk, asked: Asked) -> None:
    gone = asked.found.injected[0].item.id
    with desk.acting(), nothing_changes(desk):
        why = why_of(asked.trace.pk)
        found = reread(why, without=gone)
        rows = reread_rows(found)
        event = BankEvent(asked.trace.seq + 1, Kind.EVICTED, why.trace.at, gone, {"reason": "budget"})
        hot = bank_then(desk, asked, event)
        cue = prepare_cue(why.turn, previous=None, exclude_turns=frozenset(), now=why.trace.at).cue
        candidates = hot.candidates(cue, list(dict.fromkeys(terms(cue.text))))
        wanted = attention.recall(cue, candidates, serving_adapter(), RecallLimits(tokens=why.bank.recall_tokens))
    assert found.after is not None
    assert [one.id for one in found.after.items] == [one.id for one in wanted.items]
    assert found.after.logits == pytest.approx(wanted.logits)
    assert found.after.weights == pytest.approx(wanted.weights)
    assert [row.item for row in found.after.injected] == [row.item for row in wanted.injected]
    row = next(row for row in rows if row.memory == gone)
    assert (row.recalled, row.recalled_after, row.weight_after, row.change) == (True, False, None, "left")
    assert {one.memory for one in rows} == {item.id for item in found.before.items}
    drawn = reread_figure(rows)
    checked(drawn)
    assert [trace["x"] for trace in drawn["data"]] == [
        [row.weight for row in rows], [row.weight_after for row in rows]
    ]  # fmt: skip


def test_with_an_archived_memory_it_is_the_recall_of_the_bank_that_kept_it(narrow: Desk, now: datetime) -> None:
    for text in SAID[:6]:
        narrow.tell(text)
    asked = narrow.ask("Where is the red bike and what does it need?")
    left = next(text for text in narrow.texts(State.ARCHIVED) if "bike" in text or "passport" in text)
    back = narrow.memory(left).pk
    with narrow.acting(), nothing_changes(narrow):
        why = why_of(asked.trace.pk)
        offered = dict(archived_then(why))
        found = reread(why, back=back)
    assert offered[back] == left
    assert found.exact
    assert found.after is not None
    assert back in {item.id for item in found.after.items}
    assert found.after.candidates == found.before.candidates + 1
    assert not any(found.after.archived)


def test_what_can_not_be_read_again_so_is_said(desk: Desk, asked: Asked) -> None:
    with desk.acting():
        why = why_of(asked.trace.pk)
        later = desk.memory("The red bike was sold last week.").pk
        with pytest.raises(CannotReread, match="written after"):
            reread(why, back=later)
        with pytest.raises(CannotReread, match="in the bank at that time"):
            reread(why, back=asked.found.injected[0].item.id)
        with pytest.raises(CannotReread, match="not among the candidates"):
            reread(why, without=later)


def test_what_was_erased_since_is_counted_and_the_reading_is_called_inexact(
    desk: Desk, asked: Asked, now: datetime
) -> None:
    gone = asked.found.injected[0].item.id
    with desk.acting():
        memories.erase(gone, now=now)
    with desk.acting():
        why = why_of(asked.trace.pk)
        found = reread(why)
        assert why.erased == (gone,)
        assert gone not in {row.memory for row in candidate_rows(why)}
    assert (found.exact, found.gone, found.then) == (False, 1, True)


def test_turns_that_the_prompt_showed_anyway_are_found_out_by_what_reproduces_the_trace(desk: Desk) -> None:
    told = [desk.tell(text) for text in SAID]
    shown = frozenset(turn.pk for turn in told[-2:])
    asked = desk.ask("Who plays the piano, and what is the rent?", exclude=shown)
    with desk.acting():
        why = why_of(asked.trace.pk)
        assert not reread(why).exact
        found = reread(why, excluded=[frozenset(), shown])
    assert found.exact
    assert reproduces(found.before, why.trace)


def test_a_short_cue_has_the_words_of_the_turn_before(desk: Desk) -> None:
    told = [desk.tell(text) for text in SAID]
    asked = desk.ask("And her?", previous=told[-1])
    with desk.acting():
        why = why_of(asked.trace.pk)
        assert why.cue == f"{SAID[-1]}\nAnd her?"
        assert reread(why).exact


def test_how_often_a_memory_had_been_recalled_is_as_the_fold_of_the_ledger_counts_it(person: User) -> None:
    desk = Desk(person, memories=3, policy="merge(similarity=0.2,most=2,share=1.0)+fifo")
    for text in ("My dog Bruno is a brown beagle.", "Bruno the beagle is not fond of cats."):
        desk.tell(text)
        desk.ask("What is Bruno the beagle?")
    for text in ("The train to Porto was late.", "I sold my boat in Lisbon."):
        desk.tell(text)
    asked = desk.ask("Is Bruno the beagle fond of cats?")
    desk.ask("Is Bruno the beagle brown?")
    with desk.acting():
        bank = Bank.objects.get(pk=desk.bank_id)
        for seq in (asked.trace.seq, bank.last_seq):
            counted = _recalls(histories.open(bank), bank, seq)
            marks = replay(read_events(bank, upto=seq)).marks
            assert {memory: mark.recalls for memory, mark in marks.items()} == {one: counted[one] for one in marks}
        assert any(mark.parts and mark.recalls > 1 for mark in marks.values())
        assert reread(why_of(asked.trace.pk)).exact
