"""Labels of items from labels of judges: Dawid-Skene alone, or the model of a release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from annot_pipeline.api.frame_build import FrameTables, build_frame
from annot_pipeline.api.frames import AnyFrame, Frame, materialize
from annot_pipeline.api.results import Result, read_classes
from annot_pipeline.api.roles import ITEM_BY_ITEM, item_columns, read_roles
from annot_pipeline.config.campaign import DawidSkene
from annot_pipeline.config.sources import CANONICAL_FIELDS
from annot_pipeline.errors import ConfigError, Problem, counted, first_of
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.models import LABEL_MODELS

CONFUSION = "judge true_label observed_label"
LABEL_COLUMNS = (
    "item label probability certain entropy n_judgments n_judges majority_label majority_share"
)
TABLES = ("labels", "label_distributions", "judge_confusion", "prevalence", "items")
ALONE = "Dawid-Skene alone takes items, judges and labels; see infer_labels"
NO_CONTROL = {"test": "none", "labels": "measure"}
"""Judge control that leaves all judges in."""


def dawid_skene(
    frame: AnyFrame,
    *,
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    labels: Sequence[Any] | None = None,
    model: str = "dawid_skene",
    params: DawidSkeneParams | None = None,
    task: Mapping[str, Any] | None = None,
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
        All classes, in the order that breaks ties; None: those that occur, integers by value,
        others by code point.
    model
        ``dawid_skene``, ``one_coin`` or ``mace``.
    params
        Settings of the fit; they win over ``model``.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml: ``{"repeats": "reject"}``.

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
    params = params or DawidSkeneParams(model=model)
    section = {name: getattr(params, name) for name in DawidSkene.model_fields}
    if params != DawidSkeneParams(**section, model=params.model):
        problem = Problem("params=", "sets what no release sets", ", ".join(section))
        raise ConfigError("settings that cannot be", [problem])
    settings = {"label_model": params.model, "dawid_skene": section, "quality": NO_CONTROL}
    frame, columns = materialize(frame), {"item": item, "judge": judge, "label": label}
    read = read_roles("dawid_skene", frame, columns, dict.fromkeys(CANONICAL_FIELDS, ALONE))
    classes = _classes(read, labels)
    gold = build_frame(
        read, TABLES, kind="categorical", labels=classes, task=task, settings=settings
    )
    return _result(gold)


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
        All classes, in the order that breaks ties; None: those that occur, integers by value,
        others by code point.
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
    classes = _classes(read, labels)
    gold = build_frame(
        read, TABLES, kind="categorical", labels=classes, task=task, settings=settings
    )
    return _result(gold)


def _result(gold: FrameTables) -> Result:
    """Return labels with a summary of what they rest on."""
    table = gold.table("labels")
    n_judgments = int(pc.sum(table["n_judgments"]).as_py())
    if n := table["probability"].null_count:
        why = "too many judges and classes for dawid_skene.max_parameters"
        warnings.warn(f"{counted(n, 'label')} by majority vote alone: {why}", stacklevel=3)
    result = gold.result(
        "labels",
        "",
        n_judgments=n_judgments,
        labels=gold.restore("labels", LABEL_COLUMNS, order="item"),
        distributions=gold.restore(
            "label_distributions", "item label probability votes", order="item label"
        ),
        confusion=gold.restore("judge_confusion", f"{CONFUSION} probability", order=CONFUSION),
        prevalence=gold.restore(
            "prevalence", "label prevalence vote_share", by=("task", "label_order")
        ),
    )
    classes = first_of(list(map(str, result.classes)))
    return replace(result, summary=f"{n_judgments:,} judgments, classes {classes}")


def _classes(read: Frame, labels: Sequence[Any] | None) -> list[str] | None:
    return None if labels is None else list(read_classes(read, labels).to_pylist())
