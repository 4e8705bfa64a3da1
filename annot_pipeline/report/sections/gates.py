"""The section on gates: what each measured, its result, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.gates.gate import figure, statement
from annot_pipeline.report.contents import Contents

Check = Mapping[str, Any]


def gates(contents: Contents) -> dict[str, Any]:
    """Return failed gates and warnings in full, and rows of passed gates."""
    checks = contents.manifest["checks"]
    not_passed = [check for check in checks if check["level"] != "pass"]
    return {
        "n_gates": len(checks),
        "open_text": open_text(checks, ""),
        "open": [
            {**check, "allowed": allowed(check),
             "statement": statement(check["value"], check["question"])}
            for check in sorted(not_passed, key=lambda check: check["level"] != "error")
        ],
        "passed": [
            (
                check["name"], check["level"], figure(check["value"], check["question"]),
                allowed(check), check["question"],
            )
            for check in checks
            if check["level"] == "pass"
        ],
    }  # fmt: skip


def open_text(checks: Sequence[Check], total: str) -> str:
    """Return how many gates failed and warned; `total` follows the first number."""
    levels = [check["level"] for check in checks]
    words = {"error": "failed", "warn": "warned"}
    counts = [(levels.count(level), word) for level, word in words.items() if level in levels]
    return ", ".join(f"{n}{'' if i else total} {word}" for i, (n, word) in enumerate(counts))


def allowed(check: Check) -> str:
    """Return both levels as text; a level that is not set is never reached."""
    return ", ".join(
        f"{level}s above {figure(check[level], check['question'])}"
        if check[level] is not None
        else f"never {level}s"
        for level in ("warn", "error")
    )
