"""Where the parts of heavy steps are made: in threads of this process, or on a cluster.

An engine is given jobs and gives back what they return, in their order. What a job is made of and
makes lies in files of the store; what is handed over and back is small. What does not belong here:
what the jobs are (runtime.partitions), what they compute (methods, stages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from annot_pipeline.config import Campaign
from annot_pipeline.runtime.executors.local import LocalEngine

T = TypeVar("T")


class Engine(Protocol):
    """Runs jobs that do not look at each other."""

    def run(
        self,
        jobs: Sequence[Callable[[], T]],
        at_once: int | None = None,
        done: Callable[[int], None] = lambda _: None,
    ) -> list[T]:
        """Return the results of the jobs, in their order.

        Jobs and what they return can be pickled. A job may be run again, or twice at once, where
        a machine is lost; it leaves the same files.

        Parameters
        ----------
        at_once
            How many may run side by side on one machine; as many as there are workers.
        done
            Called every ten seconds with how many are done, if not all are.

        Raises
        ------
        AnnotError
            Of the first job that raised one; or the engine itself cannot run.
        """


def engine_of(
    settings: Campaign, store: Path, progress: Callable[[str], None] = lambda _: None
) -> Engine:
    """Return the engine that a campaign asks for.

    Parameters
    ----------
    settings
        ``engine`` and ``resources``.
    store
        Folder that every machine can reach.
    progress
        Called with a message while machines are awaited.

    Raises
    ------
    ConfigError
        What the engine needs is not installed.
    """
    if settings.engine.kind == "spark":
        from annot_pipeline.runtime.executors.spark import SparkEngine

        return SparkEngine(settings.engine, store, progress)
    return LocalEngine(settings.resources.workers)
