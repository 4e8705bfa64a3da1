"""Class identity: a class that is taken over is found out."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.class_identity import class_identity, item_support
from annot_pipeline.methods.labels.votes import count_votes

ITEMS = np.repeat(np.arange(4), 3)
VOTES_GIVEN = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]
VOTES = count_votes(ITEMS, VOTES_GIVEN, n_items=4, n_labels=3)


def test_classes_that_keep_their_meaning():
    identity = class_identity(np.eye(3)[[0, 0, 1, 1]], VOTES)
    assert identity.n_items.tolist() == [2, 2, 0]
    assert identity.support[:2] == pytest.approx([5 / 6, 5 / 6])
    assert identity.plurality_agreement[:2] == pytest.approx([1, 1])
    assert np.isnan(identity.support[2])
    assert identity.named[:2].all()
    assert identity.names_truth[:2].all()
    assert identity.has_mass.tolist() == [True, True, False]
    assert identity.is_answered.tolist() == [True, True, False]


def test_a_class_that_explains_judges_instead():
    """Items voted 1 are inferred as the unused class 2: no support, not its own name."""
    identity = class_identity(np.eye(3)[[0, 0, 2, 2]], VOTES)
    assert identity.support[2] == 0
    assert identity.plurality_support[2] == pytest.approx(5 / 6)
    assert identity.plurality_agreement[2] == 0
    assert not identity.named[2]  # who sees 2 says 1
    assert not identity.names_truth[1]  # behind the answer 1 stands mostly class 2
    assert item_support(np.array([0, 0, 2, 2]), VOTES).tolist()[2:] == [0, 0]


def test_ties_of_the_vote_count_as_agreement():
    votes = count_votes([0, 0], [0, 1], n_items=1, n_labels=2)
    assert class_identity(np.array([[0.1, 0.9]]), votes).plurality_agreement[1] == 1


def test_items_add_up_to_those_of_all():
    """Halves of the items say together what all say."""
    posterior = np.array([[0.9, 0.1, 0], [0.6, 0.4, 0], [0.2, 0.8, 0], [0.3, 0.3, 0.4]])
    whole = class_identity(posterior, VOTES)
    halves = [
        class_identity(
            posterior[half],
            count_votes(
                np.repeat([0, 1], 3), VOTES_GIVEN[3 * half.start : 3 * half.stop],
                n_items=2, n_labels=3,
            ),
        )
        for half in (slice(0, 2), slice(2, 4))
    ]  # fmt: skip
    together = halves[0] + halves[1]
    assert together.n_items.tolist() == whole.n_items.tolist() == [2, 1, 1]
    assert together.support == pytest.approx(whole.support)
    assert together.plurality_support == pytest.approx(whole.plurality_support)
    assert together.expected == pytest.approx(whole.expected)
    assert together.answers.tolist() == whole.answers.tolist()


def test_refuses_other_classes():
    with pytest.raises(ValueError, match="same items and classes"):
        class_identity(np.ones((4, 2)) / 2, VOTES)
