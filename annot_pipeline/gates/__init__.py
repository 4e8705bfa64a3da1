"""Gates: figures that decide whether a release is published.

Each gate computes one figure from the metrics of a stage; above ``warn`` it warns, above ``error``
nothing is published. A new check is one entry in `declared.GATES` (and, if no stage counts it yet,
one metric in ``stages/SUBJECT/metrics.py``). What does not belong here: reading
tables, Dagster.
"""

from __future__ import annotations

from annot_pipeline.gates.declared import GATES
from annot_pipeline.gates.gate import (
    RELEASE,
    Decision,
    Gate,
    GateResult,
    standing_decision,
    without_diff,
)
from annot_pipeline.gates.run import check_gate_names, gates_of, is_checked, run_gates
