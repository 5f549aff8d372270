"""The bench of relevance, on a toy set: what is judged, what is measured, and that chance is not promoted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench import relevance
from bench.__main__ import main
from bench.relevance import A_CONVERSATION, Question, judged, questions_of
from memory.engine.prior import prior
from tests.toy import ToyEncoder
from tests.training.learner.toy_streams import facts
from training.learner.banks import fill, pieces_of


def questions() -> list[Question]:
    told = facts()
    return questions_of(fill(told, pieces_of(told, ToyEncoder()), prior()), prior(), ToyEncoder())


def test_what_was_handed_on_is_judged_by_its_evidence_and_nothing_else_is() -> None:
    asked = questions()
    cues = judged(asked, 0.0, np.random.default_rng(1))
    assert len(cues) == len(asked)
    assert cues.judged.tolist() == cues.shown.tolist()
    assert cues.value[cues.judged].tolist() == np.concatenate([one.fitting for one in asked])[cues.shown].tolist()
    assert not cues.value[~cues.judged].any()
    assert cues.shown.sum() == sum(len(one.found.chosen) for one in asked) > 0
    assert cues.group.tolist() == [number // A_CONVERSATION for number in range(len(asked))]


def test_with_a_share_flipped_so_many_judgements_are_wrong() -> None:
    asked = questions() * 30
    right, wrong = (judged(asked, share, np.random.default_rng(1)) for share in (0.0, 0.2))
    of = right.judged
    assert (right.value != wrong.value)[of].mean() == pytest.approx(0.2, abs=0.08)
    assert not (right.value != wrong.value)[~of].any()


def test_the_command_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], one_thread: None
) -> None:
    monkeypatch.setattr(relevance, "SentenceEncoder", ToyEncoder)
    monkeypatch.setattr(relevance, "VECTORS", tmp_path / "vectors")
    rows: list[dict[str, object]] = []
    for talk in range(4):
        for n in range(20):
            said = f"My number {n} of {talk} is {n * n}" if n % 5 == 0 else "ok " + "well " * n
            rows.append({"conversation": f"c{talk}", "id": str(n), "observation": said, "action": f"Noted {n} {talk}"})
        for n in (0, 5, 10, 15):
            rows.append({"question": f"What is my number {n} of {talk}?", "evidence": [f"{n}.observation"],
                         "conversation": f"c{talk}"})  # fmt: skip
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["--set", "jsonl", str(tmp_path / "own.jsonl"), "--draws", "2", "--cues", "6", "--json"]
    assert main(["relevance", *words, str(tmp_path / "rows.json")]) == 0
    written = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {(row["metric"], row["method"]) for row in written} == {
        ("mean@10", "champion"), ("mean@10", "challenger"), ("mean@10", "served"), ("gain", "challenger"),
        ("gain", "served"), ("gain_where_shown", "challenger"), ("gain_where_shown", "served"), ("promoted", "agora"),
    }  # fmt: skip
    assert {row["category"] for row in written} == {"all", "shuffled"}
    assert [row["value"] for row in written if row["metric"] == "promoted"] == [0.0, 0.0], "too few to learn from"
    assert "promoted in 0%" in capsys.readouterr().out
