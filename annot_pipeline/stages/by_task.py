"""What is worked out task by task: labels, scores, comparisons, rankings, agreement.

Each stage is a function that plans, and one that works on the rows of some tasks, on any machine
(task_parts). Steps and their methods load in the work that needs them.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from annot_pipeline.errors import counted
from annot_pipeline.stages.calibration import chosen_together
from annot_pipeline.stages.context import Made, StageContext
from annot_pipeline.stages.large_tasks import BLOCKS, has_blocks, parts_of_blocks
from annot_pipeline.stages.parts import Facts, Part
from annot_pipeline.stages.task_parts import TaskRows, WholeTasks, now_and_then, of_tasks
from annot_pipeline.steps.by_task import ByTask
from annot_pipeline.steps.hash_values import hash_values


def infer_label_tables(context: StageContext) -> Made:
    """Labels of all categorical tasks."""
    choices, told = chosen_together(context)
    made = of_tasks(
        context, _infer_labels, "controlled", kinds={"controlled": ("categorical",)}, given=choices,
        large=partial(_labels_in_blocks, context),
    )  # fmt: skip
    if (folder := context.folder / BLOCKS).exists():
        from annot_pipeline.stages.block_em import forget_checkpoints

        forget_checkpoints(context, folder)
        shutil.rmtree(folder, ignore_errors=True)  # machines that were given up may write there yet
    facts = made.facts | told
    if new := facts["decided_new_classes"]:
        from annot_pipeline.steps.adjudicate import new_classes_in_words

        facts["decided_new_classes"] = {task: new_classes_in_words(of) for task, of in new.items()}
    if facts["items"]:
        n_items, n_tasks = sum(facts["items"].values()), len(facts["items"])
        context.progress(
            f"{counted(n_items, 'item')} labelled in {counted(n_tasks, 'task')}, "
            f"{max(facts['iterations'].values(), default=0)} iterations at most"
        )
    adjudications = facts["adjudications"].values()
    if adjudications:
        decided, overridden = (
            sum(row[name] for row in adjudications) for name in ("decided", "overridden")
        )
        context.progress(f"{decided:,} items adjudicated, {overridden:,} not as the model says")
    return Made(made.tables, facts)


def _labels_in_blocks(context: StageContext, whole: WholeTasks) -> list[Part]:
    """Parts of a task that is too large to be done whole."""
    of, tasks = whole.of, whole.small["tasks"]
    if not has_blocks(context, of, "controlled", "categorical", tasks, ("used",)):
        return []
    from annot_pipeline.stages.label_blocks import labels_in_blocks

    choice = whole.given.get(*of.tasks)
    makes = partial(labels_in_blocks, context, whole.folder(context), of, tasks, choice)
    return parts_of_blocks(context, len(of.files["controlled"].files), whole.made_of, makes)


def _infer_labels(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.infer_labels import infer_labels

    return infer_labels(
        of["controlled"],
        of["tasks"],
        params=of.settings.dawid_skene_params,
        calibration=of.settings.calibration_params,
        seed=of.settings.seed,
        together=of.given,
        progress=now_and_then(of.progress),
    )


def check_label_calibration(context: StageContext) -> Made:
    """Probabilities of labels against what is known of items."""
    made = of_tasks(
        context, _check_calibration, "label_distributions", "label_evidence", whole=("items",)
    )
    wrong = made.facts["wrong_certain_labels"]
    return Made(made.tables, made.facts | {"wrong_certain_labels": [*wrong.values()]})


def _check_calibration(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.check_calibration import (
        check_calibration,
        truths_of_no_class,
        wrong_certain_labels,
    )

    distributions, items = of["label_distributions"], of["items"]
    table = check_calibration(of["label_evidence"], distributions, items)
    return {"label_calibration": table}, {
        "wrong_certain_labels": wrong_certain_labels(table),
        "truths_of_no_class": truths_of_no_class(distributions, items),
    }


def score_items_of_tasks(context: StageContext) -> Made:
    """Scores of the items of all scalar tasks."""
    made = of_tasks(
        context, _score_items, "standardized", large=partial(_scores_in_blocks, context)
    )
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    for task, counts in made.facts["items_by_judgments"].items():
        items: Counter[int] = Counter()
        for n_judgments, n_items in counts:  # those of a task in blocks stand one after the other
            items[n_judgments] += n_items
        made.facts["items_by_judgments"][task] = [list(pair) for pair in sorted(items.items())]
    n_scored = sum(made.facts["items_scored"].values())
    if n_scored:
        context.progress(f"{n_scored:,} items scored")
    return made


def _scores_in_blocks(context: StageContext, whole: WholeTasks) -> list[Part]:
    """Parts of a task that is standardised in blocks."""
    n_blocks = len(whole.of.files["standardized"].files)
    if n_blocks == 1:
        return []
    from annot_pipeline.stages.score_blocks import scored_in_blocks

    folder, tasks = whole.folder(context), whole.small["tasks"]
    makes = partial(scored_in_blocks, context, folder, whole.of, tasks)
    return parts_of_blocks(context, n_blocks, whole.made_of, makes)


def _score_items(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.score_items import score_items

    table, facts = score_items(of["standardized"], of["tasks"], settings=of.settings.easl)
    return {"scores": table}, facts


def compare_outputs(context: StageContext) -> Made:
    """Comparisons of all tasks that hold any."""
    made = of_tasks(
        context, _compare_outputs, "controlled", "standardized",
        kinds={"controlled": ("pairwise", "ranking")}, whole=("item_rows",),
        large=partial(_comparisons_in_blocks, context),
    )  # fmt: skip
    n, ties = (sum(made.facts[name].values()) for name in ("comparisons", "ties"))
    if n:
        context.progress(f"{n:,} comparisons, {ties:,} of them ties")
    return made


def _comparisons_in_blocks(context: StageContext, whole: WholeTasks) -> list[Part]:
    """The part of a task that is standardised in blocks."""
    if len(whole.of.files["standardized"].files) == 1:
        return []
    from annot_pipeline.stages.score_blocks import compared_in_blocks

    makes = partial(compared_in_blocks, context, whole.of, whole.small["tasks"])
    return parts_of_blocks(context, 1, whole.made_of, makes)


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
        progress=now_and_then(of.progress),
    )
    return {"segment_ranks": table}, facts


def rank_systems_of_tasks(context: StageContext) -> Made:
    """Rankings and comparisons of systems: by their scores, and by comparisons of outputs."""
    made = of_tasks(
        context, _rank_systems, "standardized", "comparisons",
        large=partial(_rankings_in_blocks, context),
    )  # fmt: skip
    shutil.rmtree(context.folder / BLOCKS, ignore_errors=True)
    return Made(made.tables, made.facts | {"alpha": context.campaign.settings.ranking.alpha})


def _rankings_in_blocks(context: StageContext, whole: WholeTasks) -> list[Part]:
    """The part of a task that is standardised in blocks; judges are drawn from all at once."""
    resample = context.campaign.settings.ranking.resample
    if len(whole.of.files["standardized"].files) == 1 or resample != "segments":
        return []
    from annot_pipeline.stages.score_blocks import ranked_in_blocks

    makes = partial(ranked_in_blocks, context, whole.folder(context), whole.of, whole.small)
    return parts_of_blocks(context, 1, whole.made_of, makes)


def _rank_systems(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.rank_systems import rank_systems
    from annot_pipeline.steps.system_rankings import with_comparisons

    tables, facts = rank_systems(
        of["standardized"],
        of["tasks"],
        ranking=of.settings.ranking,
        standardize=of.settings.standardize,
        seed=of.settings.seed,
        workers=of.workers,
        progress=now_and_then(of.progress),
    )
    compared, compared_facts = with_comparisons(
        tables, of["comparisons"], of["segment_ranks"], of.settings, now_and_then(of.progress)
    )
    return compared, facts | compared_facts


def describe_comparisons_of_tasks(context: StageContext) -> Made:
    """Contradictions and times of all tasks that have comparisons."""
    return of_tasks(context, _describe_comparisons, "comparisons", whole=("item_rows",))


def _describe_comparisons(of: TaskRows) -> tuple[Mapping[str, pa.Table], Facts]:
    from annot_pipeline.steps.comparing.describe_comparisons import describe_comparisons

    return describe_comparisons(of["comparisons"], of["item_rows"])
