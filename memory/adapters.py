"""Which adapter serves a bank."""

from __future__ import annotations

from functools import lru_cache

from memory.engine.adapter import Adapter
from memory.engine.prior import prior
from memory.models import AdapterVersion


@lru_cache(maxsize=1)
def _prior() -> Adapter:
    return prior()


def serving_adapter() -> Adapter:
    """The adapter that scores and recalls now: the untrained prior until one is trained."""
    return _prior()


def register_serving_adapter() -> AdapterVersion:
    """See that the serving adapter has its row, which scores and traces name."""
    adapter = serving_adapter()
    manifest = {"kind": "prior", "floor": adapter.floor.threshold, "temperature": adapter.recall.temperature}
    return AdapterVersion.objects.get_or_create(version=adapter.version, defaults={"manifest": manifest})[0]
