"""Step-level compression of agents' message lists: are the identifiers that an agent passes on still in view?

At each action that passes on an identifier last shown at least two messages before, the messages up to it are
compressed to a share of their tokens, and each such identifier is looked for in what is left. Every method keeps the
same floor and pays for its markers; they differ in which other steps they keep. `oracle` knows what will be passed on.
Unit `tokens`: the share is of the tokens without the system prompt, which is kept beside it; `tokens_with_system`: of
all tokens. Category `all` holds those uses, `any_distance` also what the same actions pass on from the message right
before, `far` what was shown more than six messages before, `outside_floor` what the floor does not show,
`within_budget` the uses at lists whose floor alone is not larger than the budget. No database, no encoder.
"""

from __future__ import annotations

import random
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from bench.agent_logs import BACK, FAR, READERS, Log, Use, read_logs
from bench.table import DRAWS, Row, figure, median
from memory.engine.compress.floor import FloorRules
from memory.engine.compress.identifiers import Reading
from memory.engine.compress.lists import Compressed, Judged, assemble, fit, judge
from memory.engine.compress.messages import SYSTEM_ROLES
from memory.engine.compress.selection import Kept, choose
from memory.engine.prior import prior
from memory.engine.text import count_tokens

BUDGETS = (0.3, 0.5, 0.7)
METHODS = ("agora", "recent", "random", "longest", "oracle")
UNITS = ("tokens", "tokens_with_system")

count = lru_cache(maxsize=100_000)(count_tokens)


@dataclass(frozen=True)
class Tally:
    """A share of one conversation: `hit` of `of`."""

    hit: float
    of: float


Key = tuple[str, str, float, str, str]  # method, unit, budget, metric, category


def add_arguments(parser: ArgumentParser) -> None:
    """The options of this bench."""
    parser.add_argument("--format", choices=sorted(READERS), required=True, help="how the files are written")
    parser.add_argument("--test", type=Path, nargs="+", required=True, metavar="FILE", help="agents' logs")
    parser.add_argument("--half", choices=("even", "odd"), help="only tasks (alfworld: lines, from 0) of that number")
    parser.add_argument("--last-steps", type=int, metavar="N", default=FloorRules().last_steps, help="of the floor")
    parser.add_argument("--sample", type=int, metavar="N", help="so many conversations, drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S")


def run(arguments: Namespace) -> list[Row]:
    """Compress at every action that passes an identifier on; returns the rows."""
    logs = [log for path in arguments.test for log in read_logs(arguments.format, path)]
    if arguments.half:
        logs = [log for log in logs if log.task % 2 == (arguments.half == "odd")]
    if arguments.sample and arguments.sample < len(logs):
        logs = random.Random(arguments.seed).sample(logs, arguments.sample)
    rng = random.Random(arguments.seed)
    took: list[float] = []
    tallies = [
        measured
        for log in logs
        if log.uses
        for measured in [_conversation(log, FloorRules(arguments.last_steps), rng, took)]
    ]
    if not tallies:
        raise SystemExit("No action in these files passes on an identifier that was shown before.")
    rows = [_share(key, [one.get(key, Tally(0, 0)) for one in tallies], arguments.format) for key in _keys(tallies)]
    rows.append(figure("compress_ms_p50", took, median, data=arguments.format, adapter=prior().version))
    _print(rows)
    return rows


def _keys(tallies: Sequence[dict[Key, Tally]]) -> list[Key]:
    return list(dict.fromkeys(key for one in tallies for key in one))


def _conversation(log: Log, rules: FloorRules, rng: random.Random, took: list[float]) -> dict[Key, Tally]:
    """All tallies of one conversation."""
    out: dict[Key, Tally] = {}
    reading = Reading()
    for at, uses in log.uses.items():
        before = log.messages[:at]
        started = time.perf_counter()
        judged = judge(before, rules=rules, count=count, reading=reading)
        fit(judged, sum(judged.tokens) // 2, count)
        took.append((time.perf_counter() - started) * 1000)
        system = sum(count(message.shown) for message in before if message.role in SYSTEM_ROLES)
        for unit in UNITS:
            for share in BUDGETS:
                beside = system if unit == "tokens" else 0
                budget = beside + int(share * (sum(judged.tokens) - beside))
                for method in METHODS:
                    done = _compressed(method, judged, budget, uses, rng)
                    for (metric, category), tally in _measured(done, uses, reading).items():
                        key = (method, unit, share, metric, category)
                        held = out.get(key, Tally(0, 0))
                        out[key] = Tally(held.hit + tally.hit, held.of + tally.of)
    return out


def _compressed(method: str, judged: Judged, budget: int, uses: Sequence[Use], rng: random.Random) -> Compressed:
    """Compress by a method; all start from the floor."""
    if method == "agora" or sum(judged.tokens) <= budget:
        return fit(judged, budget, count)
    kept = Kept(judged.tokens, judged.floor, count)
    kept.close_gaps()
    if method == "oracle":
        if kept.tokens <= budget:
            names = {use.name for use in uses}
            chances = {name: float(name in names) for shown in judged.names for name in shown}
            choose(kept, budget, judged.names, chances, [0.0] * len(judged.steps), 1.0)
        return assemble(judged, kept.steps, budget, count)
    order = [at for at in range(len(judged.steps)) if at not in set(kept.steps)]
    if method == "random":
        rng.shuffle(order)
    else:
        order.sort(key=lambda at: -at if method == "recent" else -judged.tokens[at])
    for at in order:
        if kept.tokens + kept.cost(at) <= budget:
            kept.add(at)
    return assemble(judged, kept.steps, budget, count)


def _measured(done: Compressed, uses: Sequence[Use], reading: Reading) -> dict[tuple[str, str], Tally]:
    """What is in view, and whether the list is whole: read off the messages, not off what was reported."""
    here = {id(message) for message in done.messages}
    shown = [m for m in done.messages if m.role not in SYSTEM_ROLES]
    view = {one.name for message in shown for one in reading.showings(message.shown)}
    floor = [message for at in done.floor for message in done.steps[at].messages]
    in_floor = {one.name for m in floor if m.role not in SYSTEM_ROLES for one in reading.showings(m.shown)}
    steps = [[id(message) in here for message in step.messages] for step in done.steps]
    apart = [use for use in uses if use.back >= BACK]
    groups = {
        "all": apart,
        "any_distance": uses,
        "far": [use for use in uses if use.back > FAR],
        "outside_floor": [use for use in apart if use.name not in in_floor],
        "within_budget": [] if done.over_budget else apart,
    }
    tallies = {
        ("in_view", name): Tally(sum(use.name in view for use in group), len(group)) for name, group in groups.items()
    }
    tallies["floor_intact", "all"] = Tally(all(id(message) in here for message in floor), 1)
    tallies["steps_whole", "all"] = Tally(sum(all(s) or not any(s) for s in steps), len(steps))
    tallies["budget_held", "all"] = Tally(not done.over_budget, 1)
    tallies["tokens_share", "all"] = Tally(done.tokens, done.tokens_before)
    return tallies


def _share(key: Key, tallies: Sequence[Tally], data: str) -> Row:
    """The pooled share with its 95 % bootstrap interval over conversations."""
    method, unit, budget, metric, category = key
    hit, of = np.array([[tally.hit, tally.of] for tally in tallies], dtype=np.float64).T
    drawn = np.random.default_rng(0).integers(0, len(tallies), size=(DRAWS, len(tallies)))
    totals = of[drawn].sum(axis=-1)
    shares = (hit[drawn].sum(axis=-1) / np.maximum(totals, 1))[totals > 0]
    low, high = np.percentile(shares, [2.5, 97.5]).round(4) if len(shares) else (0.0, 0.0)
    about = {"method": method, "unit": unit, "budget": budget, "category": category}
    adapter = prior().version if method == "agora" else ""
    value, n = round(float(hit.sum() / max(1.0, of.sum())), 4), int(of.sum())
    return Row(metric, value, data=data, adapter=adapter, low=float(low), high=float(high), n=n, **about)  # type: ignore[arg-type]


def _print(rows: Sequence[Row]) -> None:
    for row in rows:
        where = f"{row.unit:18} {row.budget if row.budget is not None else '':4} {row.method:8}"
        print(f"{row.metric:16} {row.category:13} {where} {row.value:8.3f} [{row.low:.3f}, {row.high:.3f}] n={row.n}")
