"""Which comparisons to ask: a tournament that connects the outputs of a segment.

Sets of outputs that are connected already unite in pairs, round by round, by one comparison of
a random member of each, until one set is left.

Source: Pighin, Formiga & Marquez 2012, section 3.1. Reading (as METHODS.md): in a round each set
unites with one not yet taken in that round; the odd one out unites with any other, which stays
in play itself, so sets may overlap from then on. A pair is not asked twice while another is
left. So n sets need f(n) = ceil(n/2) + f(ceil(n/2)) comparisons, f(1) = 0; the paper's
2 ceil(n/2) is right for 5 and 6 only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes
from annot_pipeline.methods.comparisons.comparison_graphs import ComparisonGraphs
from annot_pipeline.methods.numerics.distinct import is_new

_DRAWS = 8
"""Random pairs tried before all pairs are listed; either way each one left is equally likely."""


@dataclass(frozen=True, eq=False)
class Tournament:
    """Comparisons to ask.

    Parameters
    ----------
    pairs
        ``(n_comparisons, 2)`` item codes; which of both comes first is random too.
    round
        ``(n_comparisons,)`` from 1, ascending.
    """

    pairs: Codes
    round: Codes


@dataclass(frozen=True, eq=False)
class TopPairs:
    """One comparison more, at most one a graph; arrays are ``(n_graphs_with_one,)``.

    Parameters
    ----------
    graph
        Code of the graph, ascending.
    first, second
        Item codes, the one of the higher dominance first.
    """

    graph: Codes
    first: Codes
    second: Codes


def n_comparisons(n_sets: int) -> int:
    """Return comparisons that a tournament of n sets needs: f(n).

    Raises
    ------
    ValueError
        A negative number.
    """
    if n_sets < 0:
        raise ValueError(f"there are no {n_sets} sets")
    total = 0
    while n_sets > 1:
        n_sets = (n_sets + 1) // 2
        total += n_sets
    return total


def tournament(sets: Iterable[Collection[int]], rng: np.random.Generator) -> Tournament:
    """Plan all rounds of one segment: who meets whom does not depend on the outcomes.

    The order of sets and of their members does not matter.

    Parameters
    ----------
    sets
        Disjoint sets of item codes that are connected already; single items at first. Members
        of one set are not compared while another pair is left. Of items with one output (equal
        but for case) give one only, else that text may be asked about twice.
    rng
        The source of chance.

    Raises
    ------
    ValueError
        An empty set, or an item in two of them.
    """
    start = sorted(tuple(sorted(members)) for members in sets)
    own = {item: number for number, members in enumerate(start) for item in members}
    if not all(start) or len(own) != sum(map(len, start)):
        raise ValueError("sets must be disjoint and not empty")
    asked_pairs: set[tuple[int, int]] = set()
    pairs: list[tuple[int, int]] = []
    rounds: list[int] = []
    in_play: list[tuple[int, ...]] = list(start)
    number = 0
    while len(in_play) > 1:
        number += 1
        in_play, new_pairs = _round(in_play, own, asked_pairs, rng)
        pairs += new_pairs
        rounds += [number] * len(new_pairs)
    return Tournament(np.array(pairs, np.int64).reshape(-1, 2), np.array(rounds, np.int64))


def isolated_top_pairs(graph: npt.ArrayLike, graphs: ComparisonGraphs) -> TopPairs:
    """Return the one comparison more that settles who is best (sections 4.5 and 5).

    Where nothing dominates two or more components, they were never compared (any comparison
    would have made one dominated, or both one), and the order of their ranks is chance. The two
    of the highest dominance are to be compared; at equal dominance those of the least items.

    Parameters
    ----------
    graph
        ``(n_items,)`` as `comparison_graphs` got it.
    graphs
        What it gave.
    """
    codes = np.asarray(graph, np.int64)
    vertex = np.unique(graphs.component, return_index=True)[1]
    top = vertex[graphs.n_dominated_by[vertex] == 0]
    top = top[np.lexsort((top, -graphs.dominance[top], codes[top]))]
    start = np.flatnonzero(is_new(codes[top]))
    start = start[np.diff(np.append(start, top.size)) > 1]
    return TopPairs(codes[top[start]], top[start], top[start + 1])


def _round(
    in_play: Sequence[tuple[int, ...]],
    own: dict[int, int],
    asked_pairs: set[tuple[int, int]],
    rng: np.random.Generator,
) -> tuple[list[tuple[int, ...]], list[tuple[int, int]]]:
    """Unite each set with another, and add the pairs that meet to ``asked_pairs``."""
    waiting: list[int] = rng.permutation(len(in_play)).tolist()
    united, pairs = [], []
    while waiting:
        here = waiting.pop()
        order = waiting[::-1] or _shuffled_others(here, len(in_play), rng)
        partner, pair = _partner(in_play, here, order, own, asked_pairs, rng)
        if waiting:
            waiting.remove(partner)
        asked_pairs.add((min(pair), max(pair)))
        pairs.append(pair)
        united.append(tuple(sorted({*in_play[here], *in_play[partner]})))
    return united, pairs


def _shuffled_others(odd_one_out: int, n_sets: int, rng: np.random.Generator) -> list[int]:
    order = rng.permutation(n_sets)
    return [int(position) for position in order if position != odd_one_out]


def _partner(
    in_play: Sequence[tuple[int, ...]],
    here: int,
    order: Sequence[int],
    own: dict[int, int],
    asked_pairs: set[tuple[int, int]],
    rng: np.random.Generator,
) -> tuple[int, tuple[int, int]]:
    """Return the first of others that has a pair not asked yet, and a random such pair."""
    for other in order:
        pair = _pair(in_play[here], in_play[other], own, asked_pairs, rng)
        if pair is not None:
            return other, pair
    asked_pair = _pair(in_play[here], in_play[order[0]], own, set(), rng)
    if asked_pair is None:
        raise RuntimeError("two sets in play without a member of its own; this is a bug")
    return order[0], asked_pair


def _pair(
    here: tuple[int, ...],
    partner: tuple[int, ...],
    own: dict[int, int],
    asked_pairs: set[tuple[int, int]],
    rng: np.random.Generator,
) -> tuple[int, int] | None:
    """Draw a member of each, of different initial sets and not asked yet; None if there is none."""

    def is_open(a: int, b: int) -> bool:
        return own[a] != own[b] and (min(a, b), max(a, b)) not in asked_pairs

    for _ in range(_DRAWS):
        a, b = here[int(rng.integers(len(here)))], partner[int(rng.integers(len(partner)))]
        if is_open(a, b):
            return a, b
    fresh = [(a, b) for a in here for b in partner if is_open(a, b)]
    return fresh[int(rng.integers(len(fresh)))] if fresh else None
