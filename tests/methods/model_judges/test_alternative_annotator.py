"""The alternative annotator test: worked by hand, in another order, and where nothing is tested."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_1samp

from annot_pipeline.methods.model_judges.alternative_annotator import alternative_annotator_test
from annot_pipeline.methods.numerics.multiplicity import adjust


def crowd(rng, n_items=80, n_judges=5, accuracy=0.8):
    truth = rng.integers(0, 3, n_items)
    items, judges = np.repeat(np.arange(n_items), n_judges), np.tile(np.arange(n_judges), n_items)
    right = rng.random(items.size) < accuracy
    labels = np.where(right, truth[items], rng.integers(0, 3, items.size)).astype(float)
    return items, judges, labels, truth.astype(float)


def test_three_items_by_hand():
    """Judges 0, 1, 2; the model says 7 of all items.

    Item 0: answers 7, 7, 8. For judge 0 the others say 7, 8: judge and model agree with one each.
    For judge 1 likewise. For judge 2 the others say 7, 7: the judge has none, the model both.
    Item 1: answers 8, 8, 8: judges agree with both others, the model with none.
    Item 2: judge 0 alone: nobody to compare with.
    """
    items, judges = np.array([0, 0, 0, 1, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 2, 0])
    answers = np.array([7, 7, 8, 8, 8, 8, 7.0])
    test = alternative_annotator_test(
        items, judges, answers, np.full(3, 7.0), kind="labels", epsilon=0.1, least_items=2
    )
    assert test.n_items.tolist() == [2, 2, 2]
    assert test.model_advantages.tolist() == [0.5, 0.5, 0.5]
    assert test.judge_advantages.tolist() == [1, 1, 0.5]
    assert test.advantage_probability == 0.5
    assert test.winning_rate == 0


def test_scores_by_hand():
    """For judge 0 (score 4) the others gave 5 and 9: distances 1 and 25; the model's 7: 4 and 4."""
    items, judges = np.zeros(3, np.int64), np.arange(3)
    test = alternative_annotator_test(
        items, judges, np.array([4.0, 5, 9]), np.array([7.0]), kind="scores", epsilon=0.2,
        least_items=1,
    )  # fmt: skip
    # judge 1: others 4 and 9: 1 + 16 against 9 + 4; judge 2: others 4 and 5: 25 + 16 against 9 + 4
    assert test.model_advantages.tolist() == [1, 1, 1]
    assert test.judge_advantages.tolist() == [0, 0, 0]


def test_p_values_are_those_of_scipy():
    items, judges, labels, truth = crowd(np.random.default_rng(1))
    test = alternative_annotator_test(items, judges, labels, truth, kind="labels", epsilon=0.1)
    table = labels.reshape(80, 5)
    for judge in range(5):
        others = np.delete(table, judge, axis=1)
        human = (others == table[:, [judge]]).mean(axis=1)
        model = (others == truth[:, None]).mean(axis=1)
        difference = (human >= model).astype(float) - (model >= human)
        expected = ttest_1samp(difference, 0.1, alternative="less").pvalue
        assert test.p_values[judge] == pytest.approx(expected, rel=1e-9)
    wins = false_discovery_control(test.p_values, method="by") < 0.05
    assert test.wins.tolist() == wins.tolist()
    assert test.winning_rate == wins.mean() > 0


def test_benjamini_yekutieli_is_that_of_scipy():
    p = np.random.default_rng(2).beta(0.5, 3, 40)
    assert adjust(p, "benjamini_yekutieli") == pytest.approx(
        false_discovery_control(p, method="by")
    )


def test_neither_the_order_of_rows_nor_codes_count():
    rng = np.random.default_rng(3)
    items, judges, labels, truth = crowd(rng, n_items=50)
    first = alternative_annotator_test(items, judges, labels, truth, kind="labels", epsilon=0.1)
    order, codes = rng.permutation(items.size), rng.permutation(50)
    model = np.empty(50)
    model[codes] = truth
    second = alternative_annotator_test(
        codes[items[order]], judges[order], labels[order], model, kind="labels", epsilon=0.1
    )
    assert second.p_values == pytest.approx(first.p_values, rel=1e-12)
    assert second.winning_rate == first.winning_rate


def test_shifted_scores_have_the_same_ties():
    """Sums of squares far from 0 lose digits: .1 and .3 from .2 are equally far."""
    items, judges = np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    scores = np.tile([0.1, 0.2], 40)
    for shift in (0.0, 100.0):
        test = alternative_annotator_test(
            items, judges, scores + shift, np.full(40, 0.3 + shift), kind="scores", epsilon=0.1
        )
        # judge 0 is as far from judge 1 as the model; judge 1 is nearer to judge 0 than the model
        assert test.model_advantages.tolist() == [1, 0]
        assert test.judge_advantages.tolist() == [1, 1]


def test_few_items_test_nobody():
    items, judges, labels, truth = crowd(np.random.default_rng(4), n_items=29)
    test = alternative_annotator_test(items, judges, labels, truth, kind="labels", epsilon=0.1)
    assert np.isnan(test.winning_rate)
    assert np.isnan(test.p_values).all()
    nothing = np.full(29, np.nan)
    test = alternative_annotator_test(items, judges, labels, nothing, kind="labels", epsilon=0.1)
    assert test.n_items.tolist() == [0] * 5
    assert np.isnan(test.advantage_probability)


def test_two_answers_of_a_judge_are_refused():
    with pytest.raises(ValueError, match="two answers"):
        alternative_annotator_test(
            np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2), np.zeros(1),
            kind="labels", epsilon=0.1,
        )  # fmt: skip
