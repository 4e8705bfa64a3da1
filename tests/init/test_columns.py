"""Guessed campaigns: columns, controls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.init.conftest import Guess, write_csv
from tests.init.guessed import crossed, percent, yes_or_no


@pytest.mark.sampled
@pytest.mark.parametrize(
    "header",
    [
        ("WorkerId", "item_id", "response"),
        ("annotator", "question", "answer"),
        ("!amt_worker_ids", "orig_id", "response"),
        ("observer", "patient", "rating"),
        ("worker", "task", "label"),
        ("completed_by", "Input.image_url", "sentiment_label"),
    ],
)
def test_usual_names_are_understood(
    tmp_path: Path, guess: Callable[..., Guess], header: tuple[str, str, str]
) -> None:
    actual = guess(write_csv(tmp_path / "votes.csv", crossed(*header, label=yes_or_no)))
    judge, item, label = header
    assert actual.fields() == {"judge": judge, "item": item, "label": label}
    assert actual.task_kinds == {"*": "categorical"}
    assert actual.settings.campaign == "votes"
    assert actual.facts["fates"]["used"] == 40


def test_each_line_says_what_it_rests_on(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    text = guess(
        write_csv(tmp_path / "v.csv", crossed("judge", "item", "label", label=yes_or_no))
    ).text
    assert re.search(r"judge: judge +# 4 different, 10 rows each", text)
    assert re.search(r"item: item +# 10 different, 4 judges each", text)
    assert re.search(r"label: label +# 2 different: no, yes", text)
    assert re.search(r"labels seen: yes \(\d+\), no \(\d+\)", text)


def test_labels_that_differ_in_capitals_are_one(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    def spelled(judge: int, item: int) -> str:
        label = yes_or_no(judge, item)
        return label.title() if judge == 1 else f" {label.upper()}" if judge == item else label

    actual = guess(write_csv(tmp_path / "v.csv", crossed("judge", "item", "label", label=spelled)))
    same = {"~^(?i:yes)$": "yes", "~^(?i:no)$": "no"}
    assert actual.fields()["label"] == {"column": "label", "map": same}
    assert "Yes is yes, No is no" in actual.notes
    assert actual.facts["fates"]["used"] == 40
    assert actual.used("label") == {("yes",), ("no",)}


def test_a_repeat_column_stays_out_of_the_mapping(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = [("item", "judge", "repeat", "rating")]
    rows += [(i, j, r, (i + j) % 4) for i in range(9) for j in range(3) for r in (1, 2)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields() == {"judge": "judge", "item": "item", "label": "rating"}
    assert "# not mapped: repeat (2 different)" in actual.text
    assert actual.facts["fates"]["used"] == 54


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("values", "kind", "scale"),
    [
        (range(1, 5), "categorical", None),
        (range(1, 6), "scalar", (1, 5)),
        (range(101), "scalar", (0, 100)),
        (range(-90, 91), "scalar", (-100, 100)),
        ([n / 40 for n in range(40)], "scalar", (0, 1)),
        ([n / 10 for n in range(10, 49)], "scalar", (1, 5)),
        (range(0, 90_000, 1000), "scalar", None),
    ],
)
def test_numbers_are_labels_or_scores_by_how_many_there_are(
    tmp_path: Path, guess: Callable[..., Guess], values: Sequence[float], kind: str, scale: object
) -> None:
    rows = crossed(
        "judge", "item", "rating", judges=3, items=120,
        label=lambda j, i: values[(i * 3 + j) % len(values)],
    )  # fmt: skip
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    [task] = actual.settings.tasks
    assert (task.kind, task.scale) == (kind, scale)
    assert ("score" in actual.fields()) == (kind == "scalar")


def test_a_score_of_few_values_is_a_score_by_name(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "score", label=lambda j, i: 1 + (j + i) % 5)
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.tasks[0].kind == "scalar"
    assert actual.settings.tasks[0].scale == (1, 5)


def test_whole_numbers_with_a_mean_as_truth_are_scores(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows: list[tuple[object, ...]] = [("judge", "item", "rating", "gold")]
    rows += [(f"j{j}", i, (i + j) % 11, i / 3) for i in range(30) for j in range(4)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["score"] == "rating"
    assert actual.fields()["truth"] == "gold"


def test_a_truth_that_no_judge_can_answer_is_left(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows: list[tuple[object, ...]] = [("judge", "item", "label", "gold")]
    rows += [(f"j{j}", i, yes_or_no(j, i), "True") for i in range(30) for j in range(4)]
    assert "truth" not in guess(write_csv(tmp_path / "v.csv", rows)).fields()


def test_optional_fields_are_mapped_where_they_can_be_read(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    header = ("judge", "item", "label", "annotation_id", "hit", "created_at", "lead_time", "date")
    rows: list[tuple[object, ...]] = [header]
    for n in range(40):
        cells = (f"a{n}", f"h{n // 10}", f"11/28/2017 14:51:{n % 60:02}", 3.5, "yesterday")
        rows.append((f"j{n % 4}", n // 4, yes_or_no(n % 4, n), *cells))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields() == {
        "judge": "judge", "item": "item", "label": "label", "native_id": "annotation_id",
        "hit": "hit", "seconds": "lead_time",
        "submitted_at": {"column": "created_at", "time": "%m/%d/%Y %H:%M:%S"},
    }  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name", ["ts", "time", "created", "date", "date_created", "submitted", "Timestamp", "judged_at"]
)
@pytest.mark.parametrize("last", ["2026-11-21T09:40:05Z", "1764000000", "soon"])
def test_times_of_any_usual_name(
    last: str, name: str, tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    """Where all values are times, and only there."""
    rows: list[tuple[object, ...]] = [("judge", "item", "label", name)]
    rows += [
        (f"j{n % 4}", n // 4, yes_or_no(n % 4, n), f"2026-11-20T10:{n:02}:00+00:00")
        for n in range(40)
    ]
    rows[9] = (*rows[9][:3], last)
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields().get("submitted_at") == (None if last == "soon" else name)


def test_row_numbers_are_no_ids(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("id", "judge", "item", "label")]
    rows += [(str(n), f"j{n % 4}", f"i{n // 4}", yes_or_no(n % 4, n)) for n in range(40)]
    assert "native_id" not in guess(write_csv(tmp_path / "v.csv", rows)).fields()


def test_systems_on_segments_with_controls(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows: list[tuple[object, ...]] = [("src", "trg", "WorkerId", "sys_id", "sid", "type", "score")]
    for n in range(240):
        kind = ("SYSTEM", "SYSTEM", "REPEAT", "BAD_REF")[n % 4]
        rows.append(("cs", "en", f"j{n % 6}", f"s{n % 5}", n // 5, kind, n % 101))
    actual = guess(write_csv(tmp_path / "v.tsv", rows, "\t"))
    fields = actual.fields()
    assert fields["task"]["sep"] == "-"
    assert (fields["system"], fields["segment"], fields["score"]) == ("sys_id", "sid", "score")
    assert fields["control"]["map"] == {
        "SYSTEM": "none", "REPEAT": "ask_again", "BAD_REF": "bad_reference",
    }  # fmt: skip
    assert actual.used("task") == {("cs-en",)}
    assert actual.facts["fates"]["control"] == 60


def test_questions_about_one_item_are_tasks(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("judge", "sentence_id", "question", "rating")]
    rows += [
        (f"j{j}", str(i), question, ("bad", "fair", "good")[(i + j) % 3])
        for i in range(10)
        for j in range(4)
        for question in ("fluency", "adequacy")
    ]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    fields = {"task": "question", "judge": "judge", "item": "sentence_id", "label": "rating"}
    assert actual.fields() == fields
    assert actual.used("task") == {("fluency",), ("adequacy",)}


def test_preferences_and_their_sides(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows: list[tuple[object, ...]] = [("prompt", "worker", "winner", "left", "right")]
    rows += [
        (n % 7, f"j{n % 5}", ("left", "right", "tie")[n % 3], f"m{n % 4}", f"m{4 + n % 3}")
        for n in range(84)
    ]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    fields = actual.fields()
    assert (fields["segment"], fields["system_a"], fields["system_b"]) == (
        "prompt",
        "left",
        "right",
    )
    assert fields["preference"]["map"] == {"left": "a", "right": "b", "tie": "tie"}
    assert actual.task_kinds == {"*": "pairwise"}
    assert {preference for (preference,) in actual.used("preference")} == {"a", "b", "tie"}


def test_a_winner_by_name(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("worker", "prompt", "left", "right", "winner")]
    rows += [(f"j{n % 3}", f"p{n}", "x", "y", ("x", "y", "both good")[n % 3]) for n in range(9)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["winner"] == {"column": "winner", "map": {"both good": "tie"}}
    preferences = actual.judgments["preference"].to_pylist()
    assert sorted(preferences) == ["a"] * 3 + ["b"] * 3 + ["tie"] * 3


def test_numbered_columns_become_each(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    header = ("worker_id", "mr_id", "sys1", "sys2", "sys3", "quality1", "quality2", "quality3")
    rows: list[tuple[object, ...]] = [header]
    for n in range(60):
        scores = [(n * k) % 97 for k in (3, 5, 7)]
        rows.append((f"j{n % 6}", n // 3, "x", "y", "z", *scores))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.sources[0].each == {"i": ("1", "2", "3")}
    assert actual.fields()["score"] == "quality{i}"
    assert actual.fields()["system"] == "sys{i}"
    assert actual.facts["fates"]["used"] == 180


def with_controls(
    kinds: Sequence[str], hit: Callable[[int, int], object]
) -> list[Sequence[object]]:
    """A header, and rows of 4 judges and 9 outputs, of which the kinds take turns."""
    rows = [
        (f"w{j}", hit(j, i), f"sys{i % 3}", f"seg{i}", kinds[i % len(kinds)], percent(j, i))
        for j in range(4)
        for i in range(9)
    ]
    return [("worker", "hit", "system", "segment", "type", "score"), *rows]


def test_unknown_codes_of_a_control_are_not_ordinary(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = with_controls(("SYS", "BAD", "ODD"), lambda j, _: f"h{j}")
    actual = guess(write_csv(tmp_path / "a.csv", rows), rejected=12)
    assert actual.fields()["control"]["map"] == {"BAD": "bad_reference", "SYS": "none"}
    assert "NOT KNOWN, their rows are rejected until mapped: ODD" in actual.notes


def test_appraises_code_of_a_repeat_is_known(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = with_controls(("SYS", "BAD", "CHK"), lambda j, _: f"h{j}")
    actual = guess(write_csv(tmp_path / "a.csv", rows))
    assert actual.fields()["control"]["map"]["CHK"] == "ask_again"


@pytest.mark.sampled
@pytest.mark.parametrize("alone", [True, False])
def test_a_hit_of_one_judgment_would_keep_controls_from_their_outputs(
    tmp_path: Path, guess: Callable[..., Guess], alone: bool
) -> None:
    rows = with_controls(("SYS", "BAD"), lambda j, i: f"h{i}" if alone else f"h{j}")
    actual = guess(write_csv(tmp_path / "a.csv", rows))
    assert ("hit" in actual.fields()) is not alone


def test_mturk_rows_that_end_before_approve_and_reject(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    """As downloaded: the header names them, the rows leave them out."""
    head = ("HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds",
            "Input.text", "Answer.score", "Approve", "Reject")  # fmt: skip
    rows = [
        (f"h{i}", f"a{j}-{i}", f"w{j}", "Submitted", 60 + i, f"text {i}", percent(j, i))
        for j in range(4)
        for i in range(10)
    ]
    actual = guess(write_csv(tmp_path / "Batch_1_batch_results.csv", [head, *rows]))
    assert actual.settings.sources[0].format == "mturk"
    assert actual.fields()["judge"] == "WorkerId"
    assert actual.facts["fates"]["used"] == 40


def test_labels_that_were_seen_are_declared(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.tasks[0].labels == ("no", "yes")
    assert "others are rejected" in actual.text


@pytest.mark.parametrize("reason", ["truth", "task"])
def test_labels_are_not_declared_where_others_may_be_meant(
    tmp_path: Path, guess: Callable[..., Guess], reason: str
) -> None:
    """A truth may be a class that nobody gave, and tasks have classes of their own."""
    rows = crossed("judge", "item", "label", label=yes_or_no)
    value = {"truth": lambda n: "yes" if n // 4 % 3 else "no", "task": lambda n: f"t{n % 2}"}[
        reason
    ]
    table = [(*rows[0], reason), *((*row, value(n)) for n, row in enumerate(rows[1:]))]
    actual = guess(write_csv(tmp_path / "v.csv", table))
    assert reason in actual.fields()
    assert actual.settings.tasks[0].labels is None
