"""One conversation's memory over time in a real browser: light, dark, 360 px, by keyboard, and while a chat runs."""

from __future__ import annotations

import io
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from memory.figure_rows import read_csv
from memory.life import SpanRow
from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_bank_page import open_bank
from tests.browser.test_pages import faults
from tests.conftest import DATA
from tests.flows.running_agora import RunningAgora

pytestmark = [pytest.mark.browser, pytest.mark.data]
FIGURES = ("importance", "calibration", "budget", "evictions", "weights", "moment")
SESSIONS, BUDGET = 6, 60
ASKED = ["Which pet does Nate have?", "What did Joanna write a screenplay about?", "What is Joanna allergic to?"]


def picture_of(page: Page, name: str) -> None:
    """The whole page, in the folder AGORA_SCREENSHOTS, where that is set."""
    if folder := os.environ.get("AGORA_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True, animations="disabled")


@pytest.fixture(scope="module")
def few_sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first sessions of a long conversation of two people."""
    samples = json.loads((DATA / "locomo" / "locomo_dev.json").read_text())
    sample = next(one for one in samples if one["sample_id"] == "conv-42")
    talk = sample["conversation"]
    kept = {name: value for name, value in talk.items() if is_kept(name)}
    path = tmp_path_factory.mktemp("talk") / "few.json"
    path.write_text(json.dumps([{"sample_id": "conv-42", "conversation": kept, "qa": []}]))
    return path


def is_kept(name: str) -> bool:
    session = re.match(r"session_(\d+)", name)
    return session is None or int(session[1]) <= SESSIONS


def import_for(agora: RunningAgora, person: Person, page: Page, file: Path) -> str:
    """The conversation, imported into a bank that is too small for it and then asked about; returns its id."""
    person.visitor.begin("Scribe")
    agent = next(one["id"] for one in person.visitor.get("/api/agents/")["agents"] if one["name"] == "Scribe")
    open_bank(page, str(agent))
    page.get_by_label("Memories, at most").fill(str(BUDGET))
    page.keyboard.press("Enter")
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page.locator(".notices")).to_contain_text("The settings hold")
    done = agora.manage("import_conversation", str(file), "--user", person.email, "--agent", "Scribe")
    assert done.returncode == 0, done.stderr
    conversation = re.search(r"conversation ([0-9a-f-]{36})", done.stdout)
    assert conversation, done.stdout
    for asked in ASKED:
        person.visitor.say(conversation[1], asked)
    return conversation[1]


FIGURES_MS = 120_000  # a busy machine draws ten figures of a long life one after the other


def shown(page: Page, *names: str) -> None:
    """Wait until these figures are drawn, or say why they are empty."""
    for name in names or FIGURES:
        card = page.locator(f"#figure-{name}")
        card.scroll_into_view_if_needed()
        there = card.locator(".plot .main-svg").first.or_(card.locator(".figure-empty:not([hidden])"))
        expect(there).to_be_visible(timeout=FIGURES_MS)
        expect(card.locator('.plot[aria-busy="true"]')).to_have_count(0, timeout=FIGURES_MS)


def drawn(page: Page, name: str) -> Any:
    """What Plotly draws: name, x and y (or z) of each trace."""
    return page.evaluate(
        """(name) => document.querySelector(`#figure-${name} .plot`).data.map(
             (one) => ({name: one.name, type: one.type, x: one.x, y: one.y, z: one.z}))""",
        name,
    )


def cells(page: Page, name: str, column: str) -> list[str]:
    table = page.locator(f"#figure-{name} table")
    at = table.locator("th").all_inner_texts().index(column)
    return [row.locator("td").nth(at).inner_text() for row in table.locator("tbody tr").all()]


def test_a_person_sees_what_stayed_what_left_and_what_was_recalled(
    agora: RunningAgora, opens: Opens, person: Person, few_sessions: Path
) -> None:
    page = opens(person).new_page()
    conversation = import_for(agora, person, page, few_sessions)
    page.goto(f"/chat/{conversation}/")
    page.get_by_role("link", name="Memory over time").click()
    expect(page).to_have_url(re.compile(f"/memories/conversations/{conversation}/life/"))
    shown(page)
    expect(page.locator("#figure-calibration .figure-empty")).to_contain_text("was judged yet")
    for name in set(FIGURES) - {"calibration"}:
        expect(page.locator(f"#figure-{name} figcaption")).to_contain_text(re.compile(r"\w+.*\."))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.reload()
            shown(page)
            picture_of(page, f"life-{scheme}-{width}")
            assert not scrolls_sideways(page)
            assert faults(page, scheme) == []
    ink = page.evaluate("() => document.querySelector('#figure-budget .plot').layout.font.color")
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        "(ink) => document.querySelector('#figure-budget .plot').layout.font.color !== ink", arg=ink
    )  # it is painted anew, not asked for anew
    table, plot = (page.locator(f"#figure-evictions {part}").bounding_box() for part in (".figure-table", ".plot"))
    assert table is not None
    assert plot is not None
    assert table["y"] < plot["y"], "on a small screen the table comes first"


PLACE = """(name) => {
  const plot = document.querySelector(`#figure-${name} .plot`), { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect(), one = plot.data[0];
  return [box.left + xaxis._offset + xaxis.d2p(one.x[0]), box.top + yaxis._offset + yaxis.d2p(one.y[0])];
}"""


def test_a_mark_leads_to_its_memory_and_a_row_to_its_recall(page: Page, person: Person) -> None:
    conversation = short_life(person)
    page.goto(f"/memories/conversations/{conversation}/life/")
    shown(page)
    page.locator("#figure-weights table tbody a").first.click()
    expect(page).to_have_url(re.compile(r"/memories/recalls/[0-9a-f-]{36}/"))
    page.go_back()
    shown(page)
    page.locator("#figure-importance .plot").scroll_into_view_if_needed()
    x, y = page.evaluate(PLACE, "importance")
    page.mouse.move(x, y)
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile(r"/memories/[0-9a-f-]{36}/"))


# When each card had its figure, in seconds since the page was asked for; and which of them the first screen shows.
NOTE = """() => {
  window.shownAt = {};
  new MutationObserver(() => {
    for (const card of document.querySelectorAll("[data-figure][data-shown]")) {
      window.shownAt[card.dataset.name] ??= performance.now() / 1000;
    }
  }).observe(document, { subtree: true, childList: true, attributeFilter: ["data-shown"] });
}"""
SEEN = """() => [...document.querySelectorAll("[data-figure]")]
  .filter((card) => card.getBoundingClientRect().top < window.innerHeight).map((card) => card.dataset.name)"""


def test_ten_thousand_turns_open_fast_and_a_range_is_exact(opens: Opens, long_life: tuple[Person, str]) -> None:
    person, conversation = long_life
    page = opens(person).new_page()
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(len(answer.body())) if "/life/" in answer.url else None)
    page.add_init_script(f"({NOTE})()")
    page.goto("/memories/")  # the browser has the site's own files
    for note in ("first", "again"):
        began = time.monotonic()
        page.goto(f"/memories/conversations/{conversation}/life/")
        for name in FIGURES:
            expect(page.locator(f"#figure-{name}[data-shown]")).to_have_count(1)
        took, shown_at = time.monotonic() - began, page.evaluate("() => window.shownAt")
        first = max(shown_at[name] for name in page.evaluate(SEEN))
        print(f"\n10,000 turns, {note}: {first:.2f} s the first screen, {took:.2f} s all, {sum(sizes):,} bytes")
        assert sum(sizes) < 1_000_000
        sizes.clear()
    shown(page)
    picture_of(page, "life-10000-light-wide")
    page.emulate_media(color_scheme="dark")
    picture_of(page, "life-10000-dark-wide")
    page.emulate_media(color_scheme="light")

    page.get_by_label("From turn").fill("5000")
    page.get_by_label("to turn").fill("5060")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"from=5000&to=5060"))
    expect(page.locator("#figure-importance .pager")).to_contain_text("122 rows", timeout=FIGURES_MS)
    shown(page)
    points = [turn for one in drawn(page, "importance") for turn in one["x"]]
    assert len(points) == 122
    assert set(points) == set(range(5000, 5061))
    assert [one["name"] for one in drawn(page, "weights") if one["type"] == "heatmap"][-1] == "recalled"
    picture_of(page, "life-10000-zoomed")
    page.go_back()
    expect(page.locator("#figure-importance .pager")).to_contain_text("20,000 rows")


def short_life(person: Person) -> str:
    """A conversation of four turns, in a bank that holds all of it."""
    conversation = person.visitor.begin("Scribe")
    for said in ("Vera bakes walnut bread.", "The harbour opens at nine.", "Rent is 900 euros.", "Who bakes bread?"):
        person.visitor.say(conversation, said)
    return str(conversation)


def test_controls_work_by_keyboard_and_rows_can_be_taken_along(page: Page, person: Person) -> None:
    conversation = short_life(person)
    page.goto(f"/memories/conversations/{conversation}/life/")
    shown(page)
    moment = page.locator("#figure-moment figcaption")
    expect(moment).to_contain_text("After turn 4")
    page.get_by_role("slider", name="After turn").focus()
    page.keyboard.press("Home")
    expect(moment).to_contain_text("After turn 0 the bank held 0 memories")
    expect(page).to_have_url(re.compile(r"\bat=0\b"))
    page.keyboard.press("End")
    page.get_by_label("beside turn").fill("2")
    expect(moment).to_contain_text(re.compile(r"Compared with turn 2, \d came and 0 left"))
    page.get_by_label("Memories in order of").select_option("mass")
    expect(page).to_have_url(re.compile("order=mass"))
    toggle = page.locator("#figure-budget").get_by_role("button", name="Table")
    toggle.press("Enter")
    expect(page.locator("#table-budget")).to_be_hidden()
    expect(toggle).to_have_attribute("aria-expanded", "false")

    with page.expect_download() as taken:
        page.locator("#figure-evictions").get_by_role("link", name="rows as CSV").click()
    text = Path(taken.value.path()).read_bytes().decode()
    rows = list(read_csv(SpanRow, io.StringIO(text, newline="")))
    assert str(len(rows)) == page.locator("#figure-evictions .pager").inner_text().split()[0]
    bars = [one for one in drawn(page, "evictions") if one["type"] == "bar"]
    assert sum(len(one["y"]) for one in bars) == len(rows)
    with page.expect_download() as taken:
        page.locator("#figure-importance").get_by_role("button", name="picture as PNG").click()
    assert Path(taken.value.path()).read_bytes().startswith(b"\x89PNG")
    assert taken.value.suggested_filename == "importance.png"
    assert cells(page, "importance", "Turn")[0] == "1"


def test_what_is_seen_is_asked_for_first(page: Page, person: Person) -> None:
    conversation = short_life(person)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.split("/life/")[1].split("/")[0])
            if f"/api/conversations/{conversation}/life/" in one.url else None)  # fmt: skip
    page.goto(f"/memories/conversations/{conversation}/life/")
    shown(page)
    assert asked[0] == "importance"
    assert sorted(asked) == sorted(FIGURES)
    page.locator("#figure-moment").scroll_into_view_if_needed()
    asked.clear()
    person.visitor.say(conversation, "My bicycle has a green bell.")
    expect(page.locator("#figure-moment figcaption")).to_contain_text("After turn 5")
    expect(page.locator("#followed")).to_contain_text("Turn 5 is in the figures now")
    assert "moment" in asked[:2], "the last figure, and perhaps the one above it, is what is seen"
    assert asked[-1] == "importance"
    assert set(asked) == set(FIGURES), "each, and twice where the turn went on while they were fetched"


def test_an_open_page_follows_the_chat_and_equals_one_that_is_opened_then(page: Page, person: Person) -> None:
    conversation = short_life(person)
    page.goto(f"/memories/conversations/{conversation}/life/")
    shown(page)
    expect(page.locator("#turn-count")).to_have_text("4 turns")
    person.visitor.say(conversation, "My bicycle has a green bell.")
    expect(page.locator("#turn-count")).to_have_text("5 turns")
    expect(page.locator("#figure-moment figcaption")).to_contain_text("After turn 5")
    expect(page.locator("#figure-importance")).to_contain_text("green bell")
    shown(page)
    names = [name for name in FIGURES if name != "calibration"]
    followed = {name: (drawn(page, name), page.locator(f"#table-{name}").inner_text()) for name in names}
    page.reload()
    shown(page)
    assert followed == {name: (drawn(page, name), page.locator(f"#table-{name}").inner_text()) for name in names}
