"""Banks over time in a real browser: the owner's, an analyst's, light, dark, 360 px; opening and closing; the chat."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person, Watched
from tests.browser.test_bank_page import open_bank
from tests.browser.test_labelling import give_role
from tests.browser.test_life import drawn, picture_of, shown
from tests.browser.test_pages import faults
from tests.flows.running_agora import RunningAgora

pytestmark = pytest.mark.browser
OF_ANY = ("composition", "fullness", "turnover", "leaving", "regret", "work", "never", "again", "doubts")
SAID = (
    "My sister Vera bakes walnut bread; write to vera@example.net.", "The harbour office opens at nine.",
    "Rent is 900 euros, due on the 3rd of each month.", "I never eat walnuts, but almonds are fine.",
    "Rent is 900 euros, due on the 3rd of each month.", "Rent is 950 euros, due on the 3rd of each month.",
    "What does Vera bake?", "When does the harbour office open?", "Where do I write to Vera?",
)  # fmt: skip


def lived_in(person: Person, page: Page) -> str:
    """A bank that is too small for what it was told; returns its id."""
    conversation = person.visitor.begin("Scribe")
    for said in SAID:
        person.visitor.say(conversation, said)
    agent = next(one["id"] for one in person.visitor.get("/api/agents/")["agents"] if one["name"] == "Scribe")
    open_bank(page, str(agent))
    page.get_by_label("Memories, at most").fill("6")
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page.locator(".notices")).to_contain_text("left for the archive")
    found = re.search(r"/memories/banks/([0-9a-f-]{36})/", page.url)
    assert found
    return found[1]


def looked_at(page: Page, bank: str) -> None:
    """The owner's page of an opened bank says who looked: in light, dark and 360 px without a fault."""
    wrong: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.goto(f"/memories/banks/{bank}/")
            expect(page.locator(".looks li")).to_have_count(1)
            expect(page.locator(".looks li")).to_contain_text(re.compile(r"@.*\d pages"))
            page.locator("#analysts").scroll_into_view_if_needed()
            page.locator(".looks").scroll_into_view_if_needed()
            picture_of(page, f"bank-looks-{scheme}-{width}")
            if scrolls_sideways(page):
                wrong.append(f"scrolls sideways at {width}")
            wrong += [f"{scheme}, {width}: {fault}" for fault in faults(page, scheme)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    assert not wrong, "\n".join(wrong)


def walk(page: Page, path: str, name: str, figures: tuple[str, ...]) -> None:
    """The page in light, dark and 360 px: pictures, and no fault."""
    wrong: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.goto(path)
            shown(page, *figures)
            picture_of(page, f"{name}-{scheme}-{width}")
            if scrolls_sideways(page):
                wrong.append(f"{name} scrolls sideways at {width}")
            wrong += [f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme)]
    assert not wrong, "\n".join(wrong)


def test_an_owner_opens_a_bank_an_analyst_reads_it_masked_and_closing_in_the_chat_shuts_it(
    agora: RunningAgora, opens: Opens, people: Iterator[Person], watched: Watched
) -> None:
    watched.allowed.append("status of 404")  # what was closed is not there
    owner, analyst = next(people), next(people)
    give_role(agora, analyst, "analyst")
    own = opens(owner).new_page()
    bank = lived_in(owner, own)
    page = opens(analyst).new_page()
    page.goto("/chat/")
    page.get_by_role("link", name="Analysis").first.click()
    expect(page.locator("main")).to_contain_text("Nobody has opened a bank to analysts so far")

    own.get_by_role("link", name="This bank over time").click()
    shown(own, "conversations", *OF_ANY)
    expect(own.locator("#figure-leaving table")).to_contain_text("the bank was full")
    expect(own.locator("#figure-work table")).to_contain_text("Rent is 900 euros")
    own.goto(f"/memories/banks/{bank}/")
    own.locator("#analysts").scroll_into_view_if_needed()
    picture_of(own, "bank-settings-shut")
    own.get_by_role("button", name="Open it to analysts").click()
    expect(own.locator("#analysts")).to_contain_text("You opened this bank")
    expect(own.locator("#analysts")).to_contain_text("No analyst has looked at it yet")
    own.locator("#analysts").scroll_into_view_if_needed()
    picture_of(own, "bank-not-looked-at")
    assert faults(own, "light") == []

    page.reload()
    page.locator("#figure-beside table a").first.click()
    expect(page).to_have_url(re.compile(f"/memories/banks/{bank}/life/"))
    expect(page.locator(".opened-notice")).to_contain_text("can change nothing")
    shown(page, "conversations", *OF_ANY)
    expect(page.locator("main")).to_contain_text("[e-mail]")
    assert "vera@example.net" not in page.content()
    walk(page, f"/memories/banks/{bank}/life/", "opened-bank", ("conversations", *OF_ANY))
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    page.locator("#figure-conversations table a").first.click()
    expect(page).to_have_url(re.compile("/memories/conversations/"))
    expect(page.locator("#figure-importance table")).to_contain_text("Rent is 900 euros")
    assert "vera@example.net" not in page.content()
    picture_of(page, "opened-conversation")

    looked_at(own, bank)
    own.goto("/chat/")
    notice = own.locator("#analysts-notice")
    expect(notice).to_contain_text("You opened the bank of Scribe to analysts")
    own.locator("#conversations a").first.click()
    expect(notice).to_contain_text("You opened the bank of Scribe to analysts")
    picture_of(own, "chat-opened-bank")
    assert faults(own, "light") == []
    own.get_by_role("button", name="Close it to analysts").click()
    expect(notice).to_be_hidden()
    page.goto(f"/memories/banks/{bank}/life/")
    expect(page.locator("h1")).to_have_text("There is nothing here")
    page.goto("/memories/banks/")
    expect(page.locator("#figure-beside .figure-empty")).to_contain_text("no bank here yet")


def test_filters_are_in_the_address_and_a_bar_leads_to_its_rows(opens: Opens, person: Person) -> None:
    page = opens(person).new_page()
    bank = lived_in(person, page)
    page.goto(f"/memories/banks/{bank}/life/")
    shown(page, "leaving")
    counts = drawn(page, "leaving")
    total = sum(sum(one["x"]) for one in counts)
    expect(page.locator("#figure-leaving .pager")).to_contain_text(re.compile(rf"^{total} row"))
    bar = page.locator("#figure-leaving .plot .point").first
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"reason=budget#figure-leaving"))
    expect(page.get_by_label("Left because")).to_have_value("budget")
    page.get_by_label("From", exact=True).fill("2020-01-01")
    page.get_by_label("to", exact=True).fill("2020-02-01")
    page.keyboard.press("Enter")
    expect(page.locator("#figure-turnover .figure-empty")).to_contain_text("Nothing came and nothing left")
    expect(page).to_have_url(re.compile("since=2020-01-01&until=2020-02-01"))
    page.go_back()
    expect(page.locator("#figure-turnover .figure-empty")).to_be_hidden()
    with page.expect_download() as download:
        page.locator("#figure-leaving").get_by_role("link", name=re.compile("CSV")).click()
    assert download.value.suggested_filename == "evictions.csv"


def test_all_banks_of_a_long_life_in_light_dark_and_360_px(
    agora: RunningAgora, opens: Opens, people: Iterator[Person]
) -> None:
    person = next(people)
    agora.python("tests.flows.make_long_life", person.email, "2000")
    person.visitor.say(person.visitor.begin("SmolLM"), "The harbour office opens at nine.")
    page = opens(person).new_page()
    page.goto("/memories/")
    page.get_by_role("link", name="Banks over time").click()
    expect(page.locator("h1")).to_have_text("Banks")
    walk(page, "/memories/banks/", "banks", ("beside", *OF_ANY))
    page.locator("#figure-beside table a").first.click()
    walk(page, page.url, "bank", ("conversations", *OF_ANY))
