"""Judge control: settled judgments get their final fates."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import Quality
from annot_pipeline.contracts import CONTROLS, FATES, TEXT, fates_text
from annot_pipeline.contracts.stage_metrics import StageMetrics
from annot_pipeline.errors import counted
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.runtime.blocks import StoredBlocks
from annot_pipeline.runtime.context import Document, StageContext, StageOutput
from annot_pipeline.runtime.hash_values import hash_values
from annot_pipeline.runtime.indexing import index, index_pairs, is_in, names_of, text_keys
from annot_pipeline.runtime.partitions import (
    InputPartition,
    Partition,
    input_partitions,
    input_slices,
    link_partition,
    run_partitions,
    write_partition,
)
from annot_pipeline.runtime.stage import Stage
from annot_pipeline.runtime.task_partitions import BLOCKS, are_many, has_many
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.shared.account_records import COLUMNS as ACCOUNTED
from annot_pipeline.stages.shared.account_records import account, whole_account
from annot_pipeline.stages.shared.comparisons import outcomes
from annot_pipeline.storage.queries import NameRange, Queries, Tasks
from annot_pipeline.storage.tables import (
    StoredTable,
    TableFile,
    read_groups,
    read_verified,
    read_verified_groups,
    verify_table,
)

if TYPE_CHECKING:
    from annot_pipeline.stages.judges.control_judges import TestedJudges
    from annot_pipeline.stages.judges.control_scores import ScoredJudges
    from annot_pipeline.stages.judges.label_judges import LabelJudges
    from annot_pipeline.stages.judges.suspicions import CampsByAnswers


def apply_verdicts(judgments: Iterable[pa.Table], judge_tests: pa.Table) -> Iterator[pa.Table]:
    """Yield the same rows in the same order, with the fates that judge control gives.

    Parameters
    ----------
    judgments
        ``task``, ``judge_id``, ``fate``, ``reason`` and more, in parts.
    judge_tests
        As `finish_control` gives it.
    """
    dropped = judge_tests.filter(judge_tests["dropped"])
    keys = text_keys(dropped["task"], dropped["judge"]).combine_chunks()
    reasons = pc.binary_join_element_wise("judge control", _what(dropped), ": ").combine_chunks()
    for part in judgments:
        positions = _places(part["task"], part["judge_id"], keys)
        fails = pc.and_(pc.is_valid(positions), is_in(part["fate"], ("used", "control")))
        for name, values in (
            ("fate", pc.if_else(fails, "judge_failed", part["fate"].cast(TEXT))),
            ("reason", pc.if_else(fails, reasons.take(positions), part["reason"].cast(TEXT))),
        ):
            field = part.schema.field(name)
            if pa.types.is_dictionary(field.type):
                values = values.dictionary_encode().cast(field.type)
            part = part.set_column(part.schema.get_field_index(name), field, values)
        yield part


def _places(tasks: pa.ChunkedArray, judges: pa.ChunkedArray, keys: pa.Array) -> pa.Array:
    """Return the key number of each row's task and judge; null where there is none."""
    task, judge = index(tasks, null=""), index(judges, null="")
    pairs = index_pairs(task.codes, judge.codes)
    row_keys = text_keys(names_of(task.names, pairs.first), names_of(judge.names, pairs.second))
    return pc.index_in(row_keys, keys).take(pa.array(pairs.codes))


def _what(dropped: pa.Table) -> pa.ChunkedArray:
    """Return the reason in words: the verdict, with p where there is one."""
    p_values = dropped["p_adjusted"].to_numpy()  # null is NaN; those have a reason
    p = pa.array(np.char.mod("%.4g", p_values).tolist(), TEXT)
    tested = pc.binary_join_element_wise(dropped["test"].cast(TEXT), p, ", p = ")
    why = pc.coalesce(dropped["verdict_reason"].cast(TEXT), tested)
    return pc.binary_join_element_wise(dropped["verdict"].cast(TEXT), " (", why, ")", "")


ACCOUNT = "account"
"""Key of a part's document that holds the fates of its records by export."""

COUNTED = ("used", "control")
"""Fates of judgments, before judge control, that it looks at."""

SCORED = ("task", "judge", "judge_id", "control", "criterion", "item", "hit", "score", "fate")
"""What a test of all scores reads."""

TESTED = {
    "controls_met": ("task", "judge_id", "control"),
    "control_pairs": (
        "task", "judge_id", "control", "criterion", "item", "hit", "score", "ordinary_score",
        "reason", "in_control",
    ),
    "known_answers": ("task", "judge_id", "item", "hit", "label", "truth", "n_classes", "reason"),
}  # fmt: skip
"""What tests of judges read."""

SEED = 17
"""Of permutations of judges' scores: verdicts do not depend on the seed of other draws."""


def pair_controls(context: StageContext) -> StageOutput[StageMetrics]:
    """Pair controls with the judgments that they are compared with, in the same task."""
    tasks, listed = context.read("tasks"), context.read("item_rows")
    truths = hash_values([listed])
    partitions = []
    for inputs in input_partitions(context, "settled"):
        known_tasks = tasks.filter(is_in(tasks["task"], inputs.tasks))
        for n, some in enumerate(_judges(context, inputs, known_tasks)):
            pair = partial(
                _pair, context.partition_queries, inputs.files["settled"], some, known_tasks,
                context.inputs["item_rows"],
            )  # fmt: skip
            fingerprint = [inputs.hashes, known_tasks.to_pylist(), truths, some and asdict(some)]
            partitions.append(Partition(fingerprint, pair, continues_previous=n > 0))
    tables, documents = run_partitions(context, partitions, at_once=1)  # a query works on all cores
    return StageOutput(tables, StageMetrics(), documents)


def _judges(context: StageContext, inputs: InputPartition, tasks: pa.Table) -> list[Tasks | None]:
    """Return all judges, or groups of judges of a large task: pairs are of one judge."""
    many = partial(has_many, table="settled", kind="scalar", fates=COUNTED)
    if not many(context, inputs, tasks.to_pylist()):
        return [None]
    n: Counter[str] = Counter()
    for of_block in context.run(
        [partial(_by_judge, block.files["settled"]) for block in inputs.slices("settled")]
    ):
        n.update(of_block)
    ends = [names[-1] for names in context.sizes.chunk_judges(n)][:-1]
    task = Tasks.from_names(inputs.tasks, none=False)
    return [replace(task, judges=NameRange(*some)) for some in pairwise([None, *ends, None])]


def _by_judge(judgments_file: StoredTable) -> dict[str, int]:
    """Count the judgments that are not excluded so far, by judge."""
    n: Counter[str] = Counter()
    for rows in read_verified_groups(judgments_file, ["judge", "fate"]):
        judges = rows.filter(is_in(rows["fate"], COUNTED))["judge"].cast(TEXT)
        n.update({row["values"]: row["counts"] for row in judges.value_counts().to_pylist()})
    return dict(n)


def _pair(
    queries: Queries,
    judgments_table: StoredTable,
    judges: Tasks | None,
    tasks: pa.Table,
    listed: StoredTable,
    folder: Path,
    key: str,
) -> tuple[Mapping[str, TableFile], Document]:
    """Pair the controls of some tasks, or of some judges of one."""
    from annot_pipeline.stages.judges.control_judges import orient_pairs

    judgments = verify_table(judgments_table)
    inputs = {
        "judgments": judgments, "all_judgments": judgments, "tasks": tasks, "item_rows": listed,
    }  # fmt: skip
    tables = {
        name: queries.table(query, inputs, tasks=judges, filtered=("judgments",))
        for name, query in (
            ("control_pairs", "control/pairs"),
            ("known_answers", "control/known_answers"),
            ("controls_met", "control/controls_met"),
        )
    }
    tables["control_pairs"] = orient_pairs(tables["control_pairs"], tasks)
    return {
        name: write_partition(folder, name, key, partial(iter, [rows]))
        for name, rows in tables.items()
    }, {}


def control_judges_of_campaign(context: StageContext) -> StageOutput[ControlMetrics]:
    """Test judges, and set the judgments of those who fail apart."""
    from annot_pipeline.stages.judges.control_judges import finish_control

    tasks = context.read("tasks")
    partitions = input_slices(context, "settled")
    stored = {name: context.inputs[name] for name in TESTED}
    quality = context.campaign.settings.quality
    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].to_pylist()
    scored = [inputs.files["settled"] for inputs in partitions if set(inputs.tasks) & set(scalar)]
    scored = scored or [partitions[0].files["settled"]]  # which has the columns
    labelled = _tested_answers(context, partitions, tasks, quality)
    control = partial(_control, stored, scored, tasks, quality)
    [tested] = context.run([control])
    judges = _scored_judges(context, scored, tasks)
    tests, verdicts = finish_control(
        tested, judges, tasks, quality=quality, seed=SEED, labelled=labelled
    )
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    controlled, documents = with_verdicts(context, partitions, tests)
    accounting = whole_account(
        context.read("record_files").to_pylist(),
        (document[ACCOUNT] for document in documents.values()),
    )
    fates = {fate: sum(row[fate] for row in accounting) for fate in FATES}
    if verdicts.judges_in_control:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.verdicts.items() if n)
        context.progress(f"judges: {counts}")
    if verdicts.careless_judges:
        by_test = [f"{test} {len(names):,}" for test, names in verdicts.careless_judges.items()]
        n_careless = sum(map(len, verdicts.careless_judges.values()))
        context.progress(f"{counted(n_careless, 'careless judge')}, by test: {', '.join(by_test)}")
    if verdicts.judges_dropped:
        context.progress(f"after judge control: {fates_text(fates)}")
    metrics = ControlMetrics(
        **vars(verdicts),
        records=context.inputs["settled"].rows,
        fates=fates,
        files=accounting,
        unaccounted=[row["source_file"] for row in accounting if not row["adds_up"]],
    )
    return StageOutput({"judge_tests": tests, **controlled}, metrics, documents)


def _tested_answers(
    context: StageContext, partitions: Sequence[InputPartition], tasks: pa.Table, quality: Quality
) -> LabelJudges | None:
    """Test judges of labels and preferences without known answers; None if there are none."""
    if quality.test == "none":
        return None
    kinds = context.read("judge_kinds").to_pylist()
    families = {row["judge_id"]: row["family"] for row in kinds if row["family"] is not None}
    models = {row["judge_id"] for row in kinds if row["kind"] == "model"}
    controls = context.inputs["controls_met"]
    latest = context.latest()
    camps = latest.document.get("camps", {}) if latest else {}
    jobs = []
    for kind in ANSWERED:
        names = tasks.filter(is_in(tasks["kind"], (kind,)))["task"].to_pylist()
        tables = [inputs.files["settled"] for inputs in partitions if {*inputs.tasks} & {*names}]
        declared = families, models, quality, camps
        jobs += [partial(_test_answers, controls, tables, names, *declared, kind)] * bool(tables)
    tested = context.run(jobs)
    return reduce(lambda one, other: one.joined(other), tested) if tested else None


def _test_answers(
    controls: StoredTable,
    tables: Sequence[StoredTable],
    tasks: Sequence[str],
    families: dict[str, str],
    models: set[str],
    quality: Quality,
    camps: CampsByAnswers,
    kind: str,
) -> LabelJudges:
    from annot_pipeline.stages.judges.control_scores import Units
    from annot_pipeline.stages.judges.label_judges import label_judges

    units = Units.of_controls(read_verified(controls, TESTED["controls_met"]), quality)
    read, columns = ANSWERED[kind]
    columns = ("task", "judge_id", "control", "fate", *columns)
    parts = [read_verified(table, columns, tasks) for table in tables]
    parts = [read(part.filter(is_in(part["task"], tasks))) for part in parts]
    rows = pa.concat_tables(parts).unify_dictionaries()
    return label_judges(
        rows, families, models, units, quality, camps, are_preferences=kind == "pairwise"
    )


def _labels(rows: pa.Table) -> pa.Table:
    """Return the ordinary labels that count, and whether an expert decided their items."""
    decisions = rows.filter(is_in(rows["fate"], ("adjudication",)))
    answers = _ordinary(rows, ("label", "item"))
    adjudicated = pc.is_in(
        text_keys(answers["task"], answers["item"]),
        text_keys(decisions["task"], decisions["item"]),
    )
    return answers.select(["task", "judge_id", "item", "label"]).append_column(
        "adjudicated", adjudicated
    )


def _preferences(rows: pa.Table) -> pa.Table:
    """Return the ordinary preferences that count as labels of pairs: which of two is better.

    Those of one ranking depend on each other, and tell of no judge.
    """
    answers = _ordinary(rows.filter(rows["ranking"].is_null()), ("item_a", "item_b"))
    turned, outcome = outcomes(answers)
    one, other = (answers[name].cast(TEXT) for name in ("item_a", "item_b"))
    columns = {
        "item": text_keys(pc.if_else(turned, other, one), pc.if_else(turned, one, other)),
        "label": pa.array(("b", "tie", "a"), TEXT).take(pa.array(outcome + 1)),
        "adjudicated": np.zeros(answers.num_rows, np.bool_),
    }
    return pa.table({"task": answers["task"], "judge_id": answers["judge_id"], **columns})


def _ordinary(rows: pa.Table, named: Sequence[str]) -> pa.Table:
    """Return the judgments of judges that count, without controls, that have some columns."""
    is_control = is_in(rows["control"], [name for name in CONTROLS if name != "none"])
    is_ordinary = pc.and_(is_in(rows["fate"], ("used",)), pc.invert(is_control))
    for column in ("judge_id", *named):
        is_ordinary = pc.and_(is_ordinary, pc.is_valid(rows[column]))
    return rows.filter(is_ordinary)


ANSWERED = {
    "categorical": (_labels, ("item", "label")),
    "pairwise": (_preferences, ("item_a", "item_b", "preference", "rank_a", "rank_b", "ranking")),
}
"""By kind of task, what tests without known answers make of judgments, and what they read."""


def _scores(table: StoredTable, tasks: Sequence[str]) -> pa.Table:
    """Return the judgments of some tasks that count."""
    rows = read_verified(table, SCORED, tasks)
    rows = rows.filter(is_in(rows["task"], tasks))
    return rows.filter(is_in(rows["fate"], COUNTED))


def _control(
    stored: Mapping[str, StoredTable],
    scored: Sequence[StoredTable],
    tasks: pa.Table,
    quality: Quality,
) -> TestedJudges:
    """Test judges by controls; scores are read only where a test takes all of them."""
    from annot_pipeline.stages.judges.control_judges import apply_control_test
    from annot_pipeline.stages.judges.control_scores import with_degraded_copies

    controls, pairs, answers = (read_verified(stored[name], TESTED[name]) for name in TESTED)
    pooled = quality.has_contrast and quality.contrast == "pooled"
    degraded = sorted(with_degraded_copies(controls)) if pooled else []
    scores = pa.concat_tables(_scores(table, degraded) for table in scored).unify_dictionaries()
    return apply_control_test(controls, pairs, answers, tasks, scores, quality=quality)


def _scored_judges(
    context: StageContext, scored: Sequence[StoredTable], tasks: pa.Table
) -> ScoredJudges:
    """Return the ordinary scores; a block for each file where they are too many for one job."""
    from annot_pipeline.methods.scores.outlying_scores import NARROW_FENCE, fences
    from annot_pipeline.stages.judges import control_scores as scores

    opened = [partial(_ordinary_scores, table, tasks) for table in scored]
    rows: Blocks[pa.Table]
    if are_many(context, [file for table in scored for file in table.files], COUNTED):
        (context.folder / BLOCKS).mkdir(parents=True)
        rows = StoredBlocks(context, context.folder / BLOCKS, opened)
    else:
        rows = InMemoryBlocks([pa.concat_tables(read() for read in opened).unify_dictionaries()])
    unknown = [
        row["task"]
        for row in tasks.filter(is_in(tasks["kind"], ("scalar",))).to_pylist()
        if row["scale_low"] is None and row["assumed_low"] is None
    ]
    if unknown:
        parts = rows.map(scores.scores_by_task, unknown)
        of_tasks = {
            task: fences(np.concatenate([part[task] for part in parts]), NARROW_FENCE)
            for task in unknown
        }
        rows = rows.keep(scores.within_fences, of_tasks)
    names = scores.SeriesNames.joined(rows.map(scores.SeriesNames.from_rows))
    return scores.ScoredJudges(names, rows.keep(scores.shared_scores, tasks, names))


def _ordinary_scores(table: StoredTable, tasks: pa.Table) -> pa.Table:
    from annot_pipeline.stages.judges.control_scores import ordinary_scores

    scalar = tasks.filter(is_in(tasks["kind"], ("scalar",)))["task"].to_pylist()
    return ordinary_scores(_scores(table, scalar), tasks)


def with_verdicts(
    context: StageContext, settled_partitions: Sequence[InputPartition], tests: pa.Table
) -> tuple[dict[str, StoredTable], dict[str, Document]]:
    """Return the settled judgments as ``controlled``, with fates set by verdicts."""
    dropped = tests.filter(tests["dropped"])
    partitions = []
    for inputs in settled_partitions:
        dropped_here = dropped.filter(is_in(dropped["task"], inputs.tasks))
        [settled_file] = inputs.files["settled"].files
        apply = partial(_apply, settled_file, dropped_here)
        partitions.append(inputs.partition(apply, hash_values([dropped_here])))
    return run_partitions(context, partitions)


def _apply(
    judgments_file: TableFile, dropped: pa.Table, folder: Path, key: str
) -> tuple[Mapping[str, TableFile], Document]:
    """Apply verdicts to the judgments of some tasks; link the file if no judge is dropped."""

    if not dropped.num_rows:
        controlled = link_partition(folder, "controlled", key, judgments_file)
    else:
        table = StoredTable((judgments_file,))
        controlled = write_partition(
            folder, "controlled", key, lambda: apply_verdicts(read_verified_groups(table), dropped)
        )
    return {"controlled": controlled}, {ACCOUNT: account(read_groups(controlled.path, ACCOUNTED))}


PAIR_CONTROLS = Stage(
    "pair_controls",
    "Pairs each control with the judgment that it is compared with, and finds known answers.",
    inputs={"settled": (), "tasks": (), "item_rows": ("item", "truth", "place")},
    outputs=("control_pairs", "known_answers", "controls_met"),
    settings=(),
    code_version="5",  # votes have no judge
    work=pair_controls,
)  # fmt: skip

CONTROL_JUDGES = Stage(
    "control_judges",
    "Tests every judge with controls, and drops the judgments of judges who fail.",
    inputs={
        "settled": (), "tasks": (), "record_files": (), "control_pairs": (),
        "known_answers": (), "controls_met": (), "judge_kinds": (),
    },
    outputs=("controlled", "judge_tests"),
    settings=("quality",),
    code_version="16",  # judges of preferences
    work=control_judges_of_campaign,
)  # fmt: skip
