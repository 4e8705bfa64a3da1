"""What `annot init` believes of a source, for programs: roles, evidence and alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annot_pipeline.init import names
from annot_pipeline.init.questions import Reading
from annot_pipeline.init.roles import Candidate, Pairing

WEIGHED_AS = {"segment": "item", "score": "label", "preference": "label", "winner": "label"}
MOST_ALTERNATIVES = 5


def weighed(pairings: Sequence[Pairing], candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Return columns by role with score and signs, the best first: judge, item and label."""
    columns_by_role: list[tuple[str, str | None, Any]] = [("judge", p.judge, p) for p in pairings]
    columns_by_role += [("item", p.thing, p) for p in pairings]
    columns_by_role += [("label", c.column.name, c) for c in candidates]
    by_role: dict[str, dict[Any, Any]] = {}
    for role, name, one in columns_by_role:
        signs = {sign: round(value, 3) for sign, value in one.signs.items()}
        row = {"column": name, "score": round(one.score, 3), "evidence": signs}
        by_role.setdefault(role, {}).setdefault(name, row)
    return {role: [*rows.values()] for role, rows in by_role.items()}


def beliefs(paths: Sequence[Path], reading: Reading) -> dict[str, Any]:
    """Return the roles of a source as JSON says them.

    Each has its expression in campaign.yaml, a sentence, and, where columns were weighed, score
    and signs of the chosen column and of the next ones.
    """
    return {
        "files": [path.name for path in paths],
        "kind": reading.kind,
        "roles": [_role(reading, *line) for line in reading.lines],
        "notes": [*reading.notes],
    }


def _role(reading: Reading, role: str, expression: Any, why: str) -> dict[str, Any]:
    columns = [*reading.columns] if WEIGHED_AS.get(role, role) == "label" else [expression]
    rows = reading.weighed.get(WEIGHED_AS.get(role, role), [])
    chosen = next((row for row in rows if row["column"] in columns), None)
    if chosen is None and isinstance(expression, str):
        signs = {"is named so": round(names.likelihood(expression, role), 3)}
        chosen = {"score": signs["is named so"], "evidence": signs}
    others = [row for row in rows if row["column"] not in columns][:MOST_ALTERNATIVES]
    return {
        "role": role, "expression": expression, "why": why,
        "score": chosen and chosen["score"], "evidence": chosen["evidence"] if chosen else {},
        "alternatives": others,
    }  # fmt: skip
