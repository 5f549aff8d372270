"""Banks whose adapter has a vector part: recall ranks in its space, writing and the archive's search do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memory import adapters
from memory.adapters import adapter_of
from memory.encoding import encoder
from memory.engine import signals
from memory.engine.adapter import Adapter, RecallHead
from memory.engine.prior import prior
from memory.engine.vector_adapter import VectorAdapter
from memory.hot_banks import hot_banks
from memory.models import Bank
from memory.services.rebudget import apply_change, configuration_of_bank, preview_change
from tests.memory.services.desk import Desk
from tests.toy import WIDTH, toy_encoder

TOLD = ["Anna lives in Lisbon", "My bike is red", "My dog is called Bruno", "I drink green tea", "Rent is due in May"]
ASKED = "Tell me where Anna lives"


def by_cosine() -> RecallHead:
    """A head that looks at nothing but the cosine, so that ranks tell which space it was taken in."""
    weights = np.zeros(len(signals.NAMES), dtype=np.float32)
    weights[signals.NAMES.index("cosine")] = 1.0
    return RecallHead(asking=weights, telling=weights, unread=weights, temperature=1.0)


def towards(text: str, revision: str = "1") -> VectorAdapter:
    """Moves what is like the cue far towards another text, so that asking for the one finds the other."""
    (asked, other) = toy_encoder().encode([ASKED, text])
    return VectorAdapter(np.float32(3) * asked[None], other[:, None], revision)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Adapter]:
    """By version: one that ranks by the frozen cosine, one in a space of its own, one made for another encoder."""
    plain = replace(prior(), recall=by_cosine())
    made = [
        plain,
        replace(plain, version="turned-1", vector=towards("My bike is red")),
        replace(plain, version="foreign-1", vector=towards("My bike is red", revision="of another encoder")),
    ]
    known = {adapter.version: adapter for adapter in made}
    monkeypatch.setattr(adapters, "available_adapters", lambda: known)
    return known


@pytest.fixture
def full(desk: Desk, known: dict[str, Adapter]) -> Desk:
    for text in TOLD:
        desk.tell(text)
    return desk


def switch(desk: Desk, version: str) -> None:
    """As the page of a bank does it: a preview, then the same in earnest."""
    with desk.acting():
        wanted = replace(configuration_of_bank(Bank.objects.get(pk=desk.bank_id)), adapter=version)
        seen = preview_change(desk.bank_id, wanted, now=datetime.now(UTC))
        apply_change(desk.bank_id, seen.promise, now=datetime.now(UTC) + timedelta(hours=1))


def ranking(desk: Desk) -> Sequence[str]:
    return [item.text for item in desk.ask(ASKED).found.items]


def test_a_bank_switched_to_an_adapter_with_a_vector_part_is_ranked_in_its_space_and_back(full: Desk) -> None:
    frozen = ranking(full)
    assert frozen[0] == "Anna lives in Lisbon"
    switch(full, "turned-1")
    turned = full.ask(ASKED)
    assert turned.trace.adapter == "turned-1"
    texts = [item.text for item in turned.found.items]
    assert texts.index("My bike is red") < frozen.index("My bike is red")
    switch(full, prior().version)
    assert ranking(full) == frozen
    full.agree()


def test_what_is_told_and_forgotten_since_is_ranked_as_if_the_bank_were_read_afresh(full: Desk) -> None:
    switch(full, "turned-1")
    ranking(full)
    full.tell("Anna has a red bike")
    live = full.ask(ASKED).found
    hot_banks.clear()
    afresh = full.ask(ASKED).found
    assert [item.id for item in live.items] == [item.id for item in afresh.items]
    assert live.logits == pytest.approx(afresh.logits, abs=1e-5)
    assert "Anna has a red bike" in [item.text for item in live.items]


def test_similarity_and_fit_stay_frozen_so_that_the_floor_holds(full: Desk) -> None:
    before = {row.item.text: row for row in full.ask(ASKED).found.rows}
    switch(full, "turned-1")
    after = {row.item.text: row for row in full.ask(ASKED).found.rows}
    assert before.keys() == after.keys()
    for text, row in after.items():
        assert row.fit == pytest.approx(before[text].fit, abs=1e-6)
        assert row.signals["similarity"] == pytest.approx(before[text].signals["similarity"], abs=1e-6)
    assert after["My bike is red"].signals["cosine"] > before["My bike is red"].signals["cosine"] + 0.1


def test_the_same_words_merge_and_what_is_new_stays_new_under_any_vector_part(full: Desk) -> None:
    switch(full, "turned-1")
    ranking(full)
    written = len(full.texts())
    full.tell("Anna lives in Lisbon")
    assert len(full.texts()) == written
    full.tell("Anna owns a red boat")
    assert len(full.texts()) == written + 1


def test_the_vector_part_of_another_encoder_is_left_behind(full: Desk, known: dict[str, Adapter]) -> None:
    assert encoder().space.revision == known["turned-1"].vector.revision  # type: ignore[union-attr]
    assert encoder().space.width == WIDTH
    frozen = ranking(full)
    switch(full, "foreign-1")
    with full.acting():
        assert adapter_of(Bank.objects.get(pk=full.bank_id)).vector is None
    assert ranking(full) == frozen
