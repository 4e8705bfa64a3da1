"""Answers, and what they are about, that a guess must not leave out in silence."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from annot_pipeline.init.questions import Question
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]


def asked(path: Path, **by_role: str) -> Question:
    answers = {role: tuple(columns.split(",")) for role, columns in by_role.items()}
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role=answers)
    return caught.value.questions[0]


def near(draw: random.Random, mean: int, low: int = 0, high: int = 6) -> int:
    return min(max(mean + draw.choice((-1, 0, 0, 1)), low), high)


# --- what was judged -----------------------------------------------------------------------


def conditions(folder: Path, effect: int) -> Path:
    """A story is met in one of three conditions by each judge, in each equally often."""
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [("subject", "story", "relation", "rating")]
    for judge in range(18):
        for story in range(12):
            turn = (judge + story) % 3
            relation = ("equal", "unequal", "none")[turn]
            rows.append(
                (f"s{judge}", f"t{story}", relation, near(draw, 1 + story % 3 + effect * turn))
            )
    return write_csv(folder / "v.csv", rows)


def test_a_condition_by_which_answers_to_an_item_differ_is_asked_for(tmp_path: Path) -> None:
    question = asked(conditions(tmp_path, effect=2), score="rating")
    assert question.text == "answers to one story differ by relation"
    assert question.options[0].by_role == {"item": ("story", "relation")}


def test_a_condition_by_which_no_answers_differ_is_no_question(tmp_path: Path) -> None:
    text = guess_campaign([conditions(tmp_path, effect=0)], tmp_path)
    assert "item: story " in text
    assert "not mapped: relation (3 different)" in text


def test_a_condition_is_part_of_an_item_or_ignored(tmp_path: Path, guess: Guesses) -> None:
    path = conditions(tmp_path, effect=2)
    actual = guess(path, item="story,relation", score="rating")
    assert len(actual.used("item")) == 36
    by_role = {"item": ("story",), "ignore": ("relation",), "score": ("rating",)}
    text = guess_campaign([path], tmp_path, by_role=by_role)
    assert "item: story " in text


def test_an_answer_that_judges_give_unequally_often_is_no_condition(tmp_path: Path) -> None:
    draw, rows = random.Random(2), [("worker", "doc", "rating", "mood")]
    for judge in range(12):
        for doc in range(30):
            mood = draw.choice(("calm", "angry"))
            rating = near(draw, 4 if mood == "calm" else 2, 1, 5)
            rows.append((f"w{judge}", f"d{doc}", str(rating), mood))
    path = write_csv(tmp_path / "v.csv", rows)
    text = guess_campaign([path], tmp_path, by_role={"score": ("rating",)})
    assert "not mapped: mood (2 different)" in text


# --- after an answer -----------------------------------------------------------------------


def test_several_answers_of_a_judge_to_an_item_that_was_named_are_asked_for(tmp_path: Path) -> None:
    draw, rows = random.Random(3), [("user", "doc", "index", "term")]
    terms = [f"term{n}" for n in range(40)]
    for judge in range(5):
        for doc in range(20):
            rows += [(f"u{judge}", f"d{doc}", "ap", t) for t in draw.sample(terms, 6)]
    question = asked(write_csv(tmp_path / "v.csv", rows), item="doc", label="term")
    assert question.text == "judges answer one doc 6.0 times on average"


def test_judges_in_columns_that_answer_one_item_again_and_again_are_asked_for(
    tmp_path: Path,
) -> None:
    draw, rows = random.Random(4), [("row", "adj", "article", "session", "x1", "x2", "x3")]
    for n in range(80):
        said = [str(near(draw, 3 + n % 3, 1, 7)) for _ in range(3)]
        rows.append((str(n), f"adj{n % 9}", ("a", "an", "the")[n % 3], f"s{n % 4}", *said))
    path = write_csv(tmp_path / "v.csv", rows)
    question = asked(path, each="x1,x2,x3", judge="each", score="each")
    assert question.role == "item"


def test_an_item_of_two_columns_is_both_where_columns_are_judges(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [("doc", "sentence", "r1", "r2", "r3")]
    for n in range(30):
        truth = draw.choice(("yes", "no"))
        rows.append((f"d{n // 5}", n % 5, *draw.choices((truth, "no"), (4, 1), k=3)))
    by_role = {"each": ("r1", "r2", "r3"), "judge": ("each",), "label": ("each",)}
    path = write_csv(tmp_path / "v.csv", rows)
    text = guess_campaign([path], tmp_path, by_role={**by_role, "item": ("doc", "sentence")})
    assert 'item: {join: [doc, sentence], sep: ":"}  # 30 different' in text


def test_a_text_of_each_output_is_no_segment_of_several_systems(tmp_path: Path) -> None:
    draw, rows = random.Random(5), []
    for packet in range(25):
        for judge in ("ann", "bob", "cy"):
            for system in range(13):
                score = near(draw, system % 8, 0, 9)
                reason = "timeout" if not score else f"{judge} on {packet} of {system}: {score}"
                row = {"judge_id": judge, "model_id": f"m{system}", "packet_id": f"p{packet}"}
                rows.append(row | {"reason": reason, "score": score})
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = guess_campaign([path], tmp_path, by_role={"score": ("score",)})
    assert "segment: packet_id" in text


def test_a_judge_whom_none_named_is_asked_for_where_no_item_has_two(tmp_path: Path) -> None:
    rows = [("task", "row_id", "model", "label")]
    rows += [
        (f"t{n % 6}", f"r{n}", ("gpt-4o", "gemma-2-9b")[n % 2], "abc"[n // 2 % 3])
        for n in range(60)
    ]
    question = asked(write_csv(tmp_path / "v.csv", rows), item="task,row_id")
    assert "no item has two judges" in question.text
    assert question.options[0].by_role == {"judge": ("model",), "item": ("task", "row_id")}


# --- answers of one set --------------------------------------------------------------------


@pytest.mark.parametrize("item", [None, "doc,sentence"])
def test_columns_that_agree_may_be_judges_whatever_they_are_called(
    tmp_path: Path, item: str | None
) -> None:
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [("doc", "sentence", "alice", "bob", "carol")]
    for n in range(60):
        truth = draw.choice(("yes", "no"))
        rows.append((f"d{n // 5}", n % 5, *draw.choices((truth, "no"), (4, 1), k=3)))
    path = write_csv(tmp_path / "v.csv", rows)
    question = asked(path, **({"item": item} if item else {}))
    assert question.options[0].by_role == {"each": ("alice", "bob", "carol"), "judge": ("each",)}


def test_columns_that_agree_by_chance_alone_are_not_offered_as_judges(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [("doc", "sentence", "alice", "bob", "carol")]
    rows += [(f"d{n // 5}", n % 5, *draw.choices(("yes", "no"), k=3)) for n in range(60)]
    question = asked(write_csv(tmp_path / "v.csv", rows))
    assert all("each" not in option.by_role for option in question.options)


def test_a_truth_that_is_named_stands_beside_judges_in_columns(tmp_path: Path) -> None:
    """Columns ann_0 to ann_2 are judges; nothing but the answer says that ``verdict`` is true."""
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [("id", "verdict", "ann_0", "ann_1", "ann_2")]
    rows += [(n, *draw.choices(("yes", "no"), k=4)) for n in range(20)]
    by_role = {"each": ("ann_0", "ann_1", "ann_2"), "judge": ("each",), "truth": ("verdict",)}
    path = write_csv(tmp_path / "v.csv", rows)
    assert "truth: verdict " in guess_campaign([path], tmp_path, by_role=by_role)


def test_a_truth_among_columns_of_judges_is_none_of_them(tmp_path: Path) -> None:
    draw = random.Random(1)
    names = [*(f"annotation_label_{n}" for n in range(4)), "annotation_llm"]
    rows: list[tuple[object, ...]] = [("id", "text", "ground_truth_label", *names)]
    for n in range(40):
        truth = draw.randrange(4)
        answers = (draw.choice((truth, truth, draw.randrange(4))) for _ in names)
        rows.append((n, f"some words of text {n} that were read", truth, *answers))
    path = write_csv(tmp_path / "v.csv", rows)
    option = asked(path).options[0].by_role
    assert option == {"each": tuple(names), "judge": ("each",)}
    text = guess_campaign([path], tmp_path, by_role=option)
    assert "truth: ground_truth_label " in text


@pytest.mark.parametrize("when", ["2026-04-{:02}", "{:02}.04.2026 12:30", "2026/4/{} 9:05 AM"])
def test_days_beside_answers_are_no_answers(tmp_path: Path, when: str) -> None:
    draw = random.Random(1)
    names = ("R1Q1", "R1Q2", "R2Q1", "R2Q2")
    rows: list[tuple[object, ...]] = [("pid", "submitted", *names)]
    answers = ("5 : top", "4 : good", "2 : poor")
    rows += [(f"st{n}", when.format(1 + n // 2), *draw.choices(answers, k=4)) for n in range(8)]
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert "each: {question: [R1Q1, R1Q2, R2Q1, R2Q2]}" in text


@pytest.mark.parametrize(
    ("names", "task"),
    [
        (("Q1", "Q2", "Q3", "Q10"), "Q"),
        (("1_1_rating", "1_2_rating", "2_1_rating", "2_2_rating"), "rating"),
        (("R1Q1", "R1Q2", "R2Q1", "R2Q2"), "{question}"),
    ],
)
def test_questions_with_two_numbers_are_a_task_each(
    tmp_path: Path, names: tuple[str, ...], task: str
) -> None:
    """R1Q2 may be question 2 to report 1, or part 2 of question 1: none says which is the item."""
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [("pid", *names)]
    rows += [(f"st{n}", *draw.choices(("top", "good", "poor"), k=4)) for n in range(8)]
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert f'task: {{value: "{task}"}}' in text.replace(f"value: {task}}}", f'value: "{task}"}}')


def test_a_column_called_answer_makes_no_batch_of_mturk(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [("passage", "Answer", "Clear", "Tone")]
    rows += [(f"p{n}", f"they said {'yes' * n}", n % 3, (n + n // 3) % 3) for n in range(6)]
    by_role = {"judge": ("=ann",), "item": ("passage",), "label": ("Clear", "Tone")}
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path, by_role=by_role)
    assert "format: csv" in text
    assert "each: {question: [Clear, Tone]}" in text


def test_a_question_that_hardly_ever_differs_is_one_of_its_set(tmp_path: Path) -> None:
    draw = random.Random(6)
    criteria = ("smooth", "plain", "short", "apt", "sound")
    rows: list[tuple[object, ...]] = [("worker", "doc", *criteria)]
    for n in range(300):
        said = [draw.choice((1, 2, 3, 3)) for _ in criteria]
        said[3] = {7: 1, 70: 2}.get(n, 3)
        rows.append((f"w{n % 3}", f"d{n // 3}", *said))
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert f"question: [{', '.join(criteria)}]" in text


def test_a_column_between_others_of_a_form_may_lack_steps_of_their_scale(tmp_path: Path) -> None:
    draw, names = random.Random(7), ("Ann", "Bob", "Cy", "Dan", "Eve", "Flo")
    rows: list[tuple[object, ...]] = [("ResponseId", *names)]
    rows += [
        (f"R{n}", *(draw.choice((1, 2, 4) if name == "Cy" else range(1, 8)) for name in names))
        for n in range(40)
    ]
    question = asked(write_csv(tmp_path / "v.csv", rows))
    assert {"each": names, "judge": ("ResponseId",)} in [o.by_role for o in question.options]


def test_a_number_of_a_form_that_few_saw_is_a_question_of_it(tmp_path: Path) -> None:
    draw = random.Random(8)
    rows = [("HITId", "WorkerId", "AssignmentStatus", "Input.id", "Answer.kind_0", "Answer.kind_1")]
    for n in range(60):
        few = draw.choice(("gun", "bomb")) if n % 20 < 4 else ""
        kind = draw.choice(("person", "place"))
        rows.append((f"h{n // 3}", f"w{n % 3}", "Approved", f"i{n // 3}", kind, few))
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert "label: Answer.kind_1" in text


def test_questions_to_which_all_judges_of_a_grid_say_the_same_are_its_questions(
    tmp_path: Path, guess: Guesses
) -> None:
    draw, asks = random.Random(9), ("source", "hedging", "label")
    header = [f"annotator{n}_{ask}" for n in (1, 2) for ask in asks]
    rows: list[list[object]] = [["id", *header]]
    for n in range(40):
        said = [draw.choice((0, 1)) for _ in asks]
        rows.append([n, *said, *said])
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert {task for (task,) in actual.used("task")} == {*asks}


def test_ratings_on_the_scale_of_others_are_no_dates(tmp_path: Path) -> None:
    draw, rows = random.Random(10), [("participant", "photo", "befriend", "hire", "date")]
    for judge in range(20):
        for photo in range(20):
            said = [str(near(draw, photo % 5 - 2, -2, 2)) for _ in range(3)]
            rows.append((f"p{judge}", f"f{photo}.jpg", *said))
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert "question: [befriend, hire, date]" in text


def test_classes_that_one_judge_writes_in_capitals_are_no_others(
    tmp_path: Path, guess: Guesses
) -> None:
    draw, rows = random.Random(11), [("word", "rater1", "rater2", "rater3")]
    for n in range(60):
        most = draw.choice("nea")
        rows.append((f"w{n}", most, draw.choice((most, most, "n")), most.upper()))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert {label for (label,) in actual.used("label")} == {"n", "e", "a"}


# --- columns without a telling name --------------------------------------------------------


def test_numbers_with_properties_of_their_own_are_what_was_judged(tmp_path: Path) -> None:
    draw = random.Random(12)
    rows: list[tuple[object, ...]] = [("Graph", "Truth1", "Trend", "Points", "Expert", "Decision")]
    for graph in range(1, 41):
        own = (graph % 2, graph % 4 / 4, graph % 5)
        rows += [(graph, *own, expert, draw.choice((0, 1))) for expert in "ABCDE"]
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert "item: Graph " in text


def test_an_id_beside_pictures_may_be_the_persons(tmp_path: Path) -> None:
    draw, rows = random.Random(13), [("id", "photo", "warm", "cold")]
    for judge in range(15):
        for photo in draw.sample(range(30), 20):
            said = [str(near(draw, photo % 5 - 2, -2, 2)) for _ in range(2)]
            rows.append((str(judge), f"f{photo}.jpg", *said))
    options = asked(write_csv(tmp_path / "v.csv", rows)).options
    assert {"judge": ("id",)} in [option.by_role for option in options]


def test_a_file_of_tabs_is_read_by_tabs_where_commas_would_do(tmp_path: Path) -> None:
    rows = [
        (f"{n:04}", f"word{n}", ",".join("NV"[(n + k) % 2] for k in range(6))) for n in range(40)
    ]
    path = write_csv(tmp_path / "v.tsv", rows, "\t")
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    assert caught.value.preview.num_columns == 3


def test_a_winner_by_its_number_is_one_of_two_numbers_of_its_row(tmp_path: Path) -> None:
    draw, rows = random.Random(14), [("chosen", "wordPair a", "wordPair b")]
    for _ in range(90):
        pair = draw.sample(range(1, 9), 2)
        rows.append((str(draw.choice(pair)), str(pair[0]), str(pair[1])))
    path = write_csv(tmp_path / "v.csv", rows)
    text = guess_campaign([path], tmp_path, by_role={"judge": ("anonymous",)})
    assert "winner: chosen" in text


def test_parts_that_nothing_maps_are_named(tmp_path: Path) -> None:
    draw = random.Random(15)
    rows: list[list[object]] = [
        ["worker", "doc", "sys1", "score1", "hue1", "sys2", "score2", "hue2"]
    ]
    for n in range(60):
        row: list[object] = [f"w{n % 4}", f"d{n // 4}"]
        for system in ("base", "ours"):
            row += [system, draw.choice((1, 2, 3, 4, 5)), f"remark {draw.random()} of a person"]
        rows.append(row)
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert "not mapped: hue" in text
