"""What the figures of banks share: which banks, which days, which filters; each bank is read behind its own door."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers
from rest_framework.request import Request

from agora_web.pages import life_words
from agora_web.pages.door import passed, visit_of
from agora_web.pages.door_figure import memory_address
from agora_web.pages.reach import MOST_BANKS, Reach, all_banks, among_many, each, one_bank, worded
from memory import life
from memory.api.figures import Drawn, FigureQuery, FigureView
from memory.bank_past import BankPast, past_of
from memory.figure_rows import Column
from memory.stretch import Stretch

FILTERS: dict[str, str | Promise] = {
    "kind": gettext_lazy("kind of memory"), "reason": gettext_lazy("reason"), "adapter": gettext_lazy("adapter"),
}  # fmt: skip


class BankQuery(FigureQuery):
    """Some days, and which memories."""

    since = serializers.DateField(required=False)
    until = serializers.DateField(required=False)
    kind = serializers.ChoiceField(list(life_words.GROUPS), required=False, default="")
    reason = serializers.ChoiceField(list(life_words.REASONS), required=False, default="")
    adapter = serializers.CharField(max_length=80, required=False, default="")
    agent = serializers.UUIDField(required=False)


class BankFigure(FigureView):
    """A figure of one bank, or of all within reach."""

    query = BankQuery
    reached: list[Reach]
    alone: bool  # one bank's page
    now: datetime
    uses: tuple[str, ...] = ()  # filters, besides days and agent, that this figure follows
    timed = False  # of an adapter it shows the times in which that one judged, not what it scored

    def get(self, request: Request, **ids: UUID) -> HttpResponseBase:
        return self._answer(request, **ids) if ids else among_many(lambda: self._answer(request))

    def _answer(self, request: Request, **ids: UUID) -> HttpResponseBase:
        answer = super().get(request, **ids)
        passed([one.door for one in self.reached], visit_of(request))
        return answer

    def drawn(self, asked: dict[str, Any], **ids: UUID) -> Drawn:
        self.alone, self.now = "bank_id" in ids, timezone.now()
        self.reached = [one_bank(ids["bank_id"])] if self.alone else all_banks(asked.get("agent"))[:MOST_BANKS]
        found = self.of(asked, stretch_of(asked)) if self.reached else _no_bank()
        return Drawn(found.figure, found.sentence, found.columns, found.rows, found.empty, self._note(found, asked))

    def of(self, asked: dict[str, Any], stretch: Stretch) -> Drawn:
        """The figure for the checked query `asked`."""
        raise NotImplementedError

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return rows

    def with_texts(self, rows: Sequence[Any]) -> list[Any]:
        """Rows of memories with their words, as each one's door shows them."""
        return worded(self.reached, rows, life.with_words)

    def pasts(self) -> list[BankPast]:
        return each(self.reached, lambda one: past_of(one.bank))

    def during(self, bank: UUID, asked: dict[str, Any], stretch: Stretch) -> Stretch:
        """Of these days what the adapter asked for judged in this bank, inside its door; all of them for none."""
        return past_of(bank).while_judged_by(asked["adapter"], stretch) if asked["adapter"] else stretch

    def names(self) -> dict[UUID, str]:
        return {one.bank: one.name for one in self.reached}

    def bank_column(self) -> list[Column]:
        """Which bank a row is of, where there are several."""
        names = self.names()
        named = Column("bank", _("Bank"), "text", bank_address, lambda key: names.get(UUID(key), key))
        return [] if self.alone else [named]

    def _note(self, found: Drawn, asked: dict[str, Any]) -> str:
        idle = [str(label) for name, label in FILTERS.items() if asked[name] and name not in self.uses]
        notes = [] if found.empty else [found.note]
        if self.timed and asked["adapter"]:
            notes.append(_("Only times in which %(adapter)s judged count.") % {"adapter": asked["adapter"]})
        if idle and not found.empty:
            notes.append(_("Not filtered by %(names)s.") % {"names": ", ".join(idle)})
        return " ".join(note for note in notes if note)


def stretch_of(asked: dict[str, Any]) -> Stretch:
    """The days asked for, from the first one's beginning to the last one's end, in the person's zone."""
    zone = get_current_timezone()

    def midnight(name: str, more: int = 0) -> datetime | None:
        day = asked.get(name)
        return datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(days=more) if day else None

    return Stretch(midnight("since"), midnight("until", 1), zone)


def bank_address(row: Any) -> str:
    """The page of a row's bank."""
    return address_of(row.bank)


def address_of(bank: UUID) -> str:
    """The page of a bank."""
    return reverse("bank_life", args=[bank])


def of_memory(row: Any) -> str:
    """The page of a row's memory."""
    return memory_address(row.memory)


def _no_bank() -> Drawn:
    return Drawn({}, "", [], [], _("There is no bank here yet: one is made when you first talk with an agent."))


def percent(part: float, whole: float) -> float:
    """A share in hundredths; of nothing it is none."""
    return 100 * part / whole if whole else 0.0
