"""Asset checks: the gates, as Dagster shows and enforces them."""

from __future__ import annotations

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.gates import Gate, GateResult
from assets_defs.keys import table_key

NEVER = "never"


def check_spec(campaign: LoadedCampaign, gate: Gate) -> dg.AssetCheckSpec:
    """A gate as a check; one that can fail with an error blocks what is downstream."""
    levels = gate.levels(campaign.settings.gates.get(gate.name))
    question = gate.asks(levels)
    return dg.AssetCheckSpec(
        gate.name,
        asset=table_key(campaign, gate.table),
        description=f"{question[:1].upper()}{question[1:]}. If it fails: {gate.do}.",
        blocking=levels.error is not None,
    )


def check_result(campaign: LoadedCampaign, gate: GateResult) -> dg.AssetCheckResult:
    """How a gate went."""
    metadata: dict[str, float | str] = {
        name: value
        for name, value in (
            ("value", gate.value),
            ("warns above", NEVER if gate.warn is None else gate.warn),
            ("fails above", NEVER if gate.error is None else gate.error),
            ("could not be checked", gate.unchecked),
            ("detail", gate.detail),
            ("do", gate.do),
        )
        if value != ""
    }
    return dg.AssetCheckResult(
        passed=gate.level == "pass",
        asset_key=table_key(campaign, gate.table),
        check_name=gate.name,
        severity=(
            dg.AssetCheckSeverity.ERROR if gate.level == "error" else dg.AssetCheckSeverity.WARN
        ),
        metadata=metadata,
        description=str(gate),
    )
