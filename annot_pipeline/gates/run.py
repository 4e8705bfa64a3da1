"""Compares metrics of stages with the levels of a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.config import Threshold
from annot_pipeline.config.campaign_file import likely_name
from annot_pipeline.contracts.stage_metrics import MetricsError, StageMetrics
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.gates.declared import GATES
from annot_pipeline.gates.gate import NEWEST, Finding, Gate, GateResult, Level, Levels


def gates_of(stage: str, tables: Sequence[str]) -> list[Gate[Any]]:
    """Return the gates that look at a stage which makes these tables."""
    return [g for g in GATES if g.stage == stage or (not g.stage and g.table in tables)]


def is_checked(stage: str, tables: Sequence[str], document: Mapping[str, Any]) -> bool:
    """Return whether stored metrics are complete, and every gate could look at them."""
    try:
        return not any(
            gate.find(metrics, gate.levels(None)).unchecked
            for gate, metrics in _with_metrics(stage, tables, document)
        )
    except MetricsError:
        return False


def run_gates(
    stage: str,
    tables: Sequence[str],
    document: Mapping[str, Any],
    thresholds: Mapping[str, Threshold],
) -> list[GateResult]:
    """Return the results of a stage's gates, by its stored metrics and the campaign's levels.

    Raises
    ------
    MetricsError
        Older code made the metrics, without what a gate needs.
    """
    results = []
    for gate, metrics in _with_metrics(stage, tables, document):
        levels = gate.levels(thresholds.get(gate.name))
        finding = gate.find(metrics, levels)
        level = _level(finding, levels)
        before = getattr(metrics, "released_version", None) or "the release before"
        question, detail, do = (
            text.replace(NEWEST, before)
            for text in (gate.asks(levels), finding.detail, _do(gate, finding, level))
        )
        results.append(
            GateResult(
                gate.name, stage, gate.table, level, float(finding.value), levels.warn,
                levels.error, question, detail, do, finding.unchecked,
            )
        )  # fmt: skip
    return results


def _with_metrics(
    stage: str, tables: Sequence[str], document: Mapping[str, Any]
) -> list[tuple[Gate[Any], StageMetrics]]:
    """Return the gates of a stage, each with its metrics, which are read once per type."""
    gates = gates_of(stage, tables)
    metrics = {kind: kind.read(document) for kind in {gate.metrics for gate in gates}}
    return [(gate, metrics[gate.metrics]) for gate in gates]


def _level(finding: Finding, levels: Levels) -> Level:
    serious = finding.value if finding.serious is None else finding.serious
    if finding.unchecked or (levels.error is not None and serious > levels.error):
        return "error"
    return "warn" if levels.warn is not None and finding.value > levels.warn else "pass"


def _do(gate: Gate[Any], finding: Finding, level: Level) -> str:
    if finding.unchecked:
        return "build again; if it stays so, this is a defect of the pipeline: please report it"
    return "" if level == "pass" else gate.do


def check_gate_names(thresholds: Mapping[str, Threshold]) -> None:
    """Refuse levels for gates that do not exist, and a minimum where none is looked at.

    Raises
    ------
    ConfigError
        With the names that are allowed.
    """
    names = [gate.name for gate in GATES]
    with_minimum = [gate.name for gate in GATES if gate.minimum is not None]
    problems = [
        Problem(f"gates.{name}", "unknown key", ", ".join(names), likely_name(name, names))
        for name in thresholds
        if name not in names
    ]
    if problems:
        raise ConfigError("campaign.yaml: unknown gate", problems)
    shares = {gate.name for gate in GATES if gate.question.startswith("share")}
    problems = [
        Problem(
            f"gates.{name}.{level}", "a share above 1 is never reached",
            "0 to 1: 5% is 0.05", "write null to switch the level off", (str(value),),
        )
        for name, threshold in thresholds.items()
        for level, value in (("warn", threshold.warn), ("error", threshold.error))
        if name in shares and value is not None and value > 1
    ]  # fmt: skip
    problems += [
        Problem(f"gates.{name}.minimum", "the gate has no minimum", ", ".join(with_minimum))
        for name, threshold in thresholds.items()
        if threshold.minimum is not None and name not in with_minimum
    ]
    if problems:
        raise ConfigError("campaign.yaml: levels that a gate cannot have", problems)
