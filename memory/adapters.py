"""Which adapters there are, and which one serves a bank."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
from django.utils.translation import gettext as _

from memory.engine import features
from memory.engine.adapter import Adapter
from memory.engine.adapter_file import SHIPPED, AdapterUnreadable, load_adapter, packed, read_manifest, unpacked
from memory.engine.bank import BankState
from memory.engine.prior import prior
from memory.engine.types import BankError, Role
from memory.models import AdapterVersion, Bank

log = logging.getLogger(__name__)


class AdapterMissing(BankError):
    """No adapter has this version here."""


@lru_cache(maxsize=1)
def _prior() -> Adapter:
    return prior()


@lru_cache(maxsize=1)
def _shipped() -> Adapter:
    return load_adapter(SHIPPED)


def available_adapters() -> Mapping[str, Adapter]:
    """Every adapter that this process can serve, by version; the one that serves by default comes first."""
    return {adapter.version: adapter for adapter in (_shipped(), _prior())}


def serving_adapter() -> Adapter:
    """The adapter of banks that name none: the one that AGORA ships."""
    return next(iter(available_adapters().values()))


def adapter_named(version: str) -> Adapter:
    """The adapter of that version; "" is the one that serves by default. Raises `AdapterMissing`."""
    found = available_adapters().get(version) if version else serving_adapter()
    found = found or _learned(version)
    if found is None:
        raise AdapterMissing(_("There is no adapter “%(version)s” here.") % {"version": version})
    return found


_at_hand: dict[str, Adapter] = {}  # learned ones, by version: what one version means never changes


def _learned(version: str) -> Adapter | None:
    """An adapter that was trained here, from its row."""
    if version not in _at_hand:
        row = AdapterVersion.objects.filter(version=version, weights__isnull=False).first()
        if row is None:
            return None
        _at_hand[version] = unpacked(bytes(row.weights or b""), row.manifest, f"“{version}”")
    return _at_hand[version]


def learned_for(bank: UUID) -> list[str]:
    """Versions that were learned from one bank's own labels, newest first."""
    rows = AdapterVersion.objects.filter(manifest__bank=str(bank), weights__isnull=False)
    return list(rows.order_by("-created_at").values_list("version", flat=True))


def keep_adapter(adapter: Adapter, parent: Adapter, about: Mapping[str, Any]) -> AdapterVersion:
    """Store an adapter that was trained here, under its version; `about` goes into its manifest."""
    data, manifest = packed(adapter, about)
    return AdapterVersion.objects.create(
        version=adapter.version, manifest=manifest, weights=data, parent=register_adapter(parent)
    )


def adapter_of(bank: Bank) -> Adapter:
    """The adapter that scores and recalls for this bank; one that is gone gives way to the usual one.

    Its vector part serves only banks of the encoder that it was trained on.
    """
    try:
        adapter = adapter_named(bank.adapter)
    except (AdapterMissing, AdapterUnreadable) as error:
        log.warning("bank %s is served by the usual adapter: %s", bank.pk, error.sentence)
        adapter = serving_adapter()
    return adapter if adapter.vector is None else adapter.in_space(bank.space.revision)


def importance_by(adapter: Adapter, stored: Sequence[float], role: Role, state: BankState) -> float:
    """Score a memory anew from its stored features, in the order of `features.NAMES`; what it lacks at the end is 0.

    What is usual in the bank is taken as it is now, not as it was when the memory was written.
    """
    values = np.zeros(len(features.NAMES), dtype=np.float32)
    values[: len(stored)] = stored
    return round(adapter.importance.importance(values, role, state.statistics, state.kind), 6)


def register_adapter(adapter: Adapter) -> AdapterVersion:
    """See that an adapter has its row, which scores and traces name."""
    manifest: dict[str, Any] = {"floor": adapter.floor.threshold, "temperature": adapter.recall.temperature}
    if adapter.version == _prior().version:
        manifest["kind"] = "prior"
    elif adapter.version == _shipped().version:
        manifest = {"kind": "shipped", **read_manifest(SHIPPED)}
    return AdapterVersion.objects.get_or_create(version=adapter.version, defaults={"manifest": manifest})[0]
