"""Reads LoCoMo files: long chats of two people in dated sessions, one JSON file of one or many conversations.

The first speaker (`speaker_a`) fills the observation side as a user, everybody else the action side as
another person, never as an assistant: nobody in these chats is one. Turns stay inside their session. Whoever
speaks twice running, or opens a session as the second speaker, makes a turn of one side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory.engine.trajectories.records import (
    JsonObject,
    Problem,
    Trajectory,
    TrajectoryError,
    TrajectorySide,
    TrajectoryTurn,
)
from memory.engine.trajectories.values import (
    ValueRefused,
    as_list,
    as_name,
    as_object,
    as_text,
    decode,
    fingerprint,
    load_json,
    one_line,
    shorten,
)
from memory.engine.types import Role

MAX_FILE_BYTES = 64 * 1024 * 1024
_SESSION = re.compile(r"session_([0-9]{1,6})")
_EVIDENCE = re.compile(r"D:?([0-9]+):([0-9]+)")
_DATE = re.compile(
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})\s*(?P<half>[ap])\.?m\.?,?\s+on\s+"
    r"(?P<day>[0-9]{1,2})\s+(?P<month>[a-z]+)\.?,?\s+(?P<year>[0-9]{4})",
    re.IGNORECASE,
)
# Not strptime: its month names follow the machine's locale.
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class _Session:
    number: int
    at: datetime | None
    rows: list[Any]


def is_locomo(value: object) -> bool:
    """Whether a JSON value has LoCoMo's shape: samples whose `conversation` has lists named ``session_N``."""
    sample = value[0] if isinstance(value, list) and value else value
    conversation = sample.get("conversation") if isinstance(sample, dict) else None
    if not isinstance(conversation, dict):
        return False
    return any(_SESSION.fullmatch(key) and isinstance(rows, list) for key, rows in conversation.items())


def read_locomo(data: bytes) -> tuple[Trajectory, ...]:
    """All conversations of a LoCoMo file, in file order.

    Raises TrajectoryError with every problem of the file; a problem names its line where the JSON itself is
    broken, and the conversation, session and message otherwise.
    """
    if len(data) > MAX_FILE_BYTES:
        raise TrajectoryError(None, f"The file is larger than {MAX_FILE_BYTES // 2**20} MiB; split it.")
    try:
        value = load_json(decode(data))
    except ValueRefused as refusal:
        raise TrajectoryError(refusal.line, refusal.sentence) from refusal
    samples = value if isinstance(value, list) else [value]
    if not samples:
        raise TrajectoryError(None, "The file holds no conversation.")
    problems: list[Problem] = []
    found = [_read_sample(sample, place, problems) for place, sample in enumerate(samples, 1)]
    seen: set[str] = set()
    for trajectory in found:
        if trajectory.external_id in seen:
            problems.append(Problem(None, f"Conversation {trajectory.external_id} stands twice in the file."))
        seen.add(trajectory.external_id)
    if problems:
        raise TrajectoryError.of(problems)
    return tuple(found)


def evidence_ids(text: str) -> tuple[str, ...]:
    """The message ids that one evidence string of a LoCoMo question names.

    Some hold two (``D8:6; D9:17``) or a slip (``D:11:26``, ``D30:05``); what names no message gives ().
    """
    return tuple(f"D{int(session)}:{int(message)}" for session, message in _EVIDENCE.findall(text))


def parse_date(text: str) -> datetime:
    """A session's date such as ``1:56 pm on 8 May, 2023``, as UTC (no zone is named). Raises ValueRefused."""
    match = _DATE.fullmatch(text.strip())
    month = match["month"].lower() if match else ""
    if match is None or month[:3] not in _MONTHS or not 1 <= int(match["hour"]) <= 12:
        raise ValueRefused(f"the date {shorten(text)} is not like “1:56 pm on 8 May, 2023”.")
    hour = int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)
    numbers = int(match["year"]), _MONTHS.index(month[:3]) + 1, int(match["day"]), hour, int(match["minute"])
    try:
        return datetime(*numbers, tzinfo=UTC)
    except ValueError as error:
        raise ValueRefused(f"the date {shorten(text)} is not in the calendar.") from error


def _read_sample(sample: object, place: int, problems: list[Problem]) -> Trajectory:
    """One conversation; what is wrong with it goes to `problems`, and then the result must not be used."""
    name = f"Conversation {place}"
    turns: list[TrajectoryTurn] = []
    title, external_id, metadata = name, name, dict[str, Any](format="locomo")
    try:
        record = as_object(sample, "it")
        conversation = as_object(record.get("conversation"), "“conversation”")
        sample_id = record.get("sample_id")
        label = "" if sample_id is None else as_name(sample_id, "“sample_id”")
        name = f"Conversation {label or place}"
        sessions = _sessions(conversation, name, problems)
        speakers = _speakers(conversation, sessions)
        sides = _sides(sessions, speakers[0] if speakers else "", name, problems)
        turns = _pair(sides)
        external_id = f"locomo:{label or fingerprint(conversation)}"
        title = one_line(" and ".join(speakers) + (f" ({label})" if label else ""))
        metadata |= {"sample_id": label or None, "speakers": speakers, "timezone_assumed": "UTC"}
        if not turns:
            raise ValueRefused("it has no messages.")
    except ValueRefused as refusal:
        problems.append(Problem(refusal.line, f"{name}: {refusal.sentence}"))
    return Trajectory(external_id, title, "two_people", tuple(turns), metadata)


def _sessions(conversation: JsonObject, name: str, problems: list[Problem]) -> list[_Session]:
    """The sessions in the order of their numbers (the keys' own order is that of text: 1, 10, 11, 2)."""
    numbered = [(int(match[1]), key) for key in conversation if (match := _SESSION.fullmatch(key))]
    sessions: list[_Session] = []
    for number, key in sorted(numbered):
        at: datetime | None = None
        try:
            rows = as_list(conversation[key], "it")
            date = conversation.get(f"{key}_date_time")
            if date:
                at = parse_date(as_text(date, "its date"))
        except ValueRefused as refusal:
            problems.append(Problem(None, f"{name}, session {number}: {refusal.sentence}"))
            continue
        sessions.append(_Session(number, at, rows))
    return sessions


def _speakers(conversation: JsonObject, sessions: list[_Session]) -> list[str]:
    """The two speakers, the first first; where the file does not name them, in the order they speak."""
    named = [conversation.get("speaker_a"), conversation.get("speaker_b")]
    spoken = [row.get("speaker") for session in sessions for row in session.rows if isinstance(row, dict)]
    people = [as_name(who, "a speaker") for who in named if who]
    for who in spoken:
        if len(people) >= 2:
            break
        if isinstance(who, str) and who.strip() and who.strip() not in people:
            people.append(as_name(who, "a speaker"))
    return people


def _sides(
    sessions: list[_Session], first: str, name: str, problems: list[Problem]
) -> list[tuple[int, TrajectorySide]]:
    """Every message as (session, side). One without words or a photo is passed over: it says nothing."""
    sides: list[tuple[int, TrajectorySide]] = []
    seen: set[str] = set()
    for session in sessions:
        for place, row in enumerate(session.rows, 1):
            try:
                side = _side(as_object(row, "it"), first, session.at, f"D{session.number}:{place}")
                if side is not None and side.external_id in seen:
                    raise ValueRefused(f"the dia_id {side.external_id} stands twice.")
            except ValueRefused as refusal:
                where = f"{name}, session {session.number}, message {place}"
                problems.append(Problem(None, f"{where}: {refusal.sentence}"))
                continue
            if side is not None:
                seen.add(side.external_id)
                sides.append((session.number, side))
    return sides


def _side(row: JsonObject, first: str, at: datetime | None, default_id: str) -> TrajectorySide | None:
    text = as_text(row.get("text") or "", "“text”")
    caption = as_text(row.get("blip_caption") or "", "“blip_caption”")
    photo = " ".join(caption.split())
    if photo:
        text = f"{text} [shares a photo: {photo}]".lstrip()
    elif not text.strip() and row.get("img_url"):
        text = "[shares a photo]"
    if not text.strip():
        return None
    speaker = as_name(row.get("speaker"), "“speaker”")
    external_id = as_name(row.get("dia_id") or default_id, "“dia_id”")
    return TrajectorySide(text, speaker, Role.USER if speaker == first else Role.OTHER, at, external_id)


def _pair(sides: Iterable[tuple[int, TrajectorySide]]) -> list[TrajectoryTurn]:
    """Turns: a first speaker's message opens one, another person's message closes it; both of one session."""
    rounds: list[tuple[int, str, TrajectorySide | None, TrajectorySide | None]] = []
    for session, side in sides:
        if side.role is Role.USER:
            rounds.append((session, side.external_id, side, None))
        elif rounds and rounds[-1][0] == session and rounds[-1][3] is None:
            rounds[-1] = (*rounds[-1][:3], side)
        else:
            rounds.append((session, side.external_id, None, side))
    return [
        TrajectoryTurn(ordinal, session, name, observation, action)
        for ordinal, (session, name, observation, action) in enumerate(rounds, 1)
    ]
