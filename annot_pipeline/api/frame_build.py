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

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.api.frames import AnyFrame, Frame, to_kind
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.errors import ConfigError, InputError, Problem, counted, first_of
from annot_pipeline.stages.temporary_build import temporary_build

FILE = "frame.parquet"
COUNTED = ("used", "control", "adjudication", "measured")
"""Fates of rows that results rest on."""
NAME = "frame"
OWN = ("campaign", "sources", "tasks", "items", "store", "gold")
"""Settings that follow from the frame."""
REPEATS = "repeated_answers"
"""Gate that counts judges who answered an item more than once."""


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
        columns: Mapping[str, str | None],
        rows: pc.Expression | None = None,
        order: Sequence[str] = (),
        by: str | None = None,
    ) -> AnyFrame:
        """Return columns of a gold table as a frame.

        Parameters
        ----------
        name
            The table.
        columns
            Columns, each with its role where it holds cells of the frame.
        rows
            Which rows; None: all.
        order
            Columns to sort by, as the frame's types sort; none: as the table is sorted.
        by
            Another column of the table to sort by.
        """
        table = self.tables[name] if rows is None else self.tables[name].filter(rows)
        if by is not None:
            table = table.sort_by(by)
        roles = {column: role for column, role in columns.items() if role is not None}
        return self.frame.restore(table.select(list(columns)), roles, order)


def build_frame(
    frame: Frame,
    table_names: Sequence[str],
    *,
    task: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> FrameTables:
    """Run the stages that gold tables need over the rows of a frame.

    Parameters
    ----------
    frame
        Columns by the names of fields in campaign.yaml.
    table_names
        Gold tables.
    task
        Settings of the task, as under ``tasks`` in campaign.yaml.
    settings
        Other settings, by their top-level keys in campaign.yaml.

    Raises
    ------
    ConfigError
        A setting is wrong.
    InputError
        No row can be used, with the reasons.
    """
    fields = {role: role for role in frame.values}
    more = _settings(settings)
    document = {
        "campaign": NAME,
        "privacy": {"pseudonymize": False},
        "sources": [{"path": FILE, "format": "parquet", "fields": fields}],
    } | more
    document["tasks"] = [{"name": NAME} | dict(task or {})]
    with tempfile.TemporaryDirectory(prefix="annot-frame-") as folder:
        pq.write_table(frame.texts(), Path(folder) / FILE)
        file = Path(folder) / "campaign.yaml"
        file.write_text(_json(document), encoding="utf-8")
        try:
            campaign = load_campaign(file)
        except ConfigError as error:
            raise ConfigError("settings that cannot be", error.problems) from None
        columns = dict.fromkeys(table_names, ()) | {"lineage": ("fate", "reason", "source_row")}
        tables, gates = temporary_build(campaign, columns, lambda _: None)
    excluded = _excluded(tables["lineage"])
    if excluded.num_rows == frame.n_rows:
        raise InputError("no row can be used", _problems(excluded))
    if excluded.num_rows:
        warnings.warn(
            f"{excluded.num_rows:,} of {frame.n_rows:,} rows do not count, see .excluded: "
            f"{first_of(_reasons(excluded), 3)}",
            stacklevel=3,
        )
    for gate in gates:
        if gate.name == REPEATS and gate.level != "pass":
            warnings.warn(
                f"{counted(int(gate.value), 'time')} a judge answered an item more than once, and "
                'each answer counts; task={"repeats": "last"} takes one',
                stacklevel=3,
            )
    plain = {name: _without_dictionaries(table) for name, table in tables.items()}
    return FrameTables(frame, plain, to_kind(excluded, frame.kind))


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


def _problems(excluded: pa.Table) -> list[Problem]:
    n = counted(excluded.num_rows, "row")
    return [Problem("", f"{n}: {first_of(_reasons(excluded), 5)}")]
