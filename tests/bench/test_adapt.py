"""The bench of adaptation, on sides whose features are drawn by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import adapt
from bench.__main__ import main
from bench.adapt import SIZES, Labelled, LabelSet, kept, measure
from bench.table import Row
from memory.engine.adapter_file import save_adapter
from memory.engine.adapting import own_head
from memory.engine.prior import prior
from tests.toy import ToyEncoder
from tests.training.learner.toy_streams import stream
from training.learner.streams import Use


def labelled(number: int, sides: int = 120) -> Labelled:
    """A conversation in which a fifth is needed later, as the second feature tells."""
    z = np.random.default_rng(number).standard_normal((sides, 2))
    needed = z[:, 1] >= np.sort(z[:, 1])[-sides // 5]
    evidence = [f"0:{side}" for side in np.flatnonzero(needed)]
    told = stream(f"talk-{number}", ["x"] * sides, asked=[("?", [name]) for name in evidence])
    return Labelled(told, z, needed, np.arange(sides))


def some(name: str, weights: Sequence[float], talks: int = 6) -> LabelSet:
    return LabelSet(name, own_head(weights, -1.5), [labelled(number) for number in range(talks)])


def row_of(rows: Sequence[Row], metric: str, category: str, size: int) -> Row:
    (row,) = [row for row in rows if (row.metric, row.category, row.size) == (metric, category, size)]
    return row


def test_what_a_head_keeps_is_the_evidence_among_its_best_fifth() -> None:
    one = labelled(1)
    assert kept([one], own_head([0.0, 1.0], 0.0)) == 1.0
    assert kept([one], own_head([0.0, -1.0], 0.0)) == 0.0


def test_of_a_side_in_pieces_the_best_piece_counts() -> None:
    told = stream("five", ["x"] * 5, asked=[("?", ["0:3"])])
    z = np.array([[1.0], [2.0], [3.0], [0.0], [9.0], [4.0]])
    one = Labelled(told, z, np.zeros(6, dtype=bool), np.array([0, 1, 2, 3, 3, 4]))
    assert kept([one], own_head([1.0], 0.0)) == 1.0


def test_without_questions_the_evidence_of_later_uses_counts() -> None:
    told = replace(stream("log", ["x"] * 10), uses=(Use(9, 0), Use(9, 1), Use(8, 5), Use(7, 5)))
    z = np.arange(10, 0, -1, dtype=float)[:, None]  # keeps sides 0 and 1 of the needed 0, 1 and 5
    one = Labelled(told, z, np.zeros(10, dtype=bool), np.arange(10))
    assert kept([one], own_head([1.0], 0.0)) == pytest.approx(2 / 3)


def test_labels_take_a_prior_that_is_wrong_towards_full_training() -> None:
    rows = measure([some("wrong", [1.0, 0.0])], draws=3, seed=1)
    values = [row_of(rows, "evidence_kept", "wrong", size).value for size in (0, *SIZES, -1)]
    assert values[0] < 0.5
    assert values[-1] > 0.9
    assert values[0] < values[2] <= values[-1] + 0.05  # full training leans on the wrong prior a little more
    shares = [row_of(rows, "share_of_full_training", "all", size).value for size in SIZES]
    expected = [(value - values[0]) / (values[-1] - values[0]) for value in values[1:-1]]
    assert shares == pytest.approx(expected, abs=0.01)
    assert {row.n for row in rows} == {3}
    assert {(row.budget, row.unit) for row in rows if row.metric == "evidence_kept"} == {(0.2, "turns")}


def test_a_set_in_which_there_is_nothing_to_gain_does_not_count_towards_the_share() -> None:
    right, wrong = some("right", [0.0, 5.0]), some("wrong", [1.0, 0.0])
    both, alone = measure([right, wrong], draws=2, seed=1), measure([wrong], draws=2, seed=1)
    for size in SIZES:
        assert row_of(both, "share_of_full_training", "all", size) == row_of(
            alone, "share_of_full_training", "all", size
        )


def test_the_command_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(adapt, "SentenceEncoder", ToyEncoder)
    monkeypatch.setattr(adapt, "VECTORS", tmp_path / "vectors")
    rows: list[dict[str, object]] = []
    for talk in range(4):
        for n in range(20):
            said = f"My number {n} of {talk} is {n * n}" if n % 5 == 0 else "ok " + "well " * n
            answer = "Noted " + "so " * n + str(talk)
            rows.append({"conversation": f"c{talk}", "id": str(n), "observation": said, "action": answer})
        rows.append({"question": "?", "evidence": ["5.observation", "10.observation"], "conversation": f"c{talk}"})
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    save_adapter(replace(prior(), version="toy-7"), tmp_path / "adapter", {})
    words = ["--set", "jsonl", str(tmp_path / "own.jsonl"), f"without={tmp_path / 'adapter'}", "--draws", "2"]
    assert main(["adapt", *words, "--json", str(tmp_path / "rows.json")]) == 0
    written = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["size"] for row in written if row["metric"] == "evidence_kept"} == {0, *SIZES, -1}
    assert {row["data"] for row in written if row["metric"] == "evidence_kept"} == {"jsonl"}
    assert "prior" in capsys.readouterr().out


def test_a_format_that_nobody_knows_is_refused_in_a_sentence() -> None:
    with pytest.raises(SystemExit, match=r"There is no format csv\. There are: locomo"):
        main(["adapt", "--set", "csv", "x"])
