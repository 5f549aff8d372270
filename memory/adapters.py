"""Which adapters there are, and which one serves a bank.

A bank's row names its adapter; no name means the one that AGORA ships, in every process alike. What serves by default
is a stored choice: new banks begin with it, and a promotion writes it into the rows of the banks that follow
(docs/decisions/0013). So a turn asks no more than its bank's row.
"""

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
    """Every adapter that comes with the code, by version; the one that AGORA ships comes first."""
    return {adapter.version: adapter for adapter in (_shipped(), _prior())}


def shipped_adapter() -> Adapter:
    """The adapter of banks that name none: the one that AGORA ships."""
    return next(iter(available_adapters().values()))


def serving_adapter() -> Adapter:
    """The adapter that serves by default: the one that was promoted last, or the shipped one. Asks the database."""
    name = serving_name()
    try:
        return adapter_named(name)
    except (AdapterMissing, AdapterUnreadable) as error:
        log.warning("the shipped adapter serves: %s", error.sentence)
        return shipped_adapter()


def serving_name() -> str:
    """What the row of a bank says that follows the stored choice: a version, or "" for the shipped adapter."""
    chosen = AdapterVersion.objects.filter(serves=True).values_list("version", flat=True).first()
    return name_in_row(chosen) if chosen else ""


def name_in_row(version: str) -> str:
    """A version as a bank's row names it: the shipped adapter by no name, so that a newer release brings its own."""
    return "" if version == shipped_adapter().version else version


def serve_by_default(version: str, *, using: str = "default") -> None:
    """Store which adapter, one that has its row, new banks begin with. For the shipped one no row says so."""
    rows = AdapterVersion.objects.using(using)
    rows.filter(serves=True).exclude(version=version).update(serves=False)
    if name_in_row(version):
        rows.filter(version=version).update(serves=True)


def adapter_named(version: str) -> Adapter:
    """The adapter of that version; "" is the one that AGORA ships. Raises `AdapterMissing`."""
    found = available_adapters().get(version) if version else shipped_adapter()
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
    """The adapter that scores and recalls for this bank; one that is gone gives way to the shipped one.

    Its vector part serves only banks of the encoder that it was trained on.
    """
    try:
        adapter = adapter_named(bank.adapter)
    except (AdapterMissing, AdapterUnreadable) as error:
        log.warning("bank %s is served by the usual adapter: %s", bank.pk, error.sentence)
        adapter = shipped_adapter()
    return adapter if adapter.vector is None else adapter.in_space(bank.space.revision)


def importance_by(adapter: Adapter, stored: Sequence[float], role: Role, state: BankState) -> float:
    """Score a memory anew from its stored features, in the order of `features.NAMES`; what it lacks at the end is 0.

    What is usual in the bank is taken as it is now, not as it was when the memory was written.
    """
    values = np.zeros(len(features.NAMES), dtype=np.float32)
    values[: len(stored)] = stored
    return round(adapter.importance.importance(values, role, state.statistics, state.kind), 6)


def register_adapter(adapter: Adapter, *, using: str = "default") -> AdapterVersion:
    """See that an adapter has its row, which scores and traces name."""
    manifest: dict[str, Any] = {"floor": adapter.floor.threshold, "temperature": adapter.recall.temperature}
    if adapter.version == _prior().version:
        manifest["kind"] = "prior"
    elif adapter.version == _shipped().version:
        manifest = {"kind": "shipped", **read_manifest(SHIPPED)}
    rows = AdapterVersion.objects.using(using)
    return rows.get_or_create(version=adapter.version, defaults={"manifest": manifest})[0]
