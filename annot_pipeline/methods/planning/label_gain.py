"""What one more judgment of an item is expected to tell of its label.

The gain is the mutual information of the class and the answer of an average judge (Lindley 1956,
"On a Measure of the Information Provided by an Experiment"): the entropy of the class less its
expected entropy once the answer is known, in nats. The expected fall of the error probability is
0 wherever no single answer would change the label, and so cannot rank items.

Assumes that the judge errs as the confusion matrix says, whatever was answered before. Judges who
repeat each other's mistakes tell less, of all items alike.
"""

from __future__ import annotations

import numpy as np

from annot_pipeline.arrays import Floats


def expected_gain(posterior: Floats, confusion: Floats) -> Floats:
    """Return the expected gain of one more judgment of each item, ``(n_items,)`` nats.

    Parameters
    ----------
    posterior
        ``(n_items, K)`` probabilities of classes.
    confusion
        ``(K, K)`` probabilities of the answers of an average judge, as [true, observed].
    """
    given_class = posterior @ _entropy(confusion)
    return np.maximum(_entropy(posterior @ confusion) - given_class, 0.0)


def _entropy(p: Floats) -> Floats:
    logs = np.log(p, where=p > 0, out=np.zeros_like(p))
    return np.asarray(-(p * logs).sum(axis=-1))
