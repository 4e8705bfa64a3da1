"""A guessed campaign.yaml must load, map the exports, and reject nothing that can be read."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.guess import guess_campaign
from annot_pipeline.guess.document import comment, scalar
from annot_pipeline.guess.names import roles
from tests.guess.conftest import Guess, write_csv


def crossed(
    *header: str, judges: int = 4, items: int = 10, label: Callable[[int, int], object]
) -> list[tuple[object, ...]]:
    """A header, and a row for every judge and item."""
    rows = [(f"j{j}", f"item{i}", label(j, i)) for i in range(items) for j in range(judges)]
    return [header, *rows]


def yes_or_no(judge: int, item: int) -> str:
    return "yes" if (judge + item) % 3 else "no"


def percent(judge: int, item: int) -> int:
    return (judge * 37 + item * 11) % 101


# --- columns -------------------------------------------------------------------------------


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
    found = guess(write_csv(tmp_path / "votes.csv", crossed(*header, label=yes_or_no)))
    judge, item, label = header
    assert found.fields() == {"judge": judge, "item": item, "label": label}
    assert found.task_kinds == {"*": "categorical"}
    assert found.settings.campaign == "votes"
    assert found.facts["fates"]["used"] == 40


def test_each_line_says_what_it_rests_on(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    text = guess(
        write_csv(tmp_path / "v.csv", crossed("judge", "item", "label", label=yes_or_no))
    ).text
    assert re.search(r"judge: judge +# 4 different, 10 rows each", text)
    assert re.search(r"item: item +# 10 different, 4 judges each", text)
    assert re.search(r"label: label +# 2 different: no, yes", text)
    assert re.search(r"labels seen: yes \(\d+\), no \(\d+\)", text)


def test_a_repeat_column_stays_out_of_the_mapping(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = [("item", "judge", "repeat", "rating")]
    rows += [(i, j, r, (i + j) % 4) for i in range(9) for j in range(3) for r in (1, 2)]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.fields() == {"judge": "judge", "item": "item", "label": "rating"}
    assert "# not mapped: repeat (2 different)" in found.text
    assert found.facts["fates"]["used"] == 54


@pytest.mark.parametrize(
    ("values", "kind", "scale"),
    [
        (range(1, 6), "categorical", None),
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
    found = guess(write_csv(tmp_path / "v.csv", rows))
    [task] = found.settings.tasks
    assert (task.kind, task.scale) == (kind, scale)
    assert ("score" in found.fields()) == (kind == "scalar")


def test_a_score_of_few_values_is_a_score_by_name(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "score", label=lambda j, i: 1 + (j + i) % 5)
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.settings.tasks[0].kind == "scalar"
    assert found.settings.tasks[0].scale == (1, 5)


def test_whole_numbers_with_a_mean_as_truth_are_scores(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows: list[tuple[object, ...]] = [("judge", "item", "rating", "gold")]
    rows += [(f"j{j}", i, (i + j) % 11, i / 3) for i in range(30) for j in range(4)]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.fields()["score"] == "rating"
    assert found.fields()["truth"] == "gold"


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
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.fields() == {
        "judge": "judge", "item": "item", "label": "label", "native_id": "annotation_id",
        "hit": "hit", "seconds": "lead_time",
        "submitted_at": {"column": "created_at", "time": "%m/%d/%Y %H:%M:%S"},
    }  # fmt: skip


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
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.fields().get("submitted_at") == (None if last == "soon" else name)


def test_row_numbers_are_no_ids(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("id", "judge", "item", "label")]
    rows += [(str(n), f"j{n % 4}", f"i{n // 4}", yes_or_no(n % 4, n)) for n in range(40)]
    assert "native_id" not in guess(write_csv(tmp_path / "v.csv", rows)).fields()


def test_systems_on_segments_with_controls(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows: list[tuple[object, ...]] = [("src", "trg", "WorkerId", "sys_id", "sid", "type", "score")]
    for n in range(240):
        kind = ("SYSTEM", "SYSTEM", "REPEAT", "BAD_REF")[n % 4]
        rows.append(("cs", "en", f"j{n % 6}", f"s{n % 5}", n // 5, kind, n % 101))
    found = guess(write_csv(tmp_path / "v.tsv", rows, "\t"))
    fields = found.fields()
    assert fields["task"]["sep"] == "-"
    assert (fields["system"], fields["segment"], fields["score"]) == ("sys_id", "sid", "score")
    assert fields["control"]["map"] == {
        "SYSTEM": "none", "REPEAT": "ask_again", "BAD_REF": "bad_reference",
    }  # fmt: skip
    assert found.used("task") == {("cs-en",)}
    assert found.facts["fates"]["control"] == 60


def test_questions_about_one_item_are_tasks(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("judge", "sentence_id", "question", "rating")]
    rows += [
        (f"j{j}", str(i), question, str(1 + (i + j) % 5))
        for i in range(10)
        for j in range(4)
        for question in ("fluency", "adequacy")
    ]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    fields = {"task": "question", "judge": "judge", "item": "sentence_id", "label": "rating"}
    assert found.fields() == fields
    assert found.used("task") == {("fluency",), ("adequacy",)}


def test_preferences_and_their_sides(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows: list[tuple[object, ...]] = [("prompt", "worker", "winner", "left", "right")]
    rows += [
        (n % 7, f"j{n % 5}", ("left", "right", "tie")[n % 3], f"m{n % 4}", f"m{4 + n % 3}")
        for n in range(84)
    ]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    fields = found.fields()
    assert (fields["segment"], fields["system_a"], fields["system_b"]) == (
        "prompt",
        "left",
        "right",
    )
    assert fields["preference"]["map"] == {"left": "a", "right": "b", "tie": "tie"}
    assert found.task_kinds == {"*": "pairwise"}
    assert {preference for (preference,) in found.used("preference")} == {"a", "b", "tie"}


def test_a_winner_by_name_is_refused(tmp_path: Path) -> None:
    rows = [("worker", "left", "right", "winner"), ("j1", "x", "y", "x"), ("j2", "x", "y", "y")]
    with pytest.raises(ConfigError, match="winner names what won"):
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)


def test_numbered_columns_become_each(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    header = ("worker_id", "mr_id", "sys1", "sys2", "sys3", "quality1", "quality2", "quality3")
    rows: list[tuple[object, ...]] = [header]
    for n in range(60):
        scores = [(n * k) % 97 for k in (3, 5, 7)]
        rows.append((f"j{n % 6}", n // 3, "x", "y", "z", *scores))
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.settings.sources[0].each == {"i": ("1", "2", "3")}
    assert found.fields()["score"] == "quality{i}"
    assert found.fields()["system"] == "sys{i}"
    assert found.facts["fates"]["used"] == 180


# --- formats -------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path: Path, guess: Callable[..., Guess], delimiter: str) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    found = guess(write_csv(tmp_path / "v.csv", rows, delimiter))
    expected = None if delimiter == "," else delimiter
    assert found.settings.sources[0].options.delimiter == expected
    assert ("delimiter" in found.text) == (delimiter != ",")


def test_text_full_of_other_delimiters(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [("judge", "item", "label", "text; as shown; to judges; in full; always")]
    rows += [(f"j{n % 3}", str(n // 3), yes_or_no(n, n), "a; b; c") for n in range(30)]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.settings.sources[0].options.delimiter == ","  # the reader would take ;
    assert found.fields()["label"] == "label"


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
    found = guess(path)
    assert found.settings.sources[0].options.encoding == expected
    assert found.used("label") == {("schön",), ("häßlich",)}


def test_some_broken_bytes_do_not_change_the_encoding(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "label", label=lambda _, i: "schön" if i % 2 else "nein")
    path = write_csv(tmp_path / "v.csv", rows)
    path.write_bytes(path.read_bytes() + b"j9,item1,sch\xf6n\n")
    found = guess(path, rejected=1)
    assert found.settings.sources[0].options.encoding == "utf-8"
    assert "1 not read" in found.text


def test_quotes_that_are_ordinary_characters(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    rows[5] = ("j0", '"tis', "yes")
    found = guess(write_csv(tmp_path / "v.tsv", rows, "\t"))
    assert found.settings.sources[0].options.quote == ""
    assert found.facts["fates"]["used"] == 40


def test_a_file_without_header_by_its_contents(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = [(i, j, (i * j) % 3) for i in range(100, 130) for j in range(1, 8)]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.settings.sources[0].options.columns == ("c1", "c2", "c3")
    assert found.fields() == {"judge": "c2", "item": "c1", "label": "c3"}
    assert found.facts["fates"]["used"] == 210


def test_numbers_under_a_header_leave_it_a_header(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = [("rater", "unit", "vote"), *((j, i, (i + j) % 2) for i in range(20) for j in range(3))]
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.settings.sources[0].options.columns is None
    assert found.facts["fates"]["used"] == 60


def test_json_lines_with_values_inside_objects(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    path = tmp_path / "v.jsonl"
    rows = [
        {"item": i, "worker": {"id": f"j{j}"}, "annotation": {"label": yes_or_no(j, i)}}
        for i in range(10)
        for j in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = guess(path)
    assert found.settings.sources[0].format == "jsonl"
    assert found.fields()["judge"] == {"column": "worker", "json": "id"}
    assert found.used("judge", "item", "label") == {
        (f"j{j}", str(i), yes_or_no(j, i)) for i in range(10) for j in range(3)
    }


def test_parquet(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)[1:]
    columns = dict(zip(("judge", "item", "label"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({k: list(v) for k, v in columns.items()}), tmp_path / "v.parquet")
    found = guess(tmp_path / "v.parquet")
    assert found.settings.sources[0].format == "parquet"
    assert found.facts["fates"]["used"] == 40


def test_gzip(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    path = write_csv(tmp_path / "v.tsv", crossed("judge", "item", "label", label=yes_or_no), "\t")
    packed = tmp_path / "packed.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    found = guess(packed)
    assert found.settings.campaign == "packed"
    assert found.facts["fates"]["used"] == 40


def mturk(path: Path, *answers: tuple[str, Callable[[int, int], object]]) -> Path:
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "SubmitTime"]
    header += ["WorkTimeInSeconds", "Input.image_url", *(name for name, _ in answers), "Approve"]
    rows: list[Sequence[object]] = [header]
    for i in range(12):
        for j in range(3):
            given = [function(j, i) for _, function in answers]
            time = "Fri Jun 06 19:15:05 PDT 2014"
            cells = [f"H{i}", f"A{i}-{j}", f"W{j}", "Approved", time, 9 + j, f"u/{i}.png", *given]
            rows.append([*cells, ""])
    return write_csv(path, rows)


def test_mturk_batch(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    found = guess(mturk(tmp_path / "Batch_1.csv", ("Answer.category.label", yes_or_no)))
    assert found.settings.sources[0].format == "mturk"
    assert found.fields() == {
        "judge": "WorkerId", "item": "Input.image_url", "label": "Answer.category.label",
        "hit": "HITId", "native_id": "AssignmentId", "status": "AssignmentStatus",
        "submitted_at": {"column": "SubmitTime", "time": "%a %b %d %H:%M:%S %Z %Y"},
        "seconds": "WorkTimeInSeconds", "hit_seconds": "WorkTimeInSeconds",
    }  # fmt: skip


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
    found = guess(path)
    assert found.settings.sources[0].each == {"question": ("cat", "dog")}
    assert found.used("task") == {("cat",), ("dog",)}
    assert found.facts["fates"]["used"] == 72
    fields = found.fields()
    assert (fields["status"], fields["hit_seconds"]) == ("AssignmentStatus", "WorkTimeInSeconds")
    assert "seconds" not in fields  # how long one of the questions took is not known


APPRAISE = ("username", "system", "itemId", "itemType", "srcLang", "trgLang", "score")
TIMES = ("timeStart", "timeEnd")
CONTROLS = {"TGT": "none", "BAD": "bad_reference", "REF": "good_reference", "CHK": "ask_again"}


def appraise(path: Path, header: Sequence[str], *, with_header: bool) -> Path:
    """30 judgments; a document's score is the third of its rows."""
    rows: list[Sequence[object]] = [header] if with_header else []
    for n in range(30):
        cells = {
            "username": f"engces0{n % 3}", "system": f"Online-{n % 2}", "itemId": 5 + n // 6,
            "itemType": ("TGT", "TGT", "TGT", "CHK", "BAD", "TGT")[n % 6], "srcLang": "eng",
            "trgLang": "ces", "score": n % 6, "timeStart": f"166274{n:04}.5",
            "timeEnd": f"166274{n:04}.{n % 4 + 5}25", "docId": f"doc_{n // 6}#1-4",
            "isDocScore": n % 3 == 2, "mqm": "[]", "batchNo": 1 + n // 10, "item_id": 300 + n,
        }  # fmt: skip
        rows.append([cells[name] for name in header])
    return write_csv(path, rows)


@pytest.mark.parametrize("with_header", [True, False])
@pytest.mark.parametrize(
    ("header", "more"),
    [
        ((*APPRAISE, *TIMES), {"task": ("srcLang", "trgLang")}),
        ((*APPRAISE, "docId", "isDocScore", *TIMES), {"task": ("srcLang", "trgLang", "unit")}),
        (
            (*APPRAISE, "docId", "isDocScore", "mqm", *TIMES, "batchNo", "item_id"),
            {"task": ("srcLang", "trgLang", "unit"), "hit": "batchNo"},
        ),
    ],
)
def test_appraise(
    tmp_path: Path,
    guess: Callable[..., Guess],
    header: Sequence[str],
    more: dict[str, Any],
    with_header: bool,
) -> None:
    found = guess(appraise(tmp_path / "scores.csv", header, with_header=with_header))
    [source] = found.settings.sources
    assert source.format == "appraise"
    assert source.options.columns is None
    task = {"join": tuple({"column": name} for name in more["task"]), "sep": "-"}
    assert found.fields() == more | {
        "task": task, "judge": "username", "system": "system", "segment": "segment",
        "score": "score", "control": {"column": "itemType", "map": CONTROLS},
        "submitted_at": "timeEnd", "seconds": "seconds",
    }  # fmt: skip
    [task] = found.settings.tasks
    assert (task.kind, task.scale) == ("scalar", (0, 100))  # whatever scores were given
    left = "not mapped: mqm (1 different), item_id (30 different)" if "mqm" in header else ""
    assert left in found.notes
    assert left or "not mapped" not in found.notes
    units = ("-document", "-segment") if "unit" in more["task"] else ("",)
    assert found.used("task") == {(f"eng-ces{unit}",) for unit in units}
    assert found.facts["fates"]["control"] == 5


def test_appraise_with_and_without_header_is_one_source(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    header = (*APPRAISE, *TIMES)
    appraise(tmp_path / "all" / "day1.csv", header, with_header=True)
    appraise(tmp_path / "all" / "day2.csv", header, with_header=False)
    found = guess(tmp_path / "all")
    assert [source.path for source in found.settings.sources] == ["../all/*.csv"]
    assert found.facts["records"] == 60


@pytest.mark.parametrize(("name", "encoding"), [("v.csv", "utf-16"), ("v.csv.gz", "utf-8")])
def test_appraise_in_another_spelling(
    tmp_path: Path, guess: Callable[..., Guess], name: str, encoding: str
) -> None:
    path = appraise(tmp_path / "scores.csv", (*APPRAISE, *TIMES), with_header=False)
    raw = path.read_text().replace(",", ";").replace("Online", "Önline").encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    [source] = guess(tmp_path / name).settings.sources
    assert source.format == "appraise"
    assert (source.options.delimiter, source.options.encoding) == (";", encoding)


def test_appraise_without_scores_is_refused(tmp_path: Path) -> None:
    path = appraise(tmp_path / "scores.csv", (*APPRAISE, *TIMES), with_header=True)
    path.write_text(re.sub(r",ces,\d+", ",ces,", path.read_text()))
    with pytest.raises(ConfigError, match="no score is a number"):
        guess_campaign([path], tmp_path)


def test_what_resembles_appraise_stays_csv(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    header = (*APPRAISE, *TIMES)
    path = appraise(tmp_path / "scores.csv", header, with_header=True)
    path.write_text(path.read_text().replace("timeStart", "begun"))
    found = guess(path)
    assert found.settings.sources[0].format == "csv"
    assert found.fields()["judge"] == "username"


def label_studio(path: Path, text: str, judges: Sequence[int] = (1, 2)) -> Path:
    tasks = [
        {
            "id": i,
            "data": {"text": f"{text} {i}"},
            "annotations": [
                {
                    "id": int(f"{sum(map(ord, path.name))}{j}{i}"),
                    "completed_by": j,
                    "created_at": "2024-03-28T22:02:29.441579Z",
                    "lead_time": 4.5,
                    "result": [
                        {
                            "from_name": "sentiment",
                            "type": "choices",
                            "value": {"choices": [yes_or_no(j, i)]},
                        }
                    ],
                }
                for j in judges
            ],
        }
        for i in range(1, 9)
    ]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


LABEL_STUDIO_FIELDS = {
    "task": "from_name", "judge": "completed_by", "item": "task_id", "label": "choice",
    "native_id": "annotation_id", "submitted_at": "created_at", "seconds": "lead_time",
}  # fmt: skip


def test_label_studio(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    found = guess(label_studio(tmp_path / "project.json", "text"))
    assert found.fields() == LABEL_STUDIO_FIELDS
    assert found.used("task") == {("sentiment",)}
    assert found.facts["fates"]["used"] == 16


@pytest.mark.parametrize(("second_text", "n_items"), [("text", 8), ("another text", 16)])
def test_label_studio_task_ids_of_two_projects(
    tmp_path: Path, guess: Callable[..., Guess], second_text: str, n_items: int
) -> None:
    label_studio(tmp_path / "project_1.json", "text")
    label_studio(tmp_path / "project_2.json", second_text, judges=(3, 4))
    found = guess(tmp_path)
    assert len(found.settings.sources) == 1
    assert len(found.used("item")) == n_items
    assert found.facts["fates"]["used"] == 32


def test_ground_truths_are_offered_as_decisions(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    path = label_studio(tmp_path / "project.json", "text")
    assert "adjudication" not in guess(path).text
    tasks = json.loads(path.read_text())
    tasks[0]["annotations"][0]["ground_truth"] = True
    path.write_text(json.dumps(tasks))
    text = guess_campaign([path], tmp_path / "again")
    (said,) = re.findall(r"add\s+#?\s*control: (\{.*?\}.*?\})", text.replace("\n    #   ", " "))
    assert "1 are marked as ground truth" in " ".join(text.split())
    mended = text.replace("      native_id:", f"      control: {said}\n      native_id:", 1)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "campaign.yaml").write_text(mended)
    assert "control" in load_campaign(tmp_path / "again").settings.sources[0].fields


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ([], 'path: "../days/*.tsv" takes later exports, too'),
        (["notes.csv"], 'path: "../days/*.tsv" takes later exports, too'),
        (["notes.tsv"], "a glob as path, or another source, takes later exports, too"),
    ],
)
def test_one_file_says_that_later_ones_are_not_read(
    tmp_path: Path, guess: Callable[..., Guess], others: list[str], says: str
) -> None:
    rows = [("judge", "item", "label")]
    rows += [(j, i, yes_or_no(k, i)) for k, j in enumerate("pqr") for i in range(9)]
    path = write_csv(tmp_path / "days" / "day 1.tsv", rows, "\t")
    for name in others:
        (path.parent / name).write_text("what else there is\n")
    found = guess(path)
    assert found.settings.sources[0].path == "../days/day 1.tsv"
    assert f"only this file is read: {says}".replace('"', "") in found.notes.replace('"', "")


def test_files_of_a_glob_say_nothing_of_later_ones(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = [("judge", "item", "label")]
    rows += [(j, i, yes_or_no(k, i)) for k, j in enumerate("pqr") for i in range(9)]
    for day in (1, 2):
        write_csv(tmp_path / f"day{day}.csv", rows)
    assert "only this file" not in guess(tmp_path).notes


# --- several files -------------------------------------------------------------------------


def test_files_of_one_kind_become_one_glob(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    for day in (1, 2, 10):
        rows = [("judge", "item", "label")]
        rows += [(f"j{j}", f"{day}-{i}", yes_or_no(j, i)) for i in range(9) for j in range(3)]
        write_csv(tmp_path / "exports" / f"day{day}.csv", rows)
    found = guess(tmp_path / "exports")
    assert [source.path for source in found.settings.sources] == ["../exports/*.csv"]
    assert found.settings.campaign == "exports"
    assert found.used("task") == {("exports",)}
    assert found.facts["fates"]["used"] == 81


def test_without_an_exact_glob_each_file_is_a_source(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "exports"
    rows = crossed("judge", "item", "label", label=yes_or_no)
    named = [write_csv(folder / name, rows) for name in ("1[1].csv", "2.csv")]
    write_csv(folder / "notes.csv", [("topic", "remark"), ("x", "y")])
    found = guess(*named)
    assert [source.path for source in found.settings.sources] == [
        "../exports/1[[]1].csv", "../exports/2.csv",
    ]  # fmt: skip
    assert found.facts["fates"] | {"used": 40, "duplicate": 40} == found.facts["fates"]


def local_task(folder: Path, word: str, values: int, judges: int = 5) -> None:
    rows = [("item", "annotator", "rating")]
    rows += [(i, j, 1 + (i * j) % values) for i in range(1, 41) for j in range(1, judges + 1)]  # type: ignore[misc]
    write_csv(folder / f"{word}.tsv", rows, "\t")


def test_words_in_file_names_are_tasks_where_ids_restart(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    for word, values in (("add-v", 3), ("ask-v", 4), ("fair-j", 2)):
        local_task(tmp_path / "munged", word, values)
    found = guess(tmp_path / "munged")
    [source] = found.settings.sources
    assert source.path == "../munged/*.tsv"
    assert found.fields() == {
        "task": {"capture": "(?P<task>[^/]+)\\.tsv$"},
        "judge": {
            "join": ({"capture": "(?P<judge>[^/]+)\\.tsv$"}, {"column": "annotator"}),
            "sep": ":",
        },
        "item": "item",
        "label": "rating",
    }
    assert found.used("task") == {("add-v",), ("ask-v",), ("fair-j",)}
    assert len(found.used("judge")) == 15
    assert found.facts["fates"]["used"] == 600


def test_numbers_in_file_names_are_no_tasks(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    for number in (1, 2):
        local_task(tmp_path / "munged", f"part{number}", 3)
    found = guess(tmp_path / "munged")
    assert "task" not in found.fields()
    assert "the same item ids stand in several files" in found.text


def test_files_that_answer_differently_are_sources_of_their_own(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "all"
    write_csv(folder / "rte.std.tsv", crossed("judge", "id", "response", label=yes_or_no), "\t")
    for word in ("anger", "joy"):
        rows = crossed("judge", "id", "response", items=60, label=percent)
        write_csv(folder / f"{word}.std.tsv", rows, "\t")
    found = guess(folder)
    assert found.task_kinds == {"anger": "scalar", "joy": "scalar", "rte": "categorical"}
    assert found.used("task") == {("anger",), ("joy",), ("rte",)}
    assert found.facts["fates"]["used"] == 40 + 2 * 240


def test_other_columns_for_other_questions_are_other_tasks(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "both"
    write_csv(folder / "topic.csv", crossed("judge", "item", "label", label=yes_or_no))
    rows = crossed("judge", "item", "score", items=60, label=percent)
    write_csv(folder / "quality.csv", rows)
    found = guess(folder)
    assert found.task_kinds == {"quality": "scalar", "topic": "categorical"}
    assert found.facts["fates"]["used"] == 280


def test_item_tables_are_found_by_their_ids(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    folder = tmp_path / "dogs"
    write_csv(folder / "answer.csv", crossed("worker", "question", "answer", label=yes_or_no))
    truth = [("question", "truth"), *((f"item{i}", "yes") for i in range(10))]
    write_csv(folder / "truth.csv", truth)
    texts = [("id", "text", "length"), *((f"item{i}", f"text {i}", i % 3) for i in range(10))]
    write_csv(folder / "texts.csv", texts)
    write_csv(folder / "systems.csv", [("name", "city"), ("a", "b"), ("c", "d")])
    found = guess(folder)
    tables = {table.path: dict(table.fields) for table in found.settings.items}
    assert {path: set(fields) for path, fields in tables.items()} == {
        "../dogs/truth.csv": {"item", "truth"},
        "../dogs/texts.csv": {"item", "text"},
    }
    assert "../dogs/systems.csv: no column says who judged; nor is it an item" in found.notes


def test_an_item_table_with_other_ids_is_left_out(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "dogs"
    write_csv(folder / "answer.csv", crossed("worker", "question", "answer", label=yes_or_no))
    write_csv(folder / "truth.csv", [("question", "truth"), ("x1", "yes"), ("x2", "no")])
    found = guess(folder)
    assert found.settings.items == ()
    assert "no column holds the ids of the judged items" in found.notes


def test_subfolders_are_searched_if_a_folder_holds_no_judgments(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    write_csv(tmp_path / "all" / "in" / "v.csv", rows)
    write_csv(tmp_path / "all" / "readme.csv", [("about", "this"), ("a", "b")])
    found = guess(tmp_path / "all")
    assert [source.path for source in found.settings.sources] == ["../all/in/v.csv"]


def test_the_campaigns_own_releases_are_no_exports(tmp_path: Path) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    write_csv(tmp_path / "exports" / "v.csv", rows)
    write_csv(tmp_path / "gold" / "v0001" / "judges.csv", rows)
    write_csv(tmp_path / "store" / "labels.csv", rows)
    text = guess_campaign([tmp_path], tmp_path)
    assert "path: exports/v.csv" in text
    assert "gold/" not in text


# --- hostile content -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "la: bel", "label # 1", "{label", "*label", "&label", "'label'", "label\u2028x",
        "yes label", "étiquette label", "😀 label", "label\\n", "- label", "%label", "!label",
        "label\x85z",
    ],
)  # fmt: skip
def test_any_column_name_survives(tmp_path: Path, guess: Callable[..., Guess], name: str) -> None:
    rows = crossed("judge", "item", name, label=yes_or_no)
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.fields()["label"] == name
    assert found.facts["fates"]["used"] == 40


@pytest.mark.parametrize("text", ["a\nb: c", "\x1b[31m", "x\u2028y", "tab\there", "\ud800", "null"])
def test_scalars_and_comments_stay_on_one_line(text: str) -> None:
    assert len(scalar(text).splitlines()) == 1
    assert comment(text).isprintable()
    assert scalar(text).startswith('"')


def test_labels_with_line_breaks_stay_in_their_comment(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed(
        "judge", "item", "label", label=lambda _, i: '"a\nowners: [x]"' if i % 2 else "b"
    )
    found = guess(write_csv(tmp_path / "v.csv", rows))
    assert found.settings.owners == ()
    assert found.used("label") == {("a\nowners: [x]",), ("b",)}


def test_names_of_judges_are_not_written_down(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    secret = [(str(row[0]).replace("j", "secret"), *row[1:]) for row in rows[1:]]
    assert "secret" not in guess(write_csv(tmp_path / "v.csv", [rows[0], *secret])).text


def test_campaign_names_are_made_fit(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    folder = tmp_path / "2024 Ünï-Exports!"
    write_csv(folder / "v.csv", crossed("judge", "item", "label", label=yes_or_no))
    assert re.fullmatch(r"[a-z][a-z0-9_]*", guess(folder).settings.campaign)


def test_only_a_sample_of_a_big_file_is_looked_at(
    tmp_path: Path, guess: Callable[..., Guess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annot_pipeline.guess.campaign.ROWS_READ", 30)
    found = guess(write_csv(tmp_path / "v.csv", crossed("judge", "item", "label", label=yes_or_no)))
    assert "the first 30 rows were looked at" in found.text
    assert found.facts["fates"]["used"] == 40


# --- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        (("text", "item", "label"), "no column says who judged"),
        (("judge", "colour", "label"), "no column says what was judged"),
        (("judge", "item", "remark"), "no column says what was answered"),
    ],
)
def test_what_is_missing_is_said_with_the_columns_there_are(
    tmp_path: Path, header: tuple[str, str, str], missing: str
) -> None:
    rows = [header, *((f"a{n}", f"b{n}", f"c{n} {'long text ' * 9}") for n in range(50))]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(ConfigError) as error:
        guess_campaign([path], tmp_path)
    text = str(error.value)
    assert missing in text
    assert f"its columns: {', '.join(header)}" in text
    assert "names such as" in text
    assert "write campaign.yaml by hand" in text
    assert error.value.exit_status == 2


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("v.csv", b"", "is empty"),
        ("v.csv", b"judge,item,label\n", "holds no rows"),
        ("v.csv", b"PK\x03\x04...", "zip or Excel"),
        ("v.csv.gz", b"not gzip", "cannot be read"),
        ("v.json", b'[{"a": 1}]', "not a list of tasks"),
        ("v.jsonl", b'{"a": \n"b"}', "malformed JSON"),
        ("v.xml", b"<a/>", "is XML or HTML"),
        ("v.csv", b"a\0b", "is not text"),
    ],
)
def test_files_that_no_reader_can_read(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        guess_campaign([path], tmp_path)


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file or folder"):
        guess_campaign([tmp_path / "nowhere.csv"], tmp_path)
    with pytest.raises(ConfigError, match="no file here looks like an export"):
        guess_campaign([tmp_path], tmp_path)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("WorkerId", "judge"), ("user_name", "judge"), ("PROLIFIC_PID", "judge"),
        ("label_gold", "truth"),
        ("!amt_annotation_ids", "native_id"), ("task_id", "item"), ("HITId", "hit"),
        ("Input.sys_id", "system"), ("z_score", None), ("lifetime", None), ("country_code", None),
    ],
)  # fmt: skip
def test_names_say_roles(name: str, role: str | None) -> None:
    found = roles(name)
    assert found == {} if role is None else role in found


# --- real exports --------------------------------------------------------------------------

MASC, SNOW = "masc-wordsense/munged", "snow2008/all_collected_data"


@pytest.mark.parametrize(
    ("folder", "records", "rejected", "fields"),
    [
        (SNOW, 21_690, 0, {"task", "judge", "item", "score", "truth"}),
        ("dawid-skene-1979", 315, 0, {"judge", "item", "label"}),
        ("dog-4class", 8_070, 0, {"judge", "item", "label"}),
        ("face-sentiment", 5_242, 0, {"judge", "item", "label"}),
        ("labelstudio-leoka", 32_801, 9, set(LABEL_STUDIO_FIELDS)),
        ("llmfao", 15_403, 0, {"judge", "segment", "system_a", "system_b", "preference"}),
        (
            "wmt15-ranking/data", 179_098, 764,
            {"task", "judge", "hit", "ranking", "segment", "position", "system", "rank", "seconds"},
        ),
        (
            "e2e-nlg", 36_090, 0,
            {"task", "judge", "system", "segment", "score", "position", "native_id"}
            | {"submitted_at", "ranking"},
        ),
        (
            "wmt22-appraise/scores", 6_528, 0,
            {"task", "judge", "system", "segment", "score", "control", "submitted_at", "seconds"},
        ),
        (
            "wmt22-appraise/calibration-HITs", 10_751, 0,
            {"task", "judge", "system", "segment", "score", "control", "submitted_at", "seconds"},
        ),
        (
            "wmt22-da-toen/derived", 187_734, 0,
            {"task", "judge", "system", "segment", "score", "control", "hit"},
        ),
    ],
)  # fmt: skip
def test_real_exports(
    shared_data: Path,
    guess: Callable[..., Guess],
    folder: str,
    records: int,
    rejected: int,
    fields: set[str],
) -> None:
    found = guess(shared_data / folder, rejected=rejected)
    assert found.facts["records"] == records
    assert set(found.fields()) == fields


def test_masc_judges_and_tasks_are_told_by_file(
    shared_data: Path, guess: Callable[..., Guess]
) -> None:
    found = guess(shared_data / MASC)
    assert set(found.fields()) == {"task", "judge", "item", "label"}
    assert found.facts["fates"]["used"] == 1_084_551
    assert len(found.settings.sources) == 1
    assert len(found.used("task")) == 45
    assert len(found.used("task", "item")) == 44_682
    assert ("add-v", "add-v:1") in found.used("task", "judge")


def test_snow_scales(shared_data: Path, guess: Callable[..., Guess]) -> None:
    found = guess(shared_data / SNOW)
    scales = {task.name: task.scale for task in found.settings.tasks if task.kind == "scalar"}
    emotions = ("anger", "disgust", "fear", "joy", "sadness", "surprise")
    assert scales == dict.fromkeys(emotions, (0, 100)) | {
        "valence": (-100, 100),
        "wordsim": (0, 10),
    }
    labelled = {name for name, kind in found.task_kinds.items() if kind == "categorical"}
    assert labelled == {"rte", "temp", "wsd"}


@pytest.mark.parametrize("folder", ["dog-4class", "face-sentiment"])
def test_truth_tables_of_real_exports(
    shared_data: Path, guess: Callable[..., Guess], folder: str
) -> None:
    [table] = guess(shared_data / folder).settings.items
    assert Path(table.path).name == "truth.csv"
    assert set(table.fields) == {"item", "truth"}


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("dialogue-eval-run1/mturk", "several answers in a cell .* Answer.taskAnswers"),
        ("graham-mturk-da", "Batch_1234_batch_results.csv"),
        ("easl-political", "no column says who judged"),
    ],
)
def test_real_exports_that_need_a_hand(
    shared_data: Path, tmp_path: Path, folder: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        guess_campaign([shared_data / folder], tmp_path)


# --- controls ------------------------------------------------------------------------------


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
    found = guess(write_csv(tmp_path / "a.csv", rows), rejected=12)
    assert found.fields()["control"]["map"] == {"BAD": "bad_reference", "SYS": "none"}
    assert "NOT KNOWN, their rows are rejected until mapped: ODD" in found.notes


def test_appraises_code_of_a_repeat_is_known(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = with_controls(("SYS", "BAD", "CHK"), lambda j, _: f"h{j}")
    found = guess(write_csv(tmp_path / "a.csv", rows))
    assert found.fields()["control"]["map"]["CHK"] == "ask_again"


@pytest.mark.parametrize("alone", [True, False])
def test_a_hit_of_one_judgment_would_keep_controls_from_their_outputs(
    tmp_path: Path, guess: Callable[..., Guess], alone: bool
) -> None:
    rows = with_controls(("SYS", "BAD"), lambda j, i: f"h{i}" if alone else f"h{j}")
    found = guess(write_csv(tmp_path / "a.csv", rows))
    assert ("hit" in found.fields()) is not alone


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
    found = guess(write_csv(tmp_path / "Batch_1_batch_results.csv", [head, *rows]))
    assert found.settings.sources[0].format == "mturk"
    assert found.fields()["judge"] == "WorkerId"
    assert found.facts["fates"]["used"] == 40
