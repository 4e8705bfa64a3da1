"""The section on gates: what each measured, its result, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annot_pipeline.gates.gate import figure, statement
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.markup import (
    Column,
    Markup,
    chip,
    join,
    more,
    paragraph,
    table,
    text,
)

Check = Mapping[str, Any]
COLUMNS = [
    Column("gate"), Column("level", choose=True), Column("value"), Column("allowed"),
    Column("what is measured"),
]  # fmt: skip


def gates(contents: Contents) -> str:
    """Return the section: failed gates and warnings in full, passed gates in a table to open."""
    checks = contents.manifest["checks"]
    open_ = [check for check in checks if check["level"] != "pass"]
    passed = [check for check in checks if check["level"] == "pass"]
    intro = (
        "A release is published only if no gate is above its error level. "
        f"{len(passed)} of {len(checks)} gates pass" + (f", {len(open_)} warned:" if open_ else ".")
    )
    return join([
        paragraph(intro),
        *(_failed_gate(check) for check in sorted(open_, key=lambda c: c["level"] != "error")),
        more(f"{len(passed)} passed gates", _table(passed)),
    ])  # fmt: skip


def _failed_gate(check: Check) -> str:
    """Describe a gate that did not pass: the figure, the details, what to do."""
    lines = [
        f"<p>{chip(check['level'])} <strong>{text(check['name'])}</strong>: "
        f"{_measure_text(check)}</p>"
    ]
    if check.get("unchecked"):  # older releases lack it
        reason = text(check["unchecked"], 1500)
        lines.append(f"<p><strong>Could not be checked:</strong> {reason}.</p>")
    if check["detail"]:
        lines.append(f"<p>{text(check['detail'], 1500)}</p>")
    if check["do"]:
        lines.append(f"<p><strong>What to do:</strong> {text(check['do'], 500)}.</p>")
    return Markup(f'<div class="gate {check["level"]}">{"".join(lines)}</div>\n')


def _measure_text(check: Check) -> str:
    allowed = _allowed(check)
    words = text(statement(check["value"], check["question"]), 300)
    return words + (f"; {allowed}" if allowed else "") + "."


def _table(checks: Sequence[Check]) -> str:
    rows = [
        (
            check["name"], chip(check["level"]), figure(check["value"], check["question"]),
            _allowed(check), text(check["question"], 300),
        )
        for check in checks
    ]  # fmt: skip
    return table("Passed gates", COLUMNS, rows, sortable=True, search=True)


def _allowed(check: Check) -> str:
    """Return both levels as text; a level that is not set is never reached."""
    return ", ".join(
        f"{level}s above {figure(check[level], check['question'])}"
        if check[level] is not None
        else f"never {level}s"
        for level in ("warn", "error")
    )
