"""Policies by name: `importance`, `random(seed=7)`, `chains+floor(recent=6)+importance`.

Wrappers come first, in any order; one policy that ranks comes last, and `importance` does where none is named.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import regex

from memory.engine.retention.chains import Chains
from memory.engine.retention.decay import Decay
from memory.engine.retention.fifo import Fifo
from memory.engine.retention.floor import Floor
from memory.engine.retention.importance import Importance
from memory.engine.retention.latest import Latest
from memory.engine.retention.lfu import Lfu
from memory.engine.retention.longest import Longest
from memory.engine.retention.lru import Lru
from memory.engine.retention.merge import Merge
from memory.engine.retention.policy import PolicyError, RetentionPolicy, parameters
from memory.engine.retention.random import Random
from memory.engine.retention.threshold import Threshold

RANKING: dict[str, type[RetentionPolicy]] = {
    policy.kind: policy for policy in (Fifo, Random, Lru, Lfu, Longest, Importance, Threshold, Decay, Latest)
}
# The outermost first: chains has to see the floor, or a turn could leave with one of its sides on it.
WRAPPING: dict[str, type[Any]] = {"chains": Chains, "floor": Floor, "merge": Merge}
NAME_LENGTH = 120

_PART = regex.compile(r"\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*")
_SETTING = regex.compile(r"\s*([a-z_]+)\s*=\s*([-+.\w]+)\s*")


@lru_cache(maxsize=256)
def policy_named(text: str) -> RetentionPolicy:
    """The policy of a configuration. Raises `PolicyError` with a sentence that says what is wrong and what there is."""
    if len(text) > NAME_LENGTH:
        raise PolicyError(f"A retention policy is named in at most {NAME_LENGTH} characters.")
    parts = [_part(part) for part in text.split("+")]
    wrappers = [(kind, given) for kind, given in parts if kind in WRAPPING]
    ranking = [(kind, given) for kind, given in parts if kind in RANKING]
    if len(ranking) > 1:
        raise PolicyError(f"Only one policy can rank; “{text}” names {len(ranking)}.")
    if len({kind for kind, _ in wrappers}) < len(wrappers):
        raise PolicyError(f"“{text}” names the same part twice.")
    if ranking and parts[-1][0] not in RANKING:
        raise PolicyError(f"In “{text}” the policy that ranks comes last.")
    kind, given = ranking[0] if ranking else ("importance", {})
    policy = RANKING[kind](**_settings(RANKING[kind], given))
    for kind, given in sorted(wrappers, key=lambda part: -list(WRAPPING).index(part[0])):
        policy = WRAPPING[kind](inner=policy, **_settings(WRAPPING[kind], given))
    return policy if policy.name == text else policy_named(policy.name)  # one object, however it is spelled


def _part(text: str) -> tuple[str, dict[str, str]]:
    """One part: its kind and what is set of it."""
    found = _PART.fullmatch(text)
    if found is None:
        raise PolicyError(
            f"“{text.strip()}” is no part of a retention policy. One is written like chains+floor(recent=6)+importance."
        )
    kind = found[1]
    if kind not in RANKING and kind not in WRAPPING:
        known = ", ".join([*RANKING, *WRAPPING])
        raise PolicyError(f"There is no retention policy “{kind}”. There are: {known}.")
    given: dict[str, str] = {}
    for setting in (found[2] or "").split(",") if (found[2] or "").strip() else []:
        pair = _SETTING.fullmatch(setting)
        if pair is None or pair[1] in given:
            raise PolicyError(f"“{setting.strip()}” sets nothing of the policy “{kind}”. Write it like recent=6, once.")
        given[pair[1]] = pair[2]
    return kind, given


def _settings(policy: type[Any], given: dict[str, str]) -> dict[str, Any]:
    """The given words as numbers of the kinds that the policy wants."""
    known: dict[str, Any] = {field.name: type(field.default) for field in parameters(policy)}
    out: dict[str, Any] = {}
    for name, word in given.items():
        if name not in known:
            there = f"There is: {', '.join(known)}." if known else "It has none."
            raise PolicyError(f"The policy “{policy.kind}” has no “{name}”. {there}")
        try:
            out[name] = known[name](word)
        except ValueError as error:
            kind = "a whole number" if known[name] is int else "a number"
            raise PolicyError(f"“{name}” of the policy “{policy.kind}” must be {kind}, not “{word}”.") from error
        if not math.isfinite(out[name]):
            raise PolicyError(f"“{name}” of the policy “{policy.kind}” must be a number, not “{word}”.")
    return out
