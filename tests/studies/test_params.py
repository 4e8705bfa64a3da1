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
    assert refusal(
        ItemStudy(), nois=".1", noise="much", n_judges="2.5", seed=True, scale="1", spam=None
    ) == (
        "a study that cannot be\n"
        "  nois: unknown setting\n"
        "    allowed: repeats, rounds, seed, hit_size, gamma, n_judges, noise, bias, stretch, "
        "spam, context, whole_points, epsilon, reach, n_items, iterations, scale\n"
        "    do:      did you mean noise?\n"
        "  noise: 'much' is not a number\n"
        "  n_judges: '2.5' is not a whole number\n"
        "  seed: 'True' is not a whole number\n"
        "  scale: '1' is not 2 numbers, as -2,2\n"
        "  spam: 'None' is not a number"
    )
    assert refusal(ItemStudy(), whole_points="perhaps", reach="3,x", n_judges="inf") == (
        "a study that cannot be\n"
        "  whole_points: 'perhaps' is not true or false\n"
        "  reach: '3,x' is not a whole number\n"
        "  n_judges: 'inf' is not a whole number"
    )
    assert refusal(SystemReplay(), scores="Z") == (
        "a study that cannot be\n  scores: 'Z' is not one of raw, z"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_items": 1}, "n_items: is 1\n    allowed: 2 or more: one alone has no order"),
        ({"n_items": 4}, "n_items: is 4\n    allowed: 5 or more, as a HIT has"),
        ({"iterations": 0}, "iterations: is 0\n    allowed: 1 or more"),
        ({"hit_size": 1}, "hit_size: is 1\n    allowed: 2 or more"),
        ({"repeats": 0}, "repeats: is 0\n    allowed: 1 or more"),
        ({"rounds": 0}, "rounds: is 0\n    allowed: 1 or more"),
        ({"seed": -1}, "seed: is -1\n    allowed: 0 or more"),
        ({"gamma": 0}, "gamma: is 0.0\n    allowed: above 0"),
        ({"gamma": math.inf}, "gamma: is inf\n    allowed: above 0"),
        ({"epsilon": -0.1}, "epsilon: is -0.1\n    allowed: 0 or more"),
        ({"noise": -0.1}, "noise: is -0.1\n    allowed: 0 or more"),
        ({"bias": math.nan}, "bias: is nan\n    allowed: 0 or more"),
        ({"stretch": math.inf}, "stretch: is inf\n    allowed: 0 or more"),
        ({"spam": 1.1}, "spam: is 1.1\n    allowed: 0 to 1"),
        ({"context": -0.1}, "context: is -0.1\n    allowed: 0 to 1"),
        ({"reach": ""}, "reach: '' is not a whole number"),
        ({"reach": []}, "reach: is empty\n    allowed: one or more numbers of judgments, each 1 or "
         "more"),
        ({"reach": "0,3"}, "reach: is 0,3\n    allowed: one or more numbers of judgments, each 1 "
         "or more"),
        ({"scale": "2,-2"}, "scale: is 2,-2\n    allowed: lowest,highest, as -2,2"),
        ({"n_judges": 0}, "n_judges: is 0\n    allowed: 1 or more"),
        ({"n_judges": 9}, "n_judges: is 9, fewer than the iterations\n    allowed: 10 or more: DA "
         "asks another judge each time"),
    ],
)  # fmt: skip
def test_what_does_not_fit(settings: dict[str, Any], message: str) -> None:
    assert refusal(ItemStudy(), **settings) == f"a study that cannot be\n  {message}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_systems": 4}, "n_systems: is 4\n    allowed: 5 or more, as a HIT has"),
        ({"n_segments": 0}, "n_segments: is 0\n    allowed: 1 or more"),
        ({"per_system": 4}, "per_system: is 4\n    allowed: 5 or more"),
        ({"points": 1}, "points: is 1\n    allowed: 2 or more"),
        ({"quality_range": 0}, "quality_range: is 0.0\n    allowed: above 0, up to 1"),
        ({"segment_sd": 0.3}, "segment_sd: is more than item_sd, of which it is a part\n"
         "    allowed: up to 0.22"),
    ],
)  # fmt: skip
def test_what_does_not_fit_systems(settings: dict[str, Any], message: str) -> None:
    assert refusal(SystemStudy(), **settings) == f"a study that cannot be\n  {message}"


def test_what_does_not_fit_others() -> None:
    assert refusal(SurprisalCurves(), epsilon=-1, limit=0, points=1) == (
        "a study that cannot be\n"
        "  epsilon: is -1.0\n    allowed: 0 or more\n"
        "  limit: is 0.0\n    allowed: above 0, up to 30\n"
        "  points: is 1\n    allowed: 2 to 1000"
    )
    assert refusal(ItemReplay(), iterations=0) == (
        "a study that cannot be\n  iterations: is 0\n    allowed: 1 or more"
    )
    assert refusal(SystemReplay(), per_system=-1) == (
        "a study that cannot be\n  per_system: is -1\n    allowed: 0 or more"
    )


def test_every_setting_says_what_it_is() -> None:
    for study in STUDIES.values():
        for name, default, says in study.settings():
            assert says, name
            assert getattr(study.defaults, name) == default
