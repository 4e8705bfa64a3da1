"""Blocks that lie in files, and what is calculated from them where the engine has room.

A block is what a callable gives: rows of a file, or what an earlier job put into one. All that a
job is given is small, or lies in a file that every machine reaches.
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

from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.storage.files import read_regular

B = TypeVar("B")
T = TypeVar("T")

HELD = 1 << 28
"""Bytes of summands that are held at once, about."""


def dump(path: Path, found: Any) -> None:
    """Put it where other jobs find it; two machines may do so at once."""
    temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
    temporary.write_bytes(pickle.dumps(found, protocol=5))
    temporary.replace(path)


def load(path: Path) -> Any:
    """What was put there."""
    return pickle.loads(read_regular(path))  # noqa: S301 - of our own jobs


@dataclass(frozen=True)
class StoredBlocks(Generic[B]):
    """Blocks in files (`methods.numerics.blocks.Blocks`); jobs are functions of modules.

    Parameters
    ----------
    context
        Of the stage.
    folder
        Where files may be put that are of no use when the stage has ended.
    opened
        Gives each block.
    """

    context: StageContext
    folder: Path
    opened: Sequence[Callable[[], B]]

    def map(
        self, work: Callable[..., T], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return what ``work`` gives of each block."""
        own = [()] * len(self.opened) if each is None else [(of,) for of in each]
        with self._put(shared) as given:
            jobs = [
                partial(_call, work, block, of, given)
                for block, of in zip(self.opened, own, strict=True)
            ]
            return self.context.run(jobs)

    def sum(self, work: Callable[..., T], *shared: Any, n_bytes: int = 0) -> T:
        """Return the sum of what ``work`` gives, so many summands at a time as memory holds."""
        some = max(HELD // n_bytes, 1) if n_bytes else len(self.opened)
        with self._put(shared) as given:
            jobs = [partial(_call, work, block, (), given) for block in self.opened]
            found = (
                of
                for first in range(0, len(jobs), some)
                for of in self.context.run(jobs[first : first + some])
            )
            return reduce(add, found)

    def keep(self, work: Callable[..., T], *shared: Any) -> Blocks[T]:
        """Return what ``work`` gives as blocks, which lie in files of the folder."""
        name = f"{work.__name__.strip('_')}-{uuid.uuid4().hex}"
        paths = [self.folder / f"{name}-{n}" for n in range(len(self.opened))]
        with self._put(shared) as given:
            jobs = [
                partial(_keep, path, work, block, given)
                for path, block in zip(paths, self.opened, strict=True)
            ]
            self.context.run(jobs)
        return StoredBlocks(self.context, self.folder, [partial(load, path) for path in paths])

    @contextmanager
    def _put(self, shared: Sequence[Any]) -> Iterator[Path | None]:
        """Put what is shared into a file, as it may be more than each job can be given."""
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
    work: Callable[..., T], block: Callable[[], Any], own: Sequence[Any], given: Path | None
) -> T:
    return work(block(), *own, *(load(given) if given else ()))


def _keep(
    path: Path, work: Callable[..., Any], block: Callable[[], Any], given: Path | None
) -> None:
    dump(path, _call(work, block, (), given))
