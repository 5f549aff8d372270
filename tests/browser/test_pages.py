"""Every page in a real browser: what it is for, and how it stands at 360 px, in light and in dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat_screen import ChatScreen, scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person, Watched
from tests.flows.first_start import FirstStart
from tests.scripted_llm import Script, ScriptedLlm

pytestmark = pytest.mark.browser
PASSWORD = "seven-brown-kettles"
LONG = "Ein-Donaudampfschifffahrtsgesellschaftskapitaenskajuetenschluesselanhaenger-" * 3


RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},  # nothing else differs in the dark
}


# A toast that still rises is half transparent, which axe takes for a weak contrast.
ANIMATIONS_END = """() => Promise.allSettled(
  document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity)
    .map((one) => one.finished))"""


def faults(page: Page, scheme: str) -> list[str]:
    """What axe finds wrong with a page at rest, as sentences; [] when nothing."""
    page.emulate_media(reduced_motion="reduce")  # a toast may also come while axe looks
    page.evaluate(ANIMATIONS_END)
    # To look at every node of a large page takes most of the time: what passes is only counted, and of a long table
    # its first rows speak for the others, which the same template made.
    options = {"runOnly": RULES[scheme], "resultTypes": ["violations"]}
    found = Axe().run(page, context={"exclude": [["tbody tr:nth-child(n+21)"]]}, options=options)
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes'][:4]]}"
        for one in found.response["violations"]
    ]


def test_a_person_signs_up_signs_out_and_in_again(opens: Opens) -> None:
    page = opens(None, timezone_id="America/Lima").new_page()
    page.goto("/accounts/signup/")
    email = f"{uuid4().hex[:8]}@example.org"
    page.get_by_label(re.compile("mail", re.IGNORECASE)).fill(email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label(re.compile(r"Password \(again\)")).fill(PASSWORD)
    page.get_by_label("Your name").fill("Noor")
    page.get_by_role("button", name="Create the account").click()
    expect(page).to_have_url(re.compile("/chat/"))
    expect(page.locator(".agent-card").first).to_be_visible()

    page.goto("/accounts/profile/")
    expect(page.get_by_label("Name")).to_have_value("Noor")
    expect(page.get_by_label("Time zone")).to_have_value("America/Lima")
    page.get_by_label("Name").fill("Noor A.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Your profile is saved.")

    page.locator("#account-menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/accounts/login/"))
    page.get_by_label(re.compile("mail", re.IGNORECASE)).fill(email)
    page.get_by_label("Password", exact=True).fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("main")).to_contain_text(re.compile("not correct|incorrect"))
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page).to_have_url(re.compile("/chat/"))
    page.locator("#account-menu summary").click()
    expect(page.locator(".menu-who")).to_contain_text("Noor A.")


def test_the_administrator_signs_in_with_the_printed_password(opens: Opens, begun: FirstStart) -> None:
    page = opens(None).new_page()
    page.goto("/")
    expect(page).to_have_url(re.compile(r"/accounts/login/\?next=/chat/"))
    page.get_by_label(re.compile("mail", re.IGNORECASE)).fill("admin@agora.localhost")
    page.get_by_label("Password", exact=True).fill(begun.password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("#conversations li.line").first).to_be_visible()


def test_who_is_signed_out_is_sent_to_sign_in(opens: Opens) -> None:
    page = opens(None).new_page()
    for path in ("/chat/", f"/chat/{uuid4()}/", "/memories/", "/agents/", "/jobs/", "/accounts/profile/"):
        page.goto(path)
        expect(page).to_have_url(re.compile(r"/accounts/login/\?next="))
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()


def test_the_page_memories_shows_searches_pins_and_forgets(page: Page, person: Person) -> None:
    conversation = person.visitor.begin("Scribe")
    person.visitor.say(conversation, "My bicycle has a green bell.")
    person.visitor.say(conversation, "The train to Evora leaves at seven.")
    page.goto("/memories/")
    rows = page.locator("#list .memory-row")

    def about(words: str) -> Locator:
        return rows.filter(has=page.locator(".memory-text", has_text=words))

    expect(page.locator("#heading")).to_have_text("What does Scribe know about me?")
    expect(about("green bell")).to_have_count(1)
    expect(page.locator("#gauge-memories")).to_contain_text("200")
    page.get_by_role("searchbox", name="Search memories").fill("bell")
    expect(about("Evora")).to_have_count(0)
    row = about("green bell")
    with page.expect_response("**/pin/"):  # the page shows it before the server has it
        row.get_by_role("button", name=re.compile("^Pin")).click()
        expect(row).to_contain_text("Pinned")
    page.reload()
    expect(row).to_contain_text("Pinned")
    row.get_by_role("button", name="Forget").click()
    expect(row).to_have_attribute("data-state", "forgotten")
    row.get_by_role("button", name="Undo").click()
    expect(row).to_have_attribute("data-state", "held")
    expect(row.locator(".memory-source")).to_have_attribute("href", re.compile(f"/chat/{conversation}/"))


def test_an_administrator_makes_and_changes_an_agent(opens: Opens, administrator: Person, watched: Watched) -> None:
    watched.allowed.append("status of 400")  # a refused form answers so
    page = opens(administrator).new_page()
    name = f"Librarian {uuid4().hex[:6]}"
    page.goto("/agents/")
    page.get_by_role("link", name="New agent").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Bank budget in memories").fill("1")
    page.get_by_role("button", name="Make the agent").click()
    expect(page.locator("main")).to_contain_text("greater than or equal to 5")
    page.get_by_label("Bank budget in memories").fill("50")
    page.get_by_role("button", name="Make the agent").click()
    expect(page).to_have_url(re.compile("/agents/$"))
    expect(page.locator(".notice")).to_contain_text("is saved")
    page.get_by_role("link", name=name).click()
    page.get_by_label("Description").fill("Keeps lists of books.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("li.agent", has_text=name)).to_contain_text("Keeps lists of books.")
    page.goto("/chat/")
    expect(page.locator(".agent-card", has_text=name)).to_be_visible()


def test_others_may_not_see_agents_and_jobs(page: Page, watched: Watched) -> None:
    watched.allowed.append("status of 403")
    for path in ("/agents/", "/agents/new/", "/jobs/"):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 403
        expect(page.locator("h1")).to_be_visible()


def test_the_jobs_page_shows_what_runs_behind(opens: Opens, administrator: Person) -> None:
    visitor = administrator.visitor
    turn = visitor.say(visitor.begin("Scribe"), "The spare key is under the third pot.")
    visitor.post(f"/api/memories/{turn['remembered'][0]['memory']}/forget/")
    page = opens(administrator).new_page()
    page.goto("/jobs/")
    row = page.locator("tbody tr").filter(has_text="memory.erase").first
    expect(row).to_contain_text("pending")
    expect(row.locator("time").first).to_have_text(re.compile("now|second|minute"))


def talkative(person: Person, scripted: ScriptedLlm) -> str:
    """A conversation with everything that takes room: long words, code, a table, rows, a failure."""
    visitor = person.visitor
    conversation = visitor.begin("SmolLM")
    wide = " | ".join(f"column {number}" for number in range(9))
    rule = " | ".join("---" for _ in range(9))
    scripted.queue(
        Script(text="That is noted. I keep it for you."),
        Script(text=f"{LONG}\n\n```python\nvalue = '{LONG}'\n```\n\n| {wide} |\n| {rule} |\n| {wide} |\n"),
        Script(
            text="Ana eats no walnuts, as you told me, and **almonds** are fine. See [the list](https://example.org)."
        ),
        Script("status", status=403),
    )
    visitor.say(conversation, "My sister Ana is allergic to walnuts, but almonds are fine.")
    visitor.say(conversation, f"Show me something wide: {LONG}")
    visitor.say(conversation, "What is my sister Ana allergic to?")
    visitor.say(conversation, "And what was the last thing?")
    return conversation


PAGES = ["chat", "conversation", "memories", "profile", "password", "agents", "agent", "jobs", "login", "signup"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_stands_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    opens: Opens, person: Person, administrator: Person, scripted: ScriptedLlm, scheme: str,
    picture: Callable[[Page, str], None],
) -> None:  # fmt: skip
    conversation = talkative(person, scripted)
    smol = person.visitor.get(f"/api/conversations/{conversation}/")["conversation"]["agent"]["id"]
    places = {
        "chat": "/chat/", "conversation": f"/chat/{conversation}/", "memories": f"/memories/?agent={smol}",
        "profile": "/accounts/profile/", "password": "/accounts/password/change/", "agents": "/agents/",
        "agent": "/agents/new/", "jobs": "/jobs/", "login": "/accounts/login/", "signup": "/accounts/signup/",
    }  # fmt: skip
    wrong: list[str] = []
    for who, names in ((person, PAGES[:5]), (administrator, PAGES[5:8]), (None, PAGES[8:])):
        page = opens(who, color_scheme=scheme).new_page()
        for name in names:
            for width, window in (("wide", WIDE), ("360", NARROW)):
                page.set_viewport_size(window)  # type: ignore[arg-type]
                page.goto(places[name])
                settle(page, name)
                picture(page, f"{name}-{scheme}-{width}")
                if scrolls_sideways(page):
                    wrong.append(f"{name} at {window['width']} px scrolls sideways")
                if width == "wide" or name in ("chat", "conversation"):
                    wrong += [f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme)]
    assert not wrong, "\n".join(wrong)


def settle(page: Page, name: str) -> None:
    """Wait until the page shows what it fetches; in a conversation open what can be opened."""
    if name == "chat":
        expect(page.locator(".agent-card").first).to_be_visible()
    if name == "memories":
        expect(page.locator("#list .memory-row").first).to_be_visible()
    if name == "conversation":
        screen = ChatScreen(page)
        expect(screen.turns).to_have_count(4)
        for button in screen.turns.nth(2).locator(".strip-button").all():
            button.click()
        expect(screen.rows(screen.turns.nth(2)).first).to_be_visible()


def test_at_360_px_the_list_is_a_drawer_that_opens_and_closes(
    opens: Opens, person: Person, scripted: ScriptedLlm, picture: Callable[[Page, str], None]
) -> None:
    person.visitor.say(person.visitor.begin("Scribe"), "Bread, milk and a lemon.")
    page = opens(person, viewport=NARROW).new_page()
    page.goto("/chat/")
    line = page.locator("#conversations li.line a").first
    expect(line).not_to_be_in_viewport()
    page.locator("#drawer-switch").click()
    expect(line).to_be_in_viewport()
    picture(page, "drawer-360")
    line.click()
    expect(line).not_to_be_in_viewport()
    expect(ChatScreen(page).last).to_contain_text("Bread, milk and a lemon.")
    assert not scrolls_sideways(page)


def test_the_theme_is_chosen_by_hand_and_stays(page: Page) -> None:
    page.goto("/memories/")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    switch = page.locator("#theme-switch")
    switch.click()
    expect(switch).to_have_attribute("aria-label", "Theme: light")
    switch.click()
    expect(switch).to_have_attribute("aria-label", "Theme: dark")
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark
