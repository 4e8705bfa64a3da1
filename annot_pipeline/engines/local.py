"""This machine: jobs in threads, as many as there are workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
TOLD = 10
"""Jobs after which progress is told."""


@dataclass(frozen=True)
class LocalEngine:
    """Threads: jobs spend their time in DuckDB, Arrow and numpy, which do without the lock."""

    workers: int

    def run(
        self,
        jobs: Sequence[Callable[[], T]],
        at_once: int | None = None,
        done: Callable[[int], None] = lambda _: None,
    ) -> list[T]:
        """What the jobs return, in their order; after an error no other job starts."""
        results = []
        with ThreadPoolExecutor(min(at_once or self.workers, self.workers)) as pool:
            found = [pool.submit(job) for job in jobs]
            try:
                for n, future in enumerate(found, start=1):
                    results.append(future.result())
                    if n % TOLD == 0:
                        done(n)
                return results
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
