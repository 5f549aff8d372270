"""Step-level compression of an agent's message list: whole steps stay or go, the floor always stays."""

from memory.engine.compress.floor import FloorRules
from memory.engine.compress.identifiers import Reading
from memory.engine.compress.lists import Compressed, Judged, compress, fit, judge
from memory.engine.compress.messages import Call, Message, Step, from_openai, from_text, split_steps, to_openai

__all__ = [
    "Call",
    "Compressed",
    "FloorRules",
    "Judged",
    "Message",
    "Reading",
    "Step",
    "compress",
    "fit",
    "from_openai",
    "from_text",
    "judge",
    "split_steps",
    "to_openai",
]
