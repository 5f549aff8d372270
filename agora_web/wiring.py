"""What is put together in a process once it serves."""

from __future__ import annotations

import logging
import threading
from functools import lru_cache

from django.conf import settings

from agora_web.local.likelihood import DemoModelLikelihood
from memory.encoding import encoder
from memory.engine.types import BankError
from training.learner.likelihood import LikelihoodScorer
from training.learner.rating import MemoryRater

log = logging.getLogger(__name__)
# The encoder's imports hold the interpreter for seconds: whoever has just been told "ready" gets the first page first.
FIRST_PAGE_S = 1.5


@lru_cache(maxsize=1)
def warm_up_in_background() -> None:
    """Load the encoder while the first pages are being read: a few seconds that the first turn need not wait."""
    if not settings.TESTING:
        timer = threading.Timer(FIRST_PAGE_S, _warm_up)
        timer.name, timer.daemon = "encoder warm-up", True
        timer.start()


def _warm_up() -> None:
    try:
        encoder().encode(["warm"])
    except BankError as error:
        log.error("%s", error.sentence)


def likelihood_scorer() -> LikelihoodScorer:
    """What training asks for likelihoods (`training.learner.likelihood`): the demo model."""
    return DemoModelLikelihood()


def memory_rater() -> MemoryRater:
    """Who asks agents' models for training (`training.learner.rating`)."""
    from agora_web.rating import AgentsModel  # asked for by workers alone

    return AgentsModel()
