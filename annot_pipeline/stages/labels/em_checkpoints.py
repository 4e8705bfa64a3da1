"""Where EM of a large task stands, put into the store now and then."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from annot_pipeline.config.signature import digest
from annot_pipeline.errors import shorten
from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.label_em import EMState
from annot_pipeline.methods.labels.model_fits import Watch
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.task_partitions import throttle_progress
from annot_pipeline.storage.files import atomic_write, open_regular
from annot_pipeline.version import __version__, numeric_packages

SECONDS = 10.0
"""After which it is noted again where EM stands."""


def watch_blocks(context: StageContext, task: str, name: str) -> Watch:
    """Watch a task's fits in blocks: resume from a checkpoint, and write checkpoints.

    Parameters
    ----------
    task
        A name made of all that the labels of the task are made of.
    name
        Of the task, for people.
    """
    model = context.campaign.settings.dawid_skene_params

    def watch(fitted: str) -> tuple[EMState | None, Callable[[int, EMState], None]]:
        fingerprint = [fitted, repr(model), __version__, numeric_packages()]
        noted = Checkpoint(context.store.checkpoints / task / f"{digest(fingerprint)}.npz")
        where = f"{fitted} of {shorten(name)}"
        last, tell = time.monotonic(), throttle_progress(context.progress)
        unwritten: list[OSError] = []

        def on_iteration(n_settled: int, state: EMState) -> None:
            nonlocal last
            objective = state.log_posterior[-1][0]
            tell(f"{where}: iteration {state.iteration}, log posterior {objective:,.3f}")
            if not n_settled and time.monotonic() - last >= SECONDS:
                try:
                    noted.write(state)
                except OSError as error:  # what no disk keeps is still known here
                    if not unwritten:
                        begins = "if this build is killed, the next one starts from the beginning"
                        context.progress(f"{where}: {error}: {begins}")
                    unwritten.append(error)
                last = time.monotonic()

        state = noted.read()
        if state:
            context.progress(f"{where}: continues after iteration {state.iteration}")
        return state, on_iteration

    return watch


def forget_checkpoints(context: StageContext, folder: Path) -> None:
    """Delete the checkpoints of tasks that have a folder in ``folder``: they are done."""
    for task in folder.glob("*"):
        shutil.rmtree(context.store.checkpoints / task.name, ignore_errors=True)


@dataclass(frozen=True)
class Checkpoint:
    """Represents the checkpoint of EM of one task."""

    path: Path

    def write(self, state: EMState) -> None:
        """Note it.

        Raises
        ------
        OSError
            It cannot be, as where another build, which is done with this task, removes the folder.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                iteration=state.iteration,
                **{f"estimates_{name}": array for name, array in vars(state.estimates).items()},
                **_arrays_of("counts", state.counts),
                n_earlier=len(state.earlier),
                **{
                    name: array
                    for n, counts in enumerate(state.earlier)
                    for name, array in _arrays_of(f"earlier_{n}", counts).items()
                },
                log_posterior=np.array(state.log_posterior),
                log_likelihood=np.array(state.log_likelihood),
            )

    def read(self) -> EMState | None:
        """Return the stored state; None if there is none."""
        unread = (OSError, ValueError, KeyError, EOFError, BadZipFile)
        with suppress(*unread), open_regular(self.path) as file, np.load(file) as checkpoint:
            return EMState(
                int(checkpoint["iteration"]),
                Estimates(*(checkpoint[f"estimates_{field.name}"] for field in fields(Estimates))),
                _counts_of(checkpoint, "counts"),
                tuple(checkpoint["log_posterior"]),
                tuple(checkpoint["log_likelihood"]),
                tuple(
                    _counts_of(checkpoint, f"earlier_{n}")
                    for n in range(int(checkpoint["n_earlier"]))
                ),
            )
        return None


def _arrays_of(prefix: str, counts: Counts) -> dict[str, Any]:
    return {f"{prefix}_{name}": array for name, array in vars(counts).items()}


def _counts_of(checkpoint: Mapping[str, Any], prefix: str) -> Counts:
    return Counts(*(checkpoint[f"{prefix}_{field.name}"] for field in fields(Counts)))
