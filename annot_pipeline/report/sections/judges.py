"""The judges: who passed, by which test, and what is known of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from hashlib import sha256
from itertools import count
from typing import Any

from annot_pipeline.config.quality import SCREENINGS, TESTS_WITH_CONTRAST
from annot_pipeline.contracts import families_text
from annot_pipeline.report.contents import Contents, count_tasks
from annot_pipeline.report.release_figures import (
    accuracy_figures,
    confusion_figures,
    difference_figures,
    judge_figures,
)
from annot_pipeline.report.render import filled, flag, number

MOST_ROWS, MOST_OF_JUDGE = 200, 3
"""Rows of judges in the page, more would make it slow; of a judge, while others of concern wait."""
HASH = 12
"""Characters of a hash in an id."""

Row = dict[str, Any]

COLUMNS: dict[str, tuple[str, ...]] = {
    "judge": ("judge",),
    "task": ("task", "choose"),
    "n_judgments": ("judgments", "count"),
    "verdict": ("verdict", "chip choose"),
    "dropped": ("dropped", "choose", "Whether the judgments count"),
    "random": ("looks random", "choose stays", "Agrees with others hardly more than by chance"),
    "suspected": ("suspected", "choose", "Nothing shows who is right"),
    "verdict_reason": ("why",),
    "p_value": ("p", "p detail", "One-sided p of the test"),
    "p_adjusted": ("p adjusted", "p detail", "Corrected over judges"),
    "effect": ("effect", "real detail", "Difference that the test is about"),
    "effect_high": ("at most", "real detail", "Upper end of the effect's 95% interval"),
    "required_effect": ("required", "real detail", "Required effect"),
    "power": ("power", "share detail", "Chance that a careful judge passes"),
    "n_pairs": ("pairs", "count detail", "Pairs, scores or known answers in the test"),
    "n_needed": ("needed", "count detail", "Number needed for a verdict"),
    "accuracy": ("accuracy", "share", "By the model, weighted by prevalence"),
    "mean_class_accuracy": ("mean class accuracy", "share detail"),
    "chance_accuracy": ("by chance", "share", "Accuracy by chance"),
    "known_answer_accuracy": ("known answers right", "share"),
    "bias_label": ("overused label", "text detail"),
    "label_bias": ("by", "share detail", "Share of answers beyond its prevalence"),
    "correlation": ("correlation", "real", "With the mean of the others"),
    "n_shared_items": ("shared items", "count detail", "Items that others scored too"),
    "score_bias": ("bias", "real", "Points above the other judges"),
    "spread": ("spread", "real detail", "Points per point of the other judges"),
    "inconsistency": ("inconsistency", "real detail", "Noise, points"),
    "mean": ("mean score", "real detail"),
    "sd": ("sd", "real detail"),
    "mean_ordinary": ("mean, ordinary", "real detail"),
    "mean_good_reference": ("mean, references", "real detail"),
    "mean_bad_reference": ("mean, degraded", "real detail"),
    "preference_agreement": ("agreement", "share", "With others' preferences; by chance 50%"),
    "n_compared": ("shared pairs", "count detail", "Pairs that others compared too"),
    "consistency": ("consistency", "share", "Outputs without contradictions"),
    "seconds_per_judgment": ("seconds a judgment", "real detail"),
    "hurried_share": ("hurried", "share", "Answers in a third of the typical time"),
    "longest_constant_run": ("longest constant run", "count detail"),
    "share_at_ends": ("at ends of the scale", "share detail"),
}
"""Head, kind and tip by figure; figures that say nothing of any judge are left out. Details
wait for a button of the script."""


def judges(contents: Contents) -> dict[str, Any]:
    """Return verdicts, rows of judges, figures."""
    quality, tables, facts = contents.settings["quality"], contents.tables, contents.facts
    by_controls, by_labels = (
        verdicts if any(n for verdict, n in verdicts.items() if verdict != "untested") else {}
        for verdicts in (facts["verdicts"], facts["label_verdicts"])
    )
    listed = _by_concern(contents.judges)
    n_doubted = Counter(row["task"] for row in contents.judges if not all(_concern(row)))
    columns, rows = _table(listed)
    return {
        "verdicts": by_controls or by_labels, "by_labels": not by_controls,
        "pseudonymize": contents.settings["privacy"]["pseudonymize"], "quality": quality,
        "has_contrast": quality["test"] in TESTS_WITH_CONTRAST,
        "has_level": quality["test"] not in SCREENINGS,
        "families": families_text(facts["families"]), "columns": columns, "rows": rows,
        "ids": _ids(listed), "n_rows": len(contents.judges),
        "accuracy_drawings": accuracy_figures(contents.judges, n_doubted),
        "control_drawings": [
            *judge_figures(tables["judges"], quality["alpha"]),
            *difference_figures(tables["judges"], contents.internal["control_differences"]),
        ],
        "confusion_drawings": confusion_figures(
            tables["judge_confusion"], tables["judges"], tables["prevalence"], n_doubted
        ),
        "n_confused_tasks": count_tasks(tables["judge_confusion"]),
    }  # fmt: skip


def judge_anchors(contents: Contents) -> dict[str, str]:
    """Return the id of the row of every judge in the table: the same in every release."""
    return {row["judge"]: _anchor(row["judge"]) for row in _by_concern(contents.judges)}


def _anchor(judge: str) -> str:
    return f"judge-{sha256(judge.encode('utf-8', 'surrogatepass')).hexdigest()[:HASH]}"


def _ids(listed: list[Row]) -> list[str | None]:
    """Return an id for a judge's first row, None for the others."""
    first = {row["judge"]: n for n, row in reversed([*enumerate(listed)])}
    return [
        _anchor(row["judge"]) if first[row["judge"]] == n else None for n, row in enumerate(listed)
    ]


def _concern(row: Row) -> tuple[bool, ...]:
    """Return what sorts judges of most concern first; True throughout: of none."""
    return (
        not row["dropped"],
        row["verdict"] != "failed",
        not row.get("suspected"),
        not row["random"],
    )


def _by_concern(judge_rows: list[Row]) -> list[Row]:
    """Return the rows that are shown: dropped judges first, then by concern, then the busiest.

    A judge of concern in many tasks leaves room for the others.
    """
    rows = sorted(judge_rows, key=lambda r: (*_concern(r), -r["n_judgments"], r["judge"]))
    numbers: defaultdict[str, count[int]] = defaultdict(count)
    waits = [(all(_concern(row)), next(numbers[row["judge"]]) >= MOST_OF_JUDGE) for row in rows]
    shown = sorted(range(len(rows)), key=waits.__getitem__)[:MOST_ROWS]
    return [rows[n] for n in sorted(shown)]


def _table(listed: list[Row]) -> tuple[Any, Any]:
    """Return columns that say something of a judge, and rows."""
    is_filled = {name: any(_value(row, name) for row in listed) for name in COLUMNS}
    if all(row["p_value"] == row.get("p_adjusted") for row in listed):
        is_filled["p_adjusted"] = False  # not corrected, or nobody beside whom to correct
    names = [n for n in COLUMNS if n in ("judge", "task", "n_judgments", "verdict") or is_filled[n]]
    rows = [
        [flag(v) if isinstance(v, bool) else v for v in (_value(row, name) for name in names)]
        for row in listed
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
    if name == "random" and row["random"]:
        return "looks random"  # found by a search, and chosen
    return why(row) if name == "verdict_reason" else row.get(name)
