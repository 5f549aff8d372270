"""What AGORA ships: trained only on what may be, never on what is measured, the same each time, and small."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from memory.engine.adapter_file import MANIFEST, SHIPPED, WEIGHTS, load_adapter, read_manifest, save_adapter
from memory.engine.features import NAMES
from memory.engine.prior import prior
from memory.engine.types import Role
from tests.toy import WIDTH, ToyEncoder, toy_encoder
from tests.training.learner.toy_streams import facts, stream
from training import shipped
from training.learner.formats import read_streams
from training.learner.recall_training import RecallTraining
from training.learner.streams import Stream, Use
from training.shipped import TEST, TRAINABLE, Sources, main, read_sources, train

MEASURED_ONLY = ("locomo", "memdaily", "dev_s", "alfworld_trials")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few steps, and what `train` sets of torch set back."""
    before = torch.get_num_threads()
    monkeypatch.setattr(shipped, "RecallTraining", lambda seed: RecallTraining(steps=5, seed=seed))
    yield
    torch.set_num_threads(before)


def haystacks() -> list[Stream]:
    return [facts(f"facts-{n}") for n in range(4)]


def logs(name: str, source: int = 2, count: int = 3) -> list[Stream]:
    """Dialogues in which the side `source` is needed later."""
    roles = [Role.USER, Role.ASSISTANT, Role.TOOL]
    texts = ["Please look", "find AB12", "AB12 costs 40", "Go on", "book AB12", "done"]
    told = [stream(f"{name}-{number}", texts, roles=roles, kind="tool_use") for number in range(count)]
    return [replace(one, uses=(Use(4, source),)) for one in told]


def tools() -> dict[str, list[Stream]]:
    return {"tau": logs("tau"), "alfworld": logs("alfworld")}


def test_both_heads_learn_from_the_prior_and_two_people_stay_as_they_were_set(quick: None) -> None:
    adapter = train(Sources(haystacks(), tools(), []), toy_encoder(), "toy-1")
    start = prior()
    assert adapter.version == "toy-1"
    assert adapter.floor.coverage_share == start.floor.coverage_share
    assert 0 < adapter.floor.threshold <= adapter.floor.highly  # calibrated: the toy haystacks ask one another
    assert adapter.floor != start.floor
    changed = {
        kind for kind, one in adapter.importance.priors.items()
        if not np.array_equal(one.weights, start.importance.priors[kind].weights)
    }  # fmt: skip
    assert changed == {"user_assistant", "tool_use"}  # what one set of logs teaches holds on the other
    assert not np.array_equal(adapter.recall.asking, start.recall.asking)
    assert np.array_equal(adapter.recall.unread, start.recall.unread)
    assert 0.4 <= adapter.recall.temperature <= 2.5


@pytest.mark.parametrize(
    "sets",
    [{"tau": logs("tau", 2, 12), "alfworld": logs("alfworld", 0, 12)}, {"alfworld": logs("alfworld")}],
    ids=["they contradict each other", "there is but one"],
)
def test_a_head_of_tool_use_that_nothing_shows_to_carry_over_is_not_taken(
    quick: None, sets: dict[str, list[Stream]]
) -> None:
    head = train(Sources(haystacks(), sets, []), toy_encoder()).importance.priors["tool_use"]
    assert np.array_equal(head.weights, prior().importance.priors["tool_use"].weights)


@pytest.mark.parametrize("rank", [0, 2])
def test_training_twice_gives_the_same_bytes(quick: None, tmp_path: Path, rank: int) -> None:
    for name in ("one", "again"):
        save_adapter(train(Sources(haystacks(), tools(), []), toy_encoder(), rank=rank), tmp_path / name, {})
    assert (load_adapter(tmp_path / "one").vector is not None) == bool(rank)
    for file in (WEIGHTS, MANIFEST):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_without_data_the_heads_stay_as_they_were_set_by_hand(quick: None) -> None:
    adapter, start = train(Sources([], {}, []), toy_encoder()), prior()
    assert adapter.importance is not None
    for kind, one in adapter.importance.priors.items():
        assert np.array_equal(one.weights, start.importance.priors[kind].weights)
    assert np.array_equal(adapter.recall.asking, start.recall.asking)
    assert adapter.floor == start.floor


def test_only_what_may_be_trained_on_is_named() -> None:
    for _, file in TRAINABLE.values():
        assert not [word for word in MEASURED_ONLY if word in file]


def test_missing_data_are_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().out
    assert "The training data are missing" in said
    assert all(file in said for _, file in TRAINABLE.values())
    assert not (tmp_path / "out").exists()


@pytest.mark.data
def test_no_session_of_the_tested_questions_stands_in_the_haystacks(data_folder: Path) -> None:
    tested = read_streams(TEST[0], [data_folder / TEST[1]])
    known = frozenset().union(*(one.traces for one in tested))
    sources = read_sources(data_folder, without=("tau", "alfworld"))
    assert len(known) > 2_000
    assert sum(len(one.questions) for one in sources.haystacks) > 150
    for haystack in sources.haystacks:
        assert not haystack.fingerprints & known
        assert not haystack.traces & known  # nor one into which an answer was put
    asked = {question.text for one in tested for question in one.questions}
    assert not asked & {question.text for one in sources.haystacks for question in one.questions}
    unfiltered = read_streams(*_trainable(data_folder, "longmemeval"))
    assert any(one.fingerprints & known for one in unfiltered)  # without the filter some would stand there


def test_the_shipped_manifest_says_how_the_features_lay_of_what_each_trained_head_learned_from() -> None:
    manifest, shipped_heads = read_manifest(SHIPPED), load_adapter(SHIPPED).importance.priors
    told = manifest["distributions"]
    trained = {kind for kind, one in shipped_heads.items()
               if not np.array_equal(one.weights, prior().importance.priors[kind].weights)}  # fmt: skip
    assert set(told) == trained == {"user_assistant"}
    for one in told["user_assistant"]["features"].values():
        assert sum(one["counts"]) == told["user_assistant"]["memories"]
        assert len(one["counts"]) == len(one["edges"]) + 1
    assert set(told["user_assistant"]["features"]) == set(NAMES)


@pytest.mark.data
def test_sets_that_are_left_out_are_not_read(data_folder: Path) -> None:
    sources = read_sources(data_folder, without=("longmemeval", "tau"))
    assert sources.haystacks == []
    assert list(sources.files) == [TRAINABLE["alfworld"][1]]
    assert sources.tools["tau"] == []
    assert 0 < len(sources.tools["alfworld"]) <= shipped.MOST_DIALOGUES


def _trainable(data: Path, name: str) -> tuple[str, list[Path]]:
    format, file = TRAINABLE[name]
    return format, [data / file]


def test_the_shipped_adapter_says_what_it_was_trained_on(tmp_path: Path) -> None:
    """The shipped manifest names trainable files alone, and so does one that is made here."""
    made = tmp_path / "made"
    files = [file for _, file in TRAINABLE.values()]
    save_adapter(prior(), made, shipped._about(Sources([facts()], {}, files), []))
    for folder in (made, *([SHIPPED] if SHIPPED.is_dir() else [])):
        manifest = read_manifest(folder)
        assert set(manifest["trained_on"]) <= set(files)
        assert manifest["trained_on"]
        assert manifest["without"] == []
        assert isinstance(manifest["seed"], int)
        assert manifest["licence"]
        assert load_adapter(folder).version == manifest["version"]


def test_the_main_command_writes_a_small_adapter(
    quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for _, file in TRAINABLE.values():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(shipped, "read_sources", lambda data, without: Sources(haystacks(), tools(), ["a", "b"]))
    monkeypatch.setattr(shipped, "SentenceEncoder", ToyEncoder)
    out = tmp_path / "out"
    words = ["--data", str(tmp_path), "--out", str(out), "--vectors", str(tmp_path / "vectors"), "--without", "tau"]
    assert main(words) == 0
    assert "shipped-2-without-tau: " in capsys.readouterr().out
    manifest = read_manifest(out)
    assert (manifest["trained_on"], manifest["without"]) == (["a", "b"], ["tau"])
    assert (manifest["questions"], manifest["dialogues"]) == (12, 6)
    assert load_adapter(out).version == "shipped-2-without-tau"
    weights, told = (out / WEIGHTS).read_bytes(), manifest["distributions"]
    assert set(told) == {"user_assistant", "tool_use"}
    (out / MANIFEST).write_text(json.dumps({**manifest, "distributions": {}}))
    assert main([*words, "--describe"]) == 0
    assert (out / WEIGHTS).read_bytes() == weights
    assert read_manifest(out) == manifest
    assert sum(file.stat().st_size for file in out.iterdir()) <= shipped.MOST_BYTES
    assert load_adapter(out).vector is None
    assert main([*words, "--rank", "2"]) == 0
    vector = load_adapter(out).vector
    assert vector is not None
    assert (vector.down.shape, vector.revision) == ((2, WIDTH), toy_encoder().space.revision)
    assert load_adapter(out).version == read_manifest(out)["version"] == f"{shipped.VERSION}-without-tau-vectors-2"
