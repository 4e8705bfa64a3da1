"""Blocks in files; the engine runs the work on each block as a job.

A callable opens a block: rows of a Parquet file, or the result of an earlier job. All arguments of
a job are small, or lie in a file that every machine reads.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Generic, TypeVar

from annot_pipeline.methods.numerics.blocks import Blocks, block_arguments
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.storage.files import read_regular

B = TypeVar("B")
T = TypeVar("T")

SUMMED_BYTES = 1 << 28
"""Approximate bytes of summands in memory at once."""


def dump(path: Path, value: Any) -> None:
    """Write a value for other jobs to read; two machines may write the same file at once."""
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
    temporary.write_bytes(pickle.dumps(value, protocol=5))
    temporary.replace(path)


def load(path: Path) -> Any:
    """Return the value that `dump` wrote."""
    return pickle.loads(read_regular(path))  # noqa: S301 - of our own jobs


@dataclass(frozen=True)
class StoredBlocks(Generic[B]):
    """Represents blocks in files (`methods.numerics.blocks.Blocks`) with jobs run by the engine.

    Parameters
    ----------
    context
        The context of the stage.
    folder
        The folder for temporary files, which are deleted when the stage ends.
    opened
        Callables that return the blocks.
    """

    context: StageContext
    folder: Path
    opened: Sequence[Callable[[], B]]

    def __len__(self) -> int:
        return len(self.opened)

    def map(
        self, work: Callable[..., T], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return the results of ``work``."""
        with self._shared_file(shared) as path:
            return self.context.run(self._jobs(work, each, path))

    def sum(
        self,
        work: Callable[..., T],
        *shared: Any,
        each: Sequence[Any] | None = None,
        n_bytes: int = 0,
    ) -> T:
        """Return the sum of the results, computed in groups that fit into memory."""
        at_once = max(SUMMED_BYTES // n_bytes, 1) if n_bytes else len(self.opened)
        with self._shared_file(shared) as path:
            jobs = self._jobs(work, each, path)
            results = (
                result
                for first in range(0, len(jobs), at_once)
                for result in self.context.run(jobs[first : first + at_once])
            )
            return reduce(add, results)

    def gather(self, work: Callable[..., T], *shared: Any, each: Sequence[Any]) -> list[T]:
        """Return the results of ``work`` on all blocks, which are opened one after another."""
        with self._shared_file(shared) as path:
            jobs = [partial(_call_with_all, work, self.opened, argument, path) for argument in each]
            return self.context.run(jobs)

    def keep(self, work: Callable[..., T], *shared: Any) -> Blocks[T]:
        """Return the results of ``work`` as blocks in files of the folder."""
        name = f"{work.__name__.strip('_')}-{uuid.uuid4().hex}"
        paths = [self.folder / f"{name}-{n}" for n in range(len(self.opened))]
        with self._shared_file(shared) as shared_path:
            jobs = [
                partial(_keep, path, work, block, shared_path)
                for path, block in zip(paths, self.opened, strict=True)
            ]
            self.context.run(jobs)
        return StoredBlocks(self.context, self.folder, [partial(load, path) for path in paths])

    def regroup(
        self,
        split: Callable[..., Sequence[T]],
        join: Callable[[Sequence[T]], T],
        *shared: Any,
    ) -> Blocks[T]:
        """Return new blocks of joined pieces, which lie in files of the folder until then."""
        name, n = f"pieces-{uuid.uuid4().hex}", len(self)
        folders = [self.folder / f"{name}-{number}" for number in range(n)]
        for folder in folders:
            folder.mkdir()
        self.map(_dump_pieces, split, n, *shared, each=folders)
        opened = [partial(_join_pieces, join, folders, number) for number in range(n)]
        return StoredBlocks(self.context, self.folder, opened)

    def _jobs(
        self, work: Callable[..., T], each: Sequence[Any] | None, shared: Path | None
    ) -> list[Callable[[], T]]:
        """Return a job per block, which opens the block and reads the shared arguments."""
        arguments = block_arguments(len(self.opened), each)
        return [
            partial(_call, work, block, own, shared)
            for block, own in zip(self.opened, arguments, strict=True)
        ]

    @contextmanager
    def _shared_file(self, shared: Sequence[Any]) -> Iterator[Path | None]:
        """Write shared arguments to a file, as they may be too large to send with each job."""
        if not shared:
            yield None
            return
        path = self.folder / f"shared-{uuid.uuid4().hex}"
        dump(path, tuple(shared))
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


def _call(
    work: Callable[..., T], block: Callable[[], Any], own: Sequence[Any], shared: Path | None
) -> T:
    return work(block(), *own, *(load(shared) if shared else ()))


def _call_with_all(
    work: Callable[..., T], blocks: Sequence[Callable[[], Any]], own: Any, shared: Path | None
) -> T:
    return work((block() for block in blocks), own, *(load(shared) if shared else ()))


def _keep(
    path: Path, work: Callable[..., Any], block: Callable[[], Any], shared: Path | None
) -> None:
    dump(path, _call(work, block, (), shared))


def _dump_pieces(
    block: Any, folder: Path, split: Callable[..., Sequence[Any]], n: int, *shared: Any
) -> None:
    for number, piece in enumerate(split(block, n, *shared)):
        dump(folder / str(number), piece)


def _join_pieces(join: Callable[[Sequence[T]], T], folders: Sequence[Path], number: int) -> T:
    return join([load(folder / str(number)) for folder in folders])
