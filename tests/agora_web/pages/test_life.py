"""The page of one conversation's memory and the JSON of its figures."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from agora_web.accounts.models import User
from agora_web.pages.life_figures import FIGURES
from memory.figure_rows import PER_PAGE, read_csv
from memory.models import Conversation, Memory
from memory.tenancy import acting_as
from tests.memory.charts.test_parts import checked
from tests.memory.long_life import make_long_life
from tests.scenes import begin, make_agent
from training.models import Label
from training.models.label import About, Source

pytestmark = pytest.mark.django_db(databases=["default", "owner", "worker"])
NAMES = [figure.name for figure in FIGURES]
Asks = Callable[..., Any]


@pytest.fixture
def ask(client: Client, conversation: Conversation) -> Asks:
    def answer(name: str, of: Conversation = conversation, **query: Any) -> Any:
        response = client.get(f"/api/conversations/{of.pk}/life/{name}/", query)
        return response.json() if "format" not in query else response

    return answer


def sent(response: HttpResponse) -> str:
    return b"".join(response).decode()  # type: ignore[arg-type]


def trace(drawn: Any, name: str) -> Any:
    return next(one for one in drawn["figure"]["data"] if one["name"] == name)


def column(drawn: Any, name: str) -> list[Any]:
    at = [one["name"] for one in drawn["table"]["columns"]].index(name)
    return [cell["text"] if isinstance(cell := row[at], dict) else cell for row in drawn["table"]["rows"]]


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_is_one_that_plotly_takes_with_a_sentence_and_a_table(ask: Asks, name: str) -> None:
    drawn = ask(name)
    assert set(drawn) == {"figure", "sentence", "empty", "note", "table"}
    if name == "calibration":
        assert drawn["figure"] is None
        assert "was judged yet" in drawn["empty"]
        return
    assert drawn["empty"] == ""
    assert drawn["sentence"].endswith(".")
    assert drawn["table"]["total"] == len(drawn["table"]["rows"]) or drawn["table"]["pages"] > 1
    checked(drawn["figure"])


def test_the_numbers_of_each_figure_are_those_of_its_table(ask: Asks) -> None:
    importance = ask("importance")
    points = [(x, y) for one in importance["figure"]["data"] for x, y in zip(one["x"], one["y"], strict=True)]
    rows = zip(column(importance, "turn"), column(importance, "importance"), strict=True)
    assert sorted(points) == sorted((turn, round(score, 4)) for turn, score in rows)

    budget = ask("budget")
    assert trace(budget, "memories")["x"] == column(budget, "turn")
    assert trace(budget, "memories")["text"] == [
        f"{used} / {most}"
        for used, most in zip(column(budget, "memories"), column(budget, "budget_memories"), strict=True)
    ]

    evictions = ask("evictions")
    bars = [one for one in evictions["figure"]["data"] if one["type"] == "bar"]
    assert sum(len(one["y"]) for one in bars) == evictions["table"]["total"]
    gone = trace(evictions, "the bank was full")
    assert len(gone["y"]) == column(evictions, "reason").count("the bank was full") > 0

    moment = ask("moment", show="all")
    (bars,) = moment["figure"]["data"]
    counts = dict(zip(bars["x"], bars["y"], strict=True))
    states = column(moment, "state")
    assert counts["in the bank"] == states.count("in the bank")
    assert counts["archived: the bank was full"] == states.count("in the archive")


def test_scores_have_bars_by_what_judges_the_bank_and_others_say_why_not(
    ana: User, conversation: Conversation, ask: Asks
) -> None:
    with acting_as(ana.pk):
        memory = Memory.objects.filter(conversation=conversation, role="user").earliest("written_seq")
        Memory.objects.filter(pk=memory.pk).update(adapter="another-1")
    drawn = ask("importance")
    low, score, high = (column(drawn, name) for name in ("low", "importance", "high"))
    whys = column(drawn, "unsure")
    assert whys.count("scored by another adapter") == 1
    known = [(one, two, three) for one, two, three in zip(low, score, high, strict=True) if one is not None]
    assert len(known) == len(whys) - 1
    assert all(0 < one < two < three < 1 for one, two, three in known)
    points = trace(drawn, "said by the person")
    middle = [round(y + up, 3) for y, up in zip(points["y"], points["error_y"]["array"], strict=True)]
    assert sorted(middle[1:]) == pytest.approx(sorted(
        round(three, 3) for three, turn, text in zip(high, column(drawn, "turn"), column(drawn, "text"), strict=True)
        if three is not None and not text.startswith("Noted")
    ), abs=2e-3)  # fmt: skip
    assert points["error_y"]["array"][0] == points["error_y"]["arrayminus"][0] == 0
    assert "1 score has no bar: another adapter gave it" in drawn["note"]


def test_without_features_no_bar_is_spoken_of(ana: User, conversation: Conversation, ask: Asks) -> None:
    with acting_as(ana.pk):
        Memory.objects.filter(conversation=conversation).update(features=[])
    drawn = ask("importance")
    assert set(column(drawn, "unsure")) == {"its features are not kept"}
    assert "Bars reach" not in drawn["note"]
    assert "have no bar: the features" in drawn["note"]


def test_judged_memories_are_marked_and_calibrate(ana: User, conversation: Conversation, ask: Asks) -> None:
    with acting_as(ana.pk):
        memory = Memory.objects.filter(conversation=conversation)[0]
        Label.objects.create(
            owner=ana, memory=memory, about=About.IMPORTANCE, value=1.0, source=Source.ACTION, by=ana, text=memory.text
        )
    assert trace(ask("importance"), "judgement")["y"] == [1.0]
    drawn = ask("calibration")
    assert column(drawn, "label") == [1.0]
    assert trace(drawn, "judged memories")["y"] == [1.0]
    assert trace(drawn, "judged memories")["x"] == [round(memory.importance, 4)]


@pytest.mark.parametrize("figure", FIGURES)
def test_the_exported_csv_comes_back_as_the_rows_that_json_has(figure: Any, ask: Asks) -> None:
    response = ask(figure.name, format="csv", against="2", show="all")
    assert response["Content-Type"].startswith("text/csv")
    assert f'filename="{figure.name}.csv"' in response["Content-Disposition"]
    text = sent(response)
    assert response["Content-Length"] == str(len(text.encode()))
    rows = list(read_csv(figure.row, io.StringIO(text, newline="")))
    told = json.loads(sent(ask(figure.name, format="json", against="2", show="all")))
    assert [json.loads(json.dumps(asdict(row), default=plain)) for row in rows] == told
    assert len(told) == ask(figure.name, against="2", show="all")["table"]["total"]


def plain(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def test_the_address_narrows_and_an_odd_one_is_refused_with_a_sentence(
    client: Client,
    conversation: Conversation,
    ask: Asks,
) -> None:
    assert set(column(ask("importance", **{"from": 2, "to": 3}), "turn")) == {2, 3}
    assert ask("importance", **{"from": "", "kind": ""})["table"]["total"] == ask("importance")["table"]["total"]
    assert ask("importance", kind="tool")["empty"] == "No memory of these turns fits the filters."
    for odd in ({"from": "x"}, {"kind": "nonsense"}, {"format": "xml"}, {"order": "up"}, {"page": "0"}):
        response = client.get(f"/api/conversations/{conversation.pk}/life/importance/", odd)
        assert response.status_code == 400, odd
        assert response.json()["error"]["sentence"]


def test_a_conversation_without_turns_says_why_there_is_nothing(ana: User, ask: Asks) -> None:
    empty = begin(ana, make_agent("Silent"))
    for name in NAMES:
        drawn = ask(name, empty)
        assert drawn["figure"] is None
        assert drawn["empty"]
        assert drawn["table"]["rows"] == []


def test_the_page_has_every_figure_with_its_exports(client: Client, conversation: Conversation) -> None:
    page = client.get(f"/memories/conversations/{conversation.pk}/life/").content.decode()
    for name in NAMES:
        assert f'data-figure="/api/conversations/{conversation.pk}/life/{name}/"' in page
    assert page.count("format=csv") == page.count("format=json") == len(NAMES)
    assert "vendor/plotly-" in page
    assert 'max="6"' in page


def test_two_thousand_turns_stay_below_a_megabyte_and_exact_on_zoom(ana: User, ask: Asks) -> None:
    fresh = begin(ana, make_agent("Long"))
    with acting_as(ana.pk):
        talk = make_long_life(ana.pk, fresh.bank, 2_000, traced=8)
    sizes = {name: len(json.dumps(ask(name, talk))) for name in NAMES}
    assert sum(sizes.values()) < 1_000_000, sizes
    whole = ask("importance", talk)
    assert whole["table"]["total"] == 4_000
    assert len(whole["table"]["rows"]) == PER_PAGE
    assert "bands" in whole["note"]
    near = ask("importance", talk, **{"from": 400, "to": 500})
    assert sum(len(one["x"]) for one in near["figure"]["data"]) == near["table"]["total"] == 202
    weights = ask("weights", talk, **{"from": 400, "to": 420})
    assert "zoom in" not in weights["note"]
    assert weights["figure"]["data"][0]["x"] == list(range(400, 421))
