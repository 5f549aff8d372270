"""The operators' pages in a real browser: a schedule is changed, run, undone; rules are set; a job is cancelled."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person, Watched
from tests.browser.test_pages import faults

pytestmark = pytest.mark.browser
PAGE = "/training/schedule/"


def task(page: Page, title: str):  # type: ignore[no-untyped-def]
    return page.locator("li.task").filter(has=page.get_by_role("heading", name=title))


def test_an_operator_changes_a_schedule_by_keyboard_and_it_survives(
    opens: Opens, administrator: Person, watched: Watched
) -> None:
    watched.allowed.append("status of 400")  # a refused form answers so
    page = opens(administrator).new_page()
    page.goto(PAGE)
    expect(task(page, "Caretaking")).to_contain_text("Every 10 seconds")
    expect(task(page, "Caretaking").locator("time").first).to_have_text(re.compile("now|second"))
    title = "Outdated memories"
    task(page, title).get_by_role("link", name=title, exact=True).focus()
    page.keyboard.press("Enter")
    when = page.get_by_label("When", exact=True)
    when.fill("61 3 * * *")
    when.press("Enter")
    expect(page.locator("main")).to_contain_text("“61” does not name minutes (0 to 59).")
    expect(when).to_have_attribute("aria-invalid", "true")
    when.fill("30 3 * * mon")
    when.press("Enter")
    expect(page.locator(".notice")).to_contain_text(f"“{title}” is saved.")
    expect(task(page, title)).to_contain_text("At 03:30, only on Monday")
    page.reload()
    expect(task(page, title)).to_contain_text("At 03:30, only on Monday")


def test_a_task_is_switched_off_and_on(opens: Opens, administrator: Person) -> None:
    page = opens(administrator).new_page()
    page.goto(PAGE)
    row = task(page, "Outdated memories")
    switch = row.get_by_role("switch")
    expect(switch).to_be_checked()
    switch.click()
    expect(row).to_contain_text("not while it is off")
    expect(switch).not_to_be_checked()
    switch.click()
    expect(switch).to_be_checked()


def test_run_now_of_what_moves_memories_is_undone_and_the_job_page_says_so(opens: Opens, administrator: Person) -> None:
    page = opens(administrator).new_page()
    page.goto(PAGE)
    row = task(page, "Summaries")
    row.get_by_role("button", name="Run Summaries now").click()
    expect(page.locator(".notice")).to_contain_text("until then it can be undone")
    row.get_by_role("button", name=re.compile("^Undo")).click()
    expect(page.locator(".notice")).to_contain_text("It does not run.")
    page.goto("/jobs/?state=cancelled")
    expect(page.locator("tbody tr").filter(has_text="memory.summaries").first).to_contain_text("cancelled")


def test_run_now_is_done_by_a_worker(opens: Opens, administrator: Person) -> None:
    page = opens(administrator).new_page()
    page.goto(PAGE)
    task(page, "Caretaking").get_by_role("button", name="Run Caretaking now").click()
    expect(page.locator(".notice")).to_contain_text("handed to the workers")
    page.goto("/jobs/?kind=schedule.run&state=done")
    for _ in range(20):
        if page.locator("tbody tr").filter(has_text="memory.sweep").count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    expect(page.locator("tbody tr").filter(has_text="memory.sweep").first).to_contain_text("done")


def test_rules_are_set_and_refused_with_a_sentence(opens: Opens, administrator: Person, watched: Watched) -> None:
    watched.allowed.append("status of 400")
    page = opens(administrator).new_page()
    page.goto(PAGE)
    page.get_by_role("navigation", name="Training").get_by_role("link", name="Rules").click()
    page.get_by_label("Anything, at random").fill("0.9")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("The three shares make 1.60; they must make 1.")
    page.get_by_label("Anything, at random").fill("0.3")
    page.get_by_label("Train after so many new labels").fill("150")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("The rules hold.")
    expect(page.get_by_label("Train after so many new labels")).to_have_value("150")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_operators_pages_stand_in_a_wide_and_a_narrow_window_and_axe_finds_nothing(
    opens: Opens, administrator: Person, scheme: str, picture: Callable[[Page, str], None]
) -> None:
    page = opens(administrator, color_scheme=scheme).new_page()
    wrong: list[str] = []
    places = {
        "schedule": PAGE, "times": f"{PAGE}times/?task=memory.check", "rules": f"{PAGE}rules/", "jobs": "/jobs/",
        "jobs-none": "/jobs/?state=running&kind=none",
    }  # fmt: skip
    for name, place in places.items():
        for width, window in (("wide", WIDE), ("360", NARROW)):
            page.set_viewport_size(window)  # type: ignore[arg-type]
            page.goto(place)
            picture(page, f"{name}-{scheme}-{width}")
            page.evaluate("() => window.scrollTo(0, document.body.scrollHeight)")
            picture(page, f"{name}-{scheme}-{width}-end")
            if scrolls_sideways(page):
                wrong.append(f"{name} at {window['width']} px scrolls sideways")
            wrong += [f"{name}, {scheme}, {width}: {fault}" for fault in faults(page, scheme)]
    assert not wrong, "\n".join(wrong)
