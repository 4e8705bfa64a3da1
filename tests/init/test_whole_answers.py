"""All that was answered, and all that it was about: nothing of it is left out unseen."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
Row = dict[str, object]
JUDGES, ITEMS = range(4), range(12)


def rows(make: Callable[[int, int], Row]) -> list[Row]:
    """A row for every item and judge."""
    return [make(item, judge) for item in ITEMS for judge in JUDGES]


def csv(path: Path, records: list[Row]) -> Path:
    return write_csv(path / "v.csv", [tuple(records[0]), *(tuple(r.values()) for r in records)])


def jsonl(path: Path, records: list[Row]) -> Path:
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    (path / "v.jsonl").write_text(text, encoding="utf-8")
    return path / "v.jsonl"


def asked(path: Path, **by_role: str) -> OpenError:
    with pytest.raises(OpenError) as caught:
        guess_campaign([path], path.parent, by_role={r: (v,) for r, v in by_role.items()})
    return caught.value


def level(item: int, judge: int, more: int = 0) -> int:
    return 1 + (item * (3 + more) + judge * (2 + more) + item * judge) % 5


def words(item: int, k: int) -> str:
    return f"this is what number {k} says of thing {item}"


def batch(item: int, judge: int) -> Row:
    return {
        "WorkerId": f"w{judge}", "Input.id": f"i{item}", "Input.likelihood_1": item / 7,
        "Answer.clear": level(item, judge), "Answer.true": level(item, judge, 3),
        "Answer.simple": level(item, judge, 1) - 3,
    }  # fmt: skip


def test_answers_of_a_batch_are_all_answers_and_no_inputs(tmp_path: Path, guess: Guesses) -> None:
    actual = guess(csv(tmp_path, rows(batch)))
    tasks = {task for (task,) in actual.used("task")}
    assert tasks == {"clear", "true", "simple"}


def test_rows_of_a_batch_without_workers_are_other_people(tmp_path: Path, guess: Guesses) -> None:
    """Each input recurs, and nothing but answers tells its rows apart."""
    records = [{k: v for k, v in row.items() if k != "WorkerId"} for row in rows(batch)]
    actual = guess(csv(tmp_path, records))
    assert "judge: anonymous" in actual.text
    assert {task for (task,) in actual.used("task")} == {"clear", "true", "simple"}


def test_of_a_batch_without_workers_only_the_judge_is_asked(tmp_path: Path) -> None:
    """Where each input stands once, one judge may have given all answers."""
    records = [{k: v for k, v in batch(i, 1).items() if k != "WorkerId"} for i in ITEMS]
    question = asked(csv(tmp_path, records))
    assert [q.role for q in question.questions] == ["judge"]
    assert "likelihood" not in str(question.questions[0])


def test_each_answer_of_a_batch_is_of_the_input_beside_it(tmp_path: Path, guess: Guesses) -> None:
    def row(item: int, judge: int) -> Row:
        inputs = {f"Input.reply{k}": words(item, k) for k in (1, 2, 3)}
        answers = {f"Answer.pair{k}": level(item, judge, k) for k in (1, 2, 3)}
        return {"WorkerId": f"w{judge}", **inputs, **answers}

    records = [row(item, judge) for item in range(40) for judge in JUDGES]
    fields = guess(csv(tmp_path, records)).fields()
    assert {"Input.reply{i}", "Answer.pair{i}"} <= {*map(str, fields.values())}


def test_ranks_of_a_batch_are_of_the_systems_beside_them(tmp_path: Path, guess: Guesses) -> None:
    def row(item: int, judge: int) -> Row:
        systems = {f"Input.system{k}": f"s{(k + item) % 3}" for k in range(3)}
        ranks = {f"Answer.rank_{k}": 1 + (k + item + judge) % 3 for k in range(3)}
        remarks = {"Answer.Comments": "a" if judge else "b"}
        hit = {"HITId": f"h{item}", "AssignmentId": f"a{item}-{judge}", "WorkerId": f"w{judge}"}
        return {**hit, "Input.sentID": item, **systems, **ranks, **remarks}

    actual = guess(csv(tmp_path, rows(row)))
    assert set(actual.task_kinds.values()) == {"ranking"}
    fields = actual.fields()
    assert (fields["system"], fields["rank"]) == ("Input.system{i}", "Answer.rank_{i}")


def test_a_rare_label_side_by_side_is_of_the_text_beside_it(tmp_path: Path, guess: Guesses) -> None:
    def row(item: int, judge: int) -> Row:
        texts = {f"mt{k}": words(item, k) if k < 3 or item < 4 else "" for k in range(4)}
        labels = {f"label{k}": "abc"[level(item, judge, k) % 3] if texts[f"mt{k}"] else ""
                  for k in range(4)}  # fmt: skip
        return {"orig_id": item, "error_class": item % 3, **texts, **labels, "annotator": judge}

    actual = guess(csv(tmp_path, [row(item, judge) for item in range(40) for judge in JUDGES]))
    assert actual.fields()["label"] == "label{i}"
    assert [part["column"] for part in actual.fields()["item"]["join"]] == ["orig_id", "mt{i}"]


@pytest.mark.parametrize("more", [("Type", "Source"), ()])
def test_a_judge_meets_each_system_once_in_what_tells_rows_apart(
    tmp_path: Path, guess: Guesses, more: tuple[str, ...]
) -> None:
    system, trial = ("Algorithm", "Target") if more else ("Condition", "Trial")
    records = [
        {"Listener": f"p{judge}", **{name: f"{name} {item // 3}" for name in more},
         trial: f"t{item}", system: f"m{k}", "Ratingscore": (item * 31 + judge * 17 + k) % 97}
        for item in ITEMS for judge in JUDGES for k in range(3)
    ]  # fmt: skip
    fields = guess(csv(tmp_path, records)).fields()
    assert (fields["system"], fields["segment"]) == (system, trial)


def test_lists_beside_a_list_of_judges_are_a_question_each(tmp_path: Path, guess: Guesses) -> None:
    def record(item: int) -> Row:
        scores = {name: [level(item, judge, more) for judge in JUDGES]
                  for more, name in enumerate(("clearness", "interest", "depth"))}  # fmt: skip
        return {"item_id": f"i{item}", "worker_ids": [f"w{j}" for j in JUDGES], **scores}

    actual = guess(jsonl(tmp_path, [record(item) for item in ITEMS]))
    assert {task for (task,) in actual.used("task")} == {"clearness", "interest", "depth"}


def test_lists_within_lists_are_no_labels(tmp_path: Path) -> None:
    records: list[Row] = [
        {"id": f"i{item}", "scores": [[level(item, k, n) for n in range(3)] for k in range(4)]}
        for item in ITEMS
    ]
    assert asked(jsonl(tmp_path, records))


def test_outcomes_in_a_list_are_no_judges(tmp_path: Path) -> None:
    records: list[Row] = [
        {"question": words(item, 0), "preference": [level(item, k) % 3 for k in range(6)]}
        for item in ITEMS
    ]
    assert asked(jsonl(tmp_path, records)).questions[0].role == "judge"


def test_ids_and_numbers_of_systems_are_no_pair(tmp_path: Path, guess: Guesses) -> None:
    records = [
        {"segmentId": item, "judgeID": f"j{judge}", "system1Number": -1, "system1Id": f"s{k}",
         "system2Number": -1, "system2Id": f"s{(k + 1) % 3}", "system1rank": level(item, judge),
         "system2rank": level(item, judge, 1)}
        for item in ITEMS for judge in JUDGES for k in range(3)
    ]  # fmt: skip
    fields = guess(csv(tmp_path, records)).fields()
    assert (fields["system_a"], fields["system_b"]) == ("system1Id", "system2Id")


def test_numbers_of_rows_are_no_answers(tmp_path: Path, guess: Guesses) -> None:
    records = [
        {"annotation": 3 * item + judge // 2 * 100 + item * 400 + judge, "comment_id": f"c{item}",
         "worker": f"w{judge}", "toxic": (item + judge) % 3 == 0}
        for item in range(40) for judge in JUDGES
    ]  # fmt: skip
    assert guess(csv(tmp_path, records)).fields()["label"] == "toxic"


def test_a_flag_of_blanks_is_no_answer_and_all_criteria_are(tmp_path: Path, guess: Guesses) -> None:
    def record(item: int, judge: int) -> Row:
        if (item, judge) == (3, 2):
            return {"id": f"i{item}", "judge": f"j{judge}", "parsed": None, "parse_ok": False}
        outcomes = {f"c{k}": "sat" if level(item, judge, k) > 2 else "unsat" for k in range(1, 5)}
        parsed = {"verdicts": outcomes, "total": level(item, judge)}
        return {"id": f"i{item}", "judge": f"j{judge}", "parsed": parsed, "parse_ok": True}

    actual = guess(jsonl(tmp_path, rows(record)))
    tasks = {task for (task,) in actual.used("task")}
    assert tasks == {"parsed.total", *(f"parsed.verdicts.c{k}" for k in range(1, 5))}


def test_a_rare_one_of_numbered_questions_is_asked_too(tmp_path: Path, guess: Guesses) -> None:
    def row(item: int, judge: int) -> Row:
        outcomes = {f"c{k}": "sat" if level(item, judge, k) > 2 else "unsat" for k in range(1, 5)}
        rare = "" if item % 3 else "sat" if (item + judge * judge) % 5 else "unsat"
        return {"item": f"i{item}", "worker": f"w{judge}", **outcomes, "c5": rare}

    actual = guess(csv(tmp_path, rows(row)))
    assert {task for (task,) in actual.used("task")} == {f"c{k}" for k in range(1, 6)}


def test_a_rare_one_of_numbered_paths_is_asked_about(tmp_path: Path) -> None:
    def record(item: int, judge: int) -> Row:
        outcomes = {f"c{k}": "sat" if level(item, judge, k) > 2 else "unsat" for k in range(1, 5)}
        rare = {} if item % 3 else {"c5": "sat" if (item + judge * judge) % 5 else "unsat"}
        return {"id": f"i{item}", "judge": f"j{judge}", "verdicts": {**outcomes, **rare}}

    question = asked(jsonl(tmp_path, rows(record))).questions[0]
    assert "verdicts.c5" in str(question.options[0])


def test_a_key_is_no_question_beside_what_a_model_prefers(tmp_path: Path, guess: Guesses) -> None:
    records: list[Row] = [
        {"id": item, "response_A": words(item, 1), "response_B": words(item, 2),
         "ground_truth_winner": "AB"[item % 2], "preferred": "ABA"[item % 3]}
        for item in ITEMS
    ]  # fmt: skip
    fields = guess(csv(tmp_path, records), judge="=model").fields()
    assert fields["preference"] == {"column": "preferred", "map": {"A": "a", "B": "b"}}


def test_lists_are_cut_by_no_delimiter(tmp_path: Path, guess: Guesses) -> None:
    lines = [
        f"word {item}\t0.{item}\t{[level(item, judge) - 3 for judge in range(6)]}"
        for item in range(30)
    ]
    (tmp_path / "v.txt").write_text("\n".join(lines), encoding="utf-8")
    assert "{a.value}" in guess(tmp_path / "v.txt").fields().values()


def test_numbered_ratings_are_offered_as_judges(tmp_path: Path, guess: Guesses) -> None:
    records: list[Row] = [
        {"original_id": item, "generation": words(item, k), "system": f"s{k}",
         **{f"rating_{j}": (item * 29 + k * 13 + j * 7) % 90 for j in (1, 2, 3)}}
        for item in ITEMS for k in range(3)
    ]  # fmt: skip
    path = csv(tmp_path, records)
    option = asked(path).questions[0].options[0]
    assert str(option) == "--each rating_1,rating_2,rating_3 --judge each"
    actual = guess(path, judge="each", each="rating_1,rating_2,rating_3")
    fields = actual.fields()
    assert (fields["system"], fields["segment"]) == ("system", "original_id")


def test_many_other_answers_are_asked_about(tmp_path: Path) -> None:
    records = rows(
        lambda i, j: {
            "item": f"i{i}", "worker": f"w{j}", "result": level(i, j) % 3,
            **{name: level(i, j, n) for n, name in enumerate(("depth", "clearness", "fit"))},
        }
    )  # fmt: skip
    question = asked(csv(tmp_path, records)).questions[0]
    assert question.role == "label"
    assert {"depth", "clearness", "fit"} <= {*question.options[0].by_role.get("score", ())}


def test_several_choices_with_a_mark_between_are_a_task_each(
    tmp_path: Path, guess: Guesses
) -> None:
    choices = ("1", "2", "3", "1|3", "2|3")
    records = rows(
        lambda i, j: {"item": f"i{i}", "worker": f"w{j}", "label": choices[level(i, j) - 1]}
    )
    fields = guess(csv(tmp_path, records)).fields()
    assert fields["label"] == {"column": "label", "split": "|", "has": "{option}"}


def test_what_a_name_lists_in_brackets_are_answers(tmp_path: Path) -> None:
    records: list[Row] = [
        {"Index": item, "Sentence": words(item, 0), "There? [Y/N]": "YN"[item % 2],
         "Gender? [M/F/N]": "MFN"[item % 3]}
        for item in ITEMS
    ]  # fmt: skip
    option = asked(csv(tmp_path, records), judge="=ann").questions[0].options[0]
    assert option.by_role == {"label": ("There? [Y/N]", "Gender? [M/F/N]")}


def test_what_each_file_has_may_be_the_item(tmp_path: Path) -> None:
    for person in JUDGES:
        records: list[Row] = [
            {"pattern": (n * 7 + person) % 12 + 40, "beauty_response": (n * 31 + person * 17) % 97}
            for n in ITEMS
        ]  # fmt: skip
        folder = tmp_path / f"p{person}"
        folder.mkdir()
        csv(folder, records).rename(tmp_path / f"{'abcd'[person]}.csv")
    paths = [tmp_path / f"{name}.csv" for name in "abcd"]
    with pytest.raises(OpenError) as caught:
        guess_campaign(paths, tmp_path, by_role={"judge": ("file",)})
    assert "--item pattern" in map(str, caught.value.questions[0].options)


@pytest.mark.parametrize("n_judges", [2, 1])
def test_a_question_that_a_judge_was_assigned_is_no_task(
    tmp_path: Path, guess: Guesses, n_judges: int
) -> None:
    """Others judged the same items under another one; of one judge's items it may be the task."""

    def row(item: int, judge: int) -> Row:
        own = item if n_judges > 1 else f"{judge}:{item}"
        return {
            "participant": f"p{judge}", "item": f"s{own}", "rating": level(item, judge),
            "assigned_question": f"what of topic {judge % 2}?",
        }  # fmt: skip

    actual = guess(csv(tmp_path, rows(row)), judge="participant", item="item", score="rating")
    assert len({*actual.used("task")}) == (1 if n_judges > 1 else 2)


def test_no_answer_and_no_gold_label_is_offered_as_who_judged(tmp_path: Path) -> None:
    """Answers beyond the eight that the question names are answers, too."""
    chance = random.Random(17)
    tastes = ("wit", "flow", "heft", "grit", "zest", "punch", "depth", "warmth")

    def row(item: int, judge: int) -> Row:
        return {
            "question_id": f"q{item}", "condition": f"c{judge}",
            **{taste: f"{taste}-{chance.randrange(2)}" for taste in tastes},
            "polish_1_5": chance.randrange(1, 6), "gold_num": chance.randrange(20, 26),
        }  # fmt: skip

    [question] = asked(csv(tmp_path, rows(row))).questions
    offered = {column for option in question.options for column in option.by_role["judge"]}
    assert not offered & {"polish_1_5", "gold_num"}
