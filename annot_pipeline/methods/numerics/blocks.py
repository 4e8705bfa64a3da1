"""Data in blocks: methods compute sums over blocks, in memory or in files.

A method written over `Blocks` runs unchanged on one block in memory and on many blocks in files
that other machines read (runtime.blocks). Sums are added in the order of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)
T = TypeVar("T")
Each: TypeAlias = Sequence[Any] | None
"""An argument for each block alone; None: there is none."""


class Blocks(Protocol[B_co]):
    """One or more blocks of one kind; ``work`` is called with a block and the shared arguments.

    ``each``: an argument for each block alone, which comes before the shared ones.
    """

    def __len__(self) -> int:
        """Return how many blocks there are."""

    def map(self, work: Callable[..., T], *shared: Any, each: Each = None) -> list[T]:
        """Return the results of ``work``, in the order of blocks."""

    def sum(self, work: Callable[..., T], *shared: Any, each: Each = None, n_bytes: int = 0) -> T:
        """Return the sum of the results of ``work``, added in the order of blocks.

        ``n_bytes``: approximate size of one result, where many may not fit into memory.
        """

    def gather(self, work: Callable[..., T], *shared: Any, each: Sequence[Any]) -> list[T]:
        """Return one result per element of ``each``; ``work`` reads all blocks for it.

        ``work`` is called with an iterator over all blocks, the element and the shared arguments.
        """

    def keep(self, work: Callable[..., T], *shared: Any) -> Blocks[T]:
        """Return the results of ``work`` as blocks."""

    def regroup(
        self,
        split: Callable[..., Sequence[T]],
        join: Callable[[Sequence[T]], T],
        *shared: Any,
    ) -> Blocks[T]:
        """Return as many new blocks: the nth joins the nth pieces of all blocks.

        ``split`` is called with a block, the number of pieces, and the shared arguments.
        """


def block_arguments(n_blocks: int, each: Each) -> list[tuple[Any, ...]]:
    """Return the arguments of ``work`` that differ by block, as tuples."""
    return [()] * n_blocks if each is None else [(argument,) for argument in each]


@dataclass(frozen=True)
class InMemoryBlocks(Generic[B]):
    """Blocks in memory, most often one."""

    blocks: Sequence[B]

    def __len__(self) -> int:
        return len(self.blocks)

    def map(self, work: Callable[..., T], *shared: Any, each: Each = None) -> list[T]:
        """Return the results of ``work``."""
        own = block_arguments(len(self.blocks), each)
        return [work(block, *args, *shared) for block, args in zip(self.blocks, own, strict=True)]

    def sum(self, work: Callable[..., T], *shared: Any, each: Each = None, n_bytes: int = 0) -> T:
        """Return the sum of the results of ``work``."""
        del n_bytes
        own = block_arguments(len(self.blocks), each)
        return reduce(
            add,
            (work(block, *args, *shared) for block, args in zip(self.blocks, own, strict=True)),
        )

    def gather(self, work: Callable[..., T], *shared: Any, each: Sequence[Any]) -> list[T]:
        """Return the results of ``work`` on all blocks together."""
        return [work(iter(self.blocks), argument, *shared) for argument in each]

    def keep(self, work: Callable[..., T], *shared: Any) -> Blocks[T]:
        """Return the results of ``work`` as blocks."""
        return InMemoryBlocks(self.map(work, *shared))

    def regroup(
        self,
        split: Callable[..., Sequence[T]],
        join: Callable[[Sequence[T]], T],
        *shared: Any,
    ) -> Blocks[T]:
        """Return new blocks of joined pieces."""
        pieces = self.map(split, len(self), *shared)
        return InMemoryBlocks([join(parts) for parts in zip(*pieces, strict=True)])


def spans_by_size(counts: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return spans of consecutive codes, each from its first to before its second number.

    Parameters
    ----------
    counts
        Of each code, what it adds to the work of a job.
    most
        Of a span, unless it is one code.
    """
    spans, start, total = [], 0, 0
    for code, n in enumerate(counts):
        if total and total + n > most:
            spans.append((start, code))
            start, total = code, 0
        total += n
    return [*spans, (start, len(counts))]
