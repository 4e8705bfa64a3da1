"""Votes: ties, shares and the three estimates of prevalence, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.methods.labels.votes import count_votes

# item 0: a a b; item 1: a b; item 2: b b b; item 3: nothing
ITEMS, LABELS = [0, 0, 0, 1, 1, 2, 2, 2], [0, 0, 1, 1, 0, 1, 1, 1]


def test_by_hand():
    votes = count_votes(ITEMS, LABELS, n_items=4, n_labels=3)
    assert votes.counts.tolist() == [[2, 1, 0], [1, 1, 0], [0, 3, 0], [0, 0, 0]]
    assert votes.majority.tolist() == [0, 0, 1, 0]  # the tie of item 1 goes to the lower code
    assert votes.majority_share == pytest.approx([2 / 3, 1 / 2, 1, 0])
    assert votes.tied.tolist()[1] == [True, True, False]
    assert votes.sums.vote_share == pytest.approx([3 / 8, 5 / 8, 0])
    assert votes.sums.plurality_frequency == pytest.approx([2 / 3, 1 / 3, 0])
    assert votes.sums.majority_frequency == pytest.approx([1 / 3, 1 / 3, 0])


def test_row_order_does_not_matter():
    order = np.random.default_rng(0).permutation(len(ITEMS))
    shuffled = count_votes(np.array(ITEMS)[order], np.array(LABELS)[order], n_items=4, n_labels=3)
    assert (shuffled.counts == count_votes(ITEMS, LABELS, n_items=4, n_labels=3).counts).all()


def test_refuses_codes_outside_their_range():
    with pytest.raises(ValueError, match="outside its range"):
        count_votes([0], [3], n_items=1, n_labels=3)
    with pytest.raises(ValueError, match="one length"):
        count_votes([0, 1], [3], n_items=1, n_labels=3)
