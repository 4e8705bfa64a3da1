"""Labels that an expert decided, with the model's own answer beside."""

from __future__ import annotations

from typing import Any

from annot_pipeline.report.contents import Contents

MOST_ROWS = 200
"""Decisions that are shown."""


def adjudicated(contents: Contents) -> dict[str, Any]:
    """Return decisions, those against the model first; nothing where there are none."""
    if not contents.labelled_in_all.decided:
        return {}
    rows = [
        (
            row["item"], row["task"], row["label"], row["model_label"], row["model_probability"],
            _outcome(row["label"], row["model_label"]), row["adjudicator"],
            "" if row["adjudicated_at"] is None else f"{row['adjudicated_at']:%Y-%m-%d %H:%M}",
            row["adjudication_reason"] or "",
        )
        for row in contents.tables["decisions"].to_pylist()
    ]  # fmt: skip
    return {"labels": contents.labelled_in_all, "rows": rows, "most_rows": MOST_ROWS}


def _outcome(label: str, model_label: str | None) -> tuple[str, str]:
    if model_label is None:
        return "undetermined", "no judgments"
    return ("passed", "as the model") if label == model_label else ("warn", "overrides")
