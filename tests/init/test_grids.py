"""Columns of a judge and a question each, and columns whose cells say what their names do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]


def question(path: Path) -> OpenError:
    """What is asked about a file."""
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent)
    return caught.value


def grid(path: Path, judges: Iterable[object], column: str, *more: str) -> Path:
    """Judges who answer two questions about an item each, side by side in its row."""
    draw = random.Random(4)
    columns = [column.format(j=j, q=q) for j in judges for q in ("fluency", "coherence")]
    rows: list[tuple[object, ...]] = []
    for n in range(40):
        true = draw.randint(1, 5)
        answers = [min(5, max(1, true + draw.randint(-1, 1))) for _ in columns]
        rows.append((f"d{n}", *answers, *(f"{name} {draw.random():.2f}" for name in more)))
    return write_csv(path, [("doc", *columns, *more), *rows])


@pytest.mark.parametrize(
    ("judges", "column", "named"),
    [
        ((1, 2, 3), "rater{j}_{q}", "rater1"),
        ((1, 2, 3), "{q}_rater{j}", "rater1"),
        ((1, 2, 3), "Annotator {j} - {q}", "Annotator 1"),
        ((1, 2, 3), "{q} (Rater {j})", "Rater 1"),
        ("ABC", "Evaluator {j}: {q}", "Evaluator A"),
    ],
)
def test_columns_of_a_judge_and_a_question_each(
    tmp_path: Path, guess: Guesses, judges: Iterable[object], column: str, named: str
) -> None:
    actual = guess(grid(tmp_path / "g.csv", judges, column))
    assert (named,) in actual.used("judge")
    assert len(actual.used("judge")) == 3
    assert actual.used("task") == {("fluency",), ("coherence",)}
    assert actual.facts["fates"]["used"] == 40 * 6
    assert actual.settings.sources[0].each["question"] == ("fluency", "coherence")


@pytest.mark.parametrize("has_ids", [False, True])
def test_confidence_of_raters_is_no_question_and_ids_name_them(
    tmp_path: Path, guess: Guesses, has_ids: bool
) -> None:
    draw = random.Random(14)
    parts = ("fluency", "style", "confidence", *["id"] * has_ids)
    header = ("doc", *(f"rater{j}_{part}" for j in (1, 2) for part in parts))
    rows = [
        (f"d{n}", *(
            cell for j in (1, 2)
            for cell in (*(draw.randint(1, 5) for _ in range(3)), *[f"p{j}{n % 3}"] * has_ids)
        ))
        for n in range(40)
    ]  # fmt: skip
    path = write_csv(tmp_path / "r.csv", [header, *rows])
    if has_ids:  # rater1 is another person in other rows
        assert question(path).questions[0].role in ("judge", "label")
    else:
        assert guess(path).used("task") == {("fluency",), ("style",)}


@pytest.mark.parametrize("column", ["{j}_{q}", "{q} {j}"])
def test_columns_of_a_name_and_a_question_each_are_offered_as_judges(
    tmp_path: Path, guess: Guesses, column: str
) -> None:
    """They may be systems: people say which."""
    path = grid(tmp_path / "g.csv", ("ada", "bea", "cy"), column)
    first = question(path).questions[0].options[0]
    assert first.why == "ada, bea, cy are judges"
    assert first.by_role["judge"] == ("each",)
    actual = guess(path, each=",".join(first.by_role["each"]), judge="each")
    assert actual.used("judge") == {("ada",), ("bea",), ("cy",)}
    assert actual.used("task") == {("fluency",), ("coherence",)}


def test_columns_of_bare_numbers_are_offered_together(tmp_path: Path, guess: Guesses) -> None:
    """A1 fluency may be of a judge, or of a part of the text: people say which."""
    path = grid(tmp_path / "g.csv", (1, 2, 3), "A{j} {q}", "URL")
    [asked] = question(path).questions
    offered = [o.by_role["each"] for o in asked.options if o.by_role.get("judge") == ("each",)]
    assert max(map(len, offered)) == 6
    actual = guess(path, each=",".join(max(offered, key=len)), judge="each", item="doc")
    assert actual.used("judge") == {("A1",), ("A2",), ("A3",)}
    assert actual.used("task") == {("fluency",), ("coherence",)}


@pytest.mark.parametrize("agree", [True, False])
def test_columns_that_agree_on_classes_are_offered_as_judges(
    tmp_path: Path, guess: Guesses, agree: bool
) -> None:
    """Conditions of a design, as two colors that are never the same, are no judges."""
    draw = random.Random(5)
    classes = ("mixed", "object", "procedural")
    rows: list[tuple[str, ...]] = []
    for n in range(60):
        first, second = classes[n % 3], classes[(n + (not agree)) % 3]
        rows.append((*draw.choices(("TRUE", "FALSE"), k=3), first, second))
    path = write_csv(tmp_path / "c.csv", [("Loops", "Classes", "Calls", "Human", "Tool"), *rows])
    offered = [o.by_role for o in question(path).questions[0].options]
    judges = {"each": ("Human", "Tool"), "judge": ("each",)}
    assert (judges == offered[0]) if agree else (judges not in offered)
    actual = guess(path, each="Human,Tool", judge="each", item="row")
    assert actual.used("judge") == {("Human",), ("Tool",)}


@pytest.mark.parametrize("name", ["Model Tested", "evaluated_model"])
def test_models_that_were_judged_are_no_judges(tmp_path: Path, guess: Guesses, name: str) -> None:
    draw = random.Random(6)
    models = ("ChatGPT", "Gemini", "Claude", "DeepSeek")
    rows = [(f"K{n}", m, draw.randint(0, 4)) for n in range(40) for m in models]
    path = write_csv(tmp_path / "m.csv", [("Item ID", name, "Accuracy"), *rows])
    assert {q.role for q in question(path).questions} == {"judge"}
    actual = guess(path, judge="=coder")
    assert actual.used("system") == {(m,) for m in models}


def test_formats_of_all_pairs_in_one_order_are_systems(tmp_path: Path, guess: Guesses) -> None:
    """Of three names, one stands on both sides."""
    draw = random.Random(7)
    pairs = [("prose", "bullet"), ("prose", "header"), ("bullet", "header")]
    rows = [
        (n, *pair, judge, draw.choice("AB"), f"because {draw.random()}")
        for n in range(20) for pair in pairs for judge in ("gpt-4o", "claude-3")
    ]  # fmt: skip
    header = ("id", "format_a", "format_b", "judge", "winner", "reason")
    actual = guess(write_csv(tmp_path / "f.csv", [header, *rows]))
    assert actual.used("system_a") == {("prose",), ("bullet",)}
    assert len(actual.used("segment")) == 20


def test_numbers_in_two_spellings_are_scores(tmp_path: Path, guess: Guesses) -> None:
    """As labels, 4 and 4.00 would be two."""
    draw = random.Random(8)
    rows = [
        (f"w{j}", f"i{n}", draw.choice(("1", "2", "2.00", "3", "3.00")))
        for j in range(4) for n in range(12)
    ]  # fmt: skip
    path = write_csv(tmp_path / "s.csv", [("worker", "item", "narrativity"), *rows])
    assert guess(path).facts["kinds"] == {"s": "scalar"}


def test_a_form_in_which_nothing_was_filled_in_is_no_answer(tmp_path: Path) -> None:
    draw = random.Random(9)
    rows = [
        (f"H{n}", f"A{n}", f"W{n % 9}", f"u{n}.jpg", f'{{"box": [{draw.random()}]}}', "{}")
        for n in range(40)
    ]  # fmt: skip
    header = ("HITId", "AssignmentId", "WorkerId", "Input.url", "Answer.boxes", "Answer.label")
    [asked] = question(write_csv(tmp_path / "h.csv", [header, *rows])).questions
    assert "no column says what was answered" in asked.text
    assert "Answer.boxes" in asked.text


def test_two_numbers_are_offered_as_labels(tmp_path: Path) -> None:
    draw = random.Random(10)
    rows = [
        (f"u{j}", f"m{n}", draw.choice("abc"), draw.choice(("0.0", "1.0")))
        for j in range(12) for n in range(20)
    ]  # fmt: skip
    path = write_csv(tmp_path / "l.csv", [("user", "meme", "mood", "hate"), *rows])
    offered = [o.by_role for q in question(path).questions for o in q.options]
    assert {"label": ("hate",)} in offered
    assert {"score": ("hate",)} not in offered


def test_many_columns_of_names_beside_one_of_things(tmp_path: Path, guess: Guesses) -> None:
    """Each of 60 people rated some of the albums: what is blank was not asked."""
    people = [start + end for start in ("Be", "Do", "Fi", "Ga", "Ku", "Ly") for end in "abdeklmnrs"]
    draw = random.Random(5)
    rows = [
        (f"album {n}", *(draw.randrange(1, 11) / 2 if draw.random() < 0.4 else "" for _ in people))
        for n in range(40)
    ]
    actual = guess(write_csv(tmp_path / "v.csv", [("album", *people), *rows]))
    assert actual.fields()["item"] == "album"
    assert len(actual.used("judge")) == 60
    assert actual.task_kinds == {"*": "scalar"}


def test_rows_of_bare_numbers_may_be_people_who_answered_each_column(
    tmp_path: Path, guess: Guesses
) -> None:
    draw = random.Random(9)
    rows = [[draw.randrange(1, 6) for _ in range(30)] for _ in range(12)]
    path = write_csv(tmp_path / "v.txt", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    chosen = next(o for o in caught.value.questions[0].options if "each row is a person" in o.why)
    actual = guess(path, **{role: ",".join(names) for role, names in chosen.by_role.items()})
    assert len(actual.used("item")) == 30
    assert len(actual.used("judge")) == 12


def test_what_won_by_judge_and_criterion_beside_the_number_of_a_file(
    tmp_path: Path, guess: Guesses
) -> None:
    """1s and 2s say no side: they are called an id."""
    draw = random.Random(3)
    kinds = ("human", "mt", "edited")
    rows = []
    for n in range(60):
        a, b = draw.sample(kinds, 2)
        rows.append((f"{n % 2 + 1}s", n, *(draw.choice((a, b, "tie")) for _ in range(4)), a, b))
    judged = ("fluency_rater1", "fluency_rater2", "adequacy_rater1", "adequacy_rater2")
    header = ("file_id", "line", *judged, "A_origin", "B_origin")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    fields = actual.fields()
    assert (fields["system_a"], fields["system_b"]) == ("A_origin", "B_origin")
    assert fields["winner"] == "{question}_{rater}"
    assert actual.used("judge") == {("rater1",), ("rater2",)}


def test_raters_without_a_header_beside_a_score_of_theirs(tmp_path: Path) -> None:
    draw = random.Random(4)
    rows = []
    for n in range(1, 81):
        said = [float(draw.randrange(11)) for _ in range(5)]
        rows.append(
            (n, f"word{n % 50}", f"term{n % 61}", round(sum(said) / 5 - n / 1000, 3), *said)
        )
    path = write_csv(tmp_path / "v.txt", rows)
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], tmp_path)
    first = caught.value.questions[0].options[0].by_role
    assert first == {"each": ("c5", "c6", "c7", "c8", "c9"), "judge": ("each",)}


def scored(columns: tuple[str, ...]) -> list[tuple[object, ...]]:
    draw = random.Random(6)
    rows = [
        (f"j{judge}", f"i{n}", *(draw.randint(0, 100) for _ in columns))
        for n in range(20) for judge in draw.sample(range(6), 3)
    ]  # fmt: skip
    return [("annotator", "item", *columns), *rows]


@pytest.mark.parametrize(
    ("columns", "tasks"),
    [
        (("gpt-4", "ours", "phi"), 1),
        (("baseline", "new", "newer"), 1),
        (("gpt-4_fluency", "gpt-4_adequacy", "ours_fluency", "ours_adequacy"), 2),
    ],
)
def test_columns_named_after_systems_are_asked_about(
    tmp_path: Path, guess: Guesses, columns: tuple[str, ...], tasks: int
) -> None:
    path = write_csv(tmp_path / "v.csv", scored(columns))
    with pytest.raises(OpenError, match="Did they make what was judged") as error:
        guess_campaign([path], tmp_path)
    [question] = error.value.questions
    each = f"--each {','.join(columns)} --system each"
    assert [*map(str, question.options)] == [each, f"--score {','.join(columns)}"]
    actual = guess(path, each=",".join(columns), system="each")
    assert len(actual.used("task")) == tasks
    assert len(actual.used("system")) == len(columns) // tasks
    assert len(actual.used("segment", "judge")) == 60


def test_criteria_beside_the_name_of_a_system_are_questions(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(write_csv(tmp_path / "v.csv", scored(("fluency", "human", "adequacy"))))
    assert len(actual.used("task")) == 3


def test_columns_named_after_models_may_be_judges_where_nobody_is_named(
    tmp_path: Path, guess: Guesses
) -> None:
    models = ("gpt-4", "claude-3", "llama-2")
    draw = random.Random(9)
    rows = [(f"i{n}", *(round(draw.uniform(0, 100), 1) for _ in models)) for n in range(40)]
    path = write_csv(tmp_path / "v.csv", [("item", *models), *rows])
    first = question(path).questions[0].options[0]
    assert str(first) == "--each gpt-4,claude-3,llama-2 --judge each"
    actual = guess(path, each=",".join(models), judge="each")
    assert actual.used("judge") == {(name,) for name in models}
    assert actual.task_kinds == {"*": "scalar"}
