"""Asset checks: the gates of a step, as Dagster shows them.

They stop no step: all stages run, so that people see all that is wrong and a candidate is kept.
What they stop is publication, which fails its step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from annot_pipeline.errors import counted
from annot_pipeline.gates import Gate, GateResult
from annot_pipeline.report.markdown import escape

CHECK = "gates"
SEVERITY = {"error": dg.AssetCheckSeverity.ERROR, "warn": dg.AssetCheckSeverity.WARN}


def check_spec(asset: dg.AssetKey, gates: Sequence[Gate[Any]]) -> dg.AssetCheckSpec:
    """Return the check of an asset that its gates make."""
    names = ", ".join(gate.name for gate in gates)
    description = f"{counted(len(gates), 'gate')}: {names}. What fails says what to do."
    return dg.AssetCheckSpec(CHECK, asset=asset, description=description)


def check_result(asset: dg.AssetKey, gates: Sequence[GateResult]) -> dg.AssetCheckResult:
    """Return how the gates of an asset went: those that did not pass first, with what to do."""
    not_passed = [gate for gate in gates if gate.level != "pass"]
    open_gates = sorted(not_passed, key=lambda gate: gate.level)
    worst = open_gates[0].level if open_gates else "warn"
    rows = [f"| {gate.level} | {escape(str(gate))} | {escape(gate.do)} |" for gate in open_gates]
    rows += [f"| pass | {escape(str(gate))} | |" for gate in gates if gate.level == "pass"]
    metadata: dict[str, Any] = {
        "gates": dg.MetadataValue.md("\n".join(["| level | gate | do |", "|---|---|---|", *rows])),
        "failed": sum(gate.level == "error" for gate in gates),
        "warned": sum(gate.level == "warn" for gate in gates),
        **gate_figures(open_gates),
    }
    return dg.AssetCheckResult(
        passed=not open_gates,
        asset_key=asset,
        check_name=CHECK,
        severity=SEVERITY[worst],
        metadata=metadata,
        description="\n".join(map(str, open_gates)) or f"{counted(len(gates), 'gate')} passed",
    )


def log_check(
    context: dg.OpExecutionContext | dg.AssetExecutionContext,
    asset: dg.AssetKey,
    result: dg.AssetCheckResult,
) -> None:
    """Record a check that was not planned with the run: Dagster shows it as it went, or not."""
    context.log_event(
        dg.AssetCheckEvaluation(  # type: ignore[arg-type]  # ops log checks too
            asset, result.check_name or CHECK, result.passed, result.metadata,
            severity=result.severity, description=result.description,
        )
    )  # fmt: skip


def gate_figures(gates: Sequence[GateResult]) -> dict[str, float]:
    """Return the figures of gates as metadata: Dagster plots their history.

    A check has those that did not pass, also of builds that published nothing; an asset has all.
    """
    return {f"gate {gate.name}": gate.value for gate in gates if not gate.unchecked}
