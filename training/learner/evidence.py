"""Question sets that name their evidence: which sides of an imported conversation somebody needed later.

Three shapes are read, told by their content: one JSON object with `conversation` and a list of `questions`; JSONL with
a question a line (lines of turns are passed over, so the conversation's own file will do); a LoCoMo file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory.engine.trajectories.locomo import evidence_ids, is_locomo
from memory.engine.trajectories.records import JsonObject, Problem, TrajectoryError
from memory.engine.trajectories.values import ValueRefused, as_list, as_name, as_object, decode, load_json

ADVERSARIAL = 5  # LoCoMo's category of questions that nothing answers
NO_JSON_LINE = "The file holds no question that names its evidence."


@dataclass(frozen=True)
class Evidence:
    """What one question needs. `conversation` is its id in the file it came from, "" where the set does not say; ids
    are those of sides, or of turns for both of their sides."""

    conversation: str
    needed: frozenset[str]
    outdated: frozenset[str] = frozenset()  # held an earlier answer


def read_evidence(data: bytes) -> list[Evidence]:
    """The questions of a file that name evidence, in file order. Raises `TrajectoryError` with what is wrong."""
    problems: list[Problem] = []
    found: list[Evidence] = []
    for line, default, row in _questions(data):
        try:
            evidence = _read(row, default)
            if evidence is not None:
                found.append(evidence)
        except ValueRefused as refusal:
            problems.append(Problem(line, refusal.sentence))
    if problems:
        raise TrajectoryError.of(problems)
    if not found:
        raise TrajectoryError(None, NO_JSON_LINE)
    return found


def _questions(data: bytes) -> Iterator[tuple[int | None, str, JsonObject]]:
    """Each question with its line, if there is one, and the conversation that it is about unless it says so."""
    try:
        whole = load_json(decode(data))
    except ValueRefused:
        yield from _lines(data)
        return
    if is_locomo(whole):
        for sample in whole if isinstance(whole, list) else [whole]:
            name = f"locomo:{sample.get('sample_id', '')}"
            for row in sample.get("qa") or ():
                if row.get("category") != ADVERSARIAL:
                    named = [one for text in row.get("evidence") or () for one in evidence_ids(text)]
                    yield None, name, {"question": row.get("question"), "evidence": named}
    elif isinstance(whole, dict) and "questions" in whole:
        for row in whole["questions"] if isinstance(whole["questions"], list) else ():
            yield None, str(whole.get("conversation") or ""), row
    else:
        yield from _lines(data)


def _lines(data: bytes) -> Iterator[tuple[int | None, str, JsonObject]]:
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        try:
            row = load_json(decode(raw))
        except ValueRefused as refusal:
            raise TrajectoryError(number, refusal.sentence) from refusal
        if isinstance(row, dict) and "question" in row:
            yield number, "", row


def _read(row: Any, default: str) -> Evidence | None:
    """One question; None where it names no evidence."""
    fields = as_object(row, "a question")
    as_name(str(fields.get("question") or ""), "“question”")
    conversation = fields.get("conversation")
    name = default if conversation is None else as_name(conversation, "“conversation”")
    needed, outdated = _ids(fields, "evidence"), _ids(fields, "outdated")
    return Evidence(name, needed, outdated - needed) if needed else None


def _ids(fields: JsonObject, name: str) -> frozenset[str]:
    ids: Sequence[object] = as_list(fields.get(name) or [], f"“{name}”")
    return frozenset(as_name(one, f"an id in “{name}”") for one in ids)
