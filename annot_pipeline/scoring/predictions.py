"""Reads a file of predictions as text, and recognises in which form they stand."""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from annot_pipeline.arrays import Codes
from annot_pipeline.config import Limits
from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.errors import ConfigError, InputError, Problem, counted, first_of, row_and_line
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.line_numbers import row_lines
from annot_pipeline.exports.raw_rows import BYTES_LOOKED_AT, is_text
from annot_pipeline.scoring.faults import Faults, RowLines, no_lines
from annot_pipeline.storage.checked_export import refuse_special_file
from annot_pipeline.storage.files import first_bytes

ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".json": "jsonl", ".parquet": "parquet",
}  # fmt: skip
LIMIT = re.compile(r"limits\.[a-z_]+")
"""A setting that an error names."""
FORMS = ("labels", "columns", "long")
TASK, ITEM, LABEL, PROBABILITY = "task", "item", "label", "probability"
"""Names of columns."""
PREFIXES = ("p_", "prob_", "")
"""What may stand before a class in the name of its column; the first that fits."""


@dataclass(frozen=True)
class Predictions:
    """The cells of a file, as written.

    Parameters
    ----------
    name
        Of the file.
    columns
        Column name to ``(n_rows,)`` texts.
    row
        ``(n_rows,)`` place in the file, from 1.
    not_rows
        What the file holds besides rows, counted by kind.
    lines
        Of the file's rows.
    """

    name: str
    columns: dict[str, pa.Array]
    row: Codes
    not_rows: Mapping[str, int] = field(default_factory=dict)
    lines: RowLines = field(default=no_lines, repr=False)

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Form:
    """Which columns hold what.

    Parameters
    ----------
    name
        ``labels``: a class a row. ``columns``: a probability a class and row. ``long``: a row an
        item and class.
    item, task
        Columns; no task where the file has none.
    label, probability
        Columns of the class, and of probabilities (``long``).
    columns
        Column of each class (``columns``).
    ignored
        Ignored columns.
    """

    name: str
    item: str
    task: str | None
    label: str | None = None
    probability: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @property
    def has_probabilities(self) -> bool:
        """Return whether there is more than a class an item."""
        return self.name != "labels"

    @property
    def like_classes(self) -> tuple[str, ...]:
        """Return ignored columns that are named as those of classes are."""
        prefix = next((c.removesuffix(name) for name, c in self.columns.items()), "")
        return tuple(c for c in self.ignored if prefix and c.startswith(prefix))

    def describe(self) -> str:
        """Return a description for people."""
        if self.name == "columns":
            return f"probabilities, a column a class ({first_of([*self.columns.values()], 4)})"
        if self.name == "long":
            return f"probabilities, a row an item and class ({self.label}, {self.probability})"
        return f"labels (column {self.label})"


def read_predictions(path: Path, limits: Limits | None = None) -> Predictions:
    """Read all columns of a file.

    Parameters
    ----------
    path
        The file.
    limits
        What it may hold at most, as an export of the campaign; None: the defaults.

    Raises
    ------
    ConfigError
        No such file, or no format that its name tells.
    InputError
        It cannot be read, or some rows cannot.
    """
    if not path.exists():
        raise ConfigError(f"{path}: no such file", [Problem("PREDICTIONS", "is not there")])
    refuse_special_file(path)
    format_ = ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if format_ is None:
        endings = ", ".join(ENDINGS)
        problem = Problem("", "the file name does not show the format", f"{endings}; each also .gz")
        raise ConfigError(f"{path}: cannot be read", [problem])
    if format_ != "parquet" and not _is_text(path):
        do = "write it in UTF-8 as csv or JSON Lines"
        raise InputError(f"{path}: cannot be read", [Problem("", "is not text", do=do)])
    opening = Opening(path, path.name, limits=limits or Limits())
    try:
        export = READERS[format_](opening)
        chunks = list(export.chunks)
    except InputError as error:
        raise InputError(error.title, list(map(_without_options, error.problems))) from error
    if export.lines and export.lines.like_rows:
        first = row_and_line(export.lines.like_rows_at, export.lines.like_rows_line)
        count = counted(export.lines.like_rows, "line")
        what = f"{first}: a quoted cell holds {count} that look like rows"
        do = "close the quote, or write the file as JSON Lines"
        raise InputError(f"{path}: rows may be lost", [Problem("", what, do=do)])
    lines = partial(row_lines, opening, format_)
    faults = Faults(path.name, lines)
    for chunk in chunks:
        bad = np.flatnonzero(chunk.problem.is_valid().to_numpy(zero_copy_only=False))
        reasons = chunk.problem.take(pa.array(bad)).to_pylist()
        # what a campaign's options would mend, none mends here
        shown = (reason.partition("; see options.")[0] for reason in reasons)
        faults.add("unreadable", chunk.row[bad].tolist(), shown)
    faults.raise_any()
    rows = np.concatenate([np.empty(0, np.int64), *(chunk.row for chunk in chunks)])
    if not len(rows):
        raise InputError(f"{path}: no predictions", [Problem("", "the file has no rows")])
    columns = {
        name: pa.concat_arrays(
            [c.columns.get(name, pa.nulls(len(c), TEXT)).cast(TEXT) for c in chunks]
        )
        for name in export.columns
    }
    return Predictions(path.name, columns, rows.astype(np.int64), export.ignored, lines)


def _is_text(path: Path) -> bool:
    """Return whether the first bytes may be text; what cannot be read is the reader's to say."""
    try:
        return is_text(first_bytes(path, BYTES_LOOKED_AT))
    except (OSError, EOFError, zlib.error):
        return True


def _without_options(problem: Problem) -> Problem:
    """Return a problem without options of campaign.yaml, which predictions do not have.

    Limits they have.
    """
    limit = LIMIT.search(problem.do)
    raised_limit = f"--set {limit[0]}=N allows more, for this command alone" if limit else ""
    if "options." in problem.do:
        mended = "write it in UTF-8 with one header line, or as JSON Lines"
        return replace(problem, do="; ".join(filter(None, (mended, raised_limit))))
    return replace(problem, do=f"check the file; {raised_limit}") if raised_limit else problem


def recognise(
    predictions: Predictions,
    classes: Sequence[str],
    *,
    item: str | None = None,
    label: str | None = None,
    form: str | None = None,
    raw: bool = False,
) -> Form:
    """Recognise which columns hold items, tasks, labels and probabilities.

    Parameters
    ----------
    predictions
        The file.
    classes
        Of all tasks.
    item, label
        Columns, if they are not ``item`` and ``label``.
    form
        One of `FORMS`, if it is not to be guessed.
    raw
        Of another release take Dawid-Skene's probabilities, not the published ones.

    Raises
    ------
    ConfigError
        A column is not there, or nothing looks like a prediction.
    """
    columns = list(predictions.columns)
    for option, column in (("--item", item), ("--label", label)):
        if column is not None and column not in columns:
            raise _missing(predictions, option, f"no column {column}", "name one of these")
    item = item or ITEM
    if item not in columns:
        do = _likely_column(columns, "--item", ITEM) or "name the column with --item"
        raise _missing(predictions, "", f"no column {ITEM}", do)
    task = TASK if TASK in columns and item != TASK else None
    label_column = label or (LABEL if LABEL in columns and item != LABEL else None)
    by_class = _class_columns([c for c in columns if c not in {item, task, label}], classes)
    if form is None:
        form = _likely(predictions, item, task, label, label_column, by_class)
    has_label = form in ("labels", "long") and label_column
    probability = None
    if form == "long" and label_column:
        own = "dawid_skene_probability"
        probability = own if raw and own in columns else PROBABILITY
    recognised = Form(
        form, item, task, label_column if has_label else None, probability,
        by_class if form == "columns" else {},
    )  # fmt: skip
    if lacking := _lacking(recognised, columns):
        raise _missing(predictions, f"--form {form}", lacking, "choose another form")
    used = {item, task, recognised.label, probability, *recognised.columns.values()}
    return replace(recognised, ignored=tuple(name for name in columns if name not in used))


def _class_columns(columns: Sequence[str], classes: Sequence[str]) -> dict[str, str]:
    """Map classes to columns, by the first prefix that two classes (or all) have."""
    for prefix in PREFIXES:
        named = {
            answer_text(column.removeprefix(prefix)): column
            for column in columns
            if column.startswith(prefix)
        }
        by_class = {
            name: prefix + name if prefix + name in columns else named[name]
            for name in classes
            if prefix + name in columns or name in named
        }
        if len(by_class) >= min(2, len(classes)):
            return by_class
    return {}


def _likely(
    predictions: Predictions,
    item: str,
    task: str | None,
    label: str | None,
    label_column: str | None,
    by_class: dict[str, str],
) -> str:
    if label is None and by_class:
        return "columns"
    if label_column is None:
        named = _likely_column(list(predictions.columns), "--label", LABEL)
        do = named or "name the column of labels with --label"
        raise _missing(predictions, "", "nothing that is a prediction", do)
    if PROBABILITY in predictions.columns and _repeats(predictions, item, task):
        return "long"
    return "labels"


def _likely_column(columns: Sequence[str], option: str, heading: str) -> str:
    """Return the option that names a column spelt otherwise, if there is one, or there twice."""
    twice = [name for name in columns if name.startswith(f"{heading}#")]
    if twice:
        return f"the header has {heading} {len(twice)} times: choose one, as {option} '{twice[0]}'"
    column = next((name for name in columns if name.strip().casefold() == heading), None)
    return "" if column is None else f"did you mean {option} {shlex.quote(column)}?"


def _repeats(predictions: Predictions, item: str, task: str | None) -> bool:
    """Return whether an item has several rows."""
    keys = [predictions.columns[name] for name in (item, task) if name]
    table = pa.table(dict(zip("ab", keys, strict=False)))
    n_keys: int = table.group_by(table.column_names).aggregate([]).num_rows
    return n_keys < len(predictions)


def _lacking(form: Form, columns: Sequence[str]) -> str:
    if form.name in ("labels", "long") and form.label is None:
        return f"no column {LABEL}"
    if form.probability is not None and form.probability not in columns:
        return f"no column {form.probability}"
    if form.name == "columns" and not form.columns:
        return "no two classes of gold have a column"
    return ""


def _missing(predictions: Predictions, where: str, what: str, do: str) -> ConfigError:
    allowed = (
        f"item and one of: {LABEL}; {LABEL} and {PROBABILITY}; a column a class "
        "(CLASS, p_CLASS, prob_CLASS)"
    )
    problem = Problem(where, what, allowed, do, values=tuple(predictions.columns))
    return ConfigError(f"{predictions.name}: columns are not understood", [problem])
