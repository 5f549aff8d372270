"""Sign-up, sign-in, sign-out, password and profile, through the pages that people use."""

from __future__ import annotations

import zoneinfo
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.test import Client

from agora_web.accounts.models import User, validate_time_zone
from tests.scenes import PASSWORD, make_person

pytestmark = pytest.mark.django_db


def sign_up(client: Client, **fields: Any) -> HttpResponse:
    filled = {"email": "ana@example.org", "password1": PASSWORD, "password2": PASSWORD, "name": "Ana",
              "time_zone": "Europe/Lisbon"}  # fmt: skip
    return client.post("/accounts/signup/", {**filled, **fields})


def sign_in(client: Client, password: str = PASSWORD, email: str = "ana@example.org") -> HttpResponse:
    return client.post("/accounts/login/", {"login": email, "password": password})


def signed_in(client: Client) -> bool:
    return client.get("/api/agents/").status_code == 200


def test_sign_up_makes_an_account_in_the_browsers_time_zone_and_signs_in(client: Client) -> None:
    response = sign_up(client)
    assert (response.status_code, response["Location"]) == (302, "/chat/")
    ana = User.objects.get()
    assert (ana.email, ana.name, ana.time_zone, ana.language) == ("ana@example.org", "Ana", "Europe/Lisbon", "en")
    assert ana.zone == zoneinfo.ZoneInfo("Europe/Lisbon")
    assert ana.speaker == "Ana"
    assert signed_in(client)


def test_nobody_signs_up_into_rights(client: Client) -> None:
    group = Group.objects.get(name="administrator")
    sign_up(client, is_superuser="on", is_staff="on", groups=str(group.pk), id="00000000-0000-0000-0000-000000000000")
    ana = User.objects.get()
    assert (ana.is_superuser, ana.is_staff, ana.groups.exists()) == (False, False, False)
    assert str(ana.pk) != "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "../../etc/passwd", "x" * 500])
def test_a_time_zone_that_does_not_exist_becomes_utc(client: Client, zone: str) -> None:
    assert sign_up(client, time_zone=zone).status_code == 302
    assert User.objects.get().time_zone == "UTC"


def test_one_address_has_one_account_however_it_is_written(client: Client) -> None:
    sign_up(client, email="Ana@Example.ORG")
    assert User.objects.get().email == "ana@example.org"
    again = Client()
    assert sign_up(again, email="aNA@example.org").status_code in (200, 302)
    assert User.objects.count() == 1
    assert not signed_in(again)
    assert sign_in(again, email="ANA@EXAMPLE.org").status_code == 302
    assert signed_in(again)


@pytest.mark.parametrize(("fields", "said"), [
    ({"email": "no address"}, "valid email address"),
    ({"email": ""}, "This field is required"),
    ({"password1": "1234567", "password2": "1234567"}, "too short"),
    ({"password1": "password", "password2": "password"}, "too common"),
    ({"password2": "another one entirely"}, "same password"),
    ({"name": "A\x00na"}, "Null characters are not allowed"),
    ({"name": "n" * 121}, "at most 120 characters"),
])  # fmt: skip
def test_what_cannot_be_an_account_is_refused_with_a_sentence(
    client: Client, fields: dict[str, str], said: str
) -> None:
    response = sign_up(client, **fields)
    assert response.status_code == 200
    assert said in response.content.decode()
    assert not User.objects.exists()


def test_sign_in_and_out(client: Client) -> None:
    make_person()
    assert not signed_in(client)
    assert "not correct" in sign_in(client, "wrong").content.decode()
    assert not signed_in(client)
    assert sign_in(client)["Location"] == "/chat/"
    assert signed_in(client)
    cookie = client.cookies["sessionid"].value
    assert client.get("/accounts/logout/").status_code == 200
    assert signed_in(client), "a link alone signs nobody out"
    assert client.post("/accounts/logout/")["Location"] == "/accounts/login/"
    assert not signed_in(client)
    client.cookies["sessionid"] = cookie
    assert not signed_in(client), "the old cookie opens nothing"


def test_after_sign_in_one_comes_to_the_page_one_wanted_and_never_to_another_site(client: Client) -> None:
    make_person()
    login = {"login": "ana@example.org", "password": PASSWORD}
    assert client.get("/memories/")["Location"] == "/accounts/login/?next=/memories/"
    assert client.post("/accounts/login/?next=/memories/", {**login, "next": "/memories/"})["Location"] == "/memories/"
    other = Client()
    for elsewhere in ("https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"):
        response = other.post("/accounts/login/", {**login, "next": elsewhere})
        assert response["Location"] == "/chat/"


def test_who_is_not_active_does_not_come_in(client: Client) -> None:
    make_person(is_active=False)
    sign_in(client)
    assert not signed_in(client)


def test_a_password_is_changed_and_other_sessions_end(client: Client) -> None:
    make_person()
    sign_in(client)
    elsewhere = Client()
    sign_in(elsewhere)
    new = "a wholly new secret"
    wrong = client.post("/accounts/password/change/", {"oldpassword": "x", "password1": new, "password2": new})
    assert wrong.status_code == 200
    assert User.objects.get().check_password(PASSWORD)
    right = client.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert right.status_code == 302
    assert signed_in(client)
    assert not signed_in(elsewhere)
    fresh = Client()
    sign_in(fresh)
    assert not signed_in(fresh)
    sign_in(fresh, new)
    assert signed_in(fresh)


def test_forms_without_their_token_are_refused_with_a_sentence() -> None:
    make_person()
    client = Client(enforce_csrf_checks=True)
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/profile/"):
        response = client.post(path, {"login": "ana@example.org", "password": PASSWORD})
        assert response.status_code == 403, path
        assert "This page is out of date" in response.content.decode()


def test_the_profile_is_read_and_changed(client: Client) -> None:
    ana = make_person()
    client.force_login(ana)
    page = client.get("/accounts/profile/").content.decode()
    assert 'value="Ana"' in page
    response = client.post("/accounts/profile/", {"name": "Ana Sofia", "time_zone": "Asia/Tokyo", "language": "en"})
    assert response.status_code == 302
    ana.refresh_from_db()
    assert (ana.name, ana.time_zone) == ("Ana Sofia", "Asia/Tokyo")
    for wrong in ({"time_zone": "Mars/Olympus"}, {"language": "xx"}, {"name": "n" * 121}, {"name": "A\x00"}):
        response = client.post("/accounts/profile/", {"name": "No", "time_zone": "UTC", "language": "en", **wrong})
        assert response.status_code == 200
        ana.refresh_from_db()
        assert (ana.name, ana.time_zone, ana.language) == ("Ana Sofia", "Asia/Tokyo", "en"), wrong


def test_a_name_is_shown_as_text_and_never_as_markup(client: Client) -> None:
    client.force_login(make_person(name='<script>alert("x")</script>'))
    for path in ("/chat/", "/accounts/profile/", "/memories/"):
        assert "<script>alert" not in client.get(path).content.decode()


def test_a_zone_that_no_database_knows_is_refused_in_the_model() -> None:
    validate_time_zone("Europe/Berlin")
    with pytest.raises(ValidationError, match="is not a time zone; pick one such as Europe/Berlin"):
        validate_time_zone("Europe/Atlantis")


def test_who_has_no_name_speaks_by_the_address() -> None:
    person = make_person("vera@example.org", name="")
    assert (person.speaker, str(person)) == ("vera", "vera@example.org")
