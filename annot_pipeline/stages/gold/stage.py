"""Judgments become gold tables: judges, items, lists, lineage, costs, next HITs.

Steps and their methods load in the work that needs them: most commands run none, and a build with
nothing new neither. What does not belong here: tables that are
worked out task by task, which have folders of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.stage_metrics import AnsweredShares, StageMetrics
from annot_pipeline.errors import shorten
from annot_pipeline.runtime.answered_shares import answered_shares
from annot_pipeline.runtime.context import Document, StageContext, StageOutput, write_declared
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import ByTask, is_in
from annot_pipeline.runtime.listed_items import listed_of
from annot_pipeline.runtime.partitions import (
    input_partitions,
    input_slices,
    place_partition,
    run_partitions,
    write_partition,
)
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.stages.gold.metrics import (
    CostMetrics,
    ItemMetrics,
    JudgeMetrics,
    LineageMetrics,
)
from annot_pipeline.stages.ingest.raw_names import raw_names
from annot_pipeline.stages.shared.name_search import reader_without_names, without_names
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_verified,
    read_verified_groups,
    verify_table,
)

Tables: TypeAlias = Mapping[str, StoredTable | pa.Table]


def set_judgments_aside(context: StageContext) -> StageOutput[StageMetrics]:
    """List the judgments that a calculation could not take."""
    settings = context.campaign.settings
    parameters = {
        "salt": context.salt,
        "pseudonymize": settings.privacy.pseudonymize,
        "paired_controls": list(settings.quality.paired_controls),
    }
    records = _parsed_exports(context) if settings.privacy.pseudonymize else None
    table = _by_query(context, "gold/set_aside", "set_aside", parameters, records)
    return StageOutput({"set_aside": table}, StageMetrics())


def _parsed_exports(context: StageContext) -> list[Path]:
    """Return the files of parsed exports, which hold the raw names of judges."""
    names = sorted(set(context.read("record_files")["filename"].to_pylist()))
    return [context.store.records / name for name in names]


def describe_judges(context: StageContext) -> StageOutput[JudgeMetrics]:
    """Return the judges of all tasks."""
    controlled = {"controlled": verify_table(context.inputs["controlled"])}
    by_judge = {
        "assignments": context.queries.table("gold/assignments", controlled),
        "judge_kinds": context.read("judge_kinds"),
    }
    others = context.inputs.keys() - {*controlled, *by_judge}
    tables_by_task = {name: ByTask(context.read(name)) for name in sorted(others)}
    partitions = []
    for inputs in input_partitions(context, "controlled"):
        judges = read_verified(inputs.files["controlled"], ["judge_id"])["judge_id"].unique()
        rows = {name: table.only(inputs.tasks) for name, table in tables_by_task.items()}
        for name, table in by_judge.items():  # a new judge elsewhere is no news here
            rows[name] = table.filter(is_in(table["judge_id"], judges.cast(TEXT)))
        describe = partial(_describe, context.partition_queries, inputs.files, rows)
        partitions.append(inputs.partition(describe, hash_values(list(rows.values()))))
    tables, documents = run_partitions(context, partitions)
    table = tables["judges"]
    missing = _unequal_answers(read_verified(table, ["task", "judge", "n_judgments", "n_unscored"]))
    quality, judges = context.campaign.settings.quality, {"judges": verify_table(table)}
    by_task = {"by_task": quality.scope == "task"}
    rules = context.queries.table("gold/judges_of_concern", judges, by_task).to_pylist()
    failed = {row["rule"]: row["names"] for row in rules if row["fails"]}
    removed = {
        row["rule"]: {"judges": row["removed"], "judgments": row["judgments"]}
        for row in rules
        if row["removed"]
    }
    noted = [context.queries.table(f"gold/{n}_judges", judges) for n in ("hurried", "narrow")]
    metrics = JudgeMetrics(quality.alpha, missing, failed, removed, *(t.to_pylist() for t in noted))
    return StageOutput(tables, metrics, documents)


def _describe(
    queries: Queries,
    files: Mapping[str, StoredTable],
    rows: Mapping[str, pa.Table],
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Describe the judges of some tasks."""
    return {"judges": _query(queries, "gold/judges", {**files, **rows}, folder, "judges", key)}, {}


def _unequal_answers(judges: pa.Table) -> dict[str, AnsweredShares]:
    """Return the shares of answers that did not fail, by task, where some failed."""
    by_task = ByTask(judges)
    shares = {}
    for task in by_task.names:
        own = by_task[task]
        answered = own["n_judgments"].to_pylist()
        asked = pc.add(own["n_judgments"], own["n_unscored"]).to_pylist()
        if unequal := answered_shares(own["judge"].to_pylist(), asked, answered):
            shares[task] = unequal
    return shares


def describe_items(context: StageContext) -> StageOutput[ItemMetrics]:
    """Describe the items that were judged or listed."""
    table = _by_query(context, "gold/items", "items")
    inputs = {name: verify_table(rows) for name, rows in context.inputs.items()}
    repeated = [
        f"{row['item']} (truth {' or '.join(map(shorten, row['truths']))})"
        if row["truths"]
        else row["item"]
        for row in context.queries.table("gold/repeated_items", inputs).to_pylist()
    ]
    uncounted = context.queries.table("audit/uncounted_items", inputs).to_pylist()
    return StageOutput({"items": table}, ItemMetrics(repeated, uncounted))


def list_judgments(context: StageContext) -> StageOutput[StageMetrics]:
    """List every judgment that counts, once."""
    tasks, items = context.read("tasks"), context.inputs["item_rows"]
    listed = hash_values([context.read("item_rows")])
    pseudonyms = context.campaign.settings.privacy.pseudonymize
    salt, columns = context.salt if pseudonyms else None, context.columns["controlled"]
    partitions = []
    for whole in input_partitions(context, "controlled", "standardized"):
        known_tasks = tasks.filter(is_in(tasks["task"], whole.tasks))
        for inputs in whole.aligned():
            make = partial(_list, inputs.files, columns, known_tasks, items, salt)
            partitions.append(inputs.partition(make, known_tasks.to_pylist(), listed))
    tables, documents = run_partitions(context, partitions)
    return StageOutput(tables, StageMetrics(), documents)


def _list(
    files: Mapping[str, StoredTable],
    columns: Sequence[str],
    tasks: pa.Table,
    items: StoredTable,
    salt: str | None,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """List the judgments of some tasks."""
    from annot_pipeline.stages.gold.list_judgments import judgment_rows

    z = read_verified(files["standardized"], ["z"])["z"]
    listed = listed_of(items, read_verified_groups(files["controlled"], ["item"]))

    def rows() -> Iterator[pa.Table]:
        records = read_verified_groups(files["controlled"], columns)
        return judgment_rows(records, z, tasks, listed, salt=salt)

    return {"judgments": write_partition(folder, "judgments", key, rows)}, {}


def add_up_costs(context: StageContext) -> StageOutput[CostMetrics]:
    """Add up the cost of judgments by task; empty if no export has rewards."""
    from annot_pipeline.stages.gold.read_rewards import COSTS, read_rewards

    def run_query(query: str, inputs: Mapping[str, Any]) -> pa.Table:
        [table] = context.run([partial(_asked, context.partition_queries, query, inputs)])
        return table

    listed = run_query("audit/rewards", context.inputs)
    rewards, unread = read_rewards(listed["reward"].to_pylist())
    if unread:
        places = dict(zip(listed["reward"].to_pylist(), listed["place"].to_pylist(), strict=True))
        unread = [f"{places[reward]}: {shorten(reward)}" for reward in unread]
        settings = context.campaign.settings
        if settings.privacy.pseudonymize:
            names = raw_names(_parsed_exports(context), settings.judges.declared)
            unread = without_names(unread, names)
    costs, of_models = COSTS.empty_table(), []
    if rewards.num_rows:
        inputs = {**context.inputs, "rewards": rewards}
        costs = run_query("audit/cost", inputs).cast(COSTS)
        of_models = run_query("audit/model_cost", inputs).to_pylist()
    return StageOutput({"costs": costs}, CostMetrics(costs.to_pylist(), of_models, unread))


def _asked(queries: Queries, query: str, inputs: Tables) -> pa.Table:
    """Return the result of a query over tables of the store and others."""
    return queries.table(query, _verified(inputs))


def _verified(inputs: Tables) -> Tables:
    """Return tables, of which those of the store have the bytes that were written."""
    return {n: verify_table(t) if isinstance(t, StoredTable) else t for n, t in inputs.items()}


def trace_lineage(context: StageContext) -> StageOutput[LineageMetrics]:
    """Trace the fate and the place of every record."""
    columns = context.columns["controlled"]
    partitions = [
        inputs.partition(partial(_trace, inputs.files["controlled"], columns))
        for inputs in input_slices(context, "controlled")
    ]
    tables, documents = run_partitions(context, partitions)
    metrics = LineageMetrics(context.inputs["controlled"].rows, tables["lineage"].rows)
    return StageOutput(tables, metrics, documents)


def _trace(
    controlled: StoredTable, columns: Sequence[str], folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    """Trace the records of some tasks."""
    from annot_pipeline.stages.gold.list_judgments import lineage_rows

    lineage = write_partition(
        folder, "lineage", key, lambda: lineage_rows(read_verified_groups(controlled, columns))
    )
    return {"lineage": lineage}, {}


def _by_query(
    context: StageContext,
    query: str,
    table: str,
    parameters: Mapping[str, Any] | None = None,
    records: Sequence[Path] | None = None,
) -> StoredTable:
    """Return the table that a query over all tasks gives.

    Parameters
    ----------
    records
        Parsed exports whose judges no reason may name.
    """
    declared = context.campaign.settings.judges.declared
    names = None if records is None else partial(raw_names, records, declared)
    where = (context.folder, table, "all")
    make = partial(
        _query, context.partition_queries, query, dict(context.inputs), *where, parameters, names
    )
    [file] = context.run([make])
    return StoredTable((file,))


def _query(
    queries: Queries,
    query: str,
    inputs: Tables,
    folder: Path,
    table: str,
    key: str,
    parameters: Mapping[str, Any] | None = None,
    names: Callable[[], Iterable[str]] | None = None,
) -> TableFile:
    """Write the rows of a query as a partition; no reason in them has one of some names."""
    verified = _verified(inputs)

    @contextmanager
    def rows() -> Iterator[pa.RecordBatchReader]:
        with queries.run(query, verified, parameters) as reader:
            yield reader if names is None else reader_without_names(reader, names)

    return place_partition(folder, table, key, lambda path: write_declared(path, table, rows))


DESCRIBE_JUDGES = Stage(
    "describe_judges",
    "Lists the judges of each task with their properties and statistics.",
    inputs={
        "controlled": (), "tasks": (), "judge_tests": (), "judge_scores": (),
        "judge_figures": (), "judge_contradictions": (), "judge_kinds": (),
    },
    outputs=("judges",),
    settings=("quality",),
    code_version="12",  # judges on a far smaller scale
    work=describe_judges,
)  # fmt: skip

DESCRIBE_ITEMS = Stage(
    "describe_items",
    "Lists the judged items with their data from item tables.",
    inputs={"controlled": (), "item_rows": (), "item_texts": ()},
    outputs=("items",),
    settings=(),
    code_version="5",  # items of which no judgment counts
    work=describe_items,
)  # fmt: skip

LIST_JUDGMENTS = Stage(
    "list_judgments",
    "Lists every judgment once, with standardised scores.",
    inputs={
        "controlled": (
            "public_id", "task", "item", "judge_id", "judge_kind", "fate", "control", "segment",
            "document", "system", "criterion", "label", "score", "item_a", "item_b", "system_a",
            "system_b", "preference", "strength", "rank", "rank_a", "rank_b", "ranking", "hit",
            "position", "submitted_at", "seconds",
        ),
        "standardized": ("z",), "tasks": ("task", "kind"),
        "item_rows": ("item", "segment", "document", "system", "place"),
    },
    outputs=("judgments",),
    settings=("privacy",),
    code_version="4",  # people and models
    work=list_judgments,
)  # fmt: skip

SET_JUDGMENTS_ASIDE = Stage(
    "set_judgments_aside",
    "Lists judgments that count but that a calculation could not use, with the reason.",
    inputs={
        "controlled": (), "tasks": (), "item_rows": (), "control_pairs": (),
        "known_answers": (), "judge_scores": (), "not_compared": (), "record_files": ("filename",),
    },
    outputs=("set_aside",),
    settings=("privacy", "quality", "judges"),
    code_version="3",  # reasons quote no truth that names a judge
    work=set_judgments_aside,
)  # fmt: skip

ADD_UP_COSTS = Stage(
    "add_up_costs",
    "Sums the payments for assignments by task, if exports contain rewards.",
    inputs={
        "controlled": (), "record_files": (), "labels": ("task", "item"),
        "scores": ("task", "item"), "segment_ranks": ("task", "item"),
    },
    outputs=("costs",),
    settings=("privacy", "judges"),
    code_version="5",  # measured judgments cost, too
    work=add_up_costs,
)  # fmt: skip

TRACE_LINEAGE = Stage(
    "trace_lineage",
    "Lists the judgment id, fate and source row of every record.",
    inputs={
        "controlled": (
            "public_id", "task", "item", "item_a", "item_b", "judge_id", "fate", "reason",
            "source_digest", "source_file", "source_row", "cell",
        ),
    },
    outputs=("lineage",),
    settings=(),
    code_version="3",  # digests of exports are keyed
    work=trace_lineage,
)  # fmt: skip
