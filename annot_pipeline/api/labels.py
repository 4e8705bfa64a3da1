"""Labels of items from labels of judges: Dawid-Skene alone, or the model of a release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frame_build import FrameTables, build_frame, warn_of_look_alikes
from annot_pipeline.api.frames import AnyFrame, Frame, column_names, materialize, to_kind
from annot_pipeline.api.results import Result, new_axes, rows_of
from annot_pipeline.api.roles import (
    ITEM_BY_ITEM,
    check_columns,
    item_columns,
    optional_columns,
    refuse_others,
)
from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, counted, first_of
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.dawid_skene import dawid_skene as fit
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.labels.votes import count_votes
from annot_pipeline.stages.ingest.look_alikes import look_alikes

TASK = "task"
ITEM_AND_LABEL: dict[str, str | None] = {"item": "item", "label": "label"}


@dataclass(frozen=True, eq=False, repr=False)
class LabelResult(Result):
    """Labels of items, with their probabilities.

    Item, judge and label columns have the names and types of the frame that came in. Where it has
    a column ``task``, so have the tables, and each task is on its own.

    Parameters
    ----------
    labels
        One row per item: its label, ``probability``, and of `infer_labels` whether it is
        ``certain``, the majority vote and its share.
    distributions
        One row per item and class: ``probability``, ``votes``.
    confusion
        One row per judge, ``true_label`` and ``observed_label``: ``probability`` of the answer.
    prevalence
        One row per class: ``prevalence``, and its share of all answers, ``vote_share``.
    excluded
        Rows that do not count: ``row`` (from 0), ``fate``, ``reason``.
    n_judgments
        Rows that count.
    columns
        The frame's column name of ``item``, ``judge`` and ``label``.
    gold
        The gold tables behind it; None of `dawid_skene`.
    """

    labels: AnyFrame
    distributions: AnyFrame
    confusion: AnyFrame
    prevalence: AnyFrame
    excluded: AnyFrame
    n_judgments: int
    columns: Mapping[str, str]
    gold: FrameTables | None = None

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
        if self.gold is not None and "task" in self.columns:
            prevalence = rows_of(self.prevalence)
            tasks = list(dict.fromkeys(row["task"] for row in prevalence))
            if task not in tasks and (task is not None or len(tasks) > 1):
                problem = Problem("task=", f"is {task}", first_of(list(map(str, tasks)), 20))
                raise ConfigError("select one task", [problem])
            chosen = tasks[0] if task is None else task
            classes = [row[label] for row in prevalence if row["task"] == chosen]
            rows = pc.field("task") == str(pa.scalar(chosen).cast(TEXT))
            distributions = self.gold.restore(
                "label_distributions", ITEM_AND_LABEL | {"probability": None}, rows
            )
        return soft_labels(distributions, item=item, label=label, labels=classes)

    @property
    def classes(self) -> list[Any]:
        """Return the classes in order: that of columns of `soft_labels`."""
        labels = (row[self.columns["label"]] for row in rows_of(self.prevalence))
        return list(dict.fromkeys(labels))

    def plot(self, axes: Any = None) -> Any:
        """Draw how many items have which probability, and return the axes of matplotlib."""
        axes = new_axes(axes)
        shares = [row["probability"] for row in rows_of(self.labels)]
        axes.hist([x for x in shares if x is not None], bins=20, range=(0, 1))
        axes.set_xlabel("probability of the label")
        axes.set_ylabel("items")
        return axes

    def _main_table(self) -> tuple[str, AnyFrame]:
        return "labels", self.labels

    def _summary(self) -> str:
        return f"{self.n_judgments:,} judgments, classes {first_of(list(map(str, self.classes)))}"


def dawid_skene(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    labels: Sequence[Any] | None = None,
    model: str = "dawid_skene",
    params: DawidSkeneParams | None = None,
) -> LabelResult:
    """Infer labels by Dawid-Skene alone, as the paper has it (Dawid & Skene 1979).

    It takes judges to err independently, so its probabilities are too high where they do not:
    `infer_labels` corrects them, as releases do.

    Parameters
    ----------
    frame
        One row per judgment: pandas, polars or Arrow.
    item, judge, label
        Its columns.
    labels
        All classes, in the order that breaks ties; None: those that occur, sorted.
    model
        ``dawid_skene``, ``one_coin`` or ``mace``.
    params
        Settings of the fit; they win over ``model``.

    Raises
    ------
    ConfigError
        A column is missing or there twice, or no such model.
    InputError
        No row has an item, a judge and a label; or a label is not among ``labels``.
    """
    if model not in LABEL_MODELS:
        problem = Problem("model=", f'is "{model}"', ", ".join(LABEL_MODELS))
        raise ConfigError("no such label model", [problem])
    frame, columns = materialize(frame), {"item": item, "judge": judge, "label": label}
    check_columns("dawid_skene", frame, columns)
    refuse_others(
        frame, columns, "Dawid-Skene alone takes items, judges and labels; see infer_labels"
    )
    read = Frame.read(frame, columns)
    missing = [pc.is_null(cells).to_numpy(zero_copy_only=False) for cells in read.values.values()]
    is_missing = np.any(missing, axis=0)
    rows = pa.array(np.flatnonzero(~is_missing))
    if not len(rows):
        raise InputError("no row can be used", [Problem("", "item, judge or label is missing")])
    texts = read.texts().take(rows)
    classes = _classes(read, labels)
    items, judges = (pc.unique(texts[role]).sort() for role in ("item", "judge"))
    n_repeated = texts.num_rows - len(texts.group_by(["item", "judge"]).aggregate([]))
    codes = {
        "item": _codes(texts["item"], items),
        "judge": _codes(texts["judge"], judges),
        "label": _codes(texts["label"], classes),
    }
    result = fit(
        codes["item"], codes["judge"], codes["label"],
        n_items=len(items), n_judges=len(judges), n_labels=len(classes),
        params=params or DawidSkeneParams(model=model),
    )  # fmt: skip
    excluded = pa.table({
        "row": np.flatnonzero(is_missing),
        "fate": pa.repeat("rejected", int(is_missing.sum())),
        "reason": pa.repeat("item, judge or label is missing", int(is_missing.sum())),
    })  # fmt: skip
    if excluded.num_rows:
        warnings.warn(
            f"{excluded.num_rows:,} of {read.n_rows:,} rows do not count, see .excluded: item, "
            "judge or label is missing",
            stacklevel=2,
        )
    if n_repeated:
        warnings.warn(
            f"{counted(n_repeated, 'time')} a judge answered an item more than once, and each "
            "answer counts",
            stacklevel=2,
        )
    alike = [
        f"{role} {group}" for role in columns
        for group in look_alikes(pc.unique(texts[role]).to_pylist())
    ]  # fmt: skip
    if alike:
        warn_of_look_alikes(first_of(alike), stacklevel=3)
    if not result.convergence.converged:
        warnings.warn(
            f"EM did not converge in {result.convergence.iterations:,} iterations", stacklevel=2
        )
    return _fitted(read, (items, judges, classes), codes, result, excluded)


def infer_labels(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    truth: str | None = None,
    submitted_at: str | None = None,
    labels: Sequence[Any] | None = None,
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> LabelResult:
    """Infer labels as a release does: probabilities allow for judges who err together.

    Parameters
    ----------
    frame
        One row per judgment: pandas, polars or Arrow. Columns named as fields of campaign.yaml are
        what they are there: rows of one ``task`` are labelled on their own, ``control``,
        ``native_id``, ``status`` and so on count. Those that labels do not rest on are refused.
    item, judge, label
        Its columns. With segment and system, the frame needs no item.
    truth
        Column of the right label of items where it is known; None: ``truth``, if the frame has it.
        From 50 such items on, probabilities are calibrated by them, as in a release whose item
        table has them.
    submitted_at
        Column of times, for ``repeats``; None: ``submitted_at``, if the frame has it.
    labels
        All classes, in the order that breaks ties; None: those that occur, sorted.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "last"}``.
    settings
        Settings by their top-level keys in campaign.yaml, as ``{"label_model": "mace"}``.

    Raises
    ------
    ConfigError
        A column is missing, there twice or of no use, or a setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    frame = materialize(frame)
    columns = item_columns(frame, item) | {"judge": judge, "label": label}
    check_columns("infer_labels", frame, columns)
    named = {"truth": truth, "submitted_at": submitted_at}
    read = Frame.read(frame, optional_columns(frame, columns, ITEM_BY_ITEM, named))
    gold = build_frame(
        read, ("labels", "label_distributions", "judge_confusion", "prevalence", "items"),
        kind="categorical", labels=_task_classes(read, labels), task=task, settings=settings,
    )  # fmt: skip
    of_task = read.part_of("task")
    return LabelResult(
        labels=gold.restore(
            "labels",
            of_task
            | ITEM_AND_LABEL
            | dict.fromkeys(("probability", "certain", "entropy", "n_judgments", "n_judges"))
            | {"majority_label": "label", "majority_share": None},
            order=(*of_task, "item"),
        ),
        distributions=gold.restore(
            "label_distributions",
            of_task | ITEM_AND_LABEL | dict.fromkeys(("probability", "votes")),
            order=(*of_task, "item", "label"),
        ),
        confusion=gold.restore(
            "judge_confusion",
            of_task
            | {"judge": "judge", "true_label": "label", "observed_label": "label"}
            | {"probability": None},
            order=(*of_task, "judge", "true_label", "observed_label"),
        ),
        prevalence=gold.restore(
            "prevalence",
            of_task | {"label": "label"} | dict.fromkeys(("prevalence", "vote_share")),
            by=("task", "label_order"),
        ),
        excluded=gold.excluded,
        n_judgments=int(pc.sum(gold.table("labels")["n_judgments"]).as_py()),
        columns={"item": "item", **read.names},
        gold=gold,
    )


def _task_classes(read: Frame, labels: Sequence[Any] | None) -> dict[str | None, list[str]]:
    """Return the classes to declare, by task: given ones for all, numbers in their order."""
    if labels is not None:
        return {None: _classes(read, labels).to_pylist()}
    values = read.values["label"]
    if pa.types.is_string(values.type):
        return {}
    if "task" not in read.values:
        return {None: _classes(read, None).to_pylist()}
    tasks = read.values["task"].cast(TEXT)
    return {
        task: _classes(
            Frame(read.kind, read.names, {"label": values.filter(rows)}), None
        ).to_pylist()
        for task in pc.unique(tasks).drop_null().to_pylist()
        for rows in [pc.fill_null(pc.equal(tasks, task), False)]
    }


def _fitted(
    read: Frame,
    names: tuple[pa.Array, pa.Array, pa.Array],
    codes: Mapping[str, Codes],
    result: Any,
    excluded: pa.Table,
) -> LabelResult:
    """Return a fit as frames."""
    items, judges, classes = names
    posterior: Floats = result.posterior
    n_items, n_classes = posterior.shape
    best = posterior.argmax(axis=1)
    votes = count_votes(
        codes["item"], codes["label"], n_items=n_items, n_labels=n_classes, judges=codes["judge"]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(posterior > 0, posterior * np.log(posterior), 0.0), axis=1)
    labels = pa.table({
        "item": items, "label": classes.take(pa.array(best)),
        "probability": posterior[np.arange(n_items), best], "entropy": entropy,
        "n_judgments": np.bincount(codes["item"], minlength=n_items),
        "majority_label": classes.take(pa.array(votes.majority)),
    })  # fmt: skip
    distributions = pa.table({
        "item": items.take(pa.array(np.repeat(np.arange(n_items), n_classes))),
        "label": classes.take(pa.array(np.tile(np.arange(n_classes), n_items))),
        "probability": posterior.reshape(-1), "votes": votes.counts.reshape(-1),
    })  # fmt: skip
    n_judges = len(judges)
    confusion = pa.table({
        "judge": judges.take(pa.array(np.repeat(np.arange(n_judges), n_classes**2))),
        "true_label": classes.take(pa.array(np.tile(np.repeat(np.arange(n_classes), n_classes),
                                                    n_judges))),
        "observed_label": classes.take(pa.array(np.tile(np.arange(n_classes),
                                                        n_judges * n_classes))),
        "probability": result.confusion.reshape(-1),
    })  # fmt: skip
    prevalence = pa.table({
        "label": classes, "prevalence": result.prevalence,
        "vote_share": np.bincount(codes["label"], minlength=n_classes) / codes["label"].size,
    })  # fmt: skip
    both = {"item": "item", "label": "label"}
    return LabelResult(
        labels=read.restore(labels, both | {"majority_label": "label"}, ("item",)),
        distributions=read.restore(distributions, both, ("item", "label")),
        confusion=read.restore(
            confusion,
            {"judge": "judge", "true_label": "label", "observed_label": "label"},
            ("judge", "true_label", "observed_label"),
        ),
        prevalence=read.restore(prevalence, {"label": "label"}),
        excluded=to_kind(excluded, read.kind),
        n_judgments=int(codes["item"].size),
        columns=read.names,
    )


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
    items, classes = pc.unique(texts["item"]), _classes(read, labels)
    rows, columns = _codes(texts["item"], items), _codes(texts["label"], classes)
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
    return read.restore(table, {"item": "item"}, ("item",))


def _classes(read: Frame, labels: Sequence[Any] | None) -> pa.Array:
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


def _codes(texts: pa.ChunkedArray, names: pa.Array) -> Codes:
    """Return the place of each text among names."""
    return np.asarray(pc.index_in(texts, names).to_numpy(), np.int64)
