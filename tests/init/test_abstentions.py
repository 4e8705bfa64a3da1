"""Guessed campaigns: words among answers that say that nothing was answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from annot_pipeline.init.abstentions import abstentions
from tests.init.conftest import Guess, write_csv
from tests.init.guessed import crossed, yes_or_no

Guesses = Callable[..., Guess]
HEADER = ("worker", "item_id", "label")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (("yes", "no", "n/a", "NA", " skip "), {"n/a", "NA", " skip "}),
        (("yes", "no", "none", "?"), set()),
        (("1", "2", "none", "?", "No  answer"), {"none", "?", "No  answer"}),
        (("+", "-"), set()),
        (("yes", "-", "--"), {"-", "--"}),
        (("n/a", "skip"), set()),
    ],
)
def test_words_that_are_no_answers(values: Sequence[str], words: set[str]) -> None:
    assert abstentions(dict.fromkeys(values, 2)).keys() == words


def test_labels_without_words_for_no_answer(tmp_path: Path, guess: Guesses) -> None:
    def label(judge: int, item: int) -> str:
        return "n/a" if judge == item else "skip" if item == 8 else yes_or_no(judge, item)

    actual = guess(write_csv(tmp_path / "v.csv", crossed(*HEADER, label=label)))
    assert actual.settings.sources[0].abstain == ("n/a", "skip")
    assert "n/a (4), skip (4); remove those that are answers" in actual.notes.replace(
        "skip (4), n/a (4)", "n/a (4), skip (4)"
    )
    assert actual.settings.tasks[0].labels == ("no", "yes")
    assert actual.used("label") == {("no",), ("yes",)}
    assert actual.facts["fates"]["not_asked"] == 8


@pytest.mark.parametrize("word", ["NA", "none", "-"])
def test_scores_stay_scores(tmp_path: Path, guess: Guesses, word: str) -> None:
    def score(judge: int, item: int) -> object:
        return word if (judge + item) % 5 == 0 else 0.5 * judge + item

    actual = guess(
        write_csv(tmp_path / "v.csv", crossed("worker", "item_id", "score", label=score))
    )
    assert actual.task_kinds == {"*": "scalar"}
    assert actual.settings.sources[0].abstain == (word,)
    assert actual.facts["fates"]["not_asked"] == 8


def test_a_word_of_one_judge_in_a_column_of_its_own(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        (f"t{n}", *("skipped" if n == j else "yes" if n % 3 else "no" for j in range(3)))
        for n in range(9)
    ]
    header = ("tweet", "rater_1", "rater_2", "rater_3")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.settings.sources[0].abstain == ("skipped",)
    assert actual.used("label") == {("no",), ("yes",)}


def test_scores_of_judges_in_columns_stay_scores(tmp_path: Path, guess: Guesses) -> None:
    rows = [(f"t{n}", *("nan" if n == j else n * 1.5 + j for j in range(3))) for n in range(9)]
    header = ("tweet", "rater_1", "rater_2", "rater_3")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.task_kinds == {"*": "scalar"}
    assert actual.settings.sources[0].abstain == ("nan",)


def test_answers_of_a_survey(tmp_path: Path, guess: Guesses) -> None:
    rows = [
        (f"2026/11/12 9:3{n}:10 AM GMT+2", f"{n}@example.org", "yes" if n % 2 else "n/a", 1 + n % 3)
        for n in range(8)
    ]
    header = ("Timestamp", "Email Address", "Is it red?", "How big?")
    actual = guess(write_csv(tmp_path / "form.csv", [header, *rows]))
    assert actual.settings.sources[0].abstain == ("n/a",)
    assert ("n/a",) not in actual.used("label")


@pytest.mark.parametrize("outcomes", [("left", "right", "skip"), ("s0", "base", "skip")])
def test_outcomes_that_are_none(
    tmp_path: Path, guess: Guesses, outcomes: tuple[str, str, str]
) -> None:
    rows = [(f"j{k % 5}", f"p{k}", "s0", "base", outcomes[k % 3]) for k in range(30)]
    header = ("worker", "prompt", "left", "right", "winner")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.settings.sources[0].abstain == ("skip",)
    assert "(10); remove it if it is an answer" in actual.notes
    assert actual.facts["fates"]["not_asked"] == 10
    assert actual.task_kinds == {"*": "pairwise"}


def test_a_word_among_grades_leaves_them_grades(tmp_path: Path) -> None:
    rows = [(f"j{k % 5}", f"p{k}", "s", "t", "NA" if k % 7 == 0 else k % 7) for k in range(30)]
    header = ("worker", "prompt", "model_a", "model_b", "rating")
    with pytest.raises(ConfigError, match="holds numbers from 1 to 6: how much better"):
        guess_campaign([write_csv(tmp_path / "v.csv", [header, *rows])], tmp_path)


@pytest.mark.parametrize(
    ("others", "codes", "expected"),
    [
        (range(101), ["-1", "999"], {"-1", "999"}),
        (range(1, 6), ["99", "-9"], {"99", "-9"}),
        (range(1, 6), ["99.0"], {"99.0"}),
        (range(101), ["99", "88"], set()),  # on the scale
        (range(2), ["-1"], set()),  # no, unclear, yes
        (range(-2, 3), ["-1", "-9"], set()),
        ((0,), ["99"], set()),
        (("yes", "no"), ["-1", "99"], set()),
    ],
)
def test_numbers_far_from_the_scale_that_say_no_answer(
    others: Iterable[object], codes: list[str], expected: set[str]
) -> None:
    counts = dict.fromkeys([*map(str, others), *codes], 3)
    assert {*abstentions(counts)} == expected
