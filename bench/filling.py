"""Banks filled to their budget by the import path, with vectors that cost no encoder time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import numpy as np
from django.utils import timezone

from bench.sentences import Talk
from memory.encoding import encoder
from memory.engine.encoder import Encoder, Space
from memory.engine.trajectories.records import Trajectory, TrajectorySide, TrajectoryTurn
from memory.engine.types import Floats, Role
from memory.models import Bank, Memory
from memory.services.banks import BankConfiguration, create_bank
from memory.services.imports import import_trajectory
from memory.tenancy import acting_as

PERSON, AGENT = "Alex", "Scribe"
TURNS_A_CONVERSATION = 5_000  # an import reads its bank anew: few are quicker
EXEMPLARS = 128
SPREAD = 0.8  # length of the noise beside a unit vector: neighbours lie at a cosine of about .6


class Neighbourhoods:
    """Stands in for the encoder while a bank is filled: real vectors of a few sentences, each text beside one of them.

    So the bank's cosines with a real cue are spread as real ones are, and 20,000 vectors cost no minutes.
    """

    def __init__(self, inner: Encoder, seed: int) -> None:
        talk = Talk(seed)
        self.space: Space = inner.space
        self._near = inner.encode([talk.telling() if i % 2 else talk.reply() for i in range(EXEMPLARS)])

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Floats:
        dice = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
        noise = dice.standard_normal(self.space.width, dtype=np.float32)
        vector = self._near[dice.integers(EXEMPLARS)] + np.float32(SPREAD) * noise / np.linalg.norm(noise)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@contextmanager
def standing_in(other: Encoder) -> Iterator[None]:
    """Let `other` encode inside the block; no vector of its making stays in the cache."""
    cached = encoder()
    inner, cached.inner = cached.inner, other
    cached.clear()
    try:
        yield
    finally:
        cached.inner = inner
        cached.clear()


def full_bank(owner_id: UUID, size: int, seed: int) -> Bank:
    """Make a bank of `size` memories at its budget, a few more having been evicted already."""
    now = timezone.now()
    configuration = BankConfiguration(size, 200 * size, "importance", 800, False)
    with acting_as(owner_id):
        bank = create_bank(owner_id=owner_id, name=f"bank of {size}", configuration=configuration, now=now)
    talk, number = Talk(seed), 0
    wanted = size + max(2, size // 50)
    with standing_in(Neighbourhoods(encoder().inner, seed)):
        while (written := _written(owner_id, bank)) < wanted:
            number += 1
            turns = min(TURNS_A_CONVERSATION, (wanted - written + 1) // 2)
            with acting_as(owner_id):
                import_trajectory(conversation_of(talk, number, turns), owner_id=owner_id, bank_id=bank.pk, now=now)
    return bank


def _written(owner_id: UUID, bank: Bank) -> int:
    with acting_as(owner_id):
        return Memory.objects.filter(bank=bank).count()


def conversation_of(talk: Talk, number: int, turns: int) -> Trajectory:
    """A generated conversation to import; `number` tells it from others and sets its day."""
    start = timezone.now() - timedelta(days=400 - number)
    return Trajectory(
        external_id=f"filling-{number}",
        title="",
        kind="user_assistant",
        turns=tuple(
            TrajectoryTurn(
                ordinal=i + 1,
                session=1 + i // 50,
                external_id="",
                observation=TrajectorySide(talk.observation(), PERSON, Role.USER, start + timedelta(minutes=2 * i)),
                action=TrajectorySide(talk.reply(), AGENT, Role.ASSISTANT, start + timedelta(minutes=2 * i + 1)),
            )
            for i in range(turns)
        ),
    )
