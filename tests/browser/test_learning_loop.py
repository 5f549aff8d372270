"""The whole loop in a real browser: label, train, watch, promote, see a bank ranked anew, roll back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opens, Person
from tests.browser.test_bank_page import open_bank
from tests.browser.test_promoting import order
from tests.flows.running_agora import RunningAgora
from tests.training.services.judged import said_in

pytestmark = pytest.mark.browser
PATIENCE_MS = 180_000  # workers on a busy machine
CONVERSATIONS = 20


@pytest.fixture
def trip(tmp_path: Path) -> Path:
    """Twenty short conversations about trips, as a file to import."""
    lines: list[str] = []
    for number in range(CONVERSATIONS):
        lines.append(json.dumps({"conversation": {"id": f"trip-{number}", "title": f"Trip {number}"}}))
        lines += [json.dumps({"observation": text}) for text in said_in(number)]
    file = tmp_path / "trips.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def learned_here(agora: RunningAgora) -> Iterator[None]:
    """The test begins without what earlier ones judged, and whatever it leaves serving ends with it."""
    with agora.database() as connection:
        connection.execute("DELETE FROM training_label")
    yield
    with agora.database() as connection:
        connection.execute("UPDATE memory_adapterversion SET serves = false")
        connection.execute("UPDATE memory_bank SET adapter = '' WHERE adapter LIKE 'shared-%'")
        for name in ("bankstep", "shadowscore", "promotion", "trainingrun", "snapshot", "rules"):
            connection.execute(f"DELETE FROM training_{name}")


def bring_in(agora: RunningAgora, person: Person, file: Path) -> str:
    """Import a file into a person's bank of Scribe; returns the agent's id."""
    done = agora.manage("import_conversation", str(file), "--user", person.email, "--agent", "Scribe", timeout_s=400)
    assert done.returncode == 0, done.stderr
    agents = person.visitor.get("/api/agents/")["agents"]
    return str(next(agent["id"] for agent in agents if agent["name"] == "Scribe"))


def hotels_ahead(texts: list[str]) -> int:
    """How many of the first texts name what the labels found worth keeping."""
    return sum("hotel" in text for text in texts[:CONVERSATIONS])


def test_labels_train_an_adapter_that_is_promoted_ranks_a_bank_anew_and_is_rolled_back(
    agora: RunningAgora, opens: Opens, people: Iterator[Person], person: Person, administrator: Person, trip: Path,
    learned_here: None, picture: Callable[[Page, str], None],
) -> None:  # fmt: skip
    other = next(people)
    agent = bring_in(agora, person, trip)
    bring_in(agora, other, trip)
    before = order(other, agent)

    mine = opens(person).new_page()
    mine.goto(f"/memories/?agent={agent}")
    row = mine.locator("li.memory-row", has_text="Aurora 7").first
    row.get_by_role("button", name="Useful", exact=True).click()
    expect(row.get_by_role("button", name="Useful", exact=True)).to_have_attribute("aria-pressed", "true")
    labels = agora.python("tests.flows.judge_bank", person.email)
    assert labels == 4 * CONVERSATIONS

    page = opens(administrator).new_page()
    page.goto("/training/")
    expect(page.locator(".readiness")).to_contain_text(re.compile(r"\b([89]\d|\d{3,}) judgements, enough \(40\)"))
    page.get_by_role("button", name="Train now").click()
    expect(page.locator("#state")).to_have_text("done", timeout=PATIENCE_MS)
    expect(page.locator(".verdict")).to_contain_text("challenger")
    picture(page, "loop-run")

    page.goto("/training/adapters/")
    version = page.locator('.version[data-version^="shared-"]').first
    name = str(version.get_attribute("data-version"))
    version.get_by_role("button", name="Promote").click()
    dialog = page.locator("#promote-dialog")
    expect(dialog).to_contain_text("It passed")
    dialog.get_by_role("button", name="Promote").click()
    expect(page.locator(".change").first).to_contain_text(re.compile(r"(\d+) of \1 banks follow"), timeout=PATIENCE_MS)
    after = order(other, agent)
    assert after != before
    assert sum("hotel" in text for text in after[:CONVERSATIONS]) > sum(
        "hotel" in text for text in before[:CONVERSATIONS]
    )
    bank = opens(other).new_page()
    open_bank(bank, agent)
    expect(bank.locator("#served-by")).to_contain_text(name)
    picture(bank, "loop-bank")

    page.locator(".change").first.get_by_role("button", name="Roll back").click()
    page.locator("#back-dialog").get_by_role("button", name="Roll back").click()
    expect(page.locator(".change").first).to_contain_text(
        re.compile(r"(\d+) of \1 banks are back"), timeout=PATIENCE_MS
    )
    assert order(other, agent) == before
    bank.reload()
    expect(bank.locator("#served-by")).to_contain_text(re.compile("found by shipped-.* before that by " + name, re.S))
