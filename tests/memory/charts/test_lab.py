"""The figures of the policy lab, by value."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from memory.charts.lab import MOST_MARKS, curves_figure, missed_figure
from memory.lab import CurveRow, MissedRow
from tests.memory.charts.test_parts import checked


def row(policy: str, share: float, evidence: float | None, adapter: str = "-", **fields: Any) -> CurveRow:
    usual = {"budget": f"{share:.0%}", "memories": int(100 * share), "told": 100, "recalled": 10,
             "kept": int(10 * (evidence or 0)), "evidence_weight": evidence, "regretted": 3, "regret": 0.03, "held": 5,
             "evicted": 5, "merged": 0, "conversations": 1,
             "references": "shipped"}  # fmt: skip
    return CurveRow(**{"policy": policy, "adapter": adapter, "share": share, "evidence": evidence, **usual, **fields})


def test_a_line_a_policy_with_a_hue_and_a_mark_of_its_own() -> None:
    rows = [row("fifo", 0.1, 0.2), row("fifo", 0.5, 0.6), row("lru", 0.1, None), row("lru", 0.5, 0.9)]
    drawn = curves_figure(rows, "evidence", "kept", address=lambda one: f"/{one.policy}/{one.budget}/")
    fifo, lru = drawn["data"]
    assert (fifo["name"], fifo["x"], fifo["y"]) == ("fifo", [0.1, 0.5], [0.2, 0.6])
    assert (lru["name"], lru["y"]) == ("lru", [None, 0.9])
    assert fifo["customdata"] == ["/fifo/10%/", "/fifo/50%/"]
    assert fifo["marker"]["color"] != lru["marker"]["color"]
    assert fifo["marker"]["symbol"] != lru["marker"]["symbol"]
    assert fifo["text"][0] == "room for 10 of 100 (10%) · 2 of 10 kept"
    assert drawn["layout"]["yaxis"]["title"]["text"] == "kept"
    checked(drawn)


def test_adapters_share_a_policys_hue_and_differ_by_dash() -> None:
    rows = [row("fifo", 0.1, 0.2), row("fifo", 0.1, 0.3, adapter="shared-1")]
    own, other = curves_figure(rows, "regret", "regret", names=lambda one: f"<{one}>")["data"]
    assert (own["name"], other["name"]) == ("fifo · <->", "fifo · <shared-1>")
    assert own["line"]["color"] == other["line"]["color"]
    assert own["line"]["dash"] != other["line"]["dash"]
    assert own["y"] == [0.03]


def missed(policy: str = "fifo", weight: float = 0.5, **fields: Any) -> MissedRow:
    usual = {"conversation": uuid4(), "memory": uuid4(), "adapter": "-", "budget": "10%", "told": 1, "left": 3,
             "missed": 7, "times": 1, "text": "<b>Vera</b>"}  # fmt: skip
    return MissedRow(**{"policy": policy, "weight": weight, **usual, **fields})


def test_what_was_missed_lies_where_it_left_and_where_it_was_missed() -> None:
    rows = [missed(weight=0.8), missed("lru", 0.2, left=4, missed=9)]
    fifo, lru = missed_figure(rows, address=lambda one: f"/{one.memory}/")["data"]
    assert (fifo["x"], fifo["y"], lru["x"], lru["y"]) == ([3], [7], [4], [9])
    assert (fifo["marker"]["size"], lru["marker"]["size"]) == ([16.0], [11.0])
    assert fifo["text"] == ["&lt;b&gt;Vera&lt;/b&gt;"]
    assert fifo["customdata"] == [f"/{rows[0].memory}/"]
    checked(missed_figure(rows))
    many = [missed(weight=1 / n) for n in range(1, MOST_MARKS + 50)]
    assert len(missed_figure(many)["data"][0]["x"]) == MOST_MARKS
