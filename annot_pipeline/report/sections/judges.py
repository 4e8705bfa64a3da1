"""The judges: who passed, by which test, and what is known of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any

from annot_pipeline.config.sections import SCREENINGS, TESTS_WITH_CONTRAST
from annot_pipeline.contracts import families_text
from annot_pipeline.report import release_figures
from annot_pipeline.report.contents import Contents, count_tasks
from annot_pipeline.report.render import flag, number

MOST_ROWS, MOST_OF_JUDGE = 200, 3
"""Rows of judges in the page, more would make it slow; of a judge, while others of concern wait."""
HASH = 12
"""Characters of a hash in an id."""

Row = dict[str, Any]


def judges(contents: Contents) -> dict[str, Any]:
    """Return verdicts, rows of judges, figures."""
    quality, tables, facts = contents.settings["quality"], contents.tables, contents.facts
    by_controls, by_labels = (
        verdicts if any(n for verdict, n in verdicts.items() if verdict != "untested") else {}
        for verdicts in (facts["verdicts"], facts["label_verdicts"])
    )
    listed, differences = _by_concern(contents.judges), contents.internal["control_differences"]
    n_doubted = Counter(row["task"] for row in contents.judges if not all(_concern(row)))
    return {
        "verdicts": by_controls or by_labels, "by_labels": not by_controls,
        "pseudonymize": contents.settings["privacy"]["pseudonymize"], "quality": quality,
        "has_contrast": quality["test"] in TESTS_WITH_CONTRAST,
        "has_level": quality["test"] not in SCREENINGS,
        "families": families_text(facts["families"]), "rows": _rows(listed),
        "ids": _ids(listed), "n_rows": len(contents.judges),
        "accuracy_drawings": release_figures.accuracy_figures(contents.judges, n_doubted),
        "control_drawings": [
            *release_figures.judge_figures(tables["judges"], quality["alpha"]),
            *release_figures.difference_figures(tables["judges"], differences),
        ],
        "confusion_drawings": release_figures.confusion_figures(
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


def _rows(listed: Sequence[Row]) -> list[Row]:
    """Return figures of judges; none where they say nothing of any judge."""
    rows = [
        {"preference_agreement": None, "n_compared": None} | row | {
            "verdict_reason": why(row), "random": row["random"] and "looks random",  # as searched
            "label_bias": row["bias"] if row["bias_label"] is not None else None,
            "score_bias": row["bias"] if row["bias_label"] is None else None,
        }
        for row in listed
    ]  # fmt: skip
    filled = {"n_judgments"} | {name for row in rows for name, value in row.items() if value}
    if all(row["p_value"] == row["p_adjusted"] for row in rows):
        filled.discard("p_adjusted")  # not corrected, or nobody beside whom to correct
    return [
        {name: (flag(v) if isinstance(v, bool) else v) if name in filled else None
         for name, v in row.items()}
        for row in rows
    ]  # fmt: skip


def why(row: Mapping[str, Any]) -> str | None:
    """Return why a judge has this verdict: the reason, or what the test found of who failed."""
    if row.get("verdict_reason") or row["verdict"] != "failed":
        return row.get("verdict_reason") or None
    p = row["p_value"] if row.get("p_adjusted") is None else row["p_adjusted"]
    return f"{row.get('test') or 'test'}: p = {number(p, 'p')}, not below alpha"
