"""`make slice`: the public slice and the public cues that every challenger must hold, from data whose licence allows
it; numbers only.

    python -m training.public --data ../shared/data

It is made of the sets that may be trained on (training/shipped.py), so that those for measuring alone stay that.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memory.engine.adapter import Adapter
from memory.engine.adapter_file import SHIPPED as SHIPPED_ADAPTER
from memory.engine.adapter_file import load_adapter
from memory.engine.encoder import Encoder, SentenceEncoder
from memory.engine.prior import prior
from training.learner.banks import fill, pieces_of
from training.learner.haystacks import as_two_people
from training.learner.importance_examples import ImportanceExamples, importance_examples
from training.learner.public_cues import SHIPPED as CUES
from training.learner.public_cues import packed_cues
from training.learner.public_slice import SHIPPED, packed
from training.learner.recall_examples import RecallExample, recall_examples
from training.learner.streams import Stream
from training.learner.vectors import DiskCachedEncoder
from training.shipped import HERE, TOLD_AS_TWO, TRAINABLE, read_sources

MOST_MEMORIES = 1400  # of a kind: enough to tell heads apart, few enough to ship
MOST_BYTES = 150 * 1024
MOST_CUE_BYTES = 400 * 1024


def chosen(streams: Sequence[Stream], encoder: Encoder, adapter: Adapter) -> list[ImportanceExamples]:
    """Whole streams, in order, until there are enough memories."""
    out: list[ImportanceExamples] = []
    for stream in streams:
        one = importance_examples(fill(stream, pieces_of(stream, encoder), adapter))
        if one.needed.any() and not one.needed.all():
            out.append(one)
        if sum(len(each.needed) for each in out) >= MOST_MEMORIES:
            break
    return out


def asked(haystacks: Sequence[Stream], encoder: Encoder, adapter: Adapter) -> list[RecallExample]:
    """The questions of all haystacks, some of them told as two people's chats as well, as the adapter learned them."""
    told = [*haystacks, *map(as_two_people, haystacks[:TOLD_AS_TWO])]
    banks = [fill(stream, pieces_of(stream, encoder), adapter) for stream in told]
    return [one for bank in banks for one in recall_examples(bank, encoder)]


def main(argv: Sequence[str] | None = None) -> int:
    """Make the slice; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.public", description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--cues", type=Path, default=CUES, help="file of the public cues")
    parser.add_argument("--vectors", type=Path, default=HERE / "bench" / "out" / "vectors", help="cache of vectors")
    arguments = parser.parse_args(argv)
    missing = [file for _, file in TRAINABLE.values() if not (arguments.data / file).exists()]
    if missing:
        print(f"The data are missing: {', '.join(missing)} below {arguments.data}. Name them with --data.")
        return 1
    sources = read_sources(arguments.data)
    encoder, adapter = DiskCachedEncoder(SentenceEncoder(), arguments.vectors), prior()
    chats, tools = list(sources.haystacks), [one for both in zip(*sources.tools.values(), strict=False) for one in both]
    examples = [
        *chosen([as_two_people(stream) for stream in chats], encoder, adapter),
        *chosen(chats, encoder, adapter),
        *chosen(tools, encoder, adapter),
    ]
    data = packed(examples)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(data)
    for kind in dict.fromkeys(one.kind for one in examples):
        of = [one for one in examples if one.kind == kind]
        memories, needed = sum(len(one.needed) for one in of), sum(int(one.needed.sum()) for one in of)
        print(f"{kind}: {len(of)} streams, {memories:,} memories, {needed} needed")
    serving = load_adapter(SHIPPED_ADAPTER)
    questions = asked(chats, encoder, serving)
    cues = packed_cues(questions, serving.recall)
    arguments.cues.write_bytes(cues)
    print(", ".join(f"{n} cues {mode}" for mode, n in sorted(Counter(one.mode for one in questions).items())))
    print(f"{len(data):,} bytes in {arguments.out}, {len(cues):,} in {arguments.cues}")
    return 0 if len(data) <= MOST_BYTES and len(cues) <= MOST_CUE_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
