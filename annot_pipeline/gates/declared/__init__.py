"""All gates, each with its question, its levels, and what to do when it fails."""

from __future__ import annotations

from typing import Any

from annot_pipeline.contracts import GOLD
from annot_pipeline.contracts.stage_metrics import TableMetrics
from annot_pipeline.gates.declared.changes import CHANGES
from annot_pipeline.gates.declared.judges import JUDGES
from annot_pipeline.gates.declared.labels import LABELS
from annot_pipeline.gates.declared.rankings import RANKINGS
from annot_pipeline.gates.declared.records import RECORDS
from annot_pipeline.gates.gate import Gate
from annot_pipeline.gates.measures import contract_of

CONTRACTS: tuple[Gate[Any], ...] = tuple(
    Gate(
        f"contract_{table}", TableMetrics, table,
        f"number of schema violations in {table}",
        "if the detail says doubtful, the export contains invalid values: fix it and build "
        "again; any other violation is a defect of the pipeline: please report it",
        contract_of(table), warn=0, error=0,
    )
    for table in GOLD
)  # fmt: skip
"""Those of a contract belong to whichever stage makes the table."""

GATES: tuple[Gate[Any], ...] = (
    *RECORDS, *JUDGES, *RANKINGS, *CHANGES, *LABELS, *CONTRACTS,
)  # fmt: skip
