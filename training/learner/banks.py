"""A stream told to a bank, as the chat tells one: split, scored, merged, linked. No database is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
import regex

from memory.engine.adapter import Adapter
from memory.engine.encoder import Encoder, embedded_text
from memory.engine.features import Context, is_asking
from memory.engine.hot import HotBank
from memory.engine.lexical import terms
from memory.engine.replay import CUE_TERMS, UNBOUNDED, PrivateBank, ReplayTurn
from memory.engine.retention import RetentionPolicy, policy_named
from memory.engine.text import content_hash, split_side
from memory.engine.types import Budget, Cue, NewSide, Place
from training.learner.streams import Question, Stream, StreamSide

_QUESTION = regex.compile(r"[?？؟]")


@dataclass(frozen=True)
class Piece:
    """One piece of a stream's side, ready for a bank."""

    side: int  # number in the stream
    new: NewSide
    context: Context


@dataclass(frozen=True)
class FilledBank:
    """A bank that was told a whole stream, and which of its memories hold which side (merged ones, several)."""

    stream: Stream
    hot: HotBank
    memories_of: Sequence[Sequence[UUID]]  # by side number, all pieces; a twin's is the memory that was told first


def pieces_of(stream: Stream, encoder: Encoder) -> list[Piece]:
    """All sides in pieces that the encoder reads whole, with their vectors (one call of the encoder)."""
    conversation = uuid5(NAMESPACE_URL, f"stream:{stream.name}")
    split = [split_side(side.text) for side in stream.sides]
    told = [embedded_text(side.speaker, side.at, text) for side, texts in zip(stream.sides, split, strict=True)
            for text in texts]  # fmt: skip
    vectors = iter(encoder.encode(told))
    out: list[Piece] = []
    for number, (side, texts) in enumerate(zip(stream.sides, split, strict=True)):
        context = Context(_follows_question(stream.sides, number), side.position == 0, 0.0)
        for piece, text in enumerate(texts):
            turn = uuid5(conversation, str(side.turn))
            out.append(Piece(number, NewSide(
                id=uuid5(conversation, f"{number} {piece}"), text=text, role=side.role, speaker=side.speaker,
                at=side.at, turn=turn, side=side.side, place=Place(conversation, side.session, side.position),
                piece=piece, content=content_hash(side.role, side.speaker, text), vector=next(vectors),
            ), context))  # fmt: skip
    return out


def _follows_question(sides: Sequence[StreamSide], number: int) -> bool:
    before = sides[number - 1] if number and sides[number].position else None
    return before is not None and bool(_QUESTION.search(before.text))


def fill(
    stream: Stream, pieces: Sequence[Piece], adapter: Adapter, *, policy: RetentionPolicy | None = None,
    budget: Budget = UNBOUNDED,
) -> FilledBank:  # fmt: skip
    """Tell a stream, turn by turn, to a bank of its own; without a budget nothing leaves."""
    width = len(pieces[0].new.vector)
    bank = PrivateBank(width, budget, policy or policy_named("fifo"), adapter, pieces[0].new.at)
    turns: dict[UUID, list[Piece]] = {}
    for piece in pieces:
        turns.setdefault(piece.new.turn, []).append(piece)
    for ordinal, (turn, told) in enumerate(turns.items(), start=1):
        bank.tell(ReplayTurn(turn, ordinal, told[-1].new.at, None, [(piece.new, piece.context) for piece in told]))
    memories_of: list[list[UUID]] = [[] for _ in stream.sides]
    for piece in pieces:
        memories_of[piece.side].append(bank.holding(piece.new.id) or bank.memory_of[piece.new.id])
    return FilledBank(stream, bank.hot, memories_of)


def cue_of(question: Question, encoder: Encoder) -> Cue:
    """The cue that the chat would recall with, were the question its next message."""
    text = (split_side(question.text) or [question.text])[-1]
    return Cue(question.text, np.asarray(encoder.encode([text])[0]), question.at, is_asking(question.text))


def cue_terms(cue: Cue) -> list[str]:
    """The cue's terms as recall takes them, each once."""
    return list(dict.fromkeys(terms(cue.text)))[:CUE_TERMS]
