"""Data in blocks: what is calculated from all of it is a sum over blocks, wherever these lie.

A method that is written over `Blocks` works alike on one block in memory and on many that lie in
files of other machines (runtime.blocks). Sums are added in the order of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Generic, Protocol, TypeVar

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)
T = TypeVar("T")


class Blocks(Protocol[B_co]):
    """Blocks of one kind; ``work`` is called with a block and what is shared by all."""

    def map(
        self, work: Callable[..., T], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return what ``work`` gives of each block, in order.

        ``each``: what is given for one block alone, before what is shared.
        """

    def sum(self, work: Callable[..., T], *shared: Any, n_bytes: int = 0) -> T:
        """Return what ``work`` gives of each block, added up in order.

        ``n_bytes``: of one summand, about, where many would be more than memory holds.
        """

    def keep(self, work: Callable[..., T], *shared: Any) -> Blocks[T]:
        """Return what ``work`` gives as blocks."""


@dataclass(frozen=True)
class InMemoryBlocks(Generic[B]):
    """Blocks in memory, most often one."""

    blocks: Sequence[B]

    def map(
        self, work: Callable[..., T], *shared: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return what ``work`` gives of each block."""
        own = [()] * len(self.blocks) if each is None else [(of,) for of in each]
        return [work(block, *of, *shared) for block, of in zip(self.blocks, own, strict=True)]

    def sum(self, work: Callable[..., T], *shared: Any, n_bytes: int = 0) -> T:
        """Return the sum of what ``work`` gives."""
        del n_bytes
        return reduce(add, (work(block, *shared) for block in self.blocks))

    def keep(self, work: Callable[..., T], *shared: Any) -> Blocks[T]:
        """Return what ``work`` gives as blocks."""
        return InMemoryBlocks(self.map(work, *shared))
