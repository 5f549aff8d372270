"""The pages of one recall and of one memory in a real browser, by mouse and keyboard; in light, dark and at 360 px."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.chat_screen import ChatScreen, scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_bank_page import fill_a_bank, open_bank
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser
SAID = [
    "My sister Vera lives in Évora and bakes walnut bread on Sundays.",
    "The harbour office opens at nine; ask for Mr Duarte, extension 4711.",
    "Rent is 900 euros, due on the 3rd of each month.",
    "I never eat walnuts, but almonds are fine.",
    "Vera's birthday is on 3 May.",
    "My bicycle has a green bell.",
]
QUESTION = "Where does my sister Vera live?"


SMALL_TALK = ["Good morning.", "It rains again.", "I like chess.", "What a week!", "My tea is cold.", "Well then."]


def talk(person: Person, agent: str = "Scribe") -> str:
    """Tell an agent some things and ask for one; returns the conversation. A prompt shows the last six turns anyway."""
    conversation = person.visitor.begin(agent)
    for said in [*SAID, *(SMALL_TALK if agent != "Scribe" else []), QUESTION]:
        person.visitor.say(conversation, said)
    return str(conversation)


def recall_of(person: Person, conversation: str) -> str:
    turns = person.visitor.get(f"/api/conversations/{conversation}/")["turns"]
    return str(turns[-1]["recall"]["id"])


def shown(page: Page, *names: str) -> None:
    """Wait until these figures are drawn, or say why they are not."""
    for name in names:
        card = page.locator(f"#figure-{name}")
        expect(card).to_have_attribute("data-shown", re.compile(r"\d+"))
        expect(card.locator(".main-svg, [data-part=empty]:visible").first).to_be_visible()


def test_from_a_row_of_the_chat_to_its_recall_and_to_its_memory(page: Page, person: Person) -> None:
    conversation = talk(person)
    chat = ChatScreen(page)
    chat.open(conversation)
    chat.used().click()
    row = chat.rows().filter(has_text="Évora").first
    row.get_by_role("button", name="Why?").click()
    row.get_by_role("link", name="All of this recall").click()
    expect(page.locator("h1")).to_have_text("What turn 7 recalled, and why")
    expect(page.locator(".cue").first).to_have_text(QUESTION)
    shown(page, "contributions", "floor")
    table = page.locator("#table-contributions")
    expect(table.locator("tbody tr").first).to_contain_text("Évora")
    expect(page.locator("#figure-contributions .plot .barlayer path")).not_to_have_count(0)

    page.get_by_label("Candidates", exact=True).select_option("below")
    page.locator("[data-figure-filters] button[type=submit]").click()
    expect(page).to_have_url(re.compile("what=below"))
    page.locator("[data-figure-filters] button[type=reset]").click()
    expect(table.locator("tbody tr").first).to_contain_text("Évora")

    table.get_by_role("link", name=re.compile("Évora")).first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("One memory")
    expect(page.locator("#one-memory .memory-text")).to_contain_text("Évora")
    expect(page.locator(".context li.itself")).to_contain_text("Évora")
    shown(page, "scores", "recalls", "happened")
    page.locator("#table-recalls").get_by_role("link").last.click()
    expect(page.locator("h1")).to_contain_text("recalled, and why")


def test_reading_a_recall_again_without_a_memory_and_asking_for_both_replies(page: Page, person: Person) -> None:
    conversation = talk(person)
    page.goto(f"/memories/recalls/{recall_of(person, conversation)}/")
    choice = page.get_by_label("Without")
    choice.select_option(label=SAID[0])
    held_back: list[Route] = []
    page.route(re.compile("/memory/replies"), lambda route: held_back.append(route))
    page.get_by_role("button", name="Read again").click()
    expect(page.locator("#how")).to_contain_text("exactly what is stored")
    shown(page, "reread")
    expect(page.locator("#table-reread tbody tr").filter(has_text="Évora").first).to_contain_text("left")
    ask = page.get_by_role("button", name="Ask for both replies")
    expect(ask).to_be_disabled()  # a press before its script is there would be lost
    held_back[0].continue_()
    ask.click()
    expect(page.locator("#replies-status")).to_contain_text("Nothing was kept")
    expect(page.locator('[data-reply="before"] p')).to_contain_text("Évora")
    expect(page.locator('[data-reply="after"] p')).not_to_contain_text("Évora")
    turns = person.visitor.get(f"/api/conversations/{conversation}/")["turns"]
    assert len(turns) == len(SAID) + 1


def test_reading_a_recall_again_with_a_memory_that_was_in_the_archive(page: Page, person: Person) -> None:
    agent = fill_a_bank(person)
    texts = {row["id"]: row["text"] for row in person.visitor.get(f"/api/memories/?agent={agent}")["memories"]}
    open_bank(page, agent)
    page.get_by_label("Memories, at most").fill("5")
    page.keyboard.press("Enter")
    expect(page.locator("#preview-title")).to_have_text(re.compile(r"^\d+ memories would leave$"))
    gone = str(page.locator("#leaving > li").first.get_attribute("data-memory"))
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page.locator(".notices")).to_contain_text("left for the archive")
    conversation, text = str(person.visitor.begin("Scribe")), texts[gone]
    person.visitor.say(conversation, f"What do you know of this: {text}")
    before = person.visitor.get(f"/api/memories/?agent={agent}&state=archived")

    page.goto(f"/memories/recalls/{recall_of(person, conversation)}/")
    page.get_by_label("With", exact=True).select_option(gone)
    page.get_by_role("button", name="Read again").click()
    expect(page.locator("#how")).to_contain_text("exactly what is stored")
    shown(page, "reread")
    row = page.locator("#table-reread tbody tr").filter(has_text=text).first
    expect(row).to_contain_text("came")
    page.get_by_role("button", name="Ask for both replies").click()
    expect(page.locator("#replies-status")).to_contain_text("Nothing was kept")
    expect(page.locator('[data-reply="before"] p')).not_to_contain_text(text)
    expect(page.locator('[data-reply="after"] p')).to_contain_text(text)
    assert person.visitor.get(f"/api/memories/?agent={agent}&state=archived") == before


def test_what_is_done_to_a_memory_on_its_page_shows_in_its_history(page: Page, person: Person) -> None:
    talk(person)
    page.goto("/memories/")
    page.locator(".memory-row", has_text="green bell").first.get_by_role("link", name="Its history").click()
    shown(page, "happened")
    happened = page.locator("#table-happened tbody")
    expect(happened.locator("tr")).to_have_count(1)
    row = page.locator("#one-memory .memory-row")
    row.get_by_role("button", name=re.compile("^Pin")).click()
    expect(happened.locator("tr").last).to_contain_text("pinned")
    row.get_by_role("button", name="Forget").click()
    expect(row).to_have_attribute("data-state", "forgotten")
    row.get_by_role("button", name="Undo").click()
    expect(row).to_have_attribute("data-state", "held")
    expect(happened.locator("tr").last).to_contain_text("no longer forgotten")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_pages_stand_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    opens: Opens, person: Person, scheme: str, picture: Callable[[Page, str], None]
) -> None:
    conversation = talk(person, "SmolLM")
    page = opens(person, color_scheme=scheme).new_page()
    wrong: list[str] = []

    def check(name: str, *figures: str) -> None:
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            shown(page, *figures)
            for part in page.locator("main > section, main > form").all():
                part.scroll_into_view_if_needed()
                named = part.get_attribute("id") or part.get_attribute("aria-labelledby") or "filters"
                picture(page, f"{name}-{scheme}-{width}-{named}")
            if scrolls_sideways(page):
                wrong.append(f"{name} at {window['width']} px scrolls sideways")
            wrong.extend(f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme))

    recall = recall_of(person, conversation)
    page.goto(f"/memories/recalls/{recall}/")
    check("recall", "contributions", "floor")
    page.get_by_label("Without").select_option(label=SAID[0])
    page.get_by_role("button", name="Read again").click()
    page.get_by_role("button", name="Ask for both replies").click()
    expect(page.locator("#replies-status")).to_contain_text("Nothing was kept")
    check("again", "contributions", "floor", "reread")
    page.locator("#table-contributions").get_by_role("link", name=re.compile("Évora")).first.click()
    check("memory", "scores", "recalls", "happened")
    assert not wrong, "\n".join(wrong)
