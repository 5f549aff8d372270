"""What somebody who has never seen the code wants to know, asked of a conversation of people and of 10,000 turns:
what does this agent know, why did it say that, what did it lose and was that a mistake, is the new adapter better?
Each is walked by links alone, from the page before; pictures are kept in light, dark and at 360 px.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_life import BUDGET, drawn, few_sessions, import_for, picture_of, shown
from tests.browser.test_pages import faults
from tests.browser.test_promoting import challenger
from tests.flows.running_agora import RunningAgora

__all__ = ["challenger", "few_sessions"]
pytestmark = [pytest.mark.browser, pytest.mark.data]
LIFE = ("importance", "budget", "evictions", "weights", "moment")


def seen(page: Page, name: str, *figures: str) -> None:
    """The page as it stands in light, dark and 360 px: pictures, and no fault."""
    wrong: list[str] = []
    for scheme, window in (("light", WIDE), ("dark", WIDE), ("light", NARROW)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size(window)  # type: ignore[arg-type]
        shown(page, *figures)
        at = f"{name}-{scheme}-{window['width']}"
        picture_of(page, at)
        if scrolls_sideways(page):
            wrong.append(f"{at} scrolls sideways")
        wrong += [f"{at}: {fault}" for fault in faults(page, scheme)]
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    assert not wrong, "\n".join(wrong)


def number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    assert found, text
    return int(found[1].replace(",", ""))


def what_does_it_know(page: Page, name: str) -> None:
    """From the chat: the agent's memories, and the bank after the last turn holds as many."""
    page.get_by_role("link", name="Memories", exact=True).first.click()
    expect(page.locator("h1")).to_have_text("What does Scribe know about me?")
    expect(page.locator("main")).to_contain_text(re.compile(r"\d+ of \d+ memories"))
    held = number(page.locator("main").inner_text(), r"([\d,]+) of [\d,]+ memories")
    page.locator("li.memory-row").first.get_by_role("link", name="Its conversation over time").click()
    shown(page, *LIFE)
    told = page.locator("#figure-moment figcaption")
    expect(told).to_contain_text(re.compile(r"the bank held [\d,]+ memories"))
    assert number(told.inner_text(), r"held ([\d,]+) memories") == held
    seen(page, f"{name}-knows", *LIFE)


def why_did_it_say_that(page: Page, name: str) -> None:
    """From the weights over time to one recall: what each signal added makes the logit, and the heaviest is first."""
    life = page.url
    page.locator("#figure-weights table tbody a").first.click()
    expect(page.locator("h1")).to_contain_text("recalled, and why")
    shown(page, "contributions", "floor")
    bars = [one for one in drawn(page, "contributions") if one["type"] == "bar"]
    added = sum(one["x"][0] for one in bars)
    head = page.locator("#table-contributions th").all_inner_texts()
    logit = page.locator("#table-contributions tbody tr").first.locator("td").nth(head.index("Logit")).inner_text()
    assert added == pytest.approx(float(logit.replace("−", "-")), abs=2e-3)
    seen(page, f"{name}-why", "contributions", "floor")
    page.goto(life)


def what_did_it_lose_and_was_that_a_mistake(page: Page, name: str) -> None:
    """From what left to one memory that is gone, with when and why; and from its bank to what was missed later."""
    life = page.url
    page.get_by_label("Left because").select_option("budget")
    page.locator("[data-figure-filters] button[type=submit]").click()
    shown(page, "evictions")
    page.locator("#figure-evictions table tbody a").first.click()
    expect(page.locator("h1")).to_have_text("One memory")
    expect(page.locator("#one-memory")).to_contain_text("rchive")
    shown(page, "happened")
    expect(page.locator("#table-happened")).to_contain_text("the bank was full")
    seen(page, f"{name}-lost", "happened")
    page.goto(life)
    page.get_by_role("link", name="The bank", exact=True).click()
    expect(page.locator("#figure-regret[data-shown]")).to_have_count(1, timeout=120_000)
    missed = page.locator("#figure-regret")
    expect(missed.locator("figcaption, .figure-empty:not([hidden])").first).to_contain_text(re.compile(r"\w+.*\."))
    seen(page, f"{name}-missed", "regret", "leaving")


def is_the_new_adapter_better(page: Page, version: str, name: str) -> None:
    """As staff: champion against challenger on what neither was taught, with intervals; and what drifted since."""
    page.goto("/chat/")
    page.get_by_role("link", name="Training", exact=True).first.click()
    page.get_by_role("navigation", name="Training").get_by_role("link", name="Adapters").click()
    names = page.locator(".figure-card").evaluate_all("(cards) => cards.map((one) => one.id.replace('figure-', ''))")
    shown(page, *names)
    row = page.locator(f'.version[data-version="{version}"]')
    expect(row).to_contain_text(re.compile(r"\+\d\.\d+ \[\d\.\d+, \d\.\d+\]"))
    seen(page, f"{name}-adapters", *names)


def test_the_questions_are_answered_for_a_conversation_of_people(
    agora: RunningAgora, opens: Opens, person: Person, administrator: Person, few_sessions: Path, challenger: str
) -> None:
    page = opens(person).new_page()
    conversation = import_for(agora, person, page, few_sessions)
    page.goto(f"/chat/{conversation}/")
    what_does_it_know(page, "people")
    assert number(page.locator("#figure-moment figcaption").inner_text(), r"held ([\d,]+) memories") <= BUDGET
    why_did_it_say_that(page, "people")
    what_did_it_lose_and_was_that_a_mistake(page, "people")
    is_the_new_adapter_better(opens(administrator).new_page(), challenger, "people")


def test_the_questions_are_answered_for_ten_thousand_turns(
    opens: Opens, long_life: tuple[Person, str], administrator: Person, challenger: str
) -> None:
    person, conversation = long_life
    page = opens(person).new_page()
    page.goto(f"/chat/{conversation}/")
    what_does_it_know(page, "long")
    why_did_it_say_that(page, "long")
    what_did_it_lose_and_was_that_a_mistake(page, "long")
    is_the_new_adapter_better(opens(administrator).new_page(), challenger, "long")
