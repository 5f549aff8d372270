"""The latency bench: its rows, their names, and that it measures turns as the chat takes them. Never its timings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

from agora_web.accounts.models import User
from bench import latency
from bench.filling import full_bank
from bench.table import Row
from memory.encoding import encoder
from memory.models import Bank, Memory, Recall, Turn
from memory.tenancy import acting_as

TOTALS = {"overhead_ms_p50", "overhead_ms_p95", "with_encoder_ms_p50", "encoder_ms_p50", "commit_ms_p50"}
STAGES = {
    "encode_ms_p50", "prepare_ms_p50", "recall_ms_p50", "recall_commit_ms_p50", "remember_ms_p50",
    "remember_commit_ms_p50",
}  # fmt: skip


def test_every_size_has_its_totals_and_stages_with_their_intervals(database: None) -> None:
    rows = latency.measure([6, 12], turns=3, seed=3)
    for size in (6, 12):
        mine = {row.metric: row for row in rows if row.size == size}
        assert mine.keys() == TOTALS | STAGES
        assert {row.method for row in mine.values()} == {"agora"}
        assert {metric for metric, row in mine.items() if row.level == "total"} == TOTALS
        for row in mine.values():
            assert row.n == 3
            assert row.low is not None
            assert row.high is not None
            assert row.low <= row.value <= row.high
            assert row.adapter
    assert mine["with_encoder_ms_p50"].value > mine["encode_ms_p50"].value > 0


def test_turns_are_remembered_in_a_bank_that_stays_at_its_budget(database: None) -> None:
    latency.measure([8], turns=4, seed=4)
    with acting_as(User.objects.get(email__startswith="bench-4").pk):
        bank = Bank.objects.get()
        assert bank.budget_memories == Memory.objects.filter(bank=bank, state="held").count() == 8
        taken = Turn.objects.filter(conversation__external_id="")
        assert taken.count() == latency.WARM_UP + 4 == Recall.objects.count()
        assert all(taken.values_list("remembered", flat=True))
        assert Memory.objects.filter(turn__in=taken, archive_reason="budget").exists()


def test_the_encoder_is_itself_again_and_the_table_of_commits_is_gone(database: None) -> None:
    inner = encoder().inner
    latency.measure([5], turns=1, seed=5)
    assert encoder().inner is inner
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT to_regclass('bench_commit')")
        assert cursor.fetchone() == (None,)


def test_a_filled_bank_stands_at_its_budget_and_has_an_archive(database: None) -> None:
    owner = User.objects.create_user("bench-full@agora.localhost", None)
    bank = full_bank(owner.pk, 20, seed=1)
    with acting_as(owner.pk):
        states = list(Memory.objects.filter(bank=bank).values_list("state", flat=True))
    assert states.count("held") == 20
    assert states.count("archived") >= 2


def test_the_printed_table_has_a_line_a_metric_and_a_column_a_size() -> None:
    rows = [Row("overhead_ms_p50", 1.234, size=100), Row("overhead_ms_p50", 5.678, size=20_000)]
    heading, line = latency.shown(rows).splitlines()
    assert heading.split() == ["ms", "100", "20,000"]
    assert line.split() == ["overhead_ms_p50", "1.23", "5.68"]


@pytest.mark.flow
def test_the_command_measures_in_a_home_of_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    untouched, temporary = tmp_path / "home", tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "bench", "latency", "--json", str(tmp_path / "out" / "rows.json"), "--sizes", "6",
         "--turns", "2"],
        cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=300, check=False,
        env={"PATH": "/usr/bin:/bin", "AGORA_HOME": str(untouched), "TMPDIR": str(temporary),
             "DATABASE_URL": "postgresql://nobody@nowhere.invalid/agora"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out" / "rows.json").read_text())["rows"]
    assert {(row["method"], row["size"]) for row in rows} == {("agora", 6)}
    assert {row["metric"] for row in rows} == TOTALS | STAGES
    assert "commit_ms_p50" in done.stdout
    assert not untouched.exists()
    assert list(temporary.glob("agora-*")) == []
