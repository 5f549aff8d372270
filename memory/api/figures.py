"""The JSON behind a figure: what is drawn, its sentence, one page of its rows; or all rows, as CSV or JSON."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, ClassVar, cast
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory.charts.parts import Figure
from memory.figure_rows import Column, Table, page_of, write_csv, write_json

_BLOCK = 64 * 1024
_IN_MEMORY = 2 * 1024 * 1024
_CHUNK = 1000
_WRITERS: dict[str, tuple[Callable[[IO[str], type, Iterable[Any]], None], str]] = {
    "csv": (write_csv, "text/csv; charset=utf-8"),
    "json": (write_json, "application/json"),
}


@dataclass(frozen=True)
class Drawn:
    """What a page shows of one figure. `empty` says why there is nothing to draw, where there is nothing."""

    figure: Figure
    sentence: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    empty: str = ""
    note: str = ""  # what was summed up so that it can be drawn


class FigureQuery(serializers.Serializer[Any]):
    """What every figure can be asked for; a figure of its own filters adds its fields."""

    format = serializers.ChoiceField(["csv", "json"], required=False)
    page = serializers.IntegerField(min_value=1, required=False, default=1)


class _AlwaysJson(BaseContentNegotiation):
    """`format` names an export here, not one of the framework's renderers."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        return next(iter(parsers))

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: Any = None) -> Any:
        first = next(iter(renderers))
        return first, first.media_type


class FigureView(APIView):
    """One figure. A subclass says what is drawn; rows that a page or an export shows pass through `finished`."""

    content_negotiation_class = _AlwaysJson
    query: ClassVar[type[FigureQuery]] = FigureQuery
    row: ClassVar[type]
    name: ClassVar[str]  # of the exported file

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        """The figure for the checked query `asked`. Raises `NotFound`."""
        raise NotImplementedError

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Rows with what is read only for those that are shown, such as their words."""
        return rows

    def get(self, request: Request, **ids: UUID) -> HttpResponseBase:
        asked = self.query(data={name: value for name, value in request.query_params.items() if value})
        asked.is_valid(raise_exception=True)
        drawn = self.drawn(asked.validated_data, **ids)
        if "format" in asked.validated_data:
            return self._export(asked.validated_data["format"], drawn.rows)
        rows, page, pages = page_of(drawn.rows, asked.validated_data["page"])
        table = Table(drawn.columns, self.finished(rows), page, pages, len(drawn.rows))
        return Response(
            {
                "figure": None if drawn.empty else drawn.figure, "sentence": drawn.sentence, "empty": drawn.empty,
                "note": drawn.note, "table": table.json(),
            }
        )  # fmt: skip

    def _export(self, kind: str, rows: Sequence[Any]) -> HttpResponseBase:
        """All rows, written here, where the database knows who asks, and sent block by block afterwards."""
        write, media_type = _WRITERS[kind]
        file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (closed when it is sent)
        text = io.TextIOWrapper(cast(IO[bytes], file), encoding="utf-8", newline="", write_through=True)
        write(text, self.row, self._all(rows))
        text.detach()
        length = file.tell()
        file.seek(0)
        headers = {"Content-Disposition": f'attachment; filename="{self.name}.{kind}"', "Content-Length": str(length)}
        return StreamingHttpResponse(_blocks(cast(IO[bytes], file)), content_type=media_type, headers=headers)

    def _all(self, rows: Sequence[Any]) -> Iterator[Any]:
        waiting = iter(rows)
        while chunk := list(islice(waiting, _CHUNK)):
            yield from self.finished(chunk)


async def _blocks(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while block := await asyncio.to_thread(file.read, _BLOCK):
            yield block
    finally:
        file.close()
