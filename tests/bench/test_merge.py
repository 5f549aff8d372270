"""The bench of merging, on a conversation whose one merge can be followed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.merge import SHOWN, measure, shown
from bench.streams import Measured
from memory.engine.prior import prior
from memory.engine.types import Role
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import stream
from training.learner.vectors import DiskCachedEncoder

TALK = stream(
    "talk",
    ["Bruno is brown", "Bruno the beagle sleeps a lot", "I sold my boat in Lisbon", "The train to Porto was late"],
    asked=[("Is Bruno brown?", ["0:0"]), ("Which train was late?", ["0:3"])],
    roles=[Role.USER],
)
PLAIN, MERGE = "longest", "merge(similarity=0.2,share=1.0)+longest"


@pytest.fixture
def rows(tmp_path: Path) -> dict[tuple[str, float, str, str], float]:
    what = Measured("toy", [TALK], [], DiskCachedEncoder(toy_encoder(), tmp_path), prior())
    made = measure(what, [PLAIN, MERGE])
    assert shown(made).count("\n") == 8
    assert {row.metric for row in made} == set(SHOWN)
    return {(row.unit, row.budget, row.method, row.metric): row.value for row in made}


def test_what_left_is_lost_and_what_was_merged_is_held(rows: dict[tuple[str, float, str, str], float]) -> None:
    """Half of four memories are two: the shortest leaves first, then the oldest of two as long, or is merged."""
    assert rows["turns", 0.5, PLAIN, "evidence_kept"] == 0.5
    assert rows["turns", 0.5, MERGE, "evidence_kept"] == 1.0
    assert rows["turns", 0.5, MERGE, "words_kept"] == 1.0
    assert rows["turns", 0.5, MERGE, "mean@10"] == rows["turns", 0.5, MERGE, "mean@500t"] == 1.0
    assert rows["turns", 0.5, MERGE, "bank_tokens"] > rows["turns", 0.5, PLAIN, "bank_tokens"]


def test_a_budget_in_tokens_holds_with_merging_too(rows: dict[tuple[str, float, str, str], float]) -> None:
    for method in (PLAIN, MERGE):
        for share in (0.2, 0.5):
            assert rows["tokens", share, method, "bank_tokens"] <= share + 0.02
