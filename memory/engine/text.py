"""Text at the borders: cleaning, lengths, cutting, hashing. What enters AGORA passes through `clean_text`."""

from __future__ import annotations

import hashlib
import re

import regex

MARKER = "…"
WINDOW_TOKENS = 220  # the encoder reads 256 word pieces; speaker, date and the estimate's error take the rest

_SURROGATE_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_GRAPHEME = regex.compile(r"\X")
_TOKEN = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]|[\p{L}\p{M}]+|\p{N}{1,3}|[^\s\p{L}\p{M}\p{N}]", regex.V1
)
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$\n?", re.MULTILINE | re.DOTALL)
_SENTENCE_END = regex.compile(r"(?<=[.!?…。！？؟।])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")
_LETTERS_A_TOKEN = 6


def clean_text(text: str) -> str:
    """Take out what no store can hold (NUL, lone surrogates) and keep all else as it is.

    A surrogate pair that arrived as two halves (as JSON escapes can) is joined to the character it stands for.
    """
    return _UNSTORABLE.sub("", _SURROGATE_PAIR.sub(_join_pair, text))


def _join_pair(match: re.Match[str]) -> str:
    high, low = ord(match[1]) - 0xD800, ord(match[2]) - 0xDC00
    return chr(0x10000 + (high << 10) + low)


def count_tokens(text: str) -> int:
    """Estimate how many tokens a language model reads in `text`.

    One per CJK or Thai character, one per begun six letters of a word, one per begun three digits, one per other
    sign. No tokenizer is loaded for it, so that budgets mean the same in every process and for every model.
    """
    total = 0
    for match in _TOKEN.finditer(text):
        length = match.end() - match.start()
        total += 1 if length <= _LETTERS_A_TOKEN else -(-length // _LETTERS_A_TOKEN)
    return total


def truncate(text: str, limit: int, marker: str = MARKER) -> str:
    """Cut `text` to at most `limit` graphemes, the marker counted in, never inside one grapheme."""
    if len(text) <= limit:
        return text
    graphemes = _GRAPHEME.findall(text)
    if len(graphemes) <= limit:
        return text
    room = max(0, limit - len(_GRAPHEME.findall(marker)))
    return "".join(graphemes[:room]) + marker


def within(text: str, characters: int) -> str:
    """Cut `text` to what a column of so many characters holds, never inside a grapheme (which can be many of them)."""
    if len(text) <= characters:
        return text
    end = 0
    for match in _GRAPHEME.finditer(text):
        if match.end() > characters:
            break
        end = match.end()
    return text[:end]


def content_hash(role: str, speaker: str, text: str) -> bytes:
    """Name the content of a memory: sha256 over who said it and what, white space folded (32 bytes)."""
    folded = " ".join(text.split())
    return hashlib.sha256("\x1f".join((role, speaker.casefold(), folded)).encode()).digest()


def split_side(text: str, window: int = WINDOW_TOKENS) -> list[str]:
    """Split one side into pieces of at most `window` estimated tokens, at code-block or sentence borders.

    A sentence or a code line longer than the window is cut between words, and a word longer than it between
    graphemes; only a single grapheme may exceed it. Joined again the pieces hold every character that is not white
    space.
    """
    if count_tokens(text) <= window:
        return [text] if text.strip() else []
    pieces: list[str] = []
    held, held_tokens = "", 0
    for part in _parts(text, window):
        size = count_tokens(part)
        if held and held_tokens + size > window:
            pieces.append(held)
            held, held_tokens = "", 0
        held, held_tokens = held + part, held_tokens + size
    if held:
        pieces.append(held)
    return [piece.strip() for piece in pieces if piece.strip()]


def sentences(text: str) -> list[str]:
    """The sentences and lines of a prose text, stripped; empty ones are left out."""
    return [found for piece in _pieces_of(text, _SENTENCE_END, len(text)) if (found := piece.strip())]


def _parts(text: str, window: int) -> list[str]:
    """Code blocks whole where they fit, else lines; prose as sentences; what is still too long as words."""
    parts: list[str] = []
    at = 0
    for fence in _FENCE.finditer(text):
        parts += _pieces_of(text[at : fence.start()], _SENTENCE_END, window)
        block = fence.group()
        parts += [block] if count_tokens(block) <= window else _pieces_of(block, regex.compile(r"(?<=\n)"), window)
        at = fence.end()
    return parts + _pieces_of(text[at:], _SENTENCE_END, window)


def _pieces_of(text: str, border: regex.Pattern[str], window: int) -> list[str]:
    pieces: list[str] = []
    at = 0
    for match in border.finditer(text):
        pieces.append(text[at : match.end()])
        at = match.end()
    pieces.append(text[at:])
    out: list[str] = []
    for piece in pieces:
        if count_tokens(piece) <= window:
            out.append(piece)
        else:
            out += _words_of(piece, window)
    return [piece for piece in out if piece]


def _words_of(text: str, window: int) -> list[str]:
    """Cut a run without borders: between words, and a word that alone exceeds the window between graphemes."""
    out: list[str] = []
    for word in regex.findall(r"\S+\s*|\s+", text):
        if count_tokens(word) <= window:
            out.append(word)
            continue
        held, held_tokens = "", 0
        for grapheme in _GRAPHEME.findall(word):
            size = count_tokens(grapheme)
            if held and held_tokens + size > window:
                out.append(held)
                held, held_tokens = "", 0
            held, held_tokens = held + grapheme, held_tokens + size
        out.append(held)
    return out
