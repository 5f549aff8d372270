"""`make adapter`: train the adapter that AGORA ships, on data whose licence allows it, the same each time.

    python -m training.shipped --data ../shared/data [--without tau] [--out FOLDER] [--describe]

With `--describe` nothing is trained: the weights stay as they are, and the manifest is told how the features lay of
what each head had learned from (docs/decisions/0020). A training tells it too.

The recall head learns from LongMemEval's training questions, told once as chats with an assistant and once as if two
people had them, and so does the importance head of chats with an assistant; that of two people stays as it was set by
hand. That of tool use would learn from tau-bench and ALFWorld, each the log of one domain, and so must prove itself: it
is taken only if on each set a head trained on the other ranks at least as well as the one set by hand. Sessions that
stand in LongMemEval's test haystacks are out. A vector adapter is trained only if asked for (`--rank 16`): it does not
pay (docs/lab-log.md), and is not shipped.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from memory.engine.adapter import Adapter, Floor
from memory.engine.adapter_file import MANIFEST, SHIPPED, WEIGHTS, load_adapter, save_adapter
from memory.engine.encoder import Encoder, SentenceEncoder
from memory.engine.importance import ImportanceHead
from memory.engine.prior import prior
from memory.engine.vector_adapter import VectorAdapter
from training.learner.banks import FilledBank, fill, pieces_of
from training.learner.distributions import described
from training.learner.floor_training import fitted_floor, foreign_cues
from training.learner.formats import read_streams
from training.learner.haystacks import as_two_people, laid_together
from training.learner.importance_examples import importance_examples
from training.learner.importance_training import ranked, train_importance
from training.learner.recall_examples import RecallExample, recall_examples
from training.learner.recall_training import RecallTraining, fitted_temperature, train_recall
from training.learner.streams import Stream
from training.learner.vector_training import VectorTraining, learn_with_vectors
from training.learner.vectors import DiskCachedEncoder

HERE = Path(__file__).resolve().parent.parent
VERSION = "shipped-2"
SEED = 1
TRAINABLE: Mapping[str, tuple[str, str]] = {  # set: format, file below the data folder
    "longmemeval": ("longmemeval", "longmemeval/train_oracle.jsonl.gz"),
    "tau": ("tau", "trajectories/tau_airline/gpt-4o-airline.json"),
    "alfworld": ("alfworld", "trajectories/alfworld_react/KnowAgentALFWorld_llama-2-13b_D0.jsonl"),
}
TEST = ("longmemeval", "longmemeval/dev_s.jsonl.gz")
MOST_DIALOGUES = 100  # of each set of tool use
TOLD_AS_TWO = 3  # haystacks that are told as two people's chats as well
TOOLS = "tool_use"
MOST_BYTES = 64 * 1024


@dataclass(frozen=True)
class Sources:
    """What is trained on: haystacks of chats, and agents' dialogues."""

    haystacks: Sequence[Stream]
    tools: Mapping[str, Sequence[Stream]]  # by set
    files: Sequence[str]


def read_sources(data: Path, without: Collection[str] = ()) -> Sources:
    """Read the trainable sets but those left out. Raises OSError where a file is missing."""
    kept = {name: place for name, place in TRAINABLE.items() if name not in without}
    streams = {name: read_streams(format, [data / file]) for name, (format, file) in kept.items()}
    haystacks: list[Stream] = []
    if "longmemeval" in streams:
        tested = read_streams(TEST[0], [data / TEST[1]])
        known = frozenset().union(*(stream.traces for stream in tested))
        haystacks = laid_together(streams["longmemeval"], without=known, seed=SEED)
    tools: dict[str, Sequence[Stream]] = {}
    for name in ("tau", "alfworld"):
        dialogues = list(streams.get(name, ()))
        random.Random(SEED).shuffle(dialogues)
        tools[name] = [stream for stream in dialogues[:MOST_DIALOGUES] if stream.uses]
    return Sources(haystacks, tools, [file for _, file in kept.values()])


def train(sources: Sources, encoder: Encoder, version: str = VERSION, rank: int = 0) -> Adapter:
    """Train from the untrained prior; heads for which there are no data stay as they were set by hand.

    With a `rank` a vector adapter too.
    """
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    start = prior()
    importance, recall, floor = start.importance, start.recall, start.floor
    vector = None
    banks = [_told(stream, encoder, start) for stream in sources.haystacks]
    if banks:
        importance = train_importance([importance_examples(bank) for bank in banks], importance, "user_assistant")
    importance = _tool_head(sources.tools, importance, encoder, start)
    if banks:
        now = replace(start, importance=importance)
        twice = (*sources.haystacks, *map(as_two_people, sources.haystacks[:TOLD_AS_TWO]))
        told = [_told(stream, encoder, now) for stream in twice]
        if rank:
            vector, examples = learn_with_vectors(told, encoder, VectorTraining(rank=rank, seed=SEED))
        else:
            examples = [one for bank in told for one in recall_examples(bank, encoder)]
        recall = train_recall(examples, recall, RecallTraining(seed=SEED))
        temperature, floor = _calibrated(examples, banks, encoder, start, vector)
        recall = replace(recall, temperature=temperature)
    return Adapter(version, importance, recall, floor, vector)


def _tool_head(
    sets: Mapping[str, Sequence[Stream]], hand_set: ImportanceHead, encoder: Encoder, start: Adapter
) -> ImportanceHead:
    """The head of tool use learned from all sets, if what one teaches holds on the others; else the hand-set one."""
    examples = {
        name: [importance_examples(_told(stream, encoder, start)) for stream in streams]
        for name, streams in sets.items()
        if streams
    }
    if len(examples) < 2:
        return hand_set
    for name, unseen in examples.items():
        others = [one for other, told in examples.items() if other != name for one in told]
        if ranked(unseen, train_importance(others, hand_set, TOOLS), TOOLS) < ranked(unseen, hand_set, TOOLS):
            return hand_set
    return train_importance([one for told in examples.values() for one in told], hand_set, TOOLS)


def _told(stream: Stream, encoder: Encoder, adapter: Adapter) -> FilledBank:
    return fill(stream, pieces_of(stream, encoder), adapter)


def _calibrated(
    examples: Sequence[RecallExample], banks: Sequence[FilledBank], encoder: Encoder, start: Adapter,
    by: VectorAdapter | None,
) -> tuple[float, Floor]:  # fmt: skip
    """Temperature and floor, fitted on the haystacks that a second training has not seen.

    A question about one haystack is foreign to the bank of another.
    """
    groups = sorted({one.group for one in examples})
    held_out = set(groups[::3])
    unseen = [one for one in examples if one.group in held_out]
    head = train_recall([one for one in examples if one.group not in held_out], start.recall, RecallTraining(seed=SEED))
    apart = [bank for bank in banks if bank.stream.group in held_out]
    foreign = [
        cue
        for bank in apart
        for other in apart
        if other is not bank
        for cue in foreign_cues(bank, other.stream.questions, encoder, by)
    ]
    return fitted_temperature(unseen, head), fitted_floor(unseen, foreign, head, start.floor)


def distributions_of(sources: Sources, encoder: Encoder, adapter: Adapter) -> dict[str, Any]:
    """By kind of conversation whose head was learned: how the features of what it learned from are distributed."""
    start = prior()
    streams = {"user_assistant": sources.haystacks, TOOLS: [one for told in sources.tools.values() for one in told]}
    out: dict[str, Any] = {}
    for kind, told in streams.items():
        now, before = adapter.importance.priors[kind].weights, start.importance.priors[kind].weights
        if told and not np.array_equal(now, before):
            out[kind] = described(np.concatenate([importance_examples(_told(one, encoder, start)).raw for one in told]))
    return {kind: found for kind, found in out.items() if found}


def main(argv: Sequence[str] | None = None) -> int:
    """Train and write the adapter; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.shipped", description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, help="folder of the adapter (that of the shipped one)")
    parser.add_argument("--without", nargs="*", default=[], choices=[*TRAINABLE, ""], metavar="SET")
    parser.add_argument("--rank", type=int, default=0, help="train a vector adapter of that rank too, into bench/out")
    parser.add_argument("--describe", action="store_true", help="leave the weights; only say how features lay")
    parser.add_argument("--vectors", type=Path, default=HERE / "bench" / "out" / "vectors", help="cache of vectors")
    arguments = parser.parse_args(argv)
    without = sorted(set(filter(None, arguments.without)))
    missing = [file for _, file in TRAINABLE.values() if not (arguments.data / file).exists()]
    if missing:
        print(f"The training data are missing: {', '.join(missing)} below {arguments.data}. Name them with --data.")
        return 1
    version = VERSION + "".join(f"-without-{name}" for name in without)
    version += f"-vectors-{arguments.rank}" if arguments.rank else ""
    out = arguments.out or (SHIPPED if version == VERSION else HERE / "bench" / "out" / version)
    sources = read_sources(arguments.data, without)
    encoder = DiskCachedEncoder(SentenceEncoder(), arguments.vectors)
    adapter = load_adapter(out) if arguments.describe else train(sources, encoder, version, arguments.rank)
    about = _about(sources, without) | {"distributions": distributions_of(sources, encoder, adapter)}
    save_adapter(adapter, out, about)
    size = sum((out / name).stat().st_size for name in (WEIGHTS, MANIFEST))
    print(f"{version}: {size:,} bytes in {out}")
    return 0 if size <= MOST_BYTES else 1


def _about(sources: Sources, without: Sequence[str]) -> dict[str, Any]:
    return {
        "trained_on": list(sources.files),
        "without": list(without),
        "seed": SEED,
        "questions": sum(len(stream.questions) for stream in sources.haystacks),
        "dialogues": sum(map(len, sources.tools.values())),
        "licence": "weights trained on LongMemEval, tau-bench (MIT) and KnowAgent's ALFWorld logs (Apache-2.0)",
    }


if __name__ == "__main__":
    sys.exit(main())
