"""Labels that are published, and Dawid-Skene's own beside them.

The label model ``hierarchical`` averages fits of several dependences and smoothed votes (stacking);
the other models of `LABEL_MODELS` publish their own posterior. Where classes of items are known,
the probabilities are corrected by them (recalibration). Last of all, classes without a vote are
capped: none of them is the label. Prevalence and confusion matrices are those that the published
probabilities imply. ``dawid_skene`` alone publishes what the paper's model says, without correction
and cap.

All of it is sums over blocks of items, without seed: a task's result depends on its labels, on its
known items, and on the weights that small tasks share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.estimates import Estimates
from annot_pipeline.methods.labels.family_comparison import compare_families
from annot_pipeline.methods.labels.held_out_labels import (
    Evidence,
    HeldOutScores,
    Predictions,
    is_clear,
    predict_labels,
    stacked_scores,
)
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.item_subtypes import fit_subtypes
from annot_pipeline.methods.labels.label_em import Shape
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.model_fits import ModelFit, Watch, fit_models, watch_nothing
from annot_pipeline.methods.labels.published_labels import (
    ItemFit,
    LabelFit,
    TaskLabels,
    uncorrected_probabilities,
)
from annot_pipeline.methods.labels.recalibration import (
    ENOUGH,
    ClassMass,
    KnownItems,
    fit_recalibration,
    unlike_others,
)
from annot_pipeline.methods.labels.related_judges import RelatedJudges, related_judges
from annot_pipeline.methods.labels.stacking import (
    DEPENDENCE,
    StackedFit,
    fit_stacking,
)
from annot_pipeline.methods.labels.stacking import ENOUGH as FEW
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks

TOLERANCE, POSTERIOR_TOLERANCE = 1e-7, 1e-2
"""Of fits of ``hierarchical``: the average of them ends within .001 of its limit."""
LEAST_ITEMS = 250
"""Of a task whose items have subtypes: with fewer they cost more than they tell."""
CLEAR, MOST_OVERTURNED = 2.0, 0.05
"""Standard deviations of as many tossed coins by which a plurality is clear; share of items on
which an average may overturn one without known items."""
LEAST_FEWER = 0.02
"""Share of items on which families overturn a plurality less, to be used without known items."""
FEWEST_JUDGES = 3
"""Judges that agreement needs to identify how often each is right (Dawid & Skene 1979)."""
COPIES = 0.65
"""Correlation, given the class, of judges who are copies of one."""


def fit_labels(
    tasks: Blocks[Sequence[TaskLabels]],
    *,
    params: DawidSkeneParams | None = None,
    shared_weights: Floats | None = None,
    watch: Watch = watch_nothing,
) -> list[LabelFit]:
    """Fit Dawid-Skene and the published label model to every task.

    Parameters
    ----------
    tasks
        Of each block the labels of all tasks, with codes of whole tasks but for items.
    params
        Settings; ``model`` names the published one. Those of ``hierarchical`` are fixed, but for
        ``max_parameters``.
    shared_weights
        Weights of members that tasks with few labels are drawn to.
    watch
        Is asked once for each fit, by what is fitted.

    Raises
    ------
    ValueError
        An invalid setting, or more confusion probabilities than ``params.max_parameters``.
    """
    params = params or DawidSkeneParams()
    shapes = _shapes(tasks)
    if not shapes:
        return []
    codes, unrelated = tasks.keep(_codes), tasks.keep(_unrelated_codes)
    paper = replace(params, model="dawid_skene", dependence=0.0)
    [dawid_skene] = fit_models(unrelated, shapes, [paper], watch)
    is_paper = params.model == "dawid_skene"
    members = [dawid_skene] if is_paper else fit_models(codes, shapes, members_of(params), watch)
    n_known = np.sum(tasks.map(_n_known), axis=0)
    fits = []
    for t, fitted in enumerate(zip(*members, strict=True)):
        labels = codes.keep(_of_task, t)
        own = _scores(unrelated.keep(_of_task, t), dawid_skene[t])
        if params.model == "hierarchical":
            published = _stack(
                labels, shapes[t], fitted, shared_weights, watch, has_known=n_known[t] >= ENOUGH
            )
        else:
            published = _Published(fitted, own if is_paper else _scores(labels, fitted[0]))
        item_fit = published.item_fit(dawid_skene[t], is_capped=not is_paper)
        if not is_paper and n_known[t] >= ENOUGH:
            item_fit = _recalibrate(tasks, t, item_fit)
        own_members, evidence = published.members, published.evidence(own)
        fits.append(LabelFit(dawid_skene[t], own_members, item_fit, evidence, published.related))
    return fits


@dataclass(frozen=True)
class _Published:
    """The published model of a task, before known items correct it.

    Parameters
    ----------
    members
        Its fits.
    scores
        Of held-out labels, by the average of the fits, by votes, and what votes gain.
    stacking, related
        As `ItemFit` and `LabelFit` have them.
    families
        Those found, if they are used.
    subtypes
        A fit of subtypes, or none.
    """

    members: tuple[ModelFit, ...]
    scores: HeldOutScores
    stacking: StackedFit | None = None
    related: RelatedJudges | None = None
    families: Codes | None = None
    subtypes: Sequence[Estimates] = ()

    def item_fit(self, dawid_skene: ModelFit, *, is_capped: bool) -> ItemFit:
        """Return what the probabilities of items follow from."""
        estimates = (*(fit.estimates for fit in self.members), *self.subtypes)
        return ItemFit(
            dawid_skene.estimates, estimates, self.stacking, None, is_capped, self.families
        )

    def by_votes(self) -> _Published:
        """Return the same with votes alone published."""
        assert self.stacking is not None
        return replace(self, stacking=replace(self.stacking, votes_alone=True))

    def evidence(self, own: HeldOutScores) -> Evidence:
        """Return how well labels that are held out are predicted; ``own``: by Dawid-Skene."""
        is_of_votes = self.stacking is not None and self.stacking.votes_alone
        return Evidence(
            published=self.scores.mean(1 if is_of_votes else 0),
            dawid_skene=own.mean(0),
            votes=self.scores.mean(1),
            gain_of_votes=self.scores.mean(2),
            n_labels=round(self.scores.n_labels),
        )


def _stack(
    labels: Blocks[LabelCodes],
    shape: Shape,
    members: tuple[ModelFit, ...],
    shared_weights: Floats | None,
    watch: Watch,
    *,
    has_known: bool,
) -> _Published:
    """Average the fits of a task, with families of judges where they are found and help.

    Labels alone cannot tell judges who err together from the few who know better: without known
    items no average may overturn many clear pluralities, and families are used if they overturn
    fewer pluralities than without them, or if they are of copies. How often two judges agree is one
    number, which cannot say how often each is right: their votes are published.
    """
    related = related_judges(labels)
    published = unmerged = _average(labels, members, shared_weights)
    refitted = _fit_families(labels, shape, members, related, watch)
    if refitted is not None:
        merged = _average(labels, refitted, shared_weights, related.families)
        are_copies = related.correlation.min(initial=1.0) >= COPIES
        fewer = _overturned(labels, unmerged) - _overturned(labels, merged)
        if has_known or are_copies or fewer[0] >= LEAST_FEWER:
            published = merged
    are_few = shape.n_judges < FEWEST_JUDGES
    if not has_known and (are_few or _overturned(labels, published)[1] > MOST_OVERTURNED):
        published = unmerged.by_votes()
    return replace(published, related=related)


def _average(
    labels: Blocks[LabelCodes],
    members: tuple[ModelFit, ...],
    shared_weights: Floats | None,
    families: Codes | None = None,
) -> _Published:
    """Average the fits of a task to its labels, with subtypes where there are many items.

    Votes alone are published where they predict labels clearly better, and where no item has labels
    of two families: then nothing tells how good a fit is.
    """
    if families is not None:
        labels = labels.keep(LabelCodes.with_families, families)
    n_items, n_labels = labels.sum(_n_items_and_labels).tolist()
    has_subtypes = n_items >= LEAST_ITEMS and n_labels >= FEW
    fitted = fit_subtypes(labels) if has_subtypes else None
    subtypes = [] if fitted is None else [fitted]
    estimates = [*(fit.estimates for fit in members), *subtypes]
    stacking, predictions = fit_stacking(labels, estimates, shared=shared_weights)
    scores = stacked_scores(predictions, stacking.weights)
    published = _Published(members, scores, stacking, None, families, subtypes)
    if not scores.n_labels or is_clear(scores.mean(2), scores.n_labels):
        return published.by_votes()
    return published


def _n_items_and_labels(codes: LabelCodes) -> Floats:
    return np.array([codes.n_items, codes.items.size])


def _overturned(labels: Blocks[LabelCodes], published: _Published) -> Floats:
    """Return the shares of items whose label is not that of the most votes, ``(2,)``.

    Where any has more, and where one has clearly more.
    """
    fit = published.item_fit(published.members[0], is_capped=True)
    counts = labels.sum(_overturned_in_block, fit)
    return np.asarray(counts[1:] / max(counts[0], 1))


def _overturned_in_block(codes: LabelCodes, fit: ItemFit) -> Floats:
    votes = ItemLabels.from_codes(codes).votes
    label = uncorrected_probabilities(fit.related_codes(codes), fit).argmax(axis=1)
    margin = votes.max(axis=1) - votes[np.arange(label.size), label]
    is_clear = margin > CLEAR * np.sqrt(np.einsum("ik->i", votes))
    return np.array([label.size, np.count_nonzero(margin > 0), np.count_nonzero(is_clear)])


def predict_small_task(labels: LabelCodes, params: DawidSkeneParams) -> Predictions:
    """Return predictions of labels of a task with few labels, for weights that such tasks share.

    Parameters
    ----------
    labels
        Of a whole task.
    params
        Settings.
    """
    tasks = InMemoryBlocks([[TaskLabels(labels, KnownItems.none())]])
    codes, shapes = tasks.keep(_codes), _shapes(tasks)
    members = fit_models(codes, shapes, members_of(params), watch_nothing)
    estimates = [fits[0].estimates for fits in members]
    [predictions] = fit_stacking(codes.keep(_of_task, 0), estimates)[1].map(_itself)
    return predictions


def _itself(predictions: Predictions) -> Predictions:
    return predictions


def _fit_families(
    labels: Blocks[LabelCodes],
    shape: Shape,
    without: Sequence[ModelFit],
    related: RelatedJudges,
    watch: Watch,
) -> tuple[ModelFit, ...] | None:
    """Return fits with the families found; None where there are none, or they do not help.

    Of one family of all judges nothing says whether it helps, and its fits hardly converge.
    """
    if not related.n_found or len({*related.families.tolist()}) == 1:
        return None
    blocks = labels.keep(_as_family_task, related.families)
    models = [fit.params for fit in without]
    fits = tuple(
        member
        for [member] in fit_models(
            blocks, [shape], models, lambda fitted: watch(f"{fitted}, related judges")
        )
    )
    before, after = ([fit.estimates for fit in own] for own in (without, fits))
    compared = compare_families(labels, related.families, before, after)
    return fits if compared.families_help else None


def _as_family_task(codes: LabelCodes, families: Codes) -> list[LabelCodes]:
    return [codes.with_families(families)]


def members_of(params: DawidSkeneParams) -> list[DawidSkeneParams]:
    """Return the settings of the fits that a published model is made of."""
    if params.model != "hierarchical":
        return [replace(params, dependence=0.0)]
    return [
        DawidSkeneParams(
            model="hierarchical",
            dependence=dependence,
            tolerance=TOLERANCE,
            posterior_tolerance=POSTERIOR_TOLERANCE,
            max_parameters=params.max_parameters,
        )
        for dependence in DEPENDENCE
    ]


def _shapes(tasks: Blocks[Sequence[TaskLabels]]) -> list[Shape]:
    """Return the shape of each task, over all blocks."""
    by_block = tasks.map(_block_shapes)
    return [
        blocks[0]._replace(n_items=sum(block.n_items for block in blocks))
        for blocks in zip(*by_block, strict=True)
    ]


def _block_shapes(tasks: Sequence[TaskLabels]) -> list[Shape]:
    return [Shape(task.codes.n_items, task.codes.n_judges, task.codes.n_labels) for task in tasks]


def _codes(tasks: Sequence[TaskLabels]) -> list[LabelCodes]:
    return [task.codes for task in tasks]


def _unrelated_codes(tasks: Sequence[TaskLabels]) -> list[LabelCodes]:
    """Return labels of which each counts by itself, as the paper has it."""
    return [replace(task.codes, families=None) for task in tasks]


def _of_task(tasks: Sequence[LabelCodes], t: int) -> LabelCodes:
    return tasks[t]


def _n_known(tasks: Sequence[TaskLabels]) -> list[int]:
    return [task.known_items.items.size for task in tasks]


def _scores(labels: Blocks[LabelCodes], fit: ModelFit) -> HeldOutScores:
    """Return scores of held-out labels by one model, and by votes."""
    smoothing, dependence = fit.params.smoothing, fit.params.dependence
    predictions, _ = predict_labels(
        labels, [fit.estimates], partial(_smoothed, smoothing), [dependence], smoothing
    )
    return stacked_scores(predictions, np.array([1.0, 0.0]))


def _smoothed(smoothing: float, cells: Floats) -> Floats:
    return np.full_like(cells, smoothing)


def _recalibrate(tasks: Blocks[Sequence[TaskLabels]], t: int, fit: ItemFit) -> ItemFit:
    """Return what the probabilities of a task follow from, with what known items correct."""
    by_block = tasks.map(_known_probabilities, t, fit)
    *arrays, masses = zip(*by_block, strict=True)
    p, classes, folds = map(np.concatenate, arrays)
    differ = unlike_others(p, reduce(add, masses))
    recalibration = fit_recalibration(p, classes, folds, has_offsets=not differ)
    return replace(fit, recalibration=recalibration, known_items_differ=differ)


def _known_probabilities(
    tasks: Sequence[TaskLabels], t: int, fit: ItemFit
) -> tuple[Floats, Codes, Codes, ClassMass]:
    """Return probabilities of the known items of a block, their classes and folds, and all mass."""
    items = tasks[t].known_items
    p = uncorrected_probabilities(fit.related_codes(tasks[t].codes), fit)
    return p[items.items], items.classes, items.folds, ClassMass.from_probabilities(p)
