"""`annot review`: the file that MTurk takes is the batch as it was, with two columns filled."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.cli import main
from annot_pipeline.config import Quality
from annot_pipeline.contracts import FATES
from annot_pipeline.errors import AnnotError, ConfigError, GateError, StoreError
from annot_pipeline.exports import READERS, Export, Opening
from annot_pipeline.publish import publish
from annot_pipeline.read_back import _fits
from annot_pipeline.review import review
from annot_pipeline.review.assignments import _short
from annot_pipeline.review.batches import Batch, _targets
from annot_pipeline.review.sheet import _safe
from annot_pipeline.review.upload import Upload
from tests.conftest import build_file
from tests.test_cli import loaded_modules

COLUMNS = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.set", "Answer.Q1"]
HEAD = [*COLUMNS, "Answer.comments", "Approve", "Reject"]
FIELDS: dict[str, Any] = {
    "judge": "WorkerId",
    "hit": "HITId",
    "native_id": "AssignmentId",
    "position": {"value": "{i}"},
    "system": {"value": "s"},
    "segment": {"join": ["Input.set", {"value": "{k}"}], "sep": "-"},
    "control": {"value": "{i}"},
    "score": {"column": "Answer.Q1", "match": r"(?:^|\|){i}_{k}_(\d+)"},
}
"""Three segments (k), each judged as it is and as a degraded copy (i)."""

CAREFUL = "none_0_80|none_1_70|none_2_75|bad_reference_0_20|bad_reference_1_10|bad_reference_2_31"
CARELESS = "none_0_50|none_1_52|none_2_49|bad_reference_0_50|bad_reference_1_53|bad_reference_2_40"
UPSIDE_DOWN = (
    "none_0_10|none_1_12|none_2_9|bad_reference_0_50|bad_reference_1_53|bad_reference_2_60"
)
ONE_PAIR = "none_0_50|none_1_52|bad_reference_0_10"
FAILED = (
    "Control items: degraded copies were not scored reliably lower than their originals "
    "(paired t-test, p = 0.24, 3 pairs)."
)


def batch(*rows: list[str], head: list[str] = HEAD, end: str = "\n", delimiter: str = ",") -> str:
    """A batch as MTurk writes it: every cell quoted."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=end, delimiter=delimiter)
    writer.writerows([head, *rows])
    return text.getvalue()


def work(worker: str, answer: str, status: str = "Submitted", *more: str) -> list[str]:
    return ["h1", f"a-{worker}", worker, status, "x", answer, *(more or ("fine",))]


Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Builds a campaign of MTurk batches; again with other files or settings."""

    def made(
        files: dict[str, str | bytes], *, build: bool = True, fields: Any = None, **settings: Any
    ) -> Path:
        folder = tmp_path / "campaign"
        for old in folder.rglob("*.csv*"):
            if "review" not in old.parts:
                old.unlink()
        for name, text in files.items():
            path = folder / "exports" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        source = {
            "path": "exports/**/*.csv*",
            "format": "mturk",
            "each": {"i": ["none", "bad_reference"], "k": "0..2"},
            "fields": FIELDS | (fields or {}),
            **settings.pop("source", {}),
        }
        document = {
            "campaign": "small",
            "sources": [source],
            "gates": {"rejected_share": {"error": 1}, "nothing_used": {"error": 2}},
        } | settings
        (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
        if build:
            build_file(folder)
        return folder

    return made


def reviewed(folder: Path, **options: Any) -> dict[str, Any]:
    return review(load_campaign(folder), folder / "review", **options)


def upload(folder: Path, name: str = "upload-b.csv") -> str:
    return (folder / "review" / name).read_bytes().decode()


def sheet(folder: Path) -> list[dict[str, str]]:
    with (folder / "review" / "review.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def refused(folder: Path, kind: type[AnnotError] = StoreError, **options: Any) -> str:
    with pytest.raises(kind) as error:
        reviewed(folder, **options)
    assert type(error.value) is kind
    return str(error.value)


# --- the upload file -------------------------------------------------------------------------


def test_the_batch_as_it_was_with_both_columns_filled(make):
    rows = [
        work("careful", CAREFUL, "Submitted", 'a "quoted" word, a comma\nand\r\n\nfour lines'),
        work("careless", CARELESS),
        work("once", ONE_PAIR),
        work("empty", ""),
        work("done", CAREFUL, "Approved"),
        work("gone", CARELESS, "Rejected"),
        work("unsaid", CAREFUL, ""),
        work("last", CAREFUL, " submitted "),
    ]
    text = batch(*rows).removesuffix("\n")
    lines = text.split("\n")
    text = "\n".join([*lines[:6], "", "\r", *lines[6:]])  # blank lines are no rows
    folder = make({"b.csv": text})
    document = reviewed(folder)
    filled = ['"x",""', f'"","{FAILED}"', *5 * ['"",""'], '"x",""']
    expected = [text.split("\n", 1)[0]]
    expected += [
        batch(row).split("\n", 1)[1].removesuffix("\n") + f",{cells}"
        for row, cells in zip(rows, filled, strict=True)
    ]
    expected[3:3] = ["", "\r"]
    assert upload(folder) == "\n".join(expected)
    (counts,) = document["uploads"]
    assert counts == {
        "path": str(folder / "review" / "upload-b.csv"), "export": "exports/b.csv", "rows": 8,
        "approve": 2, "reject": 1, "decide": 2, "decided": 3, "elsewhere": 0, "ragged": [],
    }  # fmt: skip
    assert {k: document[k] for k in ("approve", "reject", "decide", "assignments")} == {
        "approve": 2, "reject": 1, "decide": 2, "assignments": 8,
    }  # fmt: skip
    found = {row["worker"]: (row["verdict"], row["reason"]) for row in sheet(folder)}
    assert found["careful"] == ("passed", "")
    assert found["careless"] == ("failed", FAILED)
    assert found["once"] == ("undetermined", "1 pairs, 2 are needed")
    assert found["empty"] == ("", "score has no match: ''")


def test_cells_that_are_there_and_a_decision_of_a_person(make):
    rows = [
        work("careful", CAREFUL, "Submitted", 'not "fine",\r\nbut good', "", ""),
        work("careless", CARELESS, "Submitted", "fine", "", ""),
        work("pardoned", CARELESS, "Submitted", "fine", "X", ""),
        work("scolded", CAREFUL, "Submitted", "fine", "", "too fast"),
        work("once", ONE_PAIR, "Submitted", "fine", "", ""),
    ]
    folder = make({"b.csv": batch(*rows, end="\r\n")})
    (counts,) = reviewed(folder)["uploads"]
    rows[0][-2:], rows[1][-2:] = ["x", ""], ["", FAILED]
    assert upload(folder) == batch(*rows, end="\r\n")
    assert [counts[k] for k in ("approve", "reject", "decide", "decided")] == [1, 1, 1, 2]


def test_columns_that_the_header_lacks_are_appended(make):
    names = [name for name in HEAD if name not in ("AssignmentStatus", "Approve", "Reject")]

    def bare(*row: str) -> list[str]:
        cells = work(*row)
        return cells[:3] + cells[4:]

    rows = [bare("careful", CAREFUL), bare("careless", CARELESS), bare("once", ONE_PAIR)]
    rows += [["two", "short", "by", "cells"][: len(names) - 2]]
    folder = make({"b.csv": batch(*rows, head=names)})
    reviewed(folder)
    cells = (["x", ""], ["", FAILED], ["", ""], [])
    assert upload(folder) == batch(
        *(row + more for row, more in zip(rows, cells, strict=True)),
        head=[*names, "Approve", "Reject"],
    )


def test_columns_in_another_place(make):
    """A spreadsheet may have moved Reject to the front, and lost Approve."""
    head = ["Reject", *COLUMNS]
    rows = [["", *work("careful", CAREFUL)[:-1]], ["", *work("careless", CARELESS)[:-1]]]
    folder = make({"b.csv": batch(*rows, head=head)})
    reviewed(folder)
    rows = [[*rows[0], "x"], [FAILED, *rows[1][1:], ""]]
    assert upload(folder) == batch(*rows, head=[*head, "Approve"])


def test_ragged_rows_stay_and_do_not_move_the_others(make):
    rows = [
        work("careful", CAREFUL),
        ["h1", "a-short", "short"],
        [*work("long", CARELESS), "x", "", "more"],
        work("one_more", CAREFUL, "Submitted", "fine", "x"),
        work("careless", CARELESS),
    ]
    folder = make({"b.csv": batch(*rows)})
    (counts,) = reviewed(folder)["uploads"]
    assert counts["ragged"] == [2, 3, 4]
    rows[0] += ["x", ""]
    rows[4] += ["", FAILED]
    assert upload(folder) == batch(*rows)
    found = {row["row"]: row for row in sheet(folder)}
    assert found["2"]["reason"] == "ragged row: 3 fields, the header has 7"
    assert [found[n]["recommendation"] for n in "12345"] == [
        "approve", "decide", "decide", "decide", "reject",
    ]  # fmt: skip
    assert [found[n]["n_rejected_records"] for n in "12345"] == ["0", "6", "6", "6", "0"]


def test_rows_of_both_lengths(make):
    """The readers take one length; a row of the other is for a person to decide on."""
    rows = [work("careful", CAREFUL), work("full", CAREFUL, "Submitted", "fine", "", "")]
    folder = make({"b.csv": batch(*rows, work("done", CAREFUL, "Approved"))})
    (counts,) = reviewed(folder)["uploads"]
    assert (counts["approve"], counts["decide"], counts["ragged"]) == (1, 1, [])
    more = (["x", ""], [], ["", ""])
    rows = [*rows, work("done", CAREFUL, "Approved")]
    assert upload(folder) == batch(*(r + m for r, m in zip(rows, more, strict=True)))


@pytest.mark.parametrize(
    ("encoding", "option"),
    [("latin-1", "latin-1"), ("utf-16", "utf-16")]
    + [(e, o) for e in ("utf-8", "utf-8-sig") for o in ("utf-8", "utf-8-sig")],
)
def test_encodings(make, encoding, option):
    rows = [work("careful", CAREFUL, "Submitted", "é"), work("Zoë", CARELESS, "Submitted", "ÿ")]
    source = {"options": {"encoding": option}}
    folder = make({"b.csv": batch(*rows).encode(encoding)}, source=source)
    reviewed(folder)
    written = (folder / "review" / "upload-b.csv").read_bytes()
    rows = [[*rows[0], "x", ""], [*rows[1], "", FAILED]]
    assert written == batch(*rows).encode(encoding)
    assert {row["worker"] for row in sheet(folder)} == {"careful", "Zoë"}


def test_bytes_that_are_no_text_stay(make):
    rows = [work("careful", CAREFUL, "Submitted", "caf\udce9"), work("once", ONE_PAIR)]
    text = batch(*rows).encode(errors="surrogateescape")
    folder = make({"b.csv": text})
    reviewed(folder)
    lines = text.splitlines()
    assert (folder / "review" / "upload-b.csv").read_bytes().splitlines() == [
        lines[0], lines[1] + b',"x",""', lines[2] + b',"",""',
    ]  # fmt: skip


def test_other_dialects(make):
    """Semicolons, unquoted cells, a blank line and a byte order mark stay; gzip does not."""
    rows = [";".join(HEAD), ";".join(work("careful", CAREFUL, "Submitted", 'say "so"'))]
    rows += [";".join(work("careless", CARELESS))]
    text = "\ufeff\r\n" + "\r\n".join(rows)
    folder = make({"b.csv.gz": gzip.compress(text.encode())})
    reviewed(folder)
    rows[1] += ';"x";""'
    rows[2] += f';"";"{FAILED}"'
    assert upload(folder) == "\ufeff\r\n" + "\r\n".join(rows)


def test_unquoted_rows_that_have_the_cells(make):
    rows = [
        HEAD,
        *(work(w, a, "Submitted", "so", "", "") for w, a in (("a", CAREFUL), ("b", CARELESS))),
    ]
    folder = make({"b.csv": "".join(",".join(row) + "\n" for row in rows)})
    reviewed(folder)
    head, *_ = upload(folder).splitlines()
    assert head == ",".join(HEAD)
    rows[1][-2], rows[2][-1] = "x", FAILED
    assert list(csv.reader(io.StringIO(upload(folder)))) == rows


@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_quotes_as_ordinary_characters(make, delimiter):
    rows = [work("careful", CAREFUL, "Submitted", '"odd'), work("careless", CARELESS)]
    text = "".join(delimiter.join(row) + "\n" for row in [HEAD, *rows])
    folder = make({"b.csv": text}, source={"options": {"quote": "", "delimiter": delimiter}})
    reviewed(folder)
    lines = text.splitlines()
    lines[1] += delimiter.join(["", "x", ""])
    lines[2] += delimiter.join(["", "", FAILED.replace(delimiter, " ")])
    assert upload(folder).splitlines() == lines


def test_long_cells(make):
    limit = csv.field_size_limit()
    row = work("careful", CAREFUL, "Submitted", "long " * 100_000)
    folder = make({"b.csv": batch(row)})
    reviewed(folder)
    assert upload(folder) == batch([*row, "x", ""])
    assert csv.field_size_limit() == limit


def test_an_empty_batch(make):
    rows = batch(work("careful", CAREFUL))
    folder = make({"b.csv": rows, "c.csv": "", "d.csv": batch()})
    document = reviewed(folder)
    assert [u["rows"] for u in document["uploads"]] == [1, 0, 0]
    assert (upload(folder, "upload-c.csv"), upload(folder, "upload-d.csv")) == ("", batch())


def test_rows_are_split_as_the_readers_split_them(tmp_path):
    """Whatever stands in the file: numbers of rows, cells, and where Approve and Reject are."""
    draw = random.Random(7)
    path, n_read = tmp_path / "b.csv", 0
    nothing = {"counted": 0, "rejected": 1, "records": 1, "reason": "", "judge": None}
    nothing |= {"hit": None, "native_id": None, "status": None}
    for _ in range(1_000):
        head = draw.choice(['"A","B",Approve,Reject', '"A\nA",B', "Approve,A,B"])
        body = "".join(draw.choices('a,"\n\ré ;"",,', k=draw.randint(0, 25)))
        path.write_bytes(f"{head}\n{body}".encode())
        opening = Opening(path, "b.csv", delimiter=",")
        try:
            before = read_all(opening)
        except AnnotError:  # a quote that is never closed
            continue
        n_read += 1
        of_batch = Batch(opening, before[1], None, "upload-b.csv")
        written = Upload(of_batch, lambda _: [nothing], {}, Quality())
        target = io.StringIO(newline="")
        assert len(list(written.write(target))) == before[1]
        path.write_bytes(target.getvalue().encode())
        after = read_all(Opening(path, "b.csv", delimiter=","))
        assert after[1] == before[1]
        for number, cells in before[0].items():
            assert after[0][number][: len(cells)] == cells or isinstance(cells, str)
    assert n_read > 500


def read_all(opening: Opening) -> tuple[dict[int, Any], int]:
    export = READERS["csv"](opening)
    rows: dict[int, Any] = {}
    for chunk in export.chunks:
        for place, number in enumerate(chunk.row.tolist()):
            problem = chunk.problem[place].as_py()
            rows[number] = problem or [c[place].as_py() for c in chunk.columns.values()]
    return rows, export.n_rows


# --- verdicts and their words ----------------------------------------------------------------


def test_a_row_of_several_tasks(make):
    """Rejected if one verdict is failed, approved only if all are passed."""
    fields = {
        "task": {"join": ["Input.set", {"value": "{t}"}], "sep": ""},
        "position": {"value": "{t}{i}{k}"},
    }
    fields["score"] = {"column": "Answer.Q1", "match": r"(?:^|[|;]){t}_{i}_{k}_(\d+)"}
    each = {"t": ["p", "q"], "i": ["none", "bad_reference"], "k": "0..2"}

    def both(p: str, q: str) -> str:
        return "|".join(f"{t}_{part}" for t, a in (("p", p), ("q", q)) for part in a.split("|"))

    rows = [
        work("both", both(CAREFUL, CAREFUL)),
        work("neither", both(CARELESS, UPSIDE_DOWN)),
        work("twice", both(CARELESS, CARELESS)),
        work("first", both(CAREFUL, CARELESS)),
        work("half", both(CAREFUL, ONE_PAIR)),
    ]
    folder = make(
        {"b.csv": batch(*rows)}, fields=fields, source={"each": each}, quality={"scope": "task"}
    )
    reviewed(folder)
    found = {row["worker"]: row for row in sheet(folder)}
    assert {w: (r["recommendation"], r["verdict"]) for w, r in found.items()} == {
        "both": ("approve", "passed"),
        "neither": ("reject", "failed"),
        "twice": ("reject", "failed"),
        "first": ("reject", "failed, passed"),
        "half": ("decide", "undetermined, passed"),
    }
    assert found["first"]["reason"] == found["twice"]["reason"] == FAILED
    assert found["first"]["effect"] == "2.6666666666666665"  # of the task that was failed
    other = FAILED.replace("not scored reliably", "scored no").replace("0.24", "1")
    assert found["neither"]["reason"] == f"xq: {other} xp: {FAILED}"
    order = ["half", "first", "twice", "neither", "both"]
    assert [row["worker"] for row in sheet(folder)] == order


@pytest.mark.parametrize(
    ("quality", "words"),
    [
        (
            {"test": "signed_rank"},
            "not scored reliably lower than their originals (Wilcoxon signed-rank test, p = 0.",
        ),
        (
            {"test": "welch", "contrast": "pooled"},
            "not scored reliably lower than ordinary items (Welch's t-test, p = 0.",
        ),
        ({"correction": "holm"}, "(paired t-test, p = 0.49 after correction, 3 pairs)."),
    ],
)
def test_words_of_each_test(make, quality, words):
    rows = [work("careless", CARELESS), work("careful", CAREFUL), work("upside", UPSIDE_DOWN)]
    folder = make({"b.csv": batch(*rows)}, quality=quality)
    reviewed(folder)
    (row,) = (row for row in sheet(folder) if row["worker"] == "careless")
    assert words in row["reason"]
    assert f'"{row["reason"]}"' in upload(folder)
    assert row["recommendation"] == "reject"


def test_words_of_the_difference_contrast(make):
    each = {"i": ["none", "bad_reference", "ask_again"], "k": "0..2"}
    again = "|ask_again_0_50|ask_again_1_61|ask_again_2_40"
    folder = make({"b.csv": batch(work("careless", CARELESS + again))}, source={"each": each},
                  quality={"test": "mann_whitney", "contrast": "difference"})  # fmt: skip
    reviewed(folder)
    assert sheet(folder)[0]["reason"].startswith(
        "Control items: degraded copies were no further from their originals than repeated "
        "items were (Mann-Whitney test, p = 0."
    )


def test_words_of_no_difference_and_of_known_answers(make):
    rows = [work("same", re.sub(r"_\d+(\||$)", r"_50\1", CARELESS)), work("careful", CAREFUL)]
    folder = make({"b.csv": batch(*rows)})
    reviewed(folder)
    assert sheet(folder)[0]["reason"] == (
        "Control items: degraded copies were scored no lower than their originals "
        "(paired t-test, p = 1, 3 pairs)."
    )
    names = ["HITId", "AssignmentId", "WorkerId", "Q", "Answer.label", "Truth"]
    answers = [
        ["h", f"{worker}{n}", worker, f"q{n}", "yes" if n < n_right else "no", "yes"]
        for worker, n_right in (("good", 9), ("bad", 4))
        for n in range(9)
    ]
    fields = {"judge": "WorkerId", "native_id": "AssignmentId", "item": "Q", "truth": "Truth"}
    fields |= {"label": "Answer.label", "control": {"value": "known_answer"}}
    source = {"each": {}, "fields": fields}
    folder = make(
        {"b.csv": batch(*answers, head=names)},
        source=source, quality={"test": "known_answer"},
    )  # fmt: skip
    reviewed(folder)
    text = upload(folder)
    assert text.count('"x",""') == 9
    assert (
        text.count(
            '"","Control items: 4 of 9 questions with a known answer were answered right, too few '
            "(binomial test, p = 0.75)."
        )
        == 9
    )


def test_without_a_test_a_person_decides(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, quality={"test": "none"})
    assert reviewed(folder)["decide"] == 1
    assert sheet(folder)[0]["reason"] == "quality.test is none"


def test_judges_who_are_dropped_have_verdicts(make):
    """quality.undetermined: drop lets judgments of undetermined judges fail, not their work."""
    folder = make(
        {"b.csv": batch(work("once", ONE_PAIR))},
        quality={"undetermined": "drop"},
    )
    reviewed(folder)
    assert sheet(folder)[0]["verdict"] == "undetermined"
    assert FATES[3] == "judge_failed"


def test_work_that_passes_is_not_approved_where_no_answer_counts(make):
    rows = [work("careful", CAREFUL), work("careful", "", "Submitted")]
    rows[1][1] = "a-empty"
    folder = make({"b.csv": batch(*rows)})
    assert [reviewed(folder)[kind] for kind in ("approve", "decide")] == [1, 1]
    assert upload(folder) == batch(rows[0] + ["x", ""], rows[1] + ["", ""])


def test_a_long_reason_is_cut():
    short = _short("\x07é€" + "y" * 2_000, "latin-1")
    assert len(short) == 1_024
    assert short.startswith("?é?yy")
    assert short.endswith("y...")


# --- the sheet -------------------------------------------------------------------------------


def test_the_sheet(make):
    rows = [
        work("done", CARELESS, "Rejected"),
        work("careful", CAREFUL),
        work("upside", UPSIDE_DOWN),
        work("careless", CARELESS),
        work("half", CAREFUL.replace("none_1_70|", "").replace("2_31", "2_15")),
        work("once", ONE_PAIR),
    ]
    folder = make(
        {"b.csv": batch(*rows)}, tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}]
    )
    reviewed(folder)
    found = sheet(folder)
    assert list(found[0]) == [
        "export", "row", "worker", "hit", "native_id", "status", "recommendation", "verdict",
        "reason", "p_value", "effect", "n_pairs", "mean_ordinary", "mean_good_reference",
        "mean_bad_reference", "seconds_per_judgment", "longest_constant_run", "share_at_ends",
        "n_judgments", "n_rejected_records",
    ]  # fmt: skip
    order = [(row["worker"], row["recommendation"]) for row in found]
    assert order == [
        ("once", "decide"), ("careless", "reject"), ("upside", "reject"), ("half", "approve"),
        ("careful", "approve"), ("done", "reject"),
    ]  # fmt: skip
    careless = found[1]
    assert careless | {"p_value": "", "longest_constant_run": ""} == {
        "export": "exports/b.csv", "row": "4", "worker": "careless", "hit": "h1",
        "native_id": "a-careless", "status": "Submitted", "recommendation": "reject",
        "verdict": "failed", "reason": FAILED, "p_value": "", "effect": "2.6666666666666665",
        "n_pairs": "3", "mean_ordinary": "50.333333333333336", "mean_good_reference": "",
        "mean_bad_reference": "47.666666666666664", "seconds_per_judgment": "",
        "longest_constant_run": "", "share_at_ends": "0.0", "n_judgments": "6",
        "n_rejected_records": "0",
    }  # fmt: skip
    assert float(careless["p_value"]) == pytest.approx(0.24497, abs=1e-5)
    assert (found[3]["n_judgments"], found[3]["n_rejected_records"]) == ("5", "1")
    assert found[3]["reason"] == "the scores do not vary: decided by the means"


def test_no_cell_is_a_formula(make):
    rows = [work(name, CARELESS) for name in ("=1+1", "@sum", "-2", "+3", "a=b", "'q")]
    folder = make({"=b.csv": batch(*rows)}, source={"path": "exports/=b.csv"})
    reviewed(folder)
    workers = {row["worker"] for row in sheet(folder)}
    assert workers == {"'=1+1", "'@sum", "'-2", "'+3", "a=b", "'q"}
    assert upload(folder, "upload-=b.csv").count('"@sum"') == 1
    assert [_safe(v) for v in ("\tx", "\rx", -1.5, 3, None, "")] == [
        "'\tx", "'\rx", -1.5, 3, None, "",
    ]  # fmt: skip


def test_without_hits_and_ids_in_the_mapping_the_columns_tell(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, source={"fields": {
        k: v for k, v in FIELDS.items() if k not in ("hit", "native_id")
    } | {"judge": {"column": "WorkerId", "map": {"careful": "c"}}}})  # fmt: skip
    reviewed(folder)
    (row,) = sheet(folder)
    assert [row[k] for k in ("worker", "hit", "native_id")] == ["careful", "h1", "a-careful"]


def test_a_status_that_another_column_holds(make):
    rows = [work("careful", CAREFUL), work("done", CAREFUL, "Approved"), work("new", CAREFUL, "")]
    head = ["State" if name == "AssignmentStatus" else name for name in HEAD]
    folder = make({"b.csv": batch(*rows, head=head)}, fields={"status": "State"})
    (counts,) = reviewed(folder)["uploads"]
    assert (counts["approve"], counts["decided"]) == (2, 1)
    assert {row["worker"]: row["status"] for row in sheet(folder)} == {
        "careful": "Submitted", "done": "Approved", "new": "",
    }  # fmt: skip


def test_a_row_of_several_judges(make):
    """Nobody's work is in no column of its own; all must pass."""
    head = ["HITId", "AssignmentId", "Judge_p", "Judge_q", "Input.set", "Answer.Q1"]
    fields = {"judge": "Judge_{t}", "position": {"value": "{t}{i}{k}"}}
    fields["score"] = {"column": "Answer.Q1", "match": r"(?:^|[|;]){t}_{i}_{k}_(\d+)"}
    each = {"t": ["p", "q"], "i": ["none", "bad_reference"], "k": "0..2"}
    answers = [
        "|".join(f"{t}_{part}" for t, a in zip("pq", both, strict=True) for part in a.split("|"))
        for both in ((CAREFUL, CAREFUL), (CAREFUL, CARELESS))
    ]
    rows = [
        ["h", "1", "anna", "bert", "x", answers[0]],
        ["h", "2", "cleo", "dora", "x", answers[1]],
    ]
    folder = make({"b.csv": batch(*rows, head=head)}, fields=fields, source={"each": each})
    reviewed(folder)
    rows = [[*rows[0], "x", ""], [*rows[1], "", FAILED]]
    assert upload(folder) == batch(*rows, head=[*head, "Approve", "Reject"])


# --- several exports -------------------------------------------------------------------------


def test_two_exports_of_one_name_and_another_source(make):
    """A batch that two sources read is written once, with the verdicts of both."""
    one, two = work("careful", CAREFUL), work("careless", CARELESS)
    sources = [
        {"path": "exports/*/b.csv", "format": "mturk", "fields": FIELDS,
         "each": {"i": ["none", "bad_reference"], "k": "0..2"}},
        {"path": "exports/*/B.csv", "format": "mturk", "fields": FIELDS,
         "each": {"i": ["none", "bad_reference"], "k": "0..2"}},
        {"path": "exports/day1/b.csv", "format": "mturk",
         "fields": FIELDS | {"task": {"value": "t"}},
         "each": {"i": ["none", "bad_reference"], "k": "0..2"}},
        {"path": "exports/c.csv", "format": "csv",
         "fields": {"task": {"value": "l"}, "judge": "w", "item": "i", "label": "l"}},
    ]  # fmt: skip
    files = {"day1/b.csv": batch(one), "day2/B.csv": batch(two), "c.csv": "w,i,l\na,b,c\na,d,e\n"}
    folder = make(files, sources=sources)
    document = reviewed(folder)
    names = [Path(u["path"]).name for u in document["uploads"]]
    assert names == ["upload-exports-day1-b.csv", "upload-exports-day2-B.csv"]
    assert upload(folder, names[0]) == batch([*one, "x", ""])
    assert upload(folder, names[1]) == batch([*two, "", FAILED])
    assert [row["worker"] for row in sheet(folder)] == ["careless", "careful"]
    assert sheet(folder)[1]["n_judgments"] == "12"


def test_other_sources_do_not_count(make):
    each = {"i": ["none", "bad_reference"], "k": "0..2"}
    fields = {"task": {"value": "l"}, "judge": "w", "item": "i", "label": "l"}
    sources = [
        {"path": "exports/v*.csv", "format": "csv", "fields": fields},
        {"path": "exports/b.csv", "format": "mturk", "each": each, "fields": FIELDS},
    ]
    votes = "w,i,l\na,1,c\na,2,e\n"
    files = {"v1.csv": votes, "v2.csv": votes.replace("a", "b"), "b.csv": batch(work("w", CAREFUL))}
    folder = make(files, sources=sources)
    reviewed(folder)
    assert [(row["worker"], row["n_judgments"]) for row in sheet(folder)] == [("w", "6")]


def test_names_of_uploads():
    assert _targets(["a/b.csv", "a/c.CSV.GZ", "d"]) == [
        "upload-b.csv",
        "upload-c.csv",
        "upload-d.csv",
    ]
    assert _targets(["../x/b.csv", "y/B.csv.gz", "/b.csv"]) == [
        "upload-x-b.csv", "upload-y-B.csv", "upload-b.csv",
    ]  # fmt: skip
    assert _targets(["a/b-c.csv", "a-b/c.csv", "a/b/c.csv", "x/b-c.csv"]) == [
        "upload-a-b-c.csv", "upload-a-b-c-again.csv", "upload-a-b-c-again-again.csv",
        "upload-x-b-c.csv",
    ]  # fmt: skip


def test_an_older_download_decides_nothing(make):
    """MTurk would take an x for a row that it has rejected since as a change of mind."""
    careful, careless = work("careful", CAREFUL), work("careless", CARELESS)
    new = [work("careful", CAREFUL, "Rejected"), careless]
    folder = make({"b-1.csv": batch(careful), "b-2.csv": batch(*new)})
    document = reviewed(folder)
    assert [u["elsewhere"] for u in document["uploads"]] == [1, 0]
    assert upload(folder, "upload-b-1.csv") == batch([*careful, "", ""])
    assert upload(folder, "upload-b-2.csv") == batch(new[0] + ["", ""], new[1] + ["", FAILED])
    assert [(r["export"], r["worker"]) for r in sheet(folder)] == [
        ("exports/b-2.csv", "careless"), ("exports/b-2.csv", "careful"),
    ]  # fmt: skip


# --- what it refuses -------------------------------------------------------------------------


@pytest.fixture
def plain(make) -> Path:
    return make({"b.csv": batch(work("careful", CAREFUL), work("careless", CARELESS))})


def test_a_campaign_without_batches(make):
    source = {"format": "csv", "each": {}, "fields": {"judge": "w", "item": "i", "label": "l"}}
    folder = make({"b.csv": "w,i,l\na,b,c\na,d,e\n"}, source=source)
    said = refused(folder, ConfigError)
    assert "no source is an MTurk batch" in said
    assert "sources: none has format: mturk" in said


def test_a_batch_without_its_header(make):
    options = {"options": {"columns": HEAD[:-2]}}
    folder = make({"b.csv": batch(work("careful", CAREFUL)).split("\n", 1)[1]}, source=options)
    assert "sources.0.options.columns: MTurk takes a batch with its header" in refused(
        folder, ConfigError
    )


def test_before_the_first_build(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, build=False)
    said = refused(folder)
    assert said.startswith("nothing is built yet")
    assert "annot build, then annot review" in said
    assert not (folder / "store").exists()
    assert not (folder / "review").exists()


def test_exports_that_changed_arrived_and_went(plain):
    exports = plain / "exports"
    (exports / "c.csv").write_text(batch(work("late", CAREFUL)))
    assert "has arrived: exports/c.csv" in refused(plain)
    (exports / "c.csv").rename(exports / "b.csv")
    assert "has changed: exports/b.csv" in refused(plain)
    (exports / "b.csv").rename(exports / "c.csv")
    said = refused(plain)
    assert "has arrived: exports/c.csv; is gone: exports/b.csv" in said
    assert "published v0001" in said
    assert not (plain / "review").exists()


def test_settings_that_changed(plain, monkeypatch):
    campaign = load_campaign(plain, sets=["quality.alpha=0.5"])
    with pytest.raises(StoreError, match=r"another one\n.*control_judges was made with other"):
        review(campaign, plain / "review")
    review(load_campaign(plain, sets=["seed=3", "ranking.alpha=0.01"]), plain / "review")
    monkeypatch.setenv("ANNOT_KEY", "another key, which gives other names")
    assert "settle_judgments was made with other settings, another key" in refused(plain)
    monkeypatch.delenv("ANNOT_KEY")
    said = refused(plain)
    assert "$ANNOT_KEY is not set" in said
    assert said.endswith("do:      set $ANNOT_KEY")
    assert not (plain / "store" / "judge.key").exists()


def test_a_build_that_stopped_half_way(make, plain):
    make({"b.csv": batch(work("other", CAREFUL))}, build=False)
    from annot_pipeline.pipeline import STAGES, Build

    build = Build(load_campaign(plain))
    for stage in STAGES[:4]:
        build.run_stage(stage)
    assert "the last build did not get as far as standardize_scores" in refused(plain)


def test_a_gate_that_failed_does_not_keep_work_from_review(make):
    folder = make({"b.csv": batch(work("careful", CAREFUL), work("empty", ""))}, build=False,
                  gates={"rejected_share": {"error": 0.1}})  # fmt: skip
    from annot_pipeline.pipeline import STAGES, Build

    build = Build(load_campaign(folder))
    for stage in STAGES:
        build.run_stage(stage)
    with pytest.raises(GateError):
        publish(build)
    assert reviewed(folder)["decide"] == 1


def test_an_archive_that_is_damaged(plain):
    (kept,) = (plain / "store" / "archive").glob("*/*")
    kept.write_bytes(kept.read_bytes() + b"\n")
    assert "exports/b.csv: not as it was archived" in refused(plain)
    kept.unlink()
    assert "the archive has lost it" in refused(plain)


def test_rows_that_do_not_match(plain, monkeypatch):
    """Should rows ever be counted otherwise than the readers did, nobody is paid by mistake."""
    from annot_pipeline.review import batch_file as module

    whole = module.BatchFile.split

    def moved(self: Any, lines: Any) -> Any:
        first, *rows = whole(self, lines)
        return iter([first, *rows[::-1]])

    monkeypatch.setattr(module.BatchFile, "split", moved)
    assert "row 1, WorkerId: the last build read it otherwise" in refused(plain)
    monkeypatch.setattr(module.BatchFile, "split", lambda s, ls: iter([*whole(s, ls)][:-1]))
    assert "1 rows: the last build read it otherwise: 2 were read" in refused(plain)
    monkeypatch.setattr(
        module.BatchFile, "split", lambda s, ls: iter([*(w := [*whole(s, ls)]), w[-1]])
    )
    assert "row 3: the last build" in refused(plain)
    monkeypatch.setattr(module, "READERS", {"mturk": lambda _: Export(iter(()), ["HIT"])})
    assert "the header: the last build read it otherwise: columns HIT were read" in refused(plain)
    assert sorted(p.name for p in (plain / "review").iterdir()) == []


def test_decisions_of_a_person_are_not_lost(plain):
    reviewed(plain)
    before = {p.name: p.read_bytes() for p in (plain / "review").iterdir()}
    reviewed(plain)  # nothing was edited
    assert {p.name: p.read_bytes() for p in (plain / "review").iterdir()} == before
    path = plain / "review" / "upload-b.csv"
    path.write_text(path.read_text().replace('"x",""', '"","no"'))
    edited = path.read_bytes()
    said = refused(plain, ConfigError)
    assert "holds decisions" in said
    assert "upload-b.csv: was edited since annot review wrote it" in said
    assert "--force" in said
    assert path.read_bytes() == edited
    reviewed(plain, force=True)
    assert path.read_bytes() == before["upload-b.csv"]
    (plain / "review" / "review.csv").write_text("remarks")
    assert "review.csv: was edited" in refused(plain, ConfigError)
    (plain / "review" / ".written.json").unlink()
    assert "upload-b.csv: was edited" in refused(plain, ConfigError)


def test_files_of_batches_that_are_gone(make, plain):
    reviewed(plain)
    rows = batch(work("careful", CAREFUL))
    make({"c.csv": rows})
    reviewed(plain)
    names = sorted(p.name for p in (plain / "review").iterdir())
    assert names == [".written.json", "review.csv", "upload-c.csv"]
    (plain / "review" / "upload-c.csv").write_text("edited")
    make({"d.csv": rows})
    reviewed(plain)
    assert upload(plain, "upload-c.csv") == "edited"
    assert (plain / "review" / "upload-d.csv").exists()


def test_nothing_is_written_if_writing_fails(plain, monkeypatch):
    reviewed(plain)
    before = {p.name: p.read_bytes() for p in (plain / "review").iterdir()}
    from annot_pipeline.review import command as module

    def broken(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_sheet", broken)
    with pytest.raises(OSError, match="No space"):
        reviewed(plain)
    assert {p.name: p.read_bytes() for p in (plain / "review").iterdir()} == before


def test_a_review_that_was_killed_is_no_edit(make, plain, monkeypatch):
    reviewed(plain)
    before = upload(plain)
    make({"b.csv": batch(work("careful", CAREFUL), work("careless", CAREFUL))})
    from annot_pipeline.review import command as module

    def killed(*arguments: Any) -> None:
        whole(*arguments)
        raise KeyboardInterrupt

    whole = module.write_json
    monkeypatch.setattr(module, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        reviewed(plain)
    assert upload(plain) == before
    monkeypatch.setattr(module, "write_json", whole)
    reviewed(plain)
    assert upload(plain).count('"x",""') == 2


def test_what_a_killed_review_left_is_removed(plain):
    (plain / "review").mkdir()
    (plain / "review" / ".tmp-upload-b.csv-1-2").write_text("w1")
    (plain / "review" / "mine.txt").write_text("w1")
    reviewed(plain)
    assert sorted(p.name for p in (plain / "review").iterdir()) == [
        ".written.json", "mine.txt", "review.csv", "upload-b.csv",
    ]  # fmt: skip


def test_the_owner_alone_reads_names(plain):
    reviewed(plain)
    for name in ("review.csv", "upload-b.csv"):
        assert stat.S_IMODE((plain / "review" / name).stat().st_mode) == 0o600
    reviewed(plain)
    assert stat.S_IMODE((plain / "review" / "review.csv").stat().st_mode) == 0o600
    assert "careful" not in (plain / "review" / ".written.json").read_text()


def test_globs_of_any_depth():
    def fits(path: str, glob: str) -> bool:
        return _fits(path.split("/"), glob.split("/"))

    assert all(fits(path, "a/**/*.csv") for path in ("a/b.csv", "a/b/b.csv", "a/b/c/b.csv"))
    assert not any(fits(path, "a/**/*.csv") for path in ("b.csv", "b/a/b.csv", "a/b.tsv", "a"))
    assert fits("a/b", "a/b")
    assert not any(fits(path, "a/*") for path in ("a", "a/b/c", "b/a"))


@pytest.mark.parametrize("glob", ["**/*.csv", "*/*.csv", "review/u*", "../campaign/*/*.csv"])
def test_no_glob_may_match_what_it_writes(make, glob, monkeypatch):
    folder = make({"b.csv": batch(work("careful", CAREFUL))}, source={"path": glob}, build=False)
    if glob == "review/u*":
        (folder / "exports").rename(folder / "review")
        (folder / "review" / "b.csv").rename(folder / "review" / "u.csv")
    build_file(folder)
    assert f"sources.0.path: {glob} matches" in refused(folder, ConfigError, force=True)
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="read it as an export"):
        review(load_campaign("."), Path("review"))
    review(load_campaign(folder), folder.parent / "elsewhere")


# --- the command -----------------------------------------------------------------------------


def test_the_command(plain, capsys, tmp_path):
    assert main(["review", str(plain)]) == 0
    folder = plain / "review"
    out = capsys.readouterr()
    assert out.out.splitlines() == [
        f"{folder}/review.csv: 2 assignments, the most doubtful first",
        "  it names workers: not to be published",
        f"{folder}/upload-b.csv: 1 approve, 1 reject, 0 decide",
        "nothing was sent to MTurk",
        f"next: look at {folder}/review.csv, change Approve and Reject in upload-*.csv,",
        "      then upload it on the batch's Review Results page",
    ]
    assert "upload-b.csv: 2 rows" in out.err
    assert main(["review", str(plain), "-o", str(tmp_path / "new"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {
        "campaign", "folder", "review", "assignments", "uploads", "approve", "reject", "decide",
    }  # fmt: skip
    assert document["folder"] == str(tmp_path / "new")
    assert (tmp_path / "new" / "upload-b.csv").read_bytes() == (
        folder / "upload-b.csv"
    ).read_bytes()
    (folder / "upload-b.csv").write_text("edited")
    assert main(["review", str(plain), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["exit_status"] == 2
    assert main(["review", str(plain), "--force", "--set", "seed=3"]) == 0
    assert main(["review", str(plain), "--set", "quality.alpha=0.1"]) == 1


def test_the_command_when_all_is_decided(make, capsys):
    rows = [work("careful", CAREFUL, "Approved"), ["h1"], [*work("x", CAREFUL), "x"]]
    folder = make({"b.csv": batch(*rows)})
    assert main(["review", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "0 approve, 0 reject, 0 decide; 3 decided before" in out
    assert "rows that do not fit the header, to mend or delete first: 2, 3" in out
    assert "no assignment waits for a decision" in out


def test_dagster_is_not_loaded(plain):
    assert "dagster" not in loaded_modules("review", str(plain))
    assert (plain / "review" / "review.csv").exists()


# --- real batches ----------------------------------------------------------------------------


def test_a_real_batch(shared_campaigns, shared_data, tmp_path):
    """Graham et al. 2013: 29 assignments, one of which waits; it passes with p = .0026."""
    sets = [f"store={tmp_path / 'store'}", f"gold={tmp_path / 'gold'}"]
    build_file(shared_campaigns / "graham.yaml", *sets)
    campaign = load_campaign(shared_campaigns / "graham.yaml", sets=sets)
    document = review(campaign, tmp_path / "review")
    assert [u["rows"] for u in document["uploads"]] == [29, 2]
    assert [document[k] for k in ("assignments", "approve", "reject", "decide")] == [31, 1, 0, 0]
    for name in ("Batch_1234_batch_results.csv", "Batch_1959533_batch_results.csv"):
        raw = (shared_data / "graham-mturk-da" / name).read_bytes()
        written = (tmp_path / "review" / f"upload-{name}").read_bytes()
        before, after = (
            list(csv.reader(io.StringIO(data.decode(), newline=""))) for data in (raw, written)
        )
        assert before[0] == after[0]
        waits = before[0].index("AssignmentStatus")
        cells = [["x", ""] if row[waits] == "Submitted" else ["", ""] for row in before[1:]]
        assert [row[:-2] for row in after[1:]] == before[1:]
        assert [row[-2:] for row in after[1:]] == cells
        assert re.sub(rb',"x?",""(\r\n|$)', rb"\1", written) == raw
    with (tmp_path / "review" / "review.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["worker"], rows[0]["row"], rows[0]["status"]) == (
        "A49560E24B3147", "27", "Submitted",
    )  # fmt: skip
    assert float(rows[0]["p_value"]) == pytest.approx(0.0026, abs=5e-5)
    assert [row["recommendation"] for row in rows].count("decide") == 2
    assert os.path.basename(rows[0]["export"]) == "Batch_1234_batch_results.csv"
