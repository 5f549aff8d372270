"""What the benches measure and what they may train on for it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import streams
from bench.streams import measured
from tests.toy import ToyEncoder
from tests.training.learner.toy_streams import facts
from training.learner.streams import Stream

TEST, OTHERS = Path("test.jsonl"), Path("others.jsonl")


def asked(train: Sequence[Path] | None, format: str = "longmemeval") -> Namespace:
    return Namespace(format=format, test=[TEST], train=train, sample=None, seed=1, adapter=None)


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files that hold the very same conversations."""

    def read(format: str, paths: Sequence[Path]) -> list[Stream]:
        return [facts(f"facts-{number}") for number in range(3)]

    monkeypatch.setattr(streams, "read_streams", read)


def test_haystacks_that_are_measured_are_trained_on_across_each_other_as_they_are() -> None:
    what = measured(asked([TEST]), ToyEncoder())
    assert [stream.name for stream in what.train] == [stream.name for stream in what.test]


def test_training_files_of_which_nothing_is_left_are_refused_and_nothing_else_is_measured_in_their_name() -> None:
    with pytest.raises(SystemExit, match="Nothing in the training files is apart"):
        measured(asked([OTHERS]), ToyEncoder())


def test_without_training_files_the_shipped_adapter_is_measured() -> None:
    what = measured(asked(None), ToyEncoder())
    assert what.train == []
    assert what.adapter.version.startswith("shipped-")
