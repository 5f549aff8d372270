"""The bench of summaries, on a conversation of one session of which most has left."""

from __future__ import annotations

from pathlib import Path

from bench.merge import SHOWN
from bench.streams import Measured
from bench.summaries import METHODS, measure, summed_up
from memory.engine.prior import prior
from memory.engine.replay import UNBOUNDED
from memory.engine.retention import policy_named
from memory.engine.text import sentences
from memory.engine.types import Budget, Role
from tests.toy import toy_encoder
from tests.training.learner.toy_streams import stream
from training.learner.banks import fill, pieces_of
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


def test_a_summary_takes_a_place_of_the_bank_and_counts_for_the_sides_whose_sentences_it_has(tmp_path: Path) -> None:
    pieces, policy, budget = pieces_of(TALK, toy_encoder()), policy_named("importance"), Budget(4, UNBOUNDED.tokens)
    whole = fill(TALK, pieces, prior())
    bank = summed_up(fill(TALK, pieces, prior(), policy=policy, budget=budget), whole, budget, policy)
    held = {item.id: item for item in bank.hot}
    (summary,) = (item for item in held.values() if item.kind == "summary")
    assert len(held) <= 4
    for side, memories in zip(TALK.sides, bank.memories_of, strict=True):
        if summary.id in memories:
            assert any(sentence in summary.text for sentence in sentences(side.text))
    assert any(summary.id in memories for memories in bank.memories_of)
