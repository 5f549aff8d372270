"""What leaves `render_markdown` is safe to put into a page, whatever went in."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.markdown import HIGHLIGHT_LIMIT, render_markdown

ALLOWED_TAGS = {
    *("p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "code", "span", "em", "strong", "s", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
ALLOWED_ATTRIBUTES = {"href", "title", "rel", "class", "data-language", "start"}


class Inspector(HTMLParser):
    """Collects every tag and attribute of some HTML as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, list[str]] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value or "")


def assert_harmless(html: str) -> None:
    seen = Inspector(html)
    assert seen.tags <= ALLOWED_TAGS
    assert set(seen.attributes) <= ALLOWED_ATTRIBUTES
    for address in seen.attributes.get("href", []):
        assert not re.match(r"\s*(javascript|data|vbscript|file|blob):", address, re.IGNORECASE)


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<iframe src='https://example.org'></iframe>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:msgbox(1))",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
        '!["><script>alert(1)</script>](https://example.org/a.png)',
        '[x](https://example.org "onmouseover=alert(1)")',
        '[x](https://example.org/" onmouseover="alert(1))',
        '```"><script>alert(1)</script>\ncode\n```',
        "```html\n<script>alert(1)</script>\n```",
        '```x" onclick=alert(1)\ncode\n```',
        "`<script>alert(1)</script>`",
        "<style>body{display:none}</style>",
        '<p style="position:fixed">x</p>',
        "| a |\n|:-:|\n| <script>alert(1)</script> |",
        "[ref]\n\n[ref]: javascript:alert(1)",
        "<!-- --><script>alert(1)</script>",
        "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
        "\x00<scr\x00ipt>alert(1)</script>",
    ],
)
def test_an_attack_comes_out_as_harmless_text(attack: str) -> None:
    html = render_markdown(attack)
    assert html
    assert_harmless(html)


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_text_renders_to_allowed_tags_only(text: str) -> None:
    assert_harmless(render_markdown(text))


@given(st.text(alphabet="<>\"'`[]()!&#;:/|*_~ \n\tjavscriptonload=x1", max_size=200))
def test_text_made_of_markup_renders_to_allowed_tags_only(text: str) -> None:
    assert_harmless(render_markdown(text))


def test_a_link_opens_without_a_handle_on_the_page_and_without_endorsement() -> None:
    html = render_markdown("See [the notes](https://example.org/notes).")
    assert '<a href="https://example.org/notes" rel="noopener nofollow">the notes</a>' in html


def test_a_bare_address_becomes_a_link() -> None:
    assert 'href="https://example.org/a?b=1"' in render_markdown("at https://example.org/a?b=1 today")


def test_an_image_becomes_a_link_and_loads_nothing() -> None:
    html = render_markdown("![a cat](https://example.org/cat.png)")
    assert "<img" not in html
    assert '<a href="https://example.org/cat.png" rel="noopener nofollow">a cat</a>' in html


def test_an_image_inside_a_link_keeps_the_outer_link_alone() -> None:
    html = render_markdown("[![a cat](https://example.org/cat.png)](https://example.org)")
    assert html.count("<a ") == 1
    assert "a cat" in html
    assert "cat.png" not in html


def test_python_code_is_coloured_by_classes_and_not_by_styles() -> None:
    html = render_markdown("```python\ndef f():\n    return 1\n```")
    assert '<code data-language="python">' in html
    assert '<span class="k">def</span>' in html
    assert "style=" not in html


def test_code_keeps_its_blank_lines_and_indentation() -> None:
    html = render_markdown("```python\n\n    x = 1\n\n\n```")
    assert re.sub("<[^>]+>", "", html).startswith("\n    x = 1\n\n\n")


def test_code_of_an_unknown_language_is_shown_plain() -> None:
    html = render_markdown("```klingon\na < b\n```")
    assert '<code data-language="klingon">a &lt; b' in html


def test_a_very_long_code_block_is_shown_whole_without_colours() -> None:
    code = "x = 1\n" * (HIGHLIGHT_LIMIT // 6 + 1)
    html = render_markdown(f"```python\n{code}```")
    assert "<span" not in html
    assert html.count("x = 1") == HIGHLIGHT_LIMIT // 6 + 1


def test_a_table_keeps_its_alignment_as_classes() -> None:
    html = render_markdown("| a | b |\n|:--|--:|\n| 1 | 2 |")
    assert '<th class="left">a</th>' in html
    assert '<td class="right">2</td>' in html


def test_a_single_line_break_is_kept_as_people_typed_it() -> None:
    assert "<br>" in render_markdown("one\ntwo")


@pytest.mark.parametrize("text", ["שלום עולם", "مرحبا", "你好，世界", "こんにちは", "привет", "नमस्ते", "👩‍👩‍👧‍👦 🏳️‍🌈"])
def test_six_scripts_and_emoji_families_come_out_unchanged(text: str) -> None:
    assert render_markdown(text) == f"<p>{text}</p>\n"


def test_blank_text_renders_to_nothing() -> None:
    assert render_markdown(" \n\t ") == ""


def test_nul_and_lone_surrogates_are_dropped_and_the_rest_kept() -> None:
    assert render_markdown("a\x00b\ud800c") == "<p>abc</p>\n"


@pytest.mark.parametrize("text", ["[" * 20_000, "*a " * 20_000, "> " * 10_000 + "x", "`" * 30_000, "|a" * 10_000])
def test_text_made_to_slow_the_parser_down_ends_in_time(text: str) -> None:
    started = time.monotonic()
    render_markdown(text)
    assert time.monotonic() - started < 10
