"""Whether AGORA began so lately that parts of it may still be on their way."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings

from agora_web.local.locks import is_held

# Workers load torch, beat notes its first run after ten seconds, the demo model reads its weights: all of it took
# fifteen seconds where a machine was quick, and a minute where it was slow.
TAKES_S = 90.0


def still_s(now: Callable[[], float] = time.time) -> float:
    """The seconds that `make run` may still take for what comes after the first page; 0.0 when it does not run.

    `now` is a clock in seconds since 1970, as the one of file times.
    """
    if not is_held(settings.PATHS.up_lock):
        return 0.0
    try:
        began = settings.PATHS.up_pid.stat().st_mtime
    except FileNotFoundError:  # it has just ended
        return 0.0
    return max(0.0, began + TAKES_S - now())
