"""Published probabilities: blocks, order, families, known items, other models, odd tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annot_pipeline.methods.labels import inference
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams, dawid_skene_batch
from annot_pipeline.methods.labels.held_out_labels import HeldOutScores
from annot_pipeline.methods.labels.hierarchical import borrowed_counts
from annot_pipeline.methods.labels.inference import fit_labels, predict_small_task
from annot_pipeline.methods.labels.item_labels import ItemLabels, UnsupportedClasses
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.model_fits import watch_nothing
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.labels.published_labels import (
    LabelFit,
    Probabilities,
    TaskLabels,
    probabilities,
    published_counts,
    published_judges,
)
from annot_pipeline.methods.labels.recalibration import ENOUGH, FOLDS, KnownItems
from annot_pipeline.methods.labels.votes import count_votes, smoothed_votes
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from tests.methods import crowds
from tests.methods.labels.test_label_models import crowd
from tests.methods.labels.test_stacking import in_blocks, share_right

HIERARCHICAL = DawidSkeneParams(model="hierarchical")


def infer(
    task: LabelCodes,
    known: KnownItems | None = None,
    params: DawidSkeneParams = HIERARCHICAL,
    **how,
) -> tuple[LabelFit, Probabilities]:
    labels = TaskLabels(task, known or KnownItems.none())
    [fit] = fit_labels(InMemoryBlocks([[labels]]), params=params, **how)
    return fit, probabilities(labels, fit.item_fit)


def known_items(truth: np.ndarray, n: int) -> KnownItems:
    return KnownItems(np.arange(n), truth[:n], np.arange(n) % FOLDS)


def test_dawid_skene_beside_it_is_the_papers():
    """Repeats and families have no part in it: each label counts by itself, to the last bit."""
    task = crowd(1, n_items=60)
    related = replace(task, families=np.zeros(task.n_judges, np.int64))
    [alone] = dawid_skene_batch([task])
    fit, actual = infer(related)
    np.testing.assert_array_equal(actual.dawid_skene, alone.posterior)
    np.testing.assert_array_equal(fit.dawid_skene.confusion, alone.confusion)
    assert np.abs(actual.published - alone.posterior).max() > 0.01


def test_dawid_skene_alone_is_published_as_it_is():
    """Repeats of a judge too: each label counts."""
    task = crowd(2, n_items=60, classes=4)
    labels = [np.append(codes, codes[:40]) for codes in (task.items, task.judges, task.labels)]
    task = LabelCodes(*labels, 60, task.n_judges, 4, np.arange(task.n_judges))
    fit, actual = infer(task, params=DawidSkeneParams())
    np.testing.assert_array_equal(actual.published, actual.dawid_skene)
    prevalence, confusion = published_judges(fit, published_counts(task, actual.published))
    np.testing.assert_array_equal(prevalence, fit.dawid_skene.prevalence)
    np.testing.assert_array_equal(confusion, fit.dawid_skene.confusion)
    assert [m.params.model for m in fit.fits] == ["dawid_skene"]


@pytest.mark.parametrize("model", sorted({*LABEL_MODELS} - {"dawid_skene", "hierarchical"}))
def test_other_models_publish_their_posterior_capped(model):
    """Items with a label each, by judges who are often wrong: other classes are likely, too."""
    rng = np.random.default_rng(3)
    truth = rng.choice(4, 90)
    items, judges = np.repeat(np.arange(90), 3), np.tile(np.arange(3), 90)
    labels = np.where(rng.random(270) < 0.5, truth[items], rng.choice(4, 270))
    kept = (items >= 40) | (judges == items % 3)
    task = LabelCodes(items[kept], judges[kept], labels[kept], 90, 3, 4)
    params = DawidSkeneParams(model=model)
    _, actual = infer(task, params=params)
    [alone] = dawid_skene_batch([task], params=params)
    labels = ItemLabels.from_codes(task)
    capped = UnsupportedClasses.from_votes(labels.votes, labels.n_judges).cap(alone.posterior)
    np.testing.assert_allclose(actual.published, capped, atol=1e-12)
    assert np.abs(capped - alone.posterior).max() > 0.05


def test_blocks_are_the_whole():
    task, truth = crowds.crowd("correlated", 4, n_items=240)
    known = known_items(truth, 120)
    fit, whole = infer(task, known)
    blocks, start = [], 0
    for codes in in_blocks(task, 3):
        mine = (known.items >= start) & (known.items < start + codes.n_items)
        of_block = KnownItems(known.items[mine] - start, known.classes[mine], known.folds[mine])
        blocks.append(TaskLabels(codes, of_block))
        start += codes.n_items
    [other] = fit_labels(InMemoryBlocks([[block] for block in blocks]), params=HIERARCHICAL)
    actual = [probabilities(block, other.item_fit) for block in blocks]
    for name in ("published", "dawid_skene"):
        parts = np.concatenate([getattr(p, name) for p in actual])
        np.testing.assert_allclose(parts, getattr(whole, name), atol=1e-8)
    assert other.evidence.n_labels == fit.evidence.n_labels
    np.testing.assert_allclose(other.evidence.published, fit.evidence.published, rtol=1e-6)


@pytest.mark.slow
def test_tasks_beside_each_other_are_as_alone():
    tasks = [crowd(5, n_items=50), crowd(6, n_items=80, classes=2), crowd(7, n_items=40)]
    labels = [TaskLabels(task, KnownItems.none()) for task in tasks]
    fits = fit_labels(InMemoryBlocks([labels]), params=HIERARCHICAL)
    for task, mine, fit in zip(tasks, labels, fits, strict=True):
        alone = infer(task)[1].published
        np.testing.assert_array_equal(probabilities(mine, fit.item_fit).published, alone)


def test_known_items_correct_what_judges_share():
    """Judges take class 1 for class 0 on half of its items, all together."""
    rng = np.random.default_rng(8)
    n, n_judges = 1200, 6
    truth = rng.choice(2, n)
    seen = np.where((truth == 1) & (rng.random(n) < 0.5), 0, truth)
    items, judges = np.repeat(np.arange(n), n_judges), np.tile(np.arange(n_judges), n)
    right = rng.random(items.size) < 0.9
    labels = np.where(right, seen[items], 1 - seen[items])
    task = LabelCodes(items, judges, labels, n, n_judges, 2)
    plain = infer(task)[1].published
    fit, actual = infer(task, known_items(truth, 300))
    unknown = np.arange(300, n)
    before, after = (-np.log(p[unknown, truth[unknown]]).mean() for p in (plain, actual.published))
    assert after < before - 0.1
    assert fit.item_fit.recalibration.n_known == 300
    few, _ = infer(task, known_items(truth, ENOUGH - 1))
    assert few.item_fit.recalibration is None


@pytest.mark.slow
def test_known_items_of_one_class_move_no_label():
    """Chosen by their class, they are no sample: they would make most items of that class."""
    task, truth = crowds.crowd("independent", 9, n_items=300, per_item=3)
    plain = share_right(infer(task)[1].published, truth)
    chosen = np.flatnonzero(truth == 0)[:80]
    fit, actual = infer(task, KnownItems(chosen, truth[chosen], chosen % FOLDS))
    assert fit.item_fit.known_items_differ
    others = np.setdiff1d(np.arange(300), chosen)
    assert share_right(actual.published[others], truth[others]) > plain - 0.02
    drawn = np.sort(np.random.default_rng(9).choice(300, 80, replace=False))
    fit, _ = infer(task, KnownItems(drawn, truth[drawn], drawn % FOLDS))
    assert not fit.item_fit.known_items_differ


def test_small_tasks_are_drawn_to_shared_weights():
    task = crowd(9, n_items=12)
    shared = np.array([0.1, 0.1, 0.7, 0.1])
    own = infer(task)[0].item_fit.stacking.weights
    drawn = infer(task, shared_weights=shared)[0].item_fit.stacking.weights
    np.testing.assert_allclose(drawn, shared, atol=0.1)
    assert np.abs(own - shared).max() > 0.2
    large = crowd(10, n_items=400)
    weights = [infer(large, shared_weights=s)[0].item_fit.stacking.weights for s in (None, shared)]
    np.testing.assert_array_equal(*weights)
    assert predict_small_task(task, HIERARCHICAL).item.size > 20


def test_votes_that_predict_better_are_found():
    """Judges of two camps who call the classes differently from item to item."""
    rng = np.random.default_rng(11)
    n, n_judges = 400, 8
    items, judges = np.repeat(np.arange(n), n_judges), np.tile(np.arange(n_judges), n)
    said = rng.random(n)
    labels = (rng.random(items.size) < said[items]).astype(np.int64)
    task = LabelCodes(items, judges, labels, n, n_judges, 2)
    fit, _ = infer(task, params=DawidSkeneParams())
    assert fit.evidence.votes_predict_better
    independent, _ = crowds.crowd("independent", 3, n_items=400)
    assert not infer(independent)[0].evidence.votes_predict_better


def test_votes_alone_are_published_where_they_predict_clearly_better(monkeypatch):
    task = crowd(16, n_items=60)
    gained = HeldOutScores(
        600.0, 6e3, np.array([-300.0, -250, 50]), np.full(3, 200.0), np.array([-3e3, -2.5e3, 500])
    )
    monkeypatch.setattr(inference, "stacked_scores", lambda *_: gained)
    fit, actual = infer(task)
    block, shares = ItemLabels.from_codes(task), fit.item_fit.stacking.shares
    votes = block.unsupported.cap(smoothed_votes(block.votes, shares))
    np.testing.assert_array_equal(actual.published, votes)
    assert fit.evidence.votes_predict_better
    assert fit.evidence.published == fit.evidence.votes


# --- odd tasks: nothing is NaN, nothing without a vote is a label ---------------------------------


def codes(rows, n_items, n_judges, n_labels, families=None):
    items, judges, labels = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return LabelCodes(items, judges, labels, n_items, n_judges, n_labels, families)


ODD = {
    "one class used": codes([(i, j, 1) for i in range(9) for j in range(3)], 9, 3, 3),
    "one class": codes([(i, j, 0) for i in range(9) for j in range(3)], 9, 3, 1),
    "items without labels": codes([(i, j, i % 2) for i in range(9) for j in range(3)], 14, 3, 2),
    "one judge": codes([(i, 0, i % 3) for i in range(9)], 9, 1, 3),
    "an item for each judge": codes([(i // 3, i, i % 2) for i in range(30)], 10, 30, 2),
    "200 classes": codes(
        [(i, j, (7 * i + j * (i % 2)) % 200) for i in range(40) for j in range(3)], 40, 3, 200
    ),
    "one label": codes([(0, 0, 1)], 1, 1, 2),
    "a family of one": codes(
        [(i, j, (i + (j == 2)) % 2) for i in range(9) for j in range(3)], 9, 3, 2, np.arange(3)
    ),
    "all of one family": codes(
        [(i, j, (i + (j == 2)) % 2) for i in range(9) for j in range(3)], 9, 3, 2, np.zeros(3, int)
    ),
    "a judge who repeats": codes(
        [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 0)], 2, 2, 2, np.arange(2)
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tasks(name):
    task = ODD[name]
    fit, actual = infer(task)
    votes = count_votes(
        task.items, task.labels, n_items=task.n_items, n_labels=task.n_labels
    ).counts
    prevalence, confusion = published_judges(fit, published_counts(task, actual.published))
    for p in (actual.published, actual.dawid_skene, prevalence[None], *confusion):
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    judged = votes.sum(axis=1) > 0
    label = actual.published.argmax(axis=1)
    assert (votes[np.arange(task.n_items), label][judged] > 0).all()
    assert fit.evidence.n_labels >= 0


def test_one_class_has_probability_1():
    alone = codes([(i, j, 0) for i in range(9) for j in range(i % 3 + 1)], 9, 3, 1)
    np.testing.assert_array_equal(infer(alone)[1].published, 1.0)


def test_judges_of_one_family_are_published_by_their_votes():
    """No label can be predicted from another family's: labels are the votes, none is certain."""
    task, truth = crowds.crowd("independent", 6, n_items=300, per_item=5, n_judges=5)
    fit, actual = infer(replace(task, families=np.zeros(5, np.int64)))
    votes = ItemLabels.from_codes(task).votes
    assert fit.item_fit.stacking.votes_alone
    assert share_right(actual.published, truth) >= share_right(votes, truth) - 0.01
    assert actual.published.max() < 0.95
    assert fit.evidence.n_labels == 0


def test_one_family_of_all_judges_is_not_fitted():
    """Three who agree fully are named as related; nothing could tell whether that helps."""
    task, names = codes([(i, j, i % 2) for i in range(540) for j in range(3)], 540, 3, 2), []

    def watch(name):
        names.append(name)
        return watch_nothing(name)

    fit, _ = infer(task, watch=watch)
    assert fit.related.n_found
    assert fit.item_fit.families is None
    assert names
    assert not [name for name in names if "related" in name]


def test_two_judges_are_published_by_their_votes():
    """Where they differ the more frequent class wins: which of them is right nothing tells."""
    rng = np.random.default_rng(4)
    truth = (rng.random(400) < 0.3).astype(np.int64)
    rows = [
        (i, j, t if rng.random() < right else 1 - t)
        for i, t in enumerate(truth.tolist()) for j, right in enumerate((0.9, 0.85))
    ]  # fmt: skip
    task = codes(rows, 400, 2, 2)
    fit, actual = infer(task)
    votes = ItemLabels.from_codes(task).votes
    label = actual.published.argmax(axis=1)
    assert fit.item_fit.stacking.votes_alone
    differ = votes[:, 0] == votes[:, 1]
    assert differ.sum() > 50
    assert not label[differ].any()
    np.testing.assert_array_equal(label[~differ], votes[~differ].argmax(axis=1))
    corrected = infer(task, known_items(truth, ENOUGH))[0]
    assert not corrected.item_fit.stacking.votes_alone


def test_judges_are_described_by_the_published_probabilities():
    """As a loop over labels has it; with no effect of a fit that weighs little."""
    task = crowd(4, n_items=50, classes=3)
    fit, actual = infer(task)
    prevalence, confusion = published_judges(fit, published_counts(task, actual.published))
    np.testing.assert_allclose(prevalence, actual.published.mean(axis=0))
    cells = np.zeros((task.n_judges, 3, 3))  # [judge, observed, true]
    for item, judge, label in zip(task.items, task.judges, task.labels, strict=True):
        cells[judge, label] += actual.published[item]
    cells += borrowed_counts(cells.sum(axis=0)[None], 0.01)
    expected = (cells / cells.sum(axis=1, keepdims=True)).transpose(0, 2, 1)
    np.testing.assert_allclose(confusion, expected, rtol=1e-9)


def test_a_family_of_one_is_no_family():
    task = ODD["a family of one"]
    np.testing.assert_array_equal(
        infer(task)[1].published, infer(replace(task, families=None))[1].published
    )


@pytest.mark.slow
def test_related_judges_count_as_one():
    """Five copies of one weak judge, whom nobody can find as they have 18 items, and three others.

    Declared as a family they outvote nobody: the mean over crowds is far above that without.
    """
    rng = np.random.default_rng(12)
    n, right = 18, np.zeros(2)
    for _ in range(20):
        truth = rng.choice(2, n)
        good = [np.where(rng.random(n) < 0.85, truth, 1 - truth) for _ in range(3)]
        weak = np.where(rng.random(n) < 0.6, truth, 1 - truth)
        columns = [*good, *([weak] * 5)]
        rows = [(i, j, column[i]) for i in range(n) for j, column in enumerate(columns)]
        task = codes(rows, n, 8, 2, np.arange(8))
        related = replace(task, families=np.array([0, 1, 2, 3, 3, 3, 3, 3]))
        right += [(infer(t)[1].published.argmax(axis=1) == truth).mean() for t in (task, related)]
    alone, together = right / 20
    assert together > alone + 0.1


def test_copies_that_nobody_declared_are_found():
    """The same crowd with noise, so that the copies differ now and then; they count as one."""
    rng = np.random.default_rng(14)
    n = 300
    truth = rng.choice(2, n)
    good = [np.where(rng.random(n) < 0.8, truth, 1 - truth) for _ in range(7)]
    weak = np.where(rng.random(n) < 0.6, truth, 1 - truth)
    copies = [np.where(rng.random(n) < 0.95, weak, 1 - weak) for _ in range(5)]
    columns = [*good, *copies]
    rows = [(i, j, column[i]) for i in range(n) for j, column in enumerate(columns)]
    task = codes(rows, n, 12, 2, np.arange(12))
    fit, actual = infer(task)
    assert fit.item_fit.families.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]
    assert (actual.published.argmax(axis=1) == truth).mean() > 0.9
    assert fit.related.n_found == 1
    independent, _ = crowds.crowd("independent", 15, n_items=300)
    fit, _ = infer(independent)
    assert fit.item_fit.families is None
    assert fit.related.n_found == 0


@pytest.mark.slow
def test_a_few_labels_less_leave_the_share_of_certain_labels():
    """5% of the labels dropped at random: the median change is below .03."""
    task, _ = crowds.crowd("correlated", 13, n_items=600)
    share = (infer(task)[1].published.max(axis=1) >= 0.95).mean()
    rng = np.random.default_rng(0)
    changes = []
    for _ in range(9):
        kept = rng.random(task.items.size) >= 0.05
        fewer = replace(
            task, items=task.items[kept], judges=task.judges[kept], labels=task.labels[kept]
        )
        changes.append(abs((infer(fewer)[1].published.max(axis=1) >= 0.95).mean() - share))
    assert np.median(changes) < 0.03


@pytest.mark.slow
def test_in_a_pilot_the_published_label_is_right_as_often_as_the_vote():
    """Four labels a judge, three an item: prevalence must not follow what a fit makes of them."""
    pilots = [crowds.crowd("sparse", [seed, 11], n_items=30, per_item=3) for seed in range(60)]
    tasks = [TaskLabels(task, KnownItems.none()) for task, _ in pilots]
    fits = fit_labels(InMemoryBlocks([tasks]), params=HIERARCHICAL)
    gains = [
        share_right(probabilities(labels, fit.item_fit).published, truth)
        - share_right(ItemLabels.from_codes(labels.codes).votes, truth)
        for labels, fit, (_, truth) in zip(tasks, fits, pilots, strict=True)
    ]
    assert np.mean(gains) > -0.005
