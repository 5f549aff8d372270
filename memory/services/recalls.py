"""Recall for a turn: read the bank, then keep the trace."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from django.db import connection
from django.db.models import BinaryField, F, Func

from memory.adapters import adapter_of
from memory.encoding import encoder
from memory.engine import attention
from memory.engine.encoder import embedded_text
from memory.engine.features import is_asking
from memory.engine.hot import HotBank, Loaded
from memory.engine.lexical import terms
from memory.engine.signals import reads_like_english
from memory.engine.text import split_side
from memory.engine.types import Cue, Floats, RecallLimits, Recollection, State
from memory.hot_banks import hot_banks, loaded
from memory.models import Bank, Memory, Recall, Turn
from memory.services.ledger import BankMissing, record_recall
from memory.services.statements import bank_of_conversation
from memory.traces import packed

SHORT_CUE_WORDS = 5
ARCHIVE_CANDIDATES = 24  # by vector, and as many by words
CUE_TERMS = 256
UNFOUND = ("withdrawn", "merged")  # reasons why no cue finds an archived memory


@dataclass(frozen=True)
class PreparedCue:
    """A cue with its vector and the vectors of the observation's pieces: all that one encoder call gives a turn."""

    cue: Cue
    with_previous: bool
    piece_vectors: Floats  # (pieces, E)
    encode_ms: float


def prepare_cue(
    turn: Turn, *, previous: Turn | None, exclude_turns: frozenset[UUID], now: datetime, zone: tzinfo = UTC
) -> PreparedCue:
    """Encode a turn's observation as cue and, piece by piece, as the memories it will become: one encoder call.

    What it says of times ("yesterday") is resolved in `zone`, the person's. An observation of under five words takes
    the previous turn's words along. Of a long one the last piece asks.
    """
    started = time.perf_counter()
    asked = cue_words(turn, previous)
    texts = [asked.embedded, *(embedded_text(turn.observation_speaker, now, piece) for piece in asked.pieces)]
    vectors = encoder().encode(texts)
    cue = asked.cue(turn, vectors[0], exclude_turns=exclude_turns, now=now, zone=zone)
    return PreparedCue(cue, asked.with_previous, vectors[1:], _ms_since(started))


@dataclass(frozen=True)
class CueWords:
    """What a turn's observation asks with, before it is encoded."""

    text: str
    embedded: str  # what of it the encoder is given: the last piece
    pieces: list[str]  # the observation's own
    with_previous: bool

    def cue(
        self, turn: Turn, vector: Floats, *, exclude_turns: frozenset[UUID], now: datetime, zone: tzinfo = UTC
    ) -> Cue:
        """The cue, with the `vector` (E,) of `embedded`; the turn itself is never recalled."""
        return Cue(
            text=self.text, vector=vector, at=now.astimezone(zone), asking=is_asking(turn.observation),
            exclude_turns=exclude_turns | {turn.pk},
        )  # fmt: skip


def cue_words(turn: Turn, previous: Turn | None) -> CueWords:
    """The words of a turn's cue: an observation of under five words takes the previous turn's along."""
    text = turn.observation
    with_previous = previous is not None and len(text.split()) < SHORT_CUE_WORDS and len(terms(text)) < SHORT_CUE_WORDS
    if with_previous and previous is not None:
        text = f"{previous.observation}\n{text}"
    return CueWords(text, (split_side(text) or [text])[-1], split_side(turn.observation), with_previous)


@dataclass(frozen=True)
class Reading:
    """A bank read for a turn, and the trace of it."""

    recollection: Recollection
    trace: Recall
    words: list[list[str]]  # the terms of each injected memory's text


def recall_for_turn(turn: Turn, prepared: PreparedCue) -> Reading:
    """Read the turn's bank with the prepared cue and write down what was found, in the caller's transaction.

    The commit of a recall does not wait for the disk: a crash may lose its trace. Raises `BankMissing`.
    """
    started = time.perf_counter()
    bank = bank_of_conversation(turn.conversation_id)
    if bank is None:
        raise BankMissing("There is no such memory bank.")
    hot = hot_banks.open(bank)
    with hot.lock:
        recollection, seq = _read(bank, hot, prepared.cue, archive=bank.recall_archive), hot.state.seq
        words = _words_of(hot, recollection)
    timings = {"encode": round(prepared.encode_ms, 2), "recall": round(_ms_since(started), 2)}
    trace = _trace(turn, bank, prepared, recollection, seq, timings)
    # the ledger knows what was handed on; what merely ranked is in the trace
    record_recall(trace, hot, recollection)
    return Reading(recollection, trace, words)


def _read(bank: Bank, hot: HotBank, cue: Cue, *, archive: bool) -> Recollection:
    words = list(dict.fromkeys(terms(cue.text)))[:CUE_TERMS]
    adapter = adapter_of(bank)
    archived = archive_candidates(bank, hot, cue, words) if archive else []
    candidates = hot.candidates(cue, words, archived, adapter.vector)
    return attention.recall(cue, candidates, adapter, RecallLimits(tokens=bank.recall_tokens))


def regretted_by(trace: Recall) -> list[dict[str, Any]]:
    """Archived memories that the trace's cue would have recalled above the floor and ahead of something injected.

    Computed after the turn, against the bank and archive as they are now; without an injected memory, whatever passes
    the floor counts.
    """
    bank, turn = trace.bank, trace.turn
    zone = turn.owner.zone
    cue = prepare_cue(turn, previous=_previous_of(trace), exclude_turns=frozenset(), now=trace.at, zone=zone).cue
    hot = hot_banks.open(bank)
    with hot.lock:
        found = _read(bank, hot, cue, archive=True)
    return [
        {"memory": str(row.item.id), "logit": round(row.logit, 5), "fit": round(row.fit, 5), "group": row.group}
        for row in found.rows
        if row.injected and row.state is State.ARCHIVED and row.group != "below"
    ]


def mode_of_trace(trace: Recall) -> str:
    """Which of the recall head's weights read the trace's cue: "asking", "telling" or "unread"."""
    previous = _previous_of(trace)
    words = trace.turn.observation if previous is None else f"{previous.observation}\n{trace.turn.observation}"
    if not reads_like_english(words):
        return "unread"
    return "asking" if trace.asking else "telling"


def _previous_of(trace: Recall) -> Turn | None:
    """The turn whose words the cue took along."""
    if not trace.with_previous:
        return None
    before = Turn.objects.filter(
        conversation=trace.turn.conversation_id, replaced_at=None, ordinal__lt=trace.turn.ordinal
    )  # fmt: skip
    return before.order_by("-ordinal").first()


def archive_candidates(
    bank: Bank, hot: HotBank, cue: Cue, words: Sequence[str], *, among: Collection[UUID] | None = None
) -> list[Loaded]:
    """The archived memories nearest to the cue by vector and by words; withdrawn ones never, and what was merged by
    what it was merged into. With `among` only of those, which were in the archive at another time."""
    archived = Memory.objects.filter(bank=bank, state=State.ARCHIVED)
    if among is not None:
        archived = Memory.objects.filter(bank=bank, pk__in=among).exclude(state=State.FORGOTTEN)
    archived = archived.exclude(archive_reason__in=UNFOUND)
    by_words = _archived_by_words(bank, {word: hot.index.idf(word) for word in words})
    vector = "[" + ",".join(f"{x:.6g}" for x in cue.vector) + "]"
    by_vector = list(
        archived.extra(select={"far": "vector <=> %s::vector"}, select_params=[vector], order_by=["far"])
        .values_list("pk", flat=True)[:ARCHIVE_CANDIDATES]
    )  # fmt: skip
    rows = (
        archived.filter(pk__in={*by_words, *by_vector})
        .annotate(packed=Func(F("vector"), function="vector_send", output_field=BinaryField()))
        .defer("vector", "features")
    )
    return [loaded(row) for row in rows]


def _archived_by_words(bank: Bank, weights: Mapping[str, float]) -> list[UUID]:
    if not weights:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.memory_id FROM memory_posting p JOIN unnest(%s::text[], %s::float8[]) AS w(term, weight) "
            "USING (term) WHERE p.bank_id = %s GROUP BY p.memory_id ORDER BY sum(w.weight) DESC, p.memory_id LIMIT %s",
            [list(weights), list(weights.values()), bank.pk, ARCHIVE_CANDIDATES],
        )
        return [row[0] for row in cursor.fetchall()]


def _trace(
    turn: Turn, bank: Bank, prepared: PreparedCue, found: Recollection, seq: int, timings_ms: dict[str, float]
) -> Recall:
    ids = [item.id for item in found.items]
    archived = [ids[row] for row in np.flatnonzero(found.archived)]
    handed_on = [ids[row] for row in found.chosen]
    return Recall(
        id=uuid4(), owner_id=turn.owner_id, bank_id=bank.pk, turn_id=turn.pk, at=prepared.cue.at, seq=seq,
        adapter=found.adapter, asking=prepared.cue.asking, with_previous=prepared.with_previous,
        bypassed=found.bypassed, floor=found.floor, candidates=found.candidates,
        below_floor=found.below_floor, over_budget=found.over_budget, highly=found.highly,
        normalisation={name: [round(x, 6) for x in pair] for name, pair in found.normalisation.items()},
        signals=list(found.names), numbers=packed(found), memories=ids, archived=archived,
        recalled=handed_on, injected=handed_on,  # unless the prompt had no room for it: `mark_used`
        timings_ms=timings_ms,
    )  # fmt: skip


def _words_of(hot: HotBank, found: Recollection) -> list[list[str]]:
    """The terms of what was injected, from the hot bank, which has them at hand for all that it holds."""
    injected = [found.items[row] for row in found.chosen]
    return [hot.words(item.id) if hot.get(item.id) else terms(item.text) for item in injected]


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
