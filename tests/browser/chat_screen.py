"""The chat page as a person uses it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class ChatScreen:
    """One tab that shows the chat."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.field = page.locator("#composer")
        self.turns = page.locator("#turns > article.turn")
        self.last = self.turns.last
        self.reply = self.last.locator(".action > .markdown")
        self.stop_button = page.get_by_role("button", name="Stop the reply")

    def open(self, conversation: str = "") -> None:
        """Go to a conversation, or to the start of a new one."""
        self.page.goto(f"/chat/{conversation}/" if conversation else "/chat/")
        if conversation:
            expect(self.page.locator("#thread-head")).to_be_visible()

    def begin(self, agent: str) -> None:
        """Go to a new conversation and choose whom to talk to."""
        self.open()
        self.page.locator(".agent-card", has_text=agent).locator(".agent-name").click()
        expect(self.page.locator(".agent-card", has_text=agent).locator("input")).to_be_checked()

    def write(self, text: str) -> None:
        """Send a message and wait until the server has it."""
        before = self.turns.count()
        self.field.fill(text)
        self.page.get_by_role("button", name="Send", exact=True).click()
        expect(self.turns).to_have_count(before + 1)
        expect(self.last).to_have_attribute("data-turn", UUID)

    def say(self, text: str) -> None:
        """Send a message and wait for the whole reply."""
        self.write(text)
        self.wait_for("done")

    def wait_for(self, state: str) -> None:
        expect(self.last).to_have_attribute("data-state", state)

    def used(self, turn: Locator | None = None) -> Locator:
        """The button that says how many memories a reply used."""
        return (turn or self.last).locator(".strip-button.used-memories")

    def remembered(self, turn: Locator | None = None) -> Locator:
        """The button that says how many it remembered."""
        return (turn or self.last).locator(".strip-button.remembered")

    def rows(self, turn: Locator | None = None) -> Locator:
        """The memory rows that are open under a reply."""
        return (turn or self.last).locator(".memory-row:visible")

    @property
    def conversation(self) -> str:
        return self.page.url.split("/chat/")[1].strip("/").split("/")[0]


def scrolls_sideways(page: Page) -> bool:
    """Whether the page, or the thread in it, is wider than the window."""
    return bool(
        page.evaluate(
            "() => [document.documentElement, document.body, document.getElementById('thread')]"
            ".some((one) => one && one.scrollWidth > one.clientWidth + 1)"
        )
    )


def spoken_once(whole: str, text: str) -> bool:
    """Whether a reply is exactly this text, whatever the white space."""
    return " ".join(whole.split()) == " ".join(text.split())
