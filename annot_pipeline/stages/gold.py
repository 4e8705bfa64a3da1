"""Judgments become gold tables: labels, scores, rankings, judges, items, lineage.

Steps and their methods load in the work that needs them: most commands run none, and a build with
nothing new neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from annot_pipeline.config import Standardize
from annot_pipeline.contracts import AGREEMENT, GOLD
from annot_pipeline.errors import counted
from annot_pipeline.stages.calibration import chosen_together
from annot_pipeline.stages.context import Made, StageContext, write_declared
from annot_pipeline.stages.parts import (
    PARTS,
    Facts,
    Part,
    in_parts,
    input_parts,
    placed_part,
    write_part,
)
from annot_pipeline.stages.task_parts import TaskRows, of_tasks
from annot_pipeline.steps.by_task import ByTask
from annot_pipeline.steps.hash_values import hash_values
from annot_pipeline.steps.indexing import is_any
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    groups_unharmed,
    read_unharmed,
)

if TYPE_CHECKING:
    from annot_pipeline.steps.listed_items import ListedItems


def infer_label_tables(context: StageContext) -> Made:
    """Labels of all categorical tasks."""
    choices, told = chosen_together(context)
    made = of_tasks(
        context, _infer_labels, "controlled", kinds={"controlled": ("categorical",)}, given=choices
    )
    facts = made.facts | told
    if facts["items"]:
        n_items, n_tasks = sum(facts["items"].values()), len(facts["items"])
        context.progress(
            f"{counted(n_items, 'item')} labelled in {counted(n_tasks, 'task')}, "
            f"{max(facts['iterations'].values())} iterations at most"
        )
    adjudications = facts["adjudications"].values()
    if adjudications:
        decided, overridden = (
            sum(row[name] for row in adjudications) for name in ("decided", "overridden")
        )
        context.progress(f"{decided:,} items adjudicated, {overridden:,} not as the model says")
    return Made(made.tables, facts)


def _infer_labels(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.infer_labels import infer_labels

    return infer_labels(
        of["controlled"],
        of["tasks"],
        params=of.settings.dawid_skene_params,
        calibration=of.settings.calibration_params,
        seed=of.settings.seed,
        together=of.given,
        progress=_now_and_then(of.progress),
    )


def check_label_calibration(context: StageContext) -> Made:
    """Probabilities of labels against what is known of items."""
    from annot_pipeline.steps.check_calibration import (
        check_calibration,
        truths_of_no_class,
        wrong_certain_labels,
    )

    names = ("label_evidence", "label_distributions", "items")
    evidence, distributions, items = map(context.read, names)
    table = check_calibration(evidence, distributions, items)
    facts = {
        "wrong_certain_labels": wrong_certain_labels(table),
        "truths_of_no_class": truths_of_no_class(distributions, items),
    }
    return Made({"label_calibration": table}, facts)


def _now_and_then(progress: Callable[[str], None]) -> Callable[[str], None]:
    """Passes a message on if the last one is a second ago."""
    last = time.monotonic()

    def told(message: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            progress(message)

    return told


def standardize_judgments(context: StageContext) -> Made:
    """z-scores of all scalar tasks."""
    tasks, listed, items = _tasks_and_items(context)
    settings, columns = context.campaign.settings.standardize, context.columns["controlled"]
    parts = []
    for of in input_parts(context, "controlled"):
        told = tasks.filter(is_any(tasks["task"], of.tasks))
        make = partial(_standardize, of.files["controlled"], columns, told, listed, settings)
        parts.append(Part([of.hashes, told.to_pylist(), items], make))
    tables, by_part = in_parts(context, parts)
    facts: dict[str, Any] = {PARTS: by_part}
    found = list(by_part.values())
    for name in ("scalar_judgments", "kept_judgments", "kept_without_z"):
        facts[name] = sum(of[name] for of in found)
    facts["judges_without_z"] = [judge for of in found for judge in of["judges_without_z"]]
    return Made(tables, facts)


def _standardize(
    controlled: TableFile,
    columns: Sequence[str],
    tasks: pa.Table,
    listed: ListedItems,
    settings: Standardize,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """Standardise the scores of some tasks."""
    from annot_pipeline.steps.standardize_scores import standardize_scores

    scalar = tasks.filter(is_any(tasks["kind"], ("scalar",)))["task"].to_pylist()
    judgments = read_unharmed(StoredTable((controlled,)), columns, scalar)
    tables, facts = standardize_scores(judgments, tasks, listed, settings=settings)
    made = {
        name: write_part(folder, name, key, partial(iter, [rows])) for name, rows in tables.items()
    }
    return made, facts


def _tasks_and_items(context: StageContext) -> tuple[pa.Table, ListedItems, str]:
    """Tasks; what item tables say of items, looked up once, and the hash of it."""
    from annot_pipeline.steps.listed_items import ListedItems

    tasks, items = context.read("tasks"), context.read("item_rows")
    return tasks, ListedItems(items), hash_values([items])


def score_items_of_tasks(context: StageContext) -> Made:
    """Scores of the items of all scalar tasks."""
    made = of_tasks(context, _score_items, "standardized")
    n_scored = sum(made.facts["items_scored"].values())
    if n_scored:
        context.progress(f"{n_scored:,} items scored")
    return made


def _score_items(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.score_items import score_items

    table, facts = score_items(of["standardized"], of["tasks"], settings=of.settings.easl)
    return {"scores": table}, facts


def compare_outputs(context: StageContext) -> Made:
    """Comparisons of all tasks that hold any."""
    made = of_tasks(
        context, _compare_outputs, "controlled", "standardized",
        kinds={"controlled": ("pairwise", "ranking")}, whole=("item_rows",),
    )  # fmt: skip
    n, ties = (sum(made.facts[name].values()) for name in ("comparisons", "ties"))
    if n:
        context.progress(f"{n:,} comparisons, {ties:,} of them ties")
    return made


def _compare_outputs(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.comparing.break_into_comparisons import break_into_comparisons

    names = ("controlled", "standardized", "tasks", "item_rows")
    return break_into_comparisons(*map(of.__getitem__, names), margin=of.settings.easl.margin)


@dataclass(frozen=True)
class _Votes:
    """What judges said in another task, that of a ranking's adequacy."""

    task: str
    made_of: str
    rows: pa.Table = field(repr=False)


def rank_outputs(context: StageContext) -> Made:
    """Ranks of the outputs of every segment."""
    asked = {
        row["task"]: row["adequacy_task"]
        for row in context.read("tasks").to_pylist()
        if row["adequacy_task"] is not None
    }
    votes = ByTask(context.read("label_distributions", tasks={*asked.values()}))
    given = {task: _Votes(of, hash_values([votes[of]]), votes[of]) for task, of in asked.items()}
    made = of_tasks(
        context, _rank_outputs, "comparisons", whole=("item_rows",),
        apart=("label_distributions",), given=given,
    )  # fmt: skip
    if made.facts["segment_graphs"]:
        graphs = made.facts["segment_graphs"].values()
        n, n_outputs = (sum(found[name] for found in graphs) for name in ("segments", "outputs"))
        context.progress(f"{n_outputs:,} outputs ranked in {n:,} segments")
    return made


def _rank_outputs(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.comparing.rank_segments import VOTES, rank_segments

    votes = {given.task: given.rows.cast(VOTES) for given in of.given.values()}
    table, facts = rank_segments(
        of["comparisons"],
        of["tasks"],
        of["item_rows"],
        pa.concat_tables([VOTES.empty_table(), *votes.values()]),
        segment_graphs=of.settings.ranking.segment_graphs,
        progress=_now_and_then(of.progress),
    )
    return {"segment_ranks": table}, facts


def plan_next_hits(context: StageContext) -> Made:
    """The next HITs of all tasks that their design is for."""
    from annot_pipeline.steps.planning.plan_hits import plan_hits

    table, facts = plan_hits(
        context.read("scores"),
        context.read("tasks"),
        context.read("item_rows"),
        settings=context.campaign.settings,
        comparisons=context.read("comparisons"),
        votes=context.read("label_distributions"),
    )
    if facts["hits"]:
        n = sum(facts["hits"].values())
        context.progress(f"{n:,} HIT{'s' * (n != 1)} planned: annot hits writes them")
    return Made({"next_hits": table}, facts)


def rank_systems_of_tasks(context: StageContext) -> Made:
    """Rankings and comparisons of systems: by their scores, and by comparisons of outputs."""
    made = of_tasks(context, _rank_systems, "standardized", "comparisons")
    return Made(made.tables, made.facts | {"alpha": context.campaign.settings.ranking.alpha})


def _rank_systems(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.comparing.rank_by_comparisons import rank_by_comparisons
    from annot_pipeline.steps.judgments_of_systems import judgments_of_systems
    from annot_pipeline.steps.rank_systems import rank_systems

    settings = of.settings
    tables, facts = rank_systems(
        of["standardized"],
        of["tasks"],
        ranking=settings.ranking,
        standardize=settings.standardize,
        seed=settings.seed,
        workers=of.workers,
        progress=_now_and_then(of.progress),
    )
    compared, compared_facts = rank_by_comparisons(
        of["comparisons"],
        ranking=settings.ranking,
        easl=settings.easl,
        seed=settings.seed,
        segment_ranks=of["segment_ranks"],
        progress=_now_and_then(of.progress),
    )
    whole = {
        name: pa.concat_tables([table, compared[name]]).sort_by(
            [(column, "ascending") for column in GOLD[name].key]
        )
        for name, table in tables.items()
    }
    systems = {"judgments_of_systems": judgments_of_systems(whole["system_rankings"])}
    return whole, facts | compared_facts | systems


def measure_agreement_of_tasks(context: StageContext) -> Made:
    """Agreement of the judges of all tasks."""
    return of_tasks(
        context, _measure_agreement, "controlled", "standardized", "judge_scores", "control_pairs",
        "comparisons", kinds={"controlled": ("categorical",)},
    )  # fmt: skip


def _measure_agreement(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.comparing.measure_preference_agreement import (
        measure_preference_agreement,
    )
    from annot_pipeline.steps.measure_agreement import measure_agreement

    settings = of.settings
    names = (
        "controlled", "standardized", "control_pairs", "judge_tests", "judge_scores", "tasks",
    )  # fmt: skip
    table, facts = measure_agreement(
        *map(of.__getitem__, names),
        arithmetic=settings.standardize.arithmetic,
        rounds=settings.agreement.bootstrap,
        seed=settings.seed,
        workers=of.workers,
        progress=_now_and_then(of.progress),
    )
    rows, preference_facts = measure_preference_agreement(
        of["comparisons"],
        rounds=settings.agreement.bootstrap,
        seed=settings.seed,
        progress=_now_and_then(of.progress),
    )
    of_preferences = AGREEMENT.of({n: [row[n] for row in rows] for n in AGREEMENT.schema.names})
    whole = pa.concat_tables([table, of_preferences])
    ordered = whole.sort_by([(name, "ascending") for name in AGREEMENT.key])
    return {"agreement": ordered}, facts | preference_facts


def set_judgments_aside(context: StageContext) -> Made:
    """Judgments that a calculation could not take."""
    settings = context.campaign.settings
    parameters = {
        "salt": context.salt,
        "pseudonymize": settings.privacy.pseudonymize,
        "paired_controls": list(settings.quality.paired_controls),
    }
    return _by_query(context, "gold/set_aside", "set_aside", parameters)


def describe_comparisons_of_tasks(context: StageContext) -> Made:
    """Contradictions and times of all tasks that have comparisons."""
    return of_tasks(context, _describe_comparisons, "comparisons", whole=("item_rows",))


def _describe_comparisons(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.comparing.describe_comparisons import describe_comparisons

    return describe_comparisons(of["comparisons"], of["item_rows"])


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
    tasks, listed, items = _tasks_and_items(context)
    pseudonyms = context.campaign.settings.privacy.pseudonymize
    salt, columns = context.salt if pseudonyms else None, context.columns["controlled"]
    parts = []
    for of in input_parts(context, "controlled", "standardized"):
        told = tasks.filter(is_any(tasks["task"], of.tasks))
        make = partial(_list, of.files, columns, told, listed, salt)
        parts.append(Part([of.hashes, told.to_pylist(), items], make))
    tables, by_part = in_parts(context, parts)
    return Made(tables, {PARTS: by_part})


def _list(
    files: Mapping[str, TableFile],
    columns: Sequence[str],
    tasks: pa.Table,
    listed: ListedItems,
    salt: str | None,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Facts]:
    """List the judgments of some tasks."""
    from annot_pipeline.steps.list_judgments import judgment_rows

    z = read_unharmed(StoredTable((files["standardized"],)), ["z"])["z"]

    def rows() -> Iterator[pa.Table]:
        records = groups_unharmed(files["controlled"], columns)
        return judgment_rows(records, z, tasks, listed, salt=salt)

    return {"judgments": write_part(folder, "judgments", key, rows)}, {}


def add_up_costs(context: StageContext) -> Made:
    """What judgments cost, by task; nothing where no export carries rewards."""
    from annot_pipeline.steps.read_rewards import COSTS, read_rewards

    def asked(query: str, inputs: Mapping[str, Any]) -> pa.Table:
        [found] = context.engine.run([partial(context.part_queries.table, query, inputs)])
        return found

    rewards, unread = read_rewards(asked("audit/rewards", context.inputs)["reward"].to_pylist())
    costs = COSTS.empty_table()
    if rewards.num_rows:
        costs = asked("audit/cost", {**context.inputs, "rewards": rewards}).cast(COSTS)
    return Made({"costs": costs}, {"cost": costs.to_pylist(), "unread_rewards": unread})


def trace_lineage(context: StageContext) -> Made:
    """The fate and place of every record."""
    columns = context.columns["controlled"]
    parts = [
        Part(of.hashes, partial(_trace, of.files["controlled"], columns))
        for of in input_parts(context, "controlled")
    ]
    tables, by_part = in_parts(context, parts)
    return Made(tables, {PARTS: by_part, "records": context.inputs["controlled"].rows})


def _trace(
    controlled: TableFile, columns: Sequence[str], folder: Path, key: str
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
    [file] = context.engine.run([make])
    return Made({table: StoredTable((file,))})


def _query(
    queries: Queries,
    query: str,
    inputs: Mapping[str, StoredTable],
    parameters: Mapping[str, Any] | None,
    folder: Path,
    table: str,
) -> TableFile:
    return placed_part(
        folder,
        table,
        "all",
        lambda path: write_declared(path, table, lambda: queries.run(query, inputs, parameters)),
    )
