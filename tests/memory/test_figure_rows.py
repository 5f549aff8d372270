"""Rows of figures: out as CSV and JSON, back the same, and page by page."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.figure_rows import PER_PAGE, Column, Table, page_of, read_csv, write_csv, write_json


@dataclass(frozen=True)
class Row:
    memory: UUID
    ordinal: int
    at: datetime
    score: float
    value: float | None
    pinned: bool
    text: str


def row(**fields: object) -> Row:
    usual = {"memory": uuid4(), "ordinal": 1, "at": datetime(2026, 3, 1, 9, tzinfo=UTC), "score": 0.1 + 0.2,
             "value": None, "pinned": True, "text": "a, b"}  # fmt: skip
    return Row(**{**usual, **fields})  # type: ignore[arg-type]


def there_and_back(rows: list[Row]) -> list[Row]:
    out = io.StringIO(newline="")
    write_csv(out, Row, rows)
    return list(read_csv(Row, io.StringIO(out.getvalue(), newline="")))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@given(TEXTS, st.floats(allow_nan=False), st.none() | st.floats(allow_nan=False, allow_infinity=False))
def test_rows_come_back_from_csv_exactly(text: str, score: float, value: float | None) -> None:
    one = row(text=text, score=score, value=value)
    assert there_and_back([one, one]) == [one, one]


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@x", "\tx", "'=x", "''", 'say "so"', "two\nlines", "two\r\nlines"]
)
def test_texts_that_a_spreadsheet_would_run_are_defused_and_come_back(text: str) -> None:
    out = io.StringIO(newline="")
    write_csv(out, Row, [row(text=text)])
    assert not out.getvalue().splitlines()[1].split(",")[-1].startswith(("=", "+", "-", "@", "\t"))
    assert there_and_back([row(text=text)])[0].text == text


def test_a_file_of_other_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="must name the columns memory, ordinal"):
        list(read_csv(Row, ["a,b", "1,2"]))


def test_json_holds_the_same_rows() -> None:
    rows = [row(), row(value=0.5, text="Grüße <b>")]
    out = io.StringIO()
    write_json(out, Row, rows)
    told = json.loads(out.getvalue())
    assert [one["text"] for one in told] == ["a, b", "Grüße <b>"]
    assert told[0] == asdict(rows[0]) | {"memory": str(rows[0].memory), "at": "2026-03-01T09:00:00+00:00"}
    empty = io.StringIO()
    write_json(empty, Row, [])
    assert json.loads(empty.getvalue()) == []


def test_a_page_beyond_the_last_is_the_last() -> None:
    rows = list(range(2 * PER_PAGE + 1))
    assert page_of(rows, 1) == (rows[:PER_PAGE], 1, 3)
    assert page_of(rows, 9) == ([2 * PER_PAGE], 3, 3)
    assert page_of([], 4) == ([], 1, 1)


def test_a_cell_carries_the_address_behind_it_only_where_there_is_one() -> None:
    def address(one: Row) -> str:
        return "/there/" if one.pinned else ""

    columns = [Column("ordinal", "Turn", "number"), Column("text", "Memory", "words", address)]
    shown = Table(columns, [row(), row(pinned=False)], 1, 1, 2).json()
    assert shown["columns"][1] == {"name": "text", "label": "Memory", "kind": "words"}
    assert shown["rows"] == [[1, {"text": "a, b", "href": "/there/"}], [1, "a, b"]]


def test_rows_with_texts_that_may_be_missing_are_refused_since_csv_could_not_tell() -> None:
    @dataclass(frozen=True)
    class Odd:
        note: str | None

    with pytest.raises(TypeError, match=r"Odd\.note"):
        write_csv(io.StringIO(), Odd, [])
