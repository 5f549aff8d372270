"""The figures of one bank, or of all banks within reach: what is in them, how full they were, what came and left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agora_web.pages import banks_words, life_words
from agora_web.pages.bank_figure import BankFigure, address_of, bank_address, of_memory
from agora_web.pages.reach import each
from memory import bank_lists, bank_past
from memory.api.figures import Drawn
from memory.bank_past import past_of
from memory.charts import banks as charts
from memory.figure_rows import Column
from memory.stretch import Stretch
from memory.thousands import counted


def conversation_address(conversation: UUID) -> str:
    """The page of one conversation's memory."""
    return reverse("life", args=[conversation])


class Beside(BankFigure):
    row, name, uses, timed = bank_past.BankRow, "banks", ("adapter",), True

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        rows = each(
            self.reached,
            lambda one: bank_past.bank_row(
                past_of(one.bank), stretch, name=one.name, opened=one.opened, adapter=asked["adapter"]
            ),
        )
        columns = [
            Column("name", _("Bank"), "text", bank_address), Column("held", _("Memories"), "number"),
            Column("share", _("of the budget"), "number"), Column("archived", _("Archived"), "number"),
            Column("written", _("Written"), "number"), Column("evicted", _("Left for room"), "number"),
            Column("recalls", _("Recalls"), "number"), Column("last", _("Last change"), "time"),
        ]  # fmt: skip
        told = ngettext(
            "%(n)s bank holds %(held)s memories; %(evicted)s left it for room in this time.",
            "%(n)s banks hold %(held)s memories; %(evicted)s left them for room in this time.", len(rows),
        )  # fmt: skip
        told %= counted(
            {"n": len(rows), "held": sum(row.held for row in rows), "evicted": sum(row.evicted for row in rows)}
        )
        opened = sum(row.opened for row in rows)
        if opened:
            told += " " + ngettext("%(n)s of them was opened by somebody else.",
                                   "%(n)s of them were opened by others.", opened) % counted({"n": opened})  # fmt: skip
        return Drawn(charts.beside_figure(rows, names=self.names(), address=address_of), told, columns, rows)


class Composition(BankFigure):
    row, name, uses = bank_past.CompositionRow, "composition", ("kind", "adapter")

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        found = each(
            self.reached,
            lambda one: bank_past.composition_rows(
                one.bank, self.now, stretch, group=asked["kind"], adapter=asked["adapter"]
            ),
        )
        rows = bank_past.summed_composition(row for part in found for row in part)
        columns = [
            Column("age", _("Said"), names=banks_words.age), Column("group", _("Kind"), names=life_words.group),
            Column("memories", _("Memories"), "number"), Column("pinned", _("pinned"), "number"),
            Column("tokens", _("Tokens"), "number"), Column("importance", _("Mean importance"), "number"),
        ]  # fmt: skip
        empty = "" if rows else _("The bank holds no memory that fits the filters.")
        return Drawn(charts.composition_figure(rows, ages=banks_words.age, names=life_words.group),
                     _composed(rows), columns, rows, empty)  # fmt: skip


def _composed(rows: Sequence[bank_past.CompositionRow]) -> str:
    if not rows:
        return ""
    groups: Counter[str] = Counter()
    for row in rows:
        groups[row.group] += row.memories
    parts = ", ".join(f"{life_words.group(group)} {n}" for group, n in groups.most_common())
    told = ngettext("%(n)s memory in %(tokens)s tokens", "%(n)s memories in %(tokens)s tokens", groups.total())
    told %= counted({"n": groups.total(), "tokens": sum(row.tokens for row in rows)})
    pinned = sum(row.pinned for row in rows)
    return _("%(told)s, %(pinned)s pinned: %(parts)s.") % counted({"told": told, "pinned": pinned, "parts": parts})


class Conversations(BankFigure):
    row, name, uses, timed = bank_lists.ConversationRow, "conversations", ("adapter",), True

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        (found,) = each(
            self.reached,
            lambda one: one.door.rows(bank_lists.conversation_rows(one.bank, self.during(one.bank, asked, stretch))),
        )
        rows: Sequence[bank_lists.ConversationRow] = found
        columns = [
            Column("title", _("Conversation"), "words", lambda row: conversation_address(row.conversation)),
            Column("last", _("Last used"), "time"), Column("turns", _("Turns"), "number"),
            Column("held", _("In the bank"), "number"), Column("archived", _("In the archive"), "number"),
        ]  # fmt: skip
        n = len(rows)
        told = ngettext(
            "%(n)s conversation of %(turns)s turns: %(held)s memories of it are in the bank, "
            "%(archived)s in the archive.",
            "%(n)s conversations of %(turns)s turns: %(held)s memories of them are in the bank, "
            "%(archived)s in the archive.", n,
        )  # fmt: skip
        sums = {name: sum(getattr(row, name) for row in rows) for name in ("turns", "held", "archived")}
        told %= counted({"n": n, **sums})
        most = charts.MOST_CONVERSATIONS
        note = _("The figure shows the last %(n)s; the table has all.") % counted({"n": most}) if n > most else ""
        drawn = charts.conversations_figure(rows, untitled=_("New conversation"), address=conversation_address)
        empty = "" if rows else _("No conversation of this bank was used in this time.")
        return Drawn(drawn, told if rows else "", columns, rows, empty, note)


class Fullness(BankFigure):
    row, name, uses, timed = bank_past.FullnessRow, "fullness", ("adapter",), True

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        pasts = self.pasts()
        step = bank_past.step_of(pasts, stretch, self.now)
        adapter = asked["adapter"]
        rows = [row for past in pasts for row in bank_past.fullness_rows(past, step, stretch, adapter=adapter)]
        columns = [
            Column("at", _("From"), "time"), *self.bank_column(), Column("memories", _("Memories"), "number"),
            Column("budget_memories", _("of at most"), "number"), Column("most", _("at the fullest"), "number"),
            Column("tokens", _("Tokens"), "number"), Column("budget_tokens", _("of at most"), "number"),
        ]  # fmt: skip
        told = ""
        if rows:
            most = max(rows, key=lambda row: max(row.most, row.tokens_most))
            told = _("Told %(step)s. At the fullest %(memories).0f %% of the memories and %(tokens).0f %% of the "
                     "tokens of a budget were in use.") % {
                "step": banks_words.step(step), "memories": 100 * max(row.most for row in rows),
                "tokens": 100 * max(row.tokens_most for row in rows),
            }  # fmt: skip
            if not self.alone and len(self.reached) > 1:
                told += " " + _("The fullest was %(bank)s.") % {"bank": self.names()[most.bank]}
        lines = len({row.bank for row in rows})
        note = _("The figure shows the %(n)s fullest banks; the table has all.") % counted({"n": charts.MOST_LINES})
        empty = "" if rows else _("Nothing changed in this time.")
        return Drawn(charts.fullness_figure(rows, names=self.names()) if rows else {}, told, columns, rows, empty,
                     note if lines > charts.MOST_LINES else "")  # fmt: skip


class Turnover(BankFigure):
    row, name, uses, timed = bank_past.TurnoverRow, "turnover", ("adapter",), True

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        pasts = self.pasts()
        step = bank_past.step_of(pasts, stretch, self.now)
        rows = bank_past.turnover_rows(pasts, step, stretch, adapter=asked["adapter"])
        columns = [
            Column("at", _("From"), "time"), Column("written", _("Written"), "number"),
            Column("back", _("Came back"), "number"), Column("evicted", _("Left for room"), "number"),
            Column("merged", _("Merged"), "number"), Column("gone", _("Left otherwise"), "number"),
        ]  # fmt: skip
        told = _("Told %(step)s: %(written)s were written and %(back)s came back; %(evicted)s left for room, "
                 "%(merged)s were merged and %(gone)s left otherwise.") % counted({
            "step": banks_words.step(step),
            **{name: sum(getattr(row, name) for row in rows)
               for name in ("written", "back", "evicted", "merged", "gone")},
        })  # fmt: skip
        empty = "" if rows else _("Nothing came and nothing left in this time.")
        return Drawn(charts.turnover_figure(rows, step), told if rows else "", columns, rows, empty)


class Leaving(BankFigure):
    row, name, uses = bank_past.LeavingRow, "evictions", ("reason", "adapter")

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return self.with_texts(rows)

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        rows = [
            row
            for past in self.pasts()
            for row in bank_past.leaving_rows(past, stretch, reason=asked["reason"], adapter=asked["adapter"])
        ]
        rows.sort(key=lambda row: (row.left_at, str(row.memory)), reverse=True)
        columns = [
            Column("left_at", _("Left"), "time"), *self.bank_column(), Column("text", _("Memory"), "words", of_memory),
            Column("reason", _("Why"), names=life_words.reason), Column("days", _("after days"), "number"),
            Column("score", _("Ranked at"), "number"), Column("policy", _("Policy")), Column("adapter", _("Adapter")),
        ]  # fmt: skip
        counts = Counter(row.reason for row in rows)
        why = ", ".join(f"{life_words.reason(reason)} {n}" for reason, n in counts.most_common())
        told = ngettext("%(n)s left: %(why)s.", "%(n)s left: %(why)s.", len(rows)) % counted(
            {"n": len(rows), "why": why}
        )
        empty = "" if rows else _("Nothing left in this time that fits the filters.")
        here = address_of(self.reached[0].bank) if self.alone else reverse("banks")
        drawn = charts.leaving_figure(
            rows, names=life_words.reason, address=lambda reason: f"{here}?reason={reason}#figure-leaving"
        )
        return Drawn(drawn, told if rows else "", columns, rows, empty, _("A click on a bar shows its rows alone."))
