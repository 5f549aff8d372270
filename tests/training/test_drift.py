"""What banks wrote since, beside what the serving adapter learned from: counts, for staff alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agora_web.accounts.models import User
from memory import adapters
from memory.engine import features
from memory.models import AdapterVersion, Memory
from memory.services import memories
from memory.tenancy import acting_as
from tests.memory.charts.test_parts import checked
from tests.memory.services.desk import Desk
from tests.training.services.challengers import stored, upside_down
from tests.training.services.conftest import database, desk, operator, person, stranger
from training import drift, drift_figures
from training.drift import BinRow, DriftRow, drift_of, drift_rows
from training.drift_figures import plainly
from training.learner.distributions import described

__all__ = ["database", "desk", "operator", "person", "stranger"]
KIND = "user_assistant"
QUESTION = features.NAMES.index("question")


def learned_from(questions: int = 10, of: int = 40) -> dict[str, Any]:
    """What a head would have learned from, were so many of its memories questions."""
    raw = np.zeros((of, len(features.NAMES)), dtype=np.float32)
    raw[:questions, QUESTION] = 1.0
    return {KIND: described(raw)}


@pytest.fixture
def serving(operator: User) -> AdapterVersion:
    """A version that learned from 40 memories, ten of them questions, and serves."""
    made = stored(upside_down("drift-1"), distributions=learned_from(), learned=[KIND])
    adapters.serve_by_default(made.pk, using="owner")
    return made


def tell(desk: Desk, statements: int, questions: int) -> None:
    for number in range(statements):
        desk.tell(f"Boat number {number} lies in harbour {number}", "")
    for number in range(questions):
        desk.tell(f"Where does boat number {number} lie?", "")


def read(person: User, *, kind: str = "", later: int = 0) -> drift.Drift:
    """Drift over thirty days as seen now, or so many days later."""
    with acting_as(person.pk):
        return drift_of(30, kind, timezone.now() + timedelta(days=later, seconds=1))


def test_what_was_written_is_counted_in_the_bins_of_what_was_learned_from(
    desk: Desk, operator: User, serving: AdapterVersion
) -> None:
    tell(desk, 6, 24)
    found = read(operator)
    assert (found.serves, found.kind, found.now) == (serving.pk, KIND, 30)
    assert found.counts["question"] == [6, 24]
    assert found.counts["role_user"] == [0, 30]  # it learned from none of a person's: above that edge are all
    row = next(row for row in drift_rows(found) if row.feature == "question")
    # 1/4 of the memories were questions, now 4/5 are: .55 ln(.8 / .25) + (.2 - .75) ln(.2 / .75)
    assert row.index == pytest.approx(0.55 * np.log(0.8 / 0.25) - 0.55 * np.log(0.2 / 0.75), abs=1e-4)
    assert (row.above_then, row.above_now, row.verdict, row.then, row.now) == (0.25, 0.8, "far", 40, 30)
    assert plainly(row) == "Questions: 3.2 times as common as in training (80 %, then 25 %)."
    assert drift.bin_rows(found, "question") == [
        BinRow("question", None, 1.0, 30, 6, 0.75, 0.2), BinRow("question", 1.0, None, 10, 24, 0.25, 0.8)
    ]  # fmt: skip


def test_a_group_of_fewer_than_twenty_what_is_older_and_what_is_forgotten_are_not_counted(
    desk: Desk, operator: User, serving: AdapterVersion
) -> None:
    tell(desk, 10, 11)
    assert read(operator).counts["question"] == [10, 11]
    with desk.acting():
        first, second = Memory.objects.filter(bank=desk.bank_id).order_by("written_seq")[:2]
        memories.forget(first.pk, now=timezone.now())
    assert read(operator).counts["question"] == [9, 11]
    assert read(operator, later=40).counts == {}
    with desk.acting():
        memories.forget(second.pk, now=timezone.now())
    assert read(operator).counts == {}
    assert read(operator).now == 0


def recounted(kind: str, edges: list[int], feature: int, told: list[Memory]) -> list[int]:
    """The same by other means: what was written, read row by row."""
    values = [round(float(one.features[feature]) * 1000) for one in told]
    places = np.searchsorted(edges, values, side="right")
    return np.bincount(places, minlength=len(edges) + 1).tolist()


def test_counts_of_all_kinds_in_one_pass_are_those_of_the_rows_one_by_one(
    desk: Desk, operator: User, stranger: User
) -> None:
    other = Desk(stranger)
    tell(desk, 13, 24)
    tell(other, 21, 9)
    with other.acting():
        Memory.objects.filter(bank=other.bank_id).update(role="other")
    rng = np.random.default_rng(3)
    raw = np.round(rng.gamma(1.0, size=(60, len(features.NAMES))), 3).astype(np.float32)
    distributions = {KIND: described(raw), "two_people": described(raw[:40] / 2)}
    made = stored(upside_down("drift-3"), distributions=distributions, learned=list(distributions))
    adapters.serve_by_default(made.pk, using="owner")
    for kind, of in ((KIND, desk), ("two_people", other)):
        found = read(operator, kind=kind)
        with of.acting():
            told = list(Memory.objects.filter(bank=of.bank_id).exclude(features=[]))
        assert found.learned is not None
        assert found.counts == {
            name: recounted(kind, about["edges"], features.NAMES.index(name), told)
            for name, about in found.learned.features.items()
        }
        assert found.counts
    assert read(operator).kind == KIND, "of which most was written"


def test_a_page_counts_once_for_both_figures_and_again_when_something_has_happened(
    desk: Desk, operator: User, serving: AdapterVersion
) -> None:
    tell(desk, 6, 24)
    client = Client()
    client.force_login(operator)

    def page(**asked: str) -> tuple[int, str]:
        with CaptureQueriesContext(connection) as asking:
            for name in ("drift", "distribution"):
                answer = client.get(f"/api/training/adapters/{name}/", asked).json()
        return sum("agora_written_features" in one["sql"] for one in asking), answer["table"]["rows"]

    once, rows = page(feature="question")
    again, same = page(feature="question")
    assert (once, again) == (1, 0)
    assert rows == same
    assert page(feature="numbers")[0] == 0
    desk.tell("A ferry came in from the islands", "")
    more, then = page(feature="question")
    assert more == 1
    assert [row[4] for row in then] == [row[4] + (place == 0) for place, row in enumerate(rows)]
    assert read(desk.person).counts == {}, "what was counted for staff is not told to others"


@pytest.mark.parametrize("role", [None, "labeller"])
def test_the_database_tells_these_counts_to_staff_alone(
    desk: Desk, serving: AdapterVersion, stranger: User, role: str | None
) -> None:
    tell(desk, 10, 12)
    if role:
        stranger.groups.set(Group.objects.filter(name=role))
    for who in (stranger, desk.person):
        assert read(who).counts == {}
    with acting_as(None), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM agora_written_features(now(), '{}', 0.05)")
        assert cursor.fetchone() == (0,)


def test_kinds_of_conversation_are_told_apart_as_the_head_tells_them(
    desk: Desk, operator: User, serving: AdapterVersion
) -> None:
    tell(desk, 10, 12)
    with desk.acting():
        Memory.objects.filter(bank=desk.bank_id).update(role="other")
    found = read(operator)
    assert (found.kind, found.counts) == (KIND, {})
    assert read(operator, kind="two_people").learned is None  # what served before it learned nothing of these


def test_numbers_go_with_what_was_erased_and_a_kind_that_was_not_learned_is_its_parents(
    desk: Desk, operator: User, serving: AdapterVersion
) -> None:
    young = stored(upside_down("drift-2"), adapters.adapter_named(serving.pk), learned=["tool_use"])
    assert drift.learned_by(young.pk, KIND).version == serving.pk  # type: ignore[union-attr]
    assert drift.learned_by(young.pk, "tool_use") is None
    shipped = drift.learned_by(adapters.shipped_adapter().version, KIND)
    assert shipped is not None
    assert shipped.since is None
    AdapterVersion.objects.using("owner").filter(pk=serving.pk).update(manifest={"kind": "shared", "erased": True})
    found = read(operator)
    assert (found.learned, found.erased) == (None, True)


def test_both_figures_are_drawn_with_their_rows_and_say_in_words_what_moved(
    desk: Desk, operator: User, serving: AdapterVersion
) -> None:
    tell(desk, 6, 24)
    client = Client()
    client.force_login(operator)
    moved = client.get("/api/training/adapters/drift/").json()
    checked(moved["figure"])
    assert "30 memories of chats with an assistant were written" in moved["sentence"]
    assert f"{serving.pk} learned from 40." in moved["sentence"]
    names = [row[0] for row in moved["table"]["rows"]]
    assert len(names) == len(features.NAMES)
    bars = {text: x for one in moved["figure"]["data"] for text, x in zip(one["text"], one["x"], strict=True)}
    assert bars == {row[0]: row[2] for row in moved["table"]["rows"]}
    one = client.get("/api/training/adapters/distribution/", {"feature": "question"}).json()
    checked(one["figure"])
    assert [(bar["name"], bar["x"], bar["y"]) for bar in one["figure"]["data"]] == [
        ("learned from", ["no", "yes"], [75.0, 25.0]), ("written since", ["no", "yes"], [20.0, 80.0])
    ]  # fmt: skip
    assert one["sentence"].startswith("Questions: moved far (stability index 1.37")
    none = client.get("/api/training/adapters/drift/", {"kind": "two_people"}).json()
    assert none["figure"] is None
    assert none["empty"].startswith(f"No distribution is kept of what {serving.pk} learned of conversations of two")
    assert client.get("/api/training/adapters/drift/", {"days": "3"}).status_code == 400
    client.force_login(desk.person)
    for name in ("drift", "distribution"):
        assert client.get(f"/api/training/adapters/{name}/").status_code == 403


def row(feature: str, **fields: Any) -> DriftRow:
    usual = {"index": 0.3, "chance": 0.01, "verdict": "far", "than": 1.0, "above_then": 0.5, "above_now": 0.25,
             "then": 100, "now": 100, "alone": True, "mean": 0.0, "deviation": 1.0}  # fmt: skip
    return DriftRow(feature, **{**usual, **fields})


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (row("question"), "Questions: 2.0 times rarer than in training (25 %, then 50 %)."),
        (row("role_tool", above_then=0.0), "From a tool: in 25 %, and never in training."),
        (row("role_tool", above_now=0.0), "From a tool: no more, and in 50 % in training."),
        (row("log_words", than=3.091, alone=False), "Length in words: 25 % are at 21 or more, and were 50 %."),
        (row("novelty", than=0.246), "How new its meaning is: 25 % are at 0.25 or more, and were 50 %."),
    ],
)
def test_what_moved_is_said_in_plain_words(one: DriftRow, sentence: str) -> None:
    assert plainly(one) == sentence


def test_every_feature_has_a_name_and_bins_are_read_as_people_count() -> None:
    assert set(drift_figures.words.FEATURES) == set(features.NAMES)
    span = drift_figures.words.span
    assert [span("numbers", None, 0.693), span("numbers", 0.693, 1.099), span("numbers", 1.386, 1.792)] == [
        "0", "1", "3 – 4"
    ]  # fmt: skip
    assert (span("log_words", None, 3.466), span("novelty", None, 0.138)) == ("at most 30", "below 0.14")
    assert (span("numbers", 2.079, None), span("novelty", 0.138, 0.169)) == ("7 and more", "0.14 – 0.17")
