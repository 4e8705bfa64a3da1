"""Gold tables of a frame: the stages of a release, run in a temporary folder.

So what the Python API says of a frame is what a release of the same judgments would say. Rows that
do not count have the reason that `lineage` would give.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.api.frames import AnyFrame, Frame, to_kind
from annot_pipeline.api.results import Result
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, counted, first_of
from annot_pipeline.gates import GateResult
from annot_pipeline.stages.temporary_build import temporary_build
from annot_pipeline.storage.queries import Queries

FILE, ITEMS = "frame.parquet", "items.parquet"
COUNTED = ("used", "control", "adjudication", "measured")
"""Fates of rows that results rest on."""
ITEM_ROLES = ("item", "segment", "system")
NAME, TIME = "frame", "submitted_at"
OWN = ("campaign", "sources", "tasks", "items", "store", "gold")
"""Settings that follow from the frame."""
REPEATS, ALIKE, CONVERGENCE = "repeated_answers", "look_alikes", "convergence"
"""Gates on answers of one judge on one item, names that look the same, and fits that end."""


@dataclass(frozen=True, eq=False)
class FrameTables:
    """What the stages say of a frame.

    Parameters
    ----------
    frame
        What was read.
    tables
        The gold tables that were asked for.
    excluded
        Rows that do not count, as a frame: ``row`` (from 0), ``fate``, ``reason``.
    """

    frame: Frame
    tables: Mapping[str, pa.Table] = field(repr=False)
    excluded: AnyFrame = field(repr=False)

    @property
    def version(self) -> str:
        """Return what messages call them."""
        return "the frame"

    def table(self, name: str) -> pa.Table:
        """Return a gold table."""
        return self.tables[name]

    def restore(
        self,
        name: str,
        columns: str,
        rows: pc.Expression | None = None,
        *,
        order: str = "",
        by: Sequence[str] = (),
    ) -> AnyFrame:
        """Return columns of a gold table as a frame.

        Parameters
        ----------
        name
            The table.
        columns
            Names of columns; where the frame has tasks, theirs comes first.
        rows
            Which rows; None: all.
        order
            Columns to sort by, as the frame's types sort; none: as the table is sorted.
        by
            Other columns of the table to sort by.
        """
        table = self.tables[name] if rows is None else self.tables[name].filter(rows)
        if by:
            table = table.sort_by([(name, "ascending") for name in by])
        task = ["task"] if "task" in self.frame.values else []
        order = " ".join([*task, order]) if order else ""
        return self.frame.restore(table.select([*task, *columns.split()]), order)

    def result(self, main: str, summary: str, **values: Any) -> Result:
        """Return a result with these fields, on the rows of the frame that count."""
        columns = {"item": "item", **self.frame.names}
        return Result(main, summary, self.excluded, self, columns, **values)


def build_frame(
    frame: Frame,
    table_names: Sequence[str],
    *,
    kind: str,
    labels: Sequence[str] | None = None,
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
) -> FrameTables:
    """Run the stages that gold tables need over the rows of a frame.

    Parameters
    ----------
    frame
        Columns by the names of fields in campaign.yaml.
    table_names
        Gold tables.
    kind
        Kind of its tasks.
    labels
        Classes of its tasks, in their order; None: those that occur.
    task
        Settings of the tasks, as under ``tasks`` in campaign.yaml.
    settings
        Other settings, by their top-level keys in campaign.yaml.
    fields
        Expressions of fields that are not their columns as they stand.

    Raises
    ------
    ConfigError
        A setting is wrong, or ``repeats`` asks for the first or last of answers without times.
    InputError
        No row can be used, with the reasons; or an item has two truths.
    """
    truths = _truths(frame) if kind == "categorical" and "truth" in frame.values else None
    columns = {role: role for role in frame.values if role != "truth" or truths is None}
    more = _settings(settings)
    of_task = {"kind": kind} | dict(task or {})
    _check_repeats(frame, of_task)
    document = {
        "campaign": NAME,
        "privacy": {"pseudonymize": False},
        "sources": [{"path": FILE, "format": "parquet", "fields": columns | dict(fields or {})}],
    } | more
    if truths is not None:
        of_items = {name: name for name in truths.column_names}
        document["items"] = [{"path": ITEMS, "format": "parquet", "fields": of_items}]
    classes = {} if labels is None else {"labels": labels}
    document["tasks"] = [{"name": "*"} | classes | of_task]
    with tempfile.TemporaryDirectory(prefix="annot-frame-") as folder:
        pq.write_table(frame.texts(), Path(folder) / FILE)
        if truths is not None:
            pq.write_table(truths, Path(folder) / ITEMS)
        file = Path(folder) / "campaign.yaml"
        file.write_text(_json(document), encoding="utf-8")
        try:
            campaign = load_campaign(file)
        except ConfigError as error:
            raise ConfigError("settings that cannot be", error.problems) from None
        wanted = dict.fromkeys(table_names, ()) | {"lineage": ("fate", "reason", "source_row")}
        tables, gates = temporary_build(campaign, wanted, lambda _: None)
        if {"judges", "judgments"} <= tables.keys():
            queries = Queries(campaign.settings.resources, campaign.spill)
            tables["judges"] = _with_bias_intervals(queries, tables)
    excluded = _excluded(tables["lineage"])
    if excluded.num_rows == frame.n_rows:
        what = f"{counted(excluded.num_rows, 'row')}: {first_of(_reasons(excluded), 5)}"
        raise InputError("no row can be used", [Problem("", what)])
    _warn(frame, excluded, {gate.name: gate for gate in gates if gate.level != "pass"})
    plain = {name: _without_dictionaries(table) for name, table in tables.items()}
    return FrameTables(frame, plain, to_kind(excluded, frame.kind))


def _with_bias_intervals(queries: Queries, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return judges of scores with 95% t intervals of their bias."""
    from scipy.special import stdtrit

    freedom = np.arange(1, tables["judgments"].num_rows)
    quantiles = pa.table({"freedom": freedom, "quantile": stdtrit(freedom, 0.975)})
    return queries.table("api/judges", {**tables, "quantiles": quantiles})


def _warn(frame: Frame, excluded: pa.Table, gates: Mapping[str, GateResult]) -> None:
    """Warn of rows that do not count, repeated answers, look-alikes, and fits that did not end."""
    texts = []
    if n := excluded.num_rows:
        reasons = first_of(_reasons(excluded), 3)
        texts.append(f"{n:,} of {frame.n_rows:,} rows do not count, see .excluded: {reasons}")
    if REPEATS in gates:
        times = counted(int(gates[REPEATS].value), "time")
        repeated = "a judge answered an item more than once, and each answer counts"
        texts.append(f"{times} {repeated}; {_one_answer(frame)}")
    if ALIKE in gates:
        do = "make them one if they mean the same"
        alike = gates[ALIKE].detail
        texts.append(f"values look the same, but count as different: {alike}; {do}")
    if CONVERGENCE in gates:
        texts.append("the label model did not converge: its probabilities are not final")
    for text in texts:
        warnings.warn(text, stacklevel=4)


def _truths(frame: Frame) -> pa.Table:
    """Return the items whose right label is known, as a table of items.

    Raises
    ------
    InputError
        An item has two.
    """
    roles = [role for role in ("task", *ITEM_ROLES) if role in frame.values]
    rows = frame.texts().select([*roles, "truth"])
    with_truth = rows.filter(rows["truth"].is_valid()).group_by([*roles, "truth"]).aggregate([])
    twice = with_truth.group_by(roles).aggregate([([], "count_all")])
    twice = twice.filter(pc.greater(twice["count_all"], 1))
    if twice.num_rows:
        names = [" ".join(map(str, list(row.values())[:-1])) for row in twice.to_pylist()]
        problem = Problem(frame.names["truth"], "differs between rows of an item", values=(*names,))
        raise InputError("an item has two truths", [problem])
    return with_truth.sort_by([(role, "ascending") for role in roles])


def _one_answer(frame: Frame) -> str:
    """Return how one answer of several is chosen."""
    if TIME in frame.values:
        return 'task={"repeats": "last"} takes one'
    return 'task={"repeats": "reject"} takes none; with a column submitted_at, "last" takes one'


def _check_repeats(frame: Frame, of_task: Mapping[str, Any]) -> None:
    """Make sure that the first or last of several answers can be told.

    Raises
    ------
    ConfigError
        The frame has no times.
    """
    repeats = of_task.get("repeats")
    if repeats in ("first", "last") and TIME not in frame.values:
        do = f"name the column of times {TIME}, or drop the other answers, as "
        do += f'frame.drop_duplicates(["item", "judge"], keep="{repeats}")'
        what = f"asks for the {repeats} answer, but no column says when answers were given"
        problem = Problem('task={"repeats": ...}', what, "reject, keep", do)
        raise ConfigError("settings that cannot be", [problem])


def _without_dictionaries(table: pa.Table) -> pa.Table:
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.schema.names)


def _settings(settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return settings that may be chosen.

    Raises
    ------
    ConfigError
        They are no mapping, or hold what the frame says.
    """
    if settings is None:
        return {}
    title = "settings that cannot be"
    if not isinstance(settings, Mapping):
        problem = Problem("settings=", f"is a {type(settings).__name__}", "a mapping")
        raise ConfigError(title, [problem])
    own = [name for name in OWN if name in settings]
    if own:
        do = "pass task= for settings of the task" if "tasks" in own else "leave it out"
        raise ConfigError(title, [Problem(f"settings.{own[0]}", "is what the frame says", do=do)])
    return dict(settings)


def _json(document: Mapping[str, Any]) -> str:
    try:
        return json.dumps(document)
    except TypeError as error:
        allowed = "text, numbers, true, false, lists and mappings of these"
        problem = Problem("settings=, task=", str(error), allowed)
        raise ConfigError("settings that cannot be", [problem]) from None


def _excluded(lineage: pa.Table) -> pa.Table:
    rows = lineage.filter(pc.invert(pc.is_in(lineage["fate"], pa.array(COUNTED))))
    table = pa.table({
        "row": pc.subtract(rows["source_row"].cast(INT), 1),
        "fate": rows["fate"].cast(TEXT), "reason": rows["reason"].cast(TEXT),
    })  # fmt: skip
    return table.sort_by("row")


def _reasons(excluded: pa.Table) -> list[str]:
    """Return fates and reasons with their counts, the most frequent first."""
    counts = excluded.group_by(["fate", "reason"]).aggregate([([], "count_all")]).to_pylist()
    counts.sort(key=lambda row: (-row["count_all"], row["fate"], row["reason"] or ""))
    return [
        f"{row['fate']} ({row['reason']}): {row['count_all']:,}" if row["reason"]
        else f"{row['fate']}: {row['count_all']:,}"
        for row in counts
    ]  # fmt: skip
