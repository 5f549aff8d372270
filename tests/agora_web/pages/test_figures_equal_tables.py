"""Every figure of every page draws the numbers of its table, and its table shows those that it exports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from agora_web.accounts.models import User
from memory.api.figures import FigureView
from memory.models import Conversation, Doubt, LabReplay, Memory, Recall
from memory.services import memories
from memory.tenancy import acting_as
from tests.agora_web.pages.test_lab import result
from tests.figure_readers import READERS, compare, reader_of
from tests.scenes import begin, make_agent, make_person, take_turn
from training.models import About, Label, Source

pytestmark = pytest.mark.django_db(databases=["default", "owner", "worker"])
SAID = ("My sister Vera lives in Porto.", "The red bike stands in the cellar.", "Rent is 900 euros.",
        "My sister Vera lives in Porto.", "Green tea in the morning.", "The passport lies in the drawer.",
        "Where does my sister Vera live?", "The ferry leaves at six.", "Where is the red bike?")  # fmt: skip


def routes(of: URLResolver) -> Iterator[tuple[str, type[FigureView]]]:
    """All routes of figures by name."""
    for one in of.url_patterns:
        if isinstance(one, URLResolver):
            yield from routes(one)
        elif isinstance(one, URLPattern):
            view = getattr(one.callback, "cls", None) or getattr(one.callback, "view_class", None)
            if isinstance(view, type) and issubclass(view, FigureView):
                assert one.name, view
                yield one.name, view


@pytest.fixture
def ana() -> User:
    return make_person()


@pytest.fixture
def talk(ana: User) -> Conversation:
    """A conversation after which no figure is empty: with what left, came back, was judged, missed and contradicted."""
    begun = begin(ana, make_agent(budget_memories=6, policy="fifo"))
    for said in SAID:
        take_turn(ana, begun, said, "Porto." if "Vera live?" in said else "I see.")
    with acting_as(ana.pk):
        here = Memory.objects.filter(bank=begun.bank_id)
        gone, other = here.filter(state="archived").order_by("written_seq")[:2]
        memories.restore(gone.pk, now=timezone.now())
        memories.pin(gone.pk, now=timezone.now())
        Recall.objects.filter(pk=Recall.objects.latest("at").pk).update(regretted=[{"memory": str(other.pk)}])
        held, newer = here.filter(state="held").order_by("-written_seq")[:2]
        Doubt.objects.create(owner=ana, bank_id=begun.bank_id, memory=held, newer=newer, what=Doubt.What.NUMBER)
        for value, memory in ((1.0, held), (0.0, other)):
            Label.objects.create(
                owner=ana, memory=memory, about=About.IMPORTANCE, value=value, source=Source.ACTION, by=ana,
                text=memory.text,
            )  # fmt: skip
    return begun


@pytest.fixture
def addresses(ana: User, talk: Conversation) -> dict[str, str]:
    """By the beginning of a route's name, where the figures of the scene are."""
    with acting_as(ana.pk):
        memory = Memory.objects.get(bank=talk.bank_id, pinned=True)
        recall = Recall.objects.filter(bank=talk.bank_id).exclude(recalled=[]).latest("at")
        without = recall.recalled[0]
        replay = LabReplay.objects.create(
            owner=ana, state="done", progress=1.0,
            asked={"conversations": [str(talk.pk)], "policies": ["fifo", "lru"], "budgets": ["10%", "50%"],
                   "adapters": ["-"]},
        )  # fmt: skip
    for policy, budget, missed in (("fifo", 10, 8), ("fifo", 50, 4), ("lru", 10, 5), ("lru", 50, 1)):
        result(replay, talk, policy, budget, missed)
    return {
        "api_life_": f"/api/conversations/{talk.pk}/life/", "api_recall_": f"/api/recalls/{recall.pk}/",
        "api_memory_": f"/api/memories/{memory.pk}/", "api_banks_": "/api/banks/life/",
        "api_bank_": f"/api/banks/{talk.bank_id}/life/", "api_lab_": f"/api/lab/{replay.pk}/",
        "without": f"?without={without}",
    }  # fmt: skip


MORE = {"api_life_moment": "?show=all", "api_lab_missed": "?policy=fifo&budget=10%25&adapter=-"}
OF_PAGES = [name for name, view in routes(get_resolver()) if view.__module__.startswith("agora_web.pages")]


def test_every_route_of_a_figure_has_a_reader_that_knows_its_marks() -> None:
    names = {name for name, _view in routes(get_resolver())}
    assert len(names) > 40
    assert {id(reader_of(name)) for name in names} == {id(one) for one in READERS.values()}


@pytest.mark.parametrize("start", ["api_life_", "api_recall_", "api_memory_", "api_banks_", "api_bank_", "api_lab_"])
def test_figures_draw_what_their_rows_tell_and_their_tables_show_them(
    start: str, ana: User, addresses: dict[str, str]
) -> None:
    client = Client()
    client.force_login(ana)
    names = [name for name in OF_PAGES if name.startswith(start)]
    assert names
    for name in names:
        more = addresses["without"] if name == "api_recall_reread" else MORE.get(name, "")
        compare(client, name, addresses[start] + name.removeprefix(start) + "/" + more)
