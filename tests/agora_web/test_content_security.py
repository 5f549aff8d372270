"""Every page says what the browser may run, and holds itself to it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.test import Client

from agora_web.accounts.models import User
from tests.flows.test_canary import PLAIN
from tests.scenes import PASSWORD, begin, make_agent

pytestmark = pytest.mark.django_db(databases=["default", "owner", "worker"])

ALLOWED = {
    "default-src": "'self'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
    "connect-src": "'self'", "object-src": "'none'", "base-uri": "'none'", "form-action": "'self'",
    "frame-ancestors": "'none'",
}  # fmt: skip
FIGURES = {"memories/banks/", "training/adapters/"}  # pages without ids that draw figures
NEEDED = {"style-src": "'self' 'unsafe-inline'", "img-src": "'self' data: blob:"}


class Inline(HTMLParser):
    """Collects what the policy forbids in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given and given.get("type") != "application/json"):
            self.found.append(tag)
        self.found += [
            f"{tag} {value}" for name, value in attrs
            if name in ("src", "href", "action") and re.match(r"(?:https?:)?//|javascript:", value or "")
        ]  # fmt: skip


def inline_of(page: str) -> list[str]:
    parser = Inline()
    parser.feed(page)
    return parser.found


def policy_of(header: str) -> dict[str, str]:
    return dict(part.strip().split(" ", 1) for part in header.split(";") if part.strip())


@pytest.fixture
def root() -> Client:
    client = Client()
    scribe = make_agent()
    person = User.objects.get(email="root@example.org")
    client.force_login(person)
    client.conversation = begin(person, scribe).pk  # type: ignore[attr-defined]
    client.agent = scribe.pk  # type: ignore[attr-defined]
    return client


def test_every_page_carries_the_policy_and_keeps_to_it_signed_in_or_out(root: Client) -> None:
    extra = [f"chat/{root.conversation}/", f"agents/{root.agent}/", "no/such/page/", "api/agents/"]  # type: ignore[attr-defined]
    ours = [*(path for path in PLAIN if not path.startswith("admin/")), *extra]
    seen = 0
    for client in (root, Client()):
        for path in [*ours, "admin/"]:
            response = client.get(f"/{path}")
            assert response.status_code < 500, path
            allowed = ALLOWED | NEEDED if path in FIGURES and client is root else ALLOWED
            assert policy_of(response["Content-Security-Policy"]) == allowed, path
            assert response["X-Frame-Options"] == "DENY"
            assert response["X-Content-Type-Options"] == "nosniff"
            if path in ours and response.get("Content-Type", "").startswith("text/html"):
                assert inline_of(response.content.decode()) == [], path
                seen += bool(response.content)
    assert seen > 15


def test_pages_with_figures_alone_may_style_inline_and_make_pictures_and_run_no_other_scripts(root: Client) -> None:
    page = root.get(f"/memories/conversations/{root.conversation}/life/")  # type: ignore[attr-defined]
    assert page.status_code == 200
    policy = policy_of(page["Content-Security-Policy"])
    assert policy == ALLOWED | NEEDED
    assert inline_of(page.content.decode()) == []
    figure = root.get(f"/api/conversations/{root.conversation}/life/importance/")  # type: ignore[attr-defined]
    assert policy_of(figure["Content-Security-Policy"]) == ALLOWED


def test_error_pages_keep_to_the_policy_too(root: Client) -> None:
    refused = Client(enforce_csrf_checks=True).post("/accounts/login/", {})
    forbidden = Client()
    forbidden.force_login(User.objects.create_user("plain@example.org", PASSWORD))
    for response, status in ((refused, 403), (forbidden.get("/agents/"), 403), (root.get("/nowhere/"), 404)):
        assert response.status_code == status
        assert policy_of(response["Content-Security-Policy"]) == ALLOWED
        assert inline_of(response.content.decode()) == []


def test_the_check_would_see_what_is_forbidden() -> None:
    assert inline_of('<p style="x"><a onclick="y"><script>z</script><style></style><img src="//cdn.example/a">') == [
        "p style", "a onclick", "script", "style", "img //cdn.example/a"
    ]  # fmt: skip
