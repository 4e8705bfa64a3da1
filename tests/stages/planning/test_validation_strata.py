"""Strata of samples: answers, agreement, and merges of small ones."""

from __future__ import annotations

import numpy as np
import pytest

from annot_pipeline.stages.planning.validation_population import MOST_ANSWERS, validation_strata


def strata(kind, *models, classes=()):
    by_model = [np.array(values, float) for values in models]
    return validation_strata(kind, by_model[0], by_model, classes)


def counts(population_strata):
    return dict(
        zip(
            population_strata.names,
            np.bincount(population_strata.code[population_strata.code >= 0]).tolist(),
            strict=True,
        )
    )


def test_answer_by_agreement():
    first = [0] * 40 + [1] * 30
    second = [0] * 25 + [1] * 15 + [1] * 18 + [0] * 12
    assert counts(strata("categorical", first, second, classes=["x", "y"])) == {
        "x, models agree": 25, "x, models differ": 15, "y, models agree": 18,
        "y, models differ": 12,
    }  # fmt: skip


def test_one_model_has_no_disagreement():
    assert counts(strata("categorical", [0] * 12 + [1] * 30, classes=["x", "y"])) == {
        "x": 12,
        "y": 30,
    }


def test_few_that_differ_join_those_that_agree():
    first, second = [0] * 40 + [1] * 30, [0] * 35 + [1] * 5 + [1] * 30
    assert counts(strata("categorical", first, second, classes=["x", "y"])) == {
        "x": 40, "y, models agree": 30,
    }  # fmt: skip


def test_rare_answers_are_one_stratum_or_join_the_smallest():
    rare = [0] * 50 + [1] * 20 + [2] * 6 + [3] * 5
    names = ["w", "x", "y", "z"]
    assert counts(strata("categorical", rare, classes=names)) == {
        "w": 50, "x": 20, "other answers": 11,
    }  # fmt: skip
    rarer = rare[:-4]
    assert counts(strata("categorical", rarer, classes=names)) == {
        "w": 50, "x and other answers": 27,
    }  # fmt: skip
    assert counts(strata("categorical", [0, 1, 2], classes=names)) == {"all answers": 3}


def test_many_answers():
    many = np.repeat(np.arange(30), 12)
    population_strata = strata("categorical", many, classes=[f"c{n}" for n in range(30)])
    assert len(population_strata.names) == MOST_ANSWERS + 1
    assert counts(population_strata)["other answers"] == 120


def test_what_the_model_did_not_judge_is_in_no_stratum():
    population_strata = strata("categorical", [0] * 20 + [np.nan] * 3, [0] * 23, classes=["x"])
    assert (population_strata.code[20:] == -1).all()
    assert counts(population_strata) == {"x, models agree": 20}


def test_scores_are_parted_by_quantiles():
    population_strata = strata("scalar", np.arange(80))
    assert counts(population_strata) == {
        "score up to 19.75": 20, "score up to 39.5": 20, "score up to 59.25": 20,
        "score above 59.25": 20,
    }  # fmt: skip
    assert counts(strata("scalar", np.zeros(30))) == {"score up to 0": 30}


def test_scores_differ_where_models_are_far_apart():
    first = np.zeros(60)
    second = np.where(np.arange(60) < 20, 5.0, 1.0)
    assert counts(strata("scalar", first, second)) == {
        "score up to 0, models agree": 40, "score up to 0, models differ": 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("share", "name"), [(1, "first item wins"), (0, "second item wins"), (0.5, "tie")]
)
def test_pairs(share, name):
    assert counts(strata("pairwise", [share] * 15)) == {name: 15}
