"""The bench of self-supervision, on a toy set whose replies use what its questions need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import selflearn
from bench.__main__ import main
from bench.adapt import Labelled, kept
from bench.selflearn import PRIOR, SELF, SUPERVISED, SelfSet, credits_of, measure
from bench.table import Row
from memory.engine.posterior import believed
from memory.engine.prior import prior
from memory.engine.types import Role
from tests.bench.test_adapt import labelled
from tests.toy import ToyEncoder
from tests.training.learner.toy_streams import facts, stream
from training.learner.banks import fill, pieces_of
from training.learner.hindsight import Credit, values_of
from training.learner.self_taught import STRENGTH, Lesson
from training.learner.streams import Stream


def lived(one: Labelled, used: Sequence[int]) -> Lesson:
    return Lesson(
        one.z, one.side, [Credit(np.array([row]), np.array([1.0])) for row in used], one.stream.group
    )  # fmt: skip


def some(name: str, weights: Sequence[float], *, right: bool = True) -> SelfSet:
    streams = [labelled(number) for number in range(6)]
    used = [np.flatnonzero(one.needed if right else ~one.needed)[:24].tolist() for one in streams]
    lessons = [lived(one, rows) for one, rows in zip(streams, used, strict=True)]
    return SelfSet(name, believed(weights, -1.5, STRENGTH), streams, lessons)


def value(rows: Sequence[Row], metric: str, category: str, method: str) -> float:
    (row,) = [row for row in rows if (row.metric, row.category, row.method) == (metric, category, method)]
    return row.value


def test_hindsight_that_sees_what_is_needed_gains_what_evidence_gains() -> None:
    rows = measure([some("wrong", [1.0, 0.0])], draws=3, seed=1)
    before, after = (value(rows, "evidence_kept", "wrong", method) for method in (PRIOR, SELF))
    full = value(rows, "evidence_kept", "wrong", SUPERVISED)
    assert before < 0.5 < 0.8 < after
    share = value(rows, "share_of_supervised_gain", "all", SELF)
    assert share == pytest.approx((after - before) / (full - before), abs=0.01)
    assert share == value(rows, "share_of_supervised_gain", "wrong", SELF)


def test_a_set_without_a_gain_from_evidence_is_not_pooled_and_keeps_its_prior() -> None:
    right = some("right", [0.0, 5.0])
    rows = measure([right, some("wrong", [1.0, 0.0])], draws=2, seed=1)
    alone = measure([some("wrong", [1.0, 0.0])], draws=2, seed=1)
    assert value(rows, "share_of_supervised_gain", "all", SELF) == value(alone, "share_of_supervised_gain", "all", SELF)
    assert value(rows, "evidence_kept", "right", SELF) == value(rows, "evidence_kept", "right", PRIOR)


def credits(told: Stream) -> tuple[list[Credit], Labelled]:
    bank = fill(told, pieces_of(told, ToyEncoder()), prior())
    one = selflearn.labelled_in(bank, prior())
    weights = prior().importance.priors["user_assistant"]
    return credits_of(bank, one, prior(), believed(weights.weights, weights.bias, STRENGTH), ToyEncoder()), one


def test_credits_come_from_questions_and_replies_whatever_the_evidence_is() -> None:
    replies = ("Red", "Lisbon", "Tea, and Bruno")
    told = facts()
    asked = [replace(question, reply=reply) for question, reply in zip(told.questions, replies, strict=True)]
    found, one = credits(replace(told, questions=asked))
    values = values_of(len(one.z), found)
    assert {one.stream.sides[one.side[row]].text for row in np.argsort(-values)[:2]} <= {
        "My bike is red", "Anna lives in Lisbon", "I drink green tea", "My dog is called Bruno",
    }  # fmt: skip
    elsewhere = [replace(question, evidence=frozenset({"0:2"})) for question in asked]
    same, _ = credits(replace(told, questions=elsewhere))
    assert [credit.shares.tolist() for credit in same] == [credit.shares.tolist() for credit in found]
    assert credits(told)[0] == []  # without replies there is nothing to learn from


def test_in_tool_use_actions_credit_what_they_pass_on() -> None:
    told = stream(
        "log", ["I am mia_3668", "Hello", "I have 4WQ150", "get mia_3668", "done", "cancel 4WQ150"],
        kind="tool_use", roles=(Role.USER, Role.ASSISTANT),
    )  # fmt: skip
    found, _ = credits(told)
    assert [credit.rows.tolist() for credit in found] == [[0], [2]]


def test_the_command_writes_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selflearn, "SentenceEncoder", ToyEncoder)
    monkeypatch.setattr(selflearn, "VECTORS", tmp_path / "vectors")
    rows: list[dict[str, object]] = []
    for talk in range(4):
        for n in range(20):
            said = f"My number {n} of {talk} is {n * n}" if n % 5 == 0 else "ok " + "well " * n
            rows.append({"conversation": f"c{talk}", "id": str(n), "observation": said, "action": f"Noted {n} {talk}"})
        rows.append({"question": "What is my number 5?", "evidence": ["5.observation"], "conversation": f"c{talk}"})
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ["--set", "jsonl", str(tmp_path / "own.jsonl"), "--draws", "2", "--json", str(tmp_path / "rows.json")]
    assert main(["selflearn", *words]) == 0
    written = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["method"] for row in written if row["metric"] == "evidence_kept"} == {PRIOR, SELF, SUPERVISED}
    assert "supervised" in capsys.readouterr().out


def test_what_is_kept_is_measured_as_in_adapt() -> None:
    one = labelled(1)
    assert kept([one], believed([0.0, 1.0], 0.0, 1.0)) == 1.0
