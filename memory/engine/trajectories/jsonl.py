"""Reads AGORA's own JSONL: one turn a line, optional header lines; docs/trajectory-format.md has the format.

Every line is checked, so that one error names all that is broken. A file with a broken line gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from memory.engine.trajectories.records import (
    KINDS,
    JsonObject,
    Kind,
    Problem,
    Trajectory,
    TrajectoryError,
    TrajectorySide,
    TrajectoryTurn,
)
from memory.engine.trajectories.values import (
    BOM,
    ValueRefused,
    as_instant,
    as_list,
    as_name,
    as_object,
    as_text,
    clean_json,
    decode,
    fingerprint,
    kind_of,
    load_json,
    one_line,
    shorten,
)
from memory.engine.types import Role

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_SESSION = 1_000_000

_T = TypeVar("_T", bound=str)
_TURN_FIELDS = (
    "conversation", "id", "session", "at", "place", "observation", "action", "tool_calls", "outcome",
)  # fmt: skip
_SIDE_FIELDS = ("text", "speaker", "role", "at", "id")
_HEADER_FIELDS = ("id", "title", "kind", "speakers", "metadata")
_DEFAULT_ROLES: dict[str, Role] = {"observation": Role.USER, "action": Role.ASSISTANT}
_DEFAULT_SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.TOOL: "Tool", Role.OTHER: "Other"}


@dataclass(slots=True)
class _Draft:
    """A conversation while its lines are read."""

    line: int
    external_id: str | None
    title: str = ""
    kind: Kind | None = None
    speakers: dict[str, str] = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)
    headed: bool = False
    turns: list[TrajectoryTurn] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    broken: bool = False


def read_jsonl(data: bytes) -> tuple[Trajectory, ...]:
    """All conversations of a JSONL file, in the order of their first lines.

    Raises TrajectoryError with every broken line's number and reason.
    """
    if len(data) > MAX_FILE_BYTES:
        raise TrajectoryError(None, f"The file is larger than {MAX_FILE_BYTES // 2**20} MiB; split it.")
    reader = _Reader()
    for number, raw in _lines(data):
        reader.take(number, raw)
    return reader.finish()


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that hold something, with their numbers. LF and CRLF end a line; U+2028 and the like are text."""
    start, number = len(BOM) if data.startswith(BOM) else 0, 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        number += 1
        line = data[start:end].strip()
        if line:
            yield number, line
        start = end + 1


class _Reader:
    """Takes line after line and keeps the drafts by id; None is the conversation that has no id."""

    def __init__(self) -> None:
        self.drafts: dict[str | None, _Draft] = {}
        self.problems: list[Problem] = []
        self.current: _Draft | None = None  # the conversation of the last header

    def take(self, number: int, raw: bytes) -> None:
        try:
            if len(raw) > MAX_LINE_BYTES:
                limit = MAX_LINE_BYTES // 2**20
                raise ValueRefused(f"The line has {len(raw)} bytes, above the limit of {limit} MiB. Split the turn.")
            record = load_json(decode(raw))
            if not isinstance(record, dict):
                raise ValueRefused(f"A line must be an object, not {kind_of(record)}.")
            if isinstance(record.get("conversation"), dict):
                self._header(number, record)
            else:
                self._turn(number, record)
        except ValueRefused as refusal:
            self.problems.append(Problem(number, refusal.sentence))

    def finish(self) -> tuple[Trajectory, ...]:
        for draft in self.drafts.values():
            if not draft.turns and not draft.broken:
                self.problems.append(Problem(draft.line, "The conversation of this header has no turn."))
        if self.problems:
            raise TrajectoryError.of(sorted(self.problems, key=lambda problem: problem.line or 0))
        if not self.drafts:
            raise TrajectoryError(None, "The file holds no turn.")
        return tuple(_finished(draft) for draft in self.drafts.values())

    def _header(self, number: int, record: JsonObject) -> None:
        # Whatever is wrong with a header, the turns below it are its own, not the conversation's before.
        self.current = _Draft(number, None, broken=True)
        header = record["conversation"]
        external_id = as_name(header["id"], "“id”") if header.get("id") is not None else None
        draft = self.drafts.setdefault(external_id, _Draft(number, external_id))
        self.current = draft
        draft.broken = True
        if draft.turns:
            raise ValueRefused("A header must stand before the turns of its conversation.")
        if draft.headed:
            raise ValueRefused("This conversation has a header already; give each one an “id” of its own.")
        draft.headed = True
        _refuse_unknown(record, ("conversation",), "header line")
        _refuse_unknown(header, _HEADER_FIELDS, "header")
        if header.get("title") is not None:
            draft.title = as_name(header["title"], "“title”")
        if header.get("kind") is not None:
            draft.kind = _one_of(header["kind"], KINDS, "“kind”")
        draft.speakers = _speakers(header.get("speakers"))
        draft.metadata = clean_json(as_object(header.get("metadata") or {}, "“metadata”"), "“metadata”")
        draft.broken = False

    def _turn(self, number: int, record: JsonObject) -> None:
        draft = self._draft_of(number, record.get("conversation"))
        draft.broken = True
        turn = _read_turn(record, draft)
        names = {side.external_id for side in turn.sides} | {turn.external_id}
        taken = names & draft.names
        if taken:
            raise ValueRefused(f"The id {shorten(min(taken))} stands twice in this conversation.")
        draft.names |= names
        draft.turns.append(turn)
        draft.broken = False

    def _draft_of(self, number: int, name: object) -> _Draft:
        if name is None:
            if self.current is None:
                self.current = self.drafts.setdefault(None, _Draft(number, None))
            return self.current
        if not isinstance(name, str):
            raise ValueRefused(f"“conversation” must be a string (an id) or an object (a header), not {kind_of(name)}.")
        external_id = as_name(name, "“conversation”")
        return self.drafts.setdefault(external_id, _Draft(number, external_id))


def _read_turn(record: JsonObject, draft: _Draft) -> TrajectoryTurn:
    _refuse_unknown(record, _TURN_FIELDS, "turn")
    ordinal = len(draft.turns) + 1
    name = as_name(record["id"], "“id”") if record.get("id") is not None else str(ordinal)
    at = as_instant(record["at"], "“at”") if record.get("at") is not None else None
    observation = _read_side(record, "observation", name, at, draft)
    action = _read_side(record, "action", name, at, draft)
    if observation is None and action is None:
        raise ValueRefused("A turn needs the text of an observation, of an action or of both.")
    calls = as_list(record.get("tool_calls") or [], "“tool_calls”")
    outcome = record.get("outcome")
    return TrajectoryTurn(
        ordinal=ordinal,
        session=_session(record.get("session"), draft),
        external_id=name,
        observation=observation,
        action=action,
        place=as_name(record["place"], "“place”") if record.get("place") is not None else None,
        tool_calls=tuple(_read_call(call, place) for place, call in enumerate(calls, 1)),
        outcome=None if outcome is None else clean_json(as_object(outcome, "“outcome”"), "“outcome”"),
    )


def _read_side(
    record: JsonObject, which: str, turn_name: str, at: datetime | None, draft: _Draft
) -> TrajectorySide | None:
    """One side; None where the field is left out, null or without words."""
    value = record.get(which)
    if value is None:
        return None
    fields = {"text": value} if isinstance(value, str) else as_object(value, f"“{which}” (if no string)")
    _refuse_unknown(fields, _SIDE_FIELDS, which)
    text = as_text(fields.get("text") or "", f"“text” of the {which}")
    if not text.strip():
        return None
    role = fields.get("role")
    read = _DEFAULT_ROLES[which] if role is None else _one_of(role, tuple(Role), f"“role” of the {which}")
    speaker = fields.get("speaker")
    if speaker is None:
        # The header's names belong to the usual role of a side: a tool's result is not spoken by the user.
        usual = draft.speakers.get(which) if role is None else None
        speaker = usual or _DEFAULT_SPEAKERS[read]
    if fields.get("at") is not None:
        at = as_instant(fields["at"], f"“at” of the {which}")
    own_id = fields.get("id")
    name = f"{turn_name}.{which}" if own_id is None else as_name(own_id, f"“id” of the {which}")
    return TrajectorySide(text, as_name(speaker, f"“speaker” of the {which}"), read, at, name)


def _read_call(call: object, place: int) -> JsonObject:
    name = f"tool call {place}"
    fields = as_object(call, name)
    as_name(fields.get("name"), f"“name” of {name}")
    cleaned: JsonObject = clean_json(fields, name)
    return cleaned


def _session(value: object, draft: _Draft) -> int:
    """The session of a turn: as before where left out; sessions never go back."""
    last = draft.turns[-1].session if draft.turns else 1
    if value is None:
        return last
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueRefused(f"“session” must be a whole number, not {kind_of(value)}.")
    if not 1 <= value <= MAX_SESSION:
        raise ValueRefused(f"“session” must lie between 1 and {MAX_SESSION}.")
    if value < last:
        raise ValueRefused(f"“session” {value} stands after session {last}; put the turns in their order.")
    return value


def _speakers(value: object) -> dict[str, str]:
    fields = as_object(value or {}, "“speakers”")
    _refuse_unknown(fields, tuple(_DEFAULT_ROLES), "“speakers”")
    return {which: as_name(name, f"the speaker of the {which}") for which, name in fields.items()}


def _one_of(value: object, allowed: tuple[_T, ...], name: str) -> _T:
    for one in allowed:
        if value == one:
            return one
    given = shorten(value) if isinstance(value, str) else kind_of(value)
    raise ValueRefused(f"{name} must be one of {', '.join(allowed)}, not {given}.")


def _refuse_unknown(fields: JsonObject, known: tuple[str, ...], name: str) -> None:
    """A misspelt field would be lost in silence, so it is refused."""
    unknown = sorted(set(fields) - set(known))
    if unknown:
        listed = ", ".join(shorten(one) for one in unknown[:5])
        raise ValueRefused(f"Unknown field {listed} in the {name}; known are {', '.join(known)}.")


def _finished(draft: _Draft) -> Trajectory:
    turns = tuple(draft.turns)
    external_id = draft.external_id or fingerprint([draft.title, *map(asdict, turns)])
    title = draft.title or draft.external_id or one_line(turns[0].sides[0].text, 60)
    roles = {side.role for turn in turns for side in turn.sides}
    kind: Kind = "two_people"
    if Role.TOOL in roles or any(turn.tool_calls for turn in turns):
        kind = "tool_use"
    elif Role.ASSISTANT in roles:
        kind = "user_assistant"
    metadata: dict[str, Any] = {"format": "jsonl", **draft.metadata}
    return Trajectory(external_id, title, draft.kind or kind, turns, metadata)
