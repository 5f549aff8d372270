"""The policy lab in a real browser: asked for, watched until it is there, read in every light, deleted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_life import drawn, few_sessions, import_for, picture_of, shown
from tests.browser.test_pages import faults
from tests.flows.running_agora import RunningAgora

__all__ = ["few_sessions"]
pytestmark = [pytest.mark.browser, pytest.mark.data]
PATIENCE_MS = 150_000  # the training worker takes its seconds to begin, on a busy machine


def in_every_light(page: Page, name: str, *figures: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.reload()
            if figures:
                shown(page, *figures)
            picture_of(page, f"{name}-{scheme}-{width}")
            assert not scrolls_sideways(page)
            assert faults(page, scheme) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]


def test_a_person_compares_policies_on_a_conversation_of_theirs(
    agora: RunningAgora, opens: Opens, person: Person, few_sessions: Path
) -> None:
    page = opens(person).new_page()
    conversation = import_for(agora, person, page, few_sessions)
    page.goto("/lab/")
    in_every_light(page, "lab")
    page.locator(f'input[name="conversations"][value="{conversation}"]').check()
    page.get_by_label("and composed ones").fill("chains+floor(recent=6)+importance")
    page.get_by_label("Budgets").fill("10%, 25%, 50%, 100%")
    page.get_by_role("button", name="Replay").click()
    expect(page).to_have_url(re.compile("/lab/[0-9a-f-]{36}/"))
    expect(page.locator("#state")).to_have_text("done", timeout=PATIENCE_MS)
    shown(page, "evidence", "regret", "missed")

    lines = drawn(page, "evidence")
    assert len(lines) == 4
    for line in lines:
        assert len(line["x"]) == 4
        assert line["y"][-1] == 1.0, "with room for all nothing is missed"
    assert min(line["y"][0] for line in lines) < 1.0
    rows = page.locator("#figure-evidence tbody tr")
    expect(rows).to_have_count(16)
    first = rows.first.locator("td").all_inner_texts()
    found = next(line for line in lines if line["name"] == first[0])
    assert float(first[3]) == found["x"][0]
    assert float(first[1]) == found["y"][0]
    in_every_light(page, "lab-replay", "evidence", "regret", "missed")

    rows.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile("policy="))
    expect(page.locator("#missed-policy")).to_have_value(first[0])
    expect(page.locator("#figure-missed tbody tr").first).to_contain_text(first[0])

    page.get_by_role("button", name="Delete").first.click()
    page.locator("#delete-dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".notices")).to_contain_text("deleted")
    expect(page.get_by_text("None yet.")).to_be_visible()
