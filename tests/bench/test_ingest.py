"""The ingest bench: its rows, and that what it imports is remembered. Never its timings."""

from __future__ import annotations

import pytest

from agora_web.accounts.models import User
from bench import ingest
from bench.filling import conversation_of
from bench.sentences import Talk
from memory.encoding import encoder
from memory.models import Memory, Turn
from memory.tenancy import acting_as


def test_each_round_is_imported_and_remembered_at_the_bank_s_budget(database: None) -> None:
    rows = {row.metric: row for row in ingest.measure(10, turns=6, rounds=3, seed=5)}
    assert rows.keys() == {"ingest_per_s", "encoder_batch_per_s", "ingest_share_of_encoder"}
    for row in rows.values():
        assert (row.method, row.size, row.n) == ("agora", 10, 3)
        assert row.low is not None
        assert row.high is not None
        assert 0 < row.low <= row.value <= row.high
    with acting_as(User.objects.get(email="bench-5@agora.localhost").pk):
        turns = Turn.objects.filter(conversation__external_id__startswith="filling-1000")
        assert turns.count() == 18
        assert all(turns.values_list("remembered", flat=True))
        assert Memory.objects.filter(state="held").count() == 10


def test_the_encoder_alone_gets_the_very_texts_that_an_import_encodes(
    database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[list[str]] = []
    real = ingest._encode_s
    monkeypatch.setattr(ingest, "_encode_s", lambda texts: taken.append(list(texts)) or real(texts))
    before = encoder().encoded
    ingest.measure(6, turns=5, rounds=1, seed=6)
    assert len(taken[0]) == len(set(taken[0])) >= 9
    assert set(taken[0]) == set(ingest.texts_of(conversation_of(Talk(7), 10_000, 5)))
    assert encoder().encoded - before >= len(taken[0])
