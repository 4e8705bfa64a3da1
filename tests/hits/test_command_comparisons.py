"""annot hits for comparisons and adequacy: from item tables to ranks and labels, and back."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from tests.conftest import build_file

N_SEGMENTS = 12
SYSTEMS = "abcdef"
CAMPAIGN: dict[str, Any] = {
    "campaign": "mt",
    "sources": [{"path": "results/*.jsonl", "format": "hits"}],
    "items": [
        {"path": "outputs.csv", "format": "csv",
         "fields": {"segment": "sid", "system": "sys", "text": "output", "source": "src"}},
    ],
    "tasks": [
        {"name": "good", "kind": "categorical", "labels": ["yes", "no"]},
        {"name": "*", "kind": "pairwise", "references": ["a"],
         "adequacy": {"task": "good", "adequate": ["yes"]}},
    ],
    "next_hits": {"design": "tournament"},
    "quality": {"test": "none"},
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    with (tmp_path / "outputs.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["sid", "sys", "output", "src"])
        for segment in range(N_SEGMENTS):
            for place, system in enumerate(SYSTEMS):
                worth = 10 if system == "a" else (7 * segment + 5 * place) % 9
                text = f"Output worth {worth}" if place % 2 else f"OUTPUT WORTH {worth}"
                out.writerow([f"s{segment}", system, text, f"source {segment}"])
    (tmp_path / "campaign.yaml").write_text(json.dumps(CAMPAIGN))
    return tmp_path


def worth(text: str) -> int:
    return int(text.split()[-1])


def hits(capsys: pytest.CaptureFixture[str], folder: Path, *more: object) -> dict[str, Any]:
    status = main([str(a) for a in ("hits", folder, "--json", "--upload", "jsonl", *more)])
    out = capsys.readouterr()
    assert status == 0, out.err
    document: dict[str, Any] = json.loads(out.out)
    return document


def judge(folder: Path, document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Answers all HITs of a batch as someone who sees what an output is worth."""
    lines = []
    plan: list[dict[str, Any]] = pq.read_table(document["plan"]).to_pylist()
    for file in (file for task in document["tasks"] for file in task["files"]):
        for line in Path(file["path"]).read_text().splitlines():
            hit = json.loads(line)
            answers = []
            for shown in hit["texts"]:
                if isinstance(shown, str):
                    answers.append("yes" if worth(shown) > 6 else "no")
                else:
                    first, second = map(worth, shown)
                    answers.append("a" if first > second else "b" if first < second else "tie")
            lines.append(json.dumps(hit | {"judge": "j", "answers": answers}))
    (folder / "results" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return plan


@pytest.mark.slow
def test_the_loop_closes(folder, capsys):
    """Tournaments until all is connected, then adequacy until all is labelled."""
    first = hits(capsys, folder)
    assert (first["design"], first["hits"]) == ("tournament", N_SEGMENTS)
    plan = judge(folder, first, "night-0")
    asked = {frozenset((row["item"], row["item_b"])) for row in plan}
    built = build_file(folder)
    assert {row["fate"] for row in built.rows("lineage")} == {"used"}
    ranks = built.rows("segment_ranks")
    assert len(ranks) == N_SEGMENTS * len(SYSTEMS)
    for segment in range(N_SEGMENTS):
        assert len({r["part"] for r in ranks if r["segment"] == f"s{segment}"}) == 1
    again = hits(capsys, folder)
    more = judge(folder, again, "night-1")
    assert more == built.rows("next_hits"), "the batch is the asset"
    assert {row["role"] for row in more} == {"top_pair"}
    assert not {frozenset((row["item"], row["item_b"])) for row in more} & asked
    built = build_file(folder)
    assert built.rows("next_hits") == []
    (why,) = built.metrics("plan_hits")["unplanned"].values()
    assert why == f"all {N_SEGMENTS} segments are connected: nothing is left to ask"
    folders = sorted((folder / "hits").iterdir())
    done = hits(capsys, folder)
    assert (done["done"], done["hits"], done["unplanned"]) == (True, 0, {"mt": why})
    assert main(["hits", str(folder), "-o", str(folder / "mine")]) == 0
    said = capsys.readouterr().out
    assert why in said
    assert sorted((folder / "hits").iterdir()) == folders
    assert not (folder / "mine").exists()

    labels: set[str] = set()
    for night in range(7):
        build_file(folder, "next_hits.design=adequacy")
        document = hits(capsys, folder, "--design", "adequacy")
        if document["done"]:
            break
        assert [(t["task"], t["ask"]) for t in document["tasks"]] == [("good", "label")]
        items = {row["item"] for row in judge(folder, document, f"label-{night}")}
        assert not items & labels
        assert not any(item.endswith("/a") for item in items), "references are adequate"
        labels |= items
    assert document["unplanned"]["good"].startswith("all 72 outputs compared have a label")
    built = build_file(folder)
    actual = built.rows("segment_ranks")
    assert {row["adequacy_source"] for row in actual} == {"asked", "reference", "spread"}
    assert {row["item"] for row in actual if row["adequacy_source"] == "asked"} == labels
    assert len(labels) < len(actual) - N_SEGMENTS, "less than all that are no references"


def test_the_same_batch_again(folder, capsys):
    first = hits(capsys, folder)
    files = {p.name: p.read_bytes() for p in Path(first["folder"]).iterdir()}
    assert hits(capsys, folder) == first
    assert {p.name: p.read_bytes() for p in Path(first["folder"]).iterdir()} == files


@pytest.mark.parametrize(
    ("argv", "tasks", "says"),
    [
        (["--design", "adequacy"], CAMPAIGN["tasks"],
         "task good: no output is compared yet; next_hits.design: tournament asks for comparisons"),
        (["--design", "adequacy"], [{"name": "*", "kind": "pairwise"}],
         "there is no task of adequacy with items"),
        ([], [{"name": "*", "kind": "scalar", "scale": [0, 1]}],
         "there is no pairwise or ranking task with items"),
        ([], [{"name": n, "kind": "pairwise"} for n in ("p", "q")],
         "items: 72 listed items are of no task, for several are declared under tasks\n"
         "    do:      map task in the item table"),
        (["--task", "p"], [{"name": n, "kind": "pairwise"} for n in ("p", "q")],
         "map task in the item table"),
        (["--task", "good"], CAMPAIGN["tasks"], "no pairwise or ranking task of the campaign"),
        (["--set", "next_hits.hit_size=0"], CAMPAIGN["tasks"], "next_hits.hit_size"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(argv, tasks, says, folder, capsys):
    (folder / "campaign.yaml").write_text(json.dumps(CAMPAIGN | {"tasks": tasks}))
    assert main(["hits", str(folder), *argv]) == 2
    assert says in capsys.readouterr().err
    assert not (folder / "hits").exists()
