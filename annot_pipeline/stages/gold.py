"""Judgments become gold tables: judges, items, lists, lineage, costs, next HITs.

Steps and their methods load in the work that needs them: most commands run none, and a build with
nothing new neither. What does not belong here: what is worked out task by task (by_task).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.config import Campaign
from annot_pipeline.stages.context import Made, StageContext, write_declared
from annot_pipeline.stages.described_items import listed_of
from annot_pipeline.stages.parts import (
    PARTS,
    Facts,
    Part,
    in_parts,
    input_parts,
    input_slices,
    placed_part,
    write_part,
)
from annot_pipeline.steps.hash_values import hash_values
from annot_pipeline.steps.indexing import is_any
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import (
    StoredTable,
    StoredTasks,
    TableFile,
    groups_unharmed,
    read_unharmed,
    unharmed,
)


def plan_next_hits(context: StageContext) -> Made:
    """The next HITs of all tasks that their design is for."""
    [(table, facts)] = context.run(
        [partial(_plan, dict(context.inputs), context.columns, context.campaign.settings)]
    )
    if facts["hits"]:
        n = sum(facts["hits"].values())
        context.progress(f"{n:,} HIT{'s' * (n != 1)} planned: annot hits writes them")
    return Made({"next_hits": table}, facts)


def _plan(
    stored: Mapping[str, StoredTable], columns: Mapping[str, Sequence[str]], settings: Campaign
) -> tuple[pa.Table, Facts]:
    """Plan by the tables that the design looks at."""
    from annot_pipeline.steps.planning.plan_hits import NEEDED, VOTES, plan_hits

    needed = NEEDED[settings.next_hits.design]
    wanted = {"tasks", "item_rows", VOTES} & {"tasks", "item_rows", *needed}
    read = {name: read_unharmed(stored[name], columns[name]) for name in wanted}
    by_task = {
        name: StoredTasks(unharmed(stored[name]), columns[name])
        for name in ("scores", "comparisons")
        if name in needed
    }
    return plan_hits(
        by_task.get("scores"),
        read["tasks"],
        read["item_rows"],
        settings=settings,
        comparisons=by_task.get("comparisons"),
        votes=read.get(VOTES),
    )


def set_judgments_aside(context: StageContext) -> Made:
    """Judgments that a calculation could not take."""
    settings = context.campaign.settings
    parameters = {
        "salt": context.salt,
        "pseudonymize": settings.privacy.pseudonymize,
        "paired_controls": list(settings.quality.paired_controls),
    }
    return _by_query(context, "gold/set_aside", "set_aside", parameters)


def describe_judges(context: StageContext) -> Made:
    """Judges of all tasks."""
    made = _by_query(context, "gold/judges", "judges")
    made.facts["alpha"] = context.campaign.settings.quality.alpha
    return made


def describe_items(context: StageContext) -> Made:
    """Items judged or listed."""
    made = _by_query(context, "gold/items", "items")
    contents: dict[str, set[tuple[Any, ...]]] = {}
    for row in context.read("item_rows").to_pylist():
        for not_content in ("place", "task"):
            row.pop(not_content)
        contents.setdefault(row["item"], set()).add(tuple(row.values()))
    made.facts["repeated_items"] = sorted(i for i, rows in contents.items() if len(rows) > 1)
    return made


def list_judgments(context: StageContext) -> Made:
    """What every judge answered, once."""
    tasks, items = context.read("tasks"), context.inputs["item_rows"]
    listed = hash_values([context.read("item_rows")])
    pseudonyms = context.campaign.settings.privacy.pseudonymize
    salt, columns = context.salt if pseudonyms else None, context.columns["controlled"]
    parts = []
    for whole in input_parts(context, "controlled", "standardized"):
        told = tasks.filter(is_any(tasks["task"], whole.tasks))
        for of in whole.aligned():
            make = partial(_list, of.files, columns, told, items, salt)
            parts.append(Part([of.hashes, told.to_pylist(), listed], make, goes_on=of.goes_on))
    tables, by_part = in_parts(context, parts)
    return Made(tables, {PARTS: by_part})


def _list(
    files: Mapping[str, StoredTable],
    columns: Sequence[str],
    tasks: pa.Table,
    items: StoredTable,
    salt: str | None,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """List the judgments of some tasks."""
    from annot_pipeline.steps.list_judgments import judgment_rows

    z = read_unharmed(files["standardized"], ["z"])["z"]
    listed = listed_of(items, groups_unharmed(files["controlled"], ["item"]))

    def rows() -> Iterator[pa.Table]:
        records = groups_unharmed(files["controlled"], columns)
        return judgment_rows(records, z, tasks, listed, salt=salt)

    return {"judgments": write_part(folder, "judgments", key, rows)}, {}


def add_up_costs(context: StageContext) -> Made:
    """What judgments cost, by task; nothing where no export carries rewards."""
    from annot_pipeline.steps.read_rewards import COSTS, read_rewards

    def asked(query: str, inputs: Mapping[str, Any]) -> pa.Table:
        [found] = context.run([partial(_asked, context.part_queries, query, inputs)])
        return found

    rewards, unread = read_rewards(asked("audit/rewards", context.inputs)["reward"].to_pylist())
    costs = COSTS.empty_table()
    if rewards.num_rows:
        costs = asked("audit/cost", {**context.inputs, "rewards": rewards}).cast(COSTS)
    return Made({"costs": costs}, {"cost": costs.to_pylist(), "unread_rewards": unread})


def _asked(queries: Queries, query: str, inputs: Mapping[str, StoredTable | pa.Table]) -> pa.Table:
    """What a query gives over tables of the store and others."""
    return queries.table(query, {name: _looked_at(table) for name, table in inputs.items()})


def _looked_at(table: StoredTable | pa.Table) -> StoredTable | pa.Table:
    return unharmed(table) if isinstance(table, StoredTable) else table


def trace_lineage(context: StageContext) -> Made:
    """The fate and place of every record."""
    columns = context.columns["controlled"]
    parts = [
        Part(of.hashes, partial(_trace, of.files["controlled"], columns), goes_on=of.goes_on)
        for of in input_slices(context, "controlled")
    ]
    tables, by_part = in_parts(context, parts)
    return Made(tables, {PARTS: by_part, "records": context.inputs["controlled"].rows})


def _trace(
    controlled: StoredTable, columns: Sequence[str], folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Facts]:
    """Trace the records of some tasks."""
    from annot_pipeline.steps.trace_lineage import lineage_rows

    made = write_part(
        folder, "lineage", key, lambda: lineage_rows(groups_unharmed(controlled, columns))
    )
    return {"lineage": made}, {}


def _by_query(
    context: StageContext, query: str, table: str, parameters: Mapping[str, Any] | None = None
) -> Made:
    """A table that a query over all tasks makes."""
    make = partial(
        _query, context.part_queries, query, dict(context.inputs), parameters, context.folder, table
    )
    [file] = context.run([make])
    return Made({table: StoredTable((file,))})


def _query(
    queries: Queries,
    query: str,
    inputs: Mapping[str, StoredTable],
    parameters: Mapping[str, Any] | None,
    folder: Path,
    table: str,
) -> TableFile:
    inputs = {name: unharmed(read) for name, read in inputs.items()}
    return placed_part(
        folder,
        table,
        "all",
        lambda path: write_declared(path, table, lambda: queries.run(query, inputs, parameters)),
    )
