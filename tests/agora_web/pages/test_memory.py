"""The page of one memory and its figures."""

from __future__ import annotations

from io import StringIO
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from agora_web.accounts.models import User
from memory.figure_rows import read_csv
from memory.models import Doubt, Event, Memory, Recall
from memory.services import memories
from memory.services.conversations import rename_conversation
from memory.story import HappenedRow, PartRow, happened_rows, part_rows, score_rows, story_of, stretches, tellings
from memory.tenancy import acting_as
from memory.traces import ranked
from tests.agora_web.pages.test_recall import exported_by
from tests.agora_web.test_content_security import inline_of, policy_of
from tests.memory.charts.test_parts import checked
from tests.scenes import begin, make_agent, make_person, take_turn
from training.models import About, Label, Source
from training.services.judgements import judged

SAID = ["My sister Vera lives in Porto.", "The red bike stands in the cellar.", "Rent is 900 euros.",
        "Green tea in the morning.", "The passport lies in the drawer.", "Where does my sister Vera live?"]  # fmt: skip


@pytest.fixture
def ana() -> User:
    return make_person()


@pytest.fixture
def memory(ana: User) -> UUID:
    """The memory of Vera, recalled once, that left for the archive, came back and was pinned."""
    conversation = begin(ana, make_agent(budget_memories=6, policy="fifo"))
    for text in SAID:
        take_turn(ana, conversation, text, "Porto." if text.endswith("?") else "I see.")
    with acting_as(ana.pk):
        rename_conversation(conversation.pk, "Our talk")
        row = Memory.objects.get(text=SAID[0])
        if row.state == "held":
            take_turn(ana, conversation, "Something else: the cat is grey.", "A grey cat then.")
            row.refresh_from_db()
        assert row.state == "archived"
        memories.restore(row.pk, now=timezone.now())
        memories.pin(row.pk, now=timezone.now())
    return row.pk


@pytest.fixture
def client(ana: User) -> Client:
    made = Client()
    made.force_login(ana)
    return made


@pytest.mark.django_db
def test_the_story_is_what_the_ledger_and_the_traces_say(memory: UUID, ana: User) -> None:
    with acting_as(ana.pk):
        story = story_of(memory)
        happened = happened_rows(story)
        assert [row.what for row in happened] == ["written", "evicted", "restored", "pinned"]
        event = Event.objects.get(memory=memory, kind="evicted")
        left = happened[1]
        assert (left.reason, left.policy, left.score) == ("budget", "fifo", event.data["score"])
        assert [left.budget_memories, left.budget_tokens] == event.data["budget"]
        assert left.instead_text == Memory.objects.get(pk=event.data["instead"]).text
        assert [(one.state, one.reason) for one in stretches(story)] == [
            ("held", ""), ("archived", "budget"), ("held", "")
        ]  # fmt: skip
        assert [one.left for one in stretches(story)] == [left.at, happened[2].at, None]
        (score,) = score_rows(story)
        assert (score.importance, score.adapter) == (story.memory.importance, story.memory.adapter)
        wanted = []
        for trace in Recall.objects.order_by("at", "pk"):
            if memory in trace.memories:
                place = trace.memories.index(memory)
                logit, weight, fit = (float(one) for one in ranked(trace)[place])
                wanted.append((trace.pk, place + 1, weight, fit, logit, memory in trace.recalled))
        found = [(row.recall, row.rank, row.weight, row.fit, row.logit, row.what == "recalled")
                 for row in part_rows(story)]  # fmt: skip
        assert len(found) == len(wanted) > 2
        for one, other in zip(found, wanted, strict=True):
            assert one[:2] == other[:2]
            assert one[2:5] == pytest.approx(other[2:5], abs=1e-5)
            assert one[5] == other[5]
        assert part_rows(story, adapter="another") == []
        (telling,) = tellings(story)
        assert [side.text for side in telling.sides] == [SAID[0], "I see.", SAID[1], "I see."]
        assert [side.itself for side in telling.sides] == [True, False, False, False]


@pytest.mark.django_db
def test_the_page_has_its_words_labels_and_doubts(memory: UUID, ana: User, client: Client) -> None:
    with acting_as(ana.pk):
        other = Memory.objects.get(text=SAID[4])
        Doubt.objects.create(owner=ana, bank=other.bank, memory_id=memory, newer=other, what=Doubt.What.NAME)
        Label.objects.create(
            owner=ana, memory_id=memory, about=About.IMPORTANCE, value=0.9, source=Source.ACTION, by=ana,
            reason="useful", text=SAID[0],
        )  # fmt: skip
    response = client.get(f"/memories/{memory}/")
    page = response.content.decode()
    assert response.context["row"]["text"] == SAID[0]
    assert "useful, outdated or wrong, said of a memory" in page
    assert "A newer memory says otherwise" in page
    assert SAID[4] in page
    assert "this told it" in page
    assert inline_of(page) == []
    assert "'unsafe-inline'" in policy_of(response["Content-Security-Policy"])["style-src"]
    answer = client.get(f"/api/memories/{memory}/scores/").json()
    with acting_as(ana.pk):
        value, _weight = judged(other.bank_id)[memory]  # to pin it was a judgement, too
    assert answer["figure"]["data"][-1]["y"] == [value, value]
    assert f"Judgements say {value:.2f}." in answer["sentence"]


@pytest.mark.django_db
@pytest.mark.parametrize(("figure", "kind"), [("recalls", PartRow), ("happened", HappenedRow)])
def test_figures_are_plotlys_say_what_the_table_says_and_export(
    memory: UUID, ana: User, client: Client, figure: str, kind: type
) -> None:
    answer = client.get(f"/api/memories/{memory}/{figure}/").json()
    checked(answer["figure"])
    exported = exported_by(client, f"/api/memories/{memory}/{figure}/?format=csv")
    with acting_as(ana.pk):
        story = story_of(memory)
        rows = part_rows(story) if kind is PartRow else happened_rows(story)
    assert list(read_csv(kind, StringIO(exported, newline=""))) == rows
    assert answer["table"]["total"] == len(rows)
    if kind is PartRow:
        assert sorted(y for trace in answer["figure"]["data"] for y in trace["y"]) == sorted(row.weight for row in rows)
        assert all(address.startswith("/memories/recalls/") for one in answer["figure"]["data"]
                   for address in one["customdata"])  # fmt: skip


@pytest.mark.django_db
def test_a_memory_that_is_being_forgotten_keeps_its_words_back(memory: UUID, ana: User, client: Client) -> None:
    with acting_as(ana.pk):
        memories.forget(memory, now=timezone.now())
        recall = Recall.objects.filter(memories__contains=[memory]).latest("at")
    for path in (f"/memories/{memory}/", f"/memories/recalls/{recall.pk}/", f"/api/memories/{memory}/happened/",
                 f"/api/recalls/{recall.pk}/contributions/"):  # fmt: skip
        response = client.get(path)
        assert response.status_code == 200
        assert SAID[0] not in response.content.decode()


@pytest.mark.django_db
def test_another_person_and_nobody_see_nothing(memory: UUID) -> None:
    other = Client()
    other.force_login(make_person("ben@example.org", name="Ben", roles=["analyst"]))
    for path in (f"/memories/{memory}/", f"/api/memories/{memory}/scores/", f"/api/memories/{memory}/recalls/"):
        assert other.get(path).status_code == 404
    assert Client().get(f"/memories/{memory}/").status_code == 302
