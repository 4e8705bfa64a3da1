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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add

import numpy as np
import numpy.typing as npt

from annot_pipeline.methods.labels.dawid_skene import (
    DawidSkeneParams,
    FittedGroup,
    LabelGroup,
    label_groups,
)
from annot_pipeline.methods.labels.e_step import e_step
from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.held_out_evidence import (
    Evidence,
    HeldOutScores,
    is_clear,
    stacked_scores,
)
from annot_pipeline.methods.labels.held_out_labels import Predictions, predict_labels
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.label_em import EMState, Shape
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.labels.recalibration import (
    ENOUGH,
    ClassMass,
    KnownItems,
    Recalibration,
    fit_recalibration,
    unlike_others,
)
from annot_pipeline.methods.labels.related_judges import (
    RelatedJudges,
    compare_families,
    related_judges,
)
from annot_pipeline.methods.labels.stacking import (
    DEPENDENCE,
    StackedFit,
    fit_stacking,
    stacked_posterior,
)
from annot_pipeline.methods.labels.stacking import ENOUGH as FEW
from annot_pipeline.methods.numerics.blocks import Blocks, InMemoryBlocks
from annot_pipeline.methods.numerics.convergence import Convergence

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

TOLERANCE, POSTERIOR_TOLERANCE = 1e-7, 1e-2
"""Of fits of ``hierarchical``: the average of them ends within .001 of its limit."""
Watch = Callable[[str], tuple[EMState | None, Callable[[int, EMState], None]]]
"""By what is fitted: where an earlier run stood, and what is told after each iteration."""


def watch_nothing(_: str) -> tuple[EMState | None, Callable[[int, EMState], None]]:
    """Return no state, and tell nobody."""
    return None, lambda _, __: None


@dataclass(frozen=True)
class TaskLabels:
    """Labels of a task, or of a block of its items.

    Parameters
    ----------
    codes
        The labels.
    known_items
        Items whose class is known.
    """

    codes: LabelCodes
    known_items: KnownItems


@dataclass(frozen=True)
class ModelFit:
    """A label model fitted to a task: its settings, estimates, and how the fit ended."""

    params: DawidSkeneParams
    estimates: Estimates
    convergence: Convergence

    @property
    def prevalence(self) -> Floats:
        """Return ``(K,)`` shares of items by class."""
        return np.asarray(np.exp(self.estimates.log_pi[0]))

    @property
    def confusion(self) -> Floats:
        """Return ``(n_judges, K, K)`` confusion matrices as [judge, true, observed]."""
        return np.asarray(np.exp(self.estimates.log_theta.transpose(0, 2, 1)))


@dataclass(frozen=True)
class ItemFit:
    """What the probabilities of a task's items follow from.

    Parameters
    ----------
    dawid_skene
        Estimates of Dawid-Skene.
    members
        Estimates of the published model: one for each dependence, or one.
    stacking
        How members are averaged; None for a model that publishes its own posterior.
    recalibration
        By known items; None where there is none.
    known_items_differ
        Whether the known items are no sample of all.
    is_capped
        Whether classes without a vote are capped.
    families
        ``(n_judges,)`` of judges; None: each judge's labels count as the codes have it.
    """

    dawid_skene: Estimates
    members: tuple[Estimates, ...]
    stacking: StackedFit | None
    recalibration: Recalibration | None
    is_capped: bool
    families: Codes | None = None
    known_items_differ: bool = False

    def related_codes(self, codes: LabelCodes) -> LabelCodes:
        """Return the labels with the families of judges that were found."""
        return codes if self.families is None else replace(codes, families=self.families)


@dataclass(frozen=True)
class LabelFit:
    """What was fitted to one task.

    Parameters
    ----------
    dawid_skene
        The paper's model.
    members
        The published model: a fit of each dependence, or one.
    item_fit
        What probabilities of items follow from.
    evidence
        How well they predict labels that are held out.
    related
        Judges whose errors go together; None for models that know no families.
    """

    dawid_skene: ModelFit
    members: tuple[ModelFit, ...]
    item_fit: ItemFit
    evidence: Evidence
    related: RelatedJudges | None = None

    @property
    def fits(self) -> tuple[ModelFit, ...]:
        """Return every fit once, Dawid-Skene's first."""
        return tuple({id(fit): fit for fit in (self.dawid_skene, *self.members)}.values())


@dataclass(frozen=True)
class Probabilities:
    """Of each class of some items of a task, ``(n_items, K)``: published, and Dawid-Skene's."""

    published: Floats
    dawid_skene: Floats


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
    [dawid_skene] = _fit_models(unrelated, shapes, [paper], watch)
    is_paper = params.model == "dawid_skene"
    members = [dawid_skene] if is_paper else _fit_models(codes, shapes, members_of(params), watch)
    n_known = np.sum(tasks.map(_n_known), axis=0)
    fits = []
    for t, fitted in enumerate(zip(*members, strict=True)):
        labels = codes.keep(_of_task, t)
        own = _scores(unrelated.keep(_of_task, t), dawid_skene[t])
        if params.model == "hierarchical":
            published = _stack(labels, shapes[t], fitted, shared_weights, watch)
        else:
            published = _Published(fitted, own if is_paper else _scores(labels, fitted[0]))
        item_fit = published.item_fit(dawid_skene[t], is_capped=not is_paper)
        if not is_paper and n_known[t] >= ENOUGH:
            item_fit = _recalibrate(tasks, t, item_fit)
        fits.append(
            LabelFit(
                dawid_skene[t],
                published.members,
                item_fit,
                published.evidence(own),
                published.related,
            )
        )
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
    """

    members: tuple[ModelFit, ...]
    scores: HeldOutScores
    stacking: StackedFit | None = None
    related: RelatedJudges | None = None
    families: Codes | None = None

    def item_fit(self, dawid_skene: ModelFit, *, is_capped: bool) -> ItemFit:
        """Return what the probabilities of items follow from."""
        estimates = tuple(fit.estimates for fit in self.members)
        return ItemFit(
            dawid_skene.estimates, estimates, self.stacking, None, is_capped, self.families
        )

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
) -> _Published:
    """Average the fits of a task, with families of judges where they are found and help.

    Votes alone are published where they predict labels clearly better, and where no item has labels
    of two families: then nothing tells how good a fit is.
    """
    related, families = related_judges(labels), None
    refitted = _fit_families(labels, shape, members, related, watch)
    if refitted is not None:
        members, families = refitted, related.families
        labels = labels.keep(_with_families, families)
    estimates = [fit.estimates for fit in members]
    stacking, predictions = fit_stacking(labels, estimates, shared=shared_weights)
    scores = stacked_scores(predictions, stacking.weights)
    if not scores.n_labels or is_clear(scores.mean(2), scores.n_labels):
        stacking = replace(stacking, votes_alone=True)
    return _Published(members, scores, stacking, related, families)


def predict_small_task(
    labels: LabelCodes, params: DawidSkeneParams, most: int = FEW
) -> Predictions:
    """Return predictions of labels of a task with few labels, for weights that such tasks share.

    Parameters
    ----------
    labels
        Of a whole task.
    params
        Settings.
    most
        Of labels; none of a task that has more.
    """
    tasks = InMemoryBlocks([[TaskLabels(labels, KnownItems.none())]])
    codes, shapes = tasks.keep(_codes), _shapes(tasks)
    members = _fit_models(codes, shapes, members_of(params), watch_nothing)
    estimates = [fits[0].estimates for fits in members]
    [predictions] = fit_stacking(codes.keep(_of_task, 0), estimates)[1].map(_itself)
    return predictions if labels.items.size < most else predictions.keep_first(0)


def _itself(predictions: Predictions) -> Predictions:
    return predictions


def _fit_families(
    labels: Blocks[LabelCodes],
    shape: Shape,
    without: Sequence[ModelFit],
    related: RelatedJudges,
    watch: Watch,
) -> tuple[ModelFit, ...] | None:
    """Return fits with the families found; None where there are none, or they do not help."""
    if not related.n_found:
        return None
    blocks = labels.keep(_as_family_task, related.families)
    models = [fit.params for fit in without]
    fits = tuple(
        member
        for [member] in _fit_models(
            blocks, [shape], models, lambda fitted: watch(f"{fitted}, related judges")
        )
    )
    compared = compare_families(
        labels,
        related.families,
        [fit.estimates for fit in without],
        [fit.estimates for fit in fits],
    )
    return fits if compared.families_help else None


def _with_families(codes: LabelCodes, families: Codes) -> LabelCodes:
    return replace(codes, families=families)


def _as_family_task(codes: LabelCodes, families: Codes) -> list[LabelCodes]:
    return [_with_families(codes, families)]


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


def published_counts(codes: LabelCodes, published: Floats) -> Counts:
    """Return the labels of judges by the published probability of each class, and the items.

    Parameters
    ----------
    codes
        Of a block of items of one task.
    published
        ``(n_items, K)``.
    """
    matrix = LabelMatrix.from_tasks([0], [codes])
    return Counts(matrix.votes_by_judge @ published, published.sum(axis=0)[None], np.zeros(1))


def published_judges(fit: LabelFit, counts: Counts) -> tuple[Floats, Floats]:
    """Return the prevalence ``(K,)`` and the confusion matrices that published labels imply.

    The confusion matrices ``(n_judges, K, K)``, as [judge, true, observed], are those that the
    label model estimates from the published probabilities. A model that publishes its own posterior
    has its own; the paper's prevalence is its own too.

    Parameters
    ----------
    fit
        Of a task.
    counts
        `published_counts` of all its items.
    """
    [model] = fit.members[:1]
    if not fit.item_fit.is_capped:
        return model.prevalence, model.confusion
    prevalence = counts.pi[0] / counts.pi.sum()
    if fit.item_fit.stacking is None:
        return prevalence, model.confusion
    m_step, starts = LABEL_MODELS[model.params.model], np.array([0, len(model.confusion)])
    estimates = m_step(counts, starts, None, model.params.smoothing, model.estimates)
    return prevalence, replace(model, estimates=estimates).confusion


def probabilities(labels: TaskLabels, fit: ItemFit) -> Probabilities:
    """Return the probabilities of the items of a block.

    Parameters
    ----------
    labels
        Of a block of items of one task.
    fit
        Of the whole task.
    """
    own = _posterior(replace(labels.codes, families=None), fit.dawid_skene)
    if not fit.is_capped:
        return Probabilities(own, own)
    codes = fit.related_codes(labels.codes)
    published = _before_recalibration(codes, fit)
    if fit.recalibration is not None:
        published = fit.recalibration.apply(published, labels.known_items)
    return Probabilities(ItemLabels.from_codes(codes).unsupported.cap(published), own)


def _name_of(params: DawidSkeneParams) -> str:
    if params.model == "hierarchical":
        return f"hierarchical model, dependence {params.dependence:g}"
    return {"dawid_skene": "Dawid-Skene"}.get(params.model, params.model)


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


def _fit_models(
    tasks: Blocks[Sequence[LabelCodes]],
    shapes: Sequence[Shape],
    models: Sequence[DawidSkeneParams],
    watch: Watch,
) -> list[list[ModelFit]]:
    """Fit label models to every task, those with one number of classes side by side.

    Each model starts where the one before it ended.
    """
    groups = label_groups(tasks, shapes, models[0])
    before: list[FittedGroup | None] = [None] * len(groups)
    by_model = []
    for params in models:
        state, progress = watch(_name_of(params))
        fits: dict[int, ModelFit] = {}
        for n, group in enumerate(groups):
            start = state or _start_at(group, before[n], params)
            fitted = group.fit(params, progress=_after(len(fits), progress), state=start)
            before[n] = fitted
            for t, convergence in zip(group.tasks, fitted.em.convergence, strict=True):
                fits[t] = ModelFit(params, fitted.estimates(t), convergence)
        by_model.append([fits[t] for t in range(len(shapes))])
    return by_model


def _start_at(
    group: LabelGroup, before: FittedGroup | None, params: DawidSkeneParams
) -> EMState | None:
    """Return where a fit starts that follows another; None for the first."""
    if before is None:
        return None
    dependence = np.full(len(group.tasks), params.dependence)
    estimates = replace(before.em.estimates, dependence=dependence)
    return EMState.after_e_step(estimates, group.labels.expected(estimates))


def _after(n_done: int, progress: Callable[[int, EMState], None]) -> Callable[[int, EMState], None]:
    """Return what tells progress of a group, where other tasks are done."""
    return lambda n_settled, state: progress(n_done + n_settled, state)


def _posterior(codes: LabelCodes, estimates: Estimates) -> Floats:
    return e_step(LabelMatrix.from_tasks([0], [codes]), estimates)[0]


def _before_recalibration(codes: LabelCodes, fit: ItemFit) -> Floats:
    if fit.stacking is None:
        return _posterior(codes, fit.members[0])
    return stacked_posterior(codes, fit.members, fit.stacking)


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
    p = _before_recalibration(fit.related_codes(tasks[t].codes), fit)
    return p[items.items], items.classes, items.folds, ClassMass.from_probabilities(p)
