"""What a turn's memory costs: recall and remember through the services of the chat, with a durable database.

One thread. A turn is taken as the chat takes it: the observation saved, the cue prepared, recall and remember each in a
transaction of its own as the bank's owner, the connection handed back after it. The bank stands at its budget, so each
turn also evicts. Beside every turn one bare durable commit of one row, and the same texts encoded alone.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from django.db import connections
from django.utils import timezone

from agora_web.accounts.models import User
from bench.filling import AGENT, PERSON, full_bank, standing_in
from bench.scratch import scratch_database
from bench.sentences import Talk
from bench.table import Row, figure, median, p95
from memory.adapters import shipped_adapter
from memory.encoding import encoder
from memory.engine.encoder import Encoder, Space
from memory.engine.types import Floats
from memory.hot_banks import hot_banks
from memory.models import Bank, Turn
from memory.services.conversations import start_conversation
from memory.services.flush import Used
from memory.services.recalls import PreparedCue, Reading, prepare_cue, recall_for_turn
from memory.services.remember import TurnToRemember, remember_turn
from memory.services.turns import open_turn
from memory.tenancy import acting_as

T = TypeVar("T")

WARM_UP = 5
HISTORY_TURNS = 6  # as the chat: the last turns stand in the prompt and are not recalled

TOTALS = ("overhead", "commit", "with_encoder", "encoder")
STAGES = ("encode", "prepare", "recall", "recall_commit", "remember", "remember_commit")


@dataclass(frozen=True)
class Taken:
    """What one turn took, in milliseconds. `recall` and `remember` hold their commits and no encoding."""

    commit: float  # one bare durable commit, measured beside the turn
    encoder: float  # the turn's texts encoded alone, measured beside the turn
    encode: float  # encoding within the turn
    prepare: float  # the cue, without encoding
    recall: float
    recall_commit: float  # of which: from the last statement to the connection's return
    remember: float
    remember_commit: float

    @property
    def overhead(self) -> float:
        """All that memory does for a turn."""
        return self.prepare + self.recall + self.remember

    @property
    def with_encoder(self) -> float:
        return self.overhead + self.encode


class Stopwatch:
    """An encoder that notes what it is asked for and how long the one inside takes."""

    def __init__(self, inner: Encoder) -> None:
        self.inner = inner
        self.ms = 0.0
        self.batches: list[Sequence[str]] = []

    @property
    def space(self) -> Space:
        return self.inner.space

    def encode(self, texts: Sequence[str]) -> Floats:
        started = time.perf_counter()
        vectors = self.inner.encode(texts)
        self.ms += ms_since(started)
        self.batches.append(texts)
        return vectors

    def read(self) -> tuple[float, list[Sequence[str]]]:
        """Milliseconds and batches since the last reading."""
        taken = self.ms, self.batches
        self.ms, self.batches = 0.0, []
        return taken


class BareCommit:
    """One row inserted and committed durably, on a plain connection: the floor under every durable write."""

    def __init__(self) -> None:
        parameters = connections["owner"].get_connection_params()
        names = {"host", "port", "dbname", "user", "password"} & parameters.keys()
        self._connection = psycopg.connect(**{name: parameters[name] for name in names}, autocommit=True)
        self._connection.execute("DROP TABLE IF EXISTS bench_commit")
        self._connection.execute("CREATE TABLE bench_commit (id bigserial PRIMARY KEY, at timestamptz)")

    def ms(self) -> float:
        started = time.perf_counter()
        self._connection.execute("INSERT INTO bench_commit (at) VALUES (now())")
        return ms_since(started)

    def close(self) -> None:
        self._connection.execute("DROP TABLE bench_commit")
        self._connection.close()


class Chat:
    """Takes turns with one bank as the chat does, and times them."""

    def __init__(self, bank: Bank, talk: Talk, commit: BareCommit, stopwatch: Stopwatch) -> None:
        self._bank, self._talk, self._commit, self._stopwatch = bank, talk, commit, stopwatch
        self._past: list[Turn] = []
        with acting_as(bank.owner_id):
            self._conversation = start_conversation(owner_id=bank.owner_id, bank_id=bank.pk, now=timezone.now())

    def take_turn(self) -> Taken:
        """One turn; the reply comes from the generator, so no LLM's time is in it."""
        commit, bank_id = self._commit.ms(), self._bank.pk
        turn = self._open()
        previous = self._past[-1] if self._past else None
        shown = frozenset(past.pk for past in self._past[-HISTORY_TURNS:])
        started = time.perf_counter()
        prepared = prepare_cue(turn, previous=previous, exclude_turns=shown, now=timezone.now())
        preparing = ms_since(started)
        encode, batches = self._stopwatch.read()
        reading, recall, recall_commit = self._as_owner(lambda: recall_for_turn(turn, prepared))
        turn.action, turn.action_at = self._talk.reply(), timezone.now()
        ready = _ready(turn, prepared, reading)
        _, remember, remember_commit = self._as_owner(lambda: remember_turn(bank_id, ready, now=timezone.now()))
        encode_more, more = self._stopwatch.read()
        self._past.append(turn)
        started = time.perf_counter()
        for batch in (*batches, *more):
            self._stopwatch.inner.encode(batch)
        alone = ms_since(started)
        return Taken(
            commit=commit, encoder=alone, encode=encode + encode_more, prepare=preparing - encode, recall=recall,
            recall_commit=recall_commit, remember=remember - encode_more, remember_commit=remember_commit,
        )  # fmt: skip

    def _open(self) -> Turn:
        with acting_as(self._bank.owner_id):
            return open_turn(
                conversation_id=self._conversation.pk, text=self._talk.observation(), speaker=PERSON,
                agent_speaker=AGENT, now=timezone.now(),
            )  # fmt: skip

    def _as_owner(self, work: Callable[[], T]) -> tuple[T, float, float]:
        """As `agents.threads.as_person` runs a piece of work: its result, the whole time, and that after the work."""
        started = time.perf_counter()
        try:
            with acting_as(self._bank.owner_id):
                result = work()
                worked = time.perf_counter()
        finally:
            connections.close_all()
        return result, ms_since(started), ms_since(worked)


def _ready(turn: Turn, prepared: PreparedCue, reading: Reading) -> TurnToRemember:
    injected = [row.item.id for row in reading.recollection.injected]
    return TurnToRemember(turn, prepared.piece_vectors, reading.words, Used(reading.trace.pk, injected, injected[:1]))


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 20_000], metavar="N")
    parser.add_argument("--turns", type=int, default=60, help="measured turns a size, after a warm-up")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure in a scratch database, print the table, return its rows."""
    with scratch_database():
        rows = measure(arguments.sizes, turns=arguments.turns, seed=arguments.seed)
    print(shown(rows))
    return rows


def measure(sizes: Sequence[int], *, turns: int, seed: int) -> list[Row]:
    """Measure every size in the database that the settings name; prints a line a size as it goes."""
    owner = User.objects.create_user(f"bench-{seed}@agora.localhost", None, name=PERSON)
    stopwatch, commit = Stopwatch(encoder().inner), BareCommit()
    stopwatch.encode(["warm"])
    rows: list[Row] = []
    try:
        for size in sizes:
            started = time.perf_counter()
            bank = full_bank(owner.pk, size, seed)
            hot_banks.drop(bank.pk)
            bring_statistics_up_to_date()
            filled_s = ms_since(started) / 1000
            with standing_in(stopwatch):
                chat = Chat(bank, Talk(seed + 1), commit, stopwatch)
                taken = [chat.take_turn() for _ in range(WARM_UP + turns)][WARM_UP:]
            rows += rows_of(taken, size)
            print(f"{size:,} memories: filled in {filled_s:.0f} s, {turns} turns taken", flush=True)
    finally:
        commit.close()
    return rows


def bring_statistics_up_to_date() -> None:
    """Tell PostgreSQL what the tables hold, as its own daemon does within a minute: a filling takes seconds."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE")


def rows_of(taken: Sequence[Taken], size: int) -> list[Row]:
    """The rows of one size: totals first, then stages. `value` is in milliseconds."""
    about = {"adapter": shipped_adapter().version, "unit": "ms", "size": size, "data": "generated"}
    rows = [figure("overhead_ms_p95", [turn.overhead for turn in taken], p95, level="total", **about)]
    for level, names in (("total", TOTALS), ("stage", STAGES)):
        for name in names:
            values = [float(getattr(turn, name)) for turn in taken]
            rows.append(figure(f"{name}_ms_p50", values, median, level=level, **about))
    return rows


def shown(rows: Sequence[Row]) -> str:
    """The rows as a small table for people: a line a metric, a column a size."""
    values = {(row.metric, row.size): row.value for row in rows}
    sizes = list(dict.fromkeys(row.size for row in rows))
    lines = ["ms".ljust(24) + "".join(f"{size:>10,}" for size in sizes)]
    for metric in dict.fromkeys(row.metric for row in rows):
        lines.append(metric.ljust(24) + "".join(f"{values[metric, size]:>10.2f}" for size in sizes))
    return "\n".join(lines)


def ms_since(started: float) -> float:
    """Milliseconds since a reading of `time.perf_counter`."""
    return (time.perf_counter() - started) * 1000
