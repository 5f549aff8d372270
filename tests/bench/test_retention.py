"""The bench of retention, on conversations whose every eviction can be followed by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from bench import recall, retention, streams
from bench.__main__ import main
from bench.retention import BUDGETS, Told, kept_sides, measure, shown, used
from bench.streams import Measured
from bench.table import Row
from memory.engine.adapter_file import save_adapter
from memory.engine.adapting import ranking
from memory.engine.prior import prior
from memory.engine.retention import policy_named
from memory.engine.types import Role
from tests.memory.engine.toy_bank import item
from tests.toy import ToyEncoder, toy_encoder
from tests.training.learner.toy_streams import facts, stream
from training.learner.banks import fill, pieces_of
from training.learner.importance_examples import importance_examples
from training.learner.streams import Stream, Use
from training.learner.vectors import DiskCachedEncoder


def what_of(folder: Path, test: Sequence[Stream], train: Sequence[Stream] = ()) -> Measured:
    return Measured("toy", test, train, DiskCachedEncoder(toy_encoder(), folder / "vectors"), prior())


def told_with(policy: str, told: Stream, **numbers: Sequence[float]) -> Told:
    """A stream in a bank, judged by hand: `tokens` and `importance` by side."""
    pieces = pieces_of(told, toy_encoder())
    bank = fill(told, pieces, prior())
    sides = [
        replace(item(number, side.text, role=side.role, at=side.at, turn=item(side.turn).turn),
                id=UUID(int=number), written=number + 1,
                **{name: values[number] for name, values in numbers.items()})
        for number, side in enumerate(told.sides)
    ]  # fmt: skip
    return Told(told, pieces, bank, sides, importance_examples(bank), {"toy": policy_named(policy)})


def row_of(rows: Sequence[Row], method: str, metric: str, **about: object) -> Row:
    (row,) = [
        row for row in rows
        if (row.method, row.metric) == (method, metric) and all(getattr(row, k) == v for k, v in about.items())
    ]  # fmt: skip
    return row


# --- what is kept ---------------------------------------------------------------------------------------------------


def test_a_share_of_the_turns_is_kept_by_rank() -> None:
    worth = [0.1 * n for n in (5, 1, 9, 2, 8, 3, 7, 4, 6, 0)]
    told = told_with("importance", stream("ten", [f"text {n}" for n in range(10)]), importance=worth)
    assert kept_sides(told, "toy", 0.3, "turns") == {2, 4, 6}
    assert kept_sides(told, "toy", 0.5, "turns") == {2, 4, 6, 8, 0}
    assert kept_sides(told, "toy", 1.0, "turns") == set(range(10))
    oldest_first = told_with("fifo", stream("ten", [f"text {n}" for n in range(10)]))
    assert kept_sides(oldest_first, "toy", 0.2, "turns") == {8, 9}


def test_a_share_of_the_tokens_is_kept_by_worth_for_the_root_of_the_length() -> None:
    # of 112 tokens half is 56; .7 / sqrt(64) < .6 / sqrt(36) = .2 / sqrt(4): the long one leaves, and that is enough
    told = told_with(
        "importance", stream("five", [f"text {n}" for n in range(5)]), tokens=[64, 4, 4, 36, 4],
        importance=[0.7, 0.5, 0.4, 0.6, 0.2],
    )  # fmt: skip
    assert kept_sides(told, "toy", 0.5, "tokens") == {1, 2, 3, 4}
    assert kept_sides(told, "toy", 0.2, "turns") == {0}


# --- agents' dialogues ----------------------------------------------------------------------------------------------


def dialogue(*uses: Use, name: str = "log", group: str = "") -> Stream:
    texts = ["booking AB12CD", "well", "card CD34EF", "well", "CD34EF again", "well", "well", "well", "go on", "done"]
    roles = [Role.USER, Role.ASSISTANT, Role.TOOL]
    return replace(stream(name, texts, roles=roles, kind="tool_use", group=group), uses=uses)


def test_a_bank_of_five_messages_is_filled_message_by_message() -> None:
    uses = [Use(4, 0), Use(5, 0), Use(6, 0), Use(8, 4), Use(9, 2), Use(9, 4)]
    # before message 5 the bank holds 0..4, before message 6 it holds 1..5, before 8 3..7, before 9 4..8
    assert used(told_with("fifo", dialogue(*uses)), "toy") == [
        (4, 1.0), (5, 1.0), (6, 0.0), (4, 1.0), (7, 0.0), (5, 1.0),
    ]  # fmt: skip


def test_the_policy_latest_keeps_what_was_shown_last_and_lets_its_older_showing_go() -> None:
    uses = [Use(9, 0), Use(9, 4), Use(9, 2)]
    alike = told_with("latest", dialogue(*uses), importance=[0.5] * 10)
    assert used(alike, "toy") == [(9, 1.0), (5, 1.0), (7, 0.0)]


def test_agents_are_measured_by_later_uses_near_and_far(tmp_path: Path) -> None:
    uses = (Use(6, 0), Use(9, 2), Use(9, 4))
    rows = measure(what_of(tmp_path, [dialogue(*uses), dialogue(*uses, name="other")]))
    assert {row.method for row in rows} >= {"agora", "random", "fifo", "longest", "density", "identifiers"}
    assert {(row.metric, row.unit, row.budget) for row in rows} == {
        ("later_uses_hit", "messages", 5.0), ("far_uses_hit", "messages", 5.0),
    }  # fmt: skip
    fifo = row_of(rows, "fifo", "later_uses_hit")
    assert (fifo.value, fifo.n) == (pytest.approx(1 / 3, abs=1e-4), 6)
    assert (row_of(rows, "fifo", "far_uses_hit").value, row_of(rows, "fifo", "far_uses_hit").n) == (0.0, 2)
    assert "far uses" in shown(rows)


def test_dialogues_without_a_far_use_have_no_row_of_them(tmp_path: Path) -> None:
    rows = measure(what_of(tmp_path, [dialogue(Use(5, 0))]))
    assert {row.metric for row in rows} == {"later_uses_hit"}
    assert all(np.isfinite(row.value) for row in rows)


# --- ranking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "needed", "value"),
    [
        ([3.0, 1.0, 2.0, 2.0], [True, False, True, False], 3.5 / 4),  # of four pairs three are right, one is a tie
        ([1.0, 2.0], [False, True], 1.0),
        ([2.0, 1.0], [False, True], 0.0),
        ([1.0, 1.0, 1.0], [True, False, False], 0.5),
    ],
)
def test_a_needed_side_above_another_counts_one_and_a_tie_half(
    scores: list[float], needed: list[bool], value: float
) -> None:
    assert ranking(np.array(scores), np.array(needed)) == pytest.approx(value)


# --- the whole bench ------------------------------------------------------------------------------------------------


def test_every_method_has_a_row_for_every_budget_in_turns_and_in_tokens(tmp_path: Path) -> None:
    rows = measure(what_of(tmp_path, [facts(), facts("second")]))
    methods = {"agora", "random", "fifo", "longest", "density", "user_first"}
    assert {row.method for row in rows} == methods | {"full"}
    for method in methods:
        for metric in ("evidence_kept", "all_evidence_kept"):
            some = [row for row in rows if (row.method, row.metric) == (method, metric)]
            assert [(row.unit, row.budget) for row in some] == [
                (unit, share) for unit in ("turns", "tokens") for share in BUDGETS
            ]
            assert {(row.level, row.category, row.n, row.data) for row in some} == {("turn", "all", 6, "toy")}
        assert row_of(rows, method, "auc").n == 2
    assert BUDGETS == (0.1, 0.2, 0.3, 0.5)
    assert "20 % tokens" in shown(rows)


def test_the_kept_evidence_is_the_share_worked_by_hand(tmp_path: Path) -> None:
    """Of facts' twelve sides fifo keeps at half the last six: all of the last question's evidence, none of the rest."""
    rows = measure(what_of(tmp_path, [facts()]))
    for metric in ("evidence_kept", "all_evidence_kept"):
        assert row_of(rows, "fifo", metric, unit="turns", budget=0.5).value == pytest.approx(1 / 3, abs=1e-4)
    # at .2 the last two: of the two sides of evidence the second
    assert row_of(rows, "fifo", "evidence_kept", unit="turns", budget=0.2).value == pytest.approx(0.5 / 3, abs=1e-4)
    assert row_of(rows, "fifo", "all_evidence_kept", unit="turns", budget=0.2).value == 0
    # needed are sides 0, 4, 6, 10; by age they are above 0, 3, 4 and 7 of the eight others
    assert row_of(rows, "fifo", "auc").value == pytest.approx((0 + 3 + 4 + 7) / 32, abs=1e-4)


def test_recall_from_the_whole_bank_is_what_the_bench_of_recall_measures(tmp_path: Path) -> None:
    what = what_of(tmp_path, [facts()])
    rows = measure(what)
    (same,) = [
        row for row in recall.measure(what)
        if (row.method, row.level, row.metric, row.category) == ("agora", "turn", "mean@10", "all")
    ]  # fmt: skip
    assert row_of(rows, "full", "mean@10").value == same.value
    assert row_of(rows, "fifo", "mean@10", budget=0.5).value <= 1 / 3 + 1e-4
    for method in ("agora", "random", "fifo", "longest"):
        assert {row.budget for row in rows if (row.method, row.metric) == (method, "mean@10")} == {0.2, 0.5}


def test_the_importance_of_a_side_is_the_engines_own(tmp_path: Path) -> None:
    """Where no head was trained, a ranking by what the bank stored is the ranking of the bench."""
    told = facts()
    bank = fill(told, pieces_of(told, toy_encoder()), prior())
    stored = np.array([bank.hot.state.marks[memory].importance for (memory,) in bank.memories_of])
    needed = np.array([side.id in told.evidence for side in told.sides])
    rows = measure(what_of(tmp_path, [told]))
    assert row_of(rows, "agora", "auc").value == pytest.approx(ranking(stored, needed), abs=1e-4)


def test_trained_heads_never_see_the_group_that_they_are_measured_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [replace(facts(f"talk-{n}"), sides=[replace(s, text=f"{s.text} {n}") for s in facts().sides])
            for n in range(3)]  # fmt: skip
    seen: list[set[str]] = []
    learn = retention.train_importance

    def spied(examples, start, kind):  # type: ignore[no-untyped-def]
        seen.append({one.group for one in examples})
        return learn(examples, start, kind)

    monkeypatch.setattr(retention, "train_importance", spied)
    rows = measure(what_of(tmp_path, told, told))
    assert seen == [{"talk-1", "talk-2"}, {"talk-0", "talk-2"}, {"talk-0", "talk-1"}]
    assert {row.adapter for row in rows} == {"trained on 3"}


def test_with_nothing_left_to_train_on_the_bench_fails_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no conversation is left to train on"):
        measure(what_of(tmp_path, [facts()], [facts()]))


def test_the_command_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(streams, "SentenceEncoder", ToyEncoder)
    monkeypatch.setattr(streams, "VECTORS", tmp_path / "vectors")
    said = [{"conversation": "c", "id": str(n), "observation": f"My number {n} is {n * n}"} for n in range(10)]
    asked = {"question": "What is number 3?", "evidence": ["3.observation"]}
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, [*said, asked])))
    save_adapter(replace(prior(), version="toy-7"), tmp_path / "adapter", {})
    words = ["--format", "jsonl", "--test", str(tmp_path / "own.jsonl"), "--adapter", str(tmp_path / "adapter")]
    assert main(["retention", *words, "--policy", "fifo", "--json", str(tmp_path / "rows.json")]) == 0
    rows = [Row(**row) for row in json.loads((tmp_path / "rows.json").read_text())["rows"]]
    assert row_of(rows, "agora", "evidence_kept", unit="turns", budget=0.5).value == 0
    assert row_of(rows, "longest", "evidence_kept", unit="turns", budget=0.5).adapter == "toy-7"
    assert "20 % tokens" in capsys.readouterr().out
