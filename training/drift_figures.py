"""The figures of drift, as JSON: what the serving adapter learned from beside what banks wrote since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied

from memory.api.figures import Drawn, FigureQuery, FigureView
from memory.engine import features
from memory.engine.importance import KINDS
from memory.figure_rows import Column
from memory.thousands import counted
from training import charts_drift as charts
from training import drift
from training import feature_words as words
from training.adapter_figures import VIEW
from training.drift import BinRow, Drift, DriftRow
from training.learner.distributions import LEAST
from training.services.sentences import KIND_NAMES

DAYS = (7, 30, 90, 365)
USUAL = 30
TOLD = 3  # features that the sentence names


def verdict(code: str) -> str:
    """How far a feature has moved, in words."""
    return {
        "far": _("moved far"), "moved": _("moved"), "chance": _("may be chance"), "still": _("as it was"),
    }[code]  # fmt: skip


class DriftQuery(FigureQuery):
    """Which days, and which kind of conversation; of the figure of one feature, which."""

    days = serializers.ChoiceField(DAYS, required=False, default=USUAL)
    kind = serializers.ChoiceField(KINDS, required=False, default="")
    feature = serializers.ChoiceField(features.NAMES, required=False, default="")


class DriftFigure(FigureView):
    """A figure of drift, for whoever sees promotions."""

    query = DriftQuery

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        if not self.request.user.has_perm(VIEW):
            raise PermissionDenied
        found = drift.drift_of(int(asked["days"]), asked["kind"], timezone.now())
        return self.of(found, drift.drift_rows(found), asked)

    def of(self, found: Drift, rows: Sequence[DriftRow], asked: dict[str, Any]) -> Drawn:
        raise NotImplementedError


class Moved(DriftFigure):
    row, name = DriftRow, "drift"

    def of(self, found: Drift, rows: Sequence[DriftRow], asked: dict[str, Any]) -> Drawn:
        columns = [
            Column("feature", _("Feature"), names=words.feature), Column("verdict", _("Verdict"), names=verdict),
            Column("index", _("Stability index"), "number"), Column("chance", _("Chance alone"), "number"),
            Column("above_then", _("Share that has it, then"), "number"), Column("above_now", _("now"), "number"),
            Column("than", _("It begins at"), "number"),
        ]  # fmt: skip
        note = _("The index is 0 where nothing moved; beyond 0.1 something has, beyond 0.25 a head may judge what it "
                 "never learned (the dotted lines). Few memories move it by chance.")  # fmt: skip
        drawn = charts.drift_figure(rows, names=words.feature, verdicts=verdict)
        return Drawn(drawn, _told(found, rows), columns, rows, _nothing(found), note if rows else "")


class Bins(DriftFigure):
    row, name = BinRow, "distribution"

    def of(self, found: Drift, rows: Sequence[DriftRow], asked: dict[str, Any]) -> Drawn:
        name = asked["feature"] or next((row.feature for row in rows), "")
        bins = drift.bin_rows(found, name)
        columns = [
            Column("low", _("From"), "number"), Column("high", _("to below"), "number"),
            Column("then", _("Learned from"), "number"), Column("share_then", _("Share"), "number"),
            Column("now", _("Written since"), "number"), Column("share_now", _("Share"), "number"),
        ]  # fmt: skip
        told = ""
        if bins:
            one = next(row for row in rows if row.feature == name)
            told = _("%(feature)s: %(verdict)s (stability index %(index).2f, by chance below %(chance).2f).") % {
                "feature": words.feature(name), "verdict": verdict(one.verdict), "index": one.index,
                "chance": one.chance,
            }  # fmt: skip
        drawn = charts.bins_figure(bins, spans=lambda row: words.span(name, row.low, row.high))
        note = _("The figure shows counts; the table and the rows have ln(1 + count), as they are stored.")
        return Drawn(drawn, told, columns, bins, _nothing(found), note if bins and name in words.COUNTS else "")


def _nothing(found: Drift) -> str:
    """Why there is nothing to compare, if so."""
    kind = KIND_NAMES[found.kind]
    if found.erased:
        return _("%(version)s learned from what was erased since, and its numbers went with that. The version that is "
                 "learned anew keeps its own.") % {"version": found.serves}  # fmt: skip
    if found.learned is None:
        return _("No distribution is kept of what %(version)s learned of %(kind)s: its weights were set by hand, or "
                 "it is older than this figure. The next run keeps one.") % {
            "version": found.serves, "kind": kind,
        }  # fmt: skip
    if not found.counts:
        return _("Since %(day)s fewer than %(n)s memories of %(kind)s were written: too few to compare.") % counted({
            "day": date_format(found.since), "n": LEAST, "kind": kind,
        })  # fmt: skip
    return ""


def _told(found: Drift, rows: Sequence[DriftRow]) -> str:
    if found.learned is None or not rows:
        return ""
    told = ngettext(
        "%(n)s memory of %(kind)s was written since %(day)s; %(version)s learned from %(then)s.",
        "%(n)s memories of %(kind)s were written since %(day)s; %(version)s learned from %(then)s.", found.now,
    ) % counted({
        "n": found.now, "kind": KIND_NAMES[found.kind], "day": date_format(found.since),
        "version": found.learned.version, "then": found.learned.memories,
    })  # fmt: skip
    counts = Counter(row.verdict for row in rows)
    moved = [row for row in rows if row.verdict in ("far", "moved")]
    if not moved:
        return f"{told} {_('No feature has moved more than chance may move it.')}"
    how = _("Of %(n)s features %(far)s moved far and %(moved)s moved.") % counted({
        "n": len(rows), "far": counts["far"], "moved": counts["moved"],
    })  # fmt: skip
    return " ".join([told, how, *map(plainly, moved[:TOLD])])


def plainly(row: DriftRow) -> str:
    """What has become of one feature, in plain words."""
    name = words.feature(row.feature)
    shares = {"what": name, "now": 100 * row.above_now, "then": 100 * row.above_then}
    if not row.alone or row.feature in words.SHARES:
        than = words.value(row.feature, row.than)
        return _("%(what)s: %(now).0f %% are at %(than)s or more, and were %(then).0f %%.") % {**shares, "than": than}
    if not row.above_then:
        return _("%(what)s: in %(now).0f %%, and never in training.") % shares
    if not row.above_now:
        return _("%(what)s: no more, and in %(then).0f %% in training.") % shares
    if row.above_now >= row.above_then:
        return _("%(what)s: %(times).1f times as common as in training (%(now).0f %%, then %(then).0f %%).") % {
            **shares, "times": row.above_now / row.above_then,
        }  # fmt: skip
    return _("%(what)s: %(times).1f times rarer than in training (%(now).0f %%, then %(then).0f %%).") % {
        **shares, "times": row.above_then / row.above_now,
    }  # fmt: skip


FIGURES: tuple[type[DriftFigure], ...] = (Moved, Bins)


def cards() -> list[dict[str, Any]]:
    """What the registry's page shows of them, in its order."""
    titles = {"drift": _("What moved since training"), "distribution": _("One feature, then and now")}
    return [
        {"name": one.name, "title": titles[one.name], "address": reverse(f"api_adapters_{one.name}"), "low": True}
        for one in FIGURES
    ]


def choices() -> dict[str, Any]:
    """What the form above them lets one choose."""
    spans = [(n, ngettext("the last %(n)d day", "the last %(n)d days", n) % {"n": n}) for n in DAYS]
    return {
        "days": [("" if n == USUAL else n, label) for n, label in spans],
        "kinds": [(kind, KIND_NAMES[kind]) for kind in KINDS],
        "features": [(name, words.feature(name)) for name in features.NAMES],
    }  # fmt: skip
