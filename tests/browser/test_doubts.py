"""A memory that a newer one says otherwise than, on the page Memories: what a person sees, and makes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, Opens, Person
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser


def test_an_outdated_memory_is_marked_and_its_person_says_what_holds(
    opens: Opens, person: Person, administrator: Person, picture: Callable[[Page, str], None]
) -> None:
    conversation = person.visitor.begin("Scribe")
    for text in ("The code of the garage is 4711.", "Our cottage has 3 bedrooms.", "The code of the garage is 8822.",
                 "Our cottage has 4 bedrooms."):  # fmt: skip
        person.visitor.say(conversation, text)
    staff = opens(administrator).new_page()
    staff.goto("/training/schedule/")
    staff.get_by_role("button", name="Run Outdated memories now").click()
    page = opens(person, color_scheme="dark").new_page()
    mark = page.locator(".doubt")
    for _ in range(30):
        page.goto("/memories/")
        expect(page.locator("#list .memory-row").first).to_be_visible()
        if mark.count() == 2:
            break
        page.wait_for_timeout(2000)
    row = page.locator(".memory-row").filter(has=page.locator(".memory-text", has_text="4711"))
    expect(row).to_contain_text("May be outdated: a newer memory of")
    expect(row).to_contain_text("“The code of the garage is 8822.”")
    assert not faults(page, "light") + faults(page, "dark")
    picture(page, "doubt-dark-wide")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    row.scroll_into_view_if_needed()
    picture(page, "doubt-dark-360")
    assert not scrolls_sideways(page)
    row.get_by_role("button", name="It is outdated").click()
    expect(mark).to_have_count(1)
    expect(row.get_by_role("button", name="Outdated", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Both hold").click()
    expect(mark).to_have_count(0)
    page.reload()
    expect(page.locator("#list .memory-row").first).to_be_visible()
    expect(mark).to_have_count(0)
