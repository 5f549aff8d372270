"""Labelling in a real browser: a hundred items by keyboard alone, undo, skip, disagreements, opening and closing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person, Watched
from tests.browser.test_pages import faults
from tests.flows.running_agora import RunningAgora, eventually

pytestmark = pytest.mark.browser
PLACES = ["Porto", "Ghent", "Riga", "Oslo", "Graz", "Lyon", "Perth", "Quito", "Turin", "York", "Cork", "Kyoto"]
TURNS = 40  # of each owner: eighty memories are about sixty items
ITEMS = 100


def told(owner: int, turn: int) -> dict[str, Any]:
    place = PLACES[turn % len(PLACES)]
    said = [
        f"My cousin number {turn} lives in {place} and can be reached at cousin{turn}@mail{owner}.example",
        f"Good morning, how is {place} today? This is greeting {turn}.",
        f"The rent of flat {turn} in {place} is {400 + turn} euros; ask for +351 21 555 {1000 + turn}.",
        f"I do not eat walnuts in {place}, reason {turn}",
    ]
    return {
        "conversation": f"talk-{owner}", "observation": said[turn % 4],
        "action": f"I keep it that {place} has to do with {turn}, owner {owner}.",
    }  # fmt: skip


def open_a_talk(agora: RunningAgora, owner: Person, number: int, folder: Path, turns: int = TURNS) -> str:
    """Import a conversation of this person and open it to labelling; returns its id, once its items are there."""
    file = folder / f"talk-{number}.jsonl"
    file.write_text("".join(json.dumps(told(number, turn)) + "\n" for turn in range(turns)))
    done = agora.manage("import_conversation", str(file), "--user", owner.email, "--agent", "Scribe", timeout_s=400)
    assert done.returncode == 0, done.stderr
    conversation = str(owner.visitor.get("/api/conversations/")["conversations"][0]["id"])
    owner.visitor.put(f"/api/labelling/conversations/{conversation}/", {"open": True})
    eventually(lambda: items_of(agora, owner), 90)
    return conversation


def items_of(agora: RunningAgora, owner: Person) -> int:
    found = agora.one(
        "SELECT count(*) FROM training_reviewitem i JOIN accounts_user u ON u.id = i.owner_id "
        "WHERE u.email = %(email)s AND NOT i.hidden",
        {"email": owner.email},
    )
    return int(found)


def give_role(agora: RunningAgora, person: Person, role: str) -> None:
    with agora.database() as connection:
        connection.execute(
            "INSERT INTO accounts_user_groups (user_id, group_id) SELECT u.id, g.id FROM accounts_user u, auth_group g "
            "WHERE u.email = %(email)s AND g.name = %(role)s ON CONFLICT DO NOTHING",
            {"email": person.email, "role": role},
        )


def labels_by(agora: RunningAgora, labeller: Person) -> int:
    found = agora.one(
        "SELECT count(*) FROM training_label l JOIN accounts_user u ON u.id = l.by_id "
        "WHERE l.source = 'queue' AND u.email = %(email)s",
        {"email": labeller.email},
    )
    return int(found)


class Desk:
    """The page, worked at by keys alone."""

    def __init__(self, page: Page) -> None:
        self.page, self.stage = page, page.locator("#stage")
        self.shown: list[str] = []

    @property
    def item(self) -> str:
        return str(self.stage.get_attribute("data-item"))

    @property
    def compared(self) -> bool:
        return self.page.locator("#question").inner_text().startswith("Which")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def go_on(self, *keys: str) -> str:
        """Press keys that take the item; wait for what comes next. Returns which item it was."""
        before = self.item
        self.shown.append(self.stage.inner_text())
        self.press(*keys)
        expect(self.stage).not_to_have_attribute("data-item", before)
        return before

    def answer(self, number: int) -> str:
        key = ["ArrowLeft", "ArrowRight"][number % 2] if self.compared else str(number % 5)
        return self.go_on(key, "Enter")


@pytest.fixture
def owners(agora: RunningAgora, people: Any, tmp_path: Path) -> list[Person]:
    found = [next(people), next(people)]
    for number, owner in enumerate(found):
        open_a_talk(agora, owner, number, tmp_path)
    return found


def test_a_hundred_items_are_labelled_by_keyboard_alone(
    agora: RunningAgora, owners: list[Person], person: Person, opens: Opens, picture: Callable[[Page, str], None]
) -> None:
    give_role(agora, person, "labeller")
    page = opens(person).new_page()
    page.goto("/training/labelling/")
    desk = Desk(page)
    expect(page.locator(".judged").first).to_be_focused()
    assert faults(page, "light") == []
    picture(page, "labelling-first")

    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).not_to_be_visible()

    first = desk.item
    desk.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Choose an answer first.")
    assert desk.item == first
    desk.press("ArrowDown")
    expect(page.locator(".said:focus")).to_have_count(1)
    desk.press("ArrowUp")
    skipped = desk.go_on("s")
    undone = desk.answer(3)
    desk.press("u")
    expect(desk.stage).to_have_attribute("data-item", undone)
    expect(page.locator('.grade[aria-pressed="true"]')).to_have_count(1)
    desk.go_on("Enter")

    answered = {undone}
    while len(answered) < ITEMS:
        answered.add(desk.answer(len(answered)))
    assert skipped not in answered
    expect(page.locator("#progress-text")).to_contain_text(f"{ITEMS} answered")
    assert faults(page, "light") == []
    seen = "\n".join(desk.shown)
    assert "[e-mail]" in seen
    assert "[phone]" in seen
    assert "@" not in seen
    assert "Robin" not in seen
    assert eventually(lambda: labels_by(agora, person) == ITEMS, 120)
    page.goto("/training/labelling/statistics/")
    expect(page.locator("main")).to_contain_text(f"{ITEMS}")
    picture(page, "labelling-statistics")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_stand_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    agora: RunningAgora, people: Any, person: Person, opens: Opens, scheme: str, tmp_path: Path,
    picture: Callable[[Page, str], None],
) -> None:  # fmt: skip
    open_a_talk(agora, next(people), {"light": 20, "dark": 21}[scheme], tmp_path, 12)
    give_role(agora, person, "labeller")
    page = opens(person, color_scheme=scheme).new_page()
    wrong: list[str] = []

    def check(name: str) -> None:
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            picture(page, f"labelling-{name}-{scheme}-{width}")
            if scrolls_sideways(page):
                wrong.append(f"{name} at {window['width']} px scrolls sideways")
            wrong.extend(f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme))
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]

    page.goto("/training/labelling/")
    desk = Desk(page)
    seen: set[bool] = set()
    expect(page.locator(".judged").first).to_be_focused()
    while len(seen) < 2:
        if desk.compared not in seen:
            seen.add(desk.compared)
            desk.press("ArrowRight")
            check("compare" if desk.compared else "rate")
        desk.go_on("s")
    page.keyboard.press("?")
    check("help")
    page.goto("/training/labelling/resolve/")
    expect(page.locator('[data-rest="empty_disputes"]')).to_be_visible()
    check("no-disputes")
    page.goto("/training/labelling/statistics/")
    check("figures")
    assert not wrong, "\n".join(wrong)


def test_an_answer_that_does_not_arrive_is_asked_for_again(
    agora: RunningAgora, people: Any, person: Person, opens: Opens, tmp_path: Path, watched: Watched
) -> None:
    watched.allowed += ["Failed to load resource", "ERR_"]
    open_a_talk(agora, next(people), 30, tmp_path, 6)
    give_role(agora, person, "labeller")
    page = opens(person).new_page()
    page.goto("/training/labelling/")
    desk = Desk(page)
    expect(page.locator(".judged").first).to_be_focused()
    page.route("**/api/labelling/items/*/", lambda route: route.abort())
    before = desk.item
    desk.press("ArrowRight", "Enter")
    expect(page.locator("#trouble")).to_contain_text("was not saved")
    expect(desk.stage).to_have_attribute("data-item", before)
    page.unroute("**/api/labelling/items/*/")
    desk.go_on("Enter")
    expect(page.locator("#trouble")).not_to_be_visible()
    expect(page.locator("#progress-text")).to_contain_text("1 answered")


def test_a_disagreement_is_settled_by_a_third_person(
    agora: RunningAgora, people: Any, opens: Opens, administrator: Person, tmp_path: Path
) -> None:
    owner, one, two = next(people), next(people), next(people)
    open_a_talk(agora, owner, 40, tmp_path, 6)
    with agora.database() as connection:
        connection.execute(
            "UPDATE training_reviewitem SET wanted = 2 WHERE owner_id = "
            "(SELECT id FROM accounts_user WHERE email = %(email)s)",
            {"email": owner.email},
        )
    item = agora.one(
        "SELECT i.id FROM training_reviewitem i JOIN accounts_user u ON u.id = i.owner_id "
        "WHERE u.email = %(email)s AND i.mode = 'rate' ORDER BY i.id LIMIT 1",
        {"email": owner.email},
    )
    for labeller, value in ((one, 0), (two, 4)):
        give_role(agora, labeller, "labeller")
        labeller.visitor.post(f"/api/labelling/items/{item}/", {"value": value})
    state = "SELECT state FROM training_reviewitem WHERE id = %(item)s"
    assert eventually(lambda: agora.one(state, {"item": item}) == "disputed", 60)

    page = opens(administrator).new_page()
    page.goto("/training/labelling/resolve/")
    expect(page.locator(".others")).to_have_text("Others said: 0, worthless · 4, must be kept")
    assert faults(page, "light") == []
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator("[data-rest]")).to_be_visible()
    assert eventually(lambda: agora.one(state, {"item": item}) == "resolved", 60)


def test_the_owner_opens_a_conversation_in_the_chat_and_closes_it_again(
    agora: RunningAgora, person: Person, page: Page, picture: Callable[[Page, str], None]
) -> None:
    conversation = person.visitor.begin("Scribe")
    person.visitor.say(conversation, "My bicycle has a green bell.")
    page.goto(f"/chat/{conversation}/")
    page.get_by_role("button", name="Open to labelling…").click()
    expect(page.locator("#open-labelling")).to_contain_text("are masked")
    assert faults(page, "light") == []
    picture(page, "chat-labelling-dialog")
    page.get_by_role("button", name="Open it").click()
    expect(page.locator("#labelling-notice")).to_contain_text("labellers may read it")
    assert faults(page, "light") == []
    assert eventually(lambda: items_of(agora, person), 60)
    page.reload()
    expect(page.locator("#labelling-notice")).to_contain_text("You opened this conversation")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    picture(page, "chat-labelling-360")
    assert not scrolls_sideways(page)
    page.get_by_role("button", name="Close it to labelling").click()
    expect(page.locator("#labelling-notice")).not_to_be_visible()
    assert items_of(agora, person) == 0


def test_an_agents_setting_is_told_before_the_first_word(opens: Opens, administrator: Person, person: Person) -> None:
    page = opens(administrator).new_page()
    page.goto("/agents/new/")
    name = f"Open Book {uuid4().hex[:6]}"
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Open new conversations to labelling").check()
    page.get_by_role("button", name="Make the agent").click()
    expect(page.locator("main")).to_contain_text(name)

    page = opens(person).new_page()
    page.goto("/chat/")
    expect(page.locator("#labelling-notice")).not_to_be_visible()
    page.locator(".agent-card", has_text=name).click()
    expect(page.locator("#labelling-notice")).to_contain_text(f"Conversations with {name} are open to labelling")
    page.get_by_label("Message", exact=True).fill("Good morning.")
    page.keyboard.press("Enter")
    expect(page.locator("#labelling-notice")).to_contain_text("labellers may read this one")
    page.get_by_role("button", name="Close it to labelling").click()
    expect(page.locator("#labelling-notice")).not_to_be_visible()
