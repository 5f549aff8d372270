"""The bench of step compression, on logs small enough to count by hand."""

import json
from argparse import ArgumentParser
from pathlib import Path

import pytest

from bench import compress, table
from bench.__main__ import main
from bench.agent_logs import Use, read_logs

TOLD = "Its number is AB12CD, and my sister made it for the two of us last winter, as far as I know."
FILLER = "Let me have a good look at what might be possible for you here, dear guest, one moment please."


def dialogue(task: int) -> dict[str, object]:
    """A booking's number that is told early and passed on much later."""
    filler = [{"role": "assistant", "content": FILLER} for _ in range(10)]
    arguments = json.dumps({"id": "AB12CD", "card": "unheard_9999"})
    function = {"name": "cancel", "arguments": arguments}
    return {
        "task_id": task,
        "traj": [
            {"role": "system", "content": "Be kind. AB12CD is an example."},
            {"role": "user", "content": "Please help me with a booking."},
            {"role": "user", "content": TOLD},
            *filler,
            {"role": "user", "content": "Yes, do so."},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
        ],
    }


LOG = (
    "You see a drawer 1, and a shelf 2.\nYour task is to: put a cup in drawer.\n"
    "> go to shelf 2\nOn the shelf 2, you see a cup 3.\n> think: take it\n> go to drawer 1\nIt is open.\n"
    "> take cup 3 from shelf 2\nYou pick up the cup 3.\n"
)


@pytest.fixture
def tau(tmp_path: Path) -> Path:
    path = tmp_path / "tau.json"
    path.write_text(json.dumps([dialogue(0), dialogue(1), dialogue(2)]))
    return path


def rows_of(*words: str) -> list[table.Row]:
    parser = ArgumentParser()
    compress.add_arguments(parser)
    return compress.run(parser.parse_args(words))


def value(rows: list[table.Row], method: str, metric: str, category: str = "all", budget: float = 0.5) -> float:
    (row,) = [
        row for row in rows
        if (row.method, row.metric, row.category, row.budget, row.unit) == (method, metric, category, budget, "tokens")
    ]  # fmt: skip
    return row.value


def test_a_use_is_what_a_call_passes_on_that_was_shown_before(tau: Path) -> None:
    log = next(read_logs("tau", tau))
    assert log.uses == {14: (Use("AB12CD", 12),)}


def test_a_use_in_a_text_log_stands_in_the_last_line_of_the_action(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"traj": LOG}) + "\n")
    (log,) = read_logs("alfworld", path)
    assert log.uses == {3: (Use("drawer 1", 3),), 5: (Use("cup 3", 3), Use("shelf 2", 3))}


def test_what_is_told_once_stays_in_view_though_it_is_old(tau: Path) -> None:
    rows = rows_of("--format", "tau", "--test", str(tau))
    assert value(rows, "agora", "in_view") == value(rows, "oracle", "in_view") == 1.0
    assert value(rows, "agora", "in_view", "outside_floor") == 1.0
    assert value(rows, "recent", "in_view") == 0.0
    assert {value(rows, method, "floor_intact") for method in compress.METHODS} == {1.0}
    assert {value(rows, method, "steps_whole") for method in compress.METHODS} == {1.0}
    assert value(rows, "agora", "tokens_share") < 0.6
    assert {row.n for row in rows if row.metric == "in_view" and row.category == "all"} == {3}


def test_a_half_holds_the_tasks_of_its_numbers_alone(tau: Path) -> None:
    rows = rows_of("--format", "tau", "--test", str(tau), "--half", "odd")
    assert {row.n for row in rows if row.metric == "in_view" and row.category == "all"} == {1}


def test_files_without_a_use_are_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"traj": "A room.\n> wait\nNothing happens.\n"}) + "\n")
    with pytest.raises(SystemExit, match="No action in these files"):
        rows_of("--format", "alfworld", "--test", str(path))


def test_the_command_writes_the_table(tau: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compress", "--format", "tau", "--test", str(tau), "--json", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["metric"] for row in rows} >= {"in_view", "floor_intact", "steps_whole", "budget_held"}
    assert "in_view" in capsys.readouterr().out
