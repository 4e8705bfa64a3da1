"""Which items to ask about next: Algorithm 1 of Sakaguchi & Van Durme (2018).

A round of N items is N/n HITs of n items. The items of highest variance are seeds, one a HIT;
beside each, n - 1 partners are drawn from the items that are no seeds, by match quality
(**Reading**: line 16 of the algorithm; the released code also allows the seeds). Items may
fall into groups, the segments of a system ranking: a HIT then stays within one, and no more
than a share 1/n of a group are seeds, so that partners are left.

The first round covers every item: as long as some have no judgment, HITs are made of these, in
random order. A share of HITs can be drawn evenly at random, to have judgments whose selection
did not depend on earlier ones.

How likely each draw was is part of the result, so that estimates can be corrected for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.distinct import places_within
from annot_pipeline.methods.numerics.rounding import comparable
from annot_pipeline.methods.planning.partners import draw_partners, states

ROLES = ("seed", "partner", "random", "cover", "fill")
"""Why an item is in a HIT: chosen by variance; drawn by match quality; drawn evenly; not judged
so far; drawn evenly to fill the last HIT of a group."""
SEED, PARTNER, RANDOM, COVER, FILL = range(5)


@dataclass(frozen=True)
class NextHitsParams:
    """How to choose.

    Parameters
    ----------
    gamma
        Skill chain of the match quality, above 0.
    hit_size
        Items of a HIT (n), 2 or more.
    hits
        HITs at most; None: a whole round.
    random_share
        Share of the HITs that are drawn evenly at random, 0 to 1.
    """

    gamma: float = 0.1
    hit_size: int = 5
    hits: int | None = None
    random_share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.gamma < np.inf:
            raise ValueError("gamma must be above 0")
        if self.hit_size < 2:
            raise ValueError("hit_size must be 2 or more")
        if self.hits is not None and self.hits < 0:
            raise ValueError("hits must be 0 or more")
        if not 0 <= self.random_share <= 1:
            raise ValueError("random_share must be 0 to 1")


@dataclass(frozen=True, eq=False)
class NextHits:
    """Arrays are ``(n_hits, hit_size)``; the order within a HIT is random.

    Parameters
    ----------
    items
        Codes of items.
    roles
        Codes of `ROLES`.
    draw
        As which of the HIT an item was drawn, from 0.
    probability
        Of partners, random and fill: of that draw, given the HIT's draws before it. Of seeds and
        cover: of being seed or cover in this batch, given the states; as a partner or to fill,
        an item may be in it too.
    params
        What was asked.
    """

    items: Codes
    roles: Codes
    draw: Codes
    probability: Floats
    params: NextHitsParams


def next_hits(
    alpha: Floats,
    beta: Floats,
    *,
    judged: Flags,
    rng: np.random.Generator,
    groups: Codes | None = None,
    params: NextHitsParams | None = None,
) -> NextHits:
    """Choose the items of the next HITs.

    Parameters
    ----------
    alpha, beta
        ``(n_items,)`` parameters of the items' Beta distributions.
    judged
        ``(n_items,)`` whether an item has judgments.
    rng
        Source of all randomness.
    groups
        ``(n_items,)`` codes of groups from 0; None: all items are one. Groups smaller than a
        HIT are left out.
    params
        How to choose.

    Raises
    ------
    ValueError
        No group has as many items as a HIT.
    """
    params = params or NextHitsParams()
    n = params.hit_size
    group = np.zeros(alpha.size, np.int64) if groups is None else groups
    size = np.bincount(group)
    fits = size >= n
    if not fits.any():
        raise ValueError(f"no group has {n} items; the largest has {size.max(initial=0)}")
    is_member = fits[group]
    fresh = np.flatnonzero(is_member & ~judged)
    judged_items = np.flatnonzero(is_member & judged)
    budget = alpha.size if params.hits is None else params.hits
    cover = _hits_of_unjudged(group, fresh, np.flatnonzero(is_member), n, budget, rng)
    n_judged = np.bincount(group[judged_items], minlength=size.size)
    n_more = min(budget - len(cover[0]), int((n_judged // n).sum()))
    n_random = int(np.ceil(params.random_share * n_more - 1e-9))
    adaptive = _adaptive(alpha, beta, group, judged_items, n_more - n_random, params, rng)
    even = _random_hits(group, np.flatnonzero(is_member), n_random, n, rng)
    # random HITs stand anywhere among the adaptive ones: a batch that is cut short keeps its share
    positions = np.concatenate([np.arange(len(adaptive[0])) / max(len(adaptive[0]), 1),
                            rng.random(n_random)])  # fmt: skip
    hits = np.append(np.arange(len(cover[0])), len(cover[0]) + np.argsort(positions, kind="stable"))
    parts = (cover, adaptive, even)
    items, roles = (np.concatenate([part[n] for part in parts])[hits] for n in (0, 1))
    probability = np.concatenate([part[2] for part in parts])[hits]
    draw = np.argsort(rng.random(items.shape), axis=1)
    return NextHits(
        np.take_along_axis(items, draw, axis=1),
        np.take_along_axis(roles, draw, axis=1),
        draw,
        np.take_along_axis(probability, draw, axis=1),
        params,
    )


_Hits = tuple[Codes, Codes, Floats]


def _hits_of_unjudged(
    group: Codes, fresh: Codes, all_items: Codes, n: int, budget: int, rng: np.random.Generator
) -> _Hits:
    """Return HITs of items without judgments, by group in random order."""
    fresh = rng.permutation(fresh)
    fresh = fresh[np.argsort(group[fresh], kind="stable")]
    positions = places_within(group[fresh])
    hit_of_group = positions // n
    # HITs in random order, so that a budget cuts no group short
    hit, n_in_hit = np.unique(
        group[fresh] * (fresh.size + 1) + hit_of_group, return_inverse=True, return_counts=True
    )[1:]
    n_hits = n_in_hit.size
    chosen = rng.permutation(n_hits)[: min(budget, n_hits)]
    items = np.full((n_hits, n), -1, np.int64)
    items[hit, positions % n] = fresh
    roles = np.where(items < 0, FILL, COVER)
    share = chosen.size / n_hits if n_hits else 1.0
    probability = np.full(items.shape, share)
    items, roles, probability = items[chosen], roles[chosen], probability[chosen]
    by_group = _Groups(group, all_items)
    for row in np.flatnonzero((items < 0).any(axis=1)).tolist():
        free = np.setdiff1d(by_group.items(group[items[row, 0]]), items[row])
        places = np.flatnonzero(items[row] < 0)
        items[row, places] = rng.choice(free, places.size, replace=False)
        probability[row, places] = 1 / (free.size - np.arange(places.size))
    return items, roles, probability


def _adaptive(
    alpha: Floats,
    beta: Floats,
    group: Codes,
    judged_items: Codes,
    k: int,
    params: NextHitsParams,
    rng: np.random.Generator,
) -> _Hits:
    """Choose seeds by variance and partners by match quality, within groups."""
    n = params.hit_size
    all_states = states(alpha, beta)
    seeds, chance = _seeds(comparable(all_states.variance), group, judged_items, k, n, rng)
    is_seed = np.zeros(group.size, np.bool_)
    is_seed[seeds] = True
    candidates = _Groups(group, judged_items[~is_seed[judged_items]])
    items = np.empty((seeds.size, n), np.int64)
    probability = np.empty(items.shape)
    items[:, 0], probability[:, 0] = seeds, chance
    own = np.argsort(group[seeds], kind="stable")
    for rows in np.split(own, np.flatnonzero(np.diff(group[seeds[own]])) + 1):
        if rows.size:
            pool = candidates.items(group[seeds[rows[0]]])
            partners = draw_partners(
                all_states.take(seeds[rows]), all_states.take(pool),
                n_partners=n - 1, gamma=params.gamma, rng=rng,
            )  # fmt: skip
            items[rows, 1:] = pool[partners.candidate]
            probability[rows, 1:] = np.exp(partners.log_probability)
    roles = np.full(items.shape, PARTNER)
    roles[:, 0] = SEED
    return items, roles, probability


def _seeds(
    variance: Floats, group: Codes, judged_items: Codes, k: int, n: int, rng: np.random.Generator
) -> tuple[Codes, Floats]:
    """Return the k items of highest variance, at most 1/n of a group, and how likely each was.

    Equal variances fall to chance: first within the group, then among all groups.
    """
    order = np.lexsort(
        (rng.random(judged_items.size), -variance[judged_items], group[judged_items])
    )
    items = judged_items[order]
    positions = places_within(group[items])
    quota = (np.bincount(group[judged_items]) // n)[group[items]]
    eligible = items[positions < quota]
    chance = _share_of_equals(group[items], variance[items], positions < quota)[positions < quota]
    best = np.lexsort((rng.random(eligible.size), -variance[eligible]))
    chosen = np.zeros(eligible.size, np.bool_)
    chosen[best[:k]] = True
    chance = chance * _share_of_equals(np.zeros_like(eligible), variance[eligible], chosen)
    return eligible[best[:k]], chance[best[:k]]


def _share_of_equals(group: Codes, variance: Floats, chosen: Flags) -> Floats:
    """Return the share of the items of equal variance in a group that was chosen."""
    _, level = np.unique(variance, return_inverse=True)
    _, equals = np.unique(group * (variance.size + 1) + level, return_inverse=True)
    n = np.bincount(equals)
    return np.asarray((np.bincount(equals, weights=chosen, minlength=n.size) / n)[equals])


def _random_hits(
    group: Codes, items: Codes, n_hits: int, n: int, rng: np.random.Generator
) -> _Hits:
    """Draw HITs of any first item and any others of its group."""
    by_group = _Groups(group, items)
    first = rng.choice(items, n_hits)
    hits = np.empty((n_hits, n), np.int64)
    probability = np.empty(hits.shape)
    for row, item in enumerate(first.tolist()):
        pool = by_group.items(group[item])
        # one more than needed, for the item itself may be among them
        picks = pool[rng.choice(pool.size, n, replace=False)]
        hits[row] = item, *picks[picks != item][: n - 1]
        probability[row] = 1 / items.size, *(1 / (pool.size - np.arange(1, n)))
    return hits, np.full(hits.shape, RANDOM), probability


class _Groups:
    """Items by group."""

    def __init__(self, group: Codes, items: Codes) -> None:
        self._sorted = items[np.argsort(group[items], kind="stable")]
        self._start = np.searchsorted(group[self._sorted], np.arange(group.max(initial=0) + 2))

    def items(self, group: int) -> Codes:
        """Return items of one group."""
        return self._sorted[self._start[group] : self._start[group + 1]]
