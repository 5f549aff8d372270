"""Checks that both readers share: JSON text to safe values, each refusal a `ValueRefused` with a sentence.

The values end up in PostgreSQL's text and jsonb, which take neither NUL, lone surrogates nor NaN; Python's
json module lets all three through. So they stop here.
"""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any, NoReturn

from memory.engine.text import clean_text, truncate
from memory.engine.trajectories.records import JsonObject

MAX_NAME = 200
MAX_DEPTH = 64
BOM = b"\xef\xbb\xbf"
_JSON_NAMES: dict[type, str] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
FOREIGN_BOMS = (b"\xff\xfe", b"\xfe\xff")


class ValueRefused(ValueError):
    """A value that cannot be taken, with a sentence for people. `line` is set where JSON names one."""

    def __init__(self, sentence: str, line: int | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.line = line


def decode(raw: bytes) -> str:
    """UTF-8 bytes to text, a byte order mark at the front dropped. Raises ValueRefused."""
    if raw.startswith(FOREIGN_BOMS):
        raise ValueRefused("The file is UTF-16, not UTF-8; save it as UTF-8 and try again.")
    try:
        return raw.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueRefused(f"Byte {error.start + 1} is not UTF-8; save the file as UTF-8.", line) from error


def load_json(text: str) -> Any:
    """JSON text to a value. NaN and Infinity are refused, as JSON itself does. Raises ValueRefused."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        sentence = f"This is not JSON: {error.msg} at column {error.colno}."
        raise ValueRefused(sentence, error.lineno) from error
    except RecursionError as error:
        raise ValueRefused("The JSON is nested too deep.") from error
    except ValueRefused:
        raise
    except ValueError as error:  # an integer of more digits than Python converts
        raise ValueRefused(f"The JSON holds a number that cannot be read: {error}.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueRefused(f"{name} is not a JSON number.")


def kind_of(value: object) -> str:
    """What JSON calls the type of a value, for sentences."""
    if value is None:
        return "null"
    return _JSON_NAMES.get(type(value), type(value).__name__)


def as_object(value: object, name: str) -> JsonObject:
    """The value itself if it is a JSON object. Raises ValueRefused naming the field."""
    if not isinstance(value, dict):
        raise ValueRefused(f"{name} must be an object, not {kind_of(value)}.")
    return value


def as_list(value: object, name: str) -> list[Any]:
    """The value itself if it is a JSON list. Raises ValueRefused naming the field."""
    if not isinstance(value, list):
        raise ValueRefused(f"{name} must be a list, not {kind_of(value)}.")
    return value


def as_text(value: object, name: str) -> str:
    """Cleaned text, whole. Raises ValueRefused unless the value is a string."""
    if not isinstance(value, str):
        raise ValueRefused(f"{name} must be a string, not {kind_of(value)}.")
    return clean_text(value)


def as_name(value: object, name: str) -> str:
    """A cleaned one-line name of 1 to 200 characters (speaker, place, id, title). Raises ValueRefused."""
    line = " ".join(as_text(value, name).split())
    if not line:
        raise ValueRefused(f"{name} must not be empty.")
    if len(line) > MAX_NAME:
        raise ValueRefused(f"{name} has {len(line)} characters; at most {MAX_NAME} are allowed.")
    return line


def as_instant(value: object, name: str) -> datetime:
    """An ISO-8601 instant with its offset, as UTC. Raises ValueRefused."""
    cure = "write it like 2026-09-14T18:30:00+02:00"
    if not isinstance(value, str):
        raise ValueRefused(f"{name} must be a string, not {kind_of(value)}; {cure}.")
    shown = shorten(value)
    try:
        instant = datetime.fromisoformat(value.strip())
        if instant.tzinfo is None:
            raise ValueRefused(f"{name} {shown} has no offset, so it names no instant; {cure}.")
        return instant.astimezone(UTC)
    except ValueRefused:
        raise
    except (ValueError, OverflowError) as error:
        raise ValueRefused(f"{name} {shown} is not an ISO-8601 instant; {cure}.") from error


def clean_json(value: object, name: str) -> Any:
    """The same JSON value, strings and keys cleaned. Raises ValueRefused (depth, infinite numbers)."""
    return _clean(value, name, MAX_DEPTH)


def _clean(value: object, name: str, depth: int) -> Any:
    if depth == 0:
        raise ValueRefused(f"{name} is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):  # 1e999 is read as infinity
        raise ValueRefused(f"{name} holds a number too large to store.")
    if isinstance(value, list):
        return [_clean(one, name, depth - 1) for one in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(one, name, depth - 1) for key, one in value.items()}
    return value


def shorten(text: str, limit: int = 60) -> str:
    """Foreign text quoted for a sentence: cleaned, one line, at most `limit` graphemes."""
    return f"“{one_line(text, limit)}”"


def one_line(text: str, limit: int = MAX_NAME) -> str:
    """Text cleaned, on one line, cut between graphemes to `limit` of them and to MAX_NAME characters."""
    line = " ".join(clean_text(text[: MAX_NAME * 20]).split())
    while len(cut := truncate(line, limit)) > MAX_NAME and limit > 1:
        limit //= 2  # families of emoji and stacked marks are many characters each
    return cut[:MAX_NAME]


def fingerprint(value: object) -> str:
    """A stable name for content that came without one: 32 hex digits over its canonical JSON."""
    canonical = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:32]
