"""Holds what stages found against the levels of a campaign."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from annot_pipeline.config import Threshold
from annot_pipeline.errors import ConfigError, Problem, printable
from annot_pipeline.gates.declared import GATES
from annot_pipeline.gates.gate import Facts, Finding, Gate, GateResult, Level


def gates_of(stage: str, tables: Sequence[str]) -> list[Gate]:
    """Gates that look at a stage which makes these tables."""
    return [g for g in GATES if g.stage == stage or (not g.stage and g.table in tables)]


def can_measure(stage: str, tables: Sequence[str], facts: Facts) -> bool:
    """Whether the facts are there; those of older code may lack what a new gate looks at."""
    try:
        for gate in gates_of(stage, tables):
            _measured(gate, facts)
    except KeyError:
        return False
    return True


def is_checked(stage: str, tables: Sequence[str], facts: Facts) -> bool:
    """Whether nothing is left that could not be checked; another time it may be."""
    return can_measure(stage, tables, facts) and not any(
        _measured(gate, facts).unchecked for gate in gates_of(stage, tables)
    )


def run_gates(
    stage: str, tables: Sequence[str], facts: Facts, thresholds: Mapping[str, Threshold]
) -> list[GateResult]:
    """Hold a stage's facts against the levels of the campaign."""
    results = []
    for gate in gates_of(stage, tables):
        given = thresholds.get(gate.name)
        warn = given.warn if given and "warn" in given.model_fields_set else gate.warn
        error = given.error if given and "error" in given.model_fields_set else gate.error
        finding = _measured(gate, facts)
        level = _level(finding, warn, error)
        results.append(
            GateResult(
                gate.name,
                stage,
                gate.table,
                level,
                float(finding.value),
                warn,
                error,
                gate.question,
                finding.detail,
                _do(gate, finding, level),
                finding.unchecked,
            )
        )
    return results


def _measured(gate: Gate, facts: Facts) -> Finding:
    """What a gate finds; where it fails itself, that it could not be checked."""
    try:
        return gate.measure(facts)
    except KeyError:
        raise  # a fact that is missing: the stage has to run again
    except Exception as error:
        return Finding(0.0, unchecked=f"{type(error).__name__}: {printable(error)}")


def _level(finding: Finding, warn: float | None, error: float | None) -> Level:
    serious = finding.value if finding.serious is None else finding.serious
    if finding.unchecked or (error is not None and serious > error):
        return "error"
    return "warn" if warn is not None and finding.value > warn else "pass"


def _do(gate: Gate, finding: Finding, level: Level) -> str:
    if finding.unchecked:
        return "build again; if it stays so, this is a defect of the pipeline: please report it"
    return "" if level == "pass" else gate.do


def check_gate_names(thresholds: Mapping[str, Threshold]) -> None:
    """Refuse levels for gates that do not exist.

    Raises
    ------
    ConfigError
        With the names that exist.
    """
    names = [gate.name for gate in GATES]
    problems = [
        Problem(
            f"gates.{name}",
            "unknown key",
            ", ".join(names),
            " or ".join(f"did you mean {n}?" for n in difflib.get_close_matches(name, names, 1)),
        )
        for name in thresholds
        if name not in names
    ]
    if problems:
        raise ConfigError("campaign.yaml: unknown gate", problems)
