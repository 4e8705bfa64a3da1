"""The judges whom gates warn of: why, and whether their judgments count."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.report.contents import Contents

WHY = {
    "hurried_judges": "answers fast", "one_sided_judges": "one answer only", "narrow_judges":
    "narrow scale", "undeclared_models": "named like a model", "chance": "looks random",
    "constant": "one answer only", "copies": "copies another",
}  # fmt: skip
"""By gate, and by test of answers without controls, in two or three words."""
HURRIED = 0.5
"""Share of fast answers above which sql/gold/hurried_judges.sql names a judge."""


def warned_judges(
    contents: Contents, checks: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, str]]:
    """Return by gate the judges whom it means, or task and judge, with why.

    As the build counted them, else as the detail lists them; nothing of a gate that means more
    judges than are named, or others than those of the table of judges.
    """
    facts, every = contents.facts, _keys(contents.judges)
    tests = facts.get("careless_judges", {}).items()
    careless = {name: WHY[test] for test, names in tests for name in names}
    failed = [n for names in facts.get("failed_judges", {}).values() for n in names]
    fast = [r for r in contents.judges if (r.get("hurried_share") or 0) > HURRIED]
    fast.sort(key=lambda r: -r["hurried_share"])
    counted = {
        "careless_judges": careless,
        "failed_labels": {name: careless.get(name, "failed a test") for name in failed},
        "hurried_judges": {f"{r['task']} {r['judge']}": WHY["hurried_judges"] for r in fast},
        "inconsistent_judges": dict.fromkeys(facts.get("inconsistent_judges", ()), "looks random"),
    }  # fmt: skip
    by_gate = {}
    for check in checks:
        names = counted.get(check["name"])
        if names is None and check["name"] in WHY:
            listed = re.sub(r" \([^()]*\)(?=, |$)", "", check["detail"]).split(", ")
            names = dict.fromkeys(listed, WHY[check["name"]])
        if check["name"] == "inconsistent_judges" and names:
            names = dict(list(names.items())[: int(check["value"])])  # fewer items come later
        is_number = check["question"].startswith("number")
        if names and names.keys() <= every and (not is_number or len(names) == check["value"]):
            by_gate[check["name"]] = names
    return by_gate


def fate(contents: Contents, names: Mapping[str, str]) -> str:
    """Return how many of the judges are left out, and how many count, by the table of judges."""
    n = len(names)
    n_used = len(names.keys() & _keys([r for r in contents.used_judges if not r["dropped"]]))
    parts = [f"{n - n_used:,} left out" * (n > n_used), f"{n_used:,} still counted" * bool(n_used)]
    text = ", ".join(filter(None, parts))
    return text.replace(f"{n:,} ", "all " if n > 1 else "", 1) if n_used in (0, n) else text


def _keys(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    return {key for r in rows for key in (r["judge"], f"{r['task']} {r['judge']}")}
