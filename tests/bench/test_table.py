"""The long table and its intervals."""

import json
from pathlib import Path

import numpy as np
import pytest

from bench import table


def test_a_figure_is_its_statistic_within_its_interval() -> None:
    values = np.random.default_rng(0).normal(10.0, 1.0, 400).tolist()
    row = table.figure("overhead_ms_p50", values, table.median, size=100)
    assert row.value == pytest.approx(float(np.median(values)), abs=1e-4)
    assert row.low is not None
    assert row.high is not None
    assert 9.7 < row.low < row.value < row.high < 10.3
    assert (row.n, row.size) == (400, 100)


def test_an_interval_is_the_same_whenever_it_is_computed() -> None:
    values = [1.0, 5.0, 2.0, 8.0, 3.0]
    assert table.interval(values, table.p95) == table.interval(values, table.p95)


def test_a_written_table_has_every_column_in_every_row(tmp_path: Path) -> None:
    table.write(tmp_path / "deep" / "rows.json", [table.Row("commit_ms_p50", 1.5, size=100)])
    (row,) = json.loads((tmp_path / "deep" / "rows.json").read_text())["rows"]
    assert list(row) == [
        "metric", "value", "data", "adapter", "method", "level", "unit", "budget", "category", "low", "high", "n",
        "size",
    ]  # fmt: skip
    assert (row["method"], row["category"], row["value"]) == ("agora", "all", 1.5)
