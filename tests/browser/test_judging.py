"""A person's words on memories in a real browser: said, seen again, taken back, and learned from."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_bank_page import SAID, fill_a_bank, open_bank
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser


def open_memories(page: Page, agent: str) -> None:
    page.goto(f"/memories/?agent={agent}")
    expect(page.locator(".memory-row").first).to_be_visible()


def test_a_word_on_a_memory_is_seen_again_after_a_reload_and_a_second_press_takes_it_back(
    page: Page, person: Person
) -> None:
    agent = fill_a_bank(person)
    open_memories(page, agent)
    told = person.visitor.get(f"/api/memories/?agent={agent}")["memories"]
    row = page.locator(f'[data-memory="{next(memory["id"] for memory in told if memory["text"] == SAID[0])}"]')
    useful, wrong = (row.get_by_role("button", name=name, exact=True) for name in ("Useful", "Wrong"))
    expect(useful).to_have_attribute("aria-pressed", "false")
    useful.click()
    expect(useful).to_have_attribute("aria-pressed", "true")
    wrong.focus()
    page.keyboard.press("Enter")
    expect(wrong).to_have_attribute("aria-pressed", "true")
    expect(useful).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".toast")).to_have_count(2)  # both have arrived

    page.reload()
    expect(wrong).to_have_attribute("aria-pressed", "true")
    open_bank(page, agent)
    expect(page.locator(".learning")).to_contain_text("You have judged 1 memory. After 19 more")

    open_memories(page, agent)
    expect(wrong).to_have_attribute("aria-pressed", "true")
    wrong.click()
    expect(wrong).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="Undo").click()
    expect(wrong).to_have_attribute("aria-pressed", "true")


def test_of_two_words_pressed_at_once_the_last_one_holds_whatever_the_network_does(page: Page, person: Person) -> None:
    agent = fill_a_bank(person)
    open_memories(page, agent)
    row = page.locator("li.memory-row", has_text=SAID[0]).first
    held: list[Route] = []

    def slow(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/labels/memories/*/", slow)
    useful, wrong = (row.get_by_role("button", name=name, exact=True) for name in ("Useful", "Wrong"))
    useful.click()
    wrong.click()
    page.wait_for_timeout(400)  # what overtakes the first does so now
    held[0].continue_()
    expect(page.locator(".toast")).to_have_count(2)
    page.reload()
    expect(wrong).to_have_attribute("aria-pressed", "true")


def test_a_row_under_a_reply_can_be_judged_and_a_forgotten_one_cannot(page: Page, person: Person) -> None:
    fill_a_bank(person)
    conversation = person.visitor.begin("Scribe")
    person.visitor.say(conversation, "What is the extension of Mr Duarte?")
    page.goto(f"/chat/{conversation}/")
    page.locator(".strip-button.used-memories").last.click()
    row = page.locator(".memory-row:visible", has_text="4711").first
    row.get_by_role("button", name="Useful", exact=True).click()
    expect(row.get_by_role("button", name="Useful", exact=True)).to_have_attribute("aria-pressed", "true")
    row.get_by_role("button", name="Forget").click()
    expect(row.locator(".judging")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rows_with_judgements_stand_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    opens: Opens, person: Person, picture: Callable[[Page, str], None], scheme: str
) -> None:
    page = opens(person, color_scheme=scheme).new_page()
    open_memories(page, fill_a_bank(person))
    page.locator(".memory-row").first.get_by_role("button", name="Useful", exact=True).click()
    expect(page.locator('.judgement[aria-pressed="true"]')).to_have_count(1)
    for width, window in (("wide", WIDE), ("360", NARROW)):
        page.set_viewport_size(window)  # type: ignore[arg-type]
        picture(page, f"judging-{scheme}-{width}")
        assert not scrolls_sideways(page)
        assert faults(page, scheme) == []
