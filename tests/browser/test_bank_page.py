"""One's own bank in a real browser: preview, apply, undo; in light, dark and at 360 px."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person, Watched
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser
SAID = [
    "My sister Vera lives in Évora and bakes walnut bread on Sundays.",
    "Hello!",
    "The harbour office opens at nine; ask for Mr Duarte, extension 4711.",
    "Rent is 900 euros, due on the 3rd of each month.",
    "How are you today?",
    "I never eat walnuts, but almonds are fine.",
]


def fill_a_bank(person: Person) -> str:
    """Tell Scribe some things; returns the agent's id."""
    conversation = person.visitor.begin("Scribe")
    for said in SAID:
        person.visitor.say(conversation, said)
    agents = person.visitor.get("/api/agents/")["agents"]
    return str(next(agent["id"] for agent in agents if agent["name"] == "Scribe"))


def held(person: Person, agent: str) -> list[str]:
    return [row["id"] for row in person.visitor.get(f"/api/memories/?agent={agent}")["memories"]]


def listed(page: Page, name: str = "leaving") -> list[str]:
    return [str(row.get_attribute("data-memory")) for row in page.locator(f"#{name} > li").all()]


def open_bank(page: Page, agent: str) -> None:
    page.goto(f"/memories/?agent={agent}")
    page.get_by_role("link", name="Change what it keeps").click()
    expect(page.locator("h1")).to_have_text("What Scribe keeps of you")


def test_a_preview_lists_what_leaves_apply_does_that_and_undo_brings_it_back(page: Page, person: Person) -> None:
    agent = fill_a_bank(person)
    before = held(person, agent)
    open_bank(page, agent)
    page.get_by_label("Memories, at most").fill("5")
    page.get_by_label("What leaves first").fill("chains+importance")
    page.keyboard.press("Enter")
    expect(page.locator("#preview-title")).to_have_text(re.compile(r"^\d+ memories would leave$"))
    expect(page.locator("#preview-title")).to_be_focused()
    leaving = listed(page)
    assert set(leaving) < set(before)
    assert held(person, agent) == before

    page.get_by_label("Tokens, at most").fill("9000")
    apply = page.get_by_role("button", name=re.compile("^Apply"))
    expect(apply).to_be_disabled()
    expect(page.locator("#preview .notice")).to_contain_text("preview them again")
    page.get_by_role("button", name="Preview").click()
    expect(apply).to_have_text(f"Apply: {len(leaving)} memories leave")
    assert listed(page) == leaving

    apply.click()
    expect(page.locator(".notices")).to_contain_text(f"{len(leaving)} memories have left for the archive.")
    assert set(held(person, agent)) == set(before) - set(leaving)
    page.reload()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".notices")).to_contain_text(f"{len(leaving)} memories are back.")
    expect(page.get_by_label("Memories, at most")).to_have_value("200")
    assert held(person, agent) == before


def test_a_wrong_policy_is_explained_where_it_was_typed(page: Page, person: Person, watched: Watched) -> None:
    watched.allowed.append("status of 400")
    open_bank(page, fill_a_bank(person))
    page.get_by_label("What leaves first").fill("best")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".form-errors")).to_be_focused()
    expect(page.get_by_label("What leaves first")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("main")).to_contain_text("There is no retention policy “best”.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_bank_stands_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    opens: Opens, person: Person, scheme: str, picture: Callable[[Page, str], None]
) -> None:
    agent = fill_a_bank(person)
    page = opens(person, color_scheme=scheme).new_page()
    wrong: list[str] = []

    def check(name: str) -> None:
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.evaluate("() => window.scrollTo(0, 0)")
            picture(page, f"bank-{name}-{scheme}-{width}")
            page.evaluate("() => window.scrollTo(0, document.body.scrollHeight)")
            picture(page, f"bank-{name}-{scheme}-{width}-end")
            if scrolls_sideways(page):
                wrong.append(f"{name} at {window['width']} px scrolls sideways")
            wrong.extend(f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme))

    open_bank(page, agent)
    check("settings")
    page.get_by_label("Memories, at most").fill("5")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#leaving > li").first).to_be_visible()
    check("preview")
    page.locator(".apply").scroll_into_view_if_needed()
    picture(page, f"bank-apply-{scheme}-360")
    page.get_by_label("Tokens, at most").fill("9000")
    check("outdated")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    check("applied")
    assert not wrong, "\n".join(wrong)
