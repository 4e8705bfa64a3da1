"""docs/reference/tables.md, from the contracts of gold tables."""

from __future__ import annotations

from collections.abc import Iterator

from annot_pipeline.contracts import GOLD, SCHEMA_VERSION, Column, Table

TYPES = {
    "string": "text", "double": "float64", "int64": "int64", "bool": "bool",
    "timestamp[us, tz=UTC]": "timestamp, UTC",
}  # fmt: skip

GROUPS = {
    "Labels of items": ("labels", "label_distributions", "prevalence", "judge_confusion",
               "label_calibration"),
    "Judges and agreement": ("judges", "agreement"),
    "Scores and rankings": ("scores", "segment_ranks", "system_rankings", "system_comparisons",
                            "variance"),
    "Model judges": ("judge_validation", "validation_confusion", "judge_bias", "estimates"),
    "Records": ("items", "judgments", "set_aside", "lineage"),
}  # fmt: skip

PURPOSES = {
    "labels": ("The label of each item.", "methods.md"),
    "label_distributions": ("The probability of each label of each item.", "gold.md"),
    "prevalence": ("How frequent each label is, by the model and by votes.", "gold.md"),
    "judge_confusion": ("The confusion matrix of each judge.", "gold.md"),
    "label_calibration": ("How well the probabilities of labels hold.", "methods.md"),
    "judges": (
        "The reliability of each judge, and the result of judge control.",
        "judge_control.md",
    ),
    "agreement": ("Agreement between judges, with intervals.", "agreement.md"),
    "scores": ("The score of each item.", "agreement.md"),
    "segment_ranks": ("Ranks of outputs within each segment.", "methods.md"),
    "system_rankings": ("Scores, intervals, ranks and clusters of systems.", "methods.md"),
    "system_comparisons": ("Differences and tests of all pairs of systems.", "methods.md"),
    "variance": ("Variance components, and the smallest detectable difference.", "methods.md"),
    "judge_validation": ("Each model judge against people and known answers.", "model_judges.md"),
    "validation_confusion": (
        "The confusion matrix of each model judge with people.",
        "model_judges.md",
    ),
    "judge_bias": ("Order bias and length bias of each model judge.", "model_judges.md"),
    "estimates": ("Shares, means and win rates, corrected by people.", "model_judges.md"),
    "items": ("Segment, system, text and truth of each item.", "gold.md"),
    "judgments": ("Every judgment that counts or was measured.", "gold.md"),
    "set_aside": ("Judgments that a calculation left out, with the reason.", "gold.md"),
    "lineage": ("The fate and source of every record.", "audit.md"),
}

HEAD = f"""# Gold tables

Read a table with `annot_pipeline.load_gold("my-campaign/gold", "labels")`, or as any Parquet file
([gold.md](../gold.md)). A release has every table; one without data is empty. Rows are sorted by
the key. Each Parquet file holds the same descriptions. This is schema version {SCHEMA_VERSION};
[versioning.md](../versioning.md) says when it changes. Undefined values are null, never NaN.

| Table | Holds | One row per |
|---|---|---|
"""


def allowed_text(column: Column) -> str:
    """Return which values a column may hold, as a sentence; empty: all of its type."""
    if column.allowed:
        return "Values: " + ", ".join(f"`{value}`" for value in column.allowed) + "."
    low, high = column.minimum, column.maximum
    if low is not None and high is not None:
        return f"From {low:g} to {high:g}."
    return f"At least {low:g}." if low is not None else ""


def column_row(column: Column) -> str:
    """Return the row of a column."""
    description = f"{column.description.rstrip('.')}. {allowed_text(column)}".rstrip()
    null = "yes" if column.nullable else "no"
    cells = (f"`{column.name}`", TYPES[str(column.type)], null, description)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table_section(table: Table) -> Iterator[str]:
    """Yield the lines of a table."""
    purpose, page = PURPOSES[table.name]
    key = ", ".join(f"`{name}`" for name in table.key)
    yield f"### {table.name}\n"
    yield f"{purpose} One row per {table.row}. More: [{page}](../{page}).\n"
    yield f"Key: {key}{'' if table.unique else ' (not unique)'}.\n"
    yield "| Column | Type | Null | Description |\n|---|---|---|---|"
    yield from map(column_row, table.columns)
    yield ""


def tables_page() -> str:
    """Return the page."""
    rows = [
        f"| [`{name}`](#{name}) | {PURPOSES[name][0].rstrip('.')} | {GOLD[name].row} |"
        for names in GROUPS.values()
        for name in names
    ]
    lines = [HEAD + "\n".join(rows) + "\n"]
    for group, names in GROUPS.items():
        lines.append(f"## {group}\n")
        for name in names:
            lines += table_section(GOLD[name])
    return "\n".join(lines)
