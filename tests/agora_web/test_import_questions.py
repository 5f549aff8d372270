"""`import_conversation --questions`: labels with the import, only where they are asked for, none from a broken set."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.models import Conversation
from memory.tenancy import acting_as
from tests.scenes import make_agent, make_person
from training.models import Label

TALK = '{"conversation": "talk-1", "id": "1", "observation": "The lighthouse keeper is called Ida."}\n'
SET = '{"question": "Who keeps the lighthouse?", "evidence": ["1.observation"]}\n'
EVERYBODY = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def imported(folder: Path, **options: Any) -> str:
    file = folder / "talk.jsonl"
    file.write_text(TALK)
    out = StringIO()
    call_command(
        "import_conversation", str(file), user="ana@example.org", agent="Scribe", stdout=out, stderr=StringIO(),
        **options,
    )  # fmt: skip
    return out.getvalue()


@EVERYBODY
def test_a_set_of_questions_labels_what_it_needs_also_when_the_conversation_is_there_already(tmp_path: Path) -> None:
    make_agent()
    ana = make_person()
    assert "labelled" not in imported(tmp_path)
    with acting_as(ana.pk):
        assert not Label.objects.exists()
    (tmp_path / "set.jsonl").write_text(SET)
    said = imported(tmp_path, questions=tmp_path / "set.jsonl")
    assert "1 memories are labelled as needed" in said
    assert "was there already" in said
    with acting_as(ana.pk):
        label = Label.objects.get()
        assert (label.source, label.value, label.text) == ("imported", 1.0, "The lighthouse keeper is called Ida.")


@EVERYBODY
def test_with_a_broken_set_nothing_is_imported(tmp_path: Path) -> None:
    make_agent()
    ana = make_person()
    (tmp_path / "set.jsonl").write_text('{"question": "Who?", "evidence": "1"}\n')
    with pytest.raises(CommandError, match="Line 1: “evidence” must be a list"):
        imported(tmp_path, questions=tmp_path / "set.jsonl")
    with pytest.raises(CommandError, match="cannot be read"):
        imported(tmp_path, questions=tmp_path / "none.jsonl")
    with acting_as(ana.pk):
        assert not Conversation.objects.exists()
