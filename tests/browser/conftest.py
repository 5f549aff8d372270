"""A real chromium on a running AGORA. A page that logs an error or breaks the content security policy fails its test.

Playwright's loop runs in this thread while the package's tests do, so they reach the server only over HTTP.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.flows.first_start import FirstStart
from tests.flows.running_agora import RunningAgora
from tests.flows.visitor import Visitor
from tests.scripted_llm import ScriptedLlm

ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE_MS = 20_000
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A promotion, its roll-back and its undoing score every bank anew: they come before the tests that make banks."""
    here = Path(__file__).parent
    places = [place for place, item in enumerate(items) if item.path.parent == here]
    first = sorted((items[place] for place in places), key=lambda item: item.path.name != "test_promoting.py")
    for place, item in zip(places, first, strict=True):
        items[place] = item


@dataclass
class Watched:
    """What went wrong in the pages of one test; `allowed` are parts of messages that the test provokes."""

    wrong: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.wrong.append(f"{message.text} ({message.location.get('url', '')})")

    def check(self) -> None:
        wrong = [line for line in self.wrong if not any(part in line for part in self.allowed)]
        assert not wrong, wrong


@dataclass(frozen=True)
class Person:
    """Somebody with an account, signed in at both doors."""

    email: str
    session: str
    visitor: Visitor


def chromium_path() -> str | None:
    """The browser that AGORA_CHROMIUM names, or the system's."""
    return os.environ.get("AGORA_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        if os.environ.get("AGORA_REQUIRE_BROWSER") == "1":
            pytest.fail("There is no chromium, and AGORA_REQUIRE_BROWSER=1 demands one (Debian: apt install chromium).")
        pytest.skip("There is no chromium (Debian: apt install chromium; elsewhere name it in AGORA_CHROMIUM).")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def scripted() -> Iterator[ScriptedLlm]:
    with ScriptedLlm() as server:
        yield server


@pytest.fixture(scope="package")
def begun(chromium: Browser, request: pytest.FixtureRequest) -> FirstStart:
    """The home after its first start; asked for only once there is a browser, since it costs seconds."""
    made: FirstStart = request.getfixturevalue("made_home")
    return made


@pytest.fixture(scope="package")
def agora(begun: FirstStart, scripted: ScriptedLlm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAgora]:
    """One AGORA for all browser tests; the words of SmolLM come from the scripted server."""
    home = tmp_path_factory.mktemp("browser") / "home"
    with begun.agora.copy_of(home, AGORA_LLM_BASE_URL=scripted.base_url) as running:
        running.start()
        # The encoder takes its seconds to load; no test shall wait for it.
        warm = Visitor(running.address, begun.people[-1]["session"])
        warm.say(warm.begin("Scribe"), "Good morning.", 180)
        yield running


@pytest.fixture(scope="package")
def people(agora: RunningAgora, begun: FirstStart) -> Iterator[Person]:
    """One after the other, so that no test meets what another left behind; the administrator is not among them."""
    return iter([_person(agora, one) for one in begun.people[1:]])


def _person(agora: RunningAgora, one: dict[str, str]) -> Person:
    return Person(one["email"], one["session"], Visitor(agora.address, one["session"]))


@pytest.fixture
def person(people: Iterator[Person], scripted: ScriptedLlm) -> Person:
    scripted.reset()
    return next(people)


@pytest.fixture
def administrator(agora: RunningAgora, begun: FirstStart) -> Person:
    return _person(agora, begun.people[0])


@pytest.fixture(scope="package")
def long_life(agora: RunningAgora, people: Iterator[Person]) -> tuple[Person, str]:
    """Somebody with a conversation of 10,000 turns; they only look at it."""
    person = next(people)
    made = agora.python("tests.flows.make_long_life", person.email, "10000")
    return person, made["conversation"]


@pytest.fixture
def watched() -> Watched:
    return Watched()


Opens = Callable[..., BrowserContext]


@pytest.fixture
def opens(chromium: Browser, agora: RunningAgora, watched: Watched) -> Iterator[Opens]:
    """Makes browser contexts: `opens(person, **options)`, signed out when `person` is None."""
    contexts: list[BrowserContext] = []

    def open_context(who: Person | None, **options: Any) -> BrowserContext:
        context = chromium.new_context(
            **{"base_url": agora.address, "viewport": WIDE, "color_scheme": "light", "locale": "en-GB"} | options
        )
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", watched.console)
        context.on("weberror", lambda error: watched.wrong.append(str(error.error)))
        if who is not None:
            context.add_cookies([{"name": "sessionid", "value": who.session, "url": agora.address}])
        contexts.append(context)
        return context

    yield open_context
    for context in contexts:
        context.close()
    watched.check()


@pytest.fixture
def page(opens: Opens, person: Person) -> Page:
    """The person's own browser, signed in, nothing opened yet."""
    return opens(person).new_page()


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    """Keeps a screenshot in the folder AGORA_SCREENSHOTS, where that is set."""
    folder = os.environ.get("AGORA_SCREENSHOTS")

    def keep(page: Page, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")

    return keep
