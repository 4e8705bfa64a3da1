"""The sheet for people: one row an assignment, with the figures behind its recommendation."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from annot_pipeline.review.assignments import Assignment
from annot_pipeline.review.folder import private

FORMULA = re.compile(r"(^|[;|\t\r\n])(?=[\s\"]{0,99}[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r])")
"""Where a cell, split where some locales split cells, would start as a formula does."""

COLUMNS = (
    "export", "row", "line", "worker", "hit", "native_id", "status", "recommendation", "verdict",
    "reason",
)  # fmt: skip
FIGURES = (
    "p_value", "effect", "effect_low", "effect_high", "required_effect", "power", "n_pairs",
    "n_needed", "mean_ordinary", "mean_good_reference", "mean_bad_reference",
    "seconds_per_judgment", "longest_constant_run", "share_at_ends",
)  # fmt: skip
"""What review.csv says of an assignment, then of its judge."""


def write_sheet(path: Path, assignments: list[Assignment]) -> None:
    """Write one row per assignment, the most doubtful first."""
    with private(path, "utf-8", "backslashreplace") as file:
        sheet = csv.writer(file, lineterminator="\n")
        sheet.writerow((*COLUMNS, *FIGURES, "n_judgments", "n_rejected_records"))
        for a in sorted(assignments, key=lambda a: a.doubt):
            who = [a.export, a.row, a.line, a.worker, a.hit, a.native_id, a.status]
            what = [a.recommendation, ", ".join(a.verdicts), a.reason]
            figures = [a.judge.get(name) for name in FIGURES]
            sheet.writerow(map(safe_cell, [*who, *what, *figures, a.n_judgments, a.n_rejected]))


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers as they are."""
    return FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a cell, or a part of it, for a formula."""
    return FORMULA.search(text) is not None
