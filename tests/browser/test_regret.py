"""The report of regret as staff see it, with a bank that let memories go and labels of two sources."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_bank_page import fill_a_bank, held, open_bank
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser


def test_the_report_names_what_let_memories_go_and_who_judged_in_light_dark_and_360_px(
    opens: Opens, person: Person, administrator: Person, picture: Callable[[Page, str], None]
) -> None:
    agent = fill_a_bank(person)
    own = opens(person).new_page()
    open_bank(own, agent)
    own.get_by_label("Memories, at most").fill("5")
    own.keyboard.press("Enter")
    own.get_by_role("button", name=re.compile("^Apply")).click()
    expect(own.locator(".notices")).to_contain_text("left for the archive")
    person.visitor.post(f"/api/memories/{held(person, agent)[0]}/pin/", {})

    for scheme in ("light", "dark"):
        page = opens(administrator, color_scheme=scheme).new_page()
        page.goto("/training/regret/?days=7")
        expect(page.get_by_role("row", name=re.compile("^importance"))).to_be_visible()
        expect(page.get_by_role("row", name=re.compile("^pinned or forgotten"))).to_be_visible()
        expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            picture(page, f"regret-{scheme}-{width}")
            assert not scrolls_sideways(page)
            assert faults(page, scheme) == []
