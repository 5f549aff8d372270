"""Talking in a real browser: what is recalled and shown, what survives a reload, what a person can do to a turn."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat_screen import ChatScreen, spoken_once
from tests.browser.conftest import Opens, Person
from tests.browser.test_pages import faults
from tests.scripted_llm import Script, ScriptedLlm

pytestmark = pytest.mark.browser
WORDS = " ".join(f"word{number}" for number in range(60))
SLOW = Script(text=WORDS, delay_s=0.1)
FACTS = (
    "My sister Ana is allergic to walnuts.",
    "We want to hike in the Serra da Estrela in June.",
    "The dentist moved my appointment to the ninth.",
)


@pytest.fixture
def screen(page: Page) -> ChatScreen:
    return ChatScreen(page)


def test_a_fact_told_in_one_conversation_is_recalled_in_the_next_with_its_source_and_weight(
    screen: ChatScreen, picture: Callable[[Page, str], None]
) -> None:
    screen.begin("Scribe")
    for fact in FACTS:
        screen.say(fact)
    expect(screen.remembered(screen.turns.first)).to_be_visible()
    told_in = screen.conversation
    source = screen.turns.first.get_attribute("data-turn")

    screen.begin("Scribe")
    screen.say("What is my sister Ana allergic to?")
    assert screen.conversation != told_in
    expect(screen.reply).to_contain_text("walnuts")
    expect(screen.used()).to_contain_text(re.compile(r"Used \d+ (of \d+ recalled )?memor"))
    screen.used().click()
    row = screen.rows().filter(has_text="allergic to walnuts")
    expect(row.locator(".memory-weight .figure")).to_have_text(re.compile(r"^[\d.]+\s?%$"))
    expect(row.locator(".memory-source")).to_have_attribute("href", f"/chat/{told_in}/#turn-{source}")
    picture(screen.page, "recalled")

    screen.page.reload()
    expect(screen.used()).to_be_visible()
    screen.used().click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="Why?").click()
    expect(row.locator(".why-panel")).to_contain_text("Same words")
    expect(row.locator(".why-panel")).to_contain_text("Scored by adapter")
    picture(screen.page, "why")
    row.locator(".memory-source").click()
    expect(screen.page).to_have_url(re.compile(f"/chat/{told_in}/"))
    expect(screen.page.locator(f"#turn-{source}")).to_be_focused()


def test_a_reload_in_mid_stream_continues_and_ends_with_the_whole_text_once(
    screen: ChatScreen, scripted: ScriptedLlm
) -> None:
    scripted.queue(SLOW)
    screen.begin("SmolLM")
    screen.write("Count the words, please.")
    expect(screen.reply).to_contain_text("word5 ")
    screen.page.reload()
    expect(screen.reply).to_contain_text("word0 word1 word2 word3 word4 word5")
    assert screen.last.get_attribute("data-state") == "running"
    screen.wait_for("done")
    assert spoken_once(screen.reply.inner_text(), WORDS)
    screen.page.reload()
    screen.wait_for("done")
    assert spoken_once(screen.reply.inner_text(), WORDS)


def test_a_second_tab_follows_the_stream_and_its_own_message_waits(screen: ChatScreen, scripted: ScriptedLlm) -> None:
    scripted.queue(SLOW, Script(text="The second reply."))
    screen.begin("SmolLM")
    screen.write("First.")
    expect(screen.reply).to_contain_text("word2")
    other = ChatScreen(screen.page.context.new_page())
    other.open(screen.conversation)
    expect(other.reply).to_contain_text("word0 word1 word2")
    other.write("Second.")
    expect(other.last).to_have_attribute("data-state", "queued")
    expect(screen.turns).to_have_count(2)
    for tab in (screen, other):
        tab.wait_for("done")
        assert spoken_once(tab.turns.first.locator(".action > .markdown").inner_text(), WORDS)
        expect(tab.reply).to_have_text("The second reply.")


@pytest.mark.parametrize("way", ["button", "Escape"])
def test_stop_keeps_the_text_that_was_written(
    screen: ChatScreen, scripted: ScriptedLlm, way: str, picture: Callable[[Page, str], None]
) -> None:
    scripted.queue(Script(text=" ".join(f"word{number}" for number in range(600)), delay_s=0.1))
    screen.begin("SmolLM")
    screen.write("Never stop talking.")
    expect(screen.reply).to_contain_text("word5")
    if way == "button":
        picture(screen.page, "streaming")
        screen.stop_button.click()
    else:
        screen.page.keyboard.press("Escape")
    screen.wait_for("stopped")
    expect(screen.reply).to_contain_text("word0 word1 word2 word3 word4 word5")
    expect(screen.last.locator(".turn-notice")).to_contain_text("You stopped this reply")
    expect(screen.stop_button).to_be_hidden()
    kept = screen.reply.inner_text()
    screen.page.reload()
    screen.wait_for("stopped")
    assert spoken_once(screen.reply.inner_text(), kept)


def test_a_memory_is_pinned_and_forgotten_with_undo(screen: ChatScreen, person: Person) -> None:
    screen.begin("Scribe")
    screen.say(FACTS[0])
    screen.remembered().click()
    row = screen.rows().filter(has_text="allergic to walnuts").first
    row.get_by_role("button", name=re.compile("^Pin")).click()
    expect(row.locator(".memory-tags")).to_contain_text("Pinned")
    agent = next(one for one in person.visitor.get("/api/agents/")["agents"] if one["name"] == "Scribe")

    def held() -> list[str]:
        memories = person.visitor.get(f"/api/memories/?agent={agent['id']}&state=held&q=")["memories"]
        return [memory["text"] for memory in memories if memory["text"] == FACTS[0]]

    # The page shows what is done before the server has it.
    with screen.page.expect_response("**/forget/"):
        row.get_by_role("button", name="Forget").click()
        expect(row).to_have_attribute("data-state", "forgotten")
    assert held() == []
    with screen.page.expect_response("**/unforget/"):
        screen.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row).to_have_attribute("data-state", "held")
    assert held() == [FACTS[0]]
    row.get_by_role("button", name="Forget").click()
    with screen.page.expect_response("**/unforget/"):
        row.get_by_role("button", name="Undo").click()  # at once: it must not overtake
    expect(row).to_have_attribute("data-state", "held")
    assert held() == [FACTS[0]]
    screen.page.reload()
    screen.remembered().click()
    expect(screen.rows().filter(has_text="allergic to walnuts").first).to_have_attribute("data-state", "held")


def test_a_failed_model_says_what_happened_and_try_again_works(
    screen: ChatScreen, scripted: ScriptedLlm, picture: Callable[[Page, str], None]
) -> None:
    scripted.queue(Script("broken", text=WORDS, after=8), Script(text="Here I am."))
    screen.begin("SmolLM")
    screen.write("Are you there?")
    screen.wait_for("failed")
    expect(screen.reply).to_contain_text("word3")
    notice = screen.last.locator(".turn-notice")
    expect(notice).to_contain_text(re.compile(r"\w+.*\."))
    picture(screen.page, "failed")
    notice.get_by_role("button", name="Try again").click()
    screen.wait_for("done")
    expect(screen.reply).to_have_text("Here I am.")
    expect(screen.turns).to_have_count(1)
    expect(screen.last.locator(".observation")).to_contain_text("Are you there?")


def test_a_refusal_names_the_cure_and_who_has_mended_it_can_try_again_or_edit(
    screen: ChatScreen, scripted: ScriptedLlm
) -> None:
    scripted.queue(
        Script("status", status=401), Script(text="Mended."), Script("status", status=401), Script(text="Now I am.")
    )
    screen.begin("SmolLM")
    screen.write("Are you there?")
    screen.wait_for("failed")
    expect(screen.last.locator(".turn-notice")).to_contain_text("AGORA_LLM_API_KEY")
    screen.last.get_by_role("button", name="Try again").click()
    screen.wait_for("done")
    expect(screen.reply).to_have_text("Mended.")
    screen.write("And now?")
    screen.wait_for("failed")
    screen.last.get_by_role("button", name="Edit and send again").click()
    screen.last.get_by_role("button", name="Send again").click()
    expect(screen.reply).to_have_text("Now I am.")


def test_an_edited_message_is_answered_anew_and_the_old_turn_leaves(screen: ChatScreen, scripted: ScriptedLlm) -> None:
    scripted.queue(Script(text="To Rome, then."), Script(text="To Porto, then."))
    screen.begin("SmolLM")
    screen.say("I travel to Rome.")
    expect(screen.reply).to_have_text("To Rome, then.")
    screen.last.hover()
    screen.last.get_by_role("button", name="Edit and send again").click()
    field = screen.last.get_by_role("textbox", name="Edit your message")
    expect(field).to_have_value("I travel to Rome.")
    field.fill("I travel to Porto.")
    screen.last.get_by_role("button", name="Send again").click()
    expect(screen.reply).to_have_text("To Porto, then.")
    screen.wait_for("done")
    expect(screen.turns).to_have_count(1)
    expect(screen.last.locator(".observation")).to_contain_text("edited, 1 earlier version")
    screen.page.reload()
    expect(screen.turns).to_have_count(1)
    expect(screen.last.locator(".observation")).to_contain_text("I travel to Porto.")


SCRIPTS = (
    "Η αδερφή μου η Άννα μένει στη Λισαβόνα",
    "Моя сестра Анна живёт в Лиссабоне",
    "أختي آنا تعيش في لشبونة",
    "אחותי אנה גרה בליסבון",
    "मेरी बहन अन्ना लिस्बन में रहती है",
    "我的妹妹安娜住在里斯本",
    "Family 👨‍👩‍👧‍👦 flag 🏴󠁧󠁢󠁳󠁣󠁴󠁿 skin 👩🏽‍🚀 e\u0301",
)


def test_every_script_is_shown_and_remembered_as_it_was_written(
    screen: ChatScreen, picture: Callable[[Page, str], None]
) -> None:
    screen.begin("Scribe")
    for text in SCRIPTS:
        screen.say(text)
        said = screen.last.locator(".observation > .markdown")
        expect(said).to_have_text(text)
        # asked until it holds: a node that the final frame replaced in between has no style
        expect(said).to_have_css("direction", "rtl" if re.search("[\u0590-\u06ff]", text) else "ltr")
        screen.remembered().click()
        expect(screen.rows().first.locator(".memory-text")).to_have_text(text)
    picture(screen.page, "scripts")


def test_code_is_highlighted_and_injected_script_is_inert(
    screen: ChatScreen, scripted: ScriptedLlm, picture: Callable[[Page, str], None]
) -> None:
    reply = (
        "Here:\n\n```python\ndef greet(name):\n    return f'hello {name}'\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "<script>window.hacked = 1</script> <img src=x onerror='window.hacked = 2'> "
        "[go](javascript:window.hacked=3) <svg onload='window.hacked=4'></svg>"
    )
    scripted.queue(Script(text=reply, delay_s=0.02))
    screen.begin("SmolLM")
    screen.say("Show me code <script>window.hacked = 5</script> <img src=x onerror='window.hacked=6'>")
    code = screen.reply.locator("pre code")
    expect(code).to_contain_text("def greet(name):")
    expect(code.locator("span[class]").first).to_be_visible()
    expect(screen.reply.locator("table td").first).to_have_text("1")
    expect(screen.reply).to_contain_text("<script>window.hacked = 1</script>")
    assert screen.turns.locator("script, img, svg[onload], a[href^='javascript']").count() == 0
    assert screen.page.evaluate("() => window.hacked") is None
    expect(screen.remembered()).to_be_visible()  # the turn is over: no frame replaces the code while it is looked at
    colours = code.evaluate("one => new Set([...one.querySelectorAll('*')].map(s => getComputedStyle(s).color)).size")
    assert colours > 1
    picture(screen.page, "markdown")


def test_the_keyboard_alone_sends_stops_and_opens_memories(screen: ChatScreen, scripted: ScriptedLlm) -> None:
    press = screen.page.keyboard.press
    scripted.queue(Script(text="Noted."), SLOW)
    screen.begin("SmolLM")
    press("/")
    if not screen.field.evaluate("field => field === document.activeElement"):
        screen.field.focus()
    screen.page.keyboard.type("My cat is called Miso.")
    press("Shift+Enter")
    screen.page.keyboard.type("She is old.")
    press("Enter")
    screen.wait_for("done")
    expect(screen.last.locator(".observation")).to_contain_text("She is old.")
    tab_to(screen.page, ".strip-button.remembered")
    press("Enter")
    expect(screen.rows().first).to_be_visible()
    tab_to(screen.page, ".memory-row .memory-actions button")
    press("/")
    expect(screen.field).to_be_focused()
    screen.page.keyboard.type("Go on.")
    press("Enter")
    expect(screen.reply).to_contain_text("word2")
    press("Escape")
    screen.wait_for("stopped")


def tab_to(page: Page, selector: str) -> None:
    """Press Tab, forwards or backwards, until something of that kind has the focus."""
    for key in ["Shift+Tab"] * 25 + ["Tab"] * 60:
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press(key)
    raise AssertionError(f"no way to {selector} by keyboard")


def test_conversations_are_listed_by_day_found_and_forgotten_with_undo(screen: ChatScreen) -> None:
    screen.begin("Scribe")
    screen.say("A word about gardening.")
    listed = screen.page.locator("#conversations li.line")
    expect(screen.page.locator("#conversations .list-head").first).to_have_text("Today")
    expect(listed).to_have_count(1)
    expect(listed.first).to_contain_text("A word about gardening.")
    screen.page.keyboard.press("Control+k")
    screen.page.keyboard.type("zebra")
    expect(screen.page.locator("#conversations")).to_contain_text("No conversation matches")
    screen.page.keyboard.press("Escape")
    expect(listed).to_have_count(1)
    listed.first.hover()
    listed.first.get_by_role("button", name=re.compile("^Forget conversation")).click()
    screen.page.get_by_role("dialog").get_by_role("button", name="Forget", exact=True).click()
    expect(listed).to_have_count(0)
    screen.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(listed).to_have_count(1)
    expect(screen.last.locator(".observation")).to_contain_text("A word about gardening.")


def test_a_long_conversation_opens_at_its_end_and_brings_earlier_turns(
    opens: Opens, long_life: tuple[Person, str], picture: Callable[[Page, str], None]
) -> None:
    person, conversation = long_life
    page = opens(person).new_page()
    with page.expect_request(re.compile(f"/api/conversations/{conversation}/life/budget/")):
        page.goto(f"/chat/{conversation}/")  # the page of its memory is begun while it is read
    turns = page.locator("#turns > article")
    expect(turns).to_have_count(60)
    expect(turns.last).to_be_in_viewport()
    expect(turns.last).to_contain_text("Say 10000.")
    earlier = page.get_by_role("button", name="Show earlier turns (9,940)")
    first = turns.first
    first.scroll_into_view_if_needed()
    earlier.scroll_into_view_if_needed()
    picture(page, "chat-earlier")
    assert faults(page, "light") == []
    before = page.locator("#turns > article", has_text=re.compile(r"Say 9941\."))
    earlier.click()
    expect(turns).to_have_count(120)
    expect(before).to_be_in_viewport()
    expect(first).to_contain_text("Say 9881.")
    expect(first).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("60 earlier turns are shown.")
    expect(page.get_by_role("button", name="Show earlier turns (9,880)")).to_have_count(1)

    # a link to a turn in the middle brings it with those around it, and what is left out is told on both sides
    middle = person.visitor.get(f"/api/conversations/{conversation}/?before=5001")["turns"][-1]
    page = opens(person).new_page()
    page.goto(f"/chat/{conversation}/#turn-{middle['id']}")
    turns, pointed = page.locator("#turns > article"), page.locator(f"#turn-{middle['id']}")
    expect(pointed).to_be_in_viewport()
    expect(pointed).to_contain_text("Say 5000.")
    expect(turns).to_have_count(120)
    assert [one.inner_text() for one in page.locator(".turn-gap").all()] == [
        "Show earlier turns (4,960)", "Show earlier turns (4,920)",
    ]  # fmt: skip
    page.locator(".turn-gap").nth(1).get_by_role("button").click()
    expect(turns).to_have_count(180)
    expect(page.locator(".turn-gap").nth(1)).to_have_text("Show earlier turns (4,860)")
