"""Hindsight over a bank: once a conversation rests, its earlier sides are judged by what later turns used of them.

The judgements are labels like any other, each worth a tenth of a person's, and all of them anew each time: a
conversation that goes on has its labels replaced. Where they do not help to foresee what held-out replies use, they
are written without weight, so that nothing learns from them (`training.learner.self_taught`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from django.db.models import Max
from django.utils import timezone

from memory.engine.importance import kind_of
from memory.engine.posterior import believed
from memory.engine.types import Floats, Side, State
from memory.hot_banks import hot_banks, read_events
from memory.models import Bank, Job, Memory, Recall, Turn, TurnState
from memory.services.jobs import enqueue, handles
from memory.tenancy import acting_as
from memory.traces import trace_rows
from training.learner.hindsight import Credit, Lived, Told, credited, passed_on, values_of
from training.learner.self_taught import STRENGTH, Lesson, self_taught
from training.models import About, Label, Source
from training.services.own_heads import base_of, learn_soon, standardised

JOB = "training.hindsight"
RESTED = timedelta(minutes=30)  # without a turn
LOOKED_BACK = timedelta(days=6)  # for conversations that came to rest; rows of done jobs are kept for a week
WEIGHT = 0.1  # of a person's judgement: STRENGTH is ten times that of `memory.engine.adapting`
LEAST = 10  # replies that used something, before anything is learned from them
MOST_MEMORIES = 5_000  # of a bank, the newest
IN_VIEW = 2  # turns before a cue that its prompt shows anyway: their words are nobody's credit
SAID = (TurnState.DONE, TurnState.STOPPED)


@dataclass(frozen=True)
class Remembered:
    """The memories of a bank that can be judged, in the order of writing, and their features as they were then."""

    ids: Sequence[UUID]
    rows: Sequence[Memory]
    z: Floats  # (N, F)
    side: Sequence[int]  # (N,) the number of each one's side among those that turns still have


def sweep(now: datetime) -> int:
    """Have every bank judged in which a conversation came to rest since the last time; returns how many.

    Found as the sweeping role; the judging is done as the owner.
    """
    turns = Turn.objects.using("worker").filter(
        created_at__gt=now - LOOKED_BACK, replaced_at=None, conversation__forgotten_until=None
    )
    newest: dict[tuple[UUID, UUID], datetime] = {}
    by_conversation = turns.values_list("conversation", "conversation__bank", "owner").annotate(last=Max("created_at"))
    for _conversation, bank, owner, last in by_conversation:
        if last <= now - RESTED:
            newest[bank, owner] = max(last, newest.get((bank, owner), last))
    due = [(bank, owner) for (bank, owner), last in newest.items() if not _judged_since(bank, last + RESTED)]
    for bank, owner in due:
        with acting_as(owner):
            enqueue(JOB, str(bank), owner_id=owner)
    return len(due)


def _judged_since(bank: UUID, moment: datetime) -> bool:
    return Job.objects.using("worker").filter(kind=JOB, key=str(bank), created_at__gte=moment).exists()


@handles(JOB, heavy=True)
def judge_bank(key: str) -> None:
    """Judge what a bank was told by what later turns used, as its owner; nothing where the bank is gone."""
    bank = Bank.objects.select_related("space").filter(pk=UUID(key)).first()
    if bank is not None:
        judge(bank, now=timezone.now())


def judge(bank: Bank, *, now: datetime) -> int:
    """Replace the bank's labels of hindsight; returns how many memories are judged now.

    Judged is every memory that was told before the last turn that could have used it; those of which nothing was used
    are worth nothing. Turns of conversations that still go on are not read.
    """
    turns = _rested_turns(bank, now)
    told = _remembered(bank, turns)
    credits, judged = _credits(bank, told, turns)
    values = values_of(len(told.ids), credits)
    base = base_of(bank)
    prior = base.importance.priors[_kind(bank)]
    lesson = Lesson(told.z.astype(np.float64), np.array(told.side, dtype=np.int64), credits)
    start = believed(prior.weights, prior.bias, STRENGTH)
    helps = len(credits) >= LEAST and self_taught(start, [lesson]) is not start
    former = Label.objects.filter(memory__bank=bank, source=Source.HINDSIGHT)
    mattered = former.filter(weight__gt=0).exists()
    former.delete()
    labels = [
        Label(
            owner_id=bank.owner_id, memory=row, about=About.IMPORTANCE, source=Source.HINDSIGHT, text=row.text, at=now,
            value=round(float(value), 4), weight=WEIGHT if helps else 0.0, reason="used" if value >= 0.5 else "unused",
        )
        for row, value in zip(told.rows[:judged], values[:judged].tolist(), strict=True)
    ]  # fmt: skip
    Label.objects.bulk_create(labels)
    if helps or mattered:
        learn_soon(bank.pk, owner_id=bank.owner_id, now=now)
    return len(labels)


def _kind(bank: Bank) -> str:
    state = hot_banks.open(bank).state
    return kind_of(state.statistics, state.kind)


def _rested_turns(bank: Bank, now: datetime) -> list[Turn]:
    """The turns of conversations that rest, in the order in which they were had."""
    turns = Turn.objects.filter(conversation__bank=bank, replaced_at=None, conversation__forgotten_until=None)
    last = turns.values_list("conversation").annotate(last=Max("created_at"))
    rested = [conversation for conversation, at in last if at <= now - RESTED]
    return list(turns.filter(conversation__in=rested).order_by("created_at", "conversation", "ordinal"))


def _remembered(bank: Bank, turns: Sequence[Turn]) -> Remembered:
    """Held and archived memories with their features. A side's number is its place among those of the turns."""
    rows = Memory.objects.filter(bank=bank, kind="side", state__in=[State.HELD, State.ARCHIVED])
    newest = {row.pk: row for row in rows.order_by("-written_seq").defer("vector", "features")[:MOST_MEMORIES]}
    ids, z = standardised(read_events(bank), base_of(bank).importance, _kind(bank), set(newest))
    found = [newest[one] for one in ids]
    number: dict[tuple[UUID, str], int] = {}
    for turn in turns:
        for side in (Side.OBSERVATION, Side.ACTION):
            number[turn.pk, side.value] = len(number)
    numbers = [number.setdefault((row.turn_id or row.pk, row.side), len(number)) for row in found]
    return Remembered(ids, found, z, numbers)


def _credits(bank: Bank, told: Remembered, turns: Sequence[Turn]) -> tuple[list[Credit], int]:
    """What later turns used, and how many memories, the oldest first, were told before the last of these turns."""
    place = {memory: row for row, memory in enumerate(told.ids)}
    texts = [row.text for row in told.rows]
    words = Told(texts, [(row.place_conversation, row.session) for row in told.rows])
    importance = _logits(told.rows)
    shown = _in_view(turns)
    by_turn = {turn.pk: turn for turn in turns if turn.state in SAID and turn.action}
    credits: list[Credit] = []
    read = 0
    for recall in Recall.objects.filter(bank=bank, turn__in=by_turn, asking=True).order_by("at", "seq"):
        turn = by_turn[recall.turn_id]
        read = max(read, recall.seq)
        injected = [(UUID(row["memory"]), row["logit"]) for row in trace_rows(recall) if row["injected"]]
        rows = [(place[memory], logit) for memory, logit in injected if memory in place]
        rows = [(row, logit) for row, logit in rows if told.rows[row].turn_id != turn.pk]
        if not rows:
            continue
        cue = f"{turn.observation} {shown[turn.pk]}"
        logits = np.array([logit for _, logit in rows], dtype=np.float64)
        lived = Lived(cue, turn.action, np.array([row for row, _ in rows], dtype=np.int64), logits)
        if (credit := credited(words, lived, importance)) is not None:
            credits.append(credit)
    if _kind(bank) == "tool_use":
        credits += _passed_on(texts, told.side, turns)
        read = max([read, *(row.written_seq for row in told.rows if row.turn_id in by_turn)])
    return credits, sum(row.written_seq <= read for row in told.rows)


def _passed_on(texts: Sequence[str], side: Sequence[int], turns: Sequence[Turn]) -> list[Credit]:
    """What actions passed on, tool calls among them; sides are numbered as in `_remembered`."""
    said: list[str] = []
    session: list[tuple[UUID, int]] = []
    for turn in turns:
        said += [turn.observation, f"{turn.action}\n{turn.tool_calls or ''}"]
        session += [(turn.conversation_id, turn.session)] * 2
    return passed_on(texts, side, said, range(1, len(said), 2), session)


def _in_view(turns: Sequence[Turn]) -> Mapping[UUID, str]:
    """The words of the turns just before each in its conversation, which a prompt shows without any memory."""
    before: dict[UUID, list[str]] = {}
    out: dict[UUID, str] = {}
    for turn in turns:
        seen = before.setdefault(turn.conversation_id, [])
        out[turn.pk] = " ".join(seen[-IN_VIEW:])
        seen.append(f"{turn.observation} {turn.action}")
    return out


def _logits(rows: Sequence[Memory]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The head's logit of each memory, from its importance as it stands."""
    importance = np.clip(np.array([row.importance for row in rows], dtype=np.float64), 1e-6, 1 - 1e-6)
    return np.asarray(np.log(importance / (1 - importance)))
