"""Published probabilities of labels, and the judges' confusion matrices that they imply.

What is fitted to a task (`LabelFit`) is small; probabilities of items follow block by block.
Classes without a vote are capped last of all, after known items corrected the probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.methods.labels.e_step import e_step
from annot_pipeline.methods.labels.estimates import Counts, Estimates
from annot_pipeline.methods.labels.held_out_labels import Evidence
from annot_pipeline.methods.labels.item_labels import ItemLabels
from annot_pipeline.methods.labels.label_matrix import LabelCodes, LabelMatrix
from annot_pipeline.methods.labels.model_fits import ModelFit
from annot_pipeline.methods.labels.models import LABEL_MODELS
from annot_pipeline.methods.labels.recalibration import KnownItems, Recalibration
from annot_pipeline.methods.labels.related_judges import RelatedJudges
from annot_pipeline.methods.labels.stacking import StackedFit, stacked_posterior


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
class ItemFit:
    """Everything that the probabilities of a task's items are computed from.

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
    published = uncorrected_probabilities(codes, fit)
    if fit.recalibration is not None:
        published = fit.recalibration.apply(published, labels.known_items)
    return Probabilities(ItemLabels.from_codes(codes).unsupported.cap(published), own)


def _posterior(codes: LabelCodes, estimates: Estimates) -> Floats:
    return e_step(LabelMatrix.from_tasks([0], [codes]), estimates)[0]


def uncorrected_probabilities(codes: LabelCodes, fit: ItemFit) -> Floats:
    """Return the probabilities ``(n_items, K)`` of a block before known items correct them."""
    if fit.stacking is None:
        return _posterior(codes, fit.members[0])
    return stacked_posterior(codes, fit.members, fit.stacking)
