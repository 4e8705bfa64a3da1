"""Model judges in the data card: how each agrees with people, and for whom intervals hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from annot_pipeline.contracts import model_note
from annot_pipeline.report.markdown import Marked, table

WORDS = (
    "Agreement is the share of people's answers, or of known answers, that are the model's, each "
    "item counted once; of scores the correlation with people's means. The ceiling is that of "
    "people with each other. `estimates` corrects what models say by what people say."
)
MEASURED = (
    "Judgments with the fate `measured` are of judges whom their task does not use: labels, scores "
    "and rankings are made without them."
)


def model_judges(manifest: Mapping[str, Any], gold: Mapping[str, pa.Table]) -> list[str]:
    """Return the lines of the section; none where no judge is declared to be a model."""
    rows = gold["judge_validation"].to_pylist()
    if not rows:
        return []
    note = model_note(manifest["facts"]["used_judges"])
    measured = MEASURED if manifest["facts"]["fates"].get("measured") else ""
    head = ["task", "model", "against", "items", "agreement", "ceiling", "note"]
    cells = [
        (
            row["task"], row["judge"], row["reference"], f"{row['n_items']:,}",
            *_agreement(row), row["reason"] or "",
        )
        for row in rows
    ]  # fmt: skip
    words = [part for text in (note, WORDS, measured) if text for part in (text, "")]
    return [*words, *table(head, cells, "`judge_validation.parquet`")]


def _agreement(row: Mapping[str, Any]) -> tuple[Marked | str, str]:
    name = "correlation" if row["agreement"] is None else "agreement"
    value, ceiling = row[name], row[f"human_{name}"]
    if value is None:
        return "", ""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    ends = "" if low is None else f" ({low:.3f} to {high:.3f})"
    return f"{value:.3f}{ends}", "" if ceiling is None else f"{ceiling:.3f}"
