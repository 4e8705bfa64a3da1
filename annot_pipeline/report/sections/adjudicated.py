"""Labels that an expert decided, with the model's own answer beside."""

from __future__ import annotations

from annot_pipeline.report.contents import Contents
from annot_pipeline.report.markup import Column, chip, join, left_out, paragraph, table, text

MOST_ROWS = 200
"""Decisions that are shown."""


def adjudicated(contents: Contents) -> str:
    """Return decisions, those against the model first."""
    n, against = contents.labelled_in_all.decided, contents.labelled_in_all.against
    if not n:
        return ""
    columns = [
        Column("item"), Column("task", choose=True), Column("decided"),
        Column("the model's answer"), Column("its probability", "share"),
        Column("outcome", choose=True), Column("expert", choose=True), Column("when"),
        Column("why"),
    ]  # fmt: skip
    cells = (
        (
            row["item"], row["task"], row["label"], row["model_label"], row["model_probability"],
            _outcome(row["label"], row["model_label"]), row["adjudicator"],
            "" if row["adjudicated_at"] is None else f"{row['adjudicated_at']:%Y-%m-%d %H:%M}",
            text(row["adjudication_reason"] or "", 400),
        )
        for row in contents.tables["decisions"].to_pylist()
    )  # fmt: skip
    words = (
        f"{n:,} labels are an expert's decision, {against:,} of them against the model. "
        "Distributions, prevalence and confusion stay the model's own."
    )
    return join([
        paragraph(words),
        table("Decisions of experts", columns, cells, sortable=True, search=True),
        left_out(n, MOST_ROWS, "labels.parquet"),
    ])  # fmt: skip


def _outcome(label: str, model_label: str | None) -> str:
    if model_label is None:
        return chip("undetermined", "no judgments")
    return chip("passed", "as the model") if label == model_label else chip("warn", "overrides")
