"""Promotion in a real browser: a stored challenger serves, a bank's order changes, and a roll-back restores it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_bank_page import fill_a_bank, open_bank
from tests.browser.test_pages import faults
from tests.flows.running_agora import RunningAgora

pytestmark = pytest.mark.browser
PATIENCE_MS = 180_000  # fifty banks of other tests go first, on a busy machine


@pytest.fixture
def challenger(agora: RunningAgora) -> Iterator[str]:
    """A challenger that is better by its run; whatever a test left serving ends with it."""
    yield agora.python("tests.flows.store_challenger", "run-0042")
    with agora.database() as connection:
        connection.execute("UPDATE memory_adapterversion SET serves = false")
        connection.execute("UPDATE memory_bank SET adapter = '' WHERE adapter = 'run-0042' OR adapter LIKE 'own-%'")
        connection.execute("UPDATE memory_adapterversion SET parent_id = NULL WHERE parent_id = 'run-0042'")
        for name in ("bankstep", "shadowscore", "promotion", "trainingrun"):
            connection.execute(f"DELETE FROM training_{name}")
        connection.execute("DELETE FROM memory_adapterversion WHERE version = 'run-0042'")


def order(person: Person, agent: str) -> list[str]:
    """The texts in a bank, the most important first."""
    rows = person.visitor.get(f"/api/memories/?agent={agent}")["memories"]
    return [row["text"] for row in sorted(rows, key=lambda row: -row["importance"])]


def test_an_operator_promotes_a_challenger_a_bank_is_ranked_anew_and_rolled_back(
    opens: Opens, person: Person, administrator: Person, challenger: str, picture: Callable[[Page, str], None]
) -> None:
    agent = fill_a_bank(person)
    before = order(person, agent)
    page = opens(administrator).new_page()
    page.goto("/training/adapters/")
    picture(page, "adapters-before")
    version = page.locator(f'.version[data-version="{challenger}"]')
    expect(version).to_contain_text("2026-01-02")
    version.get_by_role("button", name="Promote").click()
    dialog = page.locator("#promote-dialog")
    expect(dialog).to_contain_text("It passed")
    picture(page, "adapters-dialog")
    dialog.get_by_role("button", name="Promote").click()
    expect(page.locator(".notices")).to_contain_text("serves from now on")
    promoted = page.locator(".change").first
    expect(promoted).not_to_have_attribute("data-going", "", timeout=PATIENCE_MS)
    expect(promoted).to_contain_text(re.compile(r"(\d+) of \1 banks follow"), timeout=PATIENCE_MS)
    expect(version.locator(".tag.good")).to_have_text("serves")
    promoted.get_by_text("By bank").click()
    picture(page, "adapters-promoted")

    after = order(person, agent)
    assert after != before
    assert after.index(before[0]) > after.index(before[-1]), "what mattered most matters least"
    bank = opens(person).new_page()
    open_bank(bank, agent)
    expect(bank.locator("#served-by")).to_contain_text("run-0042")
    picture(bank, "bank-re-ranked")

    promoted.get_by_role("button", name="Roll back").click()
    page.locator("#back-dialog").get_by_role("button", name="Roll back").click()
    newest = page.locator(".change").first
    expect(newest).to_contain_text(re.compile(r"(\d+) of \1 banks are back"), timeout=PATIENCE_MS)
    assert order(person, agent) == before
    bank.reload()
    expect(bank.locator("#served-by")).to_contain_text("Judged and found by shipped-2")
    page.get_by_role("button", name="Undo the roll-back").click()
    expect(newest).to_contain_text(re.compile(r"(\d+) of \1 banks follow"), timeout=PATIENCE_MS)
    assert order(person, agent) == after


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_registry_stands_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    opens: Opens, administrator: Person, challenger: str, agora: RunningAgora, scheme: str,
    picture: Callable[[Page, str], None],
) -> None:  # fmt: skip
    page = opens(administrator, color_scheme=scheme).new_page()
    wrong: list[str] = []

    def check(name: str) -> None:
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.evaluate("() => window.scrollTo(0, 0)")
            picture(page, f"adapters-{name}-{scheme}-{width}")
            if scrolls_sideways(page):
                wrong.append(f"{name} at {window['width']} px scrolls sideways")
            wrong.extend(f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme))

    page.goto("/training/adapters/")
    check("quiet")
    page.locator('.version[data-version="prior-2"]').get_by_role("button", name="Promote").click()
    expect(page.locator("#promote-dialog")).to_contain_text("No run has compared it with what serves now.")
    check("dialog")
    page.locator("#promote-dialog").get_by_role("button", name="Leave it").click()
    page.locator(f'.version[data-version="{challenger}"]').get_by_role("button", name="Score silently").click()
    expect(page.locator("#shadow")).to_contain_text("run-0042 scores silently")
    check("shadow")
    assert not wrong, "\n".join(wrong)


def test_a_receipt_stands_where_a_person_finds_it(
    opens: Opens, person: Person, picture: Callable[[Page, str], None]
) -> None:
    page = opens(person).new_page()
    page.goto("/memories/erased/")
    expect(page.locator("main")).to_contain_text("Nothing was erased yet")
    agent = fill_a_bank(person)
    rows = person.visitor.get(f"/api/memories/?agent={agent}")["memories"]
    person.visitor.post(f"/api/memories/{rows[0]['id']}/erase/")
    page.goto("/memories/")
    page.get_by_role("link", name="What was erased").click()
    receipt = page.locator(".receipt")
    expect(receipt).to_contain_text("1 memory")
    expect(receipt).to_contain_text("from what Scribe keeps of you")
    for _second in range(30):
        page.reload()
        if "No adapter had learned from it." in receipt.inner_text():
            break
        page.wait_for_timeout(1000)
    expect(receipt).to_contain_text("No adapter had learned from it.")
    assert rows[0]["text"] not in page.content()
    picture(page, "receipts")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    assert not scrolls_sideways(page)
    assert not faults(page, "light")
