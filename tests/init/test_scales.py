"""Whole numbers are labels or scores by how near judges of one thing are; else it is asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]


def ratings(name: str, spread: float) -> list[tuple[object, ...]]:
    """Three of eight judges rate outputs of three systems with this spread; 9: at random."""
    draw = random.Random(3)
    rows = []
    for doc in range(40):
        for system in range(3):
            middle = draw.gauss(2 + system, 1)
            for judge in draw.sample(range(8), 3):
                step = round(draw.gauss(middle, spread)) if spread < 9 else draw.randint(1, 5)
                rows.append((f"d{doc}", "ABC"[system], f"r{judge}", min(5, max(1, step))))
    return [("doc", "system", "rater", name), *rows]


@pytest.mark.parametrize(
    ("name", "spread"), [("rating", 1.0), ("quality", 1.0), ("fluency", 1.3), ("answer", 0.5)]
)
def test_ratings_of_systems_are_scores(
    tmp_path: Path, guess: Guesses, name: str, spread: float
) -> None:
    """Called a rating or a criterion, and judges are near; or they are much nearer than chance."""
    actual = guess(write_csv(tmp_path / "v.csv", ratings(name, spread)))
    assert actual.fields()["score"] == name
    assert [(t.kind, t.scale) for t in actual.settings.tasks] == [("scalar", (1, 5))]


def class_codes(name: str) -> list[tuple[object, ...]]:
    """Five classes, of which judges take any other one for the true one."""
    draw = random.Random(4)
    rows = [
        (f"d{i}", f"r{j}", truth if draw.random() < 0.6 else draw.randrange(1, 6))
        for i in range(80) for truth in [draw.randrange(1, 6)] for j in range(3)
    ]  # fmt: skip
    return [("doc", "rater", name), *rows]


@pytest.mark.parametrize("name", ["theme", "label", "category", "value", "response"])
def test_codes_of_classes_are_labels(tmp_path: Path, guess: Guesses, name: str) -> None:
    assert guess(write_csv(tmp_path / "v.csv", class_codes(name))).fields()["label"] == name


@pytest.mark.parametrize(
    ("name", "spread"), [("rating", 9.0), ("fluency", 9.0), ("answer", 1.3), ("label", 0.5)]
)
def test_labels_or_scores_is_asked(
    tmp_path: Path, guess: Guesses, name: str, spread: float
) -> None:
    """Called a rating, though judges are not near; or near, though not called so."""
    path = write_csv(tmp_path / "v.csv", ratings(name, spread))
    with pytest.raises(OpenError, match="labels or scores") as error:
        guess_campaign([path], tmp_path)
    [question] = error.value.questions
    assert [*map(str, question.options)] == [f"--score {name}", f"--label {name}"]
    assert guess(path, label=name).task_kinds == {"*": "categorical"}


def sentences(name: str, spread: float) -> list[tuple[object, ...]]:
    """Of 70 judges, 40 judge each sentence: nobody but the judge and the sentence is named."""
    draw = random.Random(7)
    rows = [
        (f"p{j}", f"s{s}", min(5, max(1, round(draw.gauss(middle, spread)))))
        for s in range(20) for middle in [draw.uniform(1, 5)] for j in draw.sample(range(70), 40)
    ]  # fmt: skip
    return [("participant_id", "sentence_id", name), *rows]


@pytest.mark.parametrize(("name", "kind"), [("value", "scalar"), ("label", "categorical")])
def test_numbers_of_one_thing_are_a_scale_where_judges_are_near_unless_called_classes(
    tmp_path: Path, guess: Guesses, name: str, kind: str
) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", sentences(name, 0.8)))
    assert [t.kind for t in actual.settings.tasks] == [kind]


def test_the_question_leaves_other_answers_as_they_are(tmp_path: Path) -> None:
    header, *rows = ratings("rating", 9.0)
    more = [(*row, ("yes", "no")[n * n % 3 % 2]) for n, row in enumerate(rows)]
    path = write_csv(tmp_path / "v.csv", [(*header, "answer"), *more])
    with pytest.raises(OpenError, match="labels or scores") as error:
        guess_campaign([path], tmp_path)
    [scores, _] = error.value.questions[0].options
    assert scores.by_role == {"score": ("rating",), "label": ("answer",)}


def errors(name: str, high: int) -> list[tuple[object, ...]]:
    """Four judges count weighted errors of a good and of a bad system."""
    draw = random.Random(5)
    rows = [
        (f"r{j}", system, f"s{s}", min(high, draw.choice([0, 0, *weights])))
        for s in range(40) for system, weights in (("good", [5]), ("bad", [5, 10, 15]))
        for j in range(4)
    ]  # fmt: skip
    return [("rater", "system", "seg_id", name), *rows]


def test_errors_are_scores_of_which_a_low_one_is_better(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", errors("errors", 15)))
    assert (actual.fields()["score"], actual.fields()["criterion"]) == (
        "errors", {"value": "errors"},
    )  # fmt: skip
    [task] = actual.settings.tasks
    assert (task.kind, task.scale) == ("scalar", (0, 100))
    assert task.criteria["errors"].reverse


def test_a_flag_of_errors_is_a_label(tmp_path: Path, guess: Guesses) -> None:
    fields = guess(write_csv(tmp_path / "v.csv", errors("errors", 1))).fields()
    assert (fields["label"], "criterion" in fields) == ("errors", False)


def test_errors_beside_other_scores_are_noted(tmp_path: Path, guess: Guesses) -> None:
    header, *rows = errors("errors", 15)
    more = [(*row, (n * 7) % 101) for n, row in enumerate(rows)]
    text = guess(
        write_csv(tmp_path / "v.csv", [(*header, "score"), *more]), score="errors,score"
    ).text
    assert "higher counts as better: if errors is bad" in " ".join(text.split())


def test_a_scale_of_both_signs_ends_where_answers_do(tmp_path: Path, guess: Guesses) -> None:
    header, *rows = ratings("rating", 1.0)
    around = [(*row[:-1], int(str(row[-1])) - 3) for row in rows]
    [task] = guess(write_csv(tmp_path / "v.csv", [header, *around])).settings.tasks
    assert (task.kind, task.scale) == ("scalar", (-2, 2))


def test_a_few_ratings_of_one_judge_are_scores_though_a_step_is_missing(
    tmp_path: Path, guess: Guesses
) -> None:
    ratings = (1, 3, 5, 2, 2, 2, 5, 3, 2, 2)
    rows = [("output_id", "rater_id", "rating"), *((n, "R1", r) for n, r in enumerate(ratings, 1))]
    assert guess(write_csv(tmp_path / "v.csv", rows)).fields()["score"] == "rating"


def rated_by(judges: tuple[str, ...], spread: float, n_items: int) -> list[tuple[object, ...]]:
    """Numbers from 1 to 5, a column a judge; of a spread of 9 judges are hardly near each other."""
    draw = random.Random(5)
    rows = [
        (f"p{n}", *(min(5, max(1, round(draw.gauss(middle, spread)))) for _ in judges))
        for n in range(n_items) for middle in [draw.uniform(1, 5)]
    ]  # fmt: skip
    return [("post", *judges), *rows]


ANNOTATORS = ("annotator_1", "annotator_2", "annotator_3")


def test_columns_of_judges_who_are_near_each_other_are_scores(
    tmp_path: Path, guess: Guesses
) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", rated_by(ANNOTATORS, 0.7, 60)))
    assert actual.fields()["score"] == "{rater}"
    assert actual.task_kinds == {"*": "scalar"}
    assert len(actual.used("judge")) == 3


def test_columns_of_judges_with_codes_of_classes_are_labels(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(5)
    rows = [(f"p{n}", *(draw.choice("12345") for _ in ANNOTATORS)) for n in range(200)]
    actual = guess(write_csv(tmp_path / "v.csv", [("post", *ANNOTATORS), *rows]))
    assert actual.fields()["label"] == "{rater}"


@pytest.mark.parametrize(("role", "kind"), [("score", "scalar"), ("label", "categorical")])
def test_of_few_numbers_in_columns_of_judges_it_is_asked(
    tmp_path: Path, guess: Guesses, role: str, kind: str
) -> None:
    path = write_csv(tmp_path / "v.csv", rated_by(ANNOTATORS, 9.0, 12))
    with pytest.raises(OpenError, match="labels or scores") as error:
        guess_campaign([path], tmp_path)
    [question] = error.value.questions
    each = "--each annotator_1,annotator_2,annotator_3 --judge each"
    assert [*map(str, question.options)] == [f"{each} --score each", f"{each} --label each"]
    answers = {"each": ",".join(ANNOTATORS), "judge": "each", role: "each"}
    assert guess(path, **answers).task_kinds == {"*": kind}


def test_ratings_of_which_nobody_gave_the_lowest_are_scores(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(3)
    rows = [
        (f"u{j}", f"q{i}", *(min(10, max(2, round(draw.gauss(m, 1.0)))) for _ in range(2)))
        for i in range(13) for m in [draw.uniform(2, 10)] for j in draw.sample(range(11), 4)
    ]  # fmt: skip
    path = write_csv(tmp_path / "v.csv", [("user", "question_id", "fluency", "adequacy"), *rows])
    assert guess(path).task_kinds == {"*": "scalar"}
