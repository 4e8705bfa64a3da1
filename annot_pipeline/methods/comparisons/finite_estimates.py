"""Whether counts of comparisons have finite scores of maximum likelihood, round by round.

Bradley-Terry asks for a strongly connected graph of comparisons, ties being edges both ways (Ford
1957). Davidson's model asks for more. Reading, ours: its log-likelihood is that of an exponential
family, so it has no maximum if in some direction (theta, delta) no outcome that was seen
becomes less likely: theta_i - theta_j >= 2 delta where i won, |theta_i - theta_j| <= 2 delta
where they tied. In a strongly connected graph such a direction has delta > 0, say 1/2. Then
theta_j <= theta_i - 1 for wins and <= theta_i + 1 both ways for ties, and these can be met
unless some cycle has a negative sum: holds more wins than ties. So a that beats b three times,
ties twice and never loses has no finite estimate: the gap and the tie parameter grow together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components

from annot_pipeline.methods.comparisons.comparison_counts import PairCounts

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def strongly_connected(first: Codes, second: Codes, counts: PairCounts, part: Codes) -> Flags:
    """``(n_rounds,)`` whether each part is strongly connected in a round.

    Parameters
    ----------
    first, second
        ``(n_pairs,)`` codes of systems from 0; each pair once.
    counts
        ``(n_rounds, n_pairs)`` each.
    part
        ``(n_systems,)`` codes; no pair joins two parts.
    """
    n_rounds, n_systems = len(counts.wins), part.size
    beats = np.zeros((n_rounds, n_systems, n_systems), np.float32)
    beats[:, first, second] = (counts.wins + counts.ties) > 0
    beats[:, second, first] = (counts.losses + counts.ties) > 0
    start = np.zeros((n_rounds, 1, n_systems), np.float32)
    start[:, 0, np.unique(part, return_index=True)[1]] = 1
    strong = np.ones(n_rounds, np.bool_)
    for edges in (beats, beats.transpose(0, 2, 1)):  # all is reached from one, and back
        reached, n_reached = start, -1
        while (n := int(np.count_nonzero(reached))) > n_reached:
            n_reached = n
            reached = ((reached + reached @ edges) > 0).astype(np.float32)
        strong &= reached[:, 0].all(axis=1)
    return strong


def finite_components(
    first: Codes, second: Codes, counts: PairCounts, part: Codes, *, davidson: bool
) -> tuple[Flags, Codes, Flags]:
    """Rounds without finite scores, and the systems of these whose scores are finite together.

    Parameters
    ----------
    first, second, counts, part
        As `strongly_connected`.
    davidson
        Whether ties are Davidson's.

    Returns
    -------
    weak
        ``(n_rounds,)`` whether the round has no finite scores.
    component
        ``(n_weak, n_systems)`` strongly connected component, by codes that no two rounds share;
        where ties outgrow wins each system is one of its own.
    inside
        ``(n_weak, n_systems)`` whether that is the largest of the part. A system alone is in
        none; nor is any where two components are the largest.
    """
    weak = ~strongly_connected(first, second, counts, part)
    if davidson:
        weak[~weak] = ties_outgrow_wins(first, second, counts.take(~weak))
    some = counts.take(weak)
    component = _components(first, second, some, part.size)
    if davidson:
        outgrown = ties_outgrow_wins(first, second, some)  # a cycle lies within a component
        alone = np.arange(component.size).reshape(component.shape) + component.size
        component = np.where(outgrown[:, None], alone, component)
    return weak, component, _in_largest(component, part)


def ties_outgrow_wins(first: Codes, second: Codes, counts: PairCounts) -> Flags:
    """Return whether Davidson's tie parameter is infinite, ``(n_rounds,)``.

    Parameters
    ----------
    first, second, counts
        As `strongly_connected`. What lies between components decides nothing.
    """
    mutual = ((counts.wins > 0) & (counts.losses > 0)).any(axis=1)  # the shortest cycle of wins
    infinite = np.asarray(counts.ties.any(axis=1) & ~mutual)
    for number in np.flatnonzero(infinite).tolist():
        won, tied, lost = (
            counted[number] > 0 for counted in (counts.wins, counts.ties, counts.losses)
        )
        infinite[number] = not _winning_cycle(first, second, won, tied, lost)
    return infinite


def _winning_cycle(first: Codes, second: Codes, won: Flags, tied: Flags, lost: Flags) -> bool:
    """Whether some cycle holds more wins than ties; no pair both won and lost."""
    ways = (
        (first, second, won),
        (second, first, lost),
        (first, second, tied & ~won),  # a win is the shorter way
        (second, first, tied & ~lost),
    )
    sources = np.concatenate([source[which] for source, _, which in ways])
    targets = np.concatenate([target[which] for _, target, which in ways])
    length = np.where(np.arange(sources.size) < won.sum() + lost.sum(), -1.0, 1.0)
    n = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    start = np.full(n, n)  # one vertex before all others
    graph = csr_array(
        (
            np.concatenate([length, np.ones(n)]),
            (np.concatenate([sources, start]), np.concatenate([targets, np.arange(n)])),
        ),
        (n + 1, n + 1),
    )
    try:
        bellman_ford(graph, indices=[n])
    except NegativeCycleError:
        return True
    return False


def _components(first: Codes, second: Codes, counts: PairCounts, n_systems: int) -> Codes:
    """Return strongly connected components ``(n_rounds, n_systems)``, by one graph of rounds."""
    n = len(counts.wins) * n_systems
    if not n:
        return np.empty((0, n_systems), np.int64)
    won, lost = (np.nonzero(lead + counts.ties) for lead in (counts.wins, counts.losses))
    shift = np.concatenate([won[0], lost[0]]) * n_systems
    sources = np.concatenate([first[won[1]], second[lost[1]]]) + shift
    targets = np.concatenate([second[won[1]], first[lost[1]]]) + shift
    edges = csr_array((np.ones(shift.size, np.int8), (sources, targets)), (n, n))
    component = connected_components(edges, connection="strong")[1]
    return np.asarray(component.astype(np.int64).reshape(-1, n_systems))


def _in_largest(component: Codes, part: Codes) -> Flags:
    size = np.bincount(component.reshape(-1))[component]
    inside = np.zeros(component.shape, np.bool_)
    for code in np.unique(part):
        members = part == code
        most = size[:, members].max(axis=1, initial=0)[:, None]
        largest = size[:, members] == most
        single = largest.sum(axis=1, keepdims=True) == most  # as many systems as one component has
        inside[:, members] = largest & single
    return inside
