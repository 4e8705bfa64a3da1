"""What a confusion matrix says of its judge: accuracy, chance, bias.

Sources: Passonneau & Carpenter 2013, section 6 (mean accuracy over classes); Dawid & Skene
1979. Chance is a judge who answers each label as often, but without looking at the item:
its accuracy is sum_k pi_k q_k with q the judge's expected label shares. A judge below it is
reported, never inverted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Floats


@dataclass(frozen=True)
class JudgeAccuracy:
    """Figures of each judge; arrays are ``(n_judges,)``.

    Parameters
    ----------
    accuracy
        Diagonal weighted by prevalence: the chance that a label is right.
    mean_class_accuracy
        Unweighted mean of the diagonal, as the paper quotes it; classes that nobody met
        weigh in with their smoothed 1/K.
    mean_met_class_accuracy
        The same mean over the classes ``is_observed``.
    chance_accuracy
        Accuracy of the same label shares given without looking.
    bias_label, bias
        The label that is overused most, and its expected share minus its prevalence.
    """

    accuracy: Floats
    mean_class_accuracy: Floats
    mean_met_class_accuracy: Floats
    chance_accuracy: Floats
    bias_label: npt.NDArray[np.int64]
    bias: Floats


def judge_accuracy(
    confusion: Floats, prevalence: Floats, is_observed: npt.NDArray[np.bool_]
) -> JudgeAccuracy:
    """Describe judges by their confusion matrices.

    Parameters
    ----------
    confusion
        ``(n_judges, n_labels, n_labels)`` as [judge, true, observed].
    prevalence
        ``(n_labels,)``.
    is_observed
        ``(n_labels,)`` whether any item was inferred to have the class.
    """
    # numpy adds in the order of memory, and another machine gives it back in another one
    confusion = np.ascontiguousarray(confusion.transpose(0, 2, 1)).transpose(0, 2, 1)
    diagonal = confusion.diagonal(axis1=1, axis2=2)
    expected = np.einsum("k,jkl->jl", prevalence, confusion)
    over = expected - prevalence
    return JudgeAccuracy(
        accuracy=diagonal @ prevalence,
        mean_class_accuracy=diagonal.mean(axis=1),
        mean_met_class_accuracy=diagonal[:, is_observed].mean(axis=1)
        if is_observed.any()
        else np.full(len(confusion), np.nan),
        chance_accuracy=expected @ prevalence,
        bias_label=over.argmax(axis=1),
        bias=over.max(axis=1),
    )
