"""Coverage of estimates from human and model judgments: by hand, simulated, and from files."""

from __future__ import annotations

import csv
import gzip
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from studies import simulated_model_judges as simulated
from studies.model_judge_coverage import (
    METHODS,
    IntervalCoverage,
    Question,
    Sample,
    measure_coverage,
)
from studies.model_judge_study import run_model_judges
from studies.params import ModelJudgeCoverage
from studies.recorded_model_judges import read_model_judges
from studies.simulated_model_judges import (
    draw_comparisons,
)
from tests.studies.study_runs import contents, rows, run, silent

LABELS = ("judge", "judge_kind", "item", "answer")
COMPARISONS = ("judge", "judge_kind", "question_id", "model_a", "model_b", "winner")


def nothing() -> None:
    pass


def write(path: Path, columns: tuple[str, ...], lines: list[tuple[str, ...]]) -> Path:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *lines])
    return path


def label_lines(n: int, seed: int = 1) -> list[tuple[str, ...]]:
    """Three people and two models; one model is right nine times of ten, one always says yes."""
    rng = np.random.default_rng(seed)
    lines: list[tuple[str, ...]] = []
    for item in range(n):
        truth = rng.random() < 0.4
        for person in range(3):
            lines.append((f"p{person}", "human", f"i{item}", "yes" if truth else "no"))
        answer = truth == (rng.random() < 0.9)
        lines.append(("good", "model", f"i{item}", "yes" if answer else "no"))
        lines.append(("constant", "model", f"i{item}", "yes"))
    return lines


def by_method(measured: list[IntervalCoverage]) -> dict[str, IntervalCoverage]:
    [kind] = {one.question.kind for one in measured}
    assert [one.method for one in measured] == list(METHODS[kind])
    return {one.method: one for one in measured}


# --- what is measured ------------------------------------------------------------------------


def test_coverage_by_hand() -> None:
    """Two draws: people's means 1/2 and 1 for 3/4; the model says nothing, and alone always 0."""
    zeros = np.zeros(6)
    humans = iter([np.array([1.0, 0, 1, 0]), np.ones(4)])
    question = Question("comparisons", "m", "q")

    def draw(_: np.random.Generator):
        yield question, Sample(next(humans), np.zeros(4), zeros, zeros, 0.75)

    calls: list[int] = []
    measured = by_method(
        measure_coverage(draw, 2, np.random.default_rng(0), lambda: calls.append(1))
    )
    human, model, powered = (measured[method] for method in METHODS["comparisons"])
    assert len(calls) == 2
    # the first: 1/2 +- 3.182 * sqrt(1/3 / 4), which holds 3/4; the second: 1 +- 0
    half = 3.182446 * math.sqrt(1 / 12)
    assert human.coverage == powered.coverage == 0.5
    assert human.width == pytest.approx(half)  # the mean of two halves, and of nothing
    assert human.bias == 0
    assert human.squared_error == powered.squared_error == 0.0625
    assert (model.coverage, model.bias, model.squared_error) == (0, -0.75, 0.5625)
    assert model.human_squared_error == 0.0625
    assert (powered.effective_ratio, human.effective_ratio) == (1, 1)
    assert math.isnan(model.effective_ratio)


def test_intervals_of_people_alone_do_not_profit_from_the_model() -> None:
    """People's interval is mean +- t * deviation / root of n, whatever the model says."""
    question, human = Question("comparisons", "m", "q"), np.array([1.0, 0, 1, 0, 0, 1])

    def draw(_: np.random.Generator):
        yield question, Sample(human, human, np.tile([0.0, 1.0], 50), np.ones(106), 0.5)

    measured = by_method(measure_coverage(draw, 1, np.random.default_rng(0), nothing))
    half = 2.570582 * human.std(ddof=1) / math.sqrt(6)
    assert measured["human"].width == pytest.approx(2 * half)
    assert measured["prediction_powered"].width < half
    assert measured["prediction_powered"].effective_ratio > 4


def test_rogan_gladen_corrects_the_share_of_a_model_by_its_errors() -> None:
    """The model finds 3 of 4 with the class and 4 of 6 without; it gives the class to 46 of 100.

    (.46 + 2/3 - 1) / (3/4 + 2/3 - 1) = .304; with a model that says the opposite there is none.
    """
    human = np.repeat([1.0, 0.0], [4, 6])
    model = np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 1, 1])
    everywhere = np.repeat([1.0, 0.0], [46, 54])

    def draw(_: np.random.Generator):
        yield Question("labels", "m", "q"), Sample(human, model, everywhere[10:], everywhere, 0.3)
        reverse = Sample(human, 1 - model, everywhere[10:], everywhere, 0.3)
        yield Question("labels", "opposite", "q"), reverse

    measured = measure_coverage(draw, 1, np.random.default_rng(0), nothing)
    right, opposite = (one for one in measured if one.method == "rogan_gladen")
    assert right.bias == pytest.approx(0.304 - 0.3)
    assert (right.coverage, right.has_interval) == (1, 1)
    assert opposite.has_interval == 0


# --- simulated judges ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_prediction_powered_interval_covers_where_a_biased_model_alone_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("as good as a person", "poor"):
        monkeypatch.delitem(simulated.MODELS, name)
    measured = measure_coverage(
        partial(draw_comparisons, 100), 200, np.random.default_rng(4), nothing
    )
    powered = [one for one in measured if one.method == "prediction_powered"]
    assert np.mean([one.coverage for one in powered]) > 0.925
    for one in powered:
        if one.question.judge == "useless":
            assert 0.98 < one.effective_ratio < 1.05, "a useless judge costs nothing"
    alone = [one for one in measured if one.method == "model" and one.question.judge == "biased"]
    assert np.mean([one.coverage for one in alone]) < 0.5


# --- files -----------------------------------------------------------------------------------


def test_labels_of_a_file(tmp_path: Path) -> None:
    """Six items with people; two of them without a majority, one without the model."""
    people = {"a": "xxy", "b": "yyy", "c": "xx", "d": "xyz", "e": "z", "f": "xy"}
    lines = [
        (f"p{n}", "human", item, answer)
        for item, answers in people.items()
        for n, answer in enumerate(answers)
    ]
    lines += [("m", "model", item, "x") for item in "abdef"]
    judges = read_model_judges(write(tmp_path / "labels.csv.gz", LABELS, lines))
    assert (judges.kind, judges.n_items, judges.n_without_truth) == ("labels", 4, 2)
    assert [one.question.quantity for one in judges.answers] == [
        "prevalence of x", "prevalence of y",
    ]  # fmt: skip
    first = judges.answers[0]
    assert first.items.tolist() == [0, 1, 3]  # a, b, e of a, b, c, e
    assert first.human.tolist() == [1, 0, 0]
    assert first.model.tolist() == [1, 1, 1]
    [(_, sample), _] = judges.draw(3, np.random.default_rng(0))
    assert sample.truth == pytest.approx(1 / 3)
    assert sample.population == "finite"
    assert sample.human.size + sample.elsewhere.size == 3


def test_comparisons_of_a_file(tmp_path: Path) -> None:
    """One pair named both ways is one comparison; a tie is half a win."""
    lines = [
        ("p", "human", "1", "s", "t", "model_a"),
        ("p", "human", "2", "t", "s", "tie (bothbad)"),
        ("p", "human", "3", "t", "u", "model_b"),
        ("p", "human", "4", "u", "t", "tie"),
        ("p", "human", "5", "s", "u", "model_a"),
        ("m", "model", "1", "s", "t", "model_a"),
        ("m", "model", "1", "t", "s", "model_a"),  # the other order: no longer a win
        ("m", "model", "2", "t", "s", "model_b"),
        ("m", "model", "3", "t", "u", "model_b"),
        ("m", "model", "4", "u", "t", "tie"),
        ("m", "model", "6", "u", "t", "tie"),
    ]
    judges = read_model_judges(write(tmp_path / "pairs.csv", COMPARISONS, lines))
    assert (judges.kind, judges.n_items) == ("comparisons", 5)
    by_quantity = {one.question.quantity: one for one in judges.answers}
    assert list(by_quantity) == ["win rate of s", "win rate of t", "win rate of u"]
    assert by_quantity["win rate of s"].human.tolist() == [1, 0.5]
    assert by_quantity["win rate of s"].model.tolist() == [0.5, 1]
    assert by_quantity["win rate of t"].human.tolist() == [0, 0.5, 0, 0.5]
    assert by_quantity["win rate of u"].human.tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("columns", "lines", "words"),
    [
        (("judge", "item", "score"), [], ["columns of neither", "labels: judge", "question_id"]),
        (LABELS, [("p", "person", "i", "x")], ["unknown judge_kind", "human, model", "person"]),
        (LABELS, [("m", "model", "i", "x")] * 2, ["labels twice", "m: i"]),
        (LABELS, [("p", "human", "i", "x")], ["no model has judged"]),
        (COMPARISONS, [("p", "human", "1", "s", "t", "left")], ["unknown winner", "left"]),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, columns, lines, words) -> None:
    path = write(tmp_path / "file.csv", columns, lines)
    with pytest.raises(ConfigError) as caught:
        read_model_judges(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file.csv.gz").write_bytes(b"no gzip")
    (tmp_path / "file.csv").write_bytes(b"\xff\xfe")
    for name in ("file.csv.gz", "file.csv", "missing.csv"):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_model_judges(tmp_path / name)


# --- the study --------------------------------------------------------------------------


def test_a_file_of_labels_gives_tables_page_and_document(tmp_path: Path) -> None:
    file = str(write(tmp_path / "labels.csv", LABELS, label_lines(300)))
    settings = {"file": file, "n_human": "60", "repeats": "40"}
    document = run("model_judges", tmp_path / "a", **settings)
    written = rows(tmp_path / "a" / "model_judge_coverage.csv")
    assert len(written) == 2 * 2 * 4  # models, classes, methods
    assert {row["quantity"] for row in written} == {"prevalence of no", "prevalence of yes"}
    by_model = {(row["judge"], row["method"]): row for row in document["numbers"]}
    assert by_model["constant", "rogan_gladen"]["coverage"] is None
    assert by_model["good", "rogan_gladen"]["coverage"] > 0.8
    assert by_model["constant", "model"]["coverage"] == 0
    assert by_model["constant", "prediction_powered"]["effective_ratio"] == 1
    assert by_model["good", "prediction_powered"]["effective_ratio"] > 1.5
    assert by_model["good", "prediction_powered"]["coverage"] > 0.8
    run("model_judges", tmp_path / "b", **settings)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    run("model_judges", tmp_path / "c", **settings, seed=18)
    assert rows(tmp_path / "c" / "model_judge_coverage.csv") != written


def test_more_people_than_items_and_other_bad_settings_are_refused(tmp_path: Path) -> None:
    file = str(write(tmp_path / "labels.csv", LABELS, label_lines(30)))
    with pytest.raises(ConfigError) as caught:
        run_model_judges(ModelJudgeCoverage(file=file), silent)
    assert "n_human: is 200; people judged 30 items" in str(caught.value)
    assert "up to 29" in str(caught.value)
    with pytest.raises(ConfigError, match="n_human: is 30"):
        run_model_judges(ModelJudgeCoverage(file=file, n_human=30), silent)
    run_model_judges(ModelJudgeCoverage(file=file, n_human=29, repeats=2), silent)
    with pytest.raises(ConfigError) as caught:
        ModelJudgeCoverage(n_human=1, repeats=0, seed=-1)
    assert str(caught.value).count("or more") == 3


@pytest.mark.slow
def test_simulated_intervals_hold() -> None:
    """The defaults, 500 draws; bounds of docs/research/studies.md, and chance (.01)."""
    result = run_model_judges(ModelJudgeCoverage(), silent)
    powered = [row for row in result.numbers if row["method"] == "prediction_powered"]
    assert len(powered) == 10
    for row in powered:
        assert 0.925 < row["coverage"] < 0.97, row
        assert row["least_coverage"] > 0.905, row
        assert row["effective_ratio"] > 0.995, row
        if row["judge"] in ("useless", "always the same"):
            assert row["effective_ratio"] < 1.03, row
            assert 0.98 < row["error_ratio"] < 1.03, row
