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
from tests.studies.study_runs import rows, run, silent


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
        return str(caught.value)

    six = "item,truth\n" + "".join(f"i{n},{n}\n" for n in range(6))
    assert "'i2: 2', 'i3: 3', 'i4: 4', 'i5: 5'" in refusal(six)
    assert "n_items: is 7" in refusal(six, scale="0,5", n_items=7)
    assert "holds 2 items" in refusal("item,truth\na,1\nb,0\n")
    assert "several tasks" in refusal("task,item,truth\nt,a,1\ns,a,0\n")


def test_a_constant_truth_is_undefined_and_said_so(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("item,truth\n" + "".join(f"i{n},.5\n" for n in range(10)))
    document = run("political", tmp_path / "out", path, iterations=3, repeats=2, rounds=5)
    assert "cannot be compared" in document["findings"][0]
    curves = rows(tmp_path / "out" / "curves.csv")
    assert {row["mean"] for row in curves} == {""}
    assert {row["undefined_repetitions"] for row in curves} == {"2"}
    json.dumps(document, allow_nan=False)
