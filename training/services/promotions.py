"""Which adapter serves: promoted if it is better and nobody loses, rolled back in one step, both kept for ever.

A promotion stores the choice for new banks at once; the banks that follow are scored anew behind it, one job a bank
(`training.services.rescoring`). What a bank's row says always holds for that bank.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connections, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.adapters import (
    AdapterMissing,
    adapter_named,
    register_adapter,
    serve_by_default,
    serving_adapter,
    shipped_adapter,
)  # fmt: skip
from memory.engine.adapter import Adapter
from memory.engine.types import BankError
from memory.models import AdapterVersion, Job, JobState
from memory.services.jobs import enqueue
from memory.thousands import counted
from training.models import Promotion, PromotionMode, Rules, RunState, TrainingRun
from training.services.sentences import GUARDS, NAMES

log = logging.getLogger(__name__)
JOB, STEP_JOB = "training.promotion", "training.rescore"
LOCK = 0x41474F52  # of the database: one promotion or roll-back at a time


class PromotionRefused(BankError):
    """The adapter is not promoted; the sentence says why."""


def may_promote(run: TrainingRun, rules: Rules, *, not_worse: bool = False) -> list[str]:
    """Why a run's challenger may not be promoted, each reason a sentence; [] when it may.

    `not_worse` asks only that nobody loses: for what has to be learned anew without what was erased.
    """
    report: dict[str, Any] = run.report
    if run.state != RunState.DONE or run.challenger_id is None or not report:
        return [_("This run has no challenger to promote: it did not end well.")]
    told = [] if not_worse else list(_not_better(report, rules))
    return [*told, *_losses(report, rules)]


def _not_better(report: dict[str, Any], rules: Rules) -> Iterator[str]:
    better = float(report.get("better", 0.0))
    if not better >= rules.confidence:  # so that not-a-number is no proof either
        yield _(
            "That it is better on held-out conversations is %(better)s %% sure; promoting asks for %(wanted)s %%."
        ) % {"better": _percent(better), "wanted": _percent(rules.confidence)}
    elif report.get("verdict", "better") != "better":
        yield str(report.get("sentence") or _("Its run does not find it better than what serves."))


def _losses(report: dict[str, Any], rules: Rules) -> Iterator[str]:
    for guard in report.get("guards", ()):
        lost = guard.get("lost")  # none where there was nothing to measure
        if not guard.get("ok", True) or not (lost is None or lost <= rules.most_lost):
            yield _("On “%(name)s” it loses %(lost)s; at most %(most)s may be lost.") % {
                "name": _guard_name(guard), "lost": f"{lost or 0:.3f}", "most": f"{rules.most_lost:.3f}",
            }  # fmt: skip
    for kind, found in report.get("by_kind", {}).items():
        lost = float(found.get("lost", found.get("champion", 0.0) - found.get("challenger", 0.0)))
        if not lost <= rules.most_lost:
            yield _("Conversations of the kind “%(kind)s” lose %(lost)s; at most %(most)s may be lost.") % {
                "kind": NAMES.get(kind, kind), "lost": f"{lost:.3f}", "most": f"{rules.most_lost:.3f}",
            }  # fmt: skip


def _guard_name(guard: dict[str, Any]) -> str:
    """What a guard looks at, in words; a report from before guards had them says its code."""
    of, kind = str(guard.get("of", "")), str(guard.get("kind", ""))
    return f"{GUARDS[of]}, {NAMES.get(kind, kind)}" if of in GUARDS else str(guard.get("name", ""))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0")


def promote(
    what: TrainingRun | str, *, by: UUID | None, reason: str = "", automatic: bool = False,
    mode: str = PromotionMode.SERVE, now: datetime, using: str = "default",
) -> Promotion:  # fmt: skip
    """Let a run's challenger, or an adapter by its version, serve from now on, or score silently beside what serves.

    To serve it must pass `may_promote`, or somebody gives a reason why it shall serve all the same, which is kept.
    Raises `PromotionRefused`.
    """
    run = what if isinstance(what, TrainingRun) else None
    version = (what.challenger_id or "") if isinstance(what, TrainingRun) else what
    with transaction.atomic(using=using):
        _alone(using)
        adapter, former = _promotable(version), serving_adapter()
        if adapter.version == former.version:
            raise PromotionRefused(_("%(version)s serves already.") % {"version": version})
        if mode == PromotionMode.SERVE:
            _refuse_while_busy(using)
            told = against(run, using=using)
            if told and not reason.strip():
                raise PromotionRefused(" ".join(told))
        made = _write(
            adapter, former, run, using, by_id=by, reason=reason.strip(), automatic=automatic, mode=mode, at=now
        )
    return made


def against(run: TrainingRun | None, *, using: str = "default") -> list[str]:
    """All that speaks against letting a run's challenger serve in place of what serves now, each a sentence."""
    if run is None:
        return [_("No run has compared it with what serves now.")]
    told, serves = may_promote(run, Rules.in_force(using)), serving_adapter().version
    if run.champion_id and run.champion_id != serves:
        told.append(
            _("It was compared with %(champion)s, but %(serves)s serves now: train again.")
            % {"champion": run.champion_id, "serves": serves}
        )
    return told


def _write(adapter: Adapter, former: Adapter, run: TrainingRun | None, using: str, **fields: Any) -> Promotion:
    """The row, and what it sets going."""
    rows = {one.version: register_adapter(one, using=using) for one in (adapter, former)}
    _end_shadow(using, fields["by_id"], fields["at"])
    made = Promotion.objects.using(using).create(
        adapter_id=rows[adapter.version].pk, former_id=rows[former.version].pk, run_id=run.pk if run else None, **fields
    )  # fmt: skip
    if made.mode == PromotionMode.SERVE:
        serve_by_default(adapter.version, using=using)
        enqueue(JOB, str(made.pk), owner_id=made.by_id, using=using)
    return made


def roll_back(promotion_id: UUID, *, by: UUID | None, now: datetime, using: str = "default") -> Promotion:
    """Take the newest promotion that holds back: the former adapter serves, and every bank is as it was, less what
    people changed since. A shadow ends. Raises `PromotionRefused`."""
    with transaction.atomic(using=using):
        _alone(using)
        made = Promotion.objects.using(using).filter(pk=promotion_id).first()
        if made is None or made.undone_at is not None:
            raise PromotionRefused(_("There is no such promotion, or it was rolled back already."))
        if made.mode == PromotionMode.SERVE and made != holding(using).first():
            raise PromotionRefused(_("Another adapter was promoted since. Roll that one back first."))
        if made.mode == PromotionMode.SERVE:
            _refuse_erased(made.former_id)
        made.undone_at, made.undone_by_id = now, by
        made.save(using=using, update_fields=["undone_at", "undone_by"])
        if made.mode == PromotionMode.SERVE:
            serve_by_default(_there(made.former_id).version, using=using)
            enqueue(JOB, f"{made.pk}:back", owner_id=by, using=using)
    return made


def promote_again(promotion_id: UUID, *, by: UUID | None, now: datetime, using: str = "default") -> Promotion:
    """Undo a roll-back: what it rolled back is promoted anew, for the reasons it had. Raises `PromotionRefused`."""
    with transaction.atomic(using=using):
        _alone(using)
        made = Promotion.objects.using(using).filter(pk=promotion_id, undone_at__isnull=False).first()
        if made is None or made.mode != PromotionMode.SERVE:
            raise PromotionRefused(_("There is no such roll-back."))
        adapter, former = _promotable(made.adapter_id), serving_adapter()
        if former.version != _there(made.former_id).version:
            raise PromotionRefused(_("Another adapter was promoted since. Promote this one like any other."))
        _refuse_while_busy(using)
        again = _write(
            adapter, former, made.run, using, by_id=by, reason=made.reason, automatic=False, mode=made.mode, at=now
        )  # fmt: skip
    return again


def after_run(run: TrainingRun) -> Promotion | None:
    """What the rules say is to happen once a run has ended and that is committed: nothing, a shadow, or a promotion.

    Called by the worker. Never raises for what the rules refuse: the registry page says it.
    """
    from training.services import forgetting  # it asks for promotions itself

    run = TrainingRun.objects.using("worker").get(pk=run.pk)
    if run.state != RunState.DONE or run.challenger_id is None:
        return None
    now, rules = timezone.now(), Rules.in_force("worker")
    if forgetting.note_learned_anew(run):
        return _tried(run, rules, now, mode=PromotionMode.SERVE, erasure=True)
    if rules.promote == Rules.Promote.MANUAL or may_promote(run, rules):
        return None
    mode = PromotionMode.SHADOW if rules.promote == Rules.Promote.SHADOW else PromotionMode.SERVE
    return _tried(run, rules, now, mode=mode)


def _tried(run: TrainingRun, rules: Rules, now: datetime, *, mode: str, erasure: bool = False) -> Promotion | None:
    reason = ""
    if erasure:
        if may_promote(run, rules, not_worse=True):
            return None
        reason = _("Learned anew without what was erased; nobody loses by it.")
    try:
        return promote(run, by=None, reason=reason, automatic=True, mode=mode, now=now, using="worker")
    except BankError as error:
        log.warning("run %s: its challenger is not promoted: %s", run.pk, error.sentence)
        return None


def holding(using: str = "default") -> QuerySet[Promotion]:
    """The promotions to serve that hold, newest first."""
    return Promotion.objects.using(using).filter(mode=PromotionMode.SERVE, undone_at=None).order_by("-at")


def shadowing(using: str = "default") -> Promotion | None:
    """The challenger that scores silently, if there is one."""
    return Promotion.objects.using(using).filter(mode=PromotionMode.SHADOW, undone_at=None).order_by("-at").first()


def _end_shadow(using: str, by: UUID | None, now: datetime) -> None:
    """One challenger shadows at a time, and none longer than until it is promoted itself."""
    held = Promotion.objects.using(using).filter(mode=PromotionMode.SHADOW, undone_at=None)
    held.update(undone_at=now, undone_by=by)


def _refuse_while_busy(using: str) -> None:
    going = Job.objects.using(using).filter(kind__in=(JOB, STEP_JOB), state__in=(JobState.PENDING, JobState.RUNNING))
    if n := going.count():
        raise PromotionRefused(
            _("The last change is still on its way through the banks: %(n)s to go. Wait until it is done.")
            % counted({"n": n})
        )


def _alone(using: str) -> None:
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])


def _promotable(version: str) -> Adapter:
    """Raises `PromotionRefused` for what is not there, cannot be read, or belongs to one bank."""
    if not version:
        raise PromotionRefused(_("This run has no challenger to promote."))
    if AdapterVersion.objects.filter(version=version, manifest__kind="own").exists():
        raise PromotionRefused(_("%(version)s was learned for one bank and serves only there.") % {"version": version})
    _refuse_erased(version)
    try:
        return adapter_named(version)
    except BankError as error:
        raise PromotionRefused(error.sentence) from error


def _refuse_erased(version: str) -> None:
    if AdapterVersion.objects.filter(version=version, manifest__erased=True).exists():
        raise PromotionRefused(
            _("%(version)s had learned from what was erased since, and does not come back.") % {"version": version}
        )


def _there(version: str) -> Adapter:
    """An adapter that served once; one that came with an older release gives way to today's."""
    try:
        return adapter_named(version)
    except AdapterMissing:
        return shipped_adapter()
