"""The bench of masking, on a conversation whose likelihoods can be counted on fingers."""

from __future__ import annotations

import json

from bench.counterfactual import Case, measure, read_cases, shown
from tests.toy import ToyLikelihood

SAID = ["The boat is blue", "Vera lives in Porto", "It rained", "Tea is good", "I slept"]
SAMPLE = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ida", "speaker_b": "Ben", "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ida", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(SAID, 1)],
    },
    "qa": [
        {"question": "Which colour?", "answer": "blue", "evidence": ["D1:1"], "category": 4},
        {"question": "Which town?", "answer": "Porto", "evidence": ["D1:2"], "category": 4},
        {"question": "Which two?", "answer": "x", "evidence": ["D1:1", "D1:2"], "category": 1},
        {"question": "Which none?", "answer": "x", "evidence": ["D1:3"], "category": 5},
    ],
}  # fmt: skip


def cases() -> list[Case]:
    return list(read_cases(json.dumps([SAMPLE]).encode(), seed=1))


def test_questions_with_one_message_as_evidence_are_asked_beside_three_others() -> None:
    found = cases()
    assert {case.answer: case.evidence for case in found} == {
        "blue": "Ida: The boat is blue", "Porto": "Ida: Vera lives in Porto",
    }  # fmt: skip
    assert all(len({case.evidence, *case.others}) == 4 for case in found)


def test_the_evidence_stands_out_for_its_own_answer_and_not_for_anothers() -> None:
    """An answer of one word is one nat likelier with the message that has it, whichever that is."""
    rows = {(row.method, row.metric, row.category): row.value for row in measure(cases(), ToyLikelihood(), 1, "toy")}
    assert rows["its own answer", "auc", "all"] == 1.0
    assert rows["its own answer", "first", "all"] == 1.0
    assert rows["another question's answer", "first", "all"] == 0.0
    assert rows["another question's answer", "auc", "all"] <= 0.5
    assert rows["its own answer", "at least 1.5 nats", "evidence"] == 0.0
    assert shown(measure(cases(), ToyLikelihood(), 1, "toy")).count("\n") == 11
