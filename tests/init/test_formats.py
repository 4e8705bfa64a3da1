"""Guessed campaigns: formats."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.init.conftest import Guess, write_csv
from tests.init.guessed import crossed, yes_or_no

Guesses = Callable[..., Guess]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path: Path, guess: Callable[..., Guess], delimiter: str) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    actual = guess(write_csv(tmp_path / "v.csv", rows, delimiter))
    expected = None if delimiter == "," else delimiter
    assert actual.settings.sources[0].options.delimiter == expected
    assert ("delimiter" in actual.text) == (delimiter != ",")


def test_text_full_of_other_delimiters(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("judge", "item", "label", "text; as shown; to judges; in full; always")]
    rows += [(f"j{n % 3}", str(n // 3), yes_or_no(n, n), "a; b; c") for n in range(30)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.sources[0].options.delimiter == ","  # the reader would take ;
    assert actual.fields()["label"] == "label"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("encoding", "expected"), [("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("cp1252", "cp1252")]
)
def test_encodings(
    tmp_path: Path, guess: Callable[..., Guess], encoding: str, expected: str
) -> None:
    rows = crossed(
        "judge", "item", "Güte label", label=lambda _, i: "schön" if i % 2 else "häßlich"
    )
    path = write_csv(tmp_path / "v.csv", rows)
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    actual = guess(path)
    assert actual.settings.sources[0].options.encoding == expected
    assert actual.used("label") == {("schön",), ("häßlich",)}


def test_some_broken_bytes_do_not_change_the_encoding(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "label", label=lambda _, i: "schön" if i % 2 else "nein")
    path = write_csv(tmp_path / "v.csv", rows)
    path.write_bytes(path.read_bytes() + b"j9,item1,sch\xf6n\n")
    actual = guess(path, rejected=1)
    assert actual.settings.sources[0].options.encoding == "utf-8"
    assert "1 not read" in actual.text


def test_quotes_that_are_ordinary_characters(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    rows[5] = ("j0", '"tis', "yes")
    actual = guess(write_csv(tmp_path / "v.tsv", rows, "\t"))
    assert actual.settings.sources[0].options.quote == ""
    assert actual.facts["fates"]["used"] == 40


@pytest.mark.parametrize(
    ("comment", "options"),
    [("'well, {}'", {"quote": "'"}), ('"say \\"{}\\", x"', {"escape": "\\"})],
)
def test_single_quotes_and_escapes(tmp_path: Path, guess, comment: str, options) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    lines = ["judge,item,label,comment"]
    lines += [",".join([*map(str, row), comment.format(n)]) for n, row in enumerate(rows[1:])]
    path = tmp_path / "v.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    actual = guess(path)
    of_source = actual.settings.sources[0].options
    assert {name: getattr(of_source, name) for name in options} == options
    assert actual.facts["fates"]["used"] == 40


@pytest.mark.parametrize(
    ("lines", "skipped"),
    [
        ([("Export of X", "", ""), (), ("", "", "")], 3),
        ([('"# Data of X, and Y"', "", ""), ("# of 2026", "", ""), ("", "", "")], 4),
        ([("# made by X",)], 0),
    ],
)
def test_a_header_below_a_title_or_comments(
    tmp_path: Path, guess: Callable[..., Guess], lines: list[tuple[str, ...]], skipped: int
) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    path = write_csv(tmp_path / "v.csv", [*lines, *rows])
    actual = guess(path, rejected=bool(skipped))  # the header itself
    assert actual.fields() == {"judge": "judge", "item": "item", "label": "label"}
    options = actual.settings.sources[0].options
    assert (options.skip_rows, bool(options.columns)) == (skipped, skipped > 0)
    assert actual.facts["fates"]["used"] == 40


def test_a_file_without_header_by_its_contents(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [(i, j, (i * j) % 3) for i in range(100, 130) for j in range(1, 8)]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.sources[0].options.columns == ("c1", "c2", "c3")
    assert actual.fields() == {"judge": "c2", "item": "c1", "label": "c3"}
    assert actual.facts["fates"]["used"] == 210


def test_numbers_under_a_header_leave_it_a_header(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = [("rater", "unit", "vote"), *((j, i, (i + j) % 2) for i in range(20) for j in range(3))]
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.sources[0].options.columns is None
    assert actual.facts["fates"]["used"] == 60


def test_json_lines_with_values_inside_objects(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    path = tmp_path / "v.jsonl"
    rows = [
        {"item": i, "worker": {"id": f"j{j}"}, "annotation": {"label": yes_or_no(j, i)}}
        for i in range(10)
        for j in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    actual = guess(path)
    assert actual.settings.sources[0].format == "jsonl"
    assert actual.fields()["judge"] == {"column": "worker", "json": "id"}
    assert actual.used("judge", "item", "label") == {
        (f"j{j}", str(i), yes_or_no(j, i)) for i in range(10) for j in range(3)
    }


def test_parquet(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)[1:]
    columns = dict(zip(("judge", "item", "label"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({k: list(v) for k, v in columns.items()}), tmp_path / "v.parquet")
    actual = guess(tmp_path / "v.parquet")
    assert actual.settings.sources[0].format == "parquet"
    assert actual.facts["fates"]["used"] == 40


def test_gzip(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    path = write_csv(tmp_path / "v.tsv", crossed("judge", "item", "label", label=yes_or_no), "\t")
    packed = tmp_path / "packed.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    actual = guess(packed)
    assert actual.settings.campaign == "packed"
    assert actual.facts["fates"]["used"] == 40


def mturk(path: Path, *answers: tuple[str, Callable[[int, int], object]]) -> Path:
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "SubmitTime"]
    header += ["WorkTimeInSeconds", "Input.image_url", *(name for name, _ in answers), "Approve"]
    rows: list[Sequence[object]] = [header]
    for i in range(12):
        for j in range(3):
            by_role = [function(j, i) for _, function in answers]
            time = "Fri Jun 06 19:15:05 PDT 2014"
            cells = [f"H{i}", f"A{i}-{j}", f"W{j}", "Approved", time, 9 + j, f"u/{i}.png", *by_role]
            rows.append([*cells, ""])
    return write_csv(path, rows)


def test_mturk_batch(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    actual = guess(mturk(tmp_path / "Batch_1.csv", ("Answer.category.label", yes_or_no)))
    assert actual.settings.sources[0].format == "mturk"
    assert actual.fields() == {
        "judge": "WorkerId", "item": "Input.image_url", "label": "Answer.category.label",
        "hit": "HITId", "native_id": "AssignmentId", "status": "AssignmentStatus",
        "submitted_at": {"column": "SubmitTime", "time": "%a %b %d %H:%M:%S %Z %Y"},
        "seconds": "WorkTimeInSeconds", "hit_seconds": "WorkTimeInSeconds",
    }  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(("paid", "mapped"), [("$0.05", True), ("$1,200.00", False), ("", False)])
def test_mturk_rewards(
    tmp_path: Path, guess: Callable[..., Guess], paid: str, *, mapped: bool
) -> None:
    path = mturk(tmp_path / "Batch_1.csv", ("Answer.category.label", yes_or_no))
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"Reward,{head}", *(f'"{paid}",{row}' for row in rows), ""]))
    assert guess(path).fields().get("reward") == ("Reward" if mapped else None)


def test_mturk_questions_become_tasks(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    path = mturk(
        tmp_path / "Batch_1.csv",
        ("Answer.cat", yes_or_no),
        ("Answer.dog", lambda j, i: yes_or_no(j + 1, i)),
        ("Answer.comments", lambda j, i: f"my thoughts on picture {i}, which are long, by {j}"),
    )
    path.write_text(path.read_text().replace(", which are long, by", " which are long by"))
    actual = guess(path)
    assert actual.settings.sources[0].each == {"question": ("cat", "dog")}
    assert actual.used("task") == {("cat",), ("dog",)}
    assert actual.facts["fates"]["used"] == 72
    fields = actual.fields()
    assert (fields["status"], fields["hit_seconds"]) == ("AssignmentStatus", "WorkTimeInSeconds")
    assert "seconds" not in fields  # how long one of the questions took is not known


@pytest.mark.parametrize("n_questions", [1, 2])
def test_mturk_comments_of_few_rows_are_no_question(
    tmp_path: Path, guess: Callable[..., Guess], n_questions: int
) -> None:
    questions = [("Answer.cat", yes_or_no), ("Answer.dog", lambda j, i: yes_or_no(j + 1, i))]
    path = mturk(
        tmp_path / "Batch_1.csv",
        ("Answer.comment", lambda j, i: f"picture {i} is fine with {j}"),
        *questions[:n_questions],
    )
    path.write_text("\n".join(path.read_text().splitlines()[:13]) + "\n")
    actual = guess(path)
    assert actual.facts["fates"]["used"] == 12 * n_questions
    assert actual.used("label") == {("yes",), ("no",)}
    assert "free text, no question: Answer.comment" in actual.notes
    assert "another answer?" not in actual.notes
    assert "not mapped: Answer.comment (12 different)" in actual.notes


def test_lists_of_records_under_several_keys_are_all_read(tmp_path: Path, guess: Guesses) -> None:
    scored = {
        system: [{"prompt_id": f"p{n}", "rating": 1 + (n * (k + 2)) % 5} for n in range(12)]
        for k, system in enumerate(("base", "sft", "dpo"))
    }
    path = tmp_path / "v.json"
    path.write_text(json.dumps({"judge_model": "gpt-4o", "scores": scored}), encoding="utf-8")
    actual = guess(path, judge="=gpt-4o")
    assert actual.settings.sources[0].records == "scores.*"
    assert actual.facts["fates"]["used"] == 36


def test_a_header_that_stands_among_the_rows_is_a_header(tmp_path: Path, guess: Guesses) -> None:
    header = ("item", "judge", "label", "issues", "notes", "answered in")
    rows = [(f"i{n % 10}", f"j{n % 3}", "ab"[n % 7 % 2], "", f"x{n}", f"y{n}") for n in range(30)]
    path = write_csv(
        tmp_path / "v.csv", [header, *rows[:9], header, *rows[9:19], header, *rows[19:]]
    )
    actual = guess(path, rejected=2)
    assert (actual.fields()["item"], actual.fields()["label"]) == ("item", "label")
    assert actual.facts["fates"]["used"] == 30
