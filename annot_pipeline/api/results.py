"""What functions of the Python API return: frames, their figures, and how a notebook shows them."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frames import AnyFrame, Frame, column_names, kind_of, materialize
from annot_pipeline.arrays import Codes
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of
from annot_pipeline.methods.labels.reliability import Reliability

if TYPE_CHECKING:
    from annot_pipeline.api.frame_build import FrameTables
    from annot_pipeline.report.release_figures import Drawn

TASK = "task"
POINTS = "_difference_"
"""In the names of statistics that are no shares."""
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
        The gold tables behind it; None of `score`.
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
        label model, of scores mean, spread and bias with its interval.
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
        if self.gold is None or TASK not in self.columns:
            return soft_labels(self.distributions, item=item, label=label, labels=self.classes)
        prevalence = rows_of(self.prevalence)
        tasks = list(dict.fromkeys(row[TASK] for row in prevalence))
        if task not in tasks and (task is not None or len(tasks) > 1):
            problem = Problem("task=", f"is {task}", first_of(list(map(str, tasks)), 20))
            raise ConfigError("select one task", [problem])
        chosen = tasks[0] if task is None else task
        rows = pc.field(TASK) == str(pa.scalar(chosen).cast(TEXT))
        classes = [row[label] for row in prevalence if row[TASK] == chosen]
        frame = self.gold.restore("label_distributions", "item label probability", rows)
        return soft_labels(frame, item=item, label=label, labels=classes)

    def plot(self) -> Figures:
        """Return the figures that a report has of the main table; a notebook shows them.

        How frequent classes are; how accurate judges of labels are; systems with their intervals;
        statistics that are shares; predicted probabilities against gold's labels.

        Raises
        ------
        ConfigError
            There is none: predictions are labels without probabilities, or judges gave scores.
        """
        if not (drawn := _drawings(self)):
            do = f"its figures are in .{self.main}"
            raise ConfigError("there is nothing to plot", [Problem(self.main, self.summary, do=do)])
        escape = html.escape
        figures = (f"<h4>{escape(f.title)}</h4>{f.svg}<p>{escape(f.shown)}</p>" for f in drawn)
        return Figures("".join(figures))

    def __repr__(self) -> str:
        n = len(getattr(self, self.main))
        return f"{type(self).__name__}: {self.summary}; .{self.main} has {n:,} rows"

    def _repr_html_(self) -> str:
        import pandas as pd

        frame = getattr(self, self.main)
        rows = pd.DataFrame(rows_of(frame[:FIRST_ROWS])).astype(object)
        cells = rows.where(rows.notna(), "").to_html(index=False, float_format="{:.4g}".format)
        more = len(frame) - len(rows)
        below = f"<p>{more:,} more rows in <code>.{self.main}</code></p>" if more > 0 else ""
        return f"<p>{html.escape(f'{type(self).__name__}: {self.summary}')}</p>{cells}{below}"


class Figures(str):
    """Figures as HTML, which a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return self


def _drawings(result: Result) -> list[Drawn]:
    """Return the report's figures of the main table; none where it has none."""
    from annot_pipeline.report import release_figures
    from annot_pipeline.report.figures.agreement_intervals import agreement_svg

    if result.gold is None:
        return _calibration(result.document["tasks"])
    table = result.gold.table
    if result.main == "labels":
        return release_figures.prevalence_figures(table("prevalence"))
    if result.main == "judges":
        return release_figures.accuracy_figures(table("judges").to_pylist(), {})
    if result.main == "ranking":
        rankings, comparisons = table("system_rankings"), table("system_comparisons")
        return release_figures.ranking_figures(rankings, comparisons=comparisons)
    rows = [row for row in table("agreement").to_pylist() if POINTS not in row["statistic"]]
    names = ("task", "statistic", "value", "ci_low", "ci_high")
    tasks, statistics, value, low, high = ([row[name] for row in rows] for name in names)
    svg = agreement_svg(tasks, statistics, value, low, high)
    return [release_figures.Drawn("Agreement of judges", svg)]


def _calibration(tasks: Sequence[Mapping[str, Any]]) -> list[Drawn]:
    """Return predicted probabilities against gold's labels, by task."""
    from annot_pipeline.report.figures.reliability import reliability_svg
    from annot_pipeline.report.release_figures import Drawn

    drawn = []
    for task in tasks:
        if of_task := task["calibration"]:
            rows = pa.Table.from_pylist(of_task["bins"])
            bins = {n: rows[n].to_numpy() for n in rows.column_names}
            errors = {name: of_task[name] for name in ("error", "label_error")}
            svg = reliability_svg([task["task"]], [Reliability(**bins, **errors, label_error_se=0)])
            drawn.append(Drawn("Predicted probabilities against gold's labels", svg))
    return drawn


def rows_of(frame: AnyFrame) -> list[Mapping[str, Any]]:
    """Return a result's frame as dictionaries."""
    if (kind := kind_of(frame)) == "pandas":
        return [dict(row) for row in frame.to_dict("records")]
    return list(frame.to_dicts() if kind == "polars" else frame.to_pylist())


def soft_labels(
    distributions: AnyFrame,
    *,
    item: str = "item",
    label: str = "label",
    probability: str = "probability",
    labels: Sequence[Any] | None = None,
) -> AnyFrame:
    """Return one row per item and one column per class, from one row per item and class.

    Parameters
    ----------
    distributions
        As the gold table ``label_distributions`` of one task. A class that an item has no row of
        has probability 0 there.
    item, label, probability
        Its columns.
    labels
        All classes, in the order of columns; None: those that occur, sorted.

    Raises
    ------
    ConfigError
        A class has the name of the item column.
    InputError
        There are several tasks, an item has two rows of one class, or a cell is missing.
    """
    distributions = materialize(distributions)
    read = Frame.read(distributions, {"item": item, "label": label, "probability": probability})
    if TASK in column_names(distributions) and TASK not in (item, label, probability):
        tasks = Frame.read(distributions, {TASK: TASK}).texts()[TASK]
        if len(pc.unique(tasks)) > 1:
            names = first_of(list(map(str, pc.unique(tasks).to_pylist())), 20)
            raise InputError("select one task", [Problem(f'column "{TASK}"', f"names {names}")])
    texts = read.texts()
    holes = [role for role, cells in read.values.items() if cells.null_count]
    if holes:
        raise InputError("the frame cannot be read", [Problem(read.names[holes[0]], "has gaps")])
    items, classes = pc.unique(texts["item"]), read_classes(read, labels)
    rows, columns = codes_of(texts["item"], items), codes_of(texts["label"], classes)
    if np.unique(rows * len(classes) + columns).size < rows.size:
        do = "select one task"
        raise InputError("an item has two rows of one class", [Problem(item, "is repeated", do=do)])
    names = classes.to_pylist()
    if item in names:
        problem = Problem("item=", f'is named "{item}", as a class is', do="rename the column")
        raise ConfigError("soft labels would have two columns of one name", [problem])
    shares = np.zeros((len(items), len(classes)))
    values = read.values["probability"].cast(pa.float64())
    shares[rows, columns] = values.to_numpy(zero_copy_only=False)
    table = pa.table({"item": items} | dict(zip(names, shares.T, strict=True)))
    return read.restore(table, "item")


def read_classes(read: Frame, labels: Sequence[Any] | None) -> pa.Array:
    """Return the classes as text, in order.

    Raises
    ------
    ConfigError
        ``labels`` name a class twice, or do not fit the column's type.
    InputError
        A row has a label that is not among ``labels``.
    """
    values = read.values["label"]
    if labels is None:
        unique = pc.unique(values).drop_null()
        return unique.take(pc.sort_indices(unique)).cast(TEXT)
    classes = pa.array(_texts(read, labels), TEXT)
    if len(pc.unique(classes)) < len(classes):
        raise ConfigError("labels that cannot be", [Problem("labels=", "names a class twice")])
    distinct_values = pc.unique(values.cast(TEXT)).drop_null()
    unknown = distinct_values.filter(pc.invert(pc.is_in(distinct_values, classes))).to_pylist()
    if unknown:
        allowed = first_of(classes.to_pylist(), 20)
        problem = Problem(read.names["label"], "holds other labels", allowed, values=tuple(unknown))
        raise InputError("the frame cannot be read", [problem])
    return classes


def _texts(read: Frame, labels: Sequence[Any]) -> list[str]:
    """Return labels as text, written as the frame's cells are."""
    values = read.values["label"]
    try:
        return list(pa.array(labels, values.type).cast(TEXT).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        problem = Problem("labels=", f"does not fit the column's type {values.type}: {error}")
        raise ConfigError("labels that cannot be", [problem]) from None


def codes_of(texts: pa.ChunkedArray, names: pa.Array) -> Codes:
    """Return the place of each text among names."""
    return np.asarray(pc.index_in(texts, names).to_numpy(), np.int64)
