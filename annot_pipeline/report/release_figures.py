"""Which figures a release has: rows of its tables, handed to those who draw.

Used by the report and by Dagster's asset pages. What does not belong here: how a figure looks
(report/figures).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import counted
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.report import figures
from annot_pipeline.report.contents import rows_where

MOST_TASKS = 6
"""Tasks whose figures are drawn; all of them are in the tables."""
MOST_CONFUSED, MOST_JUDGES, FEW_TASKS = 2, 4, 3
"""Tasks, and judges of each, whose confusion is drawn; tasks whose judges and classes are: cells
and points take as much of a page as rows of text."""
MOST_SYSTEMS = 100
"""Systems of a ranking that are drawn, the best first."""
COMPONENTS = (
    "Ranks and tests hold within a component: systems of different components cannot be compared "
    "by them, and each component has its best."
)
"""Where a task has several components of systems."""
UNITS = {
    "adjusted": "points", "raw_mean": "points", "filtered_mean": "points",
    "adjusted_scaled": "points", "bradley_terry": "logits",
}  # fmt: skip
"""Of differences of systems, by the method of a ranking; those of others have none."""
MOST_PARTS = 6
"""Parts of a ranking that are drawn, the largest."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """One figure with its title, and what and how many it shows."""

    title: str
    svg: str
    shown: str = ""


def judge_figures(judges: pa.Table, alpha: float) -> list[Drawn]:
    """Draw p of judge control against seconds a judgment, for all judges tested.

    Parameters
    ----------
    judges
        The gold table.
    alpha
        Level of judge control.
    """
    tested = [row for row in _once_a_judge(judges) if row["verdict"] != "untested"]
    seconds, p_values = (_numbers(tested, name) for name in ("seconds_per_judgment", "p_value"))
    if np.isnan(seconds).all() or np.isnan(p_values).all():
        return []
    verdicts = [row["verdict"] for row in tested]
    svg = figures.p_against_seconds_svg(seconds, p_values, verdicts, alpha)
    return [Drawn("p against seconds a judgment", svg, f"{len(tested):,} judges")]


def accuracy_figures(judges: Sequence[Row], n_doubted: Mapping[str, int]) -> list[Drawn]:
    """Draw the accuracy of judges against their judgments, in tasks with most judges to doubt.

    Parameters
    ----------
    judges
        Rows of the gold table.
    n_doubted
        Judges to doubt, by task.
    """
    drawings = []
    scored = [row for row in judges if row["accuracy"] is not None and row["n_judgments"]]
    for task in _most_doubted([row["task"] for row in scored], n_doubted)[:FEW_TASKS]:
        rows = [row for row in scored if row["task"] == task]
        names = ("judge", "n_judgments", "accuracy", "verdict")
        who, n, share, verdicts = ([row[name] for row in rows] for name in names)
        chance = float(np.median(_numbers(rows, "chance_accuracy")))
        svg = figures.judge_accuracy_svg(who, n, share, verdicts, chance)
        shown = f"share right, {counted(len(rows), 'judge')}"
        if out := sum(row["task"] == task for row in judges) - len(rows):
            shown += f"; without {out:,} whose answers do not count"
        drawings.append(Drawn(f"Accuracy by the labels, {task}", svg, shown))
    return drawings


def difference_figures(judges: pa.Table, pairs: pa.Table) -> list[Drawn]:
    """Return d1 and d2 of the judges with the smallest and the largest p.

    Parameters
    ----------
    judges
        ``judge``, ``verdict``, ``p_value``, ``n_pairs``.
    pairs
        As `control_judges` gives them, of `drawn_judges` at least.
    """
    drawings = []
    for which, judge in zip(("smallest", "largest"), drawn_judges(judges), strict=False):
        d1, d2 = (_differences(pairs, judge, kind) for kind in ("ask_again", "bad_reference"))
        if d1.size or d2.size:
            svg = figures.judge_differences_svg(np.abs(d1), d2, judge)
            title = f"Differences of the judge with the {which} p"
            drawings.append(Drawn(title, svg, f"points, {d1.size + d2.size:,} pairs"))
    return drawings


def drawn_judges(judges: pa.Table) -> list[str]:
    """Return the judge with the smallest p, and the one with the largest."""
    decided = [row for row in _once_a_judge(judges) if row["p_value"] is not None]
    decided.sort(key=lambda row: (row["p_value"], row["judge"]))
    return [row["judge"] for row in (*decided[:1], *decided[1:][-1:])]


def reliability_figures(known_labels: pa.Table) -> list[Drawn]:
    """Draw how often labels of the model are right by their probability, where truth is known.

    Parameters
    ----------
    known_labels
        ``task``, ``probability``, ``right``, ``dawid_skene_probability``, ``dawid_skene_right``.
    """
    drawings = []
    for task, rows in first_tasks(known_labels):
        curves = [
            reliability(rows[f"{model}probability"].to_numpy(), right, right)
            for model in ("", "dawid_skene_")
            for right in [rows[f"{model}right"].to_numpy()]
        ]
        svg = figures.reliability_svg(["published", "Dawid-Skene"], curves)
        shown = f"share right, {rows.num_rows:,} known labels"
        drawings.append(Drawn(f"Labels by their probability, {task}", svg, shown))
    return drawings


def prevalence_figures(prevalence: pa.Table) -> list[Drawn]:
    """Return the prevalence of each task's classes, by the model and by votes."""
    drawings = []
    names = ("prevalence", "vote_share", "plurality_frequency")
    for task, classes in first_tasks(prevalence, end=FEW_TASKS):
        rows = classes.sort_by("label_order").to_pylist()
        shares = (_numbers(rows, name) for name in names)
        svg = figures.prevalence_svg([row["label"] for row in rows], *shares)
        drawings.append(Drawn(f"Prevalence, {task}", svg, f"{len(rows):,} classes"))
    return drawings


def confusion_figures(
    confusion: pa.Table, judges: pa.Table, prevalence: pa.Table, n_doubted: Mapping[str, int]
) -> list[Drawn]:
    """Draw the confusion of the busiest judges, in tasks with most judges to doubt.

    Parameters
    ----------
    confusion
        The gold table.
    judges
        ``task``, ``judge``, ``n_judgments``, ``accuracy``.
    prevalence
        The gold table, for the order of classes.
    n_doubted
        Judges to doubt, by task.
    """
    drawings = []
    tasks = pc.unique(confusion["task"].cast(TEXT)).to_pylist()
    for task in _most_doubted(tasks, n_doubted)[:MOST_CONFUSED]:
        labels = rows_where(prevalence, task=task).sort_by("label_order")["label"].to_pylist()
        scored = [r for r in rows_where(judges, task=task).to_pylist() if r["accuracy"] is not None]
        scored.sort(key=lambda row: (-row["n_judgments"], row["judge"]))
        names = [row["judge"] for row in scored[:MOST_JUDGES]]
        matrices = np.full((len(names), len(labels), len(labels)), np.nan)
        for row in rows_where(confusion, task=task).to_pylist():
            if row["judge"] in names:
                cell = labels.index(row["true_label"]), labels.index(row["observed_label"])
                matrices[names.index(row["judge"]), *cell] = row["probability"]
        if names:
            svg = figures.confusion_svg(labels, matrices, names)
            title = f"Confusion of the busiest judges, {task}"
            drawings.append(Drawn(title, svg, f"shares of answers, {len(names)} judges"))
    return drawings


def score_figures(scores: pa.Table) -> list[Drawn]:
    """Draw the distribution of the scores of a task's items, on 0 to 1 of the scale.

    Parameters
    ----------
    scores
        The gold table.
    """
    drawings = []
    for task, rows in first_tasks(scores):
        histograms = [
            (name, rows[column].to_numpy())
            for name, column in (("EASL, the mean", "easl_score"), ("bounded RA", "ra_score"))
            if rows[column].null_count < rows.num_rows
        ]
        if histograms and histograms[0][0].startswith("EASL"):
            svg = figures.score_histograms_svg(
                histograms, bins=10, x_label="score, 0 to 1 of the scale"
            )
            drawings.append(Drawn(f"Scores of items, {task}", svg, f"{rows.num_rows:,} items"))
    return drawings


def ranking_figures(
    rankings: pa.Table, start: int = 0, end: int = MOST_TASKS, comparisons: pa.Table | None = None
) -> list[Drawn]:
    """Return systems with intervals and clusters, by task: a figure for each part.

    Drawn are the differences to the first system where they have intervals, else the scores.
    Scores, ranks and clusters say nothing across parts, so these share no axis.

    Parameters
    ----------
    rankings
        The gold table.
    start, end
        Which tasks, by place in the order of their names.
    comparisons
        The gold table; None: only scores are drawn.
    """
    drawings = []
    for task, rows_of_task in first_tasks(rankings, start, end):
        parts = headline_ranking(rows_of_task, task)
        for number, rows in _largest_parts(parts):
            ranked = rows[:MOST_SYSTEMS]
            method = ranked[0]["method"]
            unit = UNITS.get(method, "")
            part = f", part {number} of {len(parts):,}" if len(parts) > 1 else ""
            more = len(rows) > len(ranked)
            left_out = f": the first {len(ranked)} of {len(rows):,}" if more else ""
            behind = differences_to_first(ranked, comparisons) if comparisons else []
            names, why = [row["system"] for row in ranked], most_frequent_reason(ranked)
            values = (_numbers(behind or ranked, name) for name in ("score", "ci_low", "ci_high"))
            score, low, high = values
            tied = [row["rank_low"] == 1 for row in ranked] if behind else ()
            cluster = _numbers(ranked, "cluster")
            svg = figures.ranking_svg(
                names, score, low, high, cluster, method, why_no_intervals=why, tied=tied, unit=unit
            )
            shown = f"{f'{unit}, ' * bool(unit)}{counted(len(rows), 'system')}"
            drawings.append(Drawn(f"Ranking by {method}, {task}{part}{left_out}", svg, shown))
    return drawings


def differences_to_first(ranked: Sequence[Row], comparisons: pa.Table) -> list[Row]:
    """Return how far each system is from the first, with the ends of its 95% interval.

    Parameters
    ----------
    ranked
        Systems of a task that are compared with each other, in rank order.
    comparisons
        The gold table.

    Returns
    -------
    list of dict
        ``score``, ``ci_low``, ``ci_high``: 0 for the first, less for those behind, with the
        ``reason`` where there is no interval; empty where no other system has one.
    """
    first = ranked[0]
    others = rows_where(comparisons, task=first["task"], system_b=first["system"])
    by_system = {row["system_a"]: row for row in others.filter(others["headline"]).to_pylist()}
    rows = [by_system.get(row["system"], {}) for row in ranked]
    if not any(row.get("ci_low") is not None for row in rows):
        return []
    ends = {"score": "difference", "ci_low": "ci_low", "ci_high": "ci_high", "reason": "reason"}
    differences = [{name: row.get(column) for name, column in ends.items()} for row in rows]
    differences[0] = {"score": 0.0, "ci_low": 0.0, "ci_high": 0.0, "reason": None}
    return differences


def comparison_figures(comparisons: pa.Table, alpha: float, rankings: pa.Table) -> list[Drawn]:
    """Return every system against every other, by task, with method and order of the ranking.

    Parameters
    ----------
    comparisons
        The gold table.
    alpha
        Level of the tests.
    rankings
        The gold table.
    """
    drawings = []
    for task, rows in first_tasks(comparisons):
        ranked = [row for part in headline_ranking(rankings, task) for row in part][:MOST_SYSTEMS]
        method = ranked[0]["method"] if ranked else ""
        systems = [row["system"] for row in ranked]
        of_method = rows_where(rows, method=method).to_pylist()
        if not of_method:
            continue
        position = {name: n for n, name in enumerate(systems)}
        p_values = np.full((len(systems), len(systems)), np.nan)
        wins = np.zeros_like(p_values, dtype=np.bool_)
        for row in of_method:
            if row["system_a"] in position and row["system_b"] in position:
                at = position[row["system_a"]], position[row["system_b"]]
                p_values[at] = np.nan if row["p_adjusted"] is None else row["p_adjusted"]
                wins[at] = bool(row["a_beats_b"])
        svg = figures.comparison_matrix_svg(systems, p_values, wins, alpha)
        drawings.append(Drawn(f"Systems compared by {method}, p after Holm, {task}", svg))
    return drawings


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    return [np.nan if row[column] is None else float(row[column]) for row in rows]


def _once_a_judge(judges: pa.Table) -> list[Row]:
    """Return one row a judge and test: tested over all tasks, a judge's rows say the same."""
    first: dict[tuple[Any, ...], int] = {}
    verdicts = judges.select(["judge", "verdict", "p_value", "n_pairs"])
    for position, row in enumerate(verdicts.to_pylist()):
        first.setdefault(tuple(row.values()), position)
    rows: list[Row] = judges.take(pa.array(first.values(), pa.int64())).to_pylist()
    return rows


def _differences(pairs: pa.Table, judge: str, control: str) -> np.ndarray:
    rows = rows_where(pairs, judge_id=judge, control=control)
    rows = rows.filter(pc.is_null(rows["reason"]))
    differences: np.ndarray = rows["ordinary_score"].to_numpy() - rows["score"].to_numpy()
    return differences


def first_tasks(
    table: pa.Table, start: int = 0, end: int = MOST_TASKS
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the first tasks of a table, or others by place, with their rows."""
    for task in sorted(pc.unique(table["task"].cast(TEXT)).to_pylist())[start:end]:
        yield task, rows_where(table, task=task)


def headline_ranking(rankings: pa.Table, task: str) -> list[list[Row]]:
    """Return a task's systems by the rank of its headline, component by component.

    One component where all is connected, none where the headline ranks no system.
    """
    of_task = rows_where(rankings, task=task)
    rows = of_task.filter(pc.and_(of_task["headline"], of_task["rank"].is_valid())).to_pylist()
    components: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda r: (r["component"] or 0, r["rank"], r["system"])):
        components.setdefault(row["component"] or 0, []).append(row)
    return list(components.values())


def best_systems(component: Sequence[Row]) -> tuple[list[str], str]:
    """Return the best systems of a component of a headline, and what makes them the best.

    Parameters
    ----------
    component
        Ranked systems that are compared with each other, as `headline_ranking` returns them.
    """
    if len(component) == 1:
        return [component[0]["system"]], "alone"
    is_first = [row["rank"] == 1 for row in component]  # nothing beats it, tested or not
    is_unbeaten = [row["rank_low"] == 1 for row in component]
    names = [row["system"] for row in component]
    if any(is_unbeaten):
        best = map(or_, is_first, is_unbeaten)
        return [*compress(names, best)], "not shown to be worse than any other"
    return [*compress(names, is_first)], "first, without tests"


def detectable_differences(variance: pa.Table) -> dict[str, tuple[float, str]]:
    """Return by task the difference that most pairs of systems show, and for whom it holds.

    The latter is empty where it holds for other judges and segments, too.
    """
    return {
        row["task"]: (row["value"], (row["reason"] or "").partition(":")[0])
        for row in variance.to_pylist()
        if row["statistic"] == "detectable_difference" and row["value"] is not None
    }


def _largest_parts(parts: Sequence[list[Row]]) -> list[tuple[int, list[Row]]]:
    """Return the largest few, numbered from 1 among all, in the order of the numbers."""
    numbered = sorted(enumerate(parts, 1), key=lambda part: (-len(part[1]), part[0]))
    return sorted(numbered[:MOST_PARTS], key=lambda part: part[0])


def most_frequent_reason(rows: Sequence[Row]) -> str | None:
    """Return why something is missing of most rows of which something is.

    Of equals, the least text.
    """
    counts = Counter(row["reason"] for row in rows if row["reason"])
    return min(counts, key=lambda reason: (-counts[reason], reason), default=None)


def _most_doubted(tasks: Sequence[str], n_doubted: Mapping[str, int]) -> list[str]:
    """Return the tasks, those with most judges to doubt first."""
    return sorted({*tasks}, key=lambda task: (-n_doubted.get(task, 0), task))
