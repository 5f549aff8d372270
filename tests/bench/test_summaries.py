"""The bench of summaries, on a conversation of one session of which most has left."""

from __future__ import annotations

from pathlib import Path

from bench.merge import SHOWN
from bench.streams import Measured
from bench.summaries import METHODS, measure
from memory.engine.prior import prior
from memory.engine.types import Role
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import stream
from training.learner.vectors import DiskCachedEncoder

LONG = [
    f"My {animal} {name} was brown and slept under the {place}. It ate {n} of everything that we had left on the table."
    for n, (animal, name, place) in enumerate(
        [("beagle", "Bruno", "stairs"), ("cat", "Mia", "oven"), ("goat", "Ida", "tree"), ("duck", "Olga", "bridge"),
         ("horse", "Tom", "roof"), ("rabbit", "Pia", "bench"), ("goose", "Ana", "wall"), ("donkey", "Leo", "gate")]
    )
]  # fmt: skip
TALK = stream("talk", LONG, asked=[("Where did Bruno sleep?", ["0:0"]), ("What ate Ida?", ["0:2"])], roles=[Role.USER])


def test_both_methods_are_measured_and_no_budget_is_exceeded(tmp_path: Path) -> None:
    rows = measure(Measured("toy", [TALK], [], DiskCachedEncoder(toy_encoder(), tmp_path), prior()))
    assert {row.metric for row in rows} == set(SHOWN)
    found = {(row.unit, row.budget, row.method, row.metric): row.value for row in rows}
    for method in METHODS:
        for share in (0.2, 0.5):
            assert found["tokens", share, method, "bank_tokens"] <= share + 0.02
    for share in (0.2, 0.5):
        assert found["turns", share, "summed up", "evidence_kept"] >= found["turns", share, "evicted", "evidence_kept"]
