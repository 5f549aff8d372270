"""The bench of recall, on banks small enough to rank by hand."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest

from bench import recall, streams
from bench.__main__ import main
from bench.recall import Asked, figures, measure, ndcg, ranks
from bench.streams import Measured, cross_fitted
from bench.table import Row
from memory.engine import signals
from memory.engine.adapter import RecallHead
from memory.engine.adapter_file import save_adapter
from memory.engine.prior import prior
from memory.engine.vector_adapter import VectorAdapter
from tests.toy import WIDTH, ToyEncoder, toy_encoder
from tests.training.learner.toy_streams import FACTS, facts, stream
from training.learner.banks import fill, pieces_of
from training.learner.recall_examples import recall_examples
from training.learner.streams import Stream
from training.learner.vectors import DiskCachedEncoder

METRICS = [f"{name}@{depth}" for depth in (5, 10, 20, 50) for name in ("any", "all", "mean")] + ["mrr", "ndcg@10"]


def what_of(folder: Path, test: Sequence[Stream], train: Sequence[Stream] = ()) -> Measured:
    return Measured("toy", test, train, DiskCachedEncoder(toy_encoder(), folder / "vectors"), prior())


def asked(told: Stream, number: int, order: Sequence[int]) -> Asked:
    """Question `number` of a stream whose memories a method ranks in that order, all others behind."""
    bank = fill(told, pieces_of(told, toy_encoder()), prior())
    place = {item.id: row for row, item in enumerate(bank.hot.memories())}
    sides_of: list[list[int]] = [[] for _ in place]
    for side, memories in enumerate(bank.memories_of):
        for memory in memories:
            sides_of[place[memory]].append(side)
    scores = np.full(len(place), -1e3, dtype=np.float32)
    for rank, memory in enumerate(order):
        scores[memory] = -rank
    return Asked(recall_examples(bank, toy_encoder())[number], bank, sides_of, {"toy": scores})


def test_places_are_counted_from_one_and_sessions_by_their_first_side() -> None:
    one = asked(facts(), 0, [7, 0, 1, 6])
    at, order = ranks(one, "toy", lambda side: side)
    assert [at[side] for side in (7, 0, 1, 6)] == [1, 2, 3, 4]
    assert order[:4] == [7, 0, 1, 6]
    sessions, order = ranks(one, "toy", lambda side: facts().sides[side].session)
    assert sessions == {1: 1, 0: 2}
    assert order == [7, 0]


def test_pieces_of_a_side_take_one_place_and_a_twin_stands_where_the_first_is() -> None:
    long = " ".join(f"Sentence number {n} says that the {n}th thing is as it was." for n in range(80))
    told = stream("twins", ["My bike is red", long, "My bike is red", "Noted"], asked=[("Bike?", ["0:2"])])
    one = asked(told, 0, [])
    pieces = [memory for memory, sides in enumerate(one.sides_of) if sides == [1]]
    assert len(pieces) > 1
    one = asked(told, 0, [*pieces, 0])
    at, order = ranks(one, "toy", lambda side: side)
    assert at == {1: 1, 0: 2, 2: 2, 3: 3}
    assert order == [pieces[0], 0, len(one.sides_of) - 1]


def test_the_figures_of_a_question_are_those_worked_by_hand() -> None:
    one = asked(facts(), 2, range(12))  # its evidence, sides 6 and 10, stands at places 7 and 11; session 1 at place 2
    found = figures(one, "toy")
    turn = {metric: value for (level, metric), value in found.items() if level == "turn"}
    assert [turn[f"any@{depth}"] for depth in (5, 10, 20, 50)] == [0, 1, 1, 1]
    assert [turn[f"all@{depth}"] for depth in (5, 10, 20, 50)] == [0, 0, 1, 1]
    assert [turn[f"mean@{depth}"] for depth in (5, 10, 20, 50)] == [0, 0.5, 1, 1]
    assert turn["mrr"] == pytest.approx(1 / 7)
    assert turn["ndcg@10"] == pytest.approx((1 / log2(8)) / (1 + 1 / log2(3)))
    items = one.bank.hot.memories()
    assert turn["tokens@10"] == sum(item.tokens for item in items[:10])
    session = {metric: value for (level, metric), value in found.items() if level == "session"}
    assert set(session) == set(METRICS)
    assert session["any@5"] == session["all@5"] == 1
    assert (session["mrr"], session["ndcg@10"]) == (0.5, pytest.approx(1 / log2(3)))


@pytest.mark.parametrize(
    ("places", "value"),
    [([1], 1.0), ([1, 2], 1.0), ([2], 1 / log2(3)), ([11], 0.0), ([1, 11], 1 / (1 + 1 / log2(3))),
     (list(range(1, 13)), 1.0)],
)  # fmt: skip
def test_gain_is_discounted_by_the_logarithm_of_the_place(places: list[int], value: float) -> None:
    assert ndcg(places, 10) == pytest.approx(value)


def test_the_memories_of_a_bank_stand_in_the_order_of_its_candidates(tmp_path: Path) -> None:
    """What ranks by the candidates' scores must not look up another memory's length."""
    told = facts()
    bank = fill(told, pieces_of(told, toy_encoder()), prior())
    (one, *_) = recall_examples(bank, toy_encoder())
    candidates = bank.hot.candidates(one.cue, ["bike"])
    assert [item.id for item in candidates.items] == [item.id for item in bank.hot.memories()]


# --- the whole bench ------------------------------------------------------------------------------------------------


def pooled(rows: Sequence[Row], method: str, level: str, metric: str) -> Row:
    (row,) = [
        row for row in rows
        if (row.method, row.level, row.metric, row.category) == (method, level, metric, "all")
    ]  # fmt: skip
    return row


def test_every_method_has_a_row_for_every_level_metric_and_category(tmp_path: Path) -> None:
    second = facts("second")
    questions = [replace(second.questions[0], category="other"), *second.questions[1:]]
    rows = measure(what_of(tmp_path, [facts(), replace(second, questions=questions)]))
    assert {row.method for row in rows} == {"agora", "random", "bm25", "cosine"}
    for method in ("agora", "random", "bm25", "cosine"):
        for level in ("turn", "session"):
            for category, n in (("all", 6), ("facts", 5), ("other", 1)):
                some = [row for row in rows if (row.method, row.level, row.category) == (method, level, category)]
                extra = ["tokens@10"] if level == "turn" else []
                assert sorted(row.metric for row in some) == sorted(METRICS + extra)
                assert {(row.n, row.unit, row.budget, row.data) for row in some} == {(n, "turns", None, "toy")}
    assert {row.adapter for row in rows} == {prior().version}
    assert pooled(rows, "bm25", "turn", "any@5").value == 1.0
    assert pooled(rows, "agora", "turn", "mean@10").value > pooled(rows, "random", "turn", "mean@5").value
    assert "mean@10" in recall.shown(rows)


def test_trained_heads_are_told_by_the_number_of_conversations(tmp_path: Path, one_thread: None) -> None:
    told = [facts(f"talk-{n}") for n in range(2)]
    told[1] = replace(told[1], sides=[replace(side, text=side.text + " now") for side in told[1].sides])
    rows = measure(what_of(tmp_path, told, told), hidden=2)
    assert {row.adapter for row in rows} == {"trained on 2"}


def test_a_vector_adapter_is_trained_across_conversations_too(tmp_path: Path, one_thread: None) -> None:
    told = [facts(f"talk-{n}") for n in range(3)]
    told[1:] = [replace(one, sides=[replace(side, text=f"{side.text} now {n}") for side in one.sides])
                for n, one in enumerate(told[1:])]  # fmt: skip
    rows = measure(what_of(tmp_path, told, told), rank=2)
    assert {row.adapter for row in rows} == {"trained on 3, vectors of rank 2"}
    plain = measure(what_of(tmp_path, told, told))
    for method in ("bm25", "cosine", "random"):  # the baselines stay in the frozen space
        assert pooled(rows, method, "turn", "mrr").value == pooled(plain, method, "turn", "mrr").value


def test_an_adapter_with_a_vector_part_is_measured_in_its_space_unless_it_is_of_another_encoder(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    down, up = (chance.standard_normal(shape).astype(np.float32) for shape in ((3, WIDTH), (WIDTH, 3)))
    cosine_alone = np.array([name == "cosine" for name in signals.NAMES], dtype=np.float32)
    start = replace(prior(), recall=RecallHead(cosine_alone, cosine_alone, cosine_alone, 1.0))
    frozen, found = what_of(tmp_path, [facts()]), {}
    for revision in (frozen.encoder.space.revision, "another"):
        adapter = replace(start, vector=VectorAdapter(down, up, revision))
        found[revision] = pooled(measure(replace(frozen, adapter=adapter)), "agora", "turn", "mrr").value
    plain = pooled(measure(replace(frozen, adapter=start)), "agora", "turn", "mrr").value
    assert found["another"] == plain
    assert found[frozen.encoder.space.revision] != plain


def test_what_reaches_the_prompt_is_reported_by_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question's two sides of evidence are told together with ten others: within 4 tokens one fits at most."""
    monkeypatch.setattr(recall, "PROMPT_TOKENS", (1_000, 4))
    open_floor = replace(prior(), floor=replace(prior().floor, threshold=-9.0))
    rows = measure(replace(what_of(tmp_path, [facts()]), adapter=open_floor))
    found = {(row.budget, row.metric): row.value for row in rows if row.level == "injected"}
    assert {row.method for row in rows if row.level == "injected"} == {"agora"}
    assert (found[1_000, "mean"], found[1_000, "all"], found[1_000, "memories"]) == (1.0, 1.0, 12.0)
    assert 0 < found[4, "mean"] < 1
    assert 0 < found[4, "memories"] <= 1
    shut = replace(prior(), floor=replace(prior().floor, threshold=9.0))
    rows = measure(replace(what_of(tmp_path, [facts()]), adapter=shut))
    assert {row.value for row in rows if row.level == "injected"} == {0.0}


# --- what may be trained on -----------------------------------------------------------------------------------------


def talk(name: str, group: str, shared: str = "") -> Stream:
    sessions = [[f"I am {name}", "Hello"], *([[shared, "Indeed"]] if shared else [])]
    return stream(name, *sessions, asked=[("Who am I?", ["0:0"])], group=group)


def test_no_head_learns_from_the_group_or_a_session_that_it_is_tested_on(tmp_path: Path) -> None:
    told = [talk(f"{group}{n}", group, "We met in Graz" if (group, n) in (("a", 0), ("c", 1)) else "")
            for group in "abc" for n in range(2)]  # fmt: skip
    fitted = cross_fitted(what_of(tmp_path, told, told), lambda fit: [one.name for one in fit])
    assert fitted == {
        "a": ["b0", "b1", "c0"],  # c1 shares a session with a0
        "b": ["a0", "a1", "c0", "c1"],
        "c": ["a1", "b0", "b1"],
    }


def test_many_groups_are_left_out_a_fifth_at_a_time(tmp_path: Path) -> None:
    told = [talk(f"talk-{n}", f"group-{n:02}") for n in range(23)]
    learned: list[int] = []
    fitted = cross_fitted(what_of(tmp_path, told, told), lambda fit: learned.append(len(fit)) or {o.group for o in fit})
    assert learned == [18, 18, 18, 18, 20]
    assert set(fitted) == {one.group for one in told}
    assert not [group for group, seen in fitted.items() if group in seen]


def test_other_files_are_learned_from_once_but_for_the_sessions_that_are_tested(tmp_path: Path) -> None:
    test = [talk(f"talk-{n}", f"group-{n:02}", "We met in Graz" if n == 3 else "") for n in range(12)]
    train = [talk("x", "x"), talk("y", "y", "We met in Graz"), talk("z", "z")]
    learned: list[list[str]] = []
    fitted = cross_fitted(what_of(tmp_path, test, train), lambda fit: learned.append([one.name for one in fit]) or 7)
    assert learned == [["x", "z"]]
    assert fitted == dict.fromkeys((one.group for one in test), 7)


def test_streams_of_two_files_with_one_name_are_told_apart(tmp_path: Path, one_thread: None) -> None:
    """As MemDaily's are, which only count: the bank of the one must not be asked for the other's evidence."""
    test = facts("talk-0", group="test")
    train = [stream(f"talk-{n}", ["Paint it black", "Fine"], asked=[("What?", ["0:0"])], group=f"train-{n}")
             for n in range(2)]  # fmt: skip
    rows = measure(what_of(tmp_path, [test], train))
    assert pooled(rows, "bm25", "turn", "any@5").value == 1.0
    assert pooled(rows, "bm25", "turn", "mrr").n == 3


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six conversations in AGORA's own format, each with a question; the toy encoder in place of the real one."""
    monkeypatch.setattr(streams, "SentenceEncoder", ToyEncoder)
    monkeypatch.setattr(streams, "VECTORS", tmp_path / "vectors")
    rows: list[dict[str, object]] = []
    for n in range(6):
        said = [*FACTS, f"My number is {n}"]
        rows += [{"conversation": f"c{n}", "id": str(i), "observation": text, "action": "Noted, number " + "x" * i}
                 for i, text in enumerate(said)]  # fmt: skip
        rows.append({"question": "What is my number?", "evidence": ["4.observation"], "conversation": f"c{n}"})
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    save_adapter(replace(prior(), version="toy-7"), tmp_path / "adapter", {})
    return path


def test_the_command_writes_the_table(own_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["recall", "--format", "jsonl", "--test", str(own_file), "--adapter", str(tmp_path / "adapter")]
    assert main([*words, "--json", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {row["adapter"] for row in rows} == {"toy-7"}
    assert {row["metric"] for row in rows if row["level"] != "injected"} == {*METRICS, "tokens@10"}
    assert {row["n"] for row in rows} == {6}
    assert "bm25" in capsys.readouterr().out


def test_files_in_which_nothing_is_asked_are_refused_in_a_sentence(own_file: Path, tmp_path: Path) -> None:
    silent = tmp_path / "silent.jsonl"
    silent.write_text("".join(line + "\n" for line in own_file.read_text().split("\n") if "question" not in line))
    with pytest.raises(SystemExit, match="nothing is asked, and nothing is used later"):
        main(["recall", "--format", "jsonl", "--test", str(silent), "--adapter", str(tmp_path / "adapter")])


def test_a_larger_sample_holds_the_smaller_one(own_file: Path, tmp_path: Path) -> None:
    parser = ArgumentParser()
    recall.add_arguments(parser)
    names = []
    for sample in (2, 4, 6):
        words = ["--format", "jsonl", "--test", str(own_file), "--adapter", str(tmp_path / "adapter")]
        what = streams.measured(parser.parse_args([*words, "--sample", str(sample)]))
        names.append([one.name for one in what.test])
    assert names[0] == names[1][:2] == names[2][:2]
    assert names[1] == names[2][:4]
    assert len(names[2]) == 6
