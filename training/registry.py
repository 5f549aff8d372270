"""Reads of the registry: which adapters there are, where each comes from, what it serves, and what was promoted when.

Numbers and names of versions alone: staff read nobody's bank.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Count, Q
from django.db.models.functions import Length

from memory.adapters import available_adapters, name_in_row, serving_adapter, shipped_adapter
from memory.engine.adapter_file import MANIFEST, SHIPPED, WEIGHTS
from memory.models import AdapterVersion, Job, JobState
from training.learner.recall_examples import MODES
from training.models import BankStep, Promotion, PromotionMode, RunState, StepState, TrainingRun
from training.services import promotions, rescoring
from training.services.sentences import METRICS, NAMES

SHOWN = 50  # versions, and promotions
FAILED_FIRST = {StepState.FAILED: 0, StepState.WAITING: 1, StepState.DONE: 2, StepState.UNDONE: 3}


@dataclass
class Version:
    """One shared adapter as the page shows it."""

    row: AdapterVersion
    lineage: list[str]  # what it was trained from, the nearest first
    size: int  # bytes
    serves: bool = False
    shadows: bool = False
    banks: int = 0
    own: int = 0  # of these, banks with a head of their own around it
    run: TrainingRun | None = None
    against: list[str] = field(default_factory=list)  # why it may not be promoted, each a sentence

    @property
    def window(self) -> list[str]:
        """The first and the last day of what it learned from, or []."""
        found = self.row.manifest.get("window") or []
        return found if len(found) == 2 else []

    @property
    def labels(self) -> int:
        """How many judgements it learned from, of importance and of what fitted a cue."""
        found = self.row.manifest.get("labels") or 0
        of_fit = self.row.manifest.get("relevance") or {}
        whole: int = sum(found.values()) if isinstance(found, dict) else found
        return whole + sum(int(of_fit.get(mode, 0)) for mode in MODES)

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """Champion beside challenger, with the 95 % interval of the difference."""
        found = (self.run.report if self.run else {}).get("metrics") or self.row.manifest.get("metrics") or {}
        rows = [{"name": name, **row} for name, row in found.items() if isinstance(row, dict) and "champion" in row]
        for row in rows:
            known = None not in (row["champion"], row.get("challenger"))
            row["change"] = row["challenger"] - row["champion"] if known else None
            of, kind = row.get("of", row["name"]), row.get("kind", "")
            row["said"], row["of_kind"] = METRICS.get(of, of), NAMES.get(kind, kind)
        return rows


def versions() -> list[Version]:
    """The shared adapters, newest first, with what each serves."""
    rows = {row.pk: row for row in _shared()}
    banks, serving, shadow = _banks_by_adapter(), serving_adapter().version, promotions.shadowing()
    runs = _runs_of(list(rows))
    parents = dict(AdapterVersion.objects.filter(parent__isnull=False).values_list("version", "parent"))
    found = []
    for row in rows.values():
        name = name_in_row(row.pk)
        one = Version(row, _lineage(row, parents), _size(row), run=runs.get(row.pk))
        one.banks, one.own = banks.get(row.pk, (0, 0))
        if not name:  # the shipped one is served under no name too
            unnamed = banks.get("", (0, 0))
            one.banks, one.own = one.banks + unnamed[0], one.own + unnamed[1]
        one.serves = row.pk == serving
        one.shadows = shadow is not None and row.pk == shadow.adapter_id
        if not one.serves:
            one.against = promotions.against(one.run)
        found.append(one)
    return found


def _shared() -> list[AdapterVersion]:
    """The rows of shared adapters, and of those that come with the code where no bank has used them yet."""
    shared = AdapterVersion.objects.exclude(manifest__kind="own").defer("weights").annotate(bytes=Length("weights"))
    rows = list(shared.order_by("-created_at")[:SHOWN])
    known = {row.pk for row in rows}
    return rows + [AdapterVersion(version=name) for name in available_adapters() if name not in known]


def _size(row: AdapterVersion) -> int:
    if stored := getattr(row, "bytes", None):
        return int(stored)
    if row.pk == shipped_adapter().version:
        return sum((SHIPPED / name).stat().st_size for name in (WEIGHTS, MANIFEST) if (SHIPPED / name).exists())
    return 0


def _lineage(row: AdapterVersion, parents: dict[str, str | None]) -> list[str]:
    out: list[str] = []
    parent = row.parent_id
    while parent and parent not in out:
        out.append(parent)
        parent = parents.get(parent)
    return out


def _banks_by_adapter() -> dict[str, tuple[int, int]]:
    """How many banks each adapter serves, and how many of them by a head of their own; by the name in their rows."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT adapter, banks, own FROM agora_banks_by_adapter()")
        return {adapter: (banks, own) for adapter, banks, own in cursor.fetchall()}


def _runs_of(versions: list[str]) -> dict[str, TrainingRun]:
    """The newest run that ended with each version as its challenger."""
    runs = TrainingRun.objects.filter(challenger__in=versions, state=RunState.DONE).order_by("created_at")
    return {run.challenger_id: run for run in runs if run.challenger_id}


@dataclass
class Change:
    """One promotion, how far it is through the banks, and what can be done about it."""

    promotion: Promotion
    total: int
    there: int  # banks that are where it wants them
    failed: int
    steps: list[BankStep]
    preparing: bool = False  # the banks are being looked up
    holds: bool = False
    can_roll_back: bool = False
    can_promote_again: bool = False

    @property
    def going(self) -> int:
        """Banks on their way."""
        return self.total - self.there - self.failed


STEPS_SHOWN = 100


def changes() -> list[Change]:
    """The promotions, newest first."""
    held = promotions.holding().first()
    serving = serving_adapter().version
    aim_done = Q(promotion__undone_at=None, state=StepState.DONE)
    aim_undone = Q(promotion__undone_at__isnull=False, state=StepState.UNDONE)
    counted: Any = BankStep.objects.values("promotion").annotate(
        total=Count("id"), there=Count("id", filter=aim_done | aim_undone)
    )
    counts = {row["promotion"]: row for row in counted}
    tries, preparing = _tried(promotions.STEP_JOB), _tried(promotions.JOB)
    found: list[Change] = []
    rows = Promotion.objects.select_related("by", "undone_by")[:SHOWN]
    for promotion in rows:
        count = counts.get(promotion.pk, {"total": 0, "there": 0})
        change = Change(promotion, count["total"], count["there"], _failed(promotion, tries), _steps(promotion))
        change.preparing = f"{promotion.pk}{rescoring.BACK if promotion.undone_at else ''}" in preparing
        change.holds = promotion.undone_at is None and (promotion.mode == PromotionMode.SHADOW or promotion == held)
        change.can_roll_back = change.holds
        change.can_promote_again = (
            promotion.undone_at is not None and promotion.mode == PromotionMode.SERVE
            and promotion.former_id == serving
            and not any(later.promotion.mode == PromotionMode.SERVE for later in found)
        )  # fmt: skip
        found.append(change)
    return found


def _tried(kind: str) -> set[str]:
    """Keys of the jobs of one kind that wait or run."""
    going = Job.objects.filter(kind=kind, state__in=(JobState.PENDING, JobState.RUNNING))
    return set(going.values_list("key", flat=True))


def _failed(promotion: Promotion, tried: set[str]) -> int:
    """Steps that are not where the promotion wants them and that nobody is about to try again."""
    back = promotion.undone_at is not None
    aim = StepState.UNDONE if back else StepState.DONE
    unfinished = BankStep.objects.filter(promotion=promotion).exclude(state=aim)
    suffix = rescoring.BACK if back else ""
    return sum(
        f"{step}{suffix}" not in tried and (state == StepState.FAILED or error != "")
        for step, state, error in unfinished.values_list("pk", "state", "error")
    )


def _steps(promotion: Promotion) -> list[BankStep]:
    steps = list(BankStep.objects.filter(promotion=promotion).order_by("-at")[:STEPS_SHOWN])
    return sorted(steps, key=lambda step: FAILED_FIRST[StepState(step.state)])
