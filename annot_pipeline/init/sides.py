"""Pairs of columns whose names differ in the side alone: ``model_a``, ``model_b``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from annot_pipeline.init import names

SIDE_WORDS = (("a", "b", "c"), ("1", "2", "3", "0"), ("left", "right", "middle"),
              ("first", "second", "third"), ("x", "y", "z"))  # fmt: skip
"""How the two sides are told apart; with another of the words too, they are no two."""

X_AND_Y = 4
"""Of `SIDE_WORDS`: taken last, since axes and embeddings are named so, too."""

SYSTEMS = names.WORDS["competitors"]
OUTPUTS = names.WORDS["outputs"]
NO_SYSTEMS = names.WORDS["no_systems"]
"""Words of a stem whose columns name no systems, whatever they hold."""

CONTENTS = 2
"""Place in the order of preference of pairs that are systems by what they hold."""

WON_AND_LOST: list[list[str]] = names.VOCABULARY["won_and_lost"]
"""Names of columns of which the first always won."""

_GLUED = re.compile(
    r"(item|system|sys|model|engine|option|candidate|response|output|answer|text|translation|"
    r"summary|rank|player|agent|bot|team)([abxy])"
)


class Pair(NamedTuple):
    """Two columns that say the same of the one side and of the other.

    Parameters
    ----------
    kind
        Place in `SIDE_WORDS`.
    stem
        What both names have in common; empty for ``left`` and ``right``.
    first, second
        The columns.
    """

    kind: int
    stem: str
    first: str
    second: str

    @property
    def is_rank(self) -> bool:
        """Return whether the columns hold ranks."""
        return "rank" in self.stem.split("_")

    @property
    def are_outputs(self) -> bool:
        """Return whether the columns hold outputs, or what they are called; no systems."""
        return self.stem.rpartition("_")[2] in OUTPUTS

    @property
    def are_systems(self) -> bool:
        """Return whether the stem says that the columns name systems."""
        return "system" in names.roles(self.stem) or self.stem.rpartition("_")[2] in SYSTEMS

    @property
    def may_be_systems(self) -> bool:
        """Return whether the columns can name systems although the stem does not say so."""
        is_known = bool(names.roles(self.stem)) or self.is_rank or self.are_outputs
        return not is_known and not NO_SYSTEMS & {*self.stem.split("_")}

    @property
    def likelihood(self) -> tuple[bool, int, int] | None:
        """Return what to prefer, the least first, among columns that name things.

        None for others.
        """
        roles = names.roles(self.stem)
        if self.is_rank:
            return None
        if self.are_systems:
            position = 0
        elif self.are_outputs:
            position = 3
        elif "item" in roles:
            position = 1
        elif not self.stem:
            position = 2
        else:
            return None
        return self.kind == X_AND_Y, position, self.kind


def pairs_among(columns: Iterable[str]) -> list[Pair]:
    """Return all pairs, in the order of their first columns."""
    by_stem: dict[tuple[int, str], dict[int, str]] = {}
    for name in columns:
        for kind, position, stem in _sides(name):
            by_stem.setdefault((kind, stem), {}).setdefault(position, name)
    return [
        Pair(kind, stem, sides[0], sides[1])
        for (kind, stem), sides in by_stem.items()
        if sides.keys() == {0, 1}
    ]


def _sides(name: str) -> list[tuple[int, int, str]]:
    """Return each reading of a name as a side: the kind, which side, and the rest of the name."""
    parts = names.without_id(names.words(name))
    if len(parts) == 1 and (glued := _GLUED.fullmatch(parts[0])):
        parts = [glued[1], glued[2]]
    readings = []
    for kind, words in enumerate(SIDE_WORDS):
        places = [n for n, part in enumerate(parts) if part in words]
        if len(places) == 1:
            [n] = places
            stem = "_".join([*parts[:n], *parts[n + 1 :]])
            readings.append((kind, words.index(parts[n]), stem))
    return readings
