"""docs/gates.md says of every gate what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from annot_pipeline.gates import GATES, Gate

TEXT = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
CONTRACT = "contract_"


def row(gate: Gate) -> str:
    """The row of a gate."""
    levels = ["never" if n is None else f"{n:g}" for n in (gate.warn, gate.error)]
    cells = (f"`{gate.name}`", gate.asks(gate.levels(None)), *levels, gate.do)
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize(
    "gate", [g for g in GATES if not g.name.startswith(CONTRACT)], ids=lambda g: g.name
)
def test_every_gate_has_its_row(gate):
    assert row(gate) in TEXT.splitlines()


def test_every_contract_is_named():
    for gate in GATES:
        if gate.name.startswith(CONTRACT):
            assert f"`{gate.name}`" in TEXT
            assert gate.do in TEXT
            assert (gate.warn, gate.error) == (0, 0)


def test_no_row_is_of_another_gate():
    rows = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(row(g) for g in GATES if not g.name.startswith(CONTRACT))
