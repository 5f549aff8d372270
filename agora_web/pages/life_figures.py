"""The figures of one conversation's memory, as JSON: memory's rows, with what training knows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agora_web.pages import life_words as words
from agora_web.pages import sureness
from agora_web.pages.door_figure import memory_address, recall_address
from agora_web.pages.life_figure import LifeFigure, nothing_yet, of_memory, of_recall, stretch
from memory import life, life_calibration, life_moments, life_recalls
from memory.api.figures import Drawn
from memory.charts import importance, moments, recalls, spans
from memory.figure_rows import Column
from memory.thousands import counted
from training.services.judgements import judged
from training.services.uncertainty import Judge, judge_of


class Importance(LifeFigure):
    row, name = life.ImportanceRow, "importance"

    judge: Judge

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        known = sureness.with_intervals(life.with_words(rows, ("text", "speaker")), self.judge, lambda row: row.memory)
        return self.door.rows(known)

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        rows = importance_of(found, first, last, asked)
        self.judge = judge_of(found.conversation.bank, found.usual)
        exact = importance.is_exact(rows)
        shown = self.finished(rows) if exact else rows
        drawn = importance.importance_figure(
            shown, first, last, address=memory_address, names=words.group,
            changes=life.adapter_changes(found, first, last),
        )  # fmt: skip
        columns = [
            Column("turn", _("Turn"), "number"), Column("text", _("Memory"), "words", of_memory),
            Column("importance", _("Importance"), "number"), *sureness.columns(),
            Column("first", _("when written"), "number"), Column("label", _("Judged"), "number"),
            Column("state", _("State"), names=words.state), Column("adapter", _("Scored by")),
        ]  # fmt: skip
        empty = nothing_yet(found) or ("" if rows else _("No memory of these turns fits the filters."))
        note = _("So many memories are shown as bands: mean, lowest and highest of a few turns. Zoom in to see each.")
        if exact and len(rows) > importance.MOST_BARS:
            note = _("So many intervals are left to the table and to the marks. Zoom in to see them as bars.")
        elif exact:
            note = sureness.note(shown, self.judge)
        return Drawn(drawn, _importance_told(rows, first, last), columns, rows, empty, note)


def importance_of(
    found: life.Life, first: int, last: int, asked: Mapping[str, Any], *, only_judged: bool = False
) -> list[life.ImportanceRow]:
    """The rows that a query asks for, with what people and machines judged of them."""
    return life.importance_rows(
        found, first, last, labels=judged(found.conversation.bank_id), only_judged=only_judged,
        kinds=[asked["kind"]] if "kind" in asked else [], adapter=asked["adapter"],
    )  # fmt: skip


def _importance_told(rows: Sequence[life.ImportanceRow], first: int, last: int) -> str:
    if not rows:
        return ""
    scores = [row.importance for row in rows]
    told = ngettext(
        "%(n)s memory of turns %(first)d to %(last)d, importance from %(low).2f to %(high).2f, on average %(mean).2f; "
        "%(judged)s judged.",
        "%(n)s memories of turns %(first)d to %(last)d, importance from %(low).2f to %(high).2f, on average %(mean).2f;"
        " %(judged)s judged.",
        len(rows),
    )  # fmt: skip
    return told % counted({
        "n": len(rows), "low": min(scores), "high": max(scores), "mean": sum(scores) / len(scores),
        "judged": sum(row.label is not None for row in rows), **stretch(first, last),
    })  # fmt: skip


class Calibration(LifeFigure):
    row, name = life_calibration.CalibrationRow, "calibration"

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return rows

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        rows = life_calibration.calibration_rows(importance_of(found, first, last, asked, only_judged=True))
        columns = [
            Column("low", _("From"), "number"), Column("high", _("to"), "number"),
            Column("memories", _("Memories"), "number"), Column("importance", _("Mean importance"), "number"),
            Column("label", _("Mean judgement"), "number"),
        ]  # fmt: skip
        empty = "" if rows else _("No memory of these turns was judged yet: say useful, outdated or wrong of one in "
                                  "the chat, or open the conversation to labelling.")  # fmt: skip
        n = sum(row.memories for row in rows)
        told = ngettext(
            "%(n)s judged memory by its importance: on the dotted line a score means what people say.",
            "%(n)s judged memories by their importance: on the dotted line a score means what people say.", n,
        )  # fmt: skip
        return Drawn(importance.calibration_figure(rows), told % counted({"n": n}) if n else "", columns, rows, empty)


class Budget(LifeFigure):
    row, name = life.BudgetRow, "budget"

    def finished(self, rows: Sequence[Any]) -> Sequence[Any]:
        return rows

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        rows = life.budget_rows(found, first, last)
        columns = [
            Column("turn", _("Turn"), "number"), Column("at", _("When"), "time"),
            Column("memories", _("Memories"), "number"), Column("budget_memories", _("of at most"), "number"),
            Column("tokens", _("Tokens"), "number"), Column("budget_tokens", _("of at most"), "number"),
        ]  # fmt: skip
        told = ""
        if rows:
            end = rows[-1]
            told = _(
                "After turn %(turn)d the bank held %(memories)s of %(most)s memories (%(share).0f %%) and "
                "%(tokens)s of %(most_tokens)s tokens (%(token_share).0f %%), over all its conversations."
            )
            told %= counted({
                "turn": end.turn, "memories": end.memories, "most": end.budget_memories,
                "share": 100 * end.memories_share, "tokens": end.tokens, "most_tokens": end.budget_tokens,
                "token_share": 100 * end.tokens_share,
            })  # fmt: skip
        empty = nothing_yet(found) or ("" if rows else _("None of these turns has changed the bank."))
        return Drawn(spans.budget_figure(rows, first, last), told, columns, rows, empty)


class Evictions(LifeFigure):
    row, name = life.SpanRow, "evictions"

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        reasons = [asked["reason"]] if "reason" in asked else []
        rows = life.span_rows(found, first, last, reasons=reasons, adapter=asked["adapter"])
        exact = spans.is_exact(rows)
        drawn = spans.spans_figure(
            self.finished(rows) if exact else rows, first, last, address=memory_address, names=words.reason
        )
        columns = [
            Column("came", _("Came at turn"), "number"), Column("left", _("left at turn"), "number"),
            Column("reason", _("Why it left"), names=words.reason), Column("text", _("Memory"), "words", of_memory),
            Column("score", _("Ranked at"), "number"), Column("policy", _("Policy")),
            Column("how", _("How it came"), names=words.how),
        ]  # fmt: skip
        empty = nothing_yet(found) or ("" if rows else _("No memory of these turns fits the filters."))
        note = "" if exact else _("So many are counted by turn and reason. Zoom in to see each as a bar.")
        return Drawn(drawn, _evictions_told(rows, first, last), columns, rows, empty, note)


def _evictions_told(rows: Sequence[life.SpanRow], first: int, last: int) -> str:
    if not rows:
        return ""
    gone = Counter(row.reason for row in rows if row.left is not None and first <= row.left <= last)
    held = sum(row.left is None or row.left > last for row in rows)
    why = ", ".join(f"{words.reason(reason)} {n}" for reason, n in gone.most_common())
    told = _("%(left)s left the bank between turns %(first)d and %(last)d; %(held)s were in it at the end.") % counted({
        "left": gone.total(), "held": held, **stretch(first, last),
    })  # fmt: skip
    return f"{told} {_('Why they left')}: {why}." if why else told


class Weights(LifeFigure):
    row, name = life_recalls.WeightRow, "weights"

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        heat = life_recalls.heat_of(found, first, last, order=asked["order"], adapter=asked["adapter"])
        rows = life_recalls.WeightRows(life_recalls.traces_of(found, first, last, asked["adapter"]))
        shown = life_recalls.with_labels(heat, self.finished(heat.rows))
        columns = [
            Column("turn", _("Turn"), "number", of_recall), Column("weight", _("Weight"), "number"),
            Column("what", _("What became of it"), names=words.what), Column("text", _("Memory"), "words", of_memory),
            Column("fit", _("Fit"), "number"), Column("floor", _("Floor"), "number"),
            Column("rank", _("Rank"), "number"),
        ]  # fmt: skip
        return Drawn(
            recalls.weights_figure(shown, address=recall_address), _weights_told(heat), columns, rows,
            nothing_yet(found) or _nothing_recalled(heat, len(rows)), _weights_note(heat),
        )  # fmt: skip


def _nothing_recalled(heat: life_recalls.Heat, rows: int) -> str:
    if heat.rows:
        return ""
    if rows:
        return _(
            "In these turns every memory lay below the floor: nothing was recalled. The table has what was weighed."
        )
    return _("Nothing was recalled in these turns. An imported conversation is remembered without asking the bank.")


def _weights_told(heat: life_recalls.Heat) -> str:
    if not heat.rows:
        return ""
    best = max(heat.rows, key=lambda row: row.mass)
    told = ngettext(
        "%(n)s memory was recalled in turns %(first)d to %(last)d.",
        "%(n)s memories were recalled in turns %(first)d to %(last)d.", len(heat.rows) + heat.others,
    )  # fmt: skip
    told %= counted({"n": len(heat.rows) + heat.others, **stretch(heat.first, heat.last)})
    most = ngettext(
        "The one with most weight was recalled %(n)s time, %(mass).2f in all.",
        "The one with most weight was recalled %(n)s times, %(mass).2f in all.", best.recalls,
    )  # fmt: skip
    return f"{told} {most % counted({'n': best.recalls, 'mass': best.mass})}"


def _weights_note(heat: life_recalls.Heat) -> str:
    notes = []
    if not heat.exact:
        notes.append(
            _("Each column is %(n)s turns and shows the largest weight. Near misses and what lay below the floor "
              "are shown from %(most)s turns on downwards: zoom in.") % counted({"n": heat.width,
                                                                        "most": life_recalls.EXACT_TURNS})
        )  # fmt: skip
    if heat.others:
        notes.append(
            ngettext("%(n)s more was recalled with less weight.", "%(n)s more were recalled with less weight.",
                     heat.others) % counted({"n": heat.others})
        )  # fmt: skip
    return " ".join(notes)


class Moment(LifeFigure):
    row, name = life_moments.MomentRow, "moment"

    def between(self, found: life.Life, first: int, last: int, asked: dict[str, Any]) -> Drawn:
        at = min(asked.get("at", found.turns), found.turns)
        against = min(asked["against"], found.turns) if "against" in asked else None
        show = asked.get("show") or ("held" if against is None else "all")
        rows = life_moments.moment_rows(found, at, against, show)
        counts = life_moments.places_at(found, at)
        before = None if against is None else life_moments.places_at(found, against)
        drawn = moments.moment_figure(at, counts, against, before, names=words.place)
        columns = [
            Column("text", _("Memory"), "words", of_memory), Column("turn", _("Turn"), "number"),
            Column("importance", _("Importance then"), "number"), Column("tokens", _("Tokens"), "number"),
            Column("state", _("State"), names=words.state),
        ]  # fmt: skip
        if against is not None:
            columns.append(Column("change", _("Since turn %(n)d") % {"n": against}, names=words.change))
        told = _moment_told(found, at, against, counts)
        return Drawn(drawn, told, columns, rows, nothing_yet(found))


def _moment_told(found: life.Life, at: int, against: int | None, counts: Counter[str]) -> str:
    held = counts["held"] + counts["pinned"]
    told = _("After turn %(turn)d the bank held %(held)s memories, %(pinned)s of them pinned; %(out)s were elsewhere.")
    told %= counted({"turn": at, "held": held, "pinned": counts["pinned"], "out": counts.total() - held})
    if against is None:
        return told
    came, left = (len(life_moments.moment_rows(found, at, against, show)) for show in ("came", "left"))
    since = _("Compared with turn %(turn)d, %(came)s came and %(left)s left.")
    return f"{told} {since % counted({'turn': against, 'came': came, 'left': left})}"


FIGURES: tuple[type[LifeFigure], ...] = (Importance, Calibration, Budget, Evictions, Weights, Moment)
