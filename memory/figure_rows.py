"""The rows under a figure: typed, as pages of a table, and out as CSV or JSON, from which they come back the same."""

from __future__ import annotations

import csv
import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import IO, Any, TypeVar
from uuid import UUID

from django.utils.translation import gettext as _

R = TypeVar("R")

PER_PAGE = 50
# A spreadsheet runs what begins like a formula: such texts get an apostrophe in front, which `read_csv` takes off.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True)
class Column:
    """One column of a figure's table: a field of its row, the word above it, and how the page shows it."""

    name: str
    label: str
    kind: str = "text"  # or "words" (of people), "number", "time", "truth"
    href: Callable[[Any], str] | None = None  # the address behind a row's cell; "" for none
    names: Callable[[str], str] | None = None  # a code in words; exports keep the code


@dataclass(frozen=True)
class Table:
    """One page of the rows under a figure."""

    columns: Sequence[Column]
    rows: Sequence[Any]
    page: int
    pages: int
    total: int

    def json(self) -> dict[str, Any]:
        """As the page's script reads it: cells are values, or {text, href} behind which something lies."""
        columns = [{"name": one.name, "label": one.label, "kind": one.kind} for one in self.columns]
        rows = [[_cell(one, row) for one in self.columns] for row in self.rows]
        return {"columns": columns, "rows": rows, "page": self.page, "pages": self.pages, "total": self.total}


def page_of(rows: Sequence[R], page: int) -> tuple[Sequence[R], int, int]:
    """The rows of page `page` (from 1, the last one where there are fewer), that page's number, and how many pages."""
    pages = max(1, -(-len(rows) // PER_PAGE))
    page = min(max(1, page), pages)
    return rows[(page - 1) * PER_PAGE : page * PER_PAGE], page, pages


def write_csv(out: IO[str], kind: type[R], rows: Iterable[R]) -> None:
    """Write rows of the dataclass `kind` with a head of its fields' names; numbers whole, instants as ISO 8601."""
    names = list(_types(kind))
    writer = csv.writer(out)
    writer.writerow(names)
    for row in rows:
        writer.writerow([_spelled(getattr(row, name)) for name in names])


def read_csv(kind: type[R], lines: Iterable[str]) -> Iterator[R]:
    """The rows that `write_csv` wrote. Raises `ValueError` for a head or a cell that is not of `kind`."""
    reader = csv.reader(lines)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if next(reader, None) != names:
        raise ValueError(f"The first line must name the columns {', '.join(names)}.")
    wanted = _types(kind)
    for line in reader:
        yield kind(**{name: _read(wanted[name], cell) for name, cell in zip(names, line, strict=True)})


def write_json(out: IO[str], kind: type[R], rows: Iterable[R]) -> None:
    """Write the rows as one JSON array of objects, row by row."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    out.write("[")
    for number, row in enumerate(rows):
        out.write(",\n" if number else "\n")
        json.dump({name: getattr(row, name) for name in names}, out, default=_plain, ensure_ascii=False)
    out.write("\n]\n")


def _cell(column: Column, row: Any) -> Any:
    value = getattr(row, column.name)
    shown = _plain(value) if isinstance(value, datetime | UUID) else value
    if column.kind == "truth":
        shown = _("yes") if value else _("no")
    elif column.names and isinstance(value, str | UUID) and value:
        shown = column.names(str(value))
    href = column.href(row) if column.href else ""
    return {"text": shown, "href": href} if href else shown


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text


def _types(kind: Any) -> dict[str, tuple[type, bool]]:
    """By field: its type, and whether it may be missing."""
    out = {}
    for name, hint in typing.get_type_hints(kind).items():
        parts = [part for part in typing.get_args(hint) if part is not types.NoneType] or [hint]
        optional = types.NoneType in typing.get_args(hint)
        if optional and parts[0] is str:
            raise TypeError(f"{kind.__name__}.{name}: a text that may be missing would come back from CSV as none.")
        out[name] = (parts[0], optional)
    return out


def _read(wanted: tuple[type, bool], cell: str) -> Any:
    kind, optional = wanted
    if cell == "" and optional:
        return None
    if kind is bool:
        return {"true": True, "false": False}[cell]
    if kind is datetime:
        return datetime.fromisoformat(cell)
    if kind in (int, float, UUID):
        return kind(cell)
    return cell.removeprefix("'") if cell.startswith("'") else cell
