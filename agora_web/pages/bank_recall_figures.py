"""The figures of one bank, or of all within reach: which memories do the work, which were missed or told again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agora_web.pages import banks_words, life_words
from agora_web.pages.bank_figure import BankFigure, of_memory, percent
from agora_web.pages.banks_figures import Beside, Composition, Conversations, Fullness, Leaving, Turnover
from agora_web.pages.door_figure import memory_address
from agora_web.pages.reach import each, worded
from memory import bank_lists, bank_past, bank_recalls
from memory.api.figures import Drawn
from memory.bank_past import past_of
from memory.charts import bank_recalls as charts
from memory.figure_rows import Column
from memory.stretch import Stretch
from memory.thousands import counted
from training.models import Label, Source


class Regret(BankFigure):
    row, name, uses = bank_recalls.RegretRow, "regret", ("adapter",)

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        pasts = self.pasts()
        step = bank_past.step_of(pasts, stretch, self.now)
        step = bank_past.DAYS if step == bank_past.HOURS else bank_past.WEEKS  # shares of a few say little
        found = [
            one
            for part in each(self.reached, lambda one: bank_recalls.departures(
                past_of(one.bank), stretch, said_again(one.bank)))
            for one in part
        ]  # fmt: skip
        rows = bank_recalls.regret_rows(found, step, stretch, adapter=asked["adapter"])
        columns = [
            Column("at", _("From"), "time"), Column("policy", _("Policy")), Column("adapter", _("Adapter")),
            Column("left", _("Left for room"), "number"), Column("missed", _("Missed"), "number"),
            Column("said_again", _("Said again"), "number"), Column("share", _("Share missed"), "number"),
        ]  # fmt: skip
        left, missed, again = (sum(getattr(row, name) for row in rows) for name in ("left", "missed", "said_again"))
        told = _("Told %(step)s: of %(left)s that a policy let go, %(missed)s (%(share).1f %%) would have been "
                 "recalled later, and %(again)s their person said again.") % counted({
            "step": banks_words.step(step), "left": left, "missed": missed, "share": percent(missed, left),
            "again": again,
        })  # fmt: skip
        empty = "" if rows else _("No policy let a memory go in this time, so none can be missed.")
        note = _("Larger marks stand for more that left.")
        return Drawn(charts.regret_figure(rows), told if rows else "", columns, rows, empty, note)


def said_again(bank: UUID) -> set[tuple[UUID, UUID]]:
    """(recall, memory) of what was missed and its person then said again."""
    found = Label.objects.filter(memory__bank=bank, source=Source.REGRET, recall__isnull=False)
    return {(recall, memory) for recall, memory in found.values_list("recall", "memory") if recall}


class Work(BankFigure):
    row, name, uses = bank_recalls.WorkRow, "work", ("adapter",)

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return self.with_texts(rows)

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        found = each(self.reached, lambda one: bank_recalls.work_rows(one.bank, stretch, adapter=asked["adapter"]))
        rows = bank_recalls.ranked_work([row for part in found for row in part])
        columns = [
            Column("text", _("Memory"), "words", of_memory), *self.bank_column(),
            Column("mass", _("Weight in all"), "number"), Column("share", _("Share"), "number"),
            Column("cumulative", _("with those above"), "number"), Column("recalls", _("Recalls"), "number"),
            Column("state", _("State"), names=life_words.state),
        ]  # fmt: skip
        recalled = any(row.recalls for row in rows)
        shown = self.finished([rows[place] for place in charts.marks_of(rows)]) if recalled else []
        drawn = charts.work_figure(rows, shown, address=memory_address) if recalled else {}
        empty = "" if recalled else _("Nothing was recalled in this time that fits the filters.")
        return Drawn(drawn, _worked(rows) if recalled else "", columns, rows if recalled else [], empty)


def _worked(rows: Sequence[bank_recalls.WorkRow]) -> str:
    half = next(place for place, row in enumerate(rows, 1) if row.cumulative >= 0.5)
    told = ngettext(
        "%(half)s memory of %(n)s carried half of all weight; %(never)s were never recalled in this time.",
        "%(half)s memories of %(n)s carried half of all weight; %(never)s were never recalled in this time.", half,
    )  # fmt: skip
    return told % counted({"half": half, "n": len(rows), "never": sum(not row.recalls for row in rows)})


class Never(BankFigure):
    row, name, uses = bank_recalls.NeverRow, "never-recalled", ("kind", "adapter")

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        rows = bank_recalls.summed_never(
            each(
                self.reached,
                lambda one: bank_recalls.never_rows(
                    one.bank, self.now, stretch, group=asked["kind"], adapter=asked["adapter"]
                ),
            )
        )
        columns = [
            Column("age", _("In the bank for"), names=banks_words.age), Column("memories", _("Memories"), "number"),
            Column("never", _("never recalled"), "number"), Column("share", _("Share"), "number"),
        ]  # fmt: skip
        n, never = sum(row.memories for row in rows), sum(row.never for row in rows)
        told = ngettext(
            "Of %(n)s memory in the bank %(never)s (%(share).0f %%) was never recalled in this time.",
            "Of %(n)s memories in the bank %(never)s (%(share).0f %%) were never recalled in this time.", n,
        ) % counted({"n": n, "never": never, "share": percent(never, n)})  # fmt: skip
        empty = "" if rows else _("The bank holds no memory that fits the filters.")
        return Drawn(charts.never_figure(rows, ages=banks_words.age), told if rows else "", columns, rows, empty)


class Again(BankFigure):
    row, name, uses, timed = bank_lists.AgainRow, "told-again", ("adapter",), True

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return self.with_texts(rows)

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        found = each(self.reached, lambda one: bank_lists.again_rows(one.bank, self.during(one.bank, asked, stretch)))
        rows = sorted((row for part in found for row in part), key=lambda row: (-row.times, -row.last.timestamp()))
        columns = [
            Column("text", _("Memory"), "words", of_memory), *self.bank_column(),
            Column("times", _("Told"), "number"), Column("retold", _("word for word"), "number"),
            Column("merged", _("nearly so"), "number"), Column("last", _("Last"), "time"),
            Column("state", _("State"), names=life_words.state),
        ]  # fmt: skip
        told = ngettext(
            "%(n)s memory was told again, %(times)s times in all.",
            "%(n)s memories were told again, %(times)s times in all.", len(rows),
        ) % counted({"n": len(rows), "times": sum(row.times - 1 for row in rows)})  # fmt: skip
        empty = "" if rows else _("Nothing was told again in this time: no duplicate had to be merged.")
        return Drawn(charts.again_figure(rows), told if rows else "", columns, rows, empty)


class Doubts(BankFigure):
    row, name, uses, timed = bank_lists.DoubtRow, "contradictions", ("adapter",), True

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return worded(self.reached, rows, bank_lists.with_both_texts)

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        found = each(self.reached, lambda one: bank_lists.doubt_rows(one.bank, self.during(one.bank, asked, stretch)))
        rows = sorted((row for part in found for row in part), key=lambda row: row.at, reverse=True)
        columns = [
            Column("text", _("Older memory"), "words", of_memory),
            Column("newer_text", _("What came later"), "words", lambda row: memory_address(row.newer)),
            *self.bank_column(),
            Column("what", _("What differs"), names=banks_words.differs), Column("at", _("Found"), "time"),
            Column("looked", _("Looked at"), names=banks_words.looked),
            Column("state", _("State"), names=life_words.state),
        ]  # fmt: skip
        still = sum(not row.settled for row in rows)
        told = ngettext(
            "%(n)s memory says otherwise than a later one; %(open)s wait for their person to look.",
            "%(n)s memories say otherwise than later ones; %(open)s wait for their person to look.", len(rows),
        ) % counted({"n": len(rows), "open": still})  # fmt: skip
        empty = "" if rows else _("No contradiction was found in this time.")
        drawn = charts.doubts_figure(rows, names=banks_words.differs)
        return Drawn(drawn, told if rows else "", columns, rows, empty)


OF_ANY: tuple[tuple[str, type[BankFigure]], ...] = (
    ("composition", Composition), ("fullness", Fullness), ("turnover", Turnover), ("leaving", Leaving),
    ("regret", Regret), ("work", Work), ("never", Never), ("again", Again), ("doubts", Doubts),
)  # fmt: skip
OF_ONE: tuple[tuple[str, type[BankFigure]], ...] = (("conversations", Conversations), *OF_ANY)
OF_ALL: tuple[tuple[str, type[BankFigure]], ...] = (("beside", Beside), *OF_ANY)
