import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.methods.planning.hit_design import HitDesign, controlled_hits


def hits_of(n_items, n_hits, design, seed=1, share=1.0):
    rng = np.random.default_rng(seed)
    eligible = rng.random((len(design.controls), n_items)) < share
    counts = rng.integers(0, 3, n_items)
    return controlled_hits(counts, eligible, n_hits=n_hits, rng=rng, design=design), eligible


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(10, (40, 60)), (20, (40, 60)), (4, (10, 30)), (2, (1, 19)), (12, (20, 40))]),
    st.integers(1, 5),
)
def test_pairs_keep_their_distance_and_each_control_has_an_output_of_its_own(seed, size, controls):
    groups, spacing = size
    names = tuple(f"control-{n}" for n in range(controls))
    design = HitDesign(groups=groups, spacing=spacing, controls=names)
    actual, eligible = hits_of(design.outputs + 20, 3, design, seed)
    for items, kinds in zip(actual.items.tolist(), actual.kinds.tolist(), strict=True):
        ordinary = {item: slot for slot, item in enumerate(items) if kinds[slot] == 0}
        assert len(ordinary) == design.outputs == kinds.count(0)
        with_control = []
        for slot, (item, kind) in enumerate(zip(items, kinds, strict=True)):
            if kind:
                assert spacing[0] <= abs(slot - ordinary[item]) <= spacing[1]
                assert eligible[kind - 1, item]
                with_control.append(item)
        assert len(set(with_control)) == len(with_control) == groups * controls
        for group in range(groups):
            of_group = kinds[group * 10 : group * 10 + 10]
            assert sorted(of_group)[10 - controls :] == list(range(1, controls + 1))


def test_the_paper_s_design_is_100_slots_with_70_outputs():
    design = HitDesign()
    assert (design.slots, design.ordinary, design.outputs) == (100, 7, 70)
    actual, _ = hits_of(500, 200, design)
    slots = np.broadcast_to(np.arange(100), actual.items.shape)
    apart = set()
    for items, kinds, slot in zip(actual.items, actual.kinds, slots, strict=True):
        place = np.zeros(500, int)
        place[items[kinds == 0]] = slot[kinds == 0]
        apart |= set(np.abs(place[items[kinds > 0]] - slot[kinds > 0]).tolist())
    assert apart == set(range(41, 60))


def test_the_least_judged_come_first():
    design = HitDesign(groups=2, spacing=(1, 19), controls=("ask_again",))
    counts = np.r_[np.full(18, 3), np.zeros(18, int), np.ones(18, int)]
    actual = controlled_hits(
        counts, np.ones((1, 54), bool), n_hits=2, rng=np.random.default_rng(1), design=design
    )
    first, second = (
        set(i[k == 0].tolist()) for i, k in zip(actual.items, actual.kinds, strict=True)
    )
    assert first == set(range(18, 36))
    # those of the first HIT have one judgment more now, as many as the last 18
    assert not second & set(range(18))


def test_controls_go_to_items_fit_for_them_though_others_are_judged_less():
    design = HitDesign(groups=2, spacing=(1, 19), controls=("bad_reference",))
    counts = np.r_[np.zeros(30, int), np.full(2, 9)]
    eligible = np.array([[False] * 30 + [True] * 2])
    actual = controlled_hits(
        counts, eligible, n_hits=3, rng=np.random.default_rng(1), design=design
    )
    for items, kinds in zip(actual.items, actual.kinds, strict=True):
        assert set(items[kinds == 1].tolist()) == {30, 31}


def test_items_that_fit_no_control_are_named_in_the_error():
    design = HitDesign()
    eligible = np.ones((3, 100), bool)
    eligible[1, 9:] = False
    with pytest.raises(ValueError) as error:  # noqa: PT011
        controlled_hits(
            np.zeros(100, int), eligible, n_hits=1, rng=np.random.default_rng(1), design=design
        )
    assert str(error.value) == (
        "a HIT needs 10 items of their own for each control; "
        "fit for them are: ask_again 100, bad_reference 9, good_reference 100"
    )


def test_fewer_items_than_a_hit_shows():
    with pytest.raises(ValueError, match="a HIT shows 70 items, and there are 69"):
        hits_of(69, 1, HitDesign())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"groups": 6},
            "pairs 40 to 60 apart are impossible with 6 groups: the number of groups must be a "
            "multiple of 10",
        ),
        (
            {"spacing": (45, 50)},
            "pairs 45 to 50 apart are impossible with groups of 10: groups d apart give 10 d - 9 "
            "to 10 d + 9",
        ),
        ({"spacing": (60, 40)}, "a spacing of 60 to 40 does not rise from 1 or more"),
        (
            {"controls": ()},
            "a group of 10 holds 1 to 5 controls, not 0: each belongs to an ordinary output of "
            "its own",
        ),
        ({"groups": 0}, "are impossible with 0 groups"),
    ],
)
def test_designs_that_cannot_be(given, says):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        HitDesign(**given)
    assert says in str(error.value)


def test_same_seed_same_hits():
    first, second = (hits_of(300, 5, HitDesign(), seed=3, share=0.5)[0] for _ in range(2))
    assert np.array_equal(first.items, second.items)
    assert np.array_equal(first.kinds, second.kinds)
