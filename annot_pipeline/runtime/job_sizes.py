"""How much work one job takes: where tables end a partition, and which tasks are split in blocks.

Partitions end at names that hash to certain values: a task, or item, that grows, is added or
removed moves only the ends near it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class JobSizes:
    """Sizes of jobs. They change no published number, except for rounding in sums.

    Parameters
    ----------
    partition_rows
        Maximum number of rows of a partition, unless it is one item.
    least_rows
        Number of rows from which a partition may end.
    end_one_in
        A name whose CRC-32 is divisible by it ends a partition of ``least_rows`` or more.
    task_judgments
        Maximum number of judgments of a task that one job works on; a task with more is worked on
        in blocks.
    export_bytes
        Maximum number of bytes of an export that one job reads, of formats that have pieces.
    compared_rows
        Maximum number of rows of lineage, before and now, that are compared at once; 10 million
        need 4 GB.
    result_rows
        Number of rows of a stage's result beyond which DuckDB is restarted after the stage, to
        release its memory.
    """

    partition_rows: int = 250_000
    least_rows: int = 1 << 15
    end_one_in: int = 4
    task_judgments: int = 500_000
    export_bytes: int = 64 << 20
    compared_rows: int = 2_000_000
    result_rows: int = 100_000

    def chunks(self, sizes: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
        """Yield chunks of consecutive names whose rows fit into one partition.

        Parameters
        ----------
        sizes
            Names in order, and rows of each.
        """
        names: list[str] = []
        rows = 0
        for name, n in sizes:
            if names and (rows + n > self.partition_rows or n >= self.least_rows):
                yield names
                names, rows = [], 0
            names.append(name)
            rows += n
            is_end = n >= self.least_rows or zlib.crc32(name.encode()) % self.end_one_in == 0
            if rows >= self.least_rows and is_end:
                yield names
                names, rows = [], 0
        if names:
            yield names

    def chunk_tasks(self, sizes: Mapping[str, int]) -> list[list[str]]:
        """Split task names, in order, into partitions; there is at least one, which may be empty.

        Parameters
        ----------
        sizes
            Rows by task.
        """
        return [*self.chunks((task, sizes[task]) for task in sorted(sizes))] or [[]]

    def chunk_judges(self, n: Mapping[str, int]) -> list[list[str]]:
        """Return chunks of judges, by name, whose judgments one job can take.

        Parameters
        ----------
        n
            Judgments by judge.
        """
        most = self.task_judgments
        return [*JobSizes(most, most, self.end_one_in).chunks(sorted(n.items()))]


DEFAULT_SIZES = JobSizes()
