"""Sign tests over judges, of systems of which one never lost to the other (Ford 1957)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.numerics.blocks import Blocks
from annot_pipeline.methods.rankings.adjusted_comparisons import ComparisonBlock


@dataclass(frozen=True)
class SignTests:
    """Components of which one never lost to the other, by judges who compared them.

    Parameters
    ----------
    better, worse
        ``(n_pairs,)`` codes of components that were compared directly.
    n_judges, n_for
        Judges who preferred either, and those who preferred the better one, over all of the
        judge's comparisons of the two.
    p_value
        One-sided, that judges prefer either alike.
    """

    better: Codes
    worse: Codes
    n_judges: Codes
    n_for: Codes
    p_value: Floats


def sign_tests(blocks: Blocks[ComparisonBlock], component: Codes) -> SignTests:
    """Test whether judges agree on the order of components that a size cannot be told of.

    Parameters
    ----------
    blocks
        Comparisons of one task.
    component
        ``(K,)`` strongly connected components.
    """
    from scipy.special import bdtrc

    by_block = blocks.map(_judge_preferences, component)
    keys, sums = (np.concatenate(arrays) for arrays in zip(*by_block, strict=True))
    keys, key_codes = np.unique(keys, return_inverse=True)
    sums = np.bincount(key_codes.reshape(-1), sums, keys.size)
    n_components = int(component.max(initial=-1)) + 1
    pair = keys % n_components**2
    pairs, pair_codes = np.unique(pair, return_inverse=True)
    pair_codes = pair_codes.reshape(-1)
    first = np.bincount(pair_codes, sums > 0, pairs.size).astype(np.int64)
    second = np.bincount(pair_codes, sums < 0, pairs.size).astype(np.int64)
    is_first = np.bincount(pair_codes, sums, pairs.size) > 0
    lower, upper = pairs // max(n_components, 1), pairs % max(n_components, 1)
    n_for, n = np.where(is_first, first, second), first + second
    return SignTests(
        np.where(is_first, lower, upper),
        np.where(is_first, upper, lower),
        n,
        n_for,
        np.where(n_for > 0, bdtrc(n_for - 1, np.maximum(n, 1), 0.5), 1.0),
    )


def _judge_preferences(block: ComparisonBlock, component: Codes) -> tuple[Codes, Floats]:
    """Return judge and pair of components as one code, and how far the lower code is preferred."""
    n_components = int(component.max(initial=-1)) + 1
    first, second = component[block.first], component[block.second]
    differ = first != second
    first, second, judges = first[differ], second[differ], block.judges[differ]
    sign = np.where(first < second, 1.0, -1.0) * (block.preferences[differ] - 0.5)
    lower, upper = np.minimum(first, second), np.maximum(first, second)
    codes = (judges * n_components + lower) * n_components + upper
    keys, key_codes = np.unique(codes, return_inverse=True)
    return keys, np.asarray(np.bincount(key_codes.reshape(-1), sign, keys.size), np.float64)
