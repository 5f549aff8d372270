"""Whether a person then said again what the agent no longer remembered, or corrected its reply towards it.

That an archived memory would have been recalled says nothing yet: what is recalled is seldom what is needed (being
recalled alone is a harmful label). Only the person shows that it was missed: in one of the next messages they say the
rare words of that memory which neither their question nor the reply held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory.engine.lexical import STOP_WORDS, terms

COVERED = 0.4  # share of a memory's missing rare words that one message must say; as hindsight measures use
LEAST = 2  # and so many of them, unless it has but one
MESSAGES = 2  # after the reply: what comes later is about something else


def said_again(memory: str, *, cue: str, reply: str, afterwards: Sequence[str], rarity: Callable[[str], float]) -> bool:
    """Whether one of the next messages says what of `memory` neither the cue nor the reply held.

    `rarity` is how rare a term is (its idf), above 0. False where the reply lacked nothing of it.
    """
    missing = set(terms(memory)) - STOP_WORDS - set(terms(cue)) - set(terms(reply))
    if not missing:
        return False
    whole = sum(rarity(word) for word in missing)
    for message in afterwards[:MESSAGES]:
        told = missing & set(terms(message))
        enough = len(told) >= min(LEAST, len(missing))
        if enough and sum(rarity(word) for word in told) >= COVERED * whole:
            return True
    return False
