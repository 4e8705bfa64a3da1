"""The command: the next batch, planned from the last build, as files to upload."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import TEXT
from annot_pipeline.contracts.task_table import TASKS
from annot_pipeline.errors import ConfigError, Problem, StoreError, first_of
from annot_pipeline.hits import PLATFORMS, write_batch
from annot_pipeline.hits.batch import LOG, NO_TEXT, SAMPLE, file_stems
from annot_pipeline.hits.label_batches import AUDIT, LABEL_DESIGNS, design_of, plan_label_batch
from annot_pipeline.runtime.read_back import refuse_read_back
from annot_pipeline.stages.build import Build
from annot_pipeline.stages.ingest.present_exports import listed_items, present_exports
from annot_pipeline.stages.last_build import last_build
from annot_pipeline.stages.planning.designs import DESIGNS, plan_hits, questions_of
from annot_pipeline.stages.planning.hit_plan import Question
from annot_pipeline.stages.planning.planning_inputs import PlanningTables
from annot_pipeline.stages.planning.stage import needed_tables, planning_tables

FOLDER = "hits"
"""Where `annot hits` writes beside campaign.yaml, a folder a batch."""

NO_BATCH: dict[str, Any] = {
    "folder": None,
    "plan": None,
    "hits": 0,
    "slots": 0,
    "tasks": [],
    "warnings": [],
    "next": "annot build, which writes the release and its report",
}
"""What is told in place of a batch when the design is done."""

AFTER_SAMPLE = (
    ". Once results are back, copy {} beside campaign.yaml and list it under items: {{path: "
    "selection_probabilities.csv, format: csv, fields: {{task: task, item: item, "
    "selection_probability: selection_probability}}}}; then annot build"
)
"""What a sample needs beside its results."""


AFTER_AUDIT = (
    ". Experts answer all of it, before other exports arrive, which would change the labels; then "
    "annot build"
)
"""What an audit needs beside its results."""
NAMED_DESIGNS = {"pairwise": "tournament", "ranking": "tournament", "categorical": "labels"}
"""Designs for kinds of tasks, for messages."""
LABEL_TASKS = ("categorical task", "name the kind (categorical) under tasks, and build")
"""What designs of labels ask about, and what to do where there is none."""


def next_batch(
    campaign: LoadedCampaign,
    folder: Path | None,
    *,
    only: Sequence[str] = (),
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Plan the next HITs and write them.

    The same build and settings give the same batch, folder and bytes.

    Parameters
    ----------
    campaign
        What was built. Without any export yet, the first round is planned from item tables.
    folder
        Where to write; None: a folder of the batch's own beside campaign.yaml.
    only
        Tasks to plan; empty: all.
    force
        Whether to write over another batch.
    progress
        Called with messages about the progress.

    Returns
    -------
    dict
        As `write_batch`, with ``campaign``, ``design``, ``unplanned``, ``notes`` and ``done``:
        whether nothing is left to ask of any of the tasks. Then there are no files and no folder.
        Of samples and labels also ``validation`` (see `PlanMetrics`), and of samples for estimates
        ``selection_probabilities``, a path.

    Raises
    ------
    ConfigError
        No HIT can be planned; why, task by task. Or files would be lost, or read back.
    StoreError
        The last build is not of these exports and settings.
    """
    settings = campaign.settings
    design = design_of(campaign)
    samples: list[pa.Table] = []
    if design not in LABEL_DESIGNS:
        tables = _tables(campaign, progress)
        design = design_of(campaign, _distinct(tables.tasks["kind"]))
    if design in LABEL_DESIGNS:
        tasks, questions, plan, metrics = plan_label_batch(campaign, design)
    else:
        tasks, (questions, _) = tables.tasks, questions_of(tables, settings)
        plan, metrics = plan_hits(tables, settings, samples)
    if not questions and metrics.homeless:
        what = "listed items are of no task, for several are declared under tasks"
        problem = Problem("items", f"{metrics.homeless:,} {what}", do="map task in the item table")
        raise ConfigError(f"no HIT can be planned ({design})", [problem])
    plan, unplanned = _selected(plan, metrics.unplanned, questions, only, design)
    prefixes = tuple(f"{q.task}: " for q in questions if only and q.task not in only)
    about = {"campaign": settings.campaign, "design": design}
    notes = [note for note in metrics.notes if not note.startswith(prefixes)]
    more: dict[str, Any] = {"unplanned": unplanned, "notes": notes}
    if not plan.num_rows:
        if not unplanned or unplanned.keys() - {*metrics.done}:
            raise _no_hit_error(unplanned, design, tasks)
        return {**about, **NO_BATCH, "format": settings.next_hits.upload, **more, "done": True}
    if folder is None:
        digest = hashlib.sha256("".join(_distinct(plan["hit"])).encode()).hexdigest()
        folder = campaign.folder / FOLDER / f"{design}-{digest[:8]}"
    planned = set(_distinct(plan["task"]))
    plan_questions = [question for question in questions if question.task in planned]
    _refuse_own_folders(campaign, folder)
    platform = PLATFORMS[settings.next_hits.upload]
    names = [LOG, *(pattern.format(stem) for pattern in platform.files
                    for stem in file_stems(q.task for q in plan_questions).values())]  # fmt: skip
    sample = pa.concat_tables(samples) if samples else None
    if metrics.validation:
        more["validation"] = {task: metrics.validation[task] for task in sorted(planned)}
    if sample is not None:
        sample = sample.filter(pc.is_in(sample["task"], pa.array(sorted(planned), TEXT)))
        names.append(SAMPLE)
        more["selection_probabilities"] = str(folder / SAMPLE)
    refuse_read_back(campaign, [folder / name for name in names])
    written = write_batch(plan, plan_questions, folder, platform, force=force, sample=sample)
    if design not in LABEL_DESIGNS:  # notes of other plans say it, and whether it tells the system
        written["warnings"] = [what for what in written["warnings"] if NO_TEXT not in what]
    if sample is not None:
        written["next"] += AFTER_SAMPLE.format(folder / SAMPLE)
    elif design == AUDIT:
        written["next"] += AFTER_AUDIT
    return {**about, **written, **more, "done": False}


def _tables(campaign: LoadedCampaign, progress: Callable[[str], None]) -> PlanningTables:
    """Return the tables of the last build; before the first export, those of item tables."""
    n_sources = len(campaign.settings.sources)
    build = Build(campaign)
    present = present_exports(campaign, missing_ok=True)
    no_export = not any(number < n_sources for number, _, _ in present)
    if campaign.settings.items and no_export and not _had_exports(build):
        progress("no export yet: the first round, from the item tables")
        items, unread = listed_items(campaign)
        for row in unread[:5]:
            progress(f"left out, for it cannot be read: {row}")
        return PlanningTables(TASKS.empty_table(), items)
    files = last_build(build, *needed_tables(campaign.settings), command="annot hits")
    return planning_tables(files, campaign.settings)


def _had_exports(build: Build) -> bool:
    """Return whether any build has archived exports."""
    try:
        build.store.recorded(build.run, "archive_exports")
    except StoreError:
        return False
    return True


def _refuse_own_folders(campaign: LoadedCampaign, folder: Path) -> None:
    """Refuse to write into releases, which never change, and into the store."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError("no folder", [Problem(str(folder), "is a file", do="name a folder")])
    for name, own in (("gold", campaign.gold), ("store", campaign.store)):
        if folder.resolve().is_relative_to(own.resolve()):
            problem = Problem("-o", f"{folder} is in {name}", do="name another folder")
            raise ConfigError("a batch does not belong there", [problem])


def _distinct(column: pa.ChunkedArray) -> list[str]:
    names: list[str] = pc.unique(column.cast(TEXT)).to_pylist()
    return names


def _selected(
    plan: pa.Table,
    unplanned: dict[str, str],
    questions: Sequence[Question],
    only: Sequence[str],
    design: str,
) -> tuple[pa.Table, dict[str, str]]:
    if not only:
        return plan, unplanned
    task_names = sorted({question.task for question in questions} | unplanned.keys())
    unknown = [task for task in only if task not in task_names]
    if unknown:
        what = f"no {_asked_about(design)[0]} of the campaign"
        problem = Problem("--task", what, first_of(task_names, 10), values=tuple(unknown))
        raise ConfigError("an unknown task", [problem])
    chosen = pc.is_in(plan["task"].cast(TEXT), pa.array(only, TEXT))
    return plan.filter(chosen), {task: why for task, why in unplanned.items() if task in only}


def _no_hit_error(unplanned: dict[str, str], design: str, tasks: pa.Table) -> ConfigError:
    problems = [Problem(f"task {task}", why) for task, why in unplanned.items()]
    if not problems:
        kinds, do = _asked_about(design)
        for kind in sorted(NAMED_DESIGNS.keys() & {*_distinct(tasks["kind"])}):
            if design not in (NAMED_DESIGNS[kind], "validate"):
                named = f"--set next_hits.design={NAMED_DESIGNS[kind]}"
                do = f"HITs of {kind} tasks: {named}; else {do}"
        problems = [Problem("", f"there is no {kinds} with items", do=do)]
    return ConfigError(f"no HIT can be planned ({design})", problems)


def _asked_about(design: str) -> tuple[str, str]:
    """Return which tasks a design asks about, and what to do where there is none."""
    return (DESIGNS[design].tasks, DESIGNS[design].do) if design in DESIGNS else LABEL_TASKS
