"""EM over labels in blocks: each block is a job, and where EM stands is kept in the store."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TypeVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from annot_pipeline.config.signature import digest
from annot_pipeline.errors import shorten
from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneModel,
    DawidSkeneParams,
    fitted,
)
from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.label_em import EMState, Flags, run_em
from annot_pipeline.methods.numerics.convergence import Convergence
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.large_tasks import added
from annot_pipeline.runtime.task_partitions import now_and_then
from annot_pipeline.stages.labels.block_codes import Block, dump, expected_of, load, voted_of
from annot_pipeline.storage.files import open_regular, replacing
from annot_pipeline.version import __version__, numeric_packages

T = TypeVar("T")
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SECONDS = 10.0
"""After which it is noted again where EM stands."""


class LabelBlocks:
    """Labels in blocks, as EM asks for them (`label_em.Labels`)."""

    def __init__(
        self,
        context: StageContext,
        folder: Path,
        matrices: Sequence[Path],
        n_labels: int,
        n_judges: int,
        n_items: int,
    ) -> None:
        self.context, self.folder, self.matrices = context, folder, matrices
        self.n_labels = n_labels
        self.judge_starts = np.array([0, n_judges])
        self.items_of = np.array([n_items])

    def expected(self, estimates: Estimates) -> Counts:
        """E-step, added up."""
        path = self.folder / f"estimates-{uuid.uuid4().hex}"
        dump(path, estimates)
        try:
            return self._added([partial(expected_of, matrix, path) for matrix in self.matrices])
        finally:
            path.unlink()

    def voted(self) -> Counts:
        """Counts by shares of votes."""
        return self._added([partial(voted_of, matrix) for matrix in self.matrices])

    def keep(self, _: Flags) -> LabelBlocks:
        """It is one task."""
        return self

    def _added(self, jobs: Sequence[Callable[[], Counts]]) -> Counts:
        return added(self.context, jobs, int(self.judge_starts[-1]) * self.n_labels**2 * 8)


def em_of_blocks(
    context: StageContext,
    name: str,
    blocks: Sequence[Block],
    what: str,
    matrices: Sequence[Path],
    n_judges: int,
    *,
    params: DawidSkeneParams,
    n_items: int,
    prior: Floats | None = None,
) -> tuple[Estimates, DawidSkeneModel]:
    """Run EM over blocks, from where an earlier build stood if it did not end.

    The folder of the blocks is named by all that they are made of.
    """
    k = load(blocks[0].codes).n_labels
    labels = LabelBlocks(context, blocks[0].folder, matrices, k, n_judges, n_items)
    told_of = [what, repr(params), None if prior is None else prior.tolist()]
    file = f"{digest([told_of, __version__, numeric_packages()])}.npz"
    noted = Checkpoint(context.store.checkpoints / blocks[0].folder.name / file)
    where = f"Dawid-Skene of {shorten(name)}{what and ', ' + what}"
    ends: list[tuple[Estimates, DawidSkeneModel]] = []
    last, tell = time.monotonic(), now_and_then(context.progress)
    unwritten: list[OSError] = []

    def settled(place: int, state: EMState, course: Convergence, _: LabelBlocks) -> None:
        ends.append((state.estimates, fitted(state.estimates, course, params, place)))

    def told(n_settled: int, state: EMState) -> None:
        nonlocal last
        objective = state.course(params.stop_on)[-1][0]
        tell(f"{where}: iteration {state.iteration}, log {params.stop_on} {objective:,.3f}")
        if not n_settled and time.monotonic() - last >= SECONDS:
            try:
                noted.write(state)
            except OSError as error:  # what no disk keeps is still known here
                if not unwritten:
                    what = "if this build is killed, the next one begins anew"
                    context.progress(f"{where}: {error}: {what}")
                unwritten.append(error)
            last = time.monotonic()

    state = noted.read()
    if state:
        context.progress(f"{where}: goes on after iteration {state.iteration}")
    run_em(labels, prior, params, settled=settled, progress=told, state=state)
    return ends[0]


def forget_checkpoints(context: StageContext, folder: Path) -> None:
    """Delete where EM stood in tasks that folders of ``folder`` are named by: they are done."""
    for task in folder.glob("*"):
        shutil.rmtree(context.store.checkpoints / task.name, ignore_errors=True)


@dataclass(frozen=True)
class Checkpoint:
    """Where EM of one task stands."""

    path: Path

    def write(self, state: EMState) -> None:
        """Note it.

        Raises
        ------
        OSError
            It cannot be, as where another build, which is done with this task, removes the folder.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                iteration=state.iteration,
                **{f"estimates_{name}": of for name, of in vars(state.estimates).items()},
                **{f"counts_{name}": of for name, of in vars(state.counts).items()},
                log_posterior=np.array(state.log_posterior),
                log_likelihood=np.array(state.log_likelihood),
            )

    def read(self) -> EMState | None:
        """Where it stood; None if nothing tells."""
        unread = (OSError, ValueError, KeyError, EOFError, BadZipFile)
        with suppress(*unread), open_regular(self.path) as file, np.load(file) as told:
            return EMState(
                int(told["iteration"]),
                Estimates(*(told[f"estimates_{of.name}"] for of in fields(Estimates))),
                Counts(*(told[f"counts_{of.name}"] for of in fields(Counts))),
                tuple(told["log_posterior"]),
                tuple(told["log_likelihood"]),
            )
        return None
