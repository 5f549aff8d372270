"""The figures of the registry, as JSON: lineage, and champions against challengers. For whoever sees promotions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework.exceptions import PermissionDenied

from memory.api.figures import Drawn, FigureView
from memory.figure_rows import Column
from memory.thousands import counted
from training import charts_adapters as charts
from training.charts_adapters import CompareRow, LineageRow
from training.registry import Version, versions
from training.services.sentences import KIND_NAMES, METRICS

VIEW = "training.view_promotion"


def state_name(state: str) -> str:
    """What a version does, in words."""
    return {charts.SERVES: _("serves"), charts.SHADOWS: _("scores silently"), charts.READY: _("does not serve")}[state]


class AdaptersFigure(FigureView):
    """A figure of all shared adapters."""

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        if not self.request.user.has_perm(VIEW):
            raise PermissionDenied
        return self.of(versions())

    def of(self, found: Sequence[Version]) -> Drawn:
        raise NotImplementedError


class Lineage(AdaptersFigure):
    row, name = LineageRow, "lineage"

    def of(self, found: Sequence[Version]) -> Drawn:
        rows = lineage_rows(found)
        serving = next((row for row in rows if row.state == charts.SERVES), None)
        told = ngettext("%(n)s version.", "%(n)s versions.", len(rows)) % counted({"n": len(rows)})
        if serving is not None:
            told += " " + _("%(version)s serves.") % {"version": serving.version}
            if serving.parent:
                told += " " + _("It was trained from %(parent)s.") % {"parent": serving.parent}
        columns = [
            Column("version", _("Version")), Column("parent", _("Trained from")),
            Column("state", _("State"), names=state_name), Column("banks", _("Banks"), "number"),
            Column("labels", _("Judgements"), "number"), Column("created", _("Here since"), "time"),
        ]  # fmt: skip
        return Drawn(charts.lineage_figure(rows, names=state_name), told, columns, rows)


def lineage_rows(found: Sequence[Version]) -> list[LineageRow]:
    """The versions, the oldest generation first."""
    rows = [
        LineageRow(
            one.row.version, one.lineage[0] if one.lineage else "", len(one.lineage),
            charts.SERVES if one.serves else charts.SHADOWS if one.shadows else charts.READY, one.banks, one.labels,
            one.row.created_at,
        )
        for one in found
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row.generation, row.created.isoformat() if row.created else "", row.version))


class Compared(AdaptersFigure):
    row, name = CompareRow, "compared"

    def of(self, found: Sequence[Version]) -> Drawn:
        rows = compare_rows(found)
        ahead = sum(row.low > 0 for row in rows)
        told = _(
            "Of %(n)s comparisons on held-out conversations the challenger is surely ahead in %(ahead)s and "
            "surely behind in %(behind)s; where an interval holds 0, chance may have made the difference."
        )
        told %= counted({
            "n": len(rows), "ahead": ahead, "behind": sum(row.high < 0 for row in rows),
        })  # fmt: skip
        columns = [
            Column("version", _("Challenger")), Column("of", _("On held-out conversations"), names=_metric),
            Column("kind", _("Kind"), names=_kind), Column("difference", _("Difference"), "number"),
            Column("low", _("from"), "number"), Column("high", _("to"), "number"),
            Column("champion", _("What served"), "number"), Column("challenger", _("This one"), "number"),
            Column("n", _("Judgements"), "number"),
        ]  # fmt: skip
        empty = "" if rows else _("No run has trained a challenger yet: once one has, it is compared here.")
        return Drawn(charts.compare_figure(rows, labels=_labelled), told if rows else "", columns, rows, empty)


def compare_rows(found: Sequence[Version]) -> list[CompareRow]:
    """Every figure of every challenger that is known whole, the newest version first."""
    rows = []
    for one in found:
        for told in one.metrics:
            if None in [told.get(name) for name in ("champion", "challenger", "low", "high", "change")]:
                continue
            rows.append(
                CompareRow(
                    one.row.version, str(told.get("of") or told["name"]), str(told.get("kind") or ""), told["champion"],
                    told["challenger"], round(told["change"], 6), told["low"], told["high"], int(told.get("n") or 0),
                )
            )  # fmt: skip
    return rows


def _metric(code: str) -> str:
    return str(METRICS.get(code, code))


def _kind(code: str) -> str:
    return str(KIND_NAMES.get(code, code))


def _labelled(row: CompareRow) -> str:
    return f"{row.version} · {_metric(row.of)} · {_kind(row.kind)}"


FIGURES: tuple[type[AdaptersFigure], ...] = (Lineage, Compared)


def cards() -> list[dict[str, Any]]:
    """What the registry's page shows of them, in its order."""
    titles = {"lineage": _("Who comes from whom"), "compared": _("Champion against challenger")}
    return [
        {"name": one.name, "title": titles[one.name], "address": reverse(f"api_adapters_{one.name}"), "low": True}
        for one in FIGURES
    ]
