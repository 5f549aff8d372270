"""A thumb on a reply in a real browser: by mouse and by keyboard, seen again, changed, taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat_screen import ChatScreen, scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_bank_page import fill_a_bank
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser


def asked(page: Page, person: Person) -> ChatScreen:
    """A conversation with a reply that used memories, on the screen."""
    fill_a_bank(person)
    conversation = person.visitor.begin("Scribe")
    person.visitor.say(conversation, "What is the extension of Mr Duarte?")
    screen = ChatScreen(page)
    screen.open(conversation)
    return screen


def thumbs(screen: ChatScreen) -> tuple[Locator, Locator]:
    group = screen.last.get_by_role("group", name="Your judgement of this reply")
    return group.get_by_role("button", name="Good reply"), group.get_by_role("button", name="Bad reply")


def pressed(thumb: Locator, is_it: bool = True) -> None:
    expect(thumb).to_have_attribute("aria-pressed", str(is_it).lower())


def test_a_thumb_is_seen_again_after_a_reload_gives_way_to_the_other_and_is_taken_back(
    page: Page, person: Person
) -> None:
    screen = asked(page, person)
    good, bad = thumbs(screen)
    pressed(good, False)
    good.click()
    pressed(good)
    expect(page.locator(".toast")).to_contain_text("says a little of each memory")

    page.reload()
    pressed(good)
    pressed(bad, False)
    bad.focus()
    page.keyboard.press("Enter")
    pressed(bad)
    pressed(good, False)
    page.locator(".toast").get_by_role("button", name="Undo").last.click()
    pressed(bad, False)
    pressed(good)  # as it was before

    good.focus()
    page.keyboard.press("Space")
    pressed(good, False)
    page.reload()
    expect(screen.last).to_have_attribute("data-state", "done")
    pressed(good, False)
    pressed(bad, False)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_foot_of_a_reply_with_a_thumb_stands_wide_and_narrow_and_axe_finds_nothing(
    opens: Opens, person: Person, picture: Callable[[Page, str], None], scheme: str
) -> None:
    page = opens(person, color_scheme=scheme).new_page()
    screen = asked(page, person)
    good, _bad = thumbs(screen)
    good.click()
    pressed(good)
    for width, window in (("wide", WIDE), ("360", NARROW)):
        page.set_viewport_size(window)  # type: ignore[arg-type]
        good.scroll_into_view_if_needed()
        picture(page, f"thumbs-{scheme}-{width}")
        assert not scrolls_sideways(page)
        assert faults(page, scheme) == []
