"""The figures of training draw the numbers of their tables; `tests/figure_readers.py` reads both."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agora_web.accounts.models import User
from memory import adapters
from tests.figure_readers import compare
from tests.memory.services.desk import Desk
from tests.training.services.challengers import ended_run, stored, upside_down
from tests.training.services.conftest import database, desk, operator, person, stranger
from tests.training.test_drift import KIND, learned_from, tell

__all__ = ["database", "desk", "operator", "person", "stranger"]
CURVES = {"loss.two_people": [0.7, 0.5, 0.4], "loss.tool_use": [0.6, 0.55], "left_out.two_people": [0.61, 0.64]}


@pytest.fixture
def screen(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def test_runs_and_adapters_draw_what_their_rows_tell(screen: Client, desk: Desk) -> None:
    first = stored(upside_down("run-1"))
    run = ended_run(first, curves=CURVES, created_at=timezone.now() - timedelta(days=1))
    ended_run(stored(upside_down("run-2"), parent=upside_down("run-1")))
    for name in ("loss", "left_out"):
        compare(screen, f"api_run_{name}", f"/api/training/runs/{run.pk}/{name}/")
    for name in ("lineage", "compared"):
        compare(screen, f"api_adapters_{name}", f"/api/training/adapters/{name}/")


def test_drift_draws_what_its_rows_tell(screen: Client, desk: Desk) -> None:
    made = stored(upside_down("drift-1"), distributions=learned_from(), learned=[KIND])
    adapters.serve_by_default(made.pk, using="owner")
    tell(desk, 6, 24)
    compare(screen, "api_adapters_drift", "/api/training/adapters/drift/")
    compare(screen, "api_adapters_distribution", "/api/training/adapters/distribution/?feature=question")
