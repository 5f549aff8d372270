"""One person's bank as a test works at it: tells, asks, looks, and checks that all three accounts of it agree."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agora_web.accounts.models import User
from memory.engine.bank import BankState, replay
from memory.engine.hot import HotBank, check
from memory.engine.lexical import terms
from memory.engine.types import Recollection, State
from memory.hot_banks import hot_banks, private_bank, read_events
from memory.models import Bank, Conversation, Event, Memory, MemorySource, Posting, Recall, Turn, TurnState
from memory.services.banks import BankConfiguration, configure_bank, create_bank
from memory.services.conversations import start_conversation
from memory.services.recalls import prepare_cue, recall_for_turn
from memory.services.remember import TurnToRemember, remember_turn
from memory.services.turns import open_turn
from memory.tenancy import acting_as


class Desk:
    """All calls act as the person, each in a transaction of its own."""

    def __init__(
        self, person: User, *, memories: int = 1000, tokens: int = 100_000, policy: str = "importance",
        archive: bool = False,
    ) -> None:  # fmt: skip
        self.person = person
        self.configuration = BankConfiguration(memories, tokens, policy, 300, archive)
        with self.acting():
            self.bank_id = create_bank(owner_id=person.pk, name="desk", configuration=self.configuration, now=_now()).pk
            self.conversation_id = self.begin()

    def acting(self) -> Any:
        return acting_as(self.person.pk)

    def begin(self) -> UUID:
        with self.acting():
            return start_conversation(owner_id=self.person.pk, bank_id=self.bank_id, now=_now()).pk

    def tell(
        self, text: str, reply: str = "", *, conversation: UUID | None = None, replaces: UUID | None = None
    ) -> Turn:
        """A whole turn without recall: the observation, a reply, both remembered."""
        turn = self.open(text, conversation=conversation, replaces=replaces)
        turn.action, turn.action_at = reply, turn.created_at
        turn.state = TurnState.DONE
        with self.acting():
            turn.save(update_fields=["action", "action_at", "state"])
            self.remember(turn)
        return turn

    def open(self, text: str, *, conversation: UUID | None = None, replaces: UUID | None = None) -> Turn:
        with self.acting():
            return open_turn(
                conversation_id=conversation or self.conversation_id, text=text, speaker="Ana", agent_speaker="Scribe",
                now=_now(), replaces=replaces,
            )  # fmt: skip

    def remember(self, turn: Turn, recalled: tuple[str, ...] = ()) -> None:
        with self.acting():
            remember_turn(self.bank_id, TurnToRemember(turn, recalled=[terms(text) for text in recalled]), now=_now())

    def ask(self, text: str, *, previous: Turn | None = None, exclude: frozenset[UUID] = frozenset()) -> Asked:
        """A turn that only recalls."""
        turn = self.open(text)
        with self.acting():
            Turn.objects.filter(pk=turn.pk).update(state=TurnState.DONE)
            prepared = prepare_cue(turn, previous=previous, exclude_turns=exclude, now=_now())
            reading = recall_for_turn(turn, prepared)
        return Asked(turn, reading.recollection, reading.trace)

    def configure(self, **fields: Any) -> None:
        self.configuration = BankConfiguration(**{**vars(self.configuration), **fields})
        with self.acting():
            configure_bank(self.bank_id, self.configuration, now=_now())

    def memory(self, text: str) -> Memory:
        """The newest memory with these words."""
        with self.acting():
            return Memory.objects.filter(bank=self.bank_id, text=text).latest("written_seq")

    def reread(self, memory: UUID) -> Memory | None:
        with self.acting():
            return Memory.objects.filter(pk=memory).first()

    def texts(self, state: State = State.HELD) -> list[str]:
        with self.acting():
            rows = Memory.objects.filter(bank=self.bank_id, state=state)
            return list(rows.order_by("written_seq").values_list("text", flat=True))

    def postings(self) -> dict[str, list[str]]:
        """Terms in the archive's index, by the memory's text."""
        out: dict[str, list[str]] = {}
        with self.acting():
            for posting in Posting.objects.filter(bank=self.bank_id).select_related("memory").order_by("term"):
                out.setdefault(posting.memory.text, []).append(posting.term)
        return out

    def happened(self, memory: UUID | None = None) -> list[str]:
        with self.acting():
            rows = Event.objects.filter(bank=self.bank_id)
            rows = rows.filter(memory=memory) if memory else rows
            return list(rows.order_by("seq").values_list("kind", flat=True))

    def hot(self) -> HotBank:
        with self.acting():
            return hot_banks.open(self._bank())

    def agree(self) -> BankState:
        """Live state, replayed state and table say the same; budgets hold; nothing is held twice."""
        with self.acting():
            bank = self._bank()
            live = hot_banks.open(bank)
            told = replay(read_events(bank))
            rows = {row.pk: row for row in Memory.objects.filter(bank=bank).defer("vector", "features")}
            afresh = private_bank(bank)
            indexed = set(Posting.objects.filter(bank=bank).values_list("memory_id", flat=True))
            sources: dict[UUID, set[tuple[UUID, str, int]]] = {}
            for source in MemorySource.objects.filter(memory__bank=bank):
                sources.setdefault(source.memory_id, set()).add((source.turn_id, source.side, source.piece))
            postings = list(Posting.objects.filter(bank=bank).values_list("memory_id", "term"))
        assert told.seq == bank.last_seq
        assert live.state == told == afresh.state
        for hot in (live, afresh):
            check(hot)
            assert {one.id for one in hot} == {pk for pk, row in rows.items() if row.state == State.HELD}
        assert live.by_content == afresh.by_content
        _same_marks(told, rows)
        _merged_rightly(told, rows, sources)
        held = [row for row in rows.values() if row.state == State.HELD]
        assert told.held == len(held) <= bank.budget_memories == told.budget.memories
        assert told.held_tokens == sum(row.tokens for row in held) <= bank.budget_tokens == told.budget.tokens
        assert len({bytes(row.content) for row in held}) == len(held)
        assert indexed <= {pk for pk, row in rows.items() if row.state == State.ARCHIVED}
        assert len(set(postings)) == len(postings)
        return told

    def _bank(self) -> Bank:
        return Bank.objects.select_related("space").get(pk=self.bank_id)

    def conversation(self, pk: UUID | None = None) -> Conversation | None:
        with self.acting():
            return Conversation.objects.filter(pk=pk or self.conversation_id).first()


class Asked:
    """What a recall gave: the turn, what was recalled, the trace."""

    def __init__(self, turn: Turn, found: Recollection, trace: Recall) -> None:
        self.turn, self.found, self.trace = turn, found, trace

    @property
    def injected(self) -> list[str]:
        return [row.item.text for row in self.found.injected]


def _same_marks(told: BankState, rows: dict[UUID, Memory]) -> None:
    """Each mark of the fold beside its row; an erased memory has none."""
    assert {memory for memory, mark in told.marks.items() if mark.state is not State.ERASED} == set(rows)
    for memory, row in rows.items():
        mark = told.marks[memory]
        assert (mark.state, mark.tokens, mark.pinned) == (row.state, row.tokens, row.pinned)
        assert (mark.importance, mark.adapter, mark.written) == (row.importance, row.adapter, row.written_seq)
        if mark.state is State.ARCHIVED:
            assert mark.reason == row.archive_reason != ""
            assert row.archived_at is not None
        assert (mark.before or "") == (row.before or "")
        assert (row.forgotten_until is not None) == (mark.state is State.FORGOTTEN)


def _merged_rightly(
    told: BankState, rows: dict[UUID, Memory], sources: dict[UUID, set[tuple[UUID, str, int]]]
) -> None:  # fmt: skip
    """Whatever says it was merged is in one memory that stands; that one has no source which no part has."""
    for memory, mark in told.marks.items():
        if mark.reason == "merged" and mark.state is State.ARCHIVED:
            assert mark.into is not None
            assert told.marks[mark.into].state in (State.HELD, State.ARCHIVED)
        if mark.into is not None:
            assert memory in told.marks[mark.into].parts
        if mark.parts:
            assert rows[memory].kind == (mark.formed or "merged")
            assert set(mark.parts) <= rows.keys()  # none is erased
            said = {word for part in mark.parts for word in terms(f"{rows[part].speaker} {rows[part].text}")}
            assert set(terms(rows[memory].text)) <= said
            if mark.state is not State.FORGOTTEN:
                assert not any(told.marks[part].state is State.FORGOTTEN for part in mark.parts)
            assert all(told.marks[part].into == memory for part in mark.parts)
            assert not any(told.marks[part].reason == "withdrawn" for part in mark.parts)
            assert sources.get(memory, set()) <= set().union(*(sources.get(part, set()) for part in mark.parts))


def _now() -> datetime:
    return datetime.now(UTC)
