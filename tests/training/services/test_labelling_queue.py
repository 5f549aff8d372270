"""The labelling queue: what comes into it, what a labeller may read, what becomes of answers, what leaves at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connections, transaction

from agora_web.accounts.models import User
from memory.models import Bank, Conversation, Job, JobState, Labelling, Memory, MemorySource, Recall, Turn
from memory.services import conversations, memories
from memory.services.jobs import HANDLERS, due_jobs, run_job
from memory.services.turns import NotFound
from memory.tenancy import acting_as
from tests.memory.services.desk import Desk
from training import labelling
from training.models import Chosen, Label, Mode, Review, ReviewItem, ReviewState, Rules, Source
from training.services import queue, reviews, settling
from training.services.reviews import ReviewRefused

NOW = datetime(2026, 5, 3, 9, tzinfo=UTC)
TOLD = [
    ("My sister Vera lives in Porto, her mail is vera@example.org", "I will write to vera@example.org."),
    ("Hello!", "Hello."),
    ("The harbour office is at +351 21 555 44 33", "Noted."),
    ("Rent is 900 euros, due on the 3rd of each month", "A lot."),
    ("How are you?", "Fine, thank you."),
    ("I never eat walnuts", "Almonds then."),
]


def make(name: str, *roles: str) -> User:
    made = User.objects.create_user(f"{uuid4().hex}@example.org", name=name)
    made.groups.set(Group.objects.filter(name__in=roles))
    return made


@pytest.fixture
def people(database: None) -> Iterator[Callable[..., User]]:
    """Makes people with roles; they go at the end."""
    made: list[User] = []

    def someone(*roles: str) -> User:
        made.append(make("Ben", *roles))
        return made[-1]

    yield someone
    for person in made:
        User.objects.using("owner").filter(pk=person.pk).delete()


@pytest.fixture
def labeller(people: Callable[..., User]) -> User:
    return people("labeller")


@pytest.fixture
def opened(desk: Desk) -> Desk:
    """A conversation that its owner opened, with its items."""
    for told, reply in TOLD:
        desk.tell(told, reply)
    with desk.acting():
        queue.open_to_labelling(desk.conversation_id, True)
    work(desk)
    return desk


def work(desk: Desk) -> None:
    """Run the person's jobs of the queue, as a worker does."""
    for job, _kind in due_jobs(datetime.now(UTC)):
        row = Job.objects.using("worker").get(pk=job)
        if row.owner_id == desk.person.pk and row.kind in (queue.JOB, reviews.SETTLE):
            assert run_job(job)


def seen_by(person: User) -> dict[str, ReviewItem]:
    """What this labeller can be shown, by the words."""
    with acting_as(person.pk):
        return {item.shown[0]["text"]: item for item in labelling.waiting_for(person.pk) if item.shown}


def answer(person: User, item: ReviewItem, value: int | None, *, at: datetime | None = None) -> None:
    with acting_as(person.pk):
        reviews.answer(item.pk, value, by=person.pk, now=at or datetime.now(UTC))


def labels(desk: Desk) -> list[tuple[str, float, UUID | None]]:
    with desk.acting():
        return sorted(Label.objects.filter(source=Source.QUEUE).values_list("text", "value", "by"), key=str)


def items(desk: Desk) -> list[ReviewItem]:
    with desk.acting():
        return list(ReviewItem.objects.order_by("created_at", "pk"))


def reread(desk: Desk, item: ReviewItem) -> ReviewItem:
    with desk.acting():
        return ReviewItem.objects.get(pk=item.pk)


def rating(person: User) -> ReviewItem:
    return next(item for item in seen_by(person).values() if item.mode == Mode.RATE)


def wanted(desk: Desk, count: int) -> None:
    with desk.acting():
        ReviewItem.objects.update(wanted=count)


# --- what comes in, and what is shown -------------------------------------------------------------------------------


def test_nothing_is_put_before_labellers_unless_the_owner_opened_the_conversation(desk: Desk, labeller: User) -> None:
    desk.tell("My sister lives in Porto", "I see.")
    with desk.acting():
        assert queue.tend(Bank.objects.select_related("space").get(pk=desk.bank_id)) == 0
    assert items(desk) == []
    assert seen_by(labeller) == {}


def test_every_memory_of_an_opened_conversation_is_asked_about_once_in_both_modes(opened: Desk) -> None:
    asked = [memory for item in items(opened) for memory in (item.memory_id, item.other_id) if memory]
    with opened.acting():
        assert sorted(asked) == sorted(Memory.objects.values_list("pk", flat=True))
    assert {item.mode for item in items(opened)} == {Mode.RATE, Mode.COMPARE}
    with opened.acting():
        assert queue.tend(Bank.objects.select_related("space").get(pk=opened.bank_id)) == 0


def test_what_is_shown_is_masked_with_the_sides_around_and_what_became_of_it(opened: Desk, labeller: User) -> None:
    opened.ask("Where is the harbour office?")
    shown = {one["text"]: one for item in items(opened) for one in item.shown}
    told = shown["My sister Vera lives in Porto, her mail is [e-mail]"]
    assert (told["role"], told["state"], told["before"]) == ("user", "held", [])
    assert [side["text"] for side in told["after"]] == ["I will write to [e-mail].", "Hello!", "Hello."]
    assert [side["role"] for side in told["after"]] == ["assistant", "user", "assistant"]
    assert "The harbour office is at [phone]" in shown
    everything = str([item.shown for item in items(opened)])
    assert "example.org" not in everything
    assert "555" not in everything
    assert "Ana" not in everything  # nor who spoke


def test_what_left_the_bank_says_why_and_what_was_recalled_how_often(opened: Desk) -> None:
    opened.configure(budget_memories=5)
    with opened.acting():
        ReviewItem.objects.all().delete()
        recalled = Memory.objects.filter(state="held").first()
        assert recalled is not None
        queue.fill_queue(str(opened.bank_id))
    fates = Counter((one["state"], one["reason"]) for item in items(opened) for one in item.shown)
    assert fates == {("held", ""): 5, ("archived", "budget"): 7}


def test_the_operators_shares_are_kept_and_the_random_part_depends_on_nothing_but_chance(
    opened: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened.acting():
        ReviewItem.objects.all().delete()
    with opened.acting():
        bank = Bank.objects.select_related("space").get(pk=opened.bank_id)
        free = {memory.pk: memory for memory in queue.may_be_shown(bank)}
        for rules, expected in (
            (Rules(share_uncertain=1, share_leaving=0, share_random=0), {Chosen.UNCERTAIN}),
            (Rules(share_uncertain=0, share_leaving=1, share_random=0), {Chosen.LEAVING}),
            (Rules(share_uncertain=0, share_leaving=0, share_random=1), {Chosen.RANDOM}),
            (Rules(share_uncertain=0, share_leaving=0, share_random=0), {Chosen.RANDOM}),
        ):
            assert {why for _, why in queue._choices(bank, free, rules)} == expected
        mixed = queue._choices(bank, free, Rules())
        assert len({memory for memory, _ in mixed}) == len(mixed)
        at_random = {memory for memory, why in mixed if why == Chosen.RANDOM}
        assert at_random == {memory for memory in free if queue._by_chance(memory) < 0.3}
        monkeypatch.setattr(queue, "MOST_OPEN", 3)
        lowest = queue._choices(bank, free, Rules(share_uncertain=0, share_leaving=1, share_random=0))
        assert len(lowest) == 4
        order = sorted(Memory.objects.all(), key=lambda memory: memory.importance)[:4]
        assert {memory for memory, _ in lowest} == {memory.pk for memory in order}


def test_of_each_four_chosen_for_one_reason_two_are_compared() -> None:
    ids = [uuid4() for _ in range(9)]
    groups = queue._groups([(memory, "random") for memory in ids])
    assert [len(group) for _, group in groups] == [2, 1, 1, 2, 1, 1, 1]
    assert [memory for _, group in groups for memory in group] == ids


# --- who may read what ----------------------------------------------------------------------------------------------


def test_a_labeller_reads_items_and_no_row_of_memory(opened: Desk, labeller: User) -> None:
    assert seen_by(labeller)
    with acting_as(labeller.pk):
        for model in (Memory, MemorySource, Conversation, Turn, Bank, Recall, Label, Job):
            assert not model.objects.exists(), model.__name__


def test_a_stranger_an_operator_and_an_analyst_see_nothing(opened: Desk, people: Callable[..., User]) -> None:
    for person in (people(), people("operator"), people("analyst")):
        with acting_as(person.pk):
            assert not ReviewItem.objects.exists()
            assert not Review.objects.exists()


def test_a_labeller_changes_no_item_and_answers_for_nobody_else(
    opened: Desk, labeller: User, people: Callable[..., User]
) -> None:
    item, other = rating(labeller), people("labeller")
    with acting_as(labeller.pk):
        assert ReviewItem.objects.update(state=ReviewState.DONE, shown=[]) == 0
        assert ReviewItem.objects.filter(pk=item.pk).delete()[0] == 0
    for wrong in ({"by": other}, {"owner_id": labeller.pk}, {"resolves": True}):
        fields: dict[str, Any] = {"item": item, "owner_id": item.owner_id, "by": labeller, "value": 1} | wrong
        with acting_as(labeller.pk), pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
            Review.objects.create(**fields)
    answer(other, item, 3)
    with acting_as(labeller.pk):
        assert Review.objects.filter(by=other).update(value=0) == 0
        assert Review.objects.filter(by=other).delete()[0] == 0


def test_an_answer_sets_nothing_in_motion_but_the_owners_own_job_for_that_item(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    for kind, key, owner in (
        ("memory.erase", str(item.memory_id), item.owner_id),
        (reviews.SETTLE, str(uuid4()), item.owner_id),
        (reviews.SETTLE, str(item.pk), None),
    ):
        with acting_as(labeller.pk), pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
            Job.objects.bulk_create([Job(kind=kind, key=key, owner_id=owner)], ignore_conflicts=True)
    answer(labeller, item, 3)
    waiting = Job.objects.using("worker").filter(
        kind=reviews.SETTLE, key__startswith=str(item.pk), state=JobState.PENDING
    )
    assert [job.owner_id for job in waiting] == [opened.person.pk]


# --- from answers to labels -----------------------------------------------------------------------------------------


def test_a_rating_becomes_a_label_of_the_exact_words(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    with opened.acting():
        text = Memory.objects.get(pk=item.memory_id).text
    answer(labeller, item, 3)
    assert item.pk not in {one.pk for one in seen_by(labeller).values()}
    work(opened)
    assert labels(opened) == [(text, 0.75, labeller.pk)]
    assert reread(opened, item).state == ReviewState.DONE
    with opened.acting():
        assert Label.objects.get(source=Source.QUEUE).reason == item.chosen


def test_a_settled_item_keeps_its_words_for_undo_and_then_no_longer(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    answer(labeller, item, 3)
    work(opened)
    with opened.acting():
        queue.fill_queue(str(opened.bank_id))
    assert reread(opened, item).shown == item.shown
    with opened.acting():
        Review.objects.using("owner").filter(item=item).update(at=NOW)
        queue.fill_queue(str(opened.bank_id))
    now = reread(opened, item)
    assert (now.state, now.shown, now.turns, now.conversations) == (ReviewState.DONE, [], [], [])
    with acting_as(labeller.pk):
        reviews.take_back(item.pk, by=labeller.pk)
    work(opened)
    work(opened)
    again = reread(opened, item)
    assert (again.state, again.hidden, again.shown) == (ReviewState.OPEN, False, item.shown)


def test_settling_twice_changes_nothing(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    answer(labeller, item, 4)
    work(opened)
    with opened.acting():
        before = list(Label.objects.filter(source=Source.QUEUE).values())
        settling.settle(str(item.pk))
        settling.settle(str(uuid4()))
        assert list(Label.objects.filter(source=Source.QUEUE).values()) == before
    assert len(before) == 1


@pytest.mark.parametrize("second", [0, 1])
def test_a_comparison_becomes_a_label_of_what_is_worth_more(opened: Desk, labeller: User, second: int) -> None:
    item = next(item for item in items(opened) if item.mode == Mode.COMPARE)
    answer(labeller, item, second)
    work(opened)
    with opened.acting():
        label = Label.objects.get(source=Source.QUEUE)
    better, worse = (item.other_id, item.memory_id) if second else (item.memory_id, item.other_id)
    assert (label.memory_id, label.other_id, label.value, label.weight) == (better, worse, 1.0, 1.0)


def test_undo_takes_the_label_back_and_the_item_can_be_answered_anew(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    answer(labeller, item, 0)
    work(opened)
    with acting_as(labeller.pk):
        reviews.take_back(item.pk, by=labeller.pk)
    answer(labeller, item, 4)  # at once, before any job has run
    with acting_as(labeller.pk):
        reviews.take_back(item.pk, by=labeller.pk)
        with pytest.raises(NotFound):
            reviews.take_back(item.pk, by=labeller.pk)
    work(opened)
    assert labels(opened) == []
    again = reread(opened, item)
    assert (again.state, again.shown) == (ReviewState.OPEN, item.shown)
    answer(labeller, item, 4)
    work(opened)
    assert [value for _, value, _ in labels(opened)] == [1.0]


def test_a_skipped_item_comes_not_back_to_that_labeller_and_is_no_label(
    opened: Desk, labeller: User, people: Callable[..., User]
) -> None:
    item = rating(labeller)
    answer(labeller, item, None)
    work(opened)
    assert item.pk not in {one.pk for one in seen_by(labeller).values()}
    assert item.pk in {one.pk for one in seen_by(people("labeller")).values()}
    assert labels(opened) == []
    assert reread(opened, item).state == ReviewState.OPEN


def test_several_who_agree_give_a_label_each_once_all_have_answered(
    opened: Desk, labeller: User, people: Callable[..., User]
) -> None:
    wanted(opened, 2)
    item, second = rating(labeller), people("labeller")
    answer(labeller, item, 3)
    work(opened)
    assert labels(opened) == []
    assert next(iter(seen_by(second).values())).pk == item.pk, "what is begun is finished first"
    answer(second, item, 4)
    work(opened)
    assert sorted(value for _, value, _ in labels(opened)) == [0.75, 1.0]
    with pytest.raises(ReviewRefused, match="answered this already"):
        answer(people("labeller"), item, 0)


def test_those_who_disagree_are_settled_by_a_second_person_alone(
    opened: Desk, labeller: User, people: Callable[..., User]
) -> None:
    wanted(opened, 2)
    item, second, chief = rating(labeller), people("labeller"), people("administrator")
    answer(labeller, item, 0)
    answer(second, item, 4)
    work(opened)
    assert labels(opened) == []
    assert reread(opened, item).state == ReviewState.DISPUTED
    for person in (labeller, second):
        with acting_as(person.pk):
            assert not labelling.disputed_for(person.pk).exists()
            with pytest.raises(ReviewRefused, match="a second person"):
                reviews.resolve(item.pk, 4, by=person.pk, now=NOW)
    with acting_as(chief.pk):
        (shown,) = labelling.items_json(labelling.disputed_for(chief.pk), answers=True)
        assert (shown["id"], shown["answers"]) == (str(item.pk), [0.0, 4.0])
        reviews.resolve(item.pk, 3, by=chief.pk, now=NOW)
    work(opened)
    assert [(value, by) for _, value, by in labels(opened)] == [(0.75, chief.pk)]
    assert reread(opened, item).state == ReviewState.RESOLVED
    with acting_as(chief.pk):
        reviews.take_back(item.pk, by=chief.pk)
    work(opened)
    assert labels(opened) == []
    assert reread(opened, item).state == ReviewState.DISPUTED


@pytest.mark.parametrize(("mode", "values", "apart"), [
    (Mode.RATE, [2, 3, 2], False), (Mode.RATE, [1, 3], True), (Mode.COMPARE, [1, 1], False),
    (Mode.COMPARE, [0, 1], True),
])  # fmt: skip
def test_ratings_two_steps_apart_and_any_two_choices_are_a_disagreement(
    mode: Mode, values: list[float], apart: bool
) -> None:
    assert settling.disagree(mode, values) is apart


def test_an_answer_out_of_range_is_refused(opened: Desk, labeller: User) -> None:
    compared = next(item for item in items(opened) if item.mode == Mode.COMPARE)
    for item, value in ((rating(labeller), 5), (rating(labeller), -1), (compared, 2)):
        with pytest.raises(ReviewRefused, match="between 0 and"):
            answer(labeller, item, value)


def test_what_people_said_makes_the_queue_choose_anew(opened: Desk, labeller: User) -> None:
    for item in seen_by(labeller).values():
        answer(labeller, item, 1)
    work(opened)
    opened.tell("A new thing to be asked about", "Yes.")
    work(opened)
    settling.tend_queues()
    work(opened)
    asked = set(seen_by(labeller))
    assert asked & {"A new thing to be asked about", "Yes."}


def test_an_answer_that_comes_while_the_one_before_is_settled_is_not_lost(
    opened: Desk, labeller: User, people: Callable[..., User]
) -> None:
    wanted(opened, 2)
    item = rating(labeller)
    answer(labeller, item, 2)
    Job.objects.using("worker").filter(kind=reviews.SETTLE).update(state=JobState.RUNNING)
    answer(people("labeller"), item, 2)
    work(opened)
    assert [value for _, value, _ in labels(opened)] == [0.5, 0.5]


def test_an_answer_whose_job_was_lost_is_settled_by_the_sweep(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    answer(labeller, item, 2, at=NOW)
    Job.objects.using("worker").filter(kind=reviews.SETTLE).delete()
    settling.tend_queues()
    work(opened)
    assert [value for _, value, _ in labels(opened)] == [0.5]


def test_what_is_closed_while_the_queue_is_filled_is_hidden_all_the_same(opened: Desk, labeller: User) -> None:
    """The filling job holds the conversation: who closes it waits, and then hides what that job made."""
    with opened.acting():
        ReviewItem.objects.all().delete()
    closed = threading.Event()

    def close() -> None:
        with opened.acting():
            queue.open_to_labelling(opened.conversation_id, False)
        closed.set()
        connections.close_all()

    with opened.acting():
        queue.fill_queue(str(opened.bank_id))
        closing = threading.Thread(target=close)
        closing.start()
        assert not closed.wait(0.5)
    closing.join(30)
    assert closed.is_set()
    assert seen_by(labeller) == {}
    assert items(opened)


def test_a_worker_knows_the_jobs_of_the_queue() -> None:
    assert HANDLERS[queue.JOB] is queue.fill_queue
    assert HANDLERS[reviews.SETTLE] is settling.settle


# --- what leaves at once --------------------------------------------------------------------------------------------


def test_closing_hides_everything_at_once_and_takes_the_copies_away(opened: Desk, labeller: User) -> None:
    item = rating(labeller)
    with opened.acting():
        queue.open_to_labelling(opened.conversation_id, False)
    assert seen_by(labeller) == {}
    with pytest.raises(NotFound, match="left the queue"):
        answer(labeller, item, 3)
    work(opened)
    assert items(opened) == []
    with opened.acting():
        assert Conversation.objects.get(pk=opened.conversation_id).labelling == Labelling.REFUSED
        queue.open_to_labelling(opened.conversation_id, True)
    work(opened)
    assert seen_by(labeller)


def test_a_memory_that_is_being_forgotten_is_hidden_at_once_also_where_it_stands_beside(
    opened: Desk, labeller: User
) -> None:
    memory = opened.memory("I never eat walnuts")
    with opened.acting():
        memories.forget(memory.pk, now=NOW)
    assert "walnuts" not in str([item.shown for item in seen_by(labeller).values()])
    settling.tend_queues()
    work(opened)
    shown = [item.shown for item in seen_by(labeller).values()]
    assert "walnuts" not in str(shown)
    assert "Almonds then." in str(shown)  # what stood beside it is asked about all the same
    with opened.acting():
        memories.unforget(memory.pk, now=NOW)
        queue.fill_queue(str(opened.bank_id))
    assert "I never eat walnuts" in str([item.shown for item in seen_by(labeller).values()])


def test_an_erased_memory_leaves_no_word_in_the_queue_and_no_label(opened: Desk, labeller: User) -> None:
    memory = opened.memory("I never eat walnuts")
    with opened.acting():
        item = ReviewItem.objects.filter(memory=memory).first() or ReviewItem.objects.get(other=memory)
    answer(labeller, item, 1)
    work(opened)
    assert len(labels(opened)) == 1
    with opened.acting():
        memories.erase(memory.pk, now=NOW)
    assert labels(opened) == []
    assert "walnuts" not in str([item.shown for item in items(opened)])
    with opened.acting():
        queue.fill_queue(str(opened.bank_id))
    assert "walnuts" not in str([item.shown for item in items(opened)])


def test_a_forgotten_conversation_is_hidden_at_once_and_its_erasure_takes_the_items(
    opened: Desk, labeller: User
) -> None:
    with opened.acting():
        until = conversations.forget_conversation(opened.conversation_id, keep_memories=True, now=NOW)
    assert seen_by(labeller) == {}
    with opened.acting():
        assert conversations.erase_conversation(opened.conversation_id, now=until)
    assert items(opened) == []


def test_a_turn_that_was_edited_away_is_hidden_at_once(opened: Desk, labeller: User) -> None:
    turn = opened.tell("My bicycle is red", "Nice.")
    with opened.acting():
        queue.fill_queue(str(opened.bank_id))
    assert "bicycle" in str([item.shown for item in seen_by(labeller).values()])
    opened.tell("My bicycle is blue", "Nice too.", replaces=turn.pk)
    assert "red" not in str([item.shown for item in seen_by(labeller).values()])


def test_nobody_opens_anothers_conversation(opened: Desk, labeller: User) -> None:
    with acting_as(labeller.pk), pytest.raises(NotFound):
        queue.open_to_labelling(opened.conversation_id, False)
    assert seen_by(labeller)


# --- figures --------------------------------------------------------------------------------------------------------


def test_figures_count_items_people_and_agreement(opened: Desk, labeller: User, people: Callable[..., User]) -> None:
    wanted(opened, 2)
    second = people("labeller")
    rated = [item for item in items(opened) if item.mode == Mode.RATE]
    for number, item in enumerate(rated):
        answer(labeller, item, number % 5)
        answer(second, item, number % 5)
    answer(labeller, next(item for item in items(opened) if item.mode == Mode.COMPARE), None)
    work(opened)
    with acting_as(labeller.pk):
        found = {(one.mode, one.scale): one for one in labelling.agreements()}
        assert found[Mode.RATE, "ordinal"].all == 1.0
        assert found[Mode.RATE, "ordinal"].all_units == len(rated)
        assert found[Mode.COMPARE, "nominal"].all is None
        at_random = sum(item.chosen == Chosen.RANDOM for item in rated)
        assert found[Mode.RATE, "interval"].random_units == at_random
        assert sum(row["done"] for row in labelling.counts()) == len(rated)
        mine = {row["by"]: row for row in labelling.labellers()}
        assert (mine[labeller.pk]["answered"], mine[labeller.pk]["skipped"]) == (len(rated), 1)
        assert labelling.progress_json(labeller.pk)["answered"] == len(rated)
