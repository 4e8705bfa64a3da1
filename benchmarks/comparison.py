"""What a comparison is: one input, and several ways from it to the same result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

Input = Any
"""What all ways of a comparison start from; its own type in each comparison."""

Work = Callable[[], Any]
"""What is timed; gives the result, which tests hold against that of the other ways."""


@dataclass(frozen=True)
class Way:
    """One way to the result: ours or a peer's.

    Parameters
    ----------
    name
        As tables and the command line have it.
    prepare
        From the input to the work. Imports, and the form that a peer wants its input in, come
        here, before the clock starts, unless making that form is what people wait for.
    needs
        Module of a peer that may not be installed.
    most
        Largest size that is tried; None: all.
    """

    name: str
    prepare: Callable[[Input], Work]
    needs: str | None = None
    most: int | None = None

    def is_installed(self) -> bool:
        """Whether the peer can be imported."""
        return self.needs is None or find_spec(self.needs) is not None

    def takes(self, size: int) -> bool:
        """Whether a size is tried."""
        return self.most is None or size <= self.most


@dataclass(frozen=True)
class Comparison:
    """What is compared, at which sizes.

    Parameters
    ----------
    title
        What is done, with all numbers that shape the work.
    unit
        What sizes count, in the plural.
    sizes, quick
        Of ``make bench``, and of ``make bench-quick``.
    draw
        From a size to the input; the same for the same size.
    ways
        Ours first, or the yardstick.
    exponent_from
        Where the exponent of time against size is told: the least size whose time is not
        start-up.
    keep
        What is done with the input once, before all ways, in a process of its own: a build that
        ways start from.
    yardstick
        What the first way is, if it is not ours: all ways are told in its time.
    """

    title: str
    unit: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    draw: Callable[[int], Input]
    ways: tuple[Way, ...]
    exponent_from: int | None = None
    keep: Callable[[Input], None] | None = None
    yardstick: str | None = None

    def way(self, name: str) -> Way:
        """The way of that name."""
        return next(way for way in self.ways if way.name == name)
