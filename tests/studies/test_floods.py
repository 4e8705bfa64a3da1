"""The study `floods`: a build stops, or its labels stay as they were."""

from __future__ import annotations

import numpy as np
import pytest

from studies.floods import right_labels
from studies.simulators.floods import FloodParams, Kind, draw_flood


def outcome(kind: Kind, share: float, *, is_later: bool = False) -> tuple[float, float] | None:
    params = FloodParams(kind, share, is_later=is_later, n_classes=4)
    return right_labels(draw_flood(params, np.random.default_rng(17)))


@pytest.mark.parametrize("is_later", [False, True])
def test_copies_stop_the_build_and_constant_people_change_nothing(is_later: bool) -> None:
    assert outcome("copying", 0.5, is_later=is_later) is None
    shares = outcome("constant", 0.25, is_later=is_later)
    assert shares is not None
    clean, published = shares
    assert clean > 0.9
    assert published == pytest.approx(clean, abs=0.02)


def test_most_answers_of_people_who_fail_stop_the_build() -> None:
    assert outcome("constant", 0.75) is None


@pytest.mark.parametrize(("n_classes", "shares"), [(2, (0.7, 0.3)), (4, (0.5, 0.25, 0.15, 0.1))])
def test_a_flood_is_as_its_parameters_say(n_classes: int, shares: tuple[float, ...]) -> None:
    params = FloodParams("majority class", 0.5, is_later=True, n_classes=n_classes, n_items=4000)
    flood = draw_flood(params, np.random.default_rng(3))
    assert np.bincount(flood.truth) / flood.truth.size == pytest.approx(shares, abs=0.03)
    is_new = flood.items >= flood.n_before
    assert (flood.is_careful | is_new).all()
    assert flood.is_careful[is_new].mean() == pytest.approx(0.5)
    assert (flood.labels[~flood.is_careful] == 0).all()
    careful = flood.labels[flood.is_careful] == flood.truth[flood.items[flood.is_careful]]
    assert careful.mean() == pytest.approx(0.8, abs=0.02)
