"""The pages of the policy lab and the JSON of its figures."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from agora_web.accounts.models import User
from agora_web.pages.lab_figures import FIGURES
from memory.figure_rows import read_csv
from memory.models import Conversation, LabReplay, LabResult
from memory.services import lab as service
from memory.tenancy import acting_as
from tests.agora_web.pages.test_life import column, plain, sent, trace
from tests.memory.charts.test_parts import checked
from tests.scenes import make_person

pytestmark = pytest.mark.django_db(databases=["default", "owner", "worker"])
Asks = Callable[..., Any]


def result(
    replay: LabReplay, conversation: Conversation, policy: str, budget: int, missed: int, adapter: str = "-",
    reference: str = "shipped",
) -> LabResult:  # fmt: skip
    with acting_as(replay.owner_id):
        return LabResult.objects.create(
            owner_id=replay.owner_id, replay=replay, conversation=conversation, adapter=adapter, version="shipped",
            reference=reference, policy=policy, budget=f"{budget}%", memories=budget, tokens=1000, turns=6, told=100,
            held=budget, evicted=100 - budget, merged=0, recalled=10, missed=missed, wanted=5.0,
            missed_weight=missed / 2, regretted=missed,
            misses=[[str(uuid4()), 1, 2, 3 + n, 1, 0.5] for n in range(missed)],
        )  # fmt: skip


@pytest.fixture
def replay(ana: User, conversation: Conversation) -> LabReplay:
    with acting_as(ana.pk):
        made = LabReplay.objects.create(
            owner=ana, state="done", progress=1.0,
            asked={"conversations": [str(conversation.pk)], "policies": ["fifo", "lru"], "budgets": ["10%", "50%"],
                   "adapters": ["-"]},
        )  # fmt: skip
    for policy, budget, missed in (("fifo", 10, 8), ("fifo", 50, 4), ("lru", 10, 5), ("lru", 50, 0)):
        result(made, conversation, policy, budget, missed)
    return made


@pytest.fixture
def ask(client: Client, replay: LabReplay) -> Asks:
    def answer(name: str, **query: Any) -> Any:
        response = client.get(f"/api/lab/{replay.pk}/{name}/", query)
        return response.json() if "format" not in query else response

    return answer


def test_the_curves_are_the_numbers_of_the_table(ask: Asks) -> None:
    for name in ("evidence", "regret"):
        drawn = ask(name)
        checked(drawn["figure"])
        points = [
            (one["name"], x, y) for one in drawn["figure"]["data"] for x, y in zip(one["x"], one["y"], strict=True)
        ]
        rows = zip(*(column(drawn, field) for field in ("policy", "share", name)), strict=True)
        assert points == list(rows)
        assert drawn["empty"] == ""
    evidence = ask("evidence")
    assert trace(evidence, "fifo")["y"] == [0.2, 0.6]
    assert trace(evidence, "lru")["y"] == [0.5, 1.0]
    assert "lru keeps most" in evidence["sentence"]
    assert "(50 %), fifo least (20 %)" in evidence["sentence"]
    assert "8 memories left" in ask("regret")["sentence"]
    assert "/?policy=fifo&budget=10%25&adapter=-#figure-missed" in trace(evidence, "fifo")["customdata"][0]


def test_what_the_numbers_are_counted_against_is_told_under_the_figure(
    ask: Asks, replay: LabReplay, conversation: Conversation
) -> None:
    for name in ("evidence", "regret"):
        assert ask(name)["note"] == (
            "What later turns needed is what shipped, which serves the bank, recalls from a bank that never forgets."
        )
    result(replay, conversation, "fifo", 10, 6, adapter="shared-1")
    assert ask("evidence")["note"].endswith("the same for every adapter here: they differ in what they let go.")
    result(replay, conversation, "lru", 10, 6, adapter="shared-1", reference="")  # from before there was one for all
    assert "lines of two cannot" in ask("evidence")["note"]


def test_a_point_leads_to_what_was_missed_there(ask: Asks) -> None:
    drawn = ask("missed", policy="fifo", budget="10%", adapter="-")
    assert drawn["table"]["total"] == 8 == len(drawn["figure"]["data"][0]["x"])
    assert set(column(drawn, "adapter")) == {"the bank’s own"}
    assert ask("missed")["table"]["total"] == 17
    assert "Nothing was missed" in ask("missed", policy="lru", budget="50%")["empty"]
    assert "no result" in ask("evidence", conversation=str(uuid4()))["empty"]


@pytest.mark.parametrize("figure", FIGURES)
def test_the_exported_csv_comes_back_as_the_rows_that_json_has(figure: Any, ask: Asks) -> None:
    rows = list(read_csv(figure.row, io.StringIO(sent(ask(figure.name, format="csv")), newline="")))
    told = json.loads(sent(ask(figure.name, format="json")))
    assert [json.loads(json.dumps(vars(row), default=plain)) for row in rows] == told != []


def test_the_page_asks_for_a_replay_that_then_has_an_address(client: Client, conversation: Conversation) -> None:
    page = client.get(f"/lab/?conversation={conversation.pk}").content.decode()
    assert f'value="{conversation.pk}"' in page
    assert "chains+floor(recent=6)" in page
    told = {"conversations": [str(conversation.pk)], "policies": ["fifo"], "composed": "merge+lru; floor", "budgets":
            "10%, 40", "adapters": ["-"]}  # fmt: skip
    answer = client.post("/lab/", told)
    assert answer.status_code == 302
    with acting_as(conversation.owner_id):
        made = LabReplay.objects.get()
    assert answer["Location"] == f"/lab/{made.pk}/"
    assert service.asked_of(made).policies[:2] == ("fifo", "merge+lru")
    assert service.asked_of(made).budgets == ("10%", "40")
    shown = client.get(f"/lab/{made.pk}/").content.decode()
    for name in ("evidence", "regret", "missed"):
        assert f'data-figure="/api/lab/{made.pk}/{name}/"' in shown
    assert "first results come" in client.get(f"/api/lab/{made.pk}/evidence/").json()["empty"]
    assert client.get(f"/api/lab/{made.pk}/").json()["state"] == "pending"
    assert client.get("/lab/").content.decode().count(f"/lab/{made.pk}/") == 1
    client.post(f"/lab/{made.pk}/", {"do": "cancel"})
    assert client.get(f"/api/lab/{made.pk}/").json() | {"finished_at": None} == {
        "id": str(made.pk), "state": "cancelled", "state_name": "cancelled", "over": True, "progress": 0.0, "error": "",
        "results": 0, "cancel_requested": True, "started_at": None, "finished_at": None,
    }  # fmt: skip


def test_a_mistake_is_told_beside_what_was_filled_in(client: Client, conversation: Conversation) -> None:
    told = {"conversations": [str(conversation.pk)], "composed": "best", "budgets": "10%", "adapters": ["-"]}
    answer = client.post("/lab/", told)
    assert answer.status_code == 400
    assert "There is no retention policy “best”" in answer.content.decode()
    assert 'value="best"' in answer.content.decode()


def test_deleted_it_is_gone(client: Client, replay: LabReplay) -> None:
    assert client.post(f"/lab/{replay.pk}/", {"do": "nonsense"}).status_code == 400
    assert client.post(f"/lab/{replay.pk}/", {"do": "delete"})["Location"] == "/lab/"
    assert client.get(f"/lab/{replay.pk}/").status_code == 404
    assert client.get(f"/api/lab/{replay.pk}/evidence/").status_code == 404


def test_another_person_finds_nothing(replay: LabReplay) -> None:
    ben = Client()
    ben.force_login(make_person("ben@example.org"))
    for path in (f"/lab/{replay.pk}/", f"/api/lab/{replay.pk}/", f"/api/lab/{replay.pk}/missed/"):
        assert ben.get(path).status_code == 404
    assert str(replay.pk) not in ben.get("/lab/").content.decode()
