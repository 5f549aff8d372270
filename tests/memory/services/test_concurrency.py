"""Several threads at one bank, as several tabs and workers are."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from threading import Barrier

import pytest
from django.db import connections

from agora_web.accounts.models import User
from memory.engine.bank import Kind
from memory.engine.hot import check
from memory.engine.types import BankError, State
from memory.hot_banks import HotBanks, hot_banks
from memory.models import Bank, Memory
from memory.services import memories
from memory.services.ledger import writing
from tests.memory.services.desk import Desk


def at_once(*works: Callable[[], object]) -> None:
    """Run all at the same time, each in a thread with connections of its own; an error of one is raised here."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            barrier.wait(timeout=20)
            work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(run, work) for work in works]:
            done.result(timeout=60)


def test_two_threads_that_remember_at_once_leave_no_gap_and_keep_the_budget(person: User) -> None:
    desk = Desk(person, memories=10, tokens=80)
    places = [desk.begin(), desk.begin()]

    def talk(which: int) -> None:
        for i in range(8):
            desk.tell(f"Fact {i} of thread {which}", f"Answer {i} to {which}", conversation=places[which])

    at_once(lambda: talk(0), lambda: talk(1))
    state = desk.agree()
    assert desk.happened().count("written") == 32
    assert state.held == 10
    assert state.seq == len(desk.happened())


def test_the_same_words_told_at_once_are_one_memory(desk: Desk) -> None:
    places = [desk.begin(), desk.begin()]
    at_once(*(lambda place=place: desk.tell("My bike is red", conversation=place) for place in places))
    assert desk.texts() == ["My bike is red"]
    assert sorted(desk.happened(desk.memory("My bike is red").pk)) == ["told", "written"]
    desk.agree()


def test_words_that_leave_while_their_next_telling_waits_come_back(desk: Desk, now: datetime) -> None:
    desk.tell("My bike is red")
    bike, again = desk.memory("My bike is red").pk, desk.open("My bike is red")
    leaving = threading.Event()

    def leave() -> None:
        with desk.acting(), writing(desk.bank_id) as writer:
            writer.add(
                Kind.EVICTED, bike, now, reason="budget", policy="importance", adapter="prior-1", score=0.5,
                over="memories", instead=None, budget=[1, 1],
            )  # fmt: skip
            leaving.set()
            time.sleep(0.7)  # meanwhile the other asks for the bank's lock, and with it for archived twins

    def tell() -> None:
        assert leaving.wait(20)
        desk.remember(again)

    at_once(leave, tell)
    assert (desk.texts(), desk.texts(State.ARCHIVED)) == (["My bike is red"], [])
    assert desk.happened(bike) == ["written", "evicted", "restored", "told"]
    desk.agree()


def test_readers_and_writers_at_once_see_whole_banks(person: User, now: datetime) -> None:
    desk = Desk(person, memories=6)
    places = [desk.begin(), desk.begin()]

    def read() -> None:
        for _ in range(15):
            with desk.acting():
                hot = hot_banks.open(Bank.objects.select_related("space").get(pk=desk.bank_id))
                with hot.lock:
                    check(hot)
                    assert hot.state.held <= 6

    def recall() -> None:
        for i in range(6):
            assert desk.ask(f"Which fact has number {i}?").trace.candidates <= 6

    def pin_and_forget() -> None:
        for verb in (memories.pin, memories.unpin, memories.forget, memories.erase) * 3:
            with suppress(BankError), desk.acting():
                newest = Memory.objects.filter(bank=desk.bank_id, state=State.HELD).order_by("-written_seq").first()
                if newest is not None:
                    verb(newest.pk, now=now)

    at_once(
        lambda: [desk.tell(f"Fact number {i}", f"Answer number {i}", conversation=places[0]) for i in range(8)],
        recall,
        read,
        pin_and_forget,
    )
    desk.agree()


def test_nobody_sees_what_another_transaction_has_not_committed(desk: Desk) -> None:
    desk.tell("I drink green tea")
    seen: list[list[str]] = []

    class BrokenOff(Exception):
        pass

    with suppress(BrokenOff), desk.acting():
        desk.tell("My bike is red")
        assert [one.text for one in desk.hot()] == ["I drink green tea", "My bike is red"]
        at_once(lambda: seen.append([one.text for one in desk.hot()]))
        raise BrokenOff
    assert seen == [["I drink green tea"]]
    assert [one.text for one in desk.hot()] == ["I drink green tea"]
    desk.tell("My dog is called Bruno")
    assert [one.text for one in desk.hot()] == ["I drink green tea", "My dog is called Bruno"]
    desk.agree()


def test_a_bank_that_is_ahead_of_its_ledger_is_read_anew(desk: Desk) -> None:
    """A trace's commit may be lost when the database server is killed; the process must not live on in its wake."""
    desk.tell("Anna lives in Lisbon")
    asked = desk.ask("Where does Anna live?")
    hot = desk.hot()
    with desk.acting():  # what the crash lost
        bank = Bank.objects.get(pk=desk.bank_id)
        bank.events.filter(seq=asked.trace.seq + 1).using("owner").delete()
        Bank.objects.filter(pk=bank.pk).update(last_seq=asked.trace.seq)
    assert hot.state.seq == asked.trace.seq + 1
    desk.tell("My bike is red")
    assert desk.hot() is not hot
    desk.agree()


def test_a_hot_bank_that_cannot_follow_is_dropped(desk: Desk, now: datetime) -> None:
    desk.tell("Anna lives in Lisbon")
    memory, kept = desk.memory("Anna lives in Lisbon").pk, HotBanks(10**9)
    with desk.acting():
        bank = Bank.objects.select_related("space").get(pk=desk.bank_id)
        kept.open(bank).state.marks.clear()  # as if something had gone wrong in this process
    with desk.acting():
        memories.pin(memory, now=now)
    with desk.acting():
        bank.refresh_from_db()
        with pytest.raises(BankError, match="never written"):
            kept.open(bank)
        found = kept.open(bank).get(memory)
    assert found is not None
    assert found.pinned


def test_hot_banks_make_room_for_the_latest(person: User) -> None:
    desks = [Desk(person) for _ in range(3)]
    for desk in desks:
        desk.tell("Anna lives in Lisbon " * 20)
    kept = HotBanks(capacity_bytes=int(desks[0].hot().size * 1.5))
    with desks[0].acting():
        first, second, third = Bank.objects.select_related("space").filter(pk__in=[one.bank_id for one in desks])
        once = kept.open(first)
        assert kept.open(first) is once
        kept.open(second)
        kept.open(third)
        assert kept.open(first) is not once
