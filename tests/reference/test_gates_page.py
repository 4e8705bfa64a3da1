"""The reference of gates has every gate with its default levels."""

from __future__ import annotations

import re
from pathlib import Path

from annot_pipeline.gates import GATES
from tests.recorded_pages import check_page
from tests.reference.gates_page import CONTRACT, SUBJECTS, gate_row, gates_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "gates.md"


def test_the_page_is_up_to_date():
    check_page(PAGE, gates_page())


def test_every_gate_is_on_it_once():
    grouped = [gate for gates in SUBJECTS.values() for gate in gates]
    contracts = [gate for gate in GATES if gate.name.startswith(CONTRACT)]
    assert sorted(g.name for g in grouped + contracts) == sorted(g.name for g in GATES)
    named = re.findall(r"^(?:\||-) `(\w+)`", gates_page(), re.MULTILINE)
    assert sorted(named) == sorted(gate.name for gate in GATES)


def test_rows_say_stage_levels_and_minimum():
    gates = {gate.name: gate for gate in GATES}
    row = gate_row(gates["judges_failed"])
    assert "| control judges | " in row
    assert "(minimum: 10) | 0.5 | 0.9 | " in row
    assert "(minimum" not in gate_row(gates["label_flips"])
    assert "| never | 0 | " in gate_row(gates["accounting"])
