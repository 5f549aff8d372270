"""After any sequence of what can happen to a bank, live state, replayed state and table agree, and budgets hold."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agora_web.accounts.models import User
from memory.engine.retention import POLICIES
from memory.engine.trajectories.records import Trajectory, TrajectorySide, TrajectoryTurn
from memory.engine.types import BankError, Role
from memory.hot_banks import hot_banks
from memory.models import Memory, Turn
from memory.services import conversations, memories
from memory.services.banks import BankConfiguration
from memory.services.imports import import_trajectory
from tests.memory.services.desk import Desk

TEXTS = [
    "My bike is red", "My bike is red!", "my bike was red", "We meet at 5", "We meet at 6", "ok thanks",
    "My passport number is X1234567 and Anna lives in Lisbon", "🎂", "I do not eat fish", "I eat fish",
    "東京に住んでいます",
]  # fmt: skip
MERGING = ["merge(similarity=0.0,share=1.0)+fifo", "merge(similarity=0.0,most=2,share=1.0)+importance"]
NAMES = [*POLICIES, "threshold(below=0.2)", "chains+floor(recent=2)+importance", *MERGING]
VERBS: dict[str, Any] = {
    "pin": memories.pin, "unpin": memories.unpin, "forget": memories.forget, "unforget": memories.unforget,
    "restore": memories.restore, "erase": memories.erase,
}  # fmt: skip
text = st.integers(0, len(TEXTS) - 1)
number = st.integers(0, 4)  # counted from the newest: steps that meet are steps that matter
step = st.one_of(
    st.tuples(st.just("tell"), text, text, st.integers(0, 1)),
    st.tuples(st.just("tell"), text, text, st.integers(0, 1)),
    st.tuples(st.sampled_from(sorted(VERBS)), number),
    st.tuples(st.sampled_from(sorted(VERBS)), number),
    st.tuples(st.just("edit"), text),
    st.tuples(st.just("retry"), text),
    st.tuples(st.just("ask"), text),
    st.tuples(st.just("configure"), st.integers(1, 6), st.integers(8, 60), st.sampled_from(NAMES)),
    st.tuples(st.just("take in"), st.lists(text, min_size=1, max_size=8)),
    st.tuples(st.just("forget conversation"), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("unforget conversation"), st.integers(0, 1)),
    st.tuples(st.just("erase conversation"), st.integers(0, 1)),
    st.tuples(st.just("break off"), text, number, st.sampled_from(sorted(VERBS))),
    st.tuples(st.just("drop")),
)


class BrokenOff(Exception):
    pass


class Life:
    """One bank, and the steps that a person, an agent or a worker can take with it. What is refused changes nothing."""

    def __init__(self, person: User) -> None:
        self.desk = Desk(person, memories=4, tokens=40)
        self.conversations = [self.desk.conversation_id, self.desk.begin()]
        self.last: Turn | None = None
        self.imports = 0

    def take(self, name: str, *how: Any) -> None:
        with suppress(BankError):
            if name in VERBS:
                self._verb(name, *how)
            else:
                getattr(self, "_" + name.replace(" ", "_"))(*how)

    def _verb(self, name: str, which: int) -> None:
        with self.desk.acting():
            if (memory := self._memory(which)) is not None:
                VERBS[name](memory, now=_now())

    def _memory(self, which: int) -> UUID | None:
        rows = list(Memory.objects.filter(bank=self.desk.bank_id).order_by("-written_seq").values_list("pk", flat=True))
        return rows[which % len(rows)] if rows else None

    def _tell(self, said: int, reply: int, where: int) -> None:
        self.last = self.desk.tell(TEXTS[said], TEXTS[reply], conversation=self.conversations[where])

    def _edit(self, said: int) -> None:
        if (last := self.last) is None:
            return
        with self.desk.acting():
            new = self.desk.open(TEXTS[said], conversation=last.conversation_id, replaces=last.pk)
            memories.withdraw_turns(self.desk.bank_id, [last.pk], now=_now())
            Turn.objects.filter(pk=new.pk).update(state="done")
        self.desk.remember(new)
        self.last = new

    def _retry(self, reply: int) -> None:
        if self.last is not None and self.desk.conversation(self.last.conversation_id):
            self.last.action = TEXTS[reply]
            self.desk.remember(self.last)

    def _ask(self, said: int) -> None:
        self.desk.ask(TEXTS[said] + "?")

    def _configure(self, held: int, tokens: int, policy: str) -> None:
        before = self.desk.configuration
        try:
            self.desk.configure(budget_memories=held, budget_tokens=tokens, policy=policy)
        except BankError:
            self.desk.configuration = BankConfiguration(**vars(before))
            raise

    def _take_in(self, said: list[int]) -> None:
        self.imports += 1
        sides = [TrajectorySide(TEXTS[i], "Ana", Role.USER, None) for i in said]
        turns = tuple(TrajectoryTurn(n, 1 + n // 3, str(n), side, None) for n, side in enumerate(sides, 1))
        trajectory = Trajectory(f"file {self.imports}", "a file", "two_people", turns)
        with self.desk.acting():
            import_trajectory(trajectory, owner_id=self.desk.person.pk, bank_id=self.desk.bank_id, now=_now())

    def _forget_conversation(self, where: int, keep: bool) -> None:
        with self.desk.acting():
            conversations.forget_conversation(self.conversations[where], keep_memories=keep, now=_now())

    def _unforget_conversation(self, where: int) -> None:
        with self.desk.acting():
            conversations.unforget_conversation(self.conversations[where], now=_now())

    def _erase_conversation(self, where: int) -> None:
        gone = self.conversations[where]
        with self.desk.acting():
            erased = conversations.erase_conversation(gone, now=_now() + timedelta(hours=1))
        if erased:
            self.conversations[where] = self.desk.begin()
            if self.last is not None and self.last.conversation_id == gone:
                self.last = None

    def _break_off(self, said: int, which: int, verb: str) -> None:
        """Much happens in one transaction, and then none of it."""
        with suppress(BrokenOff), self.desk.acting():
            turn = self.desk.tell(TEXTS[said], conversation=self.conversations[0])
            with suppress(BankError):
                self._verb(verb, which)
            self.desk.ask(turn.observation)
            self.desk.agree()  # inside, one's own writes are seen
            raise BrokenOff

    def _drop(self) -> None:
        hot_banks.clear()


@given(st.lists(step, min_size=4, max_size=16))
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_live_state_replayed_state_and_table_agree_after_anything(person: User, steps: list[tuple[Any, ...]]) -> None:
    life = Life(person)
    for name, *how in steps:
        life.take(name, *how)
        life.desk.agree()
    hot_banks.clear()
    life.desk.agree()


def test_one_long_life_agrees(person: User) -> None:
    """A fixed story that visits every step, and meetings of steps that a draw finds seldom."""
    life = Life(person)
    for story in (
        # pinned, forgotten, told again, brought back: it returns to the archive, unpinned
        [
            ("tell", 7, 8, 0),
            ("pin", 1),
            ("forget", 1),
            ("tell", 7, 8, 0),
            ("unforget", 2),
            ("restore", 2),
            ("erase", 2),
        ],
        # pinned, then edited away, restored and told again
        [("tell", 9, 8, 0), ("pin", 0), ("edit", 10), ("restore", 0), ("restore", 1), ("tell", 9, 8, 0)],
        # a whole conversation with a pin goes and comes back into a bank that filled meanwhile
        [("tell", 3, 2, 1), ("pin", 0), ("forget conversation", 1, False), *[("tell", i, i + 1, 0) for i in range(4)]],
        [("unforget conversation", 1), ("configure", 1, 12, "fifo"), ("configure", 5, 60, "importance")],
    ):
        for name, *how in story:
            life.take(name, *how)
            life.desk.agree()
    for round_ in range(3):
        for i in range(len(TEXTS)):
            life.take("tell", i, (i + 3) % len(TEXTS), i % 2)
            life.take(sorted(VERBS)[(i + round_) % 6], i * 5 + round_)
        life.take("break off", round_, 2, "erase")
        life.take("edit", 4)
        life.take("retry", 7 - round_)
        life.take("take in", [0, 0, 2, 7, 5, 8, 0, 2])
        life.take("configure", 3 + round_, 30 + round_, NAMES[round_ % len(NAMES)])
        life.take("ask", 7)
        life.take("forget conversation", round_ % 2, False)
        life.desk.agree()
        life.take("unforget conversation" if round_ % 2 else "erase conversation", round_ % 2)
        life.desk.agree()
    kinds = set(life.desk.happened())
    assert kinds >= {
        "configured",
        "written",
        "told",
        "evicted",
        "restored",
        "pinned",
        "forgotten",
        "erased",
        "recalled",
    }


def test_a_life_that_merges_agrees(person: User) -> None:
    """The same with a bank that merges whatever it can: merged memories come, are asked for, and are taken apart."""
    life = Life(person)
    merged = erased = 0
    for round_ in range(3):
        life.take("configure", 3 + round_ % 2, 60, MERGING[round_ % 2])
        for i in range(len(TEXTS)):
            life.take("tell", i, (i + 3 + round_) % len(TEXTS), i % 2)
            life.take("tell", (i + 6) % len(TEXTS), (i + 1) % len(TEXTS), i % 2)
            life.take(sorted(VERBS)[(i + round_) % 6], i * 3 + round_)
            state = life.desk.agree()
            merged += any(mark.reason == "merged" for mark in state.marks.values())
            if i % 4 == 3:
                life.take(*[("edit", i), ("retry", 7 - round_), ("break off", i, 2, "erase")][(i // 4 + round_) % 3])
                life.desk.agree()
        life.take("take in", [0, 6, 8, 7, 5, 9, 3, 2, 10])
        life.desk.agree()
        life.take("forget conversation", round_ % 2, False)
        life.desk.agree()
        life.take("unforget conversation" if round_ % 2 else "erase conversation", round_ % 2)
        hot_banks.clear()
        state = life.desk.agree()
        erased = sum(mark.state == "erased" and memory.version == 5 for memory, mark in state.marks.items())
    assert merged > 10
    assert erased > 3


def _now() -> datetime:
    return datetime.now(UTC)
