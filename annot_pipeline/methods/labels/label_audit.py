"""A certificate for labels: a random sample that experts answered bounds how many are wrong.

Labels stand in nested sets, those with a probability of at least a level (`LEVELS`). The sample is
drawn from the strictest set with `ROOM` times as many items, evenly within strata between levels.
A level holds if the one-sided bound of the share of wrong labels above it is at most 1 - certain_at
(`CONFIDENCE`). Levels are tested from the strictest down, up to the first that does not hold: a
fixed sequence, so that the chance to certify any level wrongly is at most 1 - `CONFIDENCE`
(Angelopoulos et al. 2021, "Learn then Test", section 4). Levels and strata follow from the
probabilities and the size of the sample alone, never from answers.

The bound is Clopper & Pearson's (1934) of the errors in all strata together, times the largest
ratio of a stratum's share of the items to its share of the sample. It holds without replacement:
errors in a stratum are a sum of independent trials (Vatutin & Mikhailov 1982), and with the same
mean, so few errors are most probable where all trials are alike (Hoeffding 1956, theorem 4).
Where the sample is all items of a level, its share of errors is known.

**Readings**: the labels are fixed before the sample is drawn, and no answer of the sample takes
part in them. A bound says nothing of labels that are made otherwise afterwards, nor of one more
sample of the same labels. What does not belong here: which answers are of which labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from annot_pipeline.arrays import Codes, Floats

LEVELS = (0.99, 0.98, 0.97, 0.95, 0.93, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.0)
CONFIDENCE = 0.95
ROOM = 1.5
"""Items, at least, of the set that is sampled, for each item of the sample."""
LEAST_SHARE = 0.5
"""Of the sample above the first level that is tested: fewer answers would fail by chance."""


def level_bands(probability: Floats) -> Codes:
    """Return ``(n_items,)`` places in `LEVELS` of the strictest level that each item reaches."""
    return np.asarray(np.searchsorted(-np.array(LEVELS), -probability))


def error_bound(errors: int, n: int) -> float:
    """Return the upper bound of the share of errors, by `errors` in a random sample of n."""
    return 1.0 if errors >= n else float(betaincinv(errors + 1, n - errors, CONFIDENCE))


def fewest_items(certain_at: float, errors: int = 0) -> int:
    """Return the size of the smallest sample with so many errors by which a level holds."""
    n = errors + 1
    while error_bound(errors, n) > 1 - certain_at:
        n += 1
    return n


@dataclass(frozen=True, eq=False)
class AuditDesign:
    """Levels that are tested, from the strictest to the loosest, and the strata between them.

    Parameters
    ----------
    bands
        ``(n_levels,)`` places in `LEVELS`: stratum k holds the items that reach level k, and not
        the one before; no other item is drawn.
    sizes, drawn
        ``(n_levels,)`` items of each stratum, and those drawn.
    """

    bands: Codes
    sizes: Codes
    drawn: Codes

    def by_stratum(self, counts: Codes) -> Codes:
        """Return counts by stratum, of counts by band."""
        return np.diff(np.cumsum(counts)[self.bands], prepend=0)

    def strata(self, bands: Codes) -> Codes:
        """Return the stratum of items by their band; -1: never drawn."""
        stratum = np.searchsorted(self.bands, bands)
        return np.where(stratum < self.bands.size, stratum, -1)


@dataclass(frozen=True)
class LevelTest:
    """A level, its part of the sample, and the bound of the share of its labels that are wrong."""

    level: float
    n: int
    errors: int
    bound: float


def audit_design(counts: Codes, n: int, certain_at: float) -> AuditDesign | None:
    """Return which items are drawn; None where no sample of so many can certify a level.

    Parameters
    ----------
    counts
        ``(len(LEVELS),)`` items by band.
    n
        Items to draw at most.
    certain_at
        Share of labels that must be right.
    """
    above = np.cumsum(counts)
    needed = fewest_items(certain_at)
    loosest = int(np.argmax(above >= min(ROOM * n, above[-1])))
    n = min(n, int(above[loosest]))
    if n < needed:
        return None
    rate, bands = n / above[loosest], [loosest]
    for band in range(loosest - 1, -1, -1):
        is_large = rate * above[band] >= max(needed, LEAST_SHARE * n)
        if is_large and rate * (above[bands[0]] - above[band]) >= 1:
            bands.insert(0, band)
    sizes = np.diff(above[bands], prepend=0)
    drawn = np.floor(rate * sizes + 1e-9).astype(np.int64)
    drawn[np.argsort(drawn - rate * sizes, kind="stable")[: n - drawn.sum()]] += 1
    return AuditDesign(np.array(bands), sizes, drawn)


def level_tests(design: AuditDesign, errors: Codes, certain_at: float) -> Iterator[LevelTest]:
    """Yield tests of the levels, up to the first that does not hold.

    Parameters
    ----------
    design
        Whose sample was answered in full.
    errors
        ``(n_levels,)`` wrong labels among the answers of each stratum.
    certain_at
        Share of labels that must be right.
    """
    for k, band in enumerate(design.bands.tolist(), start=1):
        n, wrong = int(design.drawn[:k].sum()), int(errors[:k].sum())
        shares = design.sizes[:k] / design.sizes[:k].sum()
        if n == design.sizes[:k].sum():
            bound = wrong / n  # all were answered: no sample, no doubt
        else:
            bound = min(error_bound(wrong, n) * float((shares * n / design.drawn[:k]).max()), 1.0)
        yield LevelTest(LEVELS[band], n, wrong, bound)
        if bound > 1 - certain_at:
            return


def certify(
    items: Codes, n: int, answered: Codes, wrong: Codes, certain_at: float
) -> tuple[LevelTest | None, str]:
    """Return the loosest level that holds with all stricter ones, else the first, and why not.

    Parameters
    ----------
    items
        ``(len(LEVELS),)`` items by band.
    n
        Items of the sample.
    answered, wrong
        ``(len(LEVELS),)`` items of the sample with an answer, and those whose label is wrong.
    certain_at
        Share of labels that must be right.
    """
    if n_missing := n - int(answered.sum()):
        return None, f"{n_missing:,} of {n:,} sampled items without an answer"
    design = audit_design(items, n, certain_at)
    if design is None or (design.by_stratum(answered) != design.drawn).any():
        return None, "the answers are not to the items that were drawn"
    tests = [*level_tests(design, design.by_stratum(wrong), certain_at)]
    if holding := [test for test in tests if test.bound <= 1 - certain_at]:
        return holding[-1], ""
    [first] = tests
    return first, (
        f"{first.errors:,} of {first.n:,} labels above {first.level:g} wrong, so up to "
        f"{first.bound:.1%} may be; {certain_at:g} takes {fewest_items(certain_at, first.errors):,}"
        f" items with as many errors, or {fewest_items(certain_at):,} without one"
    )
