"""docs/hits.md says what the code does, and what it shows runs as it stands."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.sources import HITS_FIELDS
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.hits import PLATFORMS, jsonl_file, label_studio_file, mturk_file
from annot_pipeline.hits.mturk_file import AT_ONCE, PAIRS_AT_ONCE
from annot_pipeline.stages.planning.hit_plan import Question
from tests.conftest import Built, build_file, stage_file
from tests.hits.platforms import files, plan, question, slot, write

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "hits.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_campaign_is_complete_and_short(tmp_path: Path) -> None:
    block = blocks("yaml")[0]
    (tmp_path / "campaign.yaml").write_text(block)
    settings = load_campaign(tmp_path).settings
    assert {*settings.sources[0].fields} == {*HITS_FIELDS}


@pytest.mark.sampled
@pytest.mark.parametrize("criteria", [(), ("fluency", "adequacy")])
@pytest.mark.parametrize("sourced", [True, False])
def test_the_judge_of_the_page_judges(
    criteria: tuple[str, ...], sourced: bool, tmp_path: Path
) -> None:
    """The script, the campaign and the log of the page, one after the other."""
    script, log = blocks("python")[0], blocks("python")[-1]
    assert len([line for line in script.splitlines() if line.strip()]) <= 15
    source = "s" if sourced else None
    hits = [
        [
            *(slot(f"{h}.{n}", text="x" * (20 + 9 * h + n), source=source) for n in range(3)),
            slot(f"{h}.1", "bad_reference", text="x"),
        ]
        for h in range(4)
    ]
    document = write(plan(("mt", hits)), [question("mt", *criteria)], tmp_path / "hits", "jsonl")
    (tmp_path / "judge.py").write_text(script)
    (tmp_path / "results").mkdir()
    given = files(document, ".jsonl")["mt"]
    run([sys.executable, "judge.py", str(given), "results/judge.jsonl"], tmp_path)
    (tmp_path / "campaign.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "outputs.csv").write_text("sid,sys,output,src,ref\n0,x,a text,a source,another\n")
    built = build_file(tmp_path)
    rows = built.rows("controlled")
    assert len(rows) == 4 * 4 * max(len(criteria), 1)
    assert {r["fate"] for r in rows} == {"used", "control"}
    assert {r["judge"] for r in rows} == {"longer-is-better 1.0"}
    assert {r["criterion"] for r in rows} == {*(criteria or [None])}
    assert all(pair["reason"] is None for pair in built.rows("control_pairs"))
    (tmp_path / "log.py").write_text(log.replace("plan.parquet", "hits/plan.parquet"))
    said = run([sys.executable, "log.py"], tmp_path)
    assert "raw_mean" in said


def campaign_folder(folder: Path, *more: str) -> None:
    """The first campaign of the page, with lines of later examples in the place of its own."""
    document = yaml.safe_load(blocks("yaml")[0])
    for block in more:
        document |= yaml.safe_load(block)
    (folder / "campaign.yaml").write_text(yaml.safe_dump(document))
    (folder / "results").mkdir(exist_ok=True)
    rows = [
        f"s{segment},{system},{'word ' * (3 + (5 * segment + 7 * place) % 11)}{system},src,ref\n"
        for segment in range(8)
        for place, system in enumerate(("human", "w", "x", "y", "z"))
    ]
    (folder / "outputs.csv").write_text("sid,sys,output,src,ref\n" + "".join(rows))


def a_night(
    folder: Path, script: str, night: int, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], Built | None]:
    """annot hits, the judge of the page, annot build; no build once nothing is left to ask."""
    capsys.readouterr()
    assert main(["hits", str(folder), "--upload", "jsonl", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    if document["done"]:
        return document, None
    (folder / "judge.py").write_text(script)
    for task, given in files(document, ".jsonl").items():
        run([sys.executable, "judge.py", str(given), f"results/{task}-{night}.jsonl"], folder)
    return document, build_file(folder)


@pytest.mark.slow
def test_the_campaign_of_scores_runs_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign_folder(tmp_path)
    for night in range(2):
        document, built = a_night(tmp_path, blocks("python")[0], night, capsys)
        assert [task["task"] for task in document["tasks"]] == ["translations"]
        assert built is not None
        assert {row["fate"] for row in built.rows("lineage")} == {"used"}


@pytest.mark.slow
def test_the_campaigns_of_tournaments_and_adequacy_run_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other in one folder: all is connected, then all is labelled."""
    tournaments, adequacy = blocks("yaml")[1:3]
    script = blocks("python")[1]
    night = 0
    for block, asked in ((tournaments, "mt"), (adequacy, "good_enough")):
        campaign_folder(tmp_path, block)
        if built_before := night:
            build_file(tmp_path)
        for _ in range(9):
            document, built = a_night(tmp_path, script, night, capsys)
            night += 1
            if document["done"]:
                break
            assert [task["task"] for task in document["tasks"]] == [asked]
            assert built is not None
            assert {row["fate"] for row in built.rows("lineage")} == {"used"}
            ranks = built.rows("segment_ranks")
        assert document["done"]
        assert night - built_before > 1
        assert document["unplanned"].keys() == {asked}
    assert len(ranks) == 8 * 5
    assert {row["adequacy_source"] for row in ranks} >= {"asked", "reference"}
    assert None not in {row["adequate"] for row in ranks}


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("sourced", [True, False])
def test_the_judge_of_the_page_chooses(sourced: bool, tmp_path: Path) -> None:
    script = blocks("python")[1]
    assert len([line for line in script.splitlines() if line.strip()]) <= 16
    more = {"source": "s"} if sourced else {}
    pairs = [("short", "long " * 10), ("long " * 10, "short"), ("same", "same")]
    compared = [[slot(f"{n}a", item_b=f"{n}b", text=a, text_b=b, **more)
                 for n, (a, b) in enumerate(pairs)]]  # fmt: skip
    labelled = [[slot("a", text="long " * 10, **more)], [slot("b", text="", **more)]]
    table = plan(("adequate", labelled), ("which", compared))
    questions = [Question("which", ask="compare"),
                 Question("adequate", ask="label", labels=("yes", "no"))]  # fmt: skip
    document = write(table, questions, tmp_path / "hits", "jsonl")
    (tmp_path / "judge.py").write_text(script)
    (tmp_path / "results").mkdir()
    read: dict[str, list[tuple[str | None, ...]]] = {"which": [], "adequate": []}
    for task, given in files(document, ".jsonl").items():
        path = tmp_path / "results" / f"{task}.jsonl"
        run([sys.executable, "judge.py", str(given), str(path)], tmp_path)
        chunks = READERS["hits"](Opening(path, path.name)).chunks
        for chunk in chunks:
            assert chunk.problem.null_count == len(chunk)
            names = ("item_a", "preference", "item", "label")
            columns = (chunk.columns[name].to_pylist() for name in names)
            read[task] += zip(*columns, strict=True)
    assert read["which"] == [("0a", "b", None, None), ("1a", "a", None, None),
                             ("2a", "tie", None, None)]  # fmt: skip
    assert sorted(read["adequate"], key=str) == [(None, None, "a", "yes"), (None, None, "b", "no")]


def test_files_and_limits_are_those_of_the_code() -> None:
    for platform in (mturk_file.MTURK, label_studio_file.LABEL_STUDIO, jsonl_file.JSON_LINES):
        names = ", ".join(f"`{name.format('TASK')}`" for name in platform.files)
        assert f"| `{platform.name}` | {names} |" in TEXT
    assert len(re.findall(r"^\| `\w+` \| `hits-TASK", TEXT, re.MULTILINE)) == len(PLATFORMS)
    assert f"{mturk_file.LARGEST_QUESTION:,} bytes" in TEXT
    assert AT_ONCE == 10
    assert "Up to ten slots" in TEXT
    assert PAIRS_AT_ONCE == 3
    assert "up to three pairs" in TEXT


def test_every_field_is_in_the_table() -> None:
    (table,) = re.findall(r"\| field \|.*?\n\n", TEXT, re.DOTALL)
    for name in HITS_FIELDS:
        assert f"`{name}`" in table, name


def test_every_reason_is_one_that_the_code_gives() -> None:
    (table,) = re.findall(r"\| reason \|.*?\n\n", TEXT, re.DOTALL)
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("exports", "stages")
        for path in (ROOT / "annot_pipeline" / folder).rglob("*.py")
    )
    said = [r for line in table.splitlines()[2:] for r in re.findall("`([^`]+)`", line)]
    assert len(said) > 10
    for reason in said:
        filled_in = r"annot_hit|Answer\.score_6|\d+|:? ?\.\.\.|^(judge|scores?|preference|label) "
        filled_in += r"|(?<=one of )a, b, tie"
        words = max(filter(None, re.split(filled_in, reason)), key=len).strip()
        assert words in re.sub(r"\{[^{}]*\}", "", code), reason


@pytest.mark.slow
def test_the_sample_of_the_page_comes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The campaign of samples, with the lines that list its probabilities, halves an interval."""
    block = next(b for b in blocks("yaml") if "gpt-4o" in b)
    results = "  - {path: results/*.jsonl, format: hits}\n"
    assert results in block
    listing = next(b for b in blocks("text") if "path: selection_probabilities.csv" in b)
    draw = random.Random(4)
    rows, texts = ["ticket,judge,label"], ["ticket,text"]
    for n in range(4000):
        truth = draw.choice(["billing", "delivery", "other"])
        texts.append(f"t{n},about {truth}")
        is_hard = draw.random() < 0.2
        for judge in ("gpt-4o", "llama-3", *["ann"] * (n % 40 == 0)):
            is_right = judge == "ann" or draw.random() > (0.5 if is_hard else 0.02)
            rows.append(f"t{n},{judge},{truth if is_right else draw.choice(['billing', 'other'])}")
    for folder in ("exports", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "exports" / "a.csv").write_text("\n".join(rows))
    (tmp_path / "tickets.csv").write_text("\n".join(texts))
    (tmp_path / "campaign.yaml").write_text(block.replace(results, ""))
    build_file(tmp_path)
    capsys.readouterr()
    argv = ["hits", str(tmp_path), "--design", "validate", "--upload", "jsonl", "--json"]
    assert main(argv) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    lines = []
    for line in files(document, ".jsonl")["tickets"].read_text().splitlines():
        hit = json.loads(line)
        answers = [text.removeprefix("about ") for text in hit["texts"]]
        lines.append(json.dumps(hit | {"judge": "ann", "answers": answers}))
    (tmp_path / "results" / "first.jsonl").write_text("\n".join(lines))
    sample = Path(document["selection_probabilities"])
    (tmp_path / sample.name).write_bytes(sample.read_bytes())
    (tmp_path / "campaign.yaml").write_text(block.replace("tasks:\n", listing + "tasks:\n"))
    built = stage_file(tmp_path)
    widest = max(e["width"] for e in document["validation"]["tickets"]["estimands"])
    after = [
        row["ci_high"] - row["ci_low"]
        for row in built.rows("estimates")
        if row["method"] == "prediction_powered"
        and row["judge"] == document["validation"]["tickets"]["model"]
    ]
    assert len(after) == 3
    assert max(after) < 0.55 * widest
