"""What in a reply is its own: text that merely repeats recalled memories is never remembered again as new."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import regex

from memory.engine.lexical import terms

_QUOTE_LINE = regex.compile(r"^\s*>")
_SENTENCE = regex.compile(r"(?<=[.!?。！？])\s+|\n+")
REPEATED = 0.9  # share of a sentence's terms that one recalled memory holds
SHORTEST = 4  # sentences of fewer terms are left alone: too little to tell


def without_recalled(reply: str, recalled: Sequence[Collection[str]]) -> str:
    """Take quotations and repetitions of recalled texts, each given by its terms, out of a reply; "" when nothing of
    its own is left.

    A reply into which nothing was recalled comes back as it is.
    """
    if not recalled:
        return reply
    known = [set(words) for words in recalled]
    kept = _without_quotations(reply.split("\n"))
    own = [part for part in _SENTENCE.split("\n".join(kept)) if part.strip() and not _repeats(part, known)]
    if not own:
        return ""
    # nothing repeated: keep the reply verbatim, line breaks and all
    if len(own) == len([part for part in _SENTENCE.split(reply) if part.strip()]):
        return reply
    return " ".join(part.strip() for part in own)


def _without_quotations(lines: Sequence[str]) -> list[str]:
    """Lines outside block quotes, without the words that merely announce one ("... you told me:")."""
    kept: list[str] = []
    for line in lines:
        if not _QUOTE_LINE.match(line):
            kept.append(line)
            continue
        while kept and (not kept[-1].strip() or kept[-1].rstrip().endswith(":")):
            announced = bool(kept.pop().strip())
            if announced:
                break
    return kept


def _repeats(sentence: str, known: Sequence[set[str]]) -> bool:
    words = set(terms(sentence))
    if len(words) < SHORTEST:
        return False
    return any(len(words & held) >= REPEATED * len(words) for held in known)
