"""Guessed campaigns: answers to Google Forms, by people with and without a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import OpenError, guess_campaign
from tests.conftest import build_file
from tests.init.conftest import Guess, write_csv
from tests.init.preset_exports import write

Guesses = Callable[..., Guess]


def responses(n: int, **more: Callable[[int], object]) -> list[dict[str, Any]]:
    return [
        {"Timestamp": f"2026/11/12 9:{10 + k}:10 AM GMT+2"}
        | {name.replace("_", " "): value(k) for name, value in more.items()}
        | {"Is mars rock?": "yes" if k % 5 else "no", "Is it red?": "no" if k % 3 else "yes"}
        for k in range(n)
    ]


@pytest.mark.slow
def test_responses_without_email_are_published(tmp_path: Path) -> None:
    rows = responses(14)
    rows[9]["Is it red?"] = ""  # the report says where: row 10
    export = write(tmp_path / "exports" / "form.csv", rows)
    text = guess_campaign([export], tmp_path)
    (tmp_path / "campaign.yaml").write_text(text, encoding="utf-8")
    assert 'judge: {join: [{value: "respondent "}, {row: true}]}' in text
    assert build_file(tmp_path).publication.release


@pytest.mark.parametrize("column", ["Name", "Your_name"])
def test_a_column_of_names_is_the_judge(tmp_path: Path, guess: Guesses, column: str) -> None:
    rows = responses(14, **{column: lambda k: f"Ann {chr(97 + k)}."})
    actual = guess(write(tmp_path / "form.csv", rows))
    assert actual.fields()["judge"] == column.replace("_", " ")
    assert actual.used("task") == {("Is mars rock?",), ("Is it red?",)}
    assert "taken for another person" not in actual.notes


def test_names_that_repeat_are_no_judges_and_no_question(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write(tmp_path / "form.csv", responses(14, Name=lambda k: f"Ann {k % 4}")))
    assert ("respondent 14",) in actual.used("judge")
    assert actual.used("task") == {("Is mars rock?",), ("Is it red?",)}
    assert "not mapped: Name (4 different)" in actual.notes


def test_a_form_of_the_requesters_own_on_mturk(tmp_path: Path, guess: Guesses) -> None:
    """Its fields have no prefix, and rows end before the columns for approval."""
    names = [f"{n}_{k}_rating" for n in range(20) for k in range(1, 4)]
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "LifetimeApprovalRate"]
    rows = [
        ["h1", f"a{n}", f"w{n}", "Submitted", f"{90 + n % 9}% (9/10)",
         *(str((7 * n + 13 * k) % 101) for k in range(60))]
        for n in range(12)
    ]  # fmt: skip
    lines = [[*header, *names, "Approve", "Reject"], *rows]
    path = tmp_path / "results.csv"
    path.write_text("".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines))
    actual = guess(path)
    assert actual.used("task") == {("rating",)}
    assert len(actual.used("item")) == 60
    assert actual.facts["fates"]["used"] == 12 * 60


def test_a_model_that_stands_in_every_row_is_offered_and_columns_that_answer_alike_are_read(
    tmp_path: Path, guess: Guesses
) -> None:
    questions = ("closed_value", "in_canvas_value", "readable_value", "overlap_value")
    rows = [
        {"diagram": f"{n}", "model": "gpt-4.1-mini", "tokens": 900 + 7 * n}
        | {q: ("Yes", "No", "N/A")[n // k % 3] for k, q in enumerate(questions, start=1)}
        for n in range(40)
    ]
    path = write(tmp_path / "v.csv", rows)
    with pytest.raises(ConfigError, match="--judge model"):
        guess_campaign([path], tmp_path)
    actual = guess(path, judge="model", item="diagram")
    assert actual.used("task") == {(q,) for q in questions}


def test_time_taken_is_no_answer_of_a_hit(tmp_path: Path) -> None:
    rows = [
        (f"h{n % 5}", f"w{n % 6}", "Approved", f"t{n % 5}", round(1 + n % 6 + n % 6 / 7, 3))
        for n in range(30)
    ]
    header = ("HITId", "WorkerId", "AssignmentStatus", "Input.text", "Answer.time_in_minutes")
    with pytest.raises(OpenError, match="no column says what was answered"):
        guess_campaign([write_csv(tmp_path / "v.csv", [header, *rows])], tmp_path)


def test_batteries_of_numbered_statements_are_questions_to_a_person(
    tmp_path: Path, guess: Guesses
) -> None:
    names = [f"{battery}{n}" for battery in ("A", "R", "CC") for n in range(1, 6)]
    rows = [
        (f"R{k:03d}", ["Staff", "Guest"][k % 2], k % 20, *((k + n) % 3 + 3 for n in range(15)))
        for k in range(40)
    ]
    header = ("respondent_id", "role", "years_experience", *names)
    actual = guess(write_csv(tmp_path / "survey.csv", [header, *rows]))
    assert actual.fields()["judge"] == "respondent_id"
    assert actual.used("item") == {(name,) for name in names}


def batteries(n: int, *families: str, cell: Callable[[int, int], object]) -> list[Any]:
    names = [f"{family}_{k}" for family in families for k in range(1, len(family) + 1)]
    rows = [(k, *(cell(k, place) for place in range(len(names)))) for k in range(n)]
    return [("anonym_id", *names), *rows]


def test_batteries_of_several_scales_are_a_source_each(tmp_path: Path, guess: Guesses) -> None:
    rows = batteries(
        30, "pay", "bat", "tool", "stress", cell=lambda k, p: (k + p) % (5 if p < 6 else 7) + 1
    )
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert {source.fields["judge"].column for source in actual.settings.sources} == {"anonym_id"}
    assert {task.scale for task in actual.settings.tasks} == {(1, 5), (1, 7)}
    assert actual.used("item") == {(name,) for name in rows[0][1:]}


def test_measured_numbers_are_no_batteries(tmp_path: Path) -> None:
    rows = batteries(30, "pay", "bat", "tool", "stress", cell=lambda k, p: 1 / (k + p + 1))
    with pytest.raises(OpenError, match="no column says who judged"):
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)


def test_what_all_answer_alike_and_long_answers_are_questions(
    tmp_path: Path, guess: Guesses
) -> None:
    long = [f"{k}: because of the many rocks that people have seen there so far" for k in range(2)]
    more = {"Is_it_round?": "yes".format, "Why?": lambda k: long[k % 2]}
    actual = guess(write(tmp_path / "form.csv", responses(14, **more)))
    assert {("Is it round?",), ("Why?",)} <= actual.used("task")


def test_texts_of_people_are_no_answers(tmp_path: Path) -> None:
    rows = [
        {"Timestamp": f"2026/11/12 9:{10 + k}:10 AM GMT+2"}
        | {"How do you stop it?": "stop" if k % 2 else f"halt {k}", "Where?": f"place {k}"}
        for k in range(48)
    ]
    with pytest.raises(ConfigError, match="no column holds answers of few values"):
        guess_campaign([write(tmp_path / "form.csv", rows)], tmp_path)


def test_sliders_of_qualtrics_are_scores_and_conditions_no_questions(
    tmp_path: Path, guess: Guesses
) -> None:
    columns = ("ResponseId", "Status", "Q1", "Honesty_1", "Feedback_1", "Age_1", "condition")
    ids = ("_recordId", "status", "QID1", "QID2_1", "QID3_1", "QID4_1", "condition")
    heads = [
        dict.fromkeys(columns, "A question"),
        {c: json.dumps({"ImportId": i}) for c, i in zip(columns, ids, strict=True)},
    ]
    rows = [
        {"ResponseId": f"R_{k}", "Status": "IP Address", "Q1": ["much", "little"][k % 2],
         "Honesty_1": k, "Feedback_1": 100 - k, "Age_1": 18 + k % 60,
         "condition": ["a", "b", "c"][k % 3]}
        for k in range(101)
    ]  # fmt: skip
    actual = guess(write(tmp_path / "q.csv", [*heads, *rows]))
    assert actual.task_kinds == {
        "Q1": "categorical", "Honesty_1": "scalar", "Feedback_1": "scalar"
    }  # fmt: skip
    assert {task.scale for task in actual.settings.tasks} == {None, (0, 100)}


def test_a_sentence_may_ask_of_comments_or_time(tmp_path: Path, guess: Guesses) -> None:
    asked = "Do you write a comment when you read such papers on paper?"
    more = {"What_is_your_username?": lambda k: f"user{k}", asked: lambda k: k % 2}
    actual = guess(write(tmp_path / "form.csv", responses(14, **more)))
    assert (asked,) in actual.used("task")


def test_forms_in_other_languages_with_headings_of_several_lines(
    tmp_path: Path, guess: Guesses
) -> None:
    options, scale = ("sunny", "cloudy"), ("low", "middle", "high")
    rows = [
        {"Horodateur": f"10/01/2024 15:4{k}:59"}
        | {f"How sure are you?\n\nChoose one. [{o}]": scale[(k + len(o)) % 3] for o in options}
        for k in range(9)
    ]
    actual = guess(write(tmp_path / "form.csv", rows))
    assert actual.used("task") == {("How sure are you?\n\nChoose one.",)}
    assert len(actual.used("item")) == 2
    assert len(actual.used("judge")) == 9


def mturk(answers: Callable[[int], dict[str, object]], n: int = 30) -> list[dict[str, Any]]:
    return [
        {"HITId": f"H{k // 3}", "WorkerId": f"W{k % 6}", "AssignmentId": f"A{k}"}
        | {"AssignmentStatus": "Approved", "WorkTimeInSeconds": 60 + k, "Input.id": f"i{k // 3}"}
        | answers(k)
        for k in range(n)
    ]


def test_seconds_within_those_of_the_assignment_are_no_answer(
    tmp_path: Path, guess: Guesses
) -> None:
    rows = mturk(lambda k: {"Answer.ee": 7.125 + k, "Answer.valid": k % 3 - 1})
    actual = guess(write(tmp_path / "batch.csv", rows))
    assert "Answer.valid" in actual.fields().values()
    assert "Answer.ee (30 different)" in actual.notes
    rows = mturk(lambda k: {"Answer.ee": 97.125 + k, "Answer.valid": k % 3 - 1})
    assert "score: Answer.ee" in guess_campaign([write(tmp_path / "b2.csv", rows)], tmp_path)


def test_radio_buttons_of_a_hit_are_one_question(tmp_path: Path, guess: Guesses) -> None:
    tones = ("bad", "fair", "good")

    def answers(k: int) -> dict[str, object]:
        chosen = (k // 3 + k % 2) % 3
        flags = {f"Answer.tone.{t}": str(n == chosen).lower() for n, t in enumerate(tones)}
        return flags | {"Answer.age.young": str(k % 2 > 0), "Answer.age.old": str(k % 2 < 1)}

    actual = guess(write(tmp_path / "batch.csv", mturk(answers)))
    assert actual.used("label") == {(tone,) for tone in tones}
    assert actual.used("item") == {(f"i{k}",) for k in range(10)}
    assert "Answer.age (2 different)" in actual.notes  # the worker's own


def test_flags_of_which_several_are_set_are_no_radio_buttons(tmp_path: Path) -> None:
    rows = mturk(lambda k: {f"Answer.tone.{t}": str(k % (n + 2) == 0) for n, t in enumerate("abc")})
    path = write(tmp_path / "batch.csv", rows)
    assert "sep:" not in guess_campaign([path], tmp_path)
    blank = [row | {"WorkTimeInSeconds": "", "Answer.tone.a": "", "Answer.s": n / 7}
             for n, row in enumerate(rows)]  # fmt: skip
    assert "Answer.s" in guess_campaign([write(tmp_path / "blank.csv", blank)], tmp_path)
