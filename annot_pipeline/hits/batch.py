"""Writes the files of a batch, all or none, with the log of the plan beside them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.hits.plan import TaskPlan, task_plans
from annot_pipeline.stages.planning.hit_plan import Question
from annot_pipeline.storage.files import atomic_write, file_sha256
from annot_pipeline.storage.tables import write_table

LONGEST = 60


def file_stems(tasks: Iterable[str]) -> dict[str, str]:
    """Return a stem for each task: ASCII, and another one for each on every file system."""
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for task in tasks:
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", task).strip("-")[:LONGEST].rstrip("-") or "task"
        stem, number = plain, 1
        while stem.casefold() in taken:
            number += 1
            stem = f"{plain}-{number}"
        taken.add(stem.casefold())
        stems[task] = stem
    return stems


LOG = "plan.parquet"
"""All columns of the plan: what was asked for, and with which probability."""

SAMPLE = "selection_probabilities.csv"
"""With which probability each item of a sample's population was selected for people."""

BATCH_FILES = (
    "hits-*.csv", "hits-*.json", "hits-*.jsonl", "layout-*.html", "labeling_config-*.xml", SAMPLE,
)  # fmt: skip
"""What any platform writes."""
NO_TEXT = "show the name of the item, which has no text: map text under items in campaign.yaml"


@dataclass(frozen=True)
class Platform:
    """How the files of a platform are made.

    Parameters
    ----------
    name
        As ``PLATFORMS`` has it.
    files
        Names of a task's files, ``{}`` for the stem made from the task's name.
    write_task
        Writes a task's files to the given paths; warnings.
    next_step
        What to do with them.
    """

    name: str
    files: tuple[str, ...]
    write_task: Callable[[TaskPlan, Sequence[Path]], list[str]]
    next_step: str


def write_batch(
    plan: pa.Table,
    questions: Sequence[Question],
    folder: Path,
    platform: Platform,
    *,
    force: bool = False,
    sample: pa.Table | None = None,
) -> dict[str, Any]:
    """Write a plan as a platform wants it.

    Parameters
    ----------
    plan, questions
        See `plan.task_plans`; all columns of the plan are logged.
    folder
        Where to; made if it is not there.
    platform
        As what.
    force
        Whether to write over another batch.
    sample
        `SELECTION_PROBABILITIES`, written as csv beside the plan; None: the items are no sample.

    Returns
    -------
    dict
        ``format``, ``folder``, ``plan`` (path of the log), ``hits`` and ``slots`` in all,
        ``tasks`` (task, ask, hits, slots of the largest HIT, files: path and bytes),
        ``warnings``, ``next``.

    Raises
    ------
    ConfigError
        The folder holds another batch, whose log would be lost.
    ValueError
        The plan is not sorted, or lacks a question.
    """
    tasks = task_plans(plan, questions)
    stems = file_stems(task.question.task for task in tasks)
    folder.mkdir(parents=True, exist_ok=True)
    described: list[dict[str, Any]] = []
    warnings: list[str] = []
    with contextlib.ExitStack() as written:
        log = written.enter_context(atomic_write(folder / LOG))  # in place last
        stale = _files_of_other_batch(folder, write_table(log, plan).sha256, force=force)
        for task in tasks:
            name = task.question.task
            targets = [folder / pattern.format(stems[name]) for pattern in platform.files]
            paths = [written.enter_context(atomic_write(target)) for target in targets]
            without = task.slots["text"].null_count
            no_text = [f"{without:,} of {task.slots.num_rows:,} slots {NO_TEXT}"] if without else []
            warnings += [f"{name}: {what}" for what in no_text + platform.write_task(task, paths)]
            files = [
                {"path": str(target), "bytes": path.stat().st_size}
                for target, path in zip(targets, paths, strict=True)
            ]
            entry = {"task": name, "ask": task.question.ask}
            described.append({**entry, "hits": task.n_hits, "slots": task.n_slots, "files": files})
        if sample is not None:
            path = written.enter_context(atomic_write(folder / SAMPLE))
            csv.write_csv(sample, path)
    new = {Path(file["path"]) for task in described for file in task["files"]}
    new |= set() if sample is None else {folder / SAMPLE}
    for file in stale:
        if file not in new:
            file.unlink(missing_ok=True)
    return {
        "format": platform.name,
        "folder": str(folder),
        "plan": str(folder / LOG),
        "hits": sum(task.n_hits for task in tasks),
        "slots": plan.num_rows,
        "tasks": described,
        "warnings": warnings,
        "next": platform.next_step,
    }


def _files_of_other_batch(folder: Path, sha256: str, *, force: bool) -> list[Path]:
    """Return the files of another batch in the folder."""
    path = folder / LOG
    if not path.exists() or file_sha256(path) == sha256:
        return []
    if not force:
        what = "holds another plan: the log of a batch that may be out already"
        do = "give another folder with -o, or --force to lose it"
        raise ConfigError("a batch would be written over", [Problem(str(path), what, do=do)])
    return [file for pattern in BATCH_FILES for file in folder.glob(pattern)]
