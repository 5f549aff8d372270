"""The figures of banks by value, and as Plotly's own checks take them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from memory.bank_lists import AgainRow, ConversationRow, DoubtRow
from memory.bank_past import BankRow, CompositionRow, FullnessRow, LeavingRow, TurnoverRow
from memory.bank_recalls import NeverRow, RegretRow, WorkRow, ranked_work
from memory.charts import bank_recalls, banks
from memory.charts.parts import HUES, Role, colour
from memory.charts.spans import hue_of
from tests.memory.charts.test_parts import checked

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
FIRST, SECOND = UUID(int=1), UUID(int=2)


def lines(drawn: dict[str, object]) -> dict[str, list[object]]:
    """What each trace of a checked figure says: its numbers by its name."""
    return {trace.name: list(trace.x if trace.orientation == "h" else trace.y) for trace in checked(drawn).data}


def test_the_composition_stacks_groups_over_ages_the_youngest_first() -> None:
    rows = [
        CompositionRow("older", "assistant", 4, 0, 40, 0.5), CompositionRow("day", "user", 2, 1, 20, 0.5),
        CompositionRow("day", "summary", 1, 0, 9, 0.9),
    ]  # fmt: skip
    drawn = banks.composition_figure(rows, ages=str.upper, names=str.title)
    assert lines(drawn) == {"User": [2, 0], "Assistant": [0, 4], "Summary": [1, 0]}
    assert drawn["data"][0]["x"] == ["DAY", "OLDER"]
    assert drawn["data"][0]["marker"]["color"] == colour(HUES[0])
    assert drawn["layout"]["barmode"] == "stack"


def filled(bank: UUID, hour: int, share: float, tokens: float = 0.1) -> FullnessRow:
    return FullnessRow(bank, AT + timedelta(hours=hour), 1, 2, share, share, 3, 4, tokens, tokens)


def test_one_banks_fullness_has_a_line_of_memories_and_one_of_tokens() -> None:
    drawn = banks.fullness_figure([filled(FIRST, 0, 0.5), filled(FIRST, 1, 1.0)], names={})
    assert lines(drawn) == {"memories": [0.5, 1.0], "tokens": [0.1, 0.1]}
    assert drawn["data"][0]["x"] == ["2026-03-02 09:30", "2026-03-02 10:30"]


def test_several_banks_have_a_line_each_the_fullest_first_and_no_more_than_there_are_hues() -> None:
    many = [filled(UUID(int=number), 0, number / 20) for number in range(1, 12)]
    drawn = banks.fullness_figure(many, names={row.bank: f"bank {row.bank.int}" for row in many})
    assert [trace["name"] for trace in drawn["data"]] == [f"bank {number}" for number in range(11, 4, -1)]


def test_a_long_line_keeps_the_fullest_of_each_bin() -> None:
    rows = [filled(FIRST, hour, 0.9 if hour == 777 else 0.2) for hour in range(2 * banks.MOST_POINTS)]
    memories = banks.fullness_figure(rows, names={})["data"][0]
    assert len(memories["x"]) == banks.MOST_POINTS
    assert max(memories["y"]) == 0.9


def test_turnover_goes_up_for_what_came_and_down_for_what_left_and_leaves_out_what_never_was() -> None:
    rows = [TurnoverRow(AT, 5, 0, 2, 0, 1), TurnoverRow(AT + timedelta(days=1), 3, 0, 4, 0, 0)]
    drawn = banks.turnover_figure(rows)
    assert lines(drawn) == {"written": [5, 3], "left for room": [-2, -4], "left otherwise": [-1, 0]}
    assert drawn["data"][1]["customdata"] == [2, 4]


def test_reasons_have_their_hues_and_lead_to_their_rows() -> None:
    rows = [
        LeavingRow(FIRST, SECOND, AT, AT, 0.0, reason, policy, "", None)
        for reason, policy in (("budget", "fifo"), ("budget", "lru"), ("budget", "lru"), ("forgotten", ""))
    ]
    drawn = banks.leaving_figure(rows, names=str.upper, address=lambda reason: f"?reason={reason}")
    assert lines(drawn) == {"no policy": [0, 1], "fifo": [1, 0], "lru": [2, 0]}
    assert drawn["data"][0]["y"] == ["BUDGET", "FORGOTTEN"]
    assert drawn["data"][0]["customdata"] == ["?reason=budget", "?reason=forgotten"]
    assert drawn["data"][1]["marker"]["color"] == [hue_of("budget"), hue_of("forgotten")]


def test_banks_stand_beside_each_other_and_lead_to_their_pages() -> None:
    row = BankRow(FIRST, "Scribe", False, 3, 4, 0.75, 10, 40, 0, 3, 0, 0, AT)
    drawn = banks.beside_figure([row], names={FIRST: "Scribe · ab12"}, address=lambda bank: f"/{bank.int}/")
    assert lines(drawn) == {"memories": [0.75], "tokens": [0.25]}
    assert drawn["data"][0]["y"] == ["Scribe · ab12"]
    assert drawn["data"][0]["customdata"] == ["/1/"]


def test_conversations_of_one_title_keep_a_bar_each() -> None:
    rows = [ConversationRow(FIRST, UUID(int=n), title, AT, AT, 3, n, 1) for n, title in enumerate(("a", "a", "<b>"))]
    drawn = banks.conversations_figure(rows)
    assert lines(drawn) == {"in the bank": [0, 1, 2], "in the archive": [1, 1, 1]}
    assert drawn["layout"]["yaxis"]["ticktext"] == ["a", "a", "&lt;b&gt;"]


def work(*masses: float) -> list[WorkRow]:
    return ranked_work([
        WorkRow(FIRST, UUID(int=number), "held", round(mass), mass) for number, mass in enumerate(masses, 1)
    ])  # fmt: skip


def test_the_curve_of_work_rises_to_all_of_it_and_each_mark_leads_to_its_memory() -> None:
    drawn = bank_recalls.work_figure(work(1.0, 6.0, 3.0, 0.0), address=lambda memory: f"/{memory.int}/")
    curve = checked(drawn).data[0]
    assert list(curve.x) == [0, 0.25, 0.5, 0.75, 1]
    assert list(curve.y) == [0, 0.6, 0.9, 1, 1]
    assert list(curve.customdata) == ["", "/2/", "/3/", "/1/", "/4/"]


@pytest.mark.parametrize("many", [1, 200, 201, 10_000])
def test_the_curve_has_few_marks_and_both_ends(many: int) -> None:
    rows = work(*range(many, 0, -1))
    places = bank_recalls.marks_of(rows)
    assert len(places) <= bank_recalls.MOST_MARKS + 1
    assert (places[0], places[-1]) == (0, many - 1)
    assert places == sorted(set(places))
    assert bank_recalls.work_figure(rows)["data"][0]["x"][-1] == 1


def test_never_recalled_and_recalled_make_up_all() -> None:
    drawn = bank_recalls.never_figure([NeverRow("day", 5, 2, 0.4), NeverRow("older", 1, 1, 1.0)])
    assert lines(drawn) == {"recalled": [3, 0], "never recalled": [2, 1]}


def test_regret_has_a_line_a_policy_and_adapter_with_larger_marks_where_more_left() -> None:
    rows = [
        RegretRow(AT, "fifo", "a1", 4, 1, 0, 0.25), RegretRow(AT + timedelta(days=7), "fifo", "a1", 100, 10, 2, 0.1),
        RegretRow(AT, "lru", "", 1, 0, 0, 0.0),
    ]  # fmt: skip
    drawn = bank_recalls.regret_figure(rows)
    assert lines(drawn) == {"fifo · a1": [0.25, 0.1], "lru": [0.0]}
    assert drawn["data"][0]["marker"]["size"] == [8.0, 16.0]
    assert drawn["data"][0]["text"][1] == "10 of 100 missed, 2 said again"


def test_what_was_told_again_is_counted_by_how_often() -> None:
    rows = [AgainRow(FIRST, UUID(int=n), n, 0, AT, "held") for n in (1, 1, 2, 9)]
    assert lines(bank_recalls.again_figure(rows)) == {"memories": [2, 1, 0, 0, 1]}


def test_contradictions_are_counted_by_what_differs_open_and_looked_at() -> None:
    rows = [
        DoubtRow(FIRST, FIRST, SECOND, what, AT, "held", settled)
        for what, settled in (("name", False), ("number", True), ("number", False))
    ]
    drawn = bank_recalls.doubts_figure(rows, names=str.upper)
    assert lines(drawn) == {"open": [1, 1], "looked at": [1, 0]}
    assert drawn["data"][0]["x"] == ["NUMBER", "NAME"]


def test_no_figure_names_a_colour_of_its_own() -> None:
    drawn = [banks.turnover_figure([TurnoverRow(AT, 1, 1, 1, 1, 1)]), bank_recalls.work_figure(work(1.0))]
    assert all(str(trace["marker"].get("color", colour(Role.INK))).startswith("role:")
               for one in drawn for trace in one["data"] if "marker" in trace)  # fmt: skip
