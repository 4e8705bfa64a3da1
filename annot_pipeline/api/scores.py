"""A model's predictions held against gold."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.api.frames import AnyFrame, Frame, has_values, materialize, read_texts, to_kind
from annot_pipeline.api.releases import Gold
from annot_pipeline.api.results import Result
from annot_pipeline.api.roles import refuse_columns
from annot_pipeline.config.sources import CANONICAL_FIELDS
from annot_pipeline.errors import ConfigError, InputError, Problem, first_of
from annot_pipeline.scoring import Options, score_predictions
from annot_pipeline.scoring.gold import GoldTables
from annot_pipeline.scoring.predictions import Predictions

SEED = 17
"""Of the bootstrap, as campaign.yaml has it."""
UNUSED = "gold says what is right, and intervals take items to be independent"
OPTION = re.compile("--([a-z][a-z-]*)")


def score(
    predictions: AnyFrame,
    gold: str | Path | Gold | Result,
    *,
    release: str = "latest",
    task: str | None = None,
    item: str | None = None,
    label: str | None = None,
    form: str | None = None,
    normalize: bool = False,
    unknown_wrong: bool = False,
    rounds: int = 1000,
) -> Result:
    """Score a model's labels or probabilities against gold.

    Parameters
    ----------
    predictions
        One row per item with a label, or a probability in a column per class (``p_yes``, ...), or
        one row per item and class: pandas, polars or Arrow. A column ``task`` says which task;
        columns of other roles, such as document, judge and truth, are refused.
    gold
        Folder or URL of releases, what `open` returns, or labels by `infer_labels`.
    release
        Version, of a folder.
    task
        Only this task.
    item, label, form, normalize, unknown_wrong, rounds
        As the options of ``annot score``.

    Raises
    ------
    ConfigError
        A column is missing, or the form of the predictions cannot be told.
    InputError
        Predictions that cannot be scored, with all that is wrong.
    StoreError
        No such release, or it has no labels.
    """
    options = Options(
        task=task, release=release, item=item, label=label, form=form, rounds=rounds,
        normalize=normalize, unknown_wrong=unknown_wrong,
    )  # fmt: skip
    frame = materialize(predictions)
    cells = read_texts(frame)
    rows = np.arange(1, cells.num_rows + 1)
    columns = {name: cells[name].combine_chunks() for name in cells.schema.names}
    try:
        scores = score_predictions(
            _tables(gold, release), Predictions("predictions", columns, rows), options, seed=SEED
        )
    except (ConfigError, InputError) as error:
        raise type(error)(error.title, list(map(_in_python, error.problems))) from None
    unknown = scores.document["unknown_items"]
    if unknown["n"]:
        warnings.warn(
            f"{unknown['n']:,} of {cells.num_rows:,} predictions are about no item of gold: "
            f"{first_of(unknown['first'], 3)}",
            stacklevel=2,
        )
    recognised = scores.document["form"]
    names = {"item": recognised["item"]}
    if recognised["name"] == "labels":
        names["label"] = recognised["label"]
    roles_unused = [name for name in recognised["ignored"] if name in CANONICAL_FIELDS]
    refuse_columns(frame, {n: UNUSED for n in roles_unused if has_values(frame, n)})
    read = Frame.read(frame, names)
    classes = [
        {"task": one["task"]} | {
            name: value["value"] if isinstance(value, Mapping) else value
            for name, value in row.items()
        }
        for one in scores.document["tasks"] for row in one["by_class"]
    ]  # fmt: skip
    figures = {
        name: figure["value"] for name, figure in scores.document["micro"]["figures"].items()
    }
    summary = (
        f"{name} {figures[name]:.4f}" for name in ("accuracy", "expected_accuracy", "log_loss")
        if figures[name] is not None
    )  # fmt: skip
    return Result(
        "items", ", ".join(summary), items=read.restore(scores.items),
        by_class=to_kind(pa.Table.from_pylist(classes), read.kind), document=scores.document,
        figures=figures, columns=names,
    )  # fmt: skip


def _in_python(problem: Problem) -> Problem:
    """Return a problem with arguments in the place of options of the command."""

    def written(text: str) -> str:
        return OPTION.sub(lambda match: f"{match[1].replace('-', '_')}=", text)

    names = ("where", "what", "allowed", "do")
    texts: dict[str, Any] = {name: written(getattr(problem, name)) for name in names}
    return replace(problem, **texts)


def _tables(gold: str | Path | Gold | Result, release: str) -> GoldTables:
    """Return the gold tables to score against.

    Raises
    ------
    ConfigError
        It holds no labels.
    """
    if isinstance(gold, Result):
        if gold.labels is None or gold.gold is None:
            problem = Problem("gold=", f"holds no labels, but {gold.main}", do="use infer_labels")
            raise ConfigError("there is nothing to score against", [problem])
        return gold.gold
    if not isinstance(gold, (str, Path, Gold)):
        allowed = "a folder or URL of releases, what open() returns, or labels by infer_labels"
        problem = Problem("gold=", f"is a {type(gold).__name__}", allowed)
        raise ConfigError("there is nothing to score against", [problem])
    return (gold if isinstance(gold, Gold) else Gold(str(gold))).release(release)
