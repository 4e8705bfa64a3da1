"""What cells say against names, and what they say where names are silent."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign, names
from annot_pipeline.init.questions import Question
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
Rows = list[tuple[object, ...]]


def question_of(path: Path, **by_role: str) -> Question:
    answers = {role: tuple(columns.split(",")) for role, columns in by_role.items()}
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role=answers)
    return caught.value.questions[0]


def test_a_flag_called_person_is_one_of_the_flags(tmp_path: Path) -> None:
    """Three neighbours hold the very same two values, so it is no judge, and none is offered."""
    draw = random.Random(1)
    rows: Rows = [("item", "NE - person", "NE - place", "order wrong", "word wrong", "repeated")]
    rows += [(n // 3, *(draw.randint(0, 1) for _ in range(5))) for n in range(90)]
    question = question_of(write_csv(tmp_path / "v.csv", rows))
    offered = [option.by_role["judge"] for option in question.options]
    assert (question.role, {*offered}) == ("judge", {("anonymous",), ("=NAME",)})


def test_the_order_of_pages_is_no_part_of_the_item(tmp_path: Path, guess: Guesses) -> None:
    """Each judge met each sound once or twice, on pages in an order of his own."""
    draw = random.Random(2)
    rows: Rows = [("subject", "sound", "page_order", "is_replicate", "rating")]
    for judge in range(8):
        pages = [*range(10), 0, 1]
        draw.shuffle(pages)
        rows += [
            (f"s{judge}", f"sound{page}", at, pages.index(page) < at, draw.randint(0, 100))
            for at, page in enumerate(pages)
        ]
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert (fields["item"], fields["position"]) == ("sound", "page_order")


def test_a_coarser_copy_of_an_answer_is_no_question(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(3)
    grades = [draw.randint(0, 4) for _ in range(120)]
    rows: Rows = [("doc", "grade", "binary_grade")]
    rows += [(f"d{n}", grade, int(grade > 1)) for n, grade in enumerate(grades)]
    actual = guess(write_csv(tmp_path / "v.csv", rows), judge="=anna")
    assert len(actual.settings.sources) == 1
    assert "binary_grade" not in str(actual.fields())


def test_a_rare_value_beside_a_rare_one_is_no_copy(tmp_path: Path) -> None:
    """One row alone is uncertain, and it is the only one of its label."""
    rows: Rows = [("doc", "label", "framing_label", "uncertain_label")]
    rows += [(f"d{n}", "no" if n else "yes", "ab"[n % 2], "fs"[n == 0]) for n in range(120)]
    question = question_of(write_csv(tmp_path / "v.csv", rows), judge="=anna")
    assert "uncertain_label" in question.text


def test_a_normalized_score_is_no_question(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(4)
    rows: Rows = [("rater", "clip", "rating", "normalised_rating", "rating_zscore")]
    for n in range(90):
        score = draw.randint(0, 100)
        rows.append((f"r{n % 3}", f"c{n // 3}", score, score / 2 + n % 3, score / 9 - n % 3))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert [actual.fields(n)["score"] for n in range(len(actual.settings.sources))] == ["rating"]


def repeated(n: int) -> tuple[str, int]:
    return f"x{n // 3}", (1, 1, -1)[n % 3]


def test_rows_that_answers_alone_tell_apart_are_other_people(
    tmp_path: Path, guess: Guesses
) -> None:
    rows: Rows = [("Input.id", "Answer.acceptable"), *map(repeated, range(12))]
    actual = guess(write_csv(tmp_path / "answers.csv", rows))
    assert actual.fields()["item"] == "Input.id"
    assert "judge: anonymous" in actual.text
    assert actual.facts["fates"]["used"] == 12


@pytest.mark.parametrize("column", ["annotator", "shown_to", "run"])
def test_rows_that_a_column_tells_apart_are_asked_about(tmp_path: Path, column: str) -> None:
    """One is called a judge, though it is blank; another may say who judged, or which run."""
    rows: Rows = [("Input.id", column, "Answer.acceptable")]
    rows += [
        (item, "" if column == "annotator" else f"v{n % 3}", answer)
        for n, (item, answer) in enumerate(map(repeated, range(12)))
    ]
    assert question_of(write_csv(tmp_path / "answers.csv", rows)).role == "judge"


def test_things_that_recur_from_file_to_file_are_asked_about(tmp_path: Path) -> None:
    """Each file may be a judge."""
    for name in ("a", "b", "c"):
        rows: Rows = [("item", "label"), *((f"x{n}", "yn"[n % 2]) for n in range(20))]
        write_csv(tmp_path / f"{name}.csv", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([tmp_path], tmp_path)
    assert caught.value.questions[0].role == "judge"


def test_values_that_are_criteria_are_tasks(tmp_path: Path, guess: Guesses) -> None:
    """Though a condition is a system elsewhere."""
    draw = random.Random(5)
    rows: Rows = [("participant", "condition", "item_number", "rating")]
    rows += [
        (f"p{judge}", criterion, item, draw.choice(["human", "mt", "tie"]))
        for judge in range(4) for criterion in ("fluency", "adequacy") for item in range(20)
    ]  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.used("task") == {("fluency",), ("adequacy",)}
    assert actual.fields()["item"] == "item_number"


def test_a_category_of_equally_many_rows_each_is_a_design(tmp_path: Path) -> None:
    kinds = ("fermi", "role", "common", "generic", "math", "coding", "writing")
    rows: Rows = [("question_id", "reviewer", "category", "review")]
    rows += [(n, "gpt-4", kinds[n // 10], f"the first is better by {n}") for n in range(70)]
    assert question_of(write_csv(tmp_path / "v.csv", rows)).role == "label"


def test_a_class_beside_numbers_of_one_judge_is_asked_about(tmp_path: Path) -> None:
    draw = random.Random(6)
    rows: Rows = [("filename", "class", "human")]
    rows += [(f"{n}.jpg", draw.choice(["egg", "cap", "roll"]), draw.randint(2, 90))
             for n in range(60)]  # fmt: skip
    question = question_of(write_csv(tmp_path / "v.csv", rows), judge="=anna")
    assert {"class", "human"} <= {
        n for o in question.options for c in o.by_role.values() for n in c
    }


def test_what_an_id_determines_is_a_description(tmp_path: Path) -> None:
    """A composer wrote each album: no answer, though it differs in all keys and listeners."""
    draw = random.Random(7)
    rows: Rows = [("participant", "condition", "key", "album_id", "composer", "joy", "calm")]
    for judge in range(12):
        for key in range(12):
            for album in draw.sample(range(4), 2):
                answers = draw.randint(1, 7), draw.randint(1, 99)
                composer, style = ("bach", "chopin")[album % 2], ("plain", "free")[album // 2]
                rows.append((f"p{judge}", style, f"k{key}", f"a{album}", composer, *answers))
    assert "composer" not in question_of(write_csv(tmp_path / "v.csv", rows)).text.split(" tell")[0]


def described_texts(last: str) -> Rows:
    """Of 80 texts, two were made twice; answers differ in nearly all."""
    draw = random.Random(8)
    rows: Rows = [("annotator", "text", "emotion", "maker", "set", "joy", "fear", "fluent", last)]
    for text in range(80):
        for judge in range(3):
            design = text + (text < 2 and judge > 0)
            described = (("fear", "anger", "joy")[design % 3], "abcd"[design % 4], f"s{design % 5}")
            answers = [draw.randint(1, 5) for _ in range(4)]
            rows.append((f"a{judge}", f"this is text {text}", *described, *answers))
    return rows


def test_what_hardly_differs_within_a_text_describes_it(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", described_texts("odd")))
    assert actual.used("task") == {("joy",), ("fear",), ("fluent",), ("odd",)}


def test_where_a_name_leaves_out_a_like_column_it_is_asked(tmp_path: Path) -> None:
    """Control is a role of its own, but the column has the scale of the answers."""
    question = question_of(write_csv(tmp_path / "v.csv", described_texts("a_control")))
    assert question.role == "label"


def test_answers_of_a_batch_whose_workers_have_other_names(tmp_path: Path, guess: Guesses) -> None:
    """Answers are those called so, each of the question of its number; a key stands beside it."""
    draw = random.Random(9)
    header = [name for k in (1, 2) for name in (f"Answer.q{k}", f"q{k}_question", f"q{k}_label")]
    rows: Rows = [("anon_id", *header)]
    for n in range(40):
        row = [
            value for k in (1, 2)
            for value in (f"a{draw.randint(0, 2)}", f"what of {n // 5} in {k}?", (n // 5 + k) % 3)
        ]  # fmt: skip
        rows.append((f"w{n % 5}", *row))
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert (fields["judge"], fields["item"], fields["label"]) == (
        "anon_id", "q{i}_question", "Answer.q{i}",
    )  # fmt: skip


def test_a_number_within_names_of_ids_and_answers(tmp_path: Path, guess: Guesses) -> None:
    draw = random.Random(10)
    header = [name for k in (1, 2, 3) for name in (f"doc{k}id", f"doc{k}selected")]
    rows: Rows = [("worker", "hit_id", *header)]
    for n in range(40):
        row = [v for k in (1, 2, 3) for v in (f"d{n // 4}-{k}", draw.choice(["true", "false"]))]
        rows.append((f"w{n % 4}", f"h{n // 4}", *row))
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert (fields["item"], fields["label"]) == ("doc{i}id", "doc{i}selected")


def test_whether_the_first_was_selected_says_which_won(tmp_path: Path, guess: Guesses) -> None:
    """And a scene tells the comparisons of one pair by one observer apart."""
    draw = random.Random(11)
    rows: Rows = [("observer", "scene", "condition_A", "condition_B", "is_A_selected")]
    systems = ("cam", "ref", "low")
    rows += [
        (f"o{j}", scene, a, b, draw.randint(0, 1))
        for j in range(5) for scene in ("hill", "room", "road")
        for a in systems for b in systems if a < b
    ]  # fmt: skip
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert fields["preference"]["map"] == {"1": "a", "0": "b"}
    assert (fields["system_a"], fields["segment"]) == ("condition_A", "scene")


def test_one_of_several_ranks_of_a_row_is_no_answer_alone(tmp_path: Path) -> None:
    """It is asked what was judged: five replies to a question stand in a row."""
    draw = random.Random(12)
    rows: Rows = [("username", "question", *(f"answer_{k}{end}" for end in ("", "_rank")
                                             for k in (1, 2, 3)))]  # fmt: skip
    for n in range(25):
        texts = [f"this is answer {k} to question {n // 5}" for k in (1, 2, 3)]
        ranks = draw.sample([1, 2, 3], 3)
        rows.append((f"u{n // 5}", f"question {n // 5} is it?", *texts, *ranks))
    assert question_of(write_csv(tmp_path / "v.csv", rows)).role == "item"


def test_a_matrix_of_which_one_judge_saw_all(tmp_path: Path, guess: Guesses) -> None:
    """A judge who only ever said 1 is one of them, too."""
    draw = random.Random(13)
    rows: Rows = []
    for n in range(60):
        seen = [draw.choice(["0", "1"]) if (n + k) % 3 == 0 else "" for k in range(4)]
        rows.append((draw.choice(["0", "1"]), *seen, "1" if n % 5 == 0 else ""))
    fields = guess(write_csv(tmp_path / "v.csv", rows)).fields()
    assert (fields["judge"], fields["item"]) == ({"value": "{rater}"}, {"row": True})


def test_many_sentences_are_no_classes(tmp_path: Path) -> None:
    rows: Rows = [("worker", "pair", "choice")]
    for n in range(200):
        rows.append((f"w{n % 4}", f"p{n // 4}", f"some sentence about the thing {n // 4 % 30}"))
    question = question_of(write_csv(tmp_path / "v.csv", rows))
    assert question.role == "label"
    assert "different sentences" in question.text


def pairs_in_two_columns(first: tuple[str, str], second: tuple[str, str], answer: str) -> Rows:
    """Two pictures of a scene, each a distortion and its level, of which an observer takes one."""
    draw = random.Random(4)
    rows: Rows = [("observer", "scene", *first, *second, answer)]
    rows += [
        (
            f"o{n % 9}", f"s{draw.randint(1, 9)}",
            *(part for _ in "ab" for part in (draw.choice("PQR"), draw.randint(1, 5))),
            draw.randint(1, 2),
        )
        for n in range(600)
    ]  # fmt: skip
    return rows


@pytest.mark.parametrize("answer", ["selected", "choice"])
def test_numbers_of_columns_that_hold_the_same_are_asked_about(tmp_path: Path, answer: str) -> None:
    rows = pairs_in_two_columns(("kind1", "level1"), ("kind2", "level2"), answer)
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError, match="kind1 and kind2 hold the same values") as caught:
        guess_campaign([path], tmp_path)
    [question] = [q for q in caught.value.questions if q.role == "label"]
    assert question.options[0].by_role == {
        "system_a": ("kind1",), "system_b": ("kind2",), "preference": (answer,),
    }  # fmt: skip
    assert "hold the same" not in question_of(path, label=answer).text


def test_one_judge_is_offered_first_where_each_output_has_one_answer(tmp_path: Path) -> None:
    draw = random.Random(2)
    rows: Rows = [("question_id", "model", "judge_score")]
    rows += [(f"q{q}", f"m{m}", draw.randint(1, 10)) for q in range(30) for m in range(3)]
    options = question_of(write_csv(tmp_path / "v.csv", rows)).options
    assert [option.by_role["judge"] for option in options] == [("=NAME",)]


def test_the_path_of_a_picture_is_what_was_judged(tmp_path: Path) -> None:
    draw = random.Random(3)
    rows: Rows = [("imagePath", "informative")]
    rows += [(f"{n % 40}.jpg", draw.choice("abc")) for n in range(200)]
    options = question_of(write_csv(tmp_path / "v.csv", rows)).options
    assert [option.by_role["judge"] for option in options] == [("anonymous",), ("=NAME",)]


def test_metadata_is_no_prefix() -> None:
    assert names.words("metadata.chosen_model") == ["metadata", "chosen", "model"]
    assert names.words("Input.sysId") == ["sys", "id"]


def test_a_flag_of_participants_is_no_judge_where_cells_name_them(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows: Rows = [("Identifier", "Trained participant", "question", "answer")]
    rows += [
        (f"Participant {p}", p % 2, f"q{q}", draw.choice("LR")) for p in range(12) for q in range(9)
    ]
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert "judge: Identifier " in text
    plain: Rows = [("annotator", "question", "answer")]
    plain += [(p, f"q{q}", draw.choice("LR")) for p in range(2) for q in range(9)]
    text = guess_campaign([write_csv(tmp_path / "v.csv", plain)], tmp_path)
    assert "judge: annotator " in text


def sheet_of_flags(*names_: str, values: tuple[str, ...]) -> Rows:
    draw = random.Random(6)
    rows: Rows = [("paper", *names_)]
    rows += [(f"p{n}", *(draw.choice(values) for _ in names_)) for n in range(60)]
    return rows


@pytest.mark.parametrize(
    ("columns", "values", "is_asked"),
    [
        (("RAG", "tuning", "prompts"), ("1", ""), True),
        (("RAG", "tuning", "prompts"), ("yes", "no", ""), False),
        (tuple(f"How good do you think is the test of feature {n}?" for n in range(3)),
         ("good", "bad", ""), True),
    ],
)  # fmt: skip
def test_columns_are_judges_unasked_where_their_answers_and_names_may_be(
    tmp_path: Path, columns: tuple[str, ...], values: tuple[str, ...], is_asked: bool
) -> None:
    path = write_csv(tmp_path / "v.csv", sheet_of_flags(*columns, values=values))
    if is_asked:
        assert "Are these columns judges or questions?" in question_of(path).text
    else:
        assert 'judge: {value: "{rater}"}' in guess_campaign([path], tmp_path)


def test_annotators_at_the_end_of_names_are_judges_of_a_question_each(tmp_path: Path) -> None:
    draw = random.Random(7)
    rows: Rows = [("itemid", "tag_ann1", "tag_ann2", "stance_ann1", "stance_ann2")]
    rows += [(f"i{n}", *(draw.choice(v) for v in ("xyz", "xyz", "pq", "pq"))) for n in range(40)]
    text = guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert {*re.findall(r"task: \{value: (\w+)\}", text)} == {"tag", "stance"}
    rows = [rows[0], *rows[1:], *rows[1:3]]
    options = question_of(write_csv(tmp_path / "v.csv", rows)).options
    assert options[0].by_role["item"] == ("row",)


def browser_experiment(*, rated: bool) -> Rows:
    """Pairs of numbered items with a side or skip; with rows of a question on a scale beside."""
    draw = random.Random(8)
    header = ("participant_id", "trial", "left_item", "right_item", "response", "chosen_side")
    rows: Rows = [(*header, "chosen_item", "item")]
    for p in range(8):
        for trial in range(40):
            pair = draw.sample(range(1, 9), 2)
            side = draw.choice((0, 0, 0, 1, 1, 1, 2))
            word = ("left", "right", "skip")[side]
            chosen = "" if side == 2 else pair[side]
            rows.append((f"p{p}", trial, *pair, side, word, chosen, ""))
        rows += [
            (f"p{p}", 40 + i, "", "", draw.randint(0, 3), "", "", i) for i in range(1, 9) if rated
        ]
    return rows


@pytest.mark.parametrize("rated", [False, True])
def test_sides_in_words_say_what_won_and_no_number_does(tmp_path: Path, rated: bool) -> None:
    path = write_csv(tmp_path / "v.csv", browser_experiment(rated=rated))
    text = guess_campaign([path], tmp_path)
    assert "preference: {column: chosen_side, map: {" in text
    assert ("left: a" in text, "right: b" in text, "abstain: [skip]" in text) == (True,) * 3
    assert "response: " not in text.split("not mapped")[0]
    assert "segment: chosen_item" not in text
    assert ('where: [{column: left_item, not: [""]}]' in text) == rated


@pytest.mark.parametrize(("column", "first"), [("clarity", "=NAME"), ("theme", "each")])
def test_criteria_are_offered_as_questions_first(tmp_path: Path, column: str, first: str) -> None:
    draw = random.Random(9)
    rows: Rows = [("essay", column, "style", "support")]
    rows += [(f"essay {n}", *(draw.randint(1, 5) for _ in range(3))) for n in range(30)]
    question = question_of(write_csv(tmp_path / "v.csv", rows))
    assert question.options[0].by_role["judge"] == (first,)
    assert ("counts of votes" in question.text) == (first == "each")
    assert any(o.by_role.get("score") == (column, "style", "support") for o in question.options)
