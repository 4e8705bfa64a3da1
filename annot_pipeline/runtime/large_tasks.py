"""Tasks with more judgments than one job takes: which these are, and their parts.

Such a task lies in several files of whole items (runtime.partitions), and what is worked out is
sums over these blocks, then what follows from the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import is_any
from annot_pipeline.runtime.partitions import (
    InputPart,
    Make,
    Part,
    known_parts,
    made_before,
    part_key,
    runs_of,
)
from annot_pipeline.storage.tables import StoredTable, groups_unharmed

T = TypeVar("T")

WHOLE = 500_000
"""Judgments of a task up to which all that comes of them is worked out by one job."""
HELD = 1 << 28
"""Bytes of sums of blocks that are held at once, about."""
BLOCKS = "blocks"
"""The folder of what larger tasks are worked out by, while a stage runs."""


def has_blocks(
    context: StageContext, of: InputPart, table: str, kind: str, tasks: pa.Table,
    fates: Collection[str],
) -> bool:  # fmt: skip
    """Whether it is one task of a kind whose judgments are too many for one job.

    Parameters
    ----------
    table
        The input that holds the judgments, with their ``fate``.
    tasks
        ``kind`` of its tasks.
    fates
        Of the judgments that count: copies of exports must not change it.
    """
    judgments = of.files[table]
    if len(judgments.files) == 1 or judgments.rows <= WHOLE:
        return False
    if tasks["kind"].to_pylist() != [kind]:
        return False
    counts = [partial(_n_of_fates, piece.files[table], [*fates]) for piece in of.slices(table)]
    return sum(context.run(counts)) > WHOLE


def _n_of_fates(table: StoredTable, fates: Sequence[str]) -> int:
    return sum(
        pc.sum(is_any(rows["fate"], fates)).as_py() or 0
        for rows in groups_unharmed(table, ["fate"])
    )


def some_judges(n: Mapping[str, int]) -> list[list[str]]:
    """Judges by name, in runs whose judgments are no more than one job takes.

    Parameters
    ----------
    n
        Judgments by judge.
    """
    return [*runs_of(sorted(n.items()), most=WHOLE, least=WHOLE)]


def spans_of(counts: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Codes that follow each other, from the first to before the second, in spans.

    Parameters
    ----------
    counts
        Of each code, what it adds to the work of a job.
    most
        Of a span, unless it is one code.
    """
    found, start, held = [], 0, 0
    for code, n in enumerate(counts):
        if held and held + n > most:
            found.append((start, code))
            start, held = code, 0
        held += n
    return [*found, (start, len(counts))]


def added(context: StageContext, jobs: Sequence[Callable[[], T]], n_bytes: int) -> T:
    """What jobs give, added up in their order, so many at a time as memory is to hold.

    Parameters
    ----------
    n_bytes
        Of what one job gives, about.
    """
    some = max(HELD // n_bytes, 1)
    found = (
        of for first in range(0, len(jobs), some) for of in context.run(jobs[first : first + some])
    )
    return reduce(add, found)


def parts_of_blocks(
    context: StageContext, n_blocks: int, made_of: Any, makes: Callable[[], Sequence[Make]]
) -> list[Part]:
    """Parts of one task, a block each; what they share is worked out unless all are known.

    Parameters
    ----------
    made_of
        All that the rows of the task follow from, but code and settings.
    makes
        Works that out, and gives what makes each part.
    """
    basis = [[made_of, n] for n in range(n_blocks)]
    known = {part.key for part in known_parts(context.latest())}
    keys = {part_key(told, goes_on=n > 0) for n, told in enumerate(basis)}
    made = [made_before] * n_blocks if keys <= known else makes()
    return [
        Part(told, make, goes_on=n > 0)
        for n, (told, make) in enumerate(zip(basis, made, strict=True))
    ]
