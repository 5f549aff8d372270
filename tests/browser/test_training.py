"""From labels to a run that is watched, in a real browser: asked for by a button, told live, reported at the end."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocket, expect

from tests.browser.chat_screen import scrolls_sideways
from tests.browser.conftest import NARROW, WIDE, Opens, Person
from tests.browser.test_pages import faults
from tests.flows.running_agora import LIGHT, RunningAgora

pytestmark = pytest.mark.browser
PATIENCE_MS = 180_000
DRIFT = "/training/adapters/"


def test_labels_are_trained_on_watched_live_and_reported(
    agora: RunningAgora, opens: Opens, administrator: Person, person: Person, picture: Callable[[Page, str], None]
) -> None:
    with agora.database() as connection:
        connection.execute("DELETE FROM training_label")  # what earlier tests judged
    page = opens(administrator).new_page()
    page.goto("/training/")
    expect(page.get_by_role("heading", name="Training runs")).to_be_visible()
    expect(page.locator(".notice.warning")).to_contain_text("more judgements")
    picture(page, "training-empty")
    assert agora.python("tests.flows.make_judged", person.email, **LIGHT)["labels"] == 80
    page.reload()
    expect(page.locator(".readiness")).to_contain_text("80 judgements, enough (40)")
    expect(page.locator(".notice.warning")).to_have_count(0)
    frames: list[str] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: frames.append(str(frame)))

    page.on("websocket", listen)
    page.get_by_text("Settings of the run").click()
    page.get_by_label("Seed").fill("5")
    page.get_by_role("button", name="Train now").click()
    expect(page).to_have_url(re.compile("/training/runs/"))
    expect(page.locator("#state")).to_have_text("done", timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="Champion and challenger")).to_be_visible()
    stages = {found[1] for frame in frames if (found := re.search(r'"stage": "(\w+)"', frame))}
    assert {"train", "report"} <= stages, stages
    expect(page.locator(".verdict")).to_contain_text("challenger")
    for name in ("loss", "left_out"):
        expect(page.locator(f"#figure-{name} .plot .point").first).to_be_visible()
        expect(page.locator(f"#figure-{name} table")).to_contain_text("chats with an assistant")
    expect(page.locator("table.figures").first).to_contain_text("pairs in the right order")
    expect(page.locator("body")).to_contain_text("seed 5")
    address = page.url
    wrong: list[str] = []
    for scheme in ("light", "dark"):
        looking = opens(administrator, color_scheme=scheme).new_page()
        for name, path in (("training-runs", "/training/"), ("training-run", address), ("drift", DRIFT)):
            for width, window in (("wide", WIDE), ("narrow", NARROW)):
                looking.set_viewport_size(window)  # type: ignore[arg-type]
                looking.goto(path)
                expect(looking.locator("h1")).to_be_visible()
                for card in looking.locator("[data-figure]").all():
                    expect(card).to_have_attribute("data-shown", re.compile("[0-9]"))
                looking.locator("[data-figure], h1").last.scroll_into_view_if_needed()
                picture(looking, f"{name}-{scheme}-{width}")
                if scrolls_sideways(looking):
                    wrong.append(f"{name} at {window['width']} px scrolls sideways")
                wrong += [f"{name}, {scheme}, {width}: {fault}" for fault in faults(looking, scheme)]
    assert not wrong, "\n".join(wrong)
