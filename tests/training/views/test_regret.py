"""The report of regret: for those who may see it, over the periods that there are."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.scenes import make_person
from training import counts
from training.counts import Given, Regrets
from training.models import Source


def client_of(*roles: str) -> Client:
    client = Client()
    client.force_login(make_person(f"{'-'.join(roles) or 'none'}@example.org", roles=roles))
    return client


@pytest.fixture
def since(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    asked: list[datetime] = []

    def two(instant: datetime) -> list[Regrets]:
        asked.append(instant)
        return [Regrets("importance", "shipped-1", 40, 5, 7, 2), Regrets("fifo", "", 3, 0, 0, 0)]

    monkeypatch.setattr(counts, "regrets", two)
    monkeypatch.setattr(counts, "given", lambda _: [Given(Source.THUMB, 12, 5, 2.25)])
    monkeypatch.setattr(counts, "unreadable", lambda _: (4, 3))
    return asked


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["analyst", "operator", "administrator"])
def test_who_may_see_labels_reads_counts_by_policy_and_adapter(role: str, since: list[datetime]) -> None:
    page = client_of(role).get("/training/regret/").content.decode()
    for part in ("<code>importance</code>", "<code>shipped-1</code>", "(12.5 %)", "<code>fifo</code>"):
        assert part in page
    assert page.count(" %)") == 1
    for part in ("thumb on a reply", ">12<", ">5<", ">2.3<", "about 4 turns; 3 answers were no rating"):
        assert part in page


@pytest.mark.django_db
@pytest.mark.parametrize(("asked", "days"), [("7", 7), ("90", 90), ("", 30), ("8", 30), ("x", 30)])
def test_a_period_is_one_of_those_offered(asked: str, days: int, since: list[datetime]) -> None:
    client_of("analyst").get("/training/regret/", {"days": asked})
    assert abs(timezone.now() - timedelta(days=days) - since[0]) < timedelta(minutes=1)


@pytest.mark.django_db
def test_others_are_refused(since: list[datetime]) -> None:
    assert client_of().get("/training/regret/").status_code == 403
    assert client_of("labeller").get("/training/regret/").status_code == 403
    assert Client().get("/training/regret/").status_code == 302
    assert since == []


@pytest.mark.django_db
def test_where_nothing_left_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, nothing in (("regrets", []), ("given", []), ("unreadable", (0, 0))):
        monkeypatch.setattr(counts, name, lambda _, nothing=nothing: nothing)
    page = client_of("analyst").get("/training/regret/").content.decode()
    assert "Nothing left for room" in page
    assert "Nothing was judged" in page
    assert "models were asked" not in page
