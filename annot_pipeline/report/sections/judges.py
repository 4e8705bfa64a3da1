"""The judges: who passed, by which test, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annot_pipeline.config.sections import SCREENINGS, TESTS_WITH_CONTRAST
from annot_pipeline.contracts import families_text
from annot_pipeline.report.contents import Contents, count_tasks
from annot_pipeline.report.release_figures import (
    confusion_figures,
    difference_figures,
    judge_figures,
)
from annot_pipeline.report.render import filled, flag, number

MOST_ROWS = 1000
"""Rows of judges in the page: more would make it slow."""

Row = dict[str, Any]

COLUMNS: dict[str, tuple[str, ...]] = {
    "judge": ("judge",),
    "task": ("task", "choose"),
    "n_judgments": ("judgments", "count"),
    "verdict": ("verdict", "chip choose"),
    "dropped": ("dropped", "choose", "Whether the judgments count"),
    "suspected": ("suspected", "choose", "Nothing shows who is right"),
    "verdict_reason": ("why",),
    "p_value": ("p", "p", "One-sided p of the test"),
    "p_adjusted": ("p adjusted", "p", "Corrected over judges"),
    "effect": ("effect", "real", "Difference that the test is about"),
    "effect_high": ("at most", "real", "Upper end of the effect's 95% interval"),
    "required_effect": ("required", "real", "Required effect"),
    "power": ("power", "share", "Chance that a careful judge passes"),
    "n_pairs": ("pairs", "count", "Pairs, scores or known answers in the test"),
    "n_needed": ("needed", "count", "Number needed for a verdict"),
    "accuracy": ("accuracy", "share", "By the model, weighted by prevalence"),
    "mean_class_accuracy": ("mean class accuracy", "share"),
    "chance_accuracy": ("by chance", "share", "Accuracy by chance"),
    "below_chance": ("below chance", "choose"),
    "known_answer_accuracy": ("known answers right", "share"),
    "bias_label": ("overuses",),
    "label_bias": ("by", "share", "Share of answers beyond its prevalence"),
    "correlation": ("correlation", "real", "With the mean of the others"),
    "n_shared_items": ("shared items", "count", "Items that others scored too"),
    "score_bias": ("bias", "real", "Points above the other judges"),
    "spread": ("spread", "real", "Points per point of the other judges"),
    "inconsistency": ("inconsistency", "real", "Noise, points"),
    "mean": ("mean score", "real"),
    "sd": ("sd", "real"),
    "mean_ordinary": ("mean, ordinary", "real"),
    "mean_good_reference": ("mean, references", "real"),
    "mean_bad_reference": ("mean, degraded", "real"),
    "consistency": ("consistency", "share", "Outputs without contradictions"),
    "seconds_per_judgment": ("seconds a judgment", "real"),
    "hurried_share": ("hurried", "share", "Answers in a third of the typical time"),
    "longest_constant_run": ("longest constant run", "count"),
    "share_at_ends": ("at ends of the scale", "share"),
}
"""Head, kind and tip by figure; figures that say nothing of any judge are left out."""


def judges(contents: Contents) -> dict[str, Any]:
    """Return verdicts, rows of judges, figures."""
    quality, tables, facts = contents.settings["quality"], contents.tables, contents.facts
    by_controls, by_labels = (
        verdicts if any(n for verdict, n in verdicts.items() if verdict != "untested") else {}
        for verdicts in (facts["verdicts"], facts["label_verdicts"])
    )
    columns, rows = _table(contents.judges)
    return {
        "verdicts": by_controls or by_labels,
        "by_labels": not by_controls,
        "pseudonymize": contents.settings["privacy"]["pseudonymize"],
        "quality": quality,
        "has_contrast": quality["test"] in TESTS_WITH_CONTRAST,
        "has_level": quality["test"] not in SCREENINGS,
        "families": families_text(facts["families"]),
        "columns": columns,
        "rows": rows,
        "n_judges": len(contents.judges),
        "control_drawings": [
            *judge_figures(tables["judges"], quality["alpha"]),
            *difference_figures(tables["judges"], contents.internal["control_differences"]),
        ],
        "confusion_drawings": confusion_figures(
            tables["judge_confusion"], tables["judges"], tables["prevalence"]
        ),
        "n_confused_tasks": count_tasks(tables["judge_confusion"]),
    }


def _table(judge_rows: list[Row]) -> tuple[Any, Any]:
    """Return columns and rows: dropped judges first, then by concern, then the busiest."""
    order = sorted(
        judge_rows,
        key=lambda r: (
            not r["dropped"], r["verdict"] != "failed", not r.get("suspected"),
            not r["below_chance"], -r["n_judgments"], r["judge"],
        ),
    )[:MOST_ROWS]  # fmt: skip
    is_filled = {name: any(_value(row, name) for row in order) for name in COLUMNS}
    names = [n for n in COLUMNS if n in ("judge", "task", "n_judgments", "verdict") or is_filled[n]]
    rows = [
        [flag(v) if isinstance(v, bool) else v for v in (_value(row, name) for name in names)]
        for row in order
    ]
    return filled([COLUMNS[name] for name in names], rows, range(len(names)))


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
