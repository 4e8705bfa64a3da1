"""What functions of the Python API return: frames, their figures, and how a notebook shows them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frames import AnyFrame, kind_of
from annot_pipeline.api.soft_labels import TASK, soft_labels
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, Problem, first_of
from annot_pipeline.methods.numerics.shares import wilson_interval

if TYPE_CHECKING:
    from annot_pipeline.api.frame_build import FrameTables

CERTAIN_AT = 0.95
"""Probability from which a label is certain, unless the campaign sets another."""
MOST_NAMED = 5
"""Judges whose names stand in a plot."""
FIRST_ROWS = 10
"""Rows that a notebook shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Frames with the column names and types of the frame that came in.

    Each function says which of them it returns; the others are None. Where the frame has a column
    ``task``, so have the tables, and each task is on its own.

    Parameters
    ----------
    main, summary
        The table that people look at first, and one sentence on what it rests on.
    excluded
        Rows that do not count: ``row`` (from 0), ``fate``, ``reason``.
    gold
        The gold tables behind it; None of `dawid_skene`.
    columns
        The frame's column name of each role, as ``item``.
    figures
        What ``result["accuracy"]`` returns.
    labels
        One row per item: its label, ``probability``, and of `infer_labels` whether it is
        ``certain``, the majority vote and its share.
    distributions
        One row per item and class: ``probability``, ``votes``.
    confusion
        One row per judge, ``true_label`` and ``observed_label``: ``probability`` of the answer.
    prevalence
        One row per class: ``prevalence``, and its share of all answers, ``vote_share``.
    n_judgments
        Rows that count.
    ranking
        One row per system: rank, score, 95% interval (of its difference from the mean of the
        others; compare systems in ``comparisons``), ranks that the tests do not exclude, wins,
        cluster; null with a ``reason`` where the data cannot tell.
    comparisons
        One row per ordered pair of systems: difference, 95% interval, p-values.
    all_methods
        One row per method and system: the other methods, for description.
    method
        The method of ``ranking``: ``adjusted`` of scores, ``bradley_terry`` of comparisons.
    statistics
        One row per statistic of agreement: value, 95% interval, items and judges that it rests on;
        null with a ``reason`` where it is undefined.
    judges
        One row per judge: judgments, verdict of judge control, and of labels accuracy under the
        label model, of scores mean, spread and bias.
    items
        One row per predicted item, the largest disagreements first: gold's label and probability,
        the prediction, ``distance``, accuracy, log loss.
    by_class
        One row per task and class: precision, recall, F1.
    document
        All figures of `score` with their intervals, as docs/score.md says.
    """

    main: str
    summary: str
    excluded: AnyFrame = None
    gold: FrameTables | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[Any, float | None] = field(default_factory=dict)
    labels: AnyFrame = None
    distributions: AnyFrame = None
    confusion: AnyFrame = None
    prevalence: AnyFrame = None
    n_judgments: int = 0
    ranking: AnyFrame = None
    comparisons: AnyFrame = None
    all_methods: AnyFrame = None
    method: str = ""
    statistics: AnyFrame = None
    judges: AnyFrame = None
    items: AnyFrame = None
    by_class: AnyFrame = None
    document: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, figure: str | tuple[str, str]) -> float | None:
        """Return a figure over all items, as ``result["alpha_nominal"]``; None if undefined.

        Of several tasks, ``result["task", "alpha_nominal"]``.
        """
        if figure not in self.figures:
            names = (name if isinstance(name, str) else ", ".join(name) for name in self.figures)
            raise KeyError(f"{figure}; there are {'; '.join(names)}")
        return self.figures[figure]

    @property
    def classes(self) -> list[Any]:
        """Return the classes in order: that of columns of `soft_labels`."""
        return list(dict.fromkeys(row[self.columns["label"]] for row in rows_of(self.prevalence)))

    def soft_labels(self, task: Any = None) -> AnyFrame:
        """Return one row per item and one column per class, the probabilities.

        Parameters
        ----------
        task
            Which task, where the frame has several.

        Raises
        ------
        ConfigError
            There are several tasks and none is named, or none of this name.
        """
        item, label = self.columns["item"], self.columns["label"]
        distributions, classes = self.distributions, self.classes
        if self.gold is not None and TASK in self.columns:
            prevalence = rows_of(self.prevalence)
            tasks = list(dict.fromkeys(row[TASK] for row in prevalence))
            if task not in tasks and (task is not None or len(tasks) > 1):
                problem = Problem("task=", f"is {task}", first_of(list(map(str, tasks)), 20))
                raise ConfigError("select one task", [problem])
            chosen = tasks[0] if task is None else task
            classes = [row[label] for row in prevalence if row[TASK] == chosen]
            rows = pc.field(TASK) == str(pa.scalar(chosen).cast(TEXT))
            distributions = self.gold.restore(
                "label_distributions", "item label probability", rows, by_task=False
            )
        return soft_labels(distributions, item=item, label=label, labels=classes)

    def plot(self, axes: Any = None) -> Any:
        """Draw the main table, and return the axes of matplotlib.

        How many labels have which probability, with the level at which they are certain; scores and
        statistics with their 95% intervals; judgments of judges against accuracy with intervals
        (labels; those far below the others are named) or bias (scores); predicted probabilities
        against gold's.

        Raises
        ------
        ConfigError
            Predictions are labels without probabilities.
        """
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(layout="constrained")[1]
        draw = {"labels": _draw_labels, "judges": _draw_judges, "items": _draw_calibration}
        draw.get(self.main, _draw_intervals)(self, axes)
        shown = " by ".join(filter(None, (axes.get_ylabel() or self.main, axes.get_xlabel())))
        title = f"{shown}, {_n_rows(getattr(self, self.main)):,} rows\n{self.summary}"
        axes.set_title(title, fontsize="medium", loc="left", wrap=True)
        return axes

    def __repr__(self) -> str:
        n = _n_rows(getattr(self, self.main))
        return f"{type(self).__name__}: {self.summary}; .{self.main} has {n:,} rows"

    def _repr_html_(self) -> str:
        frame = getattr(self, self.main)
        rows = rows_of(frame[:FIRST_ROWS])
        columns = list(rows[0]) if rows else []
        head = "".join(f"<th>{html.escape(str(column))}</th>" for column in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[column])}</td>" for column in columns) + "</tr>"
            for row in rows
        )
        more = _n_rows(frame) - len(rows)
        below = f"<p>{more:,} more rows in <code>.{self.main}</code></p>" if more > 0 else ""
        return (
            f"<p>{html.escape(f'{type(self).__name__}: {self.summary}')}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
        )


def _draw_labels(result: Result, axes: Any) -> None:
    shares = [row["probability"] for row in rows_of(result.labels)]
    axes.hist([x for x in shares if x is not None], bins=20, range=(0, 1))
    axes.axvline(CERTAIN_AT, color="0.3", linestyle="--", label=f"certain from {CERTAIN_AT:g}")
    axes.set(xlabel="probability of the label", ylabel="items", xlim=(0, 1))
    axes.legend()


def _draw_judges(result: Result, axes: Any) -> None:
    rows = rows_of(result.judges)
    column = "accuracy" if rows and "accuracy" in rows[0] else "bias"
    rows = [row for row in rows if row[column] is not None and row[column] == row[column]]
    axes.set(xlabel="judgments", ylabel="bias, points" if column == "bias" else column)
    if column == "bias":
        axes.axhline(0, color="0.3", linestyle="--", label="no bias")
        axes.scatter([row["n_judgments"] for row in rows], [row[column] for row in rows])
        return
    n, share = (np.array([row[name] for row in rows], float) for name in ("n_judgments", column))
    low, high = wilson_interval(share * n, n)
    axes.vlines(n, low, high, color="0.7")
    axes.plot(n, share, "o")
    axes.set_ylim(0, 1)
    chances = [row["chance_accuracy"] for row in rows if row.get("chance_accuracy") is not None]
    if chances:
        axes.axhline(median(chances), color="0.3", linestyle="--", label="chance")
    judge, middle = result.columns.get("judge", "judge"), median(share) if len(share) else 0.0
    outliers = [k for k in np.argsort(share, kind="stable").tolist() if high[k] < middle]
    for at, k in enumerate(outliers[:MOST_NAMED], 1):  # names would stand on each other
        axes.annotate(str(at), (n[k], share[k]), (9 * (-1) ** at, 0), textcoords="offset points")
        axes.plot([], [], " ", label=f"{at} {rows[k][judge]}")
    if chances or outliers:
        axes.legend(fontsize="small")


def _draw_intervals(result: Result, axes: Any) -> None:
    """Draw scores of systems, or statistics that have an interval."""
    names, value, needed = ["statistic"], "value", "ci_low"
    if result.main == "ranking":
        names, value, needed = [result.columns.get("system", "system")], "score", "score"
    rows = rows_of(getattr(result, result.main))
    if len({row.get(TASK) for row in rows}) > 1:
        names.insert(0, TASK)
    rows = [row for row in rows if row[needed] is not None and row[needed] == row[needed]]
    for y, row in enumerate(rows):
        axes.plot([row["ci_low"], row["ci_high"]], [y, y], color="0.5")
        axes.plot(row[value], y, "o", color="C0")
    axes.set_yticks(range(len(rows)), [": ".join(str(row[name]) for name in names) for row in rows])
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", color="0.9")
    axes.set_xlabel(f"score ({result.method})" if result.method else "")


def _draw_calibration(result: Result, axes: Any) -> None:
    tasks = [task for task in result.document["tasks"] if task["calibration"]]
    if not tasks:
        problem = Problem("", "predictions hold no probabilities", do="predict probabilities")
        raise ConfigError("there is no calibration to plot", [problem])
    axes.plot([0, 1], [0, 1], color="0.7", label="as often as predicted")
    for task in tasks:
        bins = [row for row in task["calibration"]["bins"] if row["n_items"]]
        points = ([row[name] for row in bins] for name in ("confidence", "expected_accuracy"))
        axes.plot(*points, "o-", label=task["task"])
    axes.set(xlabel="predicted probability", ylabel="probability in gold", xlim=(0, 1), ylim=(0, 1))
    axes.legend()


def rows_of(frame: AnyFrame) -> list[Mapping[str, Any]]:
    """Return a result's frame as dictionaries."""
    kind = kind_of(frame)
    if kind == "pandas":
        return [dict(row) for row in frame.to_dict("records")]
    return list(frame.to_dicts() if kind == "polars" else frame.to_pylist())


def _n_rows(frame: AnyFrame) -> int:
    return int(frame.num_rows if kind_of(frame) == "arrow" else len(frame))


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))
