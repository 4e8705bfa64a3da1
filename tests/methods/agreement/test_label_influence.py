"""Influence values of agreement on labels: derivatives of plain loops over pairs of labels."""

# ruff: noqa: ARG001, ARG002, ARG005 - weights and distances of all statistics have one signature

from __future__ import annotations

from dataclasses import astuple, replace
from itertools import combinations

import numpy as np
import pytest

from annot_pipeline.methods.agreement.label_agreement import (
    NAMES,
    label_agreement,
    nominal_agreement,
)
from annot_pipeline.methods.agreement.label_block import JudgePairs, LabelBlock, influence_sums
from annot_pipeline.methods.agreement.label_sums import (
    Coefficient,
    chance_coefficients,
    cohen_coefficient,
    judge_shares,
    label_totals,
    meetings,
    mid_ranks,
    ordinal_sums,
)
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks

ITEMS, JUDGES, LABELS = 9, 5, 4


class PlainLoops:
    """Statistics by loops over pairs of labels, with weights of items, judges and cells."""

    def __init__(self, items, judges, labels):
        self.rows = [*zip(items.tolist(), judges.tolist(), labels.tolist(), strict=True)]
        self.n = np.bincount(items, minlength=ITEMS)
        self.pairs = [
            (a, b)
            for a, b in combinations(range(len(self.rows)), 2)
            if self.rows[a][0] == self.rows[b][0] and self.rows[a][1] != self.rows[b][1]
        ]
        self.n_pairs = np.bincount([self.rows[a][0] for a, _ in self.pairs], minlength=ITEMS)
        self.met = {}
        for a, b in self.pairs:
            key = frozenset((self.rows[a][1], self.rows[b][1]))
            self.met[key] = self.met.get(key, 0) + 1
        self.partners = [sum(i == j and m != o for j, o, _ in self.rows) for i, m, _ in self.rows]

    def values(self, by_item, by_judge, by_cell):
        """All statistics, by name."""

        def label(row):
            i, m, _ = self.rows[row]
            return by_item[i] * by_judge[m] * by_cell[i, m]

        n = sum(self.n_pairs[i] > 0 for i, _, _ in self.rows)
        shares, even = np.zeros(LABELS), np.zeros(LABELS)
        for row, (i, _, k) in enumerate(self.rows):
            even[k] += label(row) / self.n[i]
            shares[k] += label(row) * (self.n_pairs[i] > 0)
        shares, even = shares / shares.sum(), even / even.sum()
        ranks = np.cumsum(shares) - shares / 2 - 0.5
        own = self.own_shares(by_item, by_judge, by_cell)

        def mean(weight, distance):
            total = whole = 0.0
            for a, b in self.pairs:
                (i, m, k), (_, o, c) = self.rows[a], self.rows[b]
                both = label(a) * by_judge[o] * by_cell[i, o]
                total += weight(i, m, o) * both * distance(m, o, k, c)
                whole += weight(i, m, o) * both
            return total / whole

        def differ(m, o, k, c):
            return float(k != c)

        by_items = mean(lambda i, m, o: 1 / self.n_pairs[i], differ)
        by_labels = mean(lambda i, m, o: self.n[i] / self.n_pairs[i], differ)
        pooled = mean(lambda i, m, o: 1, differ)
        chance = mean(lambda i, m, o: 1, lambda m, o, k, c: own[m] @ own[o])
        unlike = 1 - (shares**2).sum()
        width = LABELS - 1
        squares = mean(
            lambda i, m, o: 1 / self.n_pairs[i],
            lambda m, o, k, c: ((k - c) / width) ** 2,
        )
        credit = sum(1 - ((k - c) / width) ** 2 for k in range(LABELS) for c in range(LABELS))
        spread = mean(
            lambda i, m, o: self.n[i] / self.n_pairs[i],
            lambda m, o, k, c: (ranks[k] - ranks[c]) ** 2,
        )
        hetero = (even * (1 - even)).sum() / (LABELS - 1)
        return {
            "pooled_percent_agreement": 1 - pooled,
            "percent_agreement": 1 - mean(
                lambda i, m, o: 1 / self.met[frozenset((m, o))], differ
            ),
            "cohen_kappa": 1 - pooled / (1 - chance),
            "fleiss_kappa": 1 - by_items / unlike,
            "alpha_nominal": 1 - by_labels / unlike * (n - 1) / n,
            "gwet_ac1": 1 - by_items / (1 - hetero),
            "gwet_ac2": 1 - squares / (1 - credit / LABELS * hetero),
            "alpha_ordinal": 1 - spread / (2 * (shares * ranks**2).sum()) * (n - 1) / n,
        }  # fmt: skip

    def own_shares(self, by_item, by_judge, by_cell):
        """Shares of each judge's labels, a label as often as others labelled its item."""
        shares = np.zeros((JUDGES, LABELS))
        for row, (i, m, k) in enumerate(self.rows):
            shares[m, k] += by_item[i] * by_cell[i, m] * self.partners[row]
        return shares / np.maximum(shares.sum(axis=1), 1e-300)[:, None]


def random_labels(seed, repeats):
    rng = np.random.default_rng(seed)
    items, judges = (rng.integers(size, size=34) for size in (ITEMS, JUDGES))
    if not repeats:
        _, rows = np.unique(items * JUDGES + judges, return_index=True)
        items, judges = items[rows], judges[rows]
    return items, judges, rng.integers(LABELS, size=items.size)


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_plain_loops(seed, repeats):
    rows = random_labels(seed, repeats)
    sizes = {"n_items": ITEMS, "n_judges": JUDGES, "n_labels": LABELS}
    result = nominal_agreement(*rows, **sizes)
    plain = PlainLoops(*rows)
    expected = plain.values(np.ones(ITEMS), np.ones(JUDGES), np.ones((ITEMS, JUDGES)))
    for name in NAMES:
        assert getattr(result, name).value == pytest.approx(expected[name], rel=1e-12), name


@pytest.mark.parametrize(("seed", "repeats"), [(0, False), (1, True)])
def test_influence_values_are_derivatives(seed, repeats):
    rows = random_labels(seed, repeats)
    block = LabelBlock.from_codes(LabelCodes(*rows, ITEMS, JUDGES, LABELS))
    block = replace(block, shares_at_once=9, pairs_at_once=7)
    totals = label_totals(block, True, True)
    scores, shares = mid_ranks(totals.labels), judge_shares(totals)
    coefficients = chance_coefficients(totals, (scores, ordinal_sums(block, scores)))
    cohen = cohen_coefficient(totals, shares, meetings(block, shares))
    plain = PlainLoops(*rows)
    ones = [np.ones(ITEMS), np.ones(JUDGES), np.ones((ITEMS, JUDGES))]
    values = plain.values(*ones)
    weights = np.zeros((JUDGES, JUDGES))
    for (m, o), n in plain.met.items():
        weights[m, o] = weights[o, m] = 1 / n / len(plain.met)
    mean = Coefficient("pairs", 1.0, 1 - values["percent_agreement"], 1.0)
    sums = influence_sums(block, [*coefficients.values()], cohen, (mean, JudgePairs(weights)))
    names = [*coefficients, "cohen_kappa", "percent_agreement"]
    gradients = [derivatives(plain, ones, which) for which in range(3)]
    for row, name in enumerate(names):
        by_item, by_judge, by_cell = (gradient[name] for gradient in gradients)
        assert sums.items[row] == pytest.approx((by_item**2).sum(), rel=1e-5, abs=1e-12), name
        assert sums.items_fourth[row] == pytest.approx((by_item**4).sum(), rel=1e-5, abs=1e-15)
        assert sums.judges[row] == pytest.approx(by_judge.ravel(), rel=1e-5, abs=1e-9), name
        assert sums.cells[row] == pytest.approx((by_cell**2).sum(), rel=1e-5, abs=1e-12), name


def derivatives(plain, ones, which, step=1e-4):
    """Central differences of all statistics by one kind of weights."""
    gradients = {name: np.zeros(ones[which].shape) for name in NAMES}
    for place in np.ndindex(ones[which].shape):
        ends = []
        for sign in (1, -1):
            moved = [weights.copy() for weights in ones]
            moved[which][place] += sign * step
            ends.append(plain.values(*moved))
        for name, gradient in gradients.items():
            gradient[place] = (ends[0][name] - ends[1][name]) / (2 * step)
    return gradients


@pytest.mark.parametrize("n_blocks", [2, 5])
def test_blocks_of_items_give_what_one_block_gives(n_blocks):
    """With repeats; with one judge pair table, and with judges compared some at a time."""
    items, judges, labels = random_labels(3, repeats=True)
    items = np.concatenate([items, ITEMS + items, 2 * ITEMS + items])
    judges, labels = np.tile(judges, 3), np.concatenate([labels, labels[::-1], 3 - labels])
    sizes = {"n_judges": JUDGES, "n_labels": LABELS, "ordinal": True}
    n_items = 3 * ITEMS
    whole = LabelBlock.from_codes(LabelCodes(items, judges, labels, n_items, JUDGES, LABELS))
    blocks = []
    for some in np.array_split(np.arange(n_items), n_blocks):
        rows = np.isin(items, some)
        local = items[rows] - some[0]
        codes = LabelCodes(local, judges[rows], labels[rows], some.size, JUDGES, LABELS)
        blocks.append(LabelBlock.from_codes(codes))
    one = label_agreement(InMemoryBlocks([whole]), **sizes)
    several = label_agreement(InMemoryBlocks(blocks), **sizes)
    assert one.n_judge_pairs == several.n_judge_pairs == 10
    for name in NAMES:
        first, second = (astuple(getattr(result, name)) for result in (one, several))
        assert second[:3] == pytest.approx(first[:3], rel=1e-12)
        assert second[3:] == first[3:]
        assert not np.isnan(first[:3]).any()
    spans = label_agreement(InMemoryBlocks(blocks), **sizes, most_judges=2, pairs_at_once=20)
    assert spans.n_judge_pairs == 10
    assert spans.percent_agreement.value == pytest.approx(one.percent_agreement.value, rel=1e-12)
    assert spans.percent_agreement.reason.startswith("too many judges")


def test_too_many_judges_and_classes_have_no_kappa_of_cohen():
    rows = random_labels(3, repeats=True)
    sizes = {"n_items": ITEMS, "n_judges": JUDGES, "n_labels": LABELS}
    plain = nominal_agreement(*rows, **sizes)
    less = nominal_agreement(*rows, **sizes, most_shares=JUDGES * LABELS - 1)
    assert np.isnan(less.cohen_kappa.value)
    assert less.cohen_kappa.reason == "too many judges and classes"
    missing = {"cohen_kappa": plain.cohen_kappa}
    assert repr(replace(less, **missing)) == repr(plain)
