"""How sure what judges a bank is of a score: read off its belief, since nothing is stored with a score.

The belief is that of `memory.engine.adapting`: the weights of a shared adapter are what is usually worth keeping, and
are believed of one person's bank only moderately. A head of the bank's own is surer where it has learned, by the
curvature of the judgements that it was learned from. Features are those that the rows hold, beside what is usual in the
bank now, as when a bank is scored anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from memory.adapters import adapter_of, learned_for
from memory.engine import features
from memory.engine.adapting import own_head
from memory.engine.importance import ImportanceHead
from memory.engine.posterior import Posterior, informed
from memory.engine.statistics import RoleStatistics
from memory.engine.types import Floats, Role, State
from memory.models import AdapterVersion, Bank, Memory
from memory.usual import usual_in
from training.learner.self_taught import FREE
from training.models import About, Label, Source
from training.services.judgements import judged_by_people


@dataclass(frozen=True)
class _Usual:
    """What a bank's head standardises with, now."""

    head: ImportanceHead
    kind: str
    statistics: RoleStatistics

    def standardised(self, memories: Collection[UUID]) -> tuple[list[UUID], Floats]:
        """Those whose rows hold features, with these as the head sees them, (N, F)."""
        rows = Memory.objects.filter(pk__in=memories).exclude(features=[]).exclude(state=State.FORGOTTEN)
        found: list[UUID] = []
        out: list[Floats] = []
        for memory, role, stored in rows.values_list("pk", "role", "features"):
            values = np.zeros(len(features.NAMES), dtype=np.float32)
            values[: len(stored)] = stored
            found.append(memory)
            out.append(self.head.standardised(values, Role(role), self.statistics, self.kind))
        return found, np.array(out, dtype=np.float32).reshape(len(out), len(features.NAMES))


@dataclass(frozen=True)
class Judge:
    """What judges a bank now, and what it leaves open."""

    version: str
    learned_from: int  # memories of this bank; 0 for a shared adapter, which has learned nothing of it
    belief: Posterior
    usual: _Usual

    def deviations(self, memories: Collection[UUID]) -> dict[UUID, float]:
        """The standard deviation of each memory's logit; a memory whose row holds no features is left out."""
        found, z = self.usual.standardised(memories)
        return dict(zip(found, self.belief.uncertainty(z).tolist(), strict=True)) if found else {}


def judge_of(bank: Bank, usual_there: tuple[RoleStatistics, str] | None = None) -> Judge:
    """What judges this bank now, read as somebody who may read it; what is usual there, where that is known already."""
    adapter, (statistics, kind) = adapter_of(bank), usual_there or usual_in(bank)
    usual = _Usual(adapter.importance, kind, statistics)
    prior = adapter.importance.priors[usual.kind]
    belief = own_head(prior.weights, prior.bias)
    if adapter.version not in learned_for(bank.pk):
        return Judge(adapter.version, 0, belief, usual)
    trust = _trust(bank, adapter.version)
    if any(free for _trusted, free in trust.values()):  # hindsight says nothing of how much is worth keeping
        belief = replace(belief, precision=_with_free_bias(belief))
    memories, z = usual.standardised(trust)
    return Judge(adapter.version, len(trust), informed(belief, z, [trust[one][0] for one in memories]), usual)


def _with_free_bias(belief: Posterior) -> np.ndarray:
    precision = belief.precision.copy()
    precision[-1, -1] = FREE
    return precision


def _trust(bank: Bank, version: str) -> dict[UUID, tuple[float, bool]]:
    """The memories that the bank's own version learned from: what each counts for, as it was learned
    (`training.services.own_heads`), and whether by hindsight."""
    manifest = AdapterVersion.objects.values_list("manifest", flat=True).get(version=version)
    learned: Sequence[UUID] = [UUID(memory) for memory in manifest.get("memories", [])]
    by_people = judged_by_people(bank)
    labels = Label.objects.filter(memory__in=learned, source=Source.HINDSIGHT, about=About.IMPORTANCE, weight__gt=0)
    by_hindsight = {
        memory: (weight, (turn or memory, side))
        for memory, weight, turn, side in labels.values_list("memory", "weight", "memory__turn", "memory__side")
        if memory not in by_people
    }
    pieces = Counter(side for _weight, side in by_hindsight.values())
    hindsight = {memory: (weight / pieces[side], True) for memory, (weight, side) in by_hindsight.items()}
    return {memory: (1.0, False) for memory in learned if memory in by_people} | hindsight
