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
from annot_pipeline.methods.numerics.shares import wilson_interval

if TYPE_CHECKING:
    from annot_pipeline.api.frame_build import FrameTables

TASK = "task"
CERTAIN_AT = 0.95
"""Probability from which a label is certain, unless the campaign sets another."""
MOST_NAMED = 5
"""Judges whose names stand in a plot."""
POINTS, ROWS = "_difference_", 5
"""In the names of statistics that are no shares; names in an inch, one below the other."""
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

    def plot(self, axes: Any = None) -> Any:
        """Draw the main table, and return the axes of matplotlib.

        How many labels have which probability, with the level at which they are certain; scores and
        statistics with their 95% intervals (statistics in points are in the table alone); judgments
        of judges against accuracy (labels) or bias (scores) with intervals: those far below the
        others are named, or those with a bias beyond chance, and those who have none; predicted
        probabilities against gold's.

        Raises
        ------
        ConfigError
            Predictions are labels without probabilities.
        """
        draw = {"labels": _draw_labels, "judges": _draw_judges, "items": _draw_calibration}
        if axes is None:
            from matplotlib import pyplot

            n_names = 0 if self.main in draw else len(getattr(self, self.main))
            axes = pyplot.subplots(layout="constrained")[1]
            axes.figure.set_figheight(max(axes.figure.get_figheight(), n_names / ROWS))
        title = f"{draw.get(self.main, _draw_intervals)(self, axes)}\n{self.summary}"
        axes.set_title(title, fontsize="medium", loc="left", wrap=True)
        return axes

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


def _draw_labels(result: Result, axes: Any) -> str:
    shares = [row["probability"] for row in rows_of(result.labels)]
    axes.hist([x for x in shares if x is not None], bins=20, range=(0, 1))
    axes.axvline(CERTAIN_AT, color="0.3", linestyle="--", label=f"certain from {CERTAIN_AT:g}")
    axes.set(xlabel="probability of the label", ylabel="items", xlim=(0, 1))
    axes.legend()
    return "How probable the labels are"


def _draw_judges(result: Result, axes: Any) -> str:
    """Draw accuracy, or the bias of scores; name those apart from the others, and those without."""
    every = rows_of(result.judges)
    column = "accuracy" if any("accuracy" in row for row in every) else "bias"
    rows = [row for row in every if _is_number(row.get(column))]
    names = ("n_judgments", column, "bias_low", "bias_high", "chance_accuracy")
    n, value, low, high, chance = (np.array([r.get(x) for r in rows], float) for x in names)
    if column == "bias":
        title, no_answer, level = "Bias of judges", "with too few shared items", ("no bias", 0.0)
        worst, is_outlier = -np.abs(value), (low > 0) | (high < 0)
    else:
        title, no_answer = "Accuracy of judges by the labels", "whose answers do not count"
        low, high = wilson_interval(value * n, n)
        worst, is_outlier, level = value, high < np.median(value), ("chance", np.nanmedian(chance))
        axes.set_ylim(0, 1)
    axes.set(xlabel="judgments", ylabel="bias, points" if column == "bias" else column)
    axes.plot(n, value, "o", label="judge")
    axes.vlines(n, low, high, color="0.7")
    axes.axhline(level[1], color="0.3", linestyle="--", label=level[0])
    judge, lines = result.columns.get("judge", "judge"), []
    outliers = [k for k in np.argsort(worst, kind="stable").tolist() if is_outlier[k]]
    for at, k in enumerate(outliers[:MOST_NAMED], 1):  # names would stand on each other
        axes.annotate(str(at), (n[k], value[k]), (9 * (-1) ** at, 0), textcoords="offset points")
        lines.append(f"{at} {rows[k][judge]}")
    out = [f"  {row[judge]}" for row in every if not _is_number(row.get(column))]
    lines += [f"{len(out):,} {no_answer}:", *out[:MOST_NAMED]] * bool(out)
    for line in lines:
        axes.plot([], [], " ", label=line)
    axes.legend(fontsize="small")
    return title


def _draw_intervals(result: Result, axes: Any) -> str:
    """Draw scores of systems, or statistics that are shares."""
    is_ranking = result.main == "ranking"
    name, value = ("system", "score") if is_ranking else ("statistic", "value")
    rows = rows_of(getattr(result, result.main))
    names = [TASK] * (len({row.get(TASK) for row in rows}) > 1) + [result.columns.get(name, name)]
    rows = [
        row for row in rows if _is_number(row[value]) and POINTS not in row.get("statistic", "")
    ]
    for y, row in enumerate(rows):
        axes.plot([row["ci_low"], row["ci_high"]], [y, y], color="0.5")
        axes.plot(row[value], y, "o", color="C0")
    axes.set_yticks(range(len(rows)), [": ".join(str(row[name]) for name in names) for row in rows])
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x", color="0.9")
    if is_ranking:
        axes.set_xlabel(f"score ({result.method}), 95% interval")
        return "Ranking of systems"
    axes.set(xlabel="value, 95% interval", xlim=(min(0, axes.dataLim.x0), 1))
    return "Agreement of judges"


def _draw_calibration(result: Result, axes: Any) -> str:
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
    return "Predicted probabilities against gold's"


def rows_of(frame: AnyFrame) -> list[Mapping[str, Any]]:
    """Return a result's frame as dictionaries."""
    if (kind := kind_of(frame)) == "pandas":
        return [dict(row) for row in frame.to_dict("records")]
    return list(frame.to_dicts() if kind == "polars" else frame.to_pylist())


def _is_number(value: Any) -> bool:
    return value is not None and value == value  # NaN


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
