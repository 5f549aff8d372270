"""Remember: a turn's two sides become memories, and the bank comes back under its budget. No LLM is asked."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

import regex
from django.db import transaction

from memory.adapters import adapter_of
from memory.encoding import encoder
from memory.engine.encoder import embedded_text
from memory.engine.features import Context
from memory.engine.lexical import terms
from memory.engine.novel import without_recalled
from memory.engine.remember import Planner
from memory.engine.retention import policy_named
from memory.engine.text import content_hash, split_side
from memory.engine.types import Floats, MemoryItem, NewSide, Place, Role, Side, State
from memory.hot_banks import memory_item
from memory.models import Memory, MemorySource, Turn
from memory.services.flush import Used
from memory.services.ledger import LedgerWriter, writing
from memory.services.memories import take_back

_QUESTION = regex.compile(r"[?？؟]")
ENCODE_BATCH = 256


@dataclass(frozen=True)
class TurnToRemember:
    """A turn with what is already at hand: vectors of the observation's pieces, and the terms of each text that was
    recalled into it."""

    turn: Turn
    observation_vectors: Floats | None = None  # (pieces, E)
    recalled: Sequence[Collection[str]] = field(default=())
    used: Used | None = None  # what became of the turn's recall


@dataclass(frozen=True)
class _Piece:
    side: Side
    number: int
    text: str
    role: Role
    speaker: str
    at: datetime
    place: Place
    follows_question: bool
    vector: Floats | None = None


def remember_turn(bank_id: UUID, ready: TurnToRemember, *, now: datetime) -> None:
    """Remember one turn in one durable transaction. Done twice it changes nothing the second time.

    A turn that was tried again and says something else now takes back what its first try told.
    """
    pieces = {ready.turn.pk: _pieces(ready)}
    sides = _sides([ready.turn], pieces)
    no_longer_said = _no_longer_said(ready.turn, pieces[ready.turn.pk]) if ready.turn.remembered else {}
    with transaction.atomic() if no_longer_said else nullcontext():
        if no_longer_said:
            take_back(bank_id, no_longer_said, now=now)
        with writing(bank_id, contents=_contents(sides), savepoint=False) as writer, writer.hot.lock:
            writer.used = ready.used
            _remember(writer, [ready.turn], sides, pieces, now)
    ready.turn.remembered = True


def remember_turns(bank_id: UUID, turns: Sequence[Turn], *, now: datetime) -> None:
    """Remember many turns in their order, in one transaction: all of them or none (imports)."""
    pieces = {turn.pk: _pieces(TurnToRemember(turn)) for turn in turns}
    sides = _sides(turns, pieces)
    with writing(bank_id, private=True, contents=_contents(sides)) as writer:
        _remember(writer, turns, sides, pieces, now)


def sides_told(
    turns: Sequence[TurnToRemember], vectors: Mapping[tuple[UUID, Side, int], Floats], *, batch: int = ENCODE_BATCH,
    step: Callable[[float], None] = lambda share: None,
) -> dict[UUID, list[tuple[NewSide, Context]]]:  # fmt: skip
    """What these turns would tell a bank, by turn; changes nothing. `vectors` at hand, by turn, side and piece, are
    not computed again; after each `batch` of others `step` is told which share of them is done."""
    pieces = {
        ready.turn.pk: [
            replace(piece, vector=vectors.get((ready.turn.pk, piece.side, piece.number))) for piece in _pieces(ready)
        ]
        for ready in turns
    }
    encoded = _encode(pieces, batch, step)
    return {
        ready.turn.pk: [(_new_side(ready.turn, piece, encoded), _context(piece)) for piece in pieces[ready.turn.pk]]
        for ready in turns
    }


def _context(piece: _Piece) -> Context:
    return Context(piece.follows_question, piece.place.position == 0, 0.0)


def _remember(
    writer: LedgerWriter, turns: Sequence[Turn], sides: Mapping[UUID, Sequence[NewSide]],
    pieces: Mapping[UUID, Sequence[_Piece]], now: datetime,
) -> None:  # fmt: skip
    told = _already_told(turns)
    archived = _archived(writer.twins)
    policy = policy_named(writer.hot.state.policy or writer.bank.policy)
    for turn in turns:
        planner = Planner(writer.hot, adapter_of(writer.bank), policy, now)
        planner.follow(writer.next_seq)
        planner.look_up(sides[turn.pk])
        for side, piece in zip(sides[turn.pk], pieces[turn.pk], strict=True):
            if (turn.pk, side.side.value, side.piece) not in told:
                planner.take(side, _context(piece), _still_archived(writer, archived))
        archived |= planner.evict()  # what leaves in this transaction can be told again in it
        writer.take(planner.plan, turn.pk)
        writer.remembered.append(turn.pk)


def _sides(turns: Sequence[Turn], pieces: Mapping[UUID, Sequence[_Piece]]) -> dict[UUID, list[NewSide]]:
    vectors = _encode(pieces)
    return {turn.pk: [_new_side(turn, piece, vectors) for piece in pieces[turn.pk]] for turn in turns}


def _contents(sides: Mapping[UUID, Sequence[NewSide]]) -> list[bytes]:
    return [side.content for found in sides.values() for side in found]


def _pieces(ready: TurnToRemember) -> list[_Piece]:
    """The turn's sides in pieces that the encoder reads whole; of the action only what is the agent's own."""
    turn = ready.turn
    action = without_recalled(turn.action, ready.recalled)
    asked = bool(_QUESTION.search(turn.observation))
    after = turn.position + bool(turn.observation)
    return [
        *_side(turn, Side.OBSERVATION, turn.observation, turn.position, False, ready.observation_vectors),
        *_side(turn, Side.ACTION, action, after, asked, None),
    ]


def _side(
    turn: Turn, side: Side, text: str, position: int, follows_question: bool, vectors: Floats | None
) -> list[_Piece]:
    role, speaker, at = (
        (turn.observation_role, turn.observation_speaker, turn.observation_at)
        if side is Side.OBSERVATION
        else (turn.action_role, turn.action_speaker, turn.action_at)
    )
    texts = split_side(text)
    at_hand = vectors if vectors is not None and len(vectors) == len(texts) else None
    place = Place(turn.conversation_id, turn.session, position)
    return [
        _Piece(
            side, number, piece, Role(role), speaker, at or turn.created_at, place, follows_question,
            at_hand[number] if at_hand is not None else None,
        )
        for number, piece in enumerate(texts)
    ]  # fmt: skip


def _encode(
    pieces: Mapping[UUID, Sequence[_Piece]], size: int = ENCODE_BATCH,
    step: Callable[[float], None] = lambda share: None,
) -> dict[tuple[UUID, Side, int], Floats]:  # fmt: skip
    """Vectors of all pieces, in batches; none that are at hand is computed again."""
    out: dict[tuple[UUID, Side, int], Floats] = {}
    wanted: list[tuple[tuple[UUID, Side, int], str]] = []
    for turn, found in pieces.items():
        for piece in found:
            key = (turn, piece.side, piece.number)
            if piece.vector is not None:
                out[key] = piece.vector
            else:
                wanted.append((key, embedded_text(piece.speaker, piece.at, piece.text)))
    for start in range(0, len(wanted), size):
        batch = wanted[start : start + size]
        vectors = encoder().encode([text for _, text in batch])
        out |= {key: vector for (key, _), vector in zip(batch, vectors, strict=True)}
        step((start + len(batch)) / len(wanted))
    return out


def _new_side(turn: Turn, piece: _Piece, vectors: Mapping[tuple[UUID, Side, int], Floats]) -> NewSide:
    return NewSide(
        id=uuid.uuid4(), text=piece.text, role=piece.role, speaker=piece.speaker, at=piece.at, turn=turn.pk,
        side=piece.side, place=piece.place, piece=piece.number,
        content=content_hash(piece.role, piece.speaker, piece.text), vector=vectors[turn.pk, piece.side, piece.number],
    )  # fmt: skip


def _no_longer_said(turn: Turn, pieces: Sequence[_Piece]) -> dict[UUID, UUID]:
    """Sources of this turn (with their memories) whose words are not among its `pieces`."""
    said = {(piece.side.value, piece.number): piece.text for piece in pieces}
    told = MemorySource.objects.filter(turn=turn.pk).exclude(how="formed")  # a merged memory goes with its parts
    rows = told.values_list("pk", "memory", "side", "piece", "memory__text")
    return {
        source: memory
        for source, memory, side, number, text in rows
        if not _same_words(said.get((side, number), ""), text)
    }


def _same_words(one: str, other: str) -> bool:
    """As a merge asks it, so that a side that was merged still counts as said."""
    return one.split() == other.split() or (bool(terms(one)) and terms(one) == terms(other))


def _already_told(turns: Sequence[Turn]) -> set[tuple[UUID, str, int]]:
    """Sides of these turns that are sources already: a turn tried again is not remembered twice."""
    again = [turn.pk for turn in turns if turn.remembered]
    if not again:
        return set()
    return set(MemorySource.objects.filter(turn__in=again).values_list("turn_id", "side", "piece"))


def _archived(twins: Sequence[UUID]) -> dict[bytes, MemoryItem]:
    rows = Memory.objects.filter(pk__in=twins).defer("vector", "features") if twins else []
    return {bytes(row.content): memory_item(row) for row in rows}


def _still_archived(writer: LedgerWriter, archived: Mapping[bytes, MemoryItem]) -> Mapping[bytes, MemoryItem]:
    """Of the memories that were or became archived in this transaction, those that are now."""
    if not archived:
        return archived
    marks = writer.hot.state.marks
    return {content: item for content, item in archived.items() if marks[item.id].state is State.ARCHIVED}
