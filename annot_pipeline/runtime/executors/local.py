"""This machine: jobs in threads, as many as there are workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
PROGRESS_INTERVAL_S = 10.0
"""Seconds after which progress is told."""


@dataclass(frozen=True)
class LocalEngine:
    """Runs jobs in threads: DuckDB, Arrow and numpy work without the lock."""

    workers: int

    def run(
        self,
        jobs: Sequence[Callable[[], T]],
        at_once: int | None = None,
        done: Callable[[int], None] = lambda _: None,
    ) -> list[T]:
        """Return the results of the jobs, in order; after an error no other job starts."""
        if len(jobs) == 1:  # a thread for one job would cost more than a small job
            return [jobs[0]()]
        results: list[T] = []
        reported_at = time.monotonic()
        with ThreadPoolExecutor(min(at_once or self.workers, self.workers)) as pool:
            futures = [pool.submit(job) for job in jobs]
            try:
                for future in futures:
                    results.append(future.result())
                    if (
                        len(results) < len(jobs)
                        and time.monotonic() - reported_at >= PROGRESS_INTERVAL_S
                    ):
                        done(len(results))
                        reported_at = time.monotonic()
                return results
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
