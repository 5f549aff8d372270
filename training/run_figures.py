"""The curves of one run, as JSON, for whoever sees runs: as far as it has come, and whole once it is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.exceptions import PermissionDenied

from memory.api.figures import Drawn, FigureView
from memory.figure_rows import Column
from training import selectors
from training.charts_runs import CurveRow, curve_rows, curves_figure
from training.models import RunState, TrainingRun
from training.services.sentences import NAMES

VIEW = "training.view_trainingrun"


class RunFigure(FigureView):
    """The curves of one name."""

    row = CurveRow

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        if not self.request.user.has_perm(VIEW):
            raise PermissionDenied
        run = selectors.run(ids["run_id"])
        rows = curve_rows(run.curves, self.name)
        columns = [
            Column("kind", _("What is learned"), names=_named), Column("step", self.of_step(), "number"),
            Column("value", self.of_value(), "number"),
        ]  # fmt: skip
        drawn = curves_figure(rows, x=self.of_step(), y=self.of_value(), names=_named)
        return Drawn(drawn, " ".join(_told(rows)), columns, rows, "" if rows else _nothing(run))

    def of_step(self) -> str:
        """What is counted along the curve."""
        raise NotImplementedError

    def of_value(self) -> str:
        """What it shows."""
        raise NotImplementedError


class Loss(RunFigure):
    name = "loss"

    def of_step(self) -> str:
        return _("Step")

    def of_value(self) -> str:
        return _("Loss a judgement")


class LeftOut(RunFigure):
    name = "left_out"

    def of_step(self) -> str:
        return _("Try")

    def of_value(self) -> str:
        return _("In the right order")


def _named(kind: str) -> str:
    return str(NAMES.get(kind, kind))


def _nothing(run: TrainingRun) -> str:
    if run.state in (RunState.PENDING, RunState.RUNNING):
        return _("It has not learned yet: the curve grows as it does.")
    return _("It ended before it had anything to show here.")


def _told(rows: Sequence[CurveRow]) -> list[str]:
    """A sentence for each kind: from where to where."""
    told = []
    for kind in dict.fromkeys(row.kind for row in rows):
        values = [row.value for row in rows if row.kind == kind]
        told.append(
            _("%(kind)s: from %(first).3f to %(last).3f; lowest %(low).3f, highest %(high).3f.") % {
                "kind": _named(kind).capitalize(), "first": values[0], "last": values[-1], "low": min(values),
                "high": max(values),
            }
        )  # fmt: skip
    return told


FIGURES: tuple[type[RunFigure], ...] = (Loss, LeftOut)


def cards(run: TrainingRun) -> list[dict[str, str]]:
    """What the run's page shows of them, in its order."""
    titles = {
        "loss": _("Loss by step"),
        "left_out": _("Left-out conversations, by how little the labels are trusted"),
    }
    return [
        {"name": one.name, "title": titles[one.name], "address": reverse(f"api_run_{one.name}", args=[run.pk])}
        for one in FIGURES
    ]
