"""The tables of memory."""

from memory.models.bank import LEAST_EVICT_AT, AdapterVersion, Bank, EncoderSpace, Event
from memory.models.conversation import LABELLING_OPEN, Conversation, Labelling, Turn, TurnState
from memory.models.doubt import Doubt
from memory.models.erasure import Erasure
from memory.models.job import Job, JobState
from memory.models.lab import LabReplay, LabResult, LabState
from memory.models.look import Look
from memory.models.memory import Memory, MemorySource, Posting
from memory.models.recall import Recall

__all__ = [
    "LABELLING_OPEN", "LEAST_EVICT_AT", "AdapterVersion", "Bank", "Conversation", "Doubt", "EncoderSpace", "Erasure",
    "Event", "Job", "JobState", "LabReplay", "LabResult", "LabState", "Labelling", "Look", "Memory", "MemorySource",
    "Posting", "Recall", "Turn", "TurnState",
]  # fmt: skip
