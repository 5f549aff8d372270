"""Text of a memory as a markdown quotation: nothing in it can become other markdown, links included."""

from __future__ import annotations

import re

from memory.engine.text import truncate

LONGEST_QUOTE = 400  # graphemes
MOST_LINES = 8
_MARKER = " […]"

_INLINE = re.compile(r"[\\`*_\[\]<>&~|]")
_LINKS = re.compile(r"//|@|(?<=\w)\.(?=\w)")  # addresses which renderers turn into links by themselves
_BLOCK_START = re.compile(r"(?:\d{1,9}(?=[.)])|(?=[#+\-=:!]))")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")  # would turn round the text that follows the quotation
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f]")


def blockquote(text: str, longest: int = LONGEST_QUOTE, most_lines: int = MOST_LINES) -> str:
    """Quote `text` as a markdown block, cut with a marker after `longest` graphemes or `most_lines` lines."""
    near = text[: longest * 64]  # no letter of any script is longer; a megabyte is not read for a few lines
    plain = _CONTROLS.sub("", _BIDI.sub("", near))
    lines = [line.strip() for line in plain.expandtabs(1).splitlines()]
    lines = [line for line in lines if line]
    cut = truncate("\n".join(lines[:most_lines]), longest, _MARKER)
    if (len(lines) > most_lines or near != text) and not cut.endswith(_MARKER):
        cut += _MARKER
    return "\n".join(f"> {_escape(line)}" for line in cut.split("\n"))


def _escape(line: str) -> str:
    """One line with a backslash before each sign that would mean something to a markdown renderer."""
    line = line.strip()
    start = _BLOCK_START.match(line)
    escaped = _LINKS.sub(lambda m: "".join(f"\\{sign}" for sign in m[0]), _INLINE.sub(r"\\\g<0>", line))
    if start is None:
        return escaped
    return f"{escaped[: start.end()]}\\{escaped[start.end() :]}"
