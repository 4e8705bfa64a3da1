"""The judges: who passed, by which test, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annot_pipeline.config.sections import SCREENINGS, TESTS_WITH_CONTRAST
from annot_pipeline.contracts import families_text
from annot_pipeline.report.contents import Contents, count_tasks
from annot_pipeline.report.markup import (
    Column,
    Markup,
    chip,
    figures,
    flag,
    join,
    number,
    paragraph,
    part,
    table,
    text,
)
from annot_pipeline.report.release_figures import (
    confusion_figures,
    difference_figures,
    judge_figures,
)

MOST_ROWS = 1000
"""Rows of judges in the page: more would make it slow."""

Row = dict[str, Any]

COLUMNS: tuple[tuple[str, Column], ...] = (
    ("judge", Column("judge")),
    ("task", Column("task", choose=True)),
    ("n_judgments", Column("judgments", "count")),
    ("verdict", Column("verdict", choose=True)),
    ("dropped", Column("dropped", choose=True, tip="Whether the judgments count")),
    ("suspected", Column("suspected", choose=True, tip="Nothing shows who is right")),
    ("verdict_reason", Column("why")),
    ("p_value", Column("p", "p", tip="One-sided p of the test")),
    ("p_adjusted", Column("p adjusted", "p", tip="Corrected over judges")),
    ("effect", Column("effect", "real", tip="Difference that the test is about")),
    ("effect_high", Column("at most", "real", tip="Upper end of the effect's 95% interval")),
    ("required_effect", Column("required", "real", tip="Required effect")),
    ("power", Column("power", "share", tip="Chance that a careful judge passes")),
    ("n_pairs", Column("pairs", "count", tip="Pairs, scores or known answers in the test")),
    ("n_needed", Column("needed", "count", tip="Number needed for a verdict")),
    ("accuracy", Column("accuracy", "share", tip="By the model, weighted by prevalence")),
    ("mean_class_accuracy", Column("mean class accuracy", "share")),
    ("chance_accuracy", Column("by chance", "share", tip="Accuracy by chance")),
    ("below_chance", Column("below chance", choose=True)),
    ("known_answer_accuracy", Column("known answers right", "share")),
    ("bias_label", Column("overuses")),
    ("label_bias", Column("by", "share", tip="Share of answers beyond its prevalence")),
    ("correlation", Column("correlation", "real", tip="With the mean of the others")),
    ("n_shared_items", Column("shared items", "count", tip="Items that others scored too")),
    ("score_bias", Column("bias", "real", tip="Points above the other judges")),
    ("spread", Column("spread", "real", tip="Points per point of the other judges")),
    ("inconsistency", Column("inconsistency", "real", tip="Noise, points")),
    ("mean", Column("mean score", "real")),
    ("sd", Column("sd", "real")),
    ("mean_ordinary", Column("mean, ordinary", "real")),
    ("mean_good_reference", Column("mean, references", "real")),
    ("mean_bad_reference", Column("mean, degraded", "real")),
    ("consistency", Column("consistency", "share", tip="Outputs without contradictions")),
    ("seconds_per_judgment", Column("seconds a judgment", "real")),
    ("hurried_share", Column("hurried", "share", tip="Answers in a third of the typical time")),
    ("longest_constant_run", Column("longest constant run", "count")),
    ("share_at_ends", Column("at ends of the scale", "share")),
)
"""Of the table, in order; those that say nothing of any judge are left out."""


def judges(contents: Contents) -> str:
    """Return verdicts, a table to sort and to search, figures."""
    quality, tables = contents.settings["quality"], contents.tables
    return join([
        _verdicts(contents),
        _families(contents),
        _table(contents.judges),
        part("Judge control", figures([
            *judge_figures(tables["judges"], quality["alpha"]),
            *difference_figures(tables["judges"], contents.internal["control_differences"]),
        ])),
        part("Confusion of labels", figures(
            confusion_figures(tables["judge_confusion"], tables["judges"], tables["prevalence"]),
            count_tasks(tables["judge_confusion"]),
        )),
    ])  # fmt: skip


def _verdicts(contents: Contents) -> str:
    """Return how many judges passed, by which test."""
    quality, verdicts = contents.settings["quality"], contents.facts["verdicts"]
    names = "Judges are pseudonyms. " if contents.settings["privacy"]["pseudonymize"] else ""
    of_labels = contents.facts.get("label_verdicts", {})
    if not _is_any_tested(verdicts) and _is_any_tested(of_labels):
        return Markup(f"<p>{_chips(of_labels)}</p>") + paragraph(
            f"{names}Judges of labels are tested against the other judges: by chance, constant "
            "answers and copies. Answers of judges who were dropped do not count."
        )
    if not _is_any_tested(verdicts):
        return paragraph(f"{names}No judge was tested: the campaign has no controls, or no test.")
    chips = _chips(verdicts)
    has_contrast = quality["test"] in TESTS_WITH_CONTRAST
    contrast = f", contrast {quality['contrast']}" if has_contrast else ""
    level = f", alpha {quality['alpha']:g}, correction {quality['correction']}"
    if quality["test"] in SCREENINGS:
        level = ""
    return Markup(f"<p>{chips}</p>") + paragraph(
        f"{names}Test: {text(quality['test'])}{text(contrast)}{text(level)}. "
        "Judgments of judges who were dropped do not "
        "count; the reason is in <code>lineage.reason</code>."
    )


def _chips(verdicts: Mapping[str, int]) -> str:
    return " ".join(chip(verdict, f"{n:,} {verdict}") for verdict, n in verdicts.items() if n)


def _is_any_tested(verdicts: Mapping[str, int]) -> bool:
    return any(n for verdict, n in verdicts.items() if verdict != "untested")


def _families(contents: Contents) -> str:
    """Return the declared families of judges, where there are any."""
    families = families_text(contents.facts.get("families", {}))  # older releases do not tell
    if not families:
        return Markup("")
    return paragraph(f"Declared families of related judges: {text(families)}.")


def _table(rows: list[Row]) -> str:
    """Return the table of judges: dropped ones first, then by concern, then the busiest."""
    order = sorted(
        rows,
        key=lambda r: (
            not r["dropped"],
            r["verdict"] != "failed",
            not r.get("suspected"),
            not r["below_chance"],
            -r["n_judgments"],
            r["judge"],
        ),
    )
    first_rows = order[:MOST_ROWS]
    filled = [
        (name, column)
        for name, column in COLUMNS
        if name in ("judge", "task", "n_judgments", "verdict")
        or any(_value(row, name) for row in first_rows)
    ]
    cells = ([_cell(row, name) for name, _ in filled] for row in first_rows)
    note = Markup("")
    if len(rows) > MOST_ROWS:
        note = paragraph(
            f"{MOST_ROWS:,} of {len(rows):,} judges shown: first those who were dropped, failed, "
            "are suspected or below chance, then those with most judgments; all are in "
            "<code>judges.parquet</code>."
        )
    columns = [column for _, column in filled]
    return table("Judges by task", columns, cells, sortable=True, search=True) + note


def why(row: Mapping[str, Any]) -> str | None:
    """Return why a judge has this verdict: the reason, or what the test found of who failed."""
    if row.get("verdict_reason") or row["verdict"] != "failed":
        return row.get("verdict_reason") or None
    p = row["p_value"] if row.get("p_adjusted") is None else row["p_adjusted"]
    return f"{row.get('test') or 'test'}: p = {number(p, 'p')}, not below alpha"


def _value(row: Row, name: str) -> Any:
    """Return a figure of a judge; a bias is one of labels or of scores."""
    if name in ("label_bias", "score_bias"):
        is_label = row["bias_label"] is not None
        return row["bias"] if is_label == (name == "label_bias") else None
    return why(row) if name == "verdict_reason" else row.get(name)


def _cell(row: Row, name: str) -> Any:
    value = _value(row, name)
    if name == "verdict":
        return chip(value)
    return flag(value) if isinstance(value, bool) else value
