"""What a turn costs: AGORA through its services and durable database, each peer by its own calls, turn about.

The same turns of the same talk in banks of the same size; every turn is taken by all of them before the next, so that
what else the machine does falls on all alike. Peers forget nothing; AGORA's bank stands at its budget and evicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from django.utils import timezone

from agora_web.accounts.models import User
from bench.filling import AGENT, PERSON, Neighbourhoods, full_bank, standing_in
from bench.latency import WARM_UP, BareCommit, Chat, Stopwatch, Taken, ms_since
from bench.peers.environment import PEERS, command_of
from bench.peers.process import Peer, PeerFailed, Told
from bench.scratch import scratch_database
from bench.sentences import Talk
from bench.table import Row, figure, median
from memory.adapters import shipped_adapter
from memory.encoding import encoder
from memory.engine.encoder import Encoder, embedded_text
from memory.hot_banks import hot_banks

SIDES_A_CALL = 100  # while a peer's bank is filled
WANTED = 10  # about what AGORA hands on within its tokens; mem0 would look through more candidates for more


@dataclass
class Times:
    """What one method's turns took, in milliseconds, turn by turn."""

    add: list[float] = field(default_factory=list)
    search: list[float] = field(default_factory=list)
    encode: list[float] = field(default_factory=list)
    commit: list[float] = field(default_factory=list)

    def note(self, taken: Taken) -> None:
        """AGORA's turn: `add` is remembering with its commit, `search` the cue, recall and its trace with theirs."""
        self.add.append(taken.remember)
        self.search.append(taken.prepare + taken.recall)
        self.encode.append(taken.encode)
        self.commit.append(taken.commit)


def run(python: Path, *, size: int, turns: int, seed: int) -> list[Row]:
    """Measure in a scratch database with every peer; print and return the rows."""
    with ExitStack() as running:
        peers = {name: running.enter_context(Peer(name, command_of(python, name))) for name in PEERS}
        with scratch_database():
            rows = measure(peers, size=size, turns=turns, seed=seed)
    print(shown(rows))
    return rows


def measure(peers: Mapping[str, Peer], *, size: int, turns: int, seed: int) -> list[Row]:
    """Time AGORA and the peers in the database that the settings name; a peer that fails is told of in a sentence."""
    peers = dict(peers)
    times = {"agora": Times(), **{name: Times() for name in peers}}
    with _chatting(size, seed) as (chat, stopwatch):
        for name in list(peers):
            with _told_of_failure(peers, name):
                _fill(peers[name], size, seed, stopwatch.inner)
        talk = Talk(seed + 1)
        for number in range(WARM_UP + turns):
            taken = chat.take_turn()
            said, replied = talk.observation(), talk.reply()  # as the chat, from the same seed, has just said
            if number >= WARM_UP:
                times["agora"].note(taken)
            for name in list(peers):
                with _told_of_failure(peers, name):
                    found = _turn(peers[name], number, said, replied, stopwatch.inner)
                    if number >= WARM_UP:
                        _note(times[name], *found)
    versions = {"agora": shipped_adapter().version, **{name: peer.version for name, peer in peers.items()}}
    return [row for name, version in versions.items() for row in rows_of(name, times[name], version, size)]


@contextmanager
def _chatting(size: int, seed: int) -> Iterator[tuple[Chat, Stopwatch]]:
    owner = User.objects.create_user(f"bench-peers-{seed}@agora.localhost", None, name=PERSON)
    stopwatch, commit = Stopwatch(encoder().inner), BareCommit()
    stopwatch.encode(["warm"])
    try:
        bank = full_bank(owner.pk, size, seed)
        hot_banks.drop(bank.pk)
        with standing_in(stopwatch):
            yield Chat(bank, Talk(seed + 1), commit, stopwatch), stopwatch
    finally:
        commit.close()


@contextmanager
def _told_of_failure(peers: dict[str, Peer], name: str) -> Iterator[None]:
    try:
        yield
    except PeerFailed as failure:
        print(failure, flush=True)
        del peers[name]


def _fill(peer: Peer, size: int, seed: int, inner: Encoder) -> None:
    """The talk that fills AGORA's bank, told to a peer; vectors as there, so that filling costs no encoder time."""
    talk, near, now = Talk(seed), Neighbourhoods(inner, seed), timezone.now()
    peer.open(near.space.width)
    sides = [(talk.reply(), AGENT, "assistant") if i % 2 else (talk.observation(), PERSON, "user") for i in range(size)]
    texts = [embedded_text(speaker, now, text) for text, speaker, _ in sides]
    vectors = near.encode(texts)
    told = [Told(f"filling-{i}", sides[i][2], texts[i], vectors[i]) for i in range(size)]
    for start in range(0, size, SIDES_A_CALL):
        peer.add(told[start : start + SIDES_A_CALL])


def _turn(peer: Peer, number: int, said: str, replied: str, inner: Encoder) -> tuple[float, float, float]:
    """Search with what was said, then one add of both sides: milliseconds of adding, searching and encoding.

    Three texts are encoded, one at a time as the peers do: the query, and each side with speaker and date.
    """
    now = timezone.now()
    texts = [said, embedded_text(PERSON, now, said), embedded_text(AGENT, now, replied)]
    started = perf_counter()
    cue, *vectors = [inner.encode([text])[0] for text in texts]
    encode = ms_since(started)
    _, search = peer.search(said, cue, WANTED)
    sides = [Told(f"{number}-said", "user", texts[1], vectors[0]),
             Told(f"{number}-replied", "assistant", texts[2], vectors[1])]  # fmt: skip
    return peer.add(sides), search, encode


def _note(times: Times, add: float, search: float, encode: float) -> None:
    times.add.append(add)
    times.search.append(search)
    times.encode.append(encode)


def rows_of(method: str, times: Times, version: str, size: int) -> list[Row]:
    """The rows of one method; `value` is in milliseconds a turn."""
    both = [add + search for add, search in zip(times.add, times.search, strict=True)]
    named = {
        "add_search_ms_p50": both,
        "add_search_with_encoder_ms_p50": [ms + encode for ms, encode in zip(both, times.encode, strict=True)],
        "add_ms_p50": times.add,
        "search_ms_p50": times.search,
        "encoder_ms_p50": times.encode,
        "commit_ms_p50": times.commit,
    }
    about = {"method": method, "adapter": version, "unit": "ms", "size": size, "data": "generated", "level": "total"}
    return [figure(metric, values, median, **about) for metric, values in named.items() if values]


def shown(rows: list[Row]) -> str:
    """The rows as a small table for people: a line a metric, a column a method."""
    values = {(row.metric, row.method): f"{row.value:.2f}" for row in rows}
    methods = list(dict.fromkeys(row.method for row in rows))
    lines = ["ms a turn".ljust(34) + "".join(method.rjust(14) for method in methods)]
    for metric in dict.fromkeys(row.metric for row in rows):
        lines.append(metric.ljust(34) + "".join(values.get((metric, method), "").rjust(14) for method in methods))
    return "\n".join(lines)
