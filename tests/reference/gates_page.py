"""docs/reference/gates.md, from the declarations of gates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from annot_pipeline.gates import GATES, Gate
from annot_pipeline.gates.declared.changes import CHANGES
from annot_pipeline.gates.declared.judges import JUDGES
from annot_pipeline.gates.declared.labels import LABELS
from annot_pipeline.gates.declared.rankings import RANKINGS
from annot_pipeline.gates.declared.records import RECORDS

CONTRACT = "contract_"
SUBJECTS: dict[str, tuple[Gate[Any], ...]] = {
    "Exports and records": RECORDS,
    "Judges": JUDGES,
    "Labels and decisions of experts": LABELS,
    "Comparisons and rankings": RANKINGS,
    "Changes since the newest release, and model judges": CHANGES,
}

HEAD = """# Gates

Every gate, with the stage whose figures it checks, and its default levels. A figure above the first
level warns; above the second nothing is published. [Gates](../gates.md) explains how to set levels
and how to read the figures. A minimum is the number of items, judges or judgments that the figure
needs; `gates.NAME.minimum` sets it.
"""
COLUMNS = (
    "| Gate | Stage | Checks | Warns above | Fails above | What to do |\n|---|---|---|---|---|---|"
)


def level(value: float | None) -> str:
    """Return a level as a cell shows it."""
    return "never" if value is None else f"{value:g}"


def gate_row(gate: Gate[Any]) -> str:
    """Return the row of a gate."""
    levels = gate.levels(None)
    checks = gate.asks(levels)
    if levels.minimum is not None and "{minimum}" not in gate.question:
        checks += f" (minimum: {levels.minimum})"
    stage = gate.stage.replace("_", " ")
    cells = (f"`{gate.name}`", stage, checks, level(levels.warn), level(levels.error), gate.do)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def contract_lines() -> Iterator[str]:
    """Yield the lines of the gates on the contracts of tables."""
    gates = [gate for gate in GATES if gate.name.startswith(CONTRACT)]
    [(do, warn, error)] = {(gate.do, gate.warn, gate.error) for gate in gates}
    yield "## Contracts of tables\n"
    yield (
        "Each counts the schema violations of one gold table: columns, types, nulls, allowed "
        f"values, ranges and the key. It warns above {level(warn)} and fails above {level(error)}. "
        f"What to do: {do}.\n"
    )
    yield from (f"- `{gate.name}`" for gate in gates)


def gates_page() -> str:
    """Return the page."""
    lines = [HEAD]
    for subject, gates in SUBJECTS.items():
        lines += [f"## {subject}\n", COLUMNS, *map(gate_row, gates), ""]
    return "\n".join([*lines, *contract_lines()]) + "\n"
