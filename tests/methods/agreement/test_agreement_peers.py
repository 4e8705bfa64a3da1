"""Agreement: against plain definitions and the peer package."""

from __future__ import annotations

from dataclasses import astuple
from itertools import combinations

import krippendorff
import numpy as np
import pytest

from annot_pipeline.methods.agreement import krippendorff as alphas
from annot_pipeline.methods.agreement import label_pairs
from annot_pipeline.methods.agreement.krippendorff import krippendorff_alpha
from annot_pipeline.methods.numerics import bootstrap
from annot_pipeline.methods.numerics.bootstrap import Estimate, ItemResamples
from tests.methods.agreement_cases import METRICS, NAN, agree, crowd, from_table, statistics


def plain_nominal(items, judges, labels, weights):
    """Percent, pooled, Cohen and Fleiss from lists, one pair at a time."""
    by_pair, shares, share_weights, n = {}, [], [], {}
    for item, weight in weights.items():
        rows = [(j, k) for i, j, k in zip(items, judges, labels, strict=True) if i == item]
        if not weight:
            continue
        pairs = [sorted(pair) for pair in combinations(rows, 2)]
        for (m, k), (other, c) in pairs:
            if m != other:
                cell = by_pair.setdefault((m, other), {})
                cell[k, c] = cell.get((k, c), 0) + weight
        shares.append(np.mean([a[1] == b[1] for a, b in pairs]))
        share_weights.append(weight)
        for _, k in rows:
            n[k] = n.get(k, 0) + weight
    observed, kappas, agreeing, total = [], [], 0, 0
    for cell in by_pair.values():
        size, same = sum(cell.values()), sum(v for (a, b), v in cell.items() if a == b)
        observed.append(same / size)
        agreeing, total = agreeing + same, total + size
        chance = sum(v * w for (a, _), v in cell.items() for (_, b), w in cell.items() if a == b)
        if chance != size**2:
            kappas.append((same / size - chance / size**2) / (1 - chance / size**2))
    fleiss = NAN
    if len(n) > 1:
        chance = sum(v**2 for v in n.values()) / sum(n.values()) ** 2
        fleiss = (np.average(shares, weights=share_weights) - chance) / (1 - chance)
    return [
        np.mean(observed) if observed else NAN,
        agreeing / total if total else NAN,
        np.mean(kappas) if kappas else NAN,
        fleiss,
    ]


@pytest.mark.parametrize("in_block", [1, 7, None])
@pytest.mark.parametrize("seed", range(12))
def test_values_and_intervals_are_those_of_plain_loops(monkeypatch, seed, in_block):
    if in_block:  # judge pairs in many small blocks, few rounds at a time
        monkeypatch.setattr(label_pairs, "_FEWEST_IN_BLOCK", in_block)
        monkeypatch.setattr(label_pairs, "_MOST_IN_BLOCK", in_block)
        monkeypatch.setattr(label_pairs, "_STEP", in_block)
        monkeypatch.setattr(bootstrap, "_BUDGET", 500)
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    items, judges, labels = (rng.integers(size, size=n) for size in rng.integers(2, 9, size=3))
    result = agree(items, judges, labels, rounds=9, rng=seed)
    codes, counts = np.unique(items, return_counts=True)
    kept = codes[counts > 1].tolist()
    weights = np.concatenate(list(ItemResamples.draw(len(kept), 9, seed).chunks(4)), axis=1)
    plain = np.array(
        [
            plain_nominal(items, judges, labels, dict(zip(kept, w, strict=True)))
            for w in weights.T.astype(int).tolist()
        ]
    )
    found = [
        result.percent_agreement,
        result.pooled_percent_agreement,
        result.cohen_kappa,
        result.fleiss_kappa,
    ]
    for statistic, replicates in zip(found, plain.T, strict=True):
        np.testing.assert_allclose(
            astuple(statistic)[:3],
            astuple(Estimate.from_replicates(replicates)),
            rtol=1e-12,
            atol=1e-12,
        )


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
def test_alpha_is_that_of_the_krippendorff_package(monkeypatch, seed, metric):
    if seed >= 20:
        monkeypatch.setattr(alphas, "_PAIRS_AT_ONCE", 11)  # chunks within units and of values
    table = random_table(seed)
    units, _, numbers = from_table(table)
    result = krippendorff_alpha(units, numbers, n_units=table.shape[1], metric=metric)
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


def test_labels_and_values_give_one_alpha_and_one_interval():
    items, judges, labels = crowd()
    result = agree(items, judges, labels, rounds=50, rng=4)
    for metric in ("nominal", "ordinal"):
        alpha = krippendorff_alpha(items, labels, n_units=60, metric=metric, rounds=50, rng=4)
        found = statistics(result)[f"alpha_{metric}"]
        assert astuple(found)[:3] == astuple(alpha)[:3]
