"""Agreement: against plain definitions and the peer package."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.numerics.bootstrap import Estimate, ItemResamples
from tests.methods.agreement_cases import METRICS, NAN, agree, crowd, from_table, statistics


def random_table(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers((2, 2), (8, 25)))
    kinds = [
        rng.integers(0, rng.integers(2, 8), shape).astype(float),
        rng.uniform(0, 100, shape),
        np.round(rng.normal(20, 6, shape)),
        np.round(rng.normal(0, 2, shape)),  # zeros, and sums of zero
    ]
    table = kinds[seed % 4]
    table[rng.random(shape) < rng.uniform(0, 0.6)] = NAN
    return table


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(40))
def test_alpha_is_that_of_the_krippendorff_package(seed, metric):
    sizes = {"pairs_at_once": 11} if seed >= 20 else {}  # chunks within units and of values
    table = random_table(seed)
    units, _, numbers = from_table(table)
    result = krippendorff_alpha(units, numbers, n_units=table.shape[1], metric=metric, **sizes)
    if not result.n_units or len(set(numbers[np.bincount(units)[units] > 1])) < 2:
        assert np.isnan(result.value)
        return
    peer = krippendorff.alpha(table, level_of_measurement=metric)
    assert result.value == pytest.approx(peer, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_each_round_of_alpha_is_alpha_of_the_resample(monkeypatch, metric):
    table = random_table(2)
    units, _, numbers = from_table(table)
    seen = []
    monkeypatch.setattr(
        Estimate, "from_replicates", lambda r: seen.append(r) or Estimate(*r[[0, 1, 2]])
    )
    krippendorff_alpha(units, numbers, n_units=table.shape[1], metric=metric, rounds=20, rng=3)
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    weights = np.concatenate(list(ItemResamples.draw(table.shape[1], 20, 3).chunks(7)), axis=1)
    peers = [
        krippendorff.alpha(np.repeat(table, w, axis=1), level_of_measurement=metric)
        for w in weights.T.astype(int)
    ]
    np.testing.assert_allclose(seen[0], peers, rtol=1e-9, atol=1e-12)


def test_labels_and_values_give_one_alpha():
    items, judges, labels = crowd()
    result = agree(items, judges, labels)
    for metric in ("nominal", "ordinal"):
        alpha = krippendorff_alpha(items, labels, n_units=60, metric=metric)
        assert statistics(result)[f"alpha_{metric}"].value == pytest.approx(alpha.value, rel=1e-12)
