"""What is put together in a process once it serves."""

from __future__ import annotations

import logging
import threading
from functools import lru_cache

from django.conf import settings

from memory.encoding import encoder
from memory.engine.types import BankError

log = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def warm_up_in_background() -> None:
    """Load the encoder while the first pages are being read: a few seconds that the first turn need not wait."""
    if not settings.TESTING:
        threading.Thread(target=_warm_up, name="encoder warm-up", daemon=True).start()


def _warm_up() -> None:
    try:
        encoder().encode(["warm"])
    except BankError as error:
        log.error("%s", error.sentence)
