"""Gates: figures that decide whether a release is published.

Each gate looks at what a stage found and gives one figure; above ``warn`` it warns, above
``error`` nothing is published. A new check is one entry in `declared.GATES` (and, if no stage
counts it yet, one fact in that stage, annot_pipeline.stages). What does not belong here: reading
tables, Dagster.
"""

from __future__ import annotations

from annot_pipeline.gates.declared import GATES
from annot_pipeline.gates.gate import RELEASE, Gate, GateResult
from annot_pipeline.gates.run import can_measure, check_gate_names, gates_of, is_checked, run_gates

__all__ = [
    "GATES",
    "RELEASE",
    "Gate",
    "GateResult",
    "can_measure",
    "check_gate_names",
    "gates_of",
    "is_checked",
    "run_gates",
]
