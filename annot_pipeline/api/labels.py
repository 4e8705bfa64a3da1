"""Labels of items from labels of judges: Dawid-Skene alone, or the model of a release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.api.frame_build import build_frame, warn_of_rows
from annot_pipeline.api.frames import AnyFrame, Frame, materialize, to_kind
from annot_pipeline.api.results import Result, codes_of, read_classes
from annot_pipeline.api.roles import ITEM_BY_ITEM, item_columns, read_roles
from annot_pipeline.arrays import Codes
from annot_pipeline.config.sources import CANONICAL_FIELDS
from annot_pipeline.contracts import TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.dawid_skene import dawid_skene as fit
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.labels.votes import count_votes
from annot_pipeline.stages.ingest.raw_names import look_alikes

CONFUSION = "judge true_label observed_label"
LABEL_COLUMNS = (
    "item label probability certain entropy n_judgments n_judges majority_label majority_share"
)
ALONE = "Dawid-Skene alone takes items, judges and labels; see infer_labels"
MISSING = "item, judge or label is missing"


def dawid_skene(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    labels: Sequence[Any] | None = None,
    model: str = "dawid_skene",
    params: DawidSkeneParams | None = None,
) -> Result:
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
    read = read_roles("dawid_skene", frame, columns, dict.fromkeys(CANONICAL_FIELDS, ALONE))
    missing = [pc.is_null(cells).to_numpy(zero_copy_only=False) for cells in read.values.values()]
    is_missing = np.any(missing, axis=0)
    texts = read.texts().take(pa.array(np.flatnonzero(~is_missing)))
    if not texts.num_rows:
        raise InputError("no row can be used", [Problem("", MISSING)])
    names = {role: pc.unique(texts[role]).sort() for role in ("item", "judge")}
    names["label"] = read_classes(read, labels)
    codes = {role: codes_of(texts[role], of_role) for role, of_role in names.items()}
    result = fit(
        codes["item"], codes["judge"], codes["label"],
        n_items=len(names["item"]), n_judges=len(names["judge"]), n_labels=len(names["label"]),
        params=params or DawidSkeneParams(model=model),
    )  # fmt: skip
    n_excluded = int(is_missing.sum())
    groups = [
        f"{role} {group}" for role in columns
        for group in look_alikes(pc.unique(texts[role]).to_pylist())
    ]  # fmt: skip
    n_repeated = texts.num_rows - len(texts.group_by(["item", "judge"]).aggregate([]))
    warn_of_rows(read.n_rows, n_excluded, MISSING, n_repeated=n_repeated, alike=first_of(groups))
    if not result.convergence.converged:
        warnings.warn(
            f"EM did not converge in {result.convergence.iterations:,} iterations", stacklevel=2
        )
    excluded = pa.table({
        "row": np.flatnonzero(is_missing),
        "fate": pa.repeat("rejected", n_excluded), "reason": pa.repeat(MISSING, n_excluded),
    })  # fmt: skip
    return _fitted(read, names, codes, result, to_kind(excluded, read.kind))


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
) -> Result:
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
    named = {"truth": truth, "submitted_at": submitted_at}
    read = read_roles("infer_labels", frame, columns, ITEM_BY_ITEM, named)
    gold = build_frame(
        read, ("labels", "label_distributions", "judge_confusion", "prevalence", "items"),
        kind="categorical", labels=_task_classes(read, labels), task=task, settings=settings,
    )  # fmt: skip
    return _result(
        read,
        labels=gold.restore("labels", LABEL_COLUMNS, order="item"),
        distributions=gold.restore(
            "label_distributions", "item label probability votes", order="item label"
        ),
        confusion=gold.restore("judge_confusion", f"{CONFUSION} probability", order=CONFUSION),
        prevalence=gold.restore(
            "prevalence", "label prevalence vote_share", by=("task", "label_order")
        ),
        excluded=gold.excluded,
        n_judgments=int(pc.sum(gold.table("labels")["n_judgments"]).as_py()),
        gold=gold,
    )


def _result(read: Frame, *, n_judgments: int, **tables: Any) -> Result:
    """Return labels with a summary of what they rest on."""
    result = Result(
        "labels", "", columns={"item": "item", **read.names}, n_judgments=n_judgments, **tables
    )
    classes = first_of(list(map(str, result.classes)))
    return replace(result, summary=f"{n_judgments:,} judgments, classes {classes}")


def _task_classes(read: Frame, labels: Sequence[Any] | None) -> dict[str | None, list[str]]:
    """Return the classes to declare, by task: given ones for all, numbers in their order."""
    if labels is not None:
        return {None: read_classes(read, labels).to_pylist()}
    values = read.values["label"]
    if pa.types.is_string(values.type):
        return {}
    if "task" not in read.values:
        return {None: read_classes(read, None).to_pylist()}
    tasks = read.values["task"].cast(TEXT)
    own = {
        task: values.filter(pc.fill_null(pc.equal(tasks, task), False))
        for task in pc.unique(tasks).drop_null().to_pylist()
    }
    return {
        task: read_classes(Frame(read.kind, read.names, {"label": cells}), None).to_pylist()
        for task, cells in own.items()
    }


def _fitted(
    read: Frame,
    names: Mapping[str, pa.Array],
    codes: Mapping[str, Codes],
    result: Any,
    excluded: AnyFrame,
) -> Result:
    """Return a fit as frames."""
    items, judges, classes = (names[role] for role in ("item", "judge", "label"))
    posterior = result.posterior
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
    axes = {"item": items, "label": classes}
    distributions = _long(axes, probability=posterior, votes=votes.counts)
    axes = {"judge": judges, "true_label": classes, "observed_label": classes}
    confusion = _long(axes, probability=result.confusion)
    shares = np.bincount(codes["label"], minlength=n_classes) / codes["label"].size
    prevalence = _long({"label": classes}, prevalence=result.prevalence, vote_share=shares)
    return _result(
        read,
        labels=read.restore(labels, "item"),
        distributions=read.restore(distributions, "item label"),
        confusion=read.restore(confusion, CONFUSION),
        prevalence=read.restore(prevalence),
        excluded=excluded,
        n_judgments=int(codes["item"].size),
    )


def _long(axes: Mapping[str, pa.Array], **values: npt.NDArray[Any]) -> pa.Table:
    """Return arrays as one row per element, with the names along their axes."""
    at = np.indices([len(names) for names in axes.values()]).reshape(len(axes), -1)
    columns = {
        axis: names.take(pa.array(position))
        for (axis, names), position in zip(axes.items(), at, strict=True)
    }
    return pa.table(columns | {name: array.reshape(-1) for name, array in values.items()})
