"""Settings of studies: read as their types, refused with what is allowed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from studies.params import (
    ItemReplay,
    ItemStudy,
    SurprisalCurves,
    SystemReplay,
    SystemStudy,
    with_settings,
)
from studies.registry import STUDIES


def refusal(defaults: Any, **settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        with_settings(defaults, settings)
    return str(caught.value)


def test_texts_are_read_as_the_type_of_the_setting() -> None:
    given = {
        "noise": ".15", "n_judges": "40", "whole_points": "false", "scale": "-2,2",
        "reach": "2", "n_items": "null", "iterations": 4.0, "spam": 1, "seed": 3,
    }  # fmt: skip
    actual = with_settings(ItemStudy(), given)
    assert (actual.noise, actual.n_judges, actual.whole_points) == (0.15, 40, False)
    assert (actual.scale, actual.reach, actual.n_items) == ((-2.0, 2.0), (2,), None)
    assert (actual.iterations, actual.spam, actual.seed) == (4, 1, 3)
    assert isinstance(actual.n_judges, int)
    assert isinstance(actual.iterations, int)
    assert with_settings(ItemStudy(), {"reach": [1, "2"]}).reach == (1, 2)
    assert with_settings(ItemStudy(), {"n_items": "60"}).n_items == 60
    assert with_settings(ItemStudy(), {"n_items": None}).n_items is None
    assert with_settings(SystemReplay(), {"scores": "raw"}).scores == "raw"
    assert with_settings(ItemReplay(), {"scale": None}).scale is None
    assert with_settings(ItemStudy(), {}) == ItemStudy()


def test_what_cannot_be_read_is_said_all_at_once() -> None:
    said = refusal(
        ItemStudy(), nois=".1", noise="much", n_judges="2.5", seed=True, scale="1", spam=None,
        whole_points="perhaps", reach="3,x",
    )  # fmt: skip
    for part in (
        "did you mean noise?", "noise: 'much'", "n_judges: '2.5'", "seed: 'True'", "scale: '1'",
        "spam: 'None'", "whole_points: 'perhaps'", "reach: '3,x'",
    ):  # fmt: skip
        assert part in said
    assert "is not one of raw, z" in refusal(SystemReplay(), scores="Z")


@pytest.mark.parametrize(
    ("defaults", "settings", "message"),
    [
        (ItemStudy(), {"n_items": 4}, "n_items: is 4"),
        (ItemStudy(), {"seed": -1}, "seed: is -1"),
        (ItemStudy(), {"gamma": math.inf}, "gamma: is inf"),
        (ItemStudy(), {"bias": math.nan}, "bias: is nan"),
        (ItemStudy(), {"spam": 1.1}, "spam: is 1.1"),
        (ItemStudy(), {"reach": []}, "reach: is empty"),
        (ItemStudy(), {"scale": "2,-2"}, "scale: is 2,-2"),
        (ItemStudy(), {"n_judges": 9}, "fewer than the iterations"),
        (ItemReplay(), {"iterations": 0}, "iterations: is 0"),
        (SystemReplay(), {"per_system": -1}, "per_system: is -1"),
        (SystemStudy(), {"segment_sd": 0.3}, "segment_sd: is more than item_sd"),
        (SurprisalCurves(), {"limit": 0}, "limit: is 0.0"),
    ],
)
def test_what_does_not_fit(defaults: Any, settings: dict[str, Any], message: str) -> None:
    assert message in refusal(defaults, **settings)


def test_every_setting_says_what_it_is() -> None:
    for study in STUDIES.values():
        for name, default, says in study.settings():
            assert says, name
            assert getattr(study.defaults, name) == default
