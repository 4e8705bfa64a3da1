"""Related judges: planted families are found, other crowds have none, and figures of pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from annot_pipeline.methods.labels import related_judges as module
from annot_pipeline.methods.labels.family_comparison import FamilyComparison, compare_families
from annot_pipeline.methods.labels.held_out_labels import (
    ModelLabels,
    held_out_predictions,
    held_out_votes,
)
from annot_pipeline.methods.labels.hierarchical import borrowed_counts
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.related_judges import (
    MIN_ITEMS,
    RelatedJudges,
    related_judges,
)
from annot_pipeline.methods.labels.stacking import DEPENDENCE
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from studies.crowds import CrowdParams, draw_crowd
from tests.gold_labels import task_and_truth
from tests.methods.labels.test_stacking import fit, in_blocks, share_right

COPIES = [0, 1, 2, 3, 4]


def find(task: LabelCodes, n_blocks: int = 1, **sizes: int) -> RelatedJudges:
    return related_judges(InMemoryBlocks(in_blocks(task, n_blocks)), **sizes)


def groups(actual: RelatedJudges) -> list[list[int]]:
    members = [np.flatnonzero(actual.families == code) for code in np.unique(actual.families)]
    return [each.tolist() for each in members if each.size > 1]


def from_answers(answers: np.ndarray, n_labels: int) -> LabelCodes:
    """Return a task from labels ``(n_judges, n_items)``, -1 where none was given."""
    judges, items = np.nonzero(answers >= 0)
    n_judges, n_items = answers.shape
    return LabelCodes(items, judges, answers[judges, items], n_items, n_judges, n_labels)


def planted(seed: int, n_items: int = 300, k: int = 2) -> tuple[LabelCodes, np.ndarray]:
    """Five copies with 5% noise of one judge who is right on 60%, and seven judges on 65 to 85%."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    accuracy = np.array([0.6, *rng.uniform(0.65, 0.85, 7)])
    right = rng.random((8, n_items)) < accuracy[:, None]
    alone = np.where(right, truth, (truth + rng.integers(1, k, (8, n_items))) % k)
    is_noise = rng.random((5, n_items)) < 0.05
    copies = np.where(is_noise, rng.integers(0, k, (5, n_items)), alone[0])
    return from_answers(np.concatenate([copies, alone[1:]]), k), truth


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_planted_family_is_found_and_accuracy_rises(k):
    for seed in range(3):
        task, truth = planted(seed, k=k)
        actual = find(task)
        assert groups(actual) == [COPIES]
        assert actual.n_found == 1
        assert actual.n_pairs_tested == 12 * 11 / 2
        assert list(zip(actual.first, actual.second, strict=True)) == [
            (a, b) for a in COPIES for b in COPIES if a < b
        ]
        assert (actual.n_items == 300).all()
        assert (actual.z > 8).all()
        assert (actual.correlation > 0.75).all()
        alone = replace(task, families=np.arange(12))
        related = replace(task, families=actual.families)
        before, without, _ = fit(alone)
        after, with_families, _ = fit(related)
        assert share_right(after, truth) > share_right(before, truth) + 0.2
        compared = compare_families(
            InMemoryBlocks([alone]), actual.families, without, with_families
        )
        assert compared.families_help
        in_parts = compare_families(
            InMemoryBlocks(in_blocks(alone, 3)), actual.families, without, with_families
        )
        assert in_parts.with_families == pytest.approx(compared.with_families)
        assert in_parts.without_families == pytest.approx(compared.without_families)
        assert in_parts.votes == pytest.approx(compared.votes)


@pytest.mark.parametrize("kind", ["independent", "difficulty"])
@pytest.mark.parametrize("sizes", [(200, 10, 15), (1_000, 8, 60)])
def test_judges_who_err_alone_or_on_hard_items_are_not_related(kind, sizes):
    """In at most 2 of 40 crowds some judges are."""
    n_found = n_tested = 0
    for seed in range(40):
        task, _ = draw_crowd(CrowdParams(kind, *sizes), np.random.default_rng(seed))
        actual = find(task)
        n_tested += actual.n_pairs_tested
        n_found += actual.n_found > 0
    assert n_tested > 40 * 50
    assert n_found <= 2


def test_good_judges_among_spammers_are_no_family():
    """Most pairs agree by chance alone; those who agree with each other know the truth."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 300)
    right = rng.random((12, 300)) < np.repeat([0.95, 0.5], [5, 7])[:, None]
    assert find(from_answers(np.where(right, truth, 1 - truth), 2)).n_found == 0


def test_pairs_with_few_common_items_are_never_related():
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 2, (10, 400))
    answers[1] = answers[0]
    answers[1, MIN_ITEMS - 1 :] = -1
    actual = find(from_answers(answers, 2))
    assert actual.n_pairs_tested == 9 * 8 / 2
    assert actual.n_found == 0
    answers[1, :200] = answers[0, :200]
    assert groups(find(from_answers(answers, 2))) == [[0, 1]]


def test_pairs_who_hardly_ever_label_differently_are_not_tested():
    """Two labels of a rare class on one item in common are no evidence."""
    answers = np.zeros((6, 100), int)
    answers[:2, 7] = 1
    answers[2:, 11] = 1
    assert find(from_answers(answers, 2)).n_pairs_tested == 0


def test_figures_of_a_pair():
    """Five unrelated judges on .8, and a judge and a copy on .7: by the laws that they follow."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 20_000)
    right = rng.random((6, truth.size)) < np.array([0.8] * 5 + [0.7])[:, None]
    answers = np.where(right, truth, 1 - truth)
    copy = np.where(rng.random(truth.size) < 0.7, answers[5], rng.integers(0, 2, truth.size))
    actual = find(from_answers(np.concatenate([answers, copy[None]]), 2))
    assert groups(actual) == [[5, 6]]
    right_copy = 0.7 * 0.7 + 0.3 / 2
    assert actual.observed[0] == pytest.approx(0.85, abs=0.01)
    expected = 0.7 * right_copy + 0.3 * (1 - right_copy)
    assert actual.expected[0] == pytest.approx(expected, abs=0.01)
    skill = 2 * 0.7 - 1, 2 * right_copy - 1
    partial = (0.7 - skill[0] * skill[1]) / np.sqrt((1 - skill[0] ** 2) * (1 - skill[1] ** 2))
    assert actual.correlation[0] == pytest.approx(partial, abs=0.02)
    error = np.sqrt((1 - (skill[0] * skill[1]) ** 2) / truth.size)
    assert actual.z[0] == pytest.approx((0.7 - skill[0] * skill[1]) / error, rel=0.03)


def test_sums_of_pairs_by_a_loop():
    """Repeats of a judge on an item share one label."""
    rng = np.random.default_rng(2)
    task = LabelCodes(
        rng.integers(0, 9, 70), rng.integers(0, 5, 70), rng.integers(0, 3, 70), 9, 5, 3
    )
    judges = np.array([0, 2, 3, 4])
    sums = module.pair_sums(task, judges)
    shares = np.zeros((9, 5, 3))
    np.add.at(shares, (task.items, task.judges, task.labels), 1.0)
    n = shares.sum(axis=2)
    assert n.max() > 1
    shares /= np.maximum(n, 1)[:, :, None]
    for a, j in enumerate(judges):
        for b, other in enumerate(judges):
            common = (n[:, j] > 0) & (n[:, other] > 0)
            mine, theirs = shares[common, j], shares[common, other]
            assert sums.n_items[a, b] == common.sum()
            assert sums.agreement[a, b] == pytest.approx((mine * theirs).sum())
            assert sums.squares[a, b] == pytest.approx((mine**2).sum())
            np.testing.assert_allclose(sums.shares[:, a, b], mine.sum(axis=0))


def test_blocks_are_the_whole_and_no_name_or_order_counts():
    task, _ = planted(1, k=3)
    whole = find(task)
    rng = np.random.default_rng(0)
    rows, judges = rng.permutation(task.items.size), rng.permutation(12)
    renamed = LabelCodes(task.items[rows], judges[task.judges[rows]], task.labels[rows], 300, 12, 3)
    assert groups(find(renamed)) == [sorted(judges[COPIES].tolist())]
    # more pairs of labels than are looked at: each third item, in blocks too
    for most in (module.MOST_PRODUCTS, 300 * 12**2 // 3):
        whole, in_parts = (find(task, n, most_products=most) for n in (1, 7))
        assert groups(whole) == [COPIES]
        assert (whole.n_items == (300 if most > 1e6 else 100)).all()
        for name, array in vars(whole).items():
            np.testing.assert_allclose(getattr(in_parts, name), array, rtol=1e-9, err_msg=name)


def test_declared_families_are_joined_by_those_found():
    """Judges 4 and 9 are declared, and 10 and 11: 4 brings 9 along; 10 and 11 stay as they are."""
    task, _ = planted(2)
    declared = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 0, 0])
    actual = find(replace(task, families=declared))
    assert groups(actual) == [[0, 1, 2, 3, 4, 9], [10, 11]]
    assert actual.families.tolist() == [0] * 5 + [5, 6, 7, 8, 0, 10, 10]
    assert actual.n_found == 1
    assert actual.n_pairs_tested == 12 * 11 / 2 - 2
    copies = np.where(np.arange(12) < 5, 0, np.arange(12))
    known = find(replace(task, families=copies))
    assert known.n_found == 0
    np.testing.assert_array_equal(known.families, copies)


def test_of_many_judges_those_with_most_labels_are_tested():
    task, _ = planted(0)
    rows = (task.judges != 2) | (task.items % 2 == 0)
    fewer = replace(
        task, items=task.items[rows], judges=task.judges[rows], labels=task.labels[rows]
    )
    related = find(fewer, most_judges=11)
    assert related.n_pairs_tested == 11 * 10 / 2
    assert groups(related) == [[0, 1, 3, 4]]


def test_odd_tasks():
    nothing = np.empty(0, int)
    for n_judges in (0, 1, 3):
        actual = find(LabelCodes(nothing, nothing, nothing, 3, n_judges, 2))
        assert actual.families.tolist() == [*range(n_judges)]
        assert actual.n_found == actual.n_pairs_tested == actual.z.size == 0
    for answers, k in (
        (np.zeros((4, 50), int), 1),
        (np.zeros((4, 50), int), 200),
        (np.random.default_rng(0).integers(0, 2, (1, 50)), 2),
    ):
        assert find(from_answers(answers, k)).n_found == 0


def test_two_judges_who_always_agree():
    """Nothing tells a family of two from two who know: their agreement is held to be skill."""
    answers = np.repeat(np.random.default_rng(0).integers(0, 2, (1, 90)), 2, axis=0)
    assert find(from_answers(answers, 2)).n_pairs_tested == 1


def test_families_help_only_if_labels_are_predicted_best_with_them():
    assert FamilyComparison(-0.7, -0.6, -0.65).families_help
    assert not FamilyComparison(-0.7, -0.6, -0.55).families_help, "votes are better"
    assert not FamilyComparison(-0.6, -0.6, -0.7).families_help
    nothing = np.empty(0, int)
    empty = LabelCodes(nothing, nothing, nothing, 2, 3, 2, np.arange(3))
    estimates = fit(empty)[1]
    compared = compare_families(InMemoryBlocks([empty]), np.zeros(3, int), estimates, estimates)
    assert compared == FamilyComparison(0.0, 0.0, 0.0)


def test_comparison_is_of_the_best_predictions_of_each_fit():
    """Posteriors are those of the labels as each fit counts them; labels are left out by family."""
    task, _ = planted(3, n_items=60)
    families = np.where(np.arange(12) < 5, 0, np.arange(12))
    related = replace(task, families=families)
    without, with_families = fit(task)[1], fit(related)[1]
    labels = ItemLabels.from_codes(related)
    best = []
    for codes, estimates in ((task, without), (related, with_families)):
        block = ModelLabels.from_codes(codes, estimates)
        scores = []
        for n, dependence in enumerate(DEPENDENCE):
            cells = block.cells[n].reshape(-1, 2, 2)
            counts = cells + borrowed_counts(cells.sum(axis=0)[None], 0.01)[0]
            log_pi = estimates[n].log_pi[0]
            [chance] = held_out_predictions(
                labels, block.posteriors[n], counts, log_pi, [dependence]
            )
            scores.append(float(np.average(np.log(chance), weights=labels.weights)))
        best.append(max(scores))
    compared = compare_families(InMemoryBlocks([task]), families, without, with_families)
    assert [compared.without_families, compared.with_families] == pytest.approx(best)
    shares = np.bincount(task.labels) + 0.01
    votes = held_out_votes(labels, shares / shares.sum())
    assert compared.votes == pytest.approx(np.average(np.log(votes), weights=labels.weights))


@pytest.mark.parametrize("name", ["rte", "temp", "wsd", "dog", "face"])
def test_crowds_of_people_have_no_families(shared_data: Path, name: str):
    task, _ = task_and_truth(shared_data, name)
    actual = find(task)
    assert actual.n_pairs_tested > 100
    assert actual.n_found == 0


@pytest.mark.parametrize("name", ["LLMBar/Natural", "LLMBar/Adversarial/GPTOut"])
def test_prompts_of_one_model_are_related(shared_data: Path, name: str):
    """65 runs of six models: each family found is of one model."""
    table = pd.read_csv(shared_data / "llmbar" / "judgments.csv.gz").dropna()
    table = table[table.run.str.startswith(f"Dataset/{name}/")]
    item, items = pd.factorize(table.item)
    judge, runs = pd.factorize(table.run, sort=True)
    task = LabelCodes(item, judge, table.winner.to_numpy(int) - 1, len(items), len(runs), 2)
    model = np.array([run.split("/evaluators/")[1].split("/")[0] for run in runs])
    actual = groups(find(task))
    assert len(actual) >= 4
    assert all(np.unique(model[members]).size == 1 for members in actual)
