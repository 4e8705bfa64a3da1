"""`annot init` knows results of planned HITs, and writes what their bookkeeping says."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.sources import HITS_FIELDS
from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from tests.conftest import stage_file
from tests.hits.platforms import (
    RESULTS,
    Row,
    Worked,
    files,
    mturk_results,
    plan,
    question,
    read_csv,
    slot,
    write,
)

JUDGES = ("w1", "w2", "w3")


def scores(judge: str, hit: Row, number: int, criterion: int | None) -> float | None:
    if judge == "w3" and number == 1 and not hit["criteria"]:
        return None
    low, high = hit["scale"]
    return float(low + (high - low) * (len(judge) + 3 * number + (criterion or 0)) / 20)


def results(
    folder: Path,
    platform: str,
    name: str = "results",
    *,
    task: str = "mt",
    criteria: tuple[str, ...] = (),
    scale: tuple[float, float] = (0.0, 100.0),
) -> Path:
    """What came back of a batch of one task."""
    hits = [[slot(f"{task} {h}.{s}", text="x") for s in range(3)] for h in range(4)]
    asked = question(task, *criteria, scale=scale)
    batch = folder / f"batch {name} {platform}"
    document = write(plan((task, hits)), [asked], batch, platform)
    ending, give_back = RESULTS[platform]
    path = folder / "exports" / f"{name}{ending}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(give_back(files(document, ending)[task], Worked(JUDGES, scores)))
    return path


def guessed(folder: Path, *exports: Path) -> str:
    text = guess_campaign(list(exports) or [folder / "exports"], folder)
    (folder / "campaign.yaml").write_text(text, encoding="utf-8")
    return text


def source(folder: Path) -> dict[str, Any]:
    (only,) = load_campaign(folder).settings.sources
    return {"path": only.path, "format": only.format, "fields": {*only.fields}}


@pytest.mark.sampled
@pytest.mark.parametrize("platform", RESULTS)
def test_results_are_recognised(platform: str, tmp_path: Path) -> None:
    path = results(tmp_path, platform)
    text = guessed(tmp_path, path)
    assert source(tmp_path) == {
        "path": f"exports/{path.name}", "format": "hits", "fields": {*HITS_FIELDS},
    }  # fmt: skip
    assert "fields:" not in re.sub("#.*", "", text)
    assert re.search(r"kind: scalar\n    scale: \[0, 100\] +# as the HITs say\n", text)
    assert "4 not read: the slot was not answered" in text
    assert "4 HITs, 3 judges" in text
    built = stage_file(tmp_path)
    fates = [row["fate"] for row in built.rows("lineage")]
    assert (fates.count("used"), fates.count("rejected"), len(fates)) == (32, 4, 36)
    assert {row["task"] for row in built.rows("scores")} == {"mt"}


def test_the_scale_is_the_hits_own(tmp_path: Path) -> None:
    text = guessed(tmp_path, results(tmp_path, "jsonl", scale=(-1.5, 123456789.25)))
    assert "scale: [-1.5, 123456789.25]" in text
    (task,) = load_campaign(tmp_path).settings.tasks
    assert (task.name, task.scale) == ("*", (-1.5, 123456789.25))


def test_criteria_are_declared(tmp_path: Path) -> None:
    criteria = ("fluency", "wie: gut? {x}", "no")
    guessed(tmp_path, results(tmp_path, "mturk", criteria=criteria))
    (task,) = load_campaign(tmp_path).settings.tasks
    assert tuple(task.criteria) == criteria
    assert {r["fate"] for r in stage_file(tmp_path).rows("lineage")} == {"used"}


def test_tasks_with_scales_of_their_own(tmp_path: Path) -> None:
    results(tmp_path, "mturk", "a", task="mt [de]*", scale=(0.0, 1.0))
    results(tmp_path, "mturk", "b", task="mt", criteria=("fluency",))
    text = guessed(tmp_path)
    tasks = load_campaign(tmp_path).settings.tasks
    assert [(t.name, t.scale, tuple(t.criteria)) for t in tasks] == [
        ("mt", (0.0, 100.0), ("fluency",)), ("mt [[]de][*]", (0.0, 1.0), ()),
    ]  # fmt: skip
    assert source(tmp_path)["path"] == "exports/*.csv"
    assert text.count("format: hits") == 1
    scores_ = stage_file(tmp_path, "gates.rejected_share.error=1").rows("scores")
    assert {row["task"] for row in scores_} == {"mt", "mt [de]*"}


@pytest.mark.slow
def test_files_of_several_platforms(tmp_path: Path) -> None:
    for platform in RESULTS:
        results(tmp_path, platform, "night")
    guessed(tmp_path)
    assert source(tmp_path)["path"] == "exports/night.*"
    fates = [
        r["fate"] for r in stage_file(tmp_path, "gates.rejected_share.error=1").rows("lineage")
    ]
    assert len(fates) == 3 * 36


def test_hits_of_one_task_that_differ_are_told(tmp_path: Path) -> None:
    results(tmp_path, "mturk", "1", scale=(0.0, 100.0))
    results(tmp_path, "mturk", "2", scale=(0.0, 1.0))
    text = guessed(tmp_path)
    assert "HITs of one task differ in scale or criteria: 'mt'; the first is taken" in text
    assert "scale: [0, 100]" in text


@pytest.mark.slow
def test_saved_by_a_spreadsheet_and_gzipped(tmp_path: Path) -> None:
    path = results(tmp_path, "mturk")
    saved = io.StringIO(newline="")
    csv.writer(saved, delimiter=";").writerows(read_csv(path))
    path.unlink()
    packed = path.with_name("results.csv.gz")
    packed.write_bytes(gzip.compress(("\ufeff" + saved.getvalue()).encode()))
    guessed(tmp_path, packed)
    assert load_campaign(tmp_path).settings.sources[0].options.delimiter == ";"
    built = stage_file(tmp_path, "gates.rejected_share.error=1")
    assert built.metrics("settle_judgments")["records"]


def test_an_item_table_is_matched(tmp_path: Path) -> None:
    results(tmp_path, "mturk")
    rows = [f"mt {h}.{s},text {h}{s}" for h in range(4) for s in range(3)]
    (tmp_path / "exports" / "items.csv").write_text("\n".join(["item,text", *rows]) + "\n")
    guessed(tmp_path)
    (table,) = load_campaign(tmp_path).settings.items
    assert {*table.fields} == {"item", "text"}


def test_results_beside_other_exports(tmp_path: Path) -> None:
    results(tmp_path, "mturk")
    rows = [f"i{n % 8},j{n // 8},{10 * (n % 9)}.5" for n in range(32)]
    (tmp_path / "exports" / "old.csv").write_text("\n".join(["item,judge,score", *rows]) + "\n")
    text = guessed(tmp_path)
    formats = [s.format for s in load_campaign(tmp_path).settings.sources]
    assert sorted(formats) == ["csv", "hits"]
    assert "fields:" in text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.jsonl", '{"annot_hit": {}, "judge": "x", "scores": [1]}', "annot_hit is damaged"),
        ("r.csv", 'WorkerId,HITId,Input.annot_hit,Answer.score_1\nw,h,"{",1\n', "annot_hit is dam"),
        ("r.csv", "annot_hit,text_1\n{},x\n{},y\n", "no column says who judged"),
    ],
)
def test_files_that_hold_no_judgment(name: str, content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError) as raised:
        guessed(tmp_path, tmp_path / name)
    assert said in str(raised.value)


def test_nobody_judged(tmp_path: Path) -> None:
    path = results(tmp_path, "mturk")
    path.write_text(re.sub('"w[123]"', '""', path.read_text()))
    with pytest.raises(ConfigError, match="no campaign can be guessed") as raised:
        guessed(tmp_path, path)
    assert "no row says who judged" in str(raised.value)


def test_the_name_alone_is_no_bookkeeping(tmp_path: Path) -> None:
    lines = [{"judge": f"j{n % 4}", "item": f"i{n // 4}", "label": "annot_hit" if n % 3 else "no"}
             for n in range(40)]  # fmt: skip
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    guessed(tmp_path, path)
    assert load_campaign(tmp_path).settings.sources[0].format == "jsonl"


@pytest.mark.slow
def test_texts_are_not_read(tmp_path: Path) -> None:
    """A hundred long texts a row would be a hundred times as many in the records of a row."""
    hits = [[slot(f"i{n}", text="x" * 2000) for n in range(100)] for _ in range(20)]
    document = write(plan(("mt", hits)), [question("mt")], tmp_path / "b", "mturk")

    def score(_judge: str, _hit: Row, number: int, _criterion: int | None) -> float:
        return float(number)

    path = tmp_path / "r.csv"
    path.write_text(mturk_results(files(document, ".csv")["mt"], Worked(JUDGES, score)))
    text = guessed(tmp_path, path)
    assert "6,000 rows" in text
