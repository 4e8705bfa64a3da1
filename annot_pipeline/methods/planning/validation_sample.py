"""A stratified sample of items for people, so that corrected estimates reach a wanted error.

People's answers correct those of a model. The error of the corrected mean comes from how far
people differ from the model (`squares`), item by item, divided by the probability p with which the
item is chosen: variance = sum over items of squares / p + floor. The sample has the fewest items
that bring every estimand's variance down to a target.

Source: Neyman 1934, "On the Two Different Aspects of the Representative Method"; Cochran 1977,
"Sampling Techniques", sections 5.5 (optimum allocation: items in proportion to N_h S_h), 5.8 (more
than all items of a stratum) and 5A.3 (several estimands: one compromise). Items join those of an
earlier sample: an item is in either with p = 1 - (1 - p_earlier) (1 - n_h / N_h), as the draws are
independent (Cochran 1977, section 6.9, on multiple frames, counts units of both once).

**Readings**: S_h is the root mean square of the deviations from the stratum's own mean, as far as
it is known: intervals of `prediction_powered_mean` by strata are of these. The variances of
estimands are added up to allocate items, so that estimands with wide intervals decide. What is
allocated in proportion to S_h is the joined probability: a stratum that the earlier sample covers
well needs no more.

Assumes that items are drawn evenly within a stratum, without replacement, and independently of the
earlier sample. Degenerate input: a stratum without deviations gets the least number of items;
strata of fewer items are drawn whole; a target below what all items together give is not
reached. What does not belong here: what the strata are, and how far people
differ from a model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.numerics.distinct import places_within

LEAST = 2
"""Items drawn from each stratum at least, without which its spread is not known."""
STEPS = 80
"""Halvings of the interval in which the scale of the allocation is looked for."""


@dataclass(frozen=True, eq=False)
class SampledPopulation:
    """Items in cells: those of one stratum and one earlier probability are a cell.

    Parameters
    ----------
    n_items
        ``(n_cells,)`` items of each cell, at least one.
    stratum
        ``(n_cells,)`` codes; every stratum has a cell.
    earlier
        ``(n_cells,)`` probability with which the earlier sample chose each item; 0: there is none.
    squares
        ``(n_estimands, n_cells)`` sum of the squared deviations of a cell's items, divided by the
        square of the number of items that the estimand is a mean of.
    floor
        ``(n_estimands,)`` variance that no answer of people takes away.

    Raises
    ------
    ValueError
        Arrays that do not belong together, empty cells or strata, or probabilities that are none.
    """

    n_items: Codes
    stratum: Codes
    earlier: Floats
    squares: Floats
    floor: Floats

    def __post_init__(self) -> None:
        n_cells = self.n_items.size
        if not n_cells or {self.stratum.size, self.earlier.size} != {n_cells}:
            raise ValueError("cells: one stratum and one probability for each, and at least one")
        if self.squares.shape != (self.floor.size, n_cells):
            raise ValueError("squares: a row for each estimand, a column for each cell")
        if (self.n_items < 1).any() or (np.bincount(self.stratum) < 1).any():
            raise ValueError("a cell or a stratum has no items")
        if (self.earlier < 0).any() or (self.earlier > 1).any() or (self.squares < 0).any():
            raise ValueError("probabilities lie between 0 and 1, squares are at least 0")

    @property
    def stratum_sizes(self) -> Codes:
        """Return the items of each stratum, ``(n_strata,)``."""
        return np.bincount(self.stratum, self.n_items).astype(np.int64)

    @property
    def spreads(self) -> Floats:
        """Return S_h of each stratum, over all estimands together, ``(n_strata,)``."""
        by_stratum = np.bincount(self.stratum, self.squares.sum(axis=0))
        return np.asarray(np.sqrt(by_stratum / self.stratum_sizes), np.float64)


@dataclass(frozen=True, eq=False)
class ValidationSample:
    """How many items are drawn, and what that is expected to give.

    Parameters
    ----------
    allocation
        ``(n_strata,)`` items to draw from each stratum, those that people judged before among them.
    variance
        ``(n_estimands,)`` expected of the joined sample.
    target
        Wanted variance.
    """

    allocation: Codes
    variance: Floats
    target: float

    @property
    def n_items(self) -> int:
        """Return the number of items to draw."""
        return int(self.allocation.sum())


def joined_probability(earlier: Floats, share: Floats) -> Floats:
    """Return the probability of being in either of two independent samples."""
    return np.asarray(1 - (1 - earlier) * (1 - share), np.float64)


def shrunk_squares(
    squares: Floats, weights: Floats, stratum: Codes, *, n_strata: int, prior: float
) -> Floats:
    """Return the mean squared deviation of each stratum, shrunk to that of all, ``(n_strata,)``.

    (sum of the stratum's squares + prior x overall mean) / (number of the stratum's + prior).

    Parameters
    ----------
    squares, stratum
        ``(n,)`` of answers of people; codes of strata.
    weights
        ``(n,)`` 1 / the probability with which each was chosen.
    n_strata
        Number of strata, those without answers among them.
    prior
        Answers that the overall mean counts for.
    """
    overall = float(np.average(squares, weights=weights)) if squares.size else 0.0
    total = np.bincount(stratum, squares, n_strata)
    n = np.bincount(stratum, minlength=n_strata)
    return np.asarray((total + prior * overall) / (n + prior), np.float64)


def expected_variance(population: SampledPopulation, allocation: Codes) -> Floats:
    """Return the variance of each estimand once so many items are drawn from each stratum.

    Infinite where an item with deviations could not be chosen by any of the samples.
    """
    share = (allocation / population.stratum_sizes)[population.stratum]
    probability = joined_probability(population.earlier, share)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(population.squares > 0, population.squares / probability, 0.0)
    return np.asarray(terms.sum(axis=1) + population.floor, np.float64)


def validation_sample(
    population: SampledPopulation, target: float, *, most: int | None = None
) -> ValidationSample:
    """Return the smallest sample by optimum allocation whose variances are at most the target.

    Parameters
    ----------
    population
        The items.
    target
        Wanted variance of every estimand; where it is below what all items give, all are drawn.
    most
        Items to draw at most; None: all. Each stratum gets its least number even so.
    """

    def is_enough(allocation: Codes) -> bool:
        return bool((expected_variance(population, allocation) <= target).all())

    low, high = 0.0, _whole_scale(population)
    if is_enough(_allocation(population, low)):
        high = low
    for _ in range(STEPS if high > low else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(_allocation(population, middle)) else (middle, high)
    allocation = _allocation(population, high)
    if most is not None and allocation.sum() > most:
        allocation = allocation_of_size(population, most)
    return ValidationSample(allocation, expected_variance(population, allocation), target)


def allocation_of_size(population: SampledPopulation, most: int) -> Codes:
    """Return the largest optimum allocation of at most so many items, ``(n_strata,)``.

    Each stratum gets its least number, even if that is more in all.
    """
    low, high = 0.0, _whole_scale(population)
    if _allocation(population, high).sum() <= most:
        low = high
    for _ in range(STEPS if high > low else 0):
        middle = (low + high) / 2
        fits = _allocation(population, middle).sum() <= most
        low, high = (middle, high) if fits else (low, middle)
    return _allocation(population, low)


def draw_strata(stratum: Codes, allocation: Codes, rng: np.random.Generator) -> Flags:
    """Return which items are drawn, evenly within each stratum and without replacement.

    Parameters
    ----------
    stratum
        ``(n_items,)`` codes; -1: never drawn.
    allocation
        ``(n_strata,)`` items to draw from each.
    rng
        Decides; the same generator and strata give the same items.
    """
    order = np.lexsort((rng.random(stratum.size), stratum))
    ordered = stratum[order]
    rank = places_within(ordered)
    is_drawn = np.zeros(stratum.size, np.bool_)
    quota = np.append(allocation, 0)[ordered]  # of code -1, the last: none
    is_drawn[order[rank < quota]] = True
    return is_drawn


def _whole_scale(population: SampledPopulation) -> float:
    """Return a scale at which every stratum with deviations is drawn whole."""
    spreads = population.spreads
    return float(1 / spreads[spreads > 0].min()) if (spreads > 0).any() else 0.0


def _allocation(population: SampledPopulation, scale: float) -> Codes:
    """Return the items of each stratum at which the joined probability is scale x S_h.

    It is at least what the earlier sample gives to all items of the stratum, and at most 1.
    """
    sizes = population.stratum_sizes
    earlier = np.ones(sizes.size)
    np.minimum.at(earlier, population.stratum, population.earlier)
    joined = np.clip(scale * population.spreads, earlier, 1)
    is_certain = earlier >= 1
    share = np.where(is_certain, 0.0, (joined - earlier) / np.where(is_certain, 1.0, 1 - earlier))
    target = np.ceil(sizes * share - 1e-9).astype(np.int64)
    least = np.where(is_certain, 0, np.minimum(LEAST, sizes))
    return np.asarray(np.clip(target, least, sizes), np.int64)
