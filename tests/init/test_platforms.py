"""Guessed campaigns: formats of platforms."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from tests.init.conftest import Guess, write_csv
from tests.init.guessed import LABEL_STUDIO_FIELDS, yes_or_no

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


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("with_header", [True, False])
@pytest.mark.parametrize(
    ("header", "more"),
    [
        ((*APPRAISE, *TIMES), {"task": ("srcLang", "trgLang")}),
        (
            (*APPRAISE, "docId", "isDocScore", *TIMES),
            {"task": ("srcLang", "trgLang", "unit"), "document": "document"},
        ),
        (
            (*APPRAISE, "docId", "isDocScore", "mqm", *TIMES, "batchNo", "item_id"),
            {"task": ("srcLang", "trgLang", "unit"), "document": "document", "hit": "batchNo"},
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
    actual = guess(appraise(tmp_path / "scores.csv", header, with_header=with_header))
    [source] = actual.settings.sources
    assert source.format == "appraise"
    assert source.options.columns is None
    task = {"join": tuple({"column": name} for name in more["task"]), "sep": "-"}
    assert actual.fields() == more | {
        "task": task, "judge": "username", "system": "system", "segment": "segment",
        "score": "score", "control": {"column": "itemType", "map": CONTROLS},
        "submitted_at": "timeEnd", "seconds": "seconds",
    }  # fmt: skip
    [task] = actual.settings.tasks
    assert (task.kind, task.scale) == ("scalar", (0, 100))  # whatever scores were given
    left = "not mapped: mqm (1 different), item_id (30 different)" if "mqm" in header else ""
    assert left in actual.notes
    assert left or "not mapped" not in actual.notes
    units = ("-document", "-segment") if "unit" in more["task"] else ("",)
    assert actual.used("task") == {(f"eng-ces{unit}",) for unit in units}
    assert actual.facts["fates"]["control"] == 5


def test_appraise_with_and_without_header_is_one_source(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    header = (*APPRAISE, *TIMES)
    appraise(tmp_path / "all" / "day1.csv", header, with_header=True)
    appraise(tmp_path / "all" / "day2.csv", header, with_header=False)
    actual = guess(tmp_path / "all")
    assert [source.path for source in actual.settings.sources] == ["../all/*.csv"]
    assert actual.facts["records"] == 60


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
    actual = guess(path)
    assert actual.settings.sources[0].format == "csv"
    assert actual.fields()["judge"] == "username"


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


def test_label_studio(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    actual = guess(label_studio(tmp_path / "project.json", "text"))
    assert actual.fields() == LABEL_STUDIO_FIELDS | {"text": "data.text"}
    assert actual.used("task") == {("sentiment",)}
    assert actual.facts["fates"]["used"] == 16


@pytest.mark.parametrize(("second_text", "n_items"), [("text", 8), ("another text", 16)])
def test_label_studio_task_ids_of_two_projects(
    tmp_path: Path, guess: Callable[..., Guess], second_text: str, n_items: int
) -> None:
    label_studio(tmp_path / "project_1.json", "text")
    label_studio(tmp_path / "project_2.json", second_text, judges=(3, 4))
    actual = guess(tmp_path)
    assert len(actual.settings.sources) == 1
    assert len(actual.used("item")) == n_items
    assert actual.facts["fates"]["used"] == 32


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


@pytest.mark.sampled
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
    actual = guess(path)
    assert actual.settings.sources[0].path == "../days/day 1.tsv"
    assert f"only this file is read: {says}".replace('"', "") in actual.notes.replace('"', "")


def test_files_of_a_glob_say_nothing_of_later_ones(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = [("judge", "item", "label")]
    rows += [(j, i, yes_or_no(k, i)) for k, j in enumerate("pqr") for i in range(9)]
    for day in (1, 2):
        write_csv(tmp_path / f"day{day}.csv", rows)
    assert "only this file" not in guess(tmp_path).notes
