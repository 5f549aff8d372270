"""How fast conversations are imported, beside how fast the encoder alone takes the same texts in batches.

A round is one conversation imported into a bank at its budget, as an upload is: rows, memories, evictions, one durable
commit. The same texts are then encoded alone, in turn, in the same process and on one thread.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from agora_web.accounts.models import User
from bench.filling import conversation_of, full_bank
from bench.scratch import scratch_database
from bench.sentences import Talk
from bench.table import Row, figure, median
from memory.adapters import shipped_adapter
from memory.encoding import encoder
from memory.engine.encoder import embedded_text
from memory.engine.text import split_side
from memory.engine.trajectories.records import Trajectory
from memory.models import Bank
from memory.services.imports import import_trajectory
from memory.services.remember import ENCODE_BATCH
from memory.tenancy import acting_as


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--size", type=int, default=1_000, metavar="N", help="memories that the bank holds")
    parser.add_argument("--turns", type=int, default=150, help="of each imported conversation")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure in a scratch database, print the rows, return them."""
    with scratch_database():
        rows = measure(arguments.size, turns=arguments.turns, rounds=arguments.rounds, seed=arguments.seed)
    for row in rows:
        print(f"{row.metric:24}{row.value:>10.3f}  [{row.low:.3f}, {row.high:.3f}]")
    return rows


def measure(size: int, *, turns: int, rounds: int, seed: int) -> list[Row]:
    """Measure in the database that the settings name: texts a second, and their share of the encoder's own rate."""
    owner = User.objects.create_user(f"bench-{seed}@agora.localhost", None, name="Alex")
    bank = full_bank(owner.pk, size, seed)
    talk = Talk(seed + 1)
    encoder().inner.encode(["warm"])
    imported, alone = [], []
    for number in range(rounds):
        trajectory = conversation_of(talk, 10_000 + number, turns)
        texts = texts_of(trajectory)
        encoder().clear()
        imported.append(len(texts) / _import_s(owner.pk, bank, trajectory))
        alone.append(len(texts) / _encode_s(texts))
    about = {"adapter": shipped_adapter().version, "data": "generated", "level": "total", "size": size}
    return [
        figure("ingest_per_s", imported, median, unit="texts", **about),
        figure("encoder_batch_per_s", alone, median, unit="texts", **about),
        figure(
            "ingest_share_of_encoder", [ours / its for ours, its in zip(imported, alone, strict=True)], median,
            unit="ratio", **about,
        ),
    ]  # fmt: skip


def texts_of(trajectory: Trajectory) -> list[str]:
    """What is encoded of a trajectory, each text once."""
    sides = [side for turn in trajectory.turns for side in (turn.observation, turn.action) if side is not None]
    return list(
        dict.fromkeys(
            embedded_text(side.speaker, side.at or timezone.now(), piece)
            for side in sides
            for piece in split_side(side.text)
        )
    )


def _import_s(owner: UUID, bank: Bank, trajectory: Trajectory) -> float:
    started = time.perf_counter()
    with acting_as(owner):
        import_trajectory(trajectory, owner_id=owner, bank_id=bank.pk, now=timezone.now())
    return time.perf_counter() - started


def _encode_s(texts: Sequence[str]) -> float:
    started = time.perf_counter()
    for start in range(0, len(texts), ENCODE_BATCH):
        encoder().inner.encode(texts[start : start + ENCODE_BATCH])
    return time.perf_counter() - started
