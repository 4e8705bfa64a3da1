"""What a gate measured reads as a phrase, in the singular and in the plural."""

from __future__ import annotations

import pytest

from annot_pipeline.gates import GATES, GateResult
from annot_pipeline.gates.gate import statement


@pytest.mark.parametrize(
    ("value", "question", "phrase"),
    [
        (0, "number of schema violations in labels", "0 schema violations in labels"),
        (1, "number of schema violations in labels", "1 schema violation in labels"),
        (1, "number of classes without items", "1 class without items"),
        (1, "number of unused entries", "1 unused entry"),
        (8200, "number of items", "8,200 items"),
        (0.2, "share of judges who failed", "20.00% of judges failed"),
        (0.125, "largest fall of a kappa", "largest fall of a kappa: 0.125"),
    ],
)
def test_the_number_comes_first(value, question, phrase):
    assert statement(value, question) == phrase


def test_every_share_is_a_sentence():
    """The share and a verb: "20% of judges failed", not "20% of judges who failed"."""
    for gate in GATES:
        if gate.question.startswith("share of "):
            said = statement(0.2, gate.question)
            assert len(said) < len("20.00% of ") + len(gate.question.removeprefix("share of ")), (
                said
            )


def test_every_number_can_be_one():
    for gate in GATES:
        if gate.question.startswith("number of "):
            things = gate.question.removeprefix("number of ")
            assert statement(1, gate.question) != f"1 {things}", gate.name


def test_a_gate_that_passes_states_its_value():
    contract = GateResult(
        "contract_labels", "infer_labels", "labels", "pass", 0.0, 0.0, 0.0,
        "number of schema violations in labels", "", "", "",
    )  # fmt: skip
    assert str(contract) == "contract_labels: 0 schema violations in labels"
