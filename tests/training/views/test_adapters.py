"""The registry page: what it shows to whom, what each button does, and what an export holds."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.test import Client

from agora_web.accounts.models import User
from memory.adapters import serving_name, shipped_adapter
from memory.engine.adapter_file import unpacked
from memory.models import Bank
from memory.services.erasures import FOLLOWERS
from tests.memory.services.desk import Desk
from tests.training.services.challengers import GOOD, ended_run, stored, upside_down, work
from tests.training.services.conftest import database, desk, operator, person, stranger
from training.models import Promotion
from training.services import promotions, shadows

__all__ = ["database", "desk", "operator", "person", "stranger"]
ADDRESS = "/training/adapters/"


@pytest.fixture
def challenger(desk: Desk, operator: User) -> str:
    for text in ("My boat is called Seagull", "Rent is 900 euros", "Hello there"):
        desk.tell(text, "")
    made = stored(
        upside_down(),
        window=["2026-01-02T09:00:00+00:00", "2026-11-20T09:00:00+00:00"],
        labels={"user_assistant": 400, "tool_use": 12},
        relevance={"sources": {"thumb": 9}, "cues": 3, "asking": 8, "telling": 1, "unread": 0},
    )
    ended_run(made)
    return made.pk


@pytest.fixture
def screen(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def shown(client: Client) -> str:
    return client.get(ADDRESS).content.decode()


def do(client: Client, verb: str, **fields: str) -> str:
    response: HttpResponse = client.post(ADDRESS, {"do": verb, **fields}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_a_version_is_shown_with_where_it_comes_from_and_how_well_it_does(screen: Client, challenger: str) -> None:
    page = shown(screen)
    for told in (challenger, "421", "2026-01-02", "0.500", "0.600", "[0.040, 0.160]", shipped_adapter().version,
                 "needed memories among the best fifth", "chats with an assistant"):  # fmt: skip
        assert told in page
    assert "Nothing was promoted yet" in page


def test_promoted_the_page_tells_how_far_the_banks_are_and_rolled_back_too(
    screen: Client, challenger: str, desk: Desk
) -> None:
    assert "serves from now on" in do(screen, "promote", version=challenger)
    assert serving_name() == challenger
    page = shown(screen)
    assert "data-going" in page
    assert "being looked up" in page
    work()
    page = shown(screen)
    assert "data-going" not in page
    assert "1 of 1 banks follow" in page
    assert desk.memory("Hello there").adapter == challenger
    made = Promotion.objects.using("worker").get()
    assert "serves again" in do(screen, "roll_back", promotion=str(made.pk))
    work()
    page = shown(screen)
    assert "1 of 1 banks are back" in page
    assert "Undo the roll-back" in page
    do(screen, "again", promotion=str(made.pk))
    work()
    assert (serving_name(), Promotion.objects.using("worker").count()) == (challenger, 2)


def test_what_speaks_against_a_version_is_told_and_a_reason_overrides_it(screen: Client, desk: Desk) -> None:
    ended_run(stored(upside_down("run-2")), report=GOOD | {"better": 0.6})
    assert "60 % sure" in shown(screen)
    assert "60 % sure" in do(screen, "promote", version="run-2", reason=" ")
    assert serving_name() == ""
    page = do(screen, "promote", version="run-2", reason="The labels are few <but> right.")
    assert serving_name() == "run-2"
    assert "The labels are few &lt;but&gt; right." in page


def test_a_shadow_is_started_shown_and_stopped(screen: Client, challenger: str, desk: Desk) -> None:
    assert "scores silently from now on" in do(screen, "shadow", version=challenger)
    assert "Nothing was written or recalled since" in shown(screen)
    desk.tell("The key lies under the third pot", "")
    assert shadows.score_silently() == 1
    page = shown(screen)
    assert "All banks" in page
    assert "third pot" not in page
    shadow = promotions.shadowing("worker")
    assert shadow is not None
    do(screen, "roll_back", promotion=str(shadow.pk))
    assert promotions.shadowing("worker") is None


@pytest.mark.parametrize("body", [{"do": "dance"}, {}])
def test_what_nobody_knows_is_refused(screen: Client, body: dict[str, str]) -> None:
    assert screen.post(ADDRESS, body).status_code == 400


def test_a_promotion_that_is_none_is_no_error_of_the_server(screen: Client, challenger: str) -> None:
    for verb in ("roll_back", "again"):
        assert "There is no such" in do(screen, verb, promotion="nothing")
    assert "0 banks are tried again." in do(screen, "retry", promotion="nothing")


def test_the_counts_of_banks_tell_who_is_served_by_what(screen: Client, challenger: str, desk: Desk) -> None:
    from memory.tenancy import acting_as
    from training.registry import _banks_by_adapter

    desk.configure(adapter=challenger, keeps_adapter=True)
    with acting_as(User.objects.get(name="Olga").pk):
        assert _banks_by_adapter() == {challenger: (1, 0)}
    with desk.acting():
        assert _banks_by_adapter() == {}, "nobody else counts banks"
        assert Bank.objects.count() == 1


def test_an_export_is_the_weights_and_a_manifest_that_fits_them(screen: Client, challenger: str) -> None:
    for version in (challenger, shipped_adapter().version, "prior-2"):
        response = screen.get(f"{ADDRESS}file/?version={version}")
        assert response["Content-Disposition"] == f'attachment; filename="{version}.zip"'
        with ZipFile(BytesIO(response.content)) as archive:
            assert archive.namelist() == ["adapter.safetensors", "manifest.json"]
            manifest = json.loads(archive.read("manifest.json"))
            assert unpacked(archive.read("adapter.safetensors"), manifest, version).version == version


def test_no_head_of_a_banks_own_is_exported_or_listed(screen: Client, challenger: str) -> None:
    stored(upside_down("own-1234-1"), kind="own", bank="1234")
    assert screen.get(f"{ADDRESS}file/?version=own-1234-1").status_code == 404
    assert screen.get(f"{ADDRESS}file/?version=none-9").status_code == 404
    assert screen.get(f"{ADDRESS}file/").status_code == 404
    assert "own-1234-1" not in shown(screen)


@pytest.mark.parametrize(("role", "sees", "may"), [
    ("operator", 200, True), ("administrator", 200, True), ("analyst", 200, False), ("labeller", 403, False),
    ("", 403, False),
])  # fmt: skip
def test_analysts_look_operators_act_and_nobody_else_is_let_in(
    stranger: User, challenger: str, role: str, sees: int, may: bool
) -> None:
    stranger.groups.set(Group.objects.filter(name=role))
    client = Client()
    client.force_login(stranger)
    page = client.get(ADDRESS)
    assert page.status_code == sees
    assert (b'value="promote"' in page.content) == may
    assert client.get(f"{ADDRESS}file/?version={challenger}").status_code == (200 if may else 403)
    done = client.post(ADDRESS, {"do": "promote", "version": challenger})
    assert done.status_code == (302 if may else 403)
    assert (serving_name() == challenger) == may
    work()


def test_the_web_process_follows_erasures_too() -> None:
    assert [follower.__module__ for follower in FOLLOWERS] == ["training.services.forgetting"]


def test_its_figures_have_the_numbers_of_the_tables(screen: Client, challenger: str) -> None:
    page = shown(screen)
    assert 'data-figure="/api/training/adapters/lineage/"' in page
    lineage = screen.get("/api/training/adapters/lineage/").json()
    names = [row[0] for row in lineage["table"]["rows"]]
    assert challenger in names
    drawn = [text for one in lineage["figure"]["data"] if "text" in one for text in one["text"]]
    assert sorted(drawn) == sorted(names)
    assert f"{shipped_adapter().version} serves" in lineage["sentence"]
    compared = screen.get("/api/training/adapters/compared/").json()
    assert compared["figure"]["data"][0]["x"] == [0.1]
    assert [row[0] for row in compared["table"]["rows"]] == [challenger]
    assert "surely ahead in 1" in compared["sentence"]


def test_its_figures_are_closed_to_people_without_the_right(desk: Desk) -> None:
    outside = Client()
    outside.force_login(desk.person)
    for name in ("lineage", "compared"):
        assert outside.get(f"/api/training/adapters/{name}/").status_code == 403
