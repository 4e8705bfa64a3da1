"""Asset checks: the gates, as Dagster shows and enforces them."""

from __future__ import annotations

from typing import Any

import dagster as dg

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.gates import GATES, RELEASE, Gate, GateResult
from assets_defs.keys import release_key, work_key

NEVER = "never"
OF_RELEASE = ("compare_releases", RELEASE)
"""Whose gates look at the release as a whole: their checks are on it, and run when it is made."""


def release_gates() -> list[Gate[Any]]:
    """Return the gates whose checks are on the release."""
    return [gate for gate in GATES if gate.stage in OF_RELEASE]


def check_spec(campaign: LoadedCampaign, gate: Gate[Any]) -> dg.AssetCheckSpec:
    """Return a gate as a check; one that can fail with an error blocks what is downstream."""
    levels = gate.levels(campaign.settings.gates.get(gate.name))
    question = gate.asks(levels)
    return dg.AssetCheckSpec(
        gate.name,
        asset=_checked_key(campaign, gate),
        description=f"{question[:1].upper()}{question[1:]}. If it fails: {gate.do}.",
        blocking=levels.error is not None,
    )


def _checked_key(campaign: LoadedCampaign, gate: Gate[Any] | GateResult) -> dg.AssetKey:
    if gate.stage in OF_RELEASE:
        return release_key(campaign)
    return work_key(campaign, gate.table)


def check_result(campaign: LoadedCampaign, gate: GateResult) -> dg.AssetCheckResult:
    """Return how a gate went."""
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
        asset_key=_checked_key(campaign, gate),
        check_name=gate.name,
        severity=(
            dg.AssetCheckSeverity.ERROR if gate.level == "error" else dg.AssetCheckSeverity.WARN
        ),
        metadata=metadata,
        description=str(gate),
    )
