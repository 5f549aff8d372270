"""Step-level compression of an agent's message list: whole steps stay or go, the floor always stays."""

from memory.engine.compression.compress import Compressed, Judged, compress, fit, judge
from memory.engine.compression.floor import FloorRules
from memory.engine.compression.messages import Call, Message, Step, from_openai, from_text, split_steps, to_openai

__all__ = [
    "Call",
    "Compressed",
    "FloorRules",
    "Judged",
    "Message",
    "Step",
    "compress",
    "fit",
    "from_openai",
    "from_text",
    "judge",
    "split_steps",
    "to_openai",
]
