"""Whether masking a memory that a reply rests on makes that reply less likely to the demo model: the ground of a label.

For a sample of LoCoMo's questions with one message as evidence, the reply is the gold answer, and the prompt holds that
message and three others at random. Each of the four is masked in turn. `auc`: how often the evidence's effect is above
another's; `first`: how often it is the largest of the four. As a control the same with another question's answer.
"""

from __future__ import annotations

import json
import random
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.table import Row, mean_of
from memory.engine.trajectories.locomo import evidence_ids, read_locomo
from training.learner.counterfactual import FULL, effects
from training.learner.likelihood import LikelihoodScorer

DISTRACTORS = 3
ADVERSARIAL = 5
THRESHOLDS = (FULL / 2, FULL)


@dataclass(frozen=True)
class Case:
    """One question, its answer, the message that answers it, and others of the same conversation."""

    group: str
    question: str
    answer: str
    evidence: str
    others: Sequence[str]


def add_arguments(parser: ArgumentParser) -> None:
    """The bench's own options."""
    parser.add_argument("--test", type=Path, required=True, metavar="FILE", help="a LoCoMo file")
    parser.add_argument("--sample", type=int, default=60, metavar="N", help="measure so many questions")
    parser.add_argument("--seed", type=int, default=1)


def run(arguments: Namespace) -> list[Row]:
    """Measure with the demo model, print the figures, return the rows."""
    from agora_web.local.likelihood import DemoModelLikelihood

    cases = list(read_cases(arguments.test.read_bytes(), arguments.seed))[: arguments.sample]
    rows = measure(cases, DemoModelLikelihood(), arguments.seed, arguments.test.stem)
    print(shown(rows))
    return rows


def read_cases(data: bytes, seed: int) -> Iterator[Case]:
    """The questions in an order drawn by `seed`; a longer sample begins with a shorter one."""
    draw = random.Random(seed)
    cases: list[Case] = []
    samples = json.loads(data)
    for trajectory, sample in zip(read_locomo(data), samples, strict=True):
        said = {side.external_id: f"{side.speaker}: {side.text}" for turn in trajectory.turns for side in turn.sides}
        for row in sample["qa"]:
            named = [one for text in row.get("evidence", ()) for one in evidence_ids(text)]
            if row["category"] == ADVERSARIAL or len(named) != 1 or named[0] not in said:
                continue
            others = draw.sample([text for name, text in said.items() if name != named[0]], DISTRACTORS)
            cases.append(Case(trajectory.external_id, row["question"], str(row["answer"]), said[named[0]], others))
    draw.shuffle(cases)
    yield from cases


def measure(cases: Sequence[Case], scorer: LikelihoodScorer, seed: int, data: str) -> list[Row]:
    """The rows with the right answers and, as a control, with those of other questions."""
    rows: list[Row] = []
    for method in ("its own answer", "another question's answer"):
        draw = random.Random(seed)
        found: list[tuple[float, Sequence[float]]] = []
        for number, case in enumerate(cases):
            reply = case.answer if method == "its own answer" else cases[number - len(cases) // 2].answer
            texts = [case.evidence, *case.others]
            order = draw.sample(range(len(texts)), len(texts))
            effect = effects(scorer, [texts[one] for one in order], case.question, reply)
            own = effect[order.index(0)]
            found.append((own, [one for place, one in enumerate(effect) if order[place] != 0]))
        rows += _rows(found, [case.group for case in cases], method, data)
    return rows


def _rows(found: Sequence[tuple[float, Sequence[float]]], groups: Sequence[str], method: str, data: str) -> list[Row]:
    others = np.array([one for _own, rest in found for one in rest])
    above = [float(np.mean((own > others) + 0.5 * (own == others))) for own, _rest in found]
    first = [float(own > max(rest)) for own, rest in found]
    about = {"method": method, "data": data}
    rows = [mean_of("auc", above, groups, **about), mean_of("first", first, groups, **about)]
    for threshold in THRESHOLDS:
        needed = [float(own >= threshold) for own, _rest in found]
        unneeded = [float(np.mean(np.array(rest) >= threshold)) for _own, rest in found]
        name = f"at least {threshold:g} nats"
        rows += [mean_of(name, needed, groups, category="evidence", **about)]
        rows += [mean_of(name, unneeded, groups, category="others", **about)]
    return rows


def shown(rows: Sequence[Row]) -> str:
    """The figures as lines."""
    return "\n".join(
        f"{row.method:26} {row.metric:20} {row.category:9} {row.value:.3f} [{row.low:.3f}, {row.high:.3f}] n={row.n}"
        for row in rows
    )
