"""Holds what stages found against the levels of a campaign."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from annot_pipeline.config import Threshold
from annot_pipeline.errors import ConfigError, Problem, printable
from annot_pipeline.gates.declared import GATES
from annot_pipeline.gates.gate import Facts, Finding, Gate, GateResult, Level, Levels


def gates_of(stage: str, tables: Sequence[str]) -> list[Gate]:
    """Gates that look at a stage which makes these tables."""
    return [g for g in GATES if g.stage == stage or (not g.stage and g.table in tables)]


def can_measure(stage: str, tables: Sequence[str], facts: Facts) -> bool:
    """Whether the facts are there; those of older code may lack what a new gate looks at."""
    try:
        for gate in gates_of(stage, tables):
            _measured(gate, facts, gate.levels(None))
    except KeyError:
        return False
    return True


def is_checked(stage: str, tables: Sequence[str], facts: Facts) -> bool:
    """Whether nothing is left that could not be checked; another time it may be."""
    return can_measure(stage, tables, facts) and not any(
        _measured(gate, facts, gate.levels(None)).unchecked for gate in gates_of(stage, tables)
    )


def run_gates(
    stage: str, tables: Sequence[str], facts: Facts, thresholds: Mapping[str, Threshold]
) -> list[GateResult]:
    """Hold a stage's facts against the levels of the campaign."""
    results = []
    for gate in gates_of(stage, tables):
        levels = gate.levels(thresholds.get(gate.name))
        finding = _measured(gate, facts, levels)
        level = _level(finding, levels)
        results.append(
            GateResult(
                gate.name,
                stage,
                gate.table,
                level,
                float(finding.value),
                levels.warn,
                levels.error,
                gate.asks(levels),
                finding.detail,
                _do(gate, finding, level),
                finding.unchecked,
            )
        )
    return results


def _measured(gate: Gate, facts: Facts, levels: Levels) -> Finding:
    """What a gate finds; where it fails itself, that it could not be checked."""
    try:
        return gate.find(facts, levels)
    except KeyError:
        raise  # a fact that is missing: the stage has to run again
    except Exception as error:
        return Finding(0.0, unchecked=f"{type(error).__name__}: {printable(error)}")


def _level(finding: Finding, levels: Levels) -> Level:
    serious = finding.value if finding.serious is None else finding.serious
    if finding.unchecked or (levels.error is not None and serious > levels.error):
        return "error"
    return "warn" if levels.warn is not None and finding.value > levels.warn else "pass"


def _do(gate: Gate, finding: Finding, level: Level) -> str:
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
    shares = {gate.name for gate in GATES if gate.question.startswith("share")}
    problems = [
        Problem(
            f"gates.{name}.{level}", "a share above 1 is never reached",
            "0 to 1: 5% is 0.05", "write null to switch the level off", (str(value),),
        )
        for name, given in thresholds.items()
        for level, value in (("warn", given.warn), ("error", given.error))
        if name in shares and value is not None and value > 1
    ]  # fmt: skip
    problems += [
        Problem(f"gates.{name}.minimum", "the gate has no minimum", ", ".join(with_minimum))
        for name, given in thresholds.items()
        if given.minimum is not None and name not in with_minimum
    ]
    if problems:
        raise ConfigError("campaign.yaml: levels that a gate cannot have", problems)
