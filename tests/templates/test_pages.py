"""What holds for every template and page script: the content security policy, and a sentence for every name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted(path for path in (ROOT / "static").rglob("*.js") if "vendor" not in path.parts)

INLINE_STYLE = re.compile(r"<style\b|\sstyle\s*=", re.IGNORECASE)
INLINE_HANDLER = re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE)
SCRIPT = re.compile(r"<script\b([^>]*)>", re.IGNORECASE)
ELSEWHERE = re.compile(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", re.IGNORECASE)


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def sentences() -> set[str]:
    blocks = [path.read_text() for path in TEMPLATES if path.name.endswith("_words.html")]
    return {name for block in blocks for name in re.findall(r'^\s*"(\w+)":', block, re.MULTILINE)}


def test_there_are_templates_and_scripts_to_look_at() -> None:
    assert len(TEMPLATES) > 20
    assert len(SCRIPTS) > 10


@pytest.mark.parametrize("name", names(TEMPLATES))
def test_a_template_has_nothing_inline_that_the_policy_would_block(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not INLINE_STYLE.search(text)
    assert not INLINE_HANDLER.search(text)
    for attributes in SCRIPT.findall(text):
        assert "src=" in attributes or 'type="application/json"' in attributes


@pytest.mark.parametrize("name", names(TEMPLATES))
def test_a_template_loads_nothing_from_elsewhere(name: str) -> None:
    assert not ELSEWHERE.search((ROOT / name).read_text())


@pytest.mark.parametrize("name", names(SCRIPTS))
def test_a_script_builds_no_html_from_strings(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"\.(?:innerHTML|outerHTML)\s*\+?=|insertAdjacentHTML|document\.write|\beval\(", text)


@pytest.mark.parametrize("name", names(SCRIPTS))
def test_every_sentence_that_a_script_says_is_in_the_pages(name: str) -> None:
    asked = set(re.findall(r'\bsay\("(\w+)"', (ROOT / name).read_text()))
    assert asked <= sentences()


def test_every_script_that_a_script_imports_is_there() -> None:
    for script in SCRIPTS:
        for target in re.findall(r'^import .*? from "(\.[^"]+)";', script.read_text(), re.MULTILINE):
            assert (script.parent / target).resolve().is_file(), f"{script} imports {target}"


WAITING = re.compile(r"<button\b[^>]*\bdata-waits\b[^>]*>")


def test_every_button_that_waits_for_its_script_gets_one() -> None:
    """It stands disabled in the page: forgotten by its script, it would stay so."""
    livening = [text for path in SCRIPTS if "site/live.js" in (text := path.read_text())]
    buttons = [button for path in TEMPLATES for button in WAITING.findall(path.read_text())]
    assert len(buttons) >= 3
    for button in buttons:
        assert " disabled " in button
        found = re.search(r'\bid="([\w-]+)"', button)
        assert found, button
        assert any(f'"{found[1]}"' in text for text in livening), button
