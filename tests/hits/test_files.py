"""The files that a plan becomes: what is in them, how they are called, all of them or none."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.hits import PLATFORMS, jsonl_file, write_batch
from annot_pipeline.hits.batch import file_stems
from annot_pipeline.hits.label_studio_file import labeling_config
from annot_pipeline.hits.plan import task_plans
from tests.hits.platforms import PLAN, Row, files, hit_id, plan, question, read_csv, slot, write
from tests.memory import peak_bytes

HITS = [
    [slot("a", text="A text", source="Ein Text", segment="s1", system="x"),
     slot("a", "bad_reference", text="A broken", source="Ein Text", segment="s1", system="x")],
    [slot("b", text="B"), slot("c")],
]  # fmt: skip


def bookkeeping(number: int, slots: Sequence[Row], **more: Any) -> Row:
    hit = {"annot": 1, "task": "t", "hit": hit_id(number), "scale": [0, 100], "criteria": []}
    return {**hit, "slots": [*slots], **more}


EXPECTED = {
    hit_id(1): bookkeeping(1, [
        {"item": "a", "segment": "s1", "system": "x"},
        {"item": "a", "segment": "s1", "system": "x", "control": "bad_reference"}]),
    hit_id(2): bookkeeping(2, [{"item": "b"}, {"item": "c"}]),
}  # fmt: skip
SHOWN = {
    hit_id(1): (["A text", "A broken"], ["Ein Text", "Ein Text"]),
    hit_id(2): (["B", "c"], [None, None]),
}


# --- what is in them -----------------------------------------------------------------------


def test_mturk_has_a_row_a_hit(tmp_path: Path) -> None:
    document = write(plan(("t", HITS)), [question("t")], tmp_path, "mturk")
    header, *rows = read_csv(files(document, ".csv")["t"])
    assert header == ["annot_hit", "text_1", "text_2", "source_1", "source_2"]
    for row, (hit, expected) in zip(rows, sorted(EXPECTED.items()), strict=True):
        assert json.loads(row[0]) == expected
        texts, sources = SHOWN[hit]
        assert row[1:] == [*texts, *(source or "" for source in sources)]


def test_label_studio_has_a_task_a_hit(tmp_path: Path) -> None:
    document = write(plan(("t", HITS)), [question("t")], tmp_path, "label_studio")
    tasks = json.loads(files(document, ".json")["t"].read_text(encoding="utf-8"))
    assert [task["data"]["annot_hit"] for task in tasks] == [EXPECTED[h] for h in sorted(EXPECTED)]
    for task in tasks:
        texts, sources = SHOWN[task["data"]["annot_hit"]["hit"]]
        named = {f"text_{n}": text for n, text in enumerate(texts, start=1)}
        named |= {f"source_{n}": text or "" for n, text in enumerate(sources, start=1)}
        assert task["data"] == {"annot_hit": task["data"]["annot_hit"], **named}


def test_jsonl_has_a_line_a_hit(tmp_path: Path) -> None:
    document = write(plan(("t", HITS)), [question("t")], tmp_path, "jsonl")
    lines = files(document, ".jsonl")["t"].read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    for line, (hit, expected) in zip(lines, sorted(EXPECTED.items()), strict=True):
        texts, sources = SHOWN[hit]
        assert json.loads(line) == {"annot_hit": expected, "texts": texts, "sources": sources}
    document = write(plan(("t", HITS[1:])), [question("t")], tmp_path / "other", "jsonl")
    assert '"sources"' not in files(document, ".jsonl")["t"].read_text(encoding="utf-8")


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_empty_text_is_shown_empty(platform: str, tmp_path: Path) -> None:
    table = plan(("t", [[slot("a", text=""), slot("b", text=" ")]]))
    document = write(table, [question("t")], tmp_path, platform)
    (path,) = [p for e in (".csv", ".json", ".jsonl") for p in files(document, e).values()]
    assert '"a"' in path.read_text().replace('""', '"')
    shown = {"mturk": '""," "', "label_studio": '"text_1": "", "text_2": " "',
             "jsonl": '"texts": ["", " "]'}  # fmt: skip
    assert shown[platform] in path.read_text()


def test_what_postgres_does_not_take_is_not_sent_to_it(tmp_path: Path) -> None:
    table = plan(("t", [[slot("a", text="x\x00y")]]))
    document = write(table, [question("t")], tmp_path, "label_studio")
    assert "\\u0000" not in files(document, ".json")["t"].read_text(encoding="utf-8")


# --- Label Studio's configuration ----------------------------------------------------------


def config(*criteria: str, scale: tuple[float, float] = (0.0, 100.0)) -> ElementTree.Element:
    (task,) = task_plans(plan(("t", HITS)), [question("t", *criteria, scale=scale)])
    return ElementTree.fromstring(labeling_config(task))


def test_the_configuration_names_what_the_data_holds() -> None:
    root = config()
    texts = {tag.attrib["name"]: tag.attrib for tag in root.iter("Text")}
    assert {name: a["value"] for name, a in texts.items()} == {
        f"{kind}_{n}": f"${kind}_{n}" for kind in ("text", "source") for n in (1, 2)
    }
    assert {a["valueType"] for a in texts.values()} == {"text"}
    numbers = [tag.attrib for tag in root.iter("Number")]
    assert [number["name"] for number in numbers] == ["score_1", "score_2"]
    assert numbers[0] == {
        "name": "score_1", "toName": "text_1", "min": "0", "max": "100", "slider": "true",
        "required": "true",
    }  # fmt: skip


def test_criteria_have_a_number_each_and_name_no_data() -> None:
    hostile = ("flu<ency", 'a "$text_1" & b', "$secret")
    root = config(*hostile)
    names = [tag.attrib["name"] for tag in root.iter("Number")]
    assert names == [f"score_{n}_{k}" for n in (1, 2) for k in (1, 2, 3)]
    headers = [tag.attrib["value"] for tag in root.iter("Header")]
    assert headers[2:5] == ["flu<ency", 'a "\uff04text_1" & b', "\uff04secret"]
    assert not any("$" in header for header in headers)


@pytest.mark.parametrize(
    "scale", [(0, 1), (1, 5), (-1, 1), (0, 10), (1, 7), (0.5, 3), (-5, 5), (0, 100), (-100, 100)]
)
def test_every_step_of_a_slider_passes_label_studios_check(scale: tuple[float, float]) -> None:
    """Number.jsx refuses a value where ``(value - min) % step`` is not exactly 0."""
    number = next(config(scale=scale).iter("Number")).attrib
    low, high = float(number["min"]), float(number["max"])
    step = float(number.get("step", 1))
    assert number["slider"] == "true"
    assert 100 <= (high - low) / step <= 200
    for value in np.arange(low, high + step / 2, step).tolist():
        assert (value - low) % step == 0
    assert low + step * round((high - low) / step) == high


@pytest.mark.parametrize("scale", [(0.1, 1.0), (0.0, 0.3)])
def test_a_scale_that_no_step_divides_has_no_slider(scale: tuple[float, float]) -> None:
    number = next(config(scale=scale).iter("Number")).attrib
    assert "slider" not in number
    assert "step" not in number


# --- names ---------------------------------------------------------------------------------


def test_file_names_are_safe_and_distinct() -> None:
    tasks = ["mt en/de", "MT EN-DE", "mt-en-de-2", "../../etc/passwd", "", "日本", "中国", "-x-",
             "a" * 500, "a" * 501, "con", "x\x00y", "😀", "mt_en"]  # fmt: skip
    stems = file_stems(tasks)
    assert list(stems) == tasks
    assert len({stem.casefold() for stem in stems.values()}) == len(tasks)
    for stem in stems.values():
        assert stem.isascii()
        assert set(stem) <= {*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"}
        assert 0 < len(stem) < 70
    assert [stems[task] for task in tasks[:4]] == [
        "mt-en-de", "MT-EN-DE-2", "mt-en-de-2-2", "etc-passwd",
    ]  # fmt: skip


@pytest.mark.parametrize("platform", PLATFORMS)
def test_tasks_with_one_name_on_a_disk_have_files_of_their_own(
    platform: str, tmp_path: Path
) -> None:
    tasks = ["A/b", "a-B", "../x"]
    table = plan(*((task, [[slot(f"of {task}")]]) for task in tasks))
    document = write(table, [question(task) for task in tasks], tmp_path / "out", platform)
    paths = [Path(file["path"]) for task in document["tasks"] for file in task["files"]]
    assert len({path.name.casefold() for path in paths}) == len(paths)
    assert {path.parent for path in paths} == {tmp_path / "out"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    for task in document["tasks"]:
        assert f"of {task['task'][:1]}" in Path(task["files"][0]["path"]).read_text()


# --- the document, the log -----------------------------------------------------------------


def test_the_log_is_the_whole_plan(tmp_path: Path) -> None:
    table = plan(("t", HITS)).append_column("more", pa.array([1, 2, 3, 4]))
    document = write(table, [question("t")], tmp_path, "jsonl")
    logged = pq.read_table(document["plan"])
    assert logged.equals(table)
    assert logged["probability"].null_count == 4


@pytest.mark.parametrize("platform", PLATFORMS)
def test_bytes_are_the_same_every_time(platform: str, tmp_path: Path) -> None:
    table = plan(("t", HITS))
    chunked = pa.concat_tables([table.slice(n, 1) for n in range(4)])
    encoded = table.set_column(0, "task", table["task"].dictionary_encode())
    actual = []
    for number, same in enumerate((table, chunked, encoded)):
        write(same, [question("t")], tmp_path / str(number), platform)
        contents = {p.name: p.read_bytes() for p in (tmp_path / str(number)).iterdir()}
        contents.pop("plan.parquet")
        actual.append(contents)
    assert all(a == b for a, b in pairwise(actual))
    write(table, [question("t")], tmp_path / "0", platform)  # the same batch: nothing to lose


def test_another_batch_is_not_written_over(tmp_path: Path) -> None:
    write(plan(("t", HITS)), [question("t")], tmp_path, "mturk")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = plan(("t", HITS[1:]))
    with pytest.raises(ConfigError, match="written over") as raised:
        write(other, [question("t")], tmp_path, "mturk")
    assert "plan.parquet" in str(raised.value)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    write_batch(other, [question("t")], tmp_path, PLATFORMS["mturk"], force=True)
    assert pq.read_table(tmp_path / "plan.parquet").equals(other)


def test_all_files_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = plan(("t", HITS), ("u", HITS))
    written = jsonl_file.JSON_LINES.write_task

    def failing(task: Any, paths: Sequence[Path]) -> list[str]:
        if task.question.task == "u":
            raise OSError(28, "No space left on device")
        return written(task, paths)

    broken = jsonl_file.Platform("jsonl", ("hits-{}.jsonl",), failing, "")
    monkeypatch.setitem(PLATFORMS, "jsonl", broken)
    with pytest.raises(OSError, match="No space"):
        write(table, [question("t"), question("u")], tmp_path, "jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_files_can_be_read_by_whom_one_likes(platform: str, tmp_path: Path) -> None:
    """Nothing in them is a secret: no key, no judge; so they have the usual mode."""
    mask = os.umask(0)
    os.umask(mask)
    write(plan(("t", HITS)), [question("t")], tmp_path, platform)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask, path
        assert b"a key for tests" not in path.read_bytes()


# --- plans that are none -------------------------------------------------------------------


def changed(column: str, *values: Any) -> pa.Table:
    table = plan(("t", HITS))
    array = pa.array(values, PLAN.field(column).type)
    return table.set_column(table.column_names.index(column), PLAN.field(column), array)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (changed("slot", 1, 2, 1, 3), "slots of"),
        (changed("hit", hit_id(1), hit_id(2), hit_id(1), hit_id(2)), "slots of"),
        (changed("hit", *"aabb"), "16 hex digits"),
        (changed("item", "a", " ", "b", "c"), "without an item"),
        (changed("control", "none", "known_answer", "none", "none"), "unknown control"),
        (plan(("v", HITS)), "no question is given for task v"),
    ],
)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_plans_that_are_none(table: pa.Table, said: str, platform: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        write(table, [question("t"), question("u")], tmp_path, platform)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_hits_keep_the_order_of_the_plan(platform: str, tmp_path: Path) -> None:
    """HITs stand in the order in which they should be asked, not in that of their ids."""
    table = plan(("t", HITS))
    turned = table.take(pa.array([2, 3, 0, 1]))
    document = write(turned, [question("t")], tmp_path, platform)
    path = document["tasks"][0]["files"][0]["path"]
    text = Path(path).read_text(encoding="utf-8").replace('""', '"')
    first, second = turned["hit"][0].as_py(), turned["hit"][2].as_py()
    assert first > second
    assert text.index(first) < text.index(second)


# --- large batches -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_large_batch_is_streamed(platform: str, tmp_path: Path) -> None:
    n_hits, size = 20_000, 5
    hits = pa.array([f"{n:016x}" for n in range(n_hits)])
    n = n_hits * size
    columns: dict[str, Any] = {name: pa.nulls(n, PLAN.field(name).type) for name in PLAN.names}
    columns |= {
        "task": pa.repeat("t", n),
        "hit": hits.take(pa.array(np.repeat(np.arange(n_hits), size))),
        "slot": pa.array(np.tile(np.arange(1, size + 1), n_hits)),
        "item": pa.array([f"item {k}" for k in range(n)]),
        "control": pa.repeat("none", n),
        "text": pa.repeat("one text of many, " * 4, n),
    }
    plan = pa.table(columns, PLAN)
    peak = peak_bytes(write, plan, [question("t")], tmp_path, platform)
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) > 8 << 20
    assert peak < 25 << 20, "the plan is read in parts; a quarter of a gigabyte would be all of it"


def test_a_hit_that_is_too_large_for_mturk_is_told(tmp_path: Path) -> None:
    long = [
        [slot(f"i{n}", text="x" * 1000) for n in range(100)],
        [slot(f"j{n}") for n in range(100)],
    ]
    document = write(plan(("t", long)), [question("t")], tmp_path, "mturk")
    without_text, warning = document["warnings"]
    assert without_text.startswith("t: 100 of 200 slots show the name of the item, which has no")
    assert hit_id(1) in warning
    assert "65,535" in warning


# --- upload files are no results -----------------------------------------------------------


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_file_to_upload_is_not_taken_for_results(platform: str, tmp_path: Path) -> None:
    document = write(plan(("t", HITS)), [question("t")], tmp_path, platform)
    path = Path(document["tasks"][0]["files"][0]["path"])
    try:
        export = READERS["hits"](Opening(path, path.name))
        reasons = {r for c in export.chunks for r in c.problem.to_pylist()}
    except InputError as error:
        assert "cannot be read" in str(error)  # noqa: PT017
        return
    assert platform == "jsonl"
    assert reasons == {"scores is blank: these HITs have no answers yet"}
