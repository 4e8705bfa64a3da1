"""Layouts of tables in which what is beside the judgments looks like them, or like judges."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign, names
from annot_pipeline.init.questions import Question
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
Row = Sequence[object]


def written(folder: Path, header: str, rows: Iterable[Row]) -> Path:
    return write_csv(folder / "v.csv", [header.split(","), *rows])


def asked(path: Path, **by_role: str) -> Question:
    answers = {role: tuple(columns.split(",")) for role, columns in by_role.items()}
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role=answers)
    return caught.value.questions[0]


def raters(draw: random.Random, n_raters: int, labels: Sequence[str]) -> list[str]:
    """Labels of raters of one thing, of which most say the same."""
    most = draw.choice(labels)
    return [most if draw.random() < 0.7 else draw.choice(labels) for _ in range(n_raters)]


# --- who judged ----------------------------------------------------------------------------


def test_what_most_columns_say_is_no_judge(tmp_path: Path) -> None:
    draw, rows = random.Random(3), []
    for n in range(60):
        said = raters(draw, 5, ("good", "bad", "mixed"))
        rows.append((n, *said, max(said, key=said.count)))
    path = written(tmp_path, "id,Tool,A1,A2,A3,A4,agreed", rows)
    assert asked(path).options[0].by_role["each"] == ("Tool", "A1", "A2", "A3", "A4")


def test_who_is_called_a_judge_goes_before_a_user(tmp_path: Path) -> None:
    draw = random.Random(4)
    rows = [
        (f"v{video}", f"team{user}", f"judge{(video + user) % 3}", draw.choice(("ok", "wrong")))
        for video in range(30) for user in range(8)
    ]  # fmt: skip
    path = written(tmp_path, "videoId,userId,judgeId,verdict", rows)
    assert asked(path).options[0].by_role == {"item": ("videoId", "userId")}


def test_a_column_that_says_yes_or_no_is_no_judge(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(5)
    rows = [(n, f"question {n}", draw.choice(("true", "false"))) for n in range(40)]
    path = written(tmp_path, "index,question,judge", rows)
    assert asked(path).role == "judge"
    actual = guess(path, judge="=expert")
    assert actual.fields()["label"] == "judge"


def test_rows_of_people_without_a_name_are_no_matrix(tmp_path: Path) -> None:
    draw = random.Random(6)
    rows = [(n, f"user-{n % 9}", n % 7, draw.randint(0, 9), draw.randint(0, 9)) for n in range(99)]
    path = write_csv(tmp_path / "v.csv", rows, delimiter=";")
    assert asked(path).role == "item"


def test_an_id_with_age_and_gender_is_offered_first_as_a_judge(tmp_path: Path) -> None:
    draw, rows = random.Random(7), []
    for person in range(12):
        own = (draw.randint(18, 70), draw.choice("mf"), draw.choice(("white", "black")))
        rows += [(person, *own, f"kind {n}", draw.random().__round__(1)) for n in range(20)]
    path = written(tmp_path, "ID,age,gender,race,querytype,response", rows)
    assert asked(path).options[0].by_role == {"judge": ("ID",)}


def test_what_has_properties_is_not_offered_first_as_a_judge(tmp_path: Path) -> None:
    draw, rows = random.Random(8), []
    for n in range(50):
        own = (f"d{n % 6}", f"f{n % 9}", f"p{n % 4}", n % 11)
        rows += [(f"case_{n}_x", *own, m, draw.choice(("True", "False"))) for m in "abcdefgh"]
    path = written(tmp_path, "scenario_id,domain,family,policy,risk,check,detected", rows)
    offered = [option.by_role.get("judge") for option in asked(path).options]
    assert offered[0] != ("scenario_id",) in offered


def test_texts_beside_a_named_answer_are_offered_as_judges(tmp_path: Path) -> None:
    draw = random.Random(9)
    rows = [
        (draw.choice(("true", "false", "mixed")), f"claim {n}", draw.choice(("Post", "Times")))
        for n in range(60)
    ]  # fmt: skip
    path = written(tmp_path, "verdict,said,factchecker", rows)
    assert ("factchecker",) in [option.by_role.get("judge") for option in asked(path).options]


def test_systems_side_by_side_do_not_make_rows_anonymous(tmp_path: Path) -> None:
    draw = random.Random(10)
    rows = [
        (f"what is {n}?", n % 9 / 10, draw.randint(1, 5), draw.randint(1, 5)) for n in range(40)
    ]  # fmt: skip
    path = written(tmp_path, "question,overlap,base_score,tuned_score", rows)
    answers = {"each": "base_score,tuned_score", "system": "each", "score": "@answer"}
    assert [o.by_role for o in asked(path, **answers).options] == [{"judge": ("=NAME",)}]


# --- what was judged -----------------------------------------------------------------------


def test_what_differs_in_every_row_is_no_system(tmp_path: Path) -> None:
    draw = random.Random(11)
    rows = [
        (f"u{n % 5}", f"queue{n % 3}", f"s{n}", draw.choice(("RIGHT", "WRONG"))) for n in range(90)
    ]  # fmt: skip
    path = written(tmp_path, "user,validator,submission,verdict", rows)
    assert {"item": ("submission",)} in [option.by_role for option in asked(path).options]


def test_two_names_of_a_row_are_its_item(tmp_path: Path) -> None:
    draw, rows = random.Random(12), []
    for voter in range(9):
        rows += [(f"v{voter}", f"c{n}", *(draw.randint(0, 26) for _ in range(3))) for n in range(9)]
    path = written(tmp_path, "voting,country,juror_0,juror_1,juror_2", rows)
    assert 'item: {join: [voting, country], sep: ":"}' in guess_campaign([path], tmp_path)


def test_a_condition_of_people_may_be_no_item(tmp_path: Path, guess: Guesses) -> None:
    draw, rows = random.Random(13), []
    for n in range(90):
        rows.append((max(n, 1), "abc"[n % 3], *(draw.randint(0, 1) for _ in range(5))))
    path = written(tmp_path, "participant,condition,bag,shoe,clock,drum,spider", rows)
    first, second = asked(path).options
    assert first.by_role["each"] == ("bag", "shoe", "clock", "drum", "spider")
    assert second.by_role == {"item": ("condition",), "judge": ("participant",)}
    answers = {role: ",".join(columns) for role, columns in first.by_role.items()}
    assert guess(path, **answers).fields()["item"] == {"value": "{question}"}


def test_it_is_asked_whether_people_or_things_have_a_condition(
    tmp_path: Path, guess: Guesses
) -> None:
    draw = random.Random(26)
    rows = [
        (f"r{n % 9}", f"text {n // 9}", "abc"[n % 3], draw.choice(("yes", "no")))
        for n in range(270)
    ]  # fmt: skip
    path = written(tmp_path, "rater,item,condition,label", rows)
    first, second = asked(path).options
    assert (first.by_role, second.by_role) == (
        {"ignore": ("condition",)}, {"system": ("condition",)}
    )  # fmt: skip
    assert "system" not in guess(path, ignore="condition").fields()


def test_what_a_condition_says_is_no_question(tmp_path: Path, guess: Guesses) -> None:
    draw, rows = random.Random(14), []
    for n in range(80):
        condition = n % 4
        design = (condition % 2, condition // 2)
        rows.append((f"s{n}", condition, *design, *(draw.randint(0, 1) for _ in range(4))))
    path = written(tmp_path, "Subject Number,Condition,norm,kind,cause,intent,blame,luck", rows)
    assert guess(path).settings.sources[0].each == {
        "question": ("cause", "intent", "blame", "luck")
    }


def test_two_columns_that_are_never_the_same_were_compared(tmp_path: Path) -> None:
    draw = random.Random(15)
    rows = [draw.sample("ABCDEFGH", 2) for _ in range(40)]
    question = asked(written(tmp_path, "v1,v2", rows))
    sides = {"item_a": ("v1",), "item_b": ("v2",)}
    assert [option.by_role for option in question.options] == [
        sides | {"preference": ("=a",)}, sides | {"preference": ("=b",)}
    ]  # fmt: skip


def test_a_better_choice_won(tmp_path: Path) -> None:
    rows = [(f"query {n}", f"left{n}", f"right{n}") for n in range(20)]
    path = written(tmp_path, "query,better_choice,worse_choice", rows)
    text = guess_campaign([path], tmp_path, by_role={"judge": ("=me",)})
    assert "system_a: better_choice" in text
    assert "preference: {value: a}" in text


def test_texts_of_systems_say_that_scores_are_theirs(tmp_path: Path) -> None:
    draw = random.Random(16)
    rows = [
        (f"q{n}", f"an answer of the first to {n}", f"what the other one says of {n}",
         draw.randint(1, 5), draw.randint(1, 5)) for n in range(40)
    ]  # fmt: skip
    path = written(tmp_path, "question,base_pred,tuned_pred,base_points_5,tuned_points_5", rows)
    assert asked(path).options[0].by_role["system"] == ("each",)


def test_criteria_in_a_column_are_offered_as_questions_first(tmp_path: Path) -> None:
    draw = random.Random(17)
    parts = ("Readability", "Correctness", "Code Elegance", "Documentation")
    rows = [
        (n, part, f"p{(n + k) % 7}", draw.choice("ABCD"))
        for n in range(30) for k in range(2) for part in parts
    ]  # fmt: skip
    path = written(tmp_path, "assignment_number,skill,participant_id,grade", rows)
    assert asked(path).options[0].by_role == {"task": ("skill",)}


def test_a_time_is_no_part_of_what_was_judged(tmp_path: Path) -> None:
    """Some vote again on a statement, whose number is that of a conversation."""
    draw, rows, time = random.Random(18), [], 1_728_978_601_476
    for cell in range(40 * 3 * 12):
        for _ in range((draw.random() < 0.7) * (1 + (draw.random() < 0.06))):
            time += draw.choice((0, 0, 900, 5000))
            rows.append((cell // 12 % 3, cell // 36, cell % 12, draw.randint(-1, 1), time))
    path = written(tmp_path, "zid,pid,tid,vote,created", rows)
    assert asked(path).options[0].by_role == {"item": ("tid", "zid")}


# --- what was answered ---------------------------------------------------------------------


def test_numbers_in_a_part_of_a_slider_are_no_answers(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(19)
    rows = [
        (n % 31, draw.choice((3, 8, 12, 25)), draw.randint(2, 50), n // 31, draw.randint(0, 100))
        for n in range(31 * 30)
    ]  # fmt: skip
    actual = guess(written(tmp_path, "message,sender,receiver,evaluator,evaluation", rows))
    assert actual.fields()["score"] == "evaluation"
    assert actual.settings.sources[0].each == {}


def test_a_scale_in_a_name_is_no_part_of_it() -> None:
    assert names.words("Overall Score (1-5)") == names.words("Overall Score [0 to 10]")
    assert "answer" in names.roles("Overall Score (1-5)")


def test_columns_that_do_not_agree_are_offered_as_questions_first(tmp_path: Path) -> None:
    draw = random.Random(21)
    alike = [(n, *raters(draw, 3, ("0", "1"))) for n in range(60)]
    unlike = [(n, *(int(draw.random() < share) for share in (0.2, 0.5, 0.9))) for n in range(60)]
    first, second = (
        asked(written(tmp_path, "index,happy,angry,anxious", rows)).options[0]
        for rows in (alike, unlike)
    )  # fmt: skip
    assert first.by_role["judge"] == ("each",)
    assert second.by_role["judge"] == ("=NAME",)


def test_whether_it_is_correct_may_be_the_answer(tmp_path: Path) -> None:
    draw = random.Random(23)
    rows = [(f"v{n}", f"judge{n % 5}", draw.choice(("True", "False"))) for n in range(60)]
    path = written(tmp_path, "videoId,judgeId,correct", rows)
    question = asked(path, judge="judgeId", item="videoId")
    assert [option.by_role for option in question.options] == [{"label": ("correct",)}]


def test_sliders_with_few_values_are_no_classes(tmp_path: Path) -> None:
    draw = random.Random(24)
    rows = [
        (f"R_{n}", "2024-01-02", 0, *(4 * draw.randint(0, 25) for _ in range(3)),
         *(draw.choice(("Very", "Somewhat", "Not")) for _ in range(2)), "a|b")
        for n in range(60)
    ]  # fmt: skip
    header = "ResponseId,StartDate,Status,1_prob,2_prob,3_prob,trust,persuasive,FL_28_DO"
    text = guess_campaign([written(tmp_path, header, rows)], tmp_path)
    assert "each: {question: [trust, persuasive]}" in text
    assert 'each: {question: ["1_prob", "2_prob", "3_prob"]}' in text


def test_it_is_asked_whether_one_to_seven_are_a_scale(tmp_path: Path) -> None:
    draw = random.Random(25)
    rows = [(f"s{n % 30}", f"m{n // 30}", draw.randint(1, 7)) for n in range(600)]
    options = asked(written(tmp_path, "participant,item,value", rows)).options
    assert [option.by_role for option in options] == [{"score": ("value",)}, {"label": ("value",)}]
