"""Judges of labels against the others: by permutations, on simulated judges, and by hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from annot_pipeline.methods.judges.label_chance import LabelChance, label_chance

Codes = npt.NDArray[np.int64]
Answers = tuple[Codes, Codes, Codes]


def simulated(
    rng: np.random.Generator,
    n_items: int,
    accuracy: npt.NDArray[np.float64],
    per_item: int,
    n_labels: int,
    random: tuple[int, ...] = (),
) -> Answers:
    """Draw answers of judges with their accuracies; random judges do not look at the item."""
    truth = rng.integers(0, n_labels, n_items)
    items = np.repeat(np.arange(n_items), per_item)
    judges = np.concatenate([rng.permutation(accuracy.size)[:per_item] for _ in range(n_items)])
    wrong = (truth[items] + rng.integers(1, n_labels, items.size)) % n_labels
    labels = np.where(rng.random(items.size) < accuracy[judges], truth[items], wrong)
    is_random = np.isin(judges, random)
    labels[is_random] = rng.integers(0, n_labels, is_random.sum())
    return items, judges, labels


def chance_of(answers: Answers, n_judges: int, n_labels: int, **more: object) -> LabelChance:
    items, judges, labels = answers
    sizes = {"n_items": int(items.max()) + 1, "n_judges": n_judges, "n_labels": n_labels}
    return label_chance(items, judges, labels, **sizes, **more)  # type: ignore[arg-type]


def permuted(
    answers: Answers, judge: int, n_labels: int, rng: np.random.Generator, rounds: int
) -> tuple[float, float, float]:
    """Return the statistic, and the mean and variance of it over permutations drawn."""
    items, judges, labels = answers
    counts = np.zeros((items.max() + 1, n_labels))
    np.add.at(counts, (items, labels), 1)
    mine = judges == judge
    own = labels[mine]
    others = counts[items[mine]] - np.eye(n_labels)[own]
    shared = others.sum(axis=1) > 0
    shares = others[shared] / others[shared].sum(axis=1, keepdims=True)
    own, rows = own[shared], np.arange(shared.sum())
    drawn = np.array([shares[rows, rng.permutation(own)].sum() for _ in range(rounds)])
    return shares[rows, own].sum(), drawn.mean(), drawn.var()


@pytest.mark.parametrize("n_labels", [2, 5])
def test_mean_and_variance_are_those_of_permutations(n_labels: int) -> None:
    rng = np.random.default_rng(17)
    answers = simulated(rng, 60, rng.uniform(0.5, 0.9, 6), 3, n_labels, random=(0,))
    chance = chance_of(answers, 6, n_labels)
    for judge in range(6):
        statistic, mean, variance = permuted(answers, judge, n_labels, rng, 4_000)
        assert chance.agreement[judge] == pytest.approx(statistic)
        assert chance.expected[judge] == pytest.approx(mean, abs=4 * np.sqrt(variance / 4_000))
        assert chance.variance[judge] == pytest.approx(variance, rel=0.1)


def test_two_judges_by_hand() -> None:
    """Judge 0: a, b; judge 1: a, b. T = 2; the other order has 0: mean 1, variance 1."""
    answers = (np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    chance = chance_of(answers, 2, 2)
    assert chance.agreement.tolist() == [2, 2]
    assert chance.expected.tolist() == [1, 1]
    assert chance.variance.tolist() == [1, 1]
    assert chance.skill.tolist() == [1, 1]
    # z is 1, as the best has it: density .2420 by chance, .3989 by care, .3521 by half the skill
    assert np.exp(chance.log_odds_of_chance(1.0)) == pytest.approx([0.6065] * 2, abs=1e-4)
    assert np.exp(chance.log_odds_of_chance(0.5)) == pytest.approx([0.6873] * 2, abs=1e-4)
    assert np.isnan(chance.log_constant).all()


def test_one_answer_throughout_never_varies() -> None:
    """Others: a a b on each of two items; one vote is added, as all answers are: 6.5/9 a."""
    items = np.repeat([0, 1], 4)
    judges, labels = np.tile([0, 1, 2, 3], 2), np.tile([0, 0, 0, 1], 2)
    chance = chance_of((items, judges, labels), 4, 2)
    assert chance.variance.tolist() == [0, 0, 0, 0]
    assert chance.z.tolist() == [0, 0, 0, 0]
    assert chance.log_odds_of_chance(0.5).tolist() == [np.inf] * 4
    assert chance.log_constant[0] == pytest.approx(2 * np.log((2 + 6.5 / 9) / 4))
    assert chance.log_constant[3] == pytest.approx(2 * np.log(2.5 / 9 / 4))


def test_a_rare_class_makes_no_constant_answer_improbable() -> None:
    """100 items, one of class b, two others agree: a judge of 60 items of class a is no wonder."""
    truth = (np.arange(100) == 0).astype(np.int64)
    items, judges = np.repeat(np.arange(100), 3), np.tile([0, 1, 2], 100)
    some = (judges > 0) | (items >= 40)
    answers = (items[some], judges[some], truth[items[some]])
    assert chance_of(answers, 3, 2).log_constant[0] > np.log(0.5)


def test_groups_and_reference_are_left_out() -> None:
    items, judges = np.repeat([0, 1, 2], 3), np.tile([0, 1, 2], 3)
    labels = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1])  # 0 and 1 agree, 2 never does
    alone = chance_of((items, judges, labels), 3, 2, groups=np.array([0, 0, 2]))
    assert alone.agreement.tolist() == [0, 0, 0]
    reference = chance_of((items, judges, labels), 3, 2, reference=np.array([True, False, False]))
    assert reference.n.tolist() == [0, 3, 3]
    assert reference.agreement.tolist() == [0, 3, 0]


def test_order_and_names_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    items, judges, labels = simulated(rng, 40, np.full(5, 0.7), 3, 3)
    order, relabel, rename = rng.permutation(items.size), rng.permutation(3), rng.permutation(5)
    chance = chance_of((items, judges, labels), 5, 3)
    other = chance_of((items[order], rename[judges[order]], relabel[labels[order]]), 5, 3)
    for name, values in vars(chance).items():
        np.testing.assert_allclose(getattr(other, name)[rename], values, rtol=1e-9, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [40, 100])
@pytest.mark.parametrize("n_labels", [2, 3, 6])
@pytest.mark.parametrize("per_item", [3, 6])
def test_size_and_power(n_items: int, n_labels: int, per_item: int) -> None:
    """300 replications: .05 of random judges have p < .05, and as many honest ones as is said."""
    rng, random, honest, power = np.random.default_rng(17), [], [], []
    for _ in range(300):
        answers = simulated(rng, n_items, np.full(10, 0.75), per_item, n_labels, random=(0,))
        chance = chance_of(answers, 10, n_labels)
        random.append(chance.p_value[0] < 0.05)
        honest.append(chance.p_value[1:] < 0.05)
        excess, room = chance.agreement - chance.expected, chance.room
        power.append(chance.power(excess[1:].sum() / room[1:].sum(), 0.05)[1:])
    assert np.mean(random) == pytest.approx(0.05, abs=0.04)
    assert np.mean(power) == pytest.approx(np.mean(honest), abs=0.12)
