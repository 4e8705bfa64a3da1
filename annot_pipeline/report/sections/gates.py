"""The section on gates: what each measured, its result, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annot_pipeline.gates.gate import figure, statement
from annot_pipeline.report.contents import Contents

Check = Mapping[str, Any]


def gates(contents: Contents) -> dict[str, Any]:
    """Return failed gates and warnings in full, and rows of passed gates."""
    checks = contents.manifest["checks"]
    not_passed = [check for check in checks if check["level"] != "pass"]
    return {
        "n_gates": len(checks), "figure": figure,
        "open": [
            {**check, "statement": statement(check["value"], check["question"])}
            for check in sorted(not_passed, key=lambda check: check["level"] != "error")
        ],
        "passed": [
            {**check, "figure": figure(check["value"], check["question"]), "allowed": check}
            for check in checks
            if check["level"] == "pass"
        ],
    }  # fmt: skip
