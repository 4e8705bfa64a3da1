"""annot hits: from a build to files, and from results back to scores."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from tests.conftest import build_file, stage_file

NIGHTS = 3 if "SOAK" in os.environ else 2
CAMPAIGN: dict[str, Any] = {
    "campaign": "small",
    "sources": [
        {"path": "exports/*.csv", "format": "csv",
         "fields": {"item": "item", "judge": "judge", "score": "score"}},
    ],
    "items": [
        {"path": "items.csv", "format": "csv",
         "fields": {"item": "item", "text": "text", "reference": "reference"}},
    ],
    "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_items(tmp_path)


@pytest.fixture
def campaign(copy_campaign: Callable[..., Path], tmp_path: Path) -> Path:
    """A campaign whose 80 items have one score each, and its release."""
    return copy_campaign(build_80_items, tmp_path / "campaign")


def build_80_items(folder: Path) -> None:
    judge(write_items(folder), 80)
    build_file(folder)


def write_items(folder: Path) -> Path:
    (folder / "exports").mkdir(parents=True)
    with (folder / "items.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["item", "text", "reference"])
        out.writerows(
            [f"i{n:02}", f"=1+{n} a text of some words, number {n}", f"reference {n}"]
            for n in range(80)
        )
    write(folder, CAMPAIGN)
    return folder


def write(folder: Path, document: dict[str, Any]) -> None:
    (folder / "campaign.yaml").write_text(json.dumps(document))


def judge(folder: Path, items: int, name: str = "a.csv") -> None:
    rows = "".join(f"i{n:02},j{n % 3},{(n * 37) % 101}\n" for n in range(items))
    (folder / "exports" / name).write_text("item,judge,score\n" + rows)


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    status = main([str(a) for a in argv])
    out = capsys.readouterr()
    return status, out.out, out.err


def hits(capsys: pytest.CaptureFixture[str], folder: Path, *more: object) -> dict[str, Any]:
    status, out, err = run(capsys, "hits", folder, "--json", *more)
    assert status == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def plan_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(document["plan"]).to_pylist()
    return rows


def test_the_first_round_needs_no_export_and_covers_every_item(folder, capsys):
    actual = hits(capsys, folder)
    assert (actual["hits"], actual["slots"]) == (16, 80)
    plan = plan_of(actual)
    assert sorted(row["item"] for row in plan) == [f"i{n:02}" for n in range(80)]
    assert {row["role"] for row in plan} == {"cover"}
    assert {row["n_judgments"] for row in plan} == {0}


@pytest.mark.slow
def test_after_a_build_the_batch_is_the_asset(campaign, capsys):
    folder = campaign
    actual = hits(capsys, folder)
    assert plan_of(actual) == stage_file(folder).rows("next_hits")
    assert Path(actual["folder"]).parent == folder / "hits"
    first = {p.name: p.read_bytes() for p in Path(actual["folder"]).iterdir()}
    again = hits(capsys, folder)
    assert again == actual
    assert {p.name: p.read_bytes() for p in Path(again["folder"]).iterdir()} == first
    other = hits(capsys, folder, "--set", "seed=18")
    assert other["folder"] != actual["folder"]


def test_settings_of_the_plan_need_no_new_build(campaign, capsys):
    actual = hits(capsys, campaign, "--set", "easl.hits=3", "--set", "easl.random_share=1")
    assert actual["hits"] == 3
    assert {row["role"] for row in plan_of(actual)} == {"random"}
    controlled = hits(
        capsys, campaign, "--design", "controlled", "--upload", "jsonl",
        "--set", "controlled_hits.hits=2",
    )  # fmt: skip
    assert (controlled["hits"], controlled["slots"], controlled["format"]) == (2, 200, "jsonl")


@pytest.mark.parametrize(
    ("before", "argv", "title", "what"),
    [
        ("nothing", (), "nothing is built yet", "annot build, then annot hits"),
        ("arrived", (), "exports changed since the last build", "has arrived: exports/b.csv"),
        ("built", ("--set", "quality.alpha=0.1"), "the last build was another one",
         "control_judges was made with other settings"),
        ("built", ("--task", "smal"), "an unknown task", "small"),
        ("built", ("--set", "easl.hit_size=90"), "no HIT can be planned (easl)",
         "it has 80 items, and a HIT shows 90 (easl.hit_size)"),
        ("built", ("-o", "exports"), "the next build would read it as an export",
         "exports/*.csv matches"),
        ("built", ("--set", "controlled_hits.groups=6"), "campaign.yaml",
         "pairs 40 to 60 apart are impossible with 6 groups: the number of groups must be a "
         "multiple of 10"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(before, argv, title, what, campaign, capsys, monkeypatch):
    folder = campaign
    monkeypatch.chdir(folder)
    if before == "nothing":
        shutil.rmtree(folder / "store")
        shutil.rmtree(folder / "gold")
    if before == "arrived":
        judge(folder, 3, "b.csv")
    status, out, err = run(capsys, "hits", folder, *argv)
    assert status in (1, 2)
    assert out == ""
    assert title in err
    assert what in err
    assert not (folder / "hits").exists()


@pytest.mark.slow
def test_that_items_have_no_text_is_said_once(tmp_path, capsys):
    """By a plan of scores, which knows the systems, and by a batch of labels."""
    folder = tmp_path / "scores"
    (folder / "exports").mkdir(parents=True)
    write(folder, {name: value for name, value in CAMPAIGN.items() if name != "items"})
    judge(folder, 80)
    build_file(folder)
    labels = tmp_path / "labels"
    (labels / "exports").mkdir(parents=True)
    fields = {"item": "item", "judge": "judge", "label": "label"}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    write(labels, {"campaign": "small", "sources": sources})
    rows = "".join(f"i{n},j{j},{'ab'[n % 2]}\n" for n in range(9) for j in range(1 + n % 2))
    (labels / "exports" / "a.csv").write_text("item,judge,label\n" + rows)
    build_file(labels)
    for campaign, says in (
        (folder, "small: no item has a text: judges see its name"),
        (labels, "show the name of the item, which has no text"),
    ):
        batch = hits(capsys, campaign)
        notes = [what for what in [*batch["notes"], *batch["warnings"]] if "map text under" in what]
        assert len(notes) == 1
        assert says in notes[0]


def test_of_pairwise_tasks_the_error_names_the_design(folder, capsys):
    rows = ["segment,a,b,judge,winner"]
    rows += [f"s{n},x,y,{judge},{'xy'[n % 2]}" for n in range(6) for judge in "jk"]
    (folder / "exports" / "a.csv").write_text("\n".join(rows))
    fields = {
        "segment": "segment", "system_a": "a", "system_b": "b", "judge": "judge",
        "preference": {"column": "winner", "map": {"x": "a", "y": "b"}},
    }  # fmt: skip
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    write(folder, CAMPAIGN | {"sources": [source], "tasks": [], "items": []})
    build_file(folder)
    status, _, err = run(capsys, "hits", folder)
    assert status == 2
    assert "HITs of pairwise tasks: --set next_hits.design=tournament" in err
    assert run(capsys, "hits", folder, "--set", "next_hits.design=tournament")[0] == 0


def test_another_batch_is_not_written_over(campaign, capsys):
    hits(capsys, campaign, "-o", campaign / "mine")
    status, _, err = run(capsys, "hits", campaign, "-o", campaign / "mine", "--set", "seed=18")
    assert status == 2
    assert "a batch would be written over" in err
    hits(capsys, campaign, "-o", campaign / "mine", "--set", "seed=18", "--force")


def test_force_leaves_no_file_of_the_batch_before(campaign, capsys):
    for upload in ("mturk", "jsonl"):
        hits(capsys, campaign, "-o", campaign / "mine", "--upload", upload)
    assert len(list((campaign / "mine").iterdir())) == 4, "one plan, two platforms"
    hits(capsys, campaign, "-o", campaign / "mine", "--set", "seed=18", "--force")
    names = sorted(path.name for path in (campaign / "mine").iterdir())
    assert names == ["hits-small.csv", "layout-small.html", "plan.parquet"]


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("gold/v0001", "-o: {campaign}/gold/v0001 is in gold"),
        ("store", "-o: {campaign}/store is in store"),
        ("items.csv", "{campaign}/items.csv: is a file"),
    ],
)
def test_places_that_a_batch_does_not_belong_in(output, says, campaign, capsys):
    before = sorted(path.name for path in (campaign / "gold" / "v0001").iterdir())
    status, _, err = run(capsys, "hits", campaign, "-o", campaign / output)
    assert status == 2
    assert says.format(campaign=campaign) in err
    assert sorted(path.name for path in (campaign / "gold" / "v0001").iterdir()) == before


def test_results_that_are_gone_begin_no_first_round_again(campaign, capsys):
    (campaign / "exports" / "a.csv").unlink()
    status, _, err = run(capsys, "hits", campaign)
    assert status != 0
    assert "exports/*.csv" in err or "exports/a.csv" in err
    assert not (campaign / "hits").exists()


def test_a_build_before_the_first_export_does_not_end_the_first_round(folder, capsys):
    first = hits(capsys, folder)
    status, _, err = run(capsys, "build", folder)
    assert status != 0
    assert "an export is missing" in err
    assert hits(capsys, folder) == first
    judge(folder, 80)
    status, _, err = run(capsys, "hits", folder)
    assert status != 0, "there are exports now, so a build goes first"
    assert "nothing is built yet" in err


@pytest.mark.slow
def test_the_loop_closes(folder, capsys):
    """Night after night: what is asked, is judged, is campaign, and decides what is asked next."""
    write(folder, CAMPAIGN | {"sources": [{"path": "results/*.jsonl", "format": "hits"}]})
    (folder / "results").mkdir()
    asked: list[set[str]] = []
    for night in range(NIGHTS):
        actual = hits(capsys, folder, "--upload", "jsonl")
        plan = plan_of(actual)
        asked.append({row["hit"] for row in plan})
        [batch] = [f["path"] for task in actual["tasks"] for f in task["files"]]
        lines = []
        for line in Path(batch).read_text().splitlines():
            hit = json.loads(line)
            scores = [int(text.split("number ")[1]) for text in hit["texts"]]
            lines.append(json.dumps(hit | {"judge": f"j{night}", "scores": scores}))
        (folder / "results" / f"night-{night}.jsonl").write_text("\n".join(lines) + "\n")
        campaign = build_file(folder)
    scores = {row["item"]: row for row in campaign.rows("scores")}
    assert len(scores) == 80
    for item, row in scores.items():
        assert row["easl_score"] == pytest.approx(int(item[1:]) / 100)
        assert row["n_comparisons"] == 4 * row["n_judgments"]
    assert sum(row["n_judgments"] for row in scores.values()) == 80 * NIGHTS
    assert len(set.union(*asked)) == 16 * NIGHTS
    assert {row["fate"] for row in campaign.rows("lineage")} == {"used"}
