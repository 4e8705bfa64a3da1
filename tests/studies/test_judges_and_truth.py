"""Simulated judges and the truth that they are held against, drawn or of an oracle."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from studies.item_study import run_item_study
from studies.params import ItemStudy
from studies.tables import measured
from tests.studies.study_runs import SMALL, rows, run, silent


def test_perfect_judges_are_perfect_from_the_first_round() -> None:
    params = ItemStudy(
        noise=0, bias=0, stretch=0, whole_points=False, repeats=2, iterations=3, rounds=5
    )
    for name in ("lexical", "political"):
        actual = run_item_study(name, params, None, silent).correlations
        for method in ("DA", "EASL", "random"):
            position = actual.methods.index(method)
            assert (actual.value[:, :, position] > 1 - 1e-12).all()
            assert (actual.rounds[:, :, position] > 1 - 1e-9).all()


def test_spammers_know_nothing() -> None:
    params = ItemStudy(spam=1, repeats=5, iterations=3, rounds=20)
    actual = measured(run_item_study("lexical", params, None, silent), (3,), 17)
    assert (actual.bands.low < 0).all()
    assert (actual.bands.high > 0).all()
    assert np.abs(actual.bands.value).max() < 0.2


def test_the_agreement_of_two_answers_is_a_fact() -> None:
    exact = ItemStudy(**SMALL, noise=0, bias=0, stretch=0, whole_points=False)
    assert run_item_study("lexical", exact, None, silent).facts == {
        "items": 20, "iterations": 4, "spearman_of_two_answers": pytest.approx(1),
    }  # fmt: skip
    once = replace(exact, iterations=1)
    facts = run_item_study("lexical", once, None, silent).facts
    assert facts["spearman_of_two_answers"] is None


def test_the_truth_is_skewed_or_has_the_shape_of_a_u() -> None:
    params = ItemStudy(**SMALL | {"n_items": 150, "repeats": 1, "iterations": 1})
    lexical, political = (
        np.histogram(run_item_study(name, params, None, silent).truth, 5, (0, 1))[0]
        for name in ("lexical", "political")
    )
    assert lexical.argmax() == 1
    assert (np.diff(lexical[1:]) < 0).all()
    assert (np.diff(political[:3]) < 0).all()
    assert political[4] > political[3]


def test_an_oracle_gives_items_and_truth(tmp_path: Path) -> None:
    lines = [f"{'cab'[n % 3]}{n},{n / 10 - 1}" for n in range(20)]
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("\n".join(["sent,label", *lines]))
    other.write_text("\n".join(["sent,label", *lines[::-1]]))
    params = ItemStudy(iterations=2, repeats=2, rounds=5, scale=(-1, 1))
    actual, again = (run_item_study("political", params, p, silent) for p in (one, other))
    assert list(actual.items) == sorted(line.split(",")[0] for line in lines)
    np.testing.assert_allclose(np.sort(actual.truth), np.arange(20) / 20)
    assert (actual.correlations.value == again.correlations.value).all()
    fewer = run_item_study("political", replace(params, n_items=6), one, silent)
    assert len(fewer.items) == 6
    assert set(fewer.items) < set(actual.items)


def test_an_oracle_that_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"

    def refusal(text: str, **settings: Any) -> str:
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            run("political", tmp_path / "out", path, **settings)
        assert not (tmp_path / "out").exists()
        return str(caught.value).replace(str(path), "FILE")

    title = "a study that cannot be\n  "
    six = "item,truth\n" + "".join(f"i{n},{n}\n" for n in range(6))
    assert refusal(six) == (
        f"{title}FILE: the truth lies outside of the scale, 0 to 1\n"
        "    found:   'i2: 2', 'i3: 3', 'i4: 4', 'i5: 5'\n"
        "    do:      set scale=lowest,highest, as scale=-2,2"
    )
    assert refusal(six, scale="0,5", n_items=7) == (
        f"{title}n_items: is 7, and the oracle has 6\n    allowed: up to 6"
    )
    assert refusal("item,truth\na,1\nb,0\n") == (
        f"{title}FILE: holds 2 items\n    allowed: 5 or more, as a HIT has"
    )
    assert refusal("task,item,truth\nt,a,1\ns,a,0\n") == (
        f"{title}FILE: holds several tasks\n    found:   's', 't'\n    allowed: one"
    )
    with pytest.raises(ConfigError) as caught:
        run("lexical", tmp_path / "out", hit_size=151)
    assert str(caught.value) == (
        f"{title}n_items: is 150 by default\n    allowed: 151 or more, as a HIT has"
    )


def test_a_constant_truth_is_undefined_and_said_so(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("item,truth\n" + "".join(f"i{n},.5\n" for n in range(10)))
    document = run("political", tmp_path / "out", path, iterations=3, repeats=2, rounds=5)
    assert document["findings"] == [
        "At 3 judgments per item EASL and DA cannot be compared: a correlation is undefined where "
        "all scores are equal, or a method could not ask so much.",
        "DA has no correlation at 3 judgments per item or 6 judgments per item: it is undefined, "
        "or was not asked so many.",
    ]
    curves = rows(tmp_path / "out" / "curves.csv")
    assert {row["mean"] for row in curves} == {""}
    assert {row["undefined_repetitions"] for row in curves} == {"2"}
    json.dumps(document, allow_nan=False)
