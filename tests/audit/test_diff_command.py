"""annot diff: documents, files, exit statuses, and what it says where something is missing."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from annot_pipeline.audit.diff.cells import CAUSES, COMPARED, DIFF
from annot_pipeline.audit.diff.sides import JUDGMENTS
from annot_pipeline.cli import main
from annot_pipeline.cli.arguments import TABLES
from annot_pipeline.cli.diff import why
from annot_pipeline.storage.releases import Releases
from tests.conftest import build_file

HEAD = "item,judge,label\n"
HOSTILE = "\x1b[31m<script>"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two releases: one more export, a correction, another smoothing."""
    folder = tmp_path_factory.mktemp("built") / "campaign"
    (folder / "exports").mkdir(parents=True)
    (folder / "campaign.yaml").write_text(
        "campaign: small\nsources:\n"
        "- {path: exports/*.csv, format: csv, fields: {item: item, judge: judge, label: label}}\n"
    )
    places = [(i, j) for i in range(8) for j in range(4)]
    wrong = [j == 3 and i % 4 == 0 for i, j in places]
    lines = zip(places, wrong, strict=True)
    first = "".join(f"i{i},w{j},{'xy'[(i + is_wrong) % 2]}\n" for (i, j), is_wrong in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        (folder / "exports" / "a.csv").write_text(HEAD + first)
        build_file(folder)
        (folder / "exports" / "a.csv").write_text(HEAD + first.replace("i5,w0,y", "i5,w0,x"))
        more = "".join(f"{HOSTILE},w{j},x\n" for j in range(4))
        (folder / "exports" / "b.csv").write_text(HEAD + more)
        build_file(folder, "dawid_skene.smoothing=0.3")
    return folder


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_text_says_what_changed_and_why(capsys, campaign):
    status, out, err = run(capsys, "diff", campaign, "v0001", "latest")
    assert status == 0
    for line in (
        "small: v0001 to v0002",
        "exports added: 1 (exports/b.csv)",
        "exports changed: 1 (exports/a.csv)",
        "judgments: new 4, corrected 1",
        "  dawid_skene.smoothing  0.01  0.3",
    ):
        assert line in out.splitlines()
    lines = [line.split() for line in out.splitlines()]
    assert ["labels", "label", "0", "1", "0", "new", "judgments", "1"] in lines
    [corrected] = [line for line in out.splitlines() if line.startswith("  corrected  small  i5 ")]
    assert corrected.endswith("exports/a.csv row 21 (line 22)  exports/a.csv row 21 (line 22)")
    assert [line[:2] for line in lines].count(["new", "small"]) == 4
    assert "\x1b" not in out
    assert "recomputing v0001 with new judgments of v0002, verdicts held" in err


@pytest.mark.slow
def test_json_is_one_document(capsys, campaign):
    status, out, _ = run(capsys, "diff", campaign, "v0001", "v0002", "--json", "--rows", "3")
    document = json.loads(out)
    assert status == 0
    assert {"from", "to", "inputs", "summary", "rows", "recomputed", "cells"} <= document.keys()
    assert set(document["inputs"]) == {
        "exports", "judgments", "verdicts", "model_versions", "settings", "code"
    }  # fmt: skip
    assert len(document["rows"]) == 4 < document["cells"]
    assert (
        sum(r[k] for r in document["summary"] for k in ("changed", "added", "removed"))
        == (document["cells"])
    )
    for row in document["rows"]:
        assert set(row["causes"]) <= set(CAUSES)
    (probability,) = [r for r in document["summary"] if r["column"] == "dawid_skene_probability"]
    assert probability["causes"]["settings"] == probability["changed"] + probability["added"]


@pytest.mark.slow
def test_parquet_holds_every_cell(capsys, campaign, tmp_path):
    _, out, _ = run(capsys, "diff", campaign, "v0001", "v0002", "--json", "-o", tmp_path / "d")
    document = json.loads(out)
    assert document["path"] == str(tmp_path / "d" / "diff-v0001-v0002.parquet")
    table = pq.read_table(document["path"])
    assert table.schema.equals(DIFF)
    assert table.num_rows == document["cells"]
    assert not any(path.name.startswith(".tmp") for path in (tmp_path / "d").iterdir())
    judgments = pq.read_table(tmp_path / "d" / "judgments-v0001-v0002.parquet")
    assert judgments.schema.equals(JUDGMENTS)
    assert judgments.num_rows == document["judgments_changed"] == 5
    assert document["judgments_path"] == str(tmp_path / "d" / "judgments-v0001-v0002.parquet")
    named = tmp_path / "named.parquet"
    assert run(capsys, "diff", campaign, "v0001", "v0002", "-o", named)[0] == 0
    assert named.read_bytes() == (tmp_path / "d" / "diff-v0001-v0002.parquet").read_bytes()


def test_one_table_alone(capsys, campaign):
    _, out, _ = run(capsys, "diff", campaign, "v0001", "v0002", "--json", "--table", "scores")
    assert json.loads(out)["cells"] == 0
    assert tuple(COMPARED) == TABLES


def test_a_release_against_itself(capsys, campaign):
    status, out, _ = run(capsys, "diff", campaign, "v0002", "v0002")
    assert status == 0
    assert "no label, probability, score, rank or verdict changed" in out


@pytest.mark.parametrize("output", ["gold/d.parquet", "gold"])
def test_nothing_is_written_into_gold(capsys, campaign, output):
    before = sorted((campaign / "gold").rglob("*"))
    status, _, err = run(capsys, "diff", campaign, "v0001", "v0002", "-o", campaign / output)
    assert status == 2
    assert "is in the folder of releases" in err
    assert sorted((campaign / "gold").rglob("*")) == before


@pytest.mark.parametrize(
    ("output", "said"),
    [("d.csv", "allowed: .parquet, a folder"), ("new/deep/d.parquet", "there is no folder")],
)
def test_only_parquet_is_written_and_into_a_folder_that_is_there(capsys, campaign, output, said):
    status, _, err = run(capsys, "diff", campaign, "v0001", "v0002", "-o", campaign / output)
    assert status == 2
    assert said in err
    assert not (campaign / "new").exists()
    assert not (campaign / "d.csv").exists()


@pytest.mark.parametrize("table", ["labels", "lineage"])
def test_of_a_damaged_release_causes_are_not_the_matter(capsys, campaign, table):
    (campaign / "gold" / "v0001" / f"{table}.parquet").write_bytes(b"PAR1")
    status, _, err = run(capsys, "diff", campaign, "v0001", "v0002")
    assert status == 1
    assert "not the bytes that were published" in err
    assert "annot verify" in err
    assert "--no-causes" not in err


def test_without_causes_none_are_announced(capsys, campaign):
    _, out, _ = run(capsys, "diff", campaign, "v0001", "v0002", "--no-causes")
    assert "cause" not in out


def test_parts_of_a_change_that_are_nothing_are_not_shown():
    row = {"delta": 0.25, "causes": ["new judgments", "settings", "code"]}
    deltas = {"new judgments": 0.2, "settings": 0.05}
    assert why(row | {"deltas": deltas | {"code": 1e-15}}) == deltas
    alone = {"new judgments": 0.25, "settings": 0.0, "code": -1e-9}
    assert why(row | {"deltas": alone}) == ["new judgments"]
    assert why({"causes": ["verdicts"]}) == ["verdicts"]


def test_the_first_release_has_none_to_be_compared_with(capsys, campaign, monkeypatch):
    first = SimpleNamespace(version="v0001", manifest={"parent": None})
    monkeypatch.setattr(Releases, "get", lambda *_: first)
    status, _, errors = run(capsys, "diff", campaign)
    assert status == 1
    assert "v0001: it is the first release" in errors


def test_a_release_that_is_not_there(capsys, campaign):
    status, _, err = run(capsys, "diff", campaign, "v0001", "v0007")
    assert status == 1
    assert "no release v0007" in err


@pytest.mark.parametrize(
    ("lost", "said"),
    [("archive", "exports/a.csv"), ("settings", "its settings are not in")],
)
def test_what_is_missing_is_named_and_the_rest_can_be_said(capsys, campaign, lost, said):
    shutil.rmtree(campaign / "store" / lost)
    status, out, err = run(capsys, "diff", campaign, "v0001", "v0002")
    assert (status, out) == (1, "")
    assert "causes cannot be recomputed" in err
    assert said in err
    assert "v0001 v0002 --no-causes" in err
    status, out, _ = run(capsys, "diff", campaign, "v0001", "v0002", "--no-causes", "--json")
    document = json.loads(out)
    assert status == 0
    assert document["cells"] > 10
    assert document["causes_found"] is False
    assert not any("causes" in row for row in document["rows"])
    assert [e["name"] for e in document["inputs"]["exports"]["added"]] == ["exports/b.csv"]


def test_settings_that_were_edited_are_not_trusted(capsys, campaign):
    for path in (campaign / "store" / "settings").iterdir():
        path.write_text(path.read_text().replace('"smoothing": 0.3', '"smoothing": 0.4'))
    status, _, err = run(capsys, "diff", campaign, "v0001", "v0002")
    assert status == 1
    assert "are not those of then" in err


@pytest.mark.slow
def test_the_real_store_and_gold_stay_as_they_are(capsys, campaign):
    """Results may be kept in the store for the next time, but no run of it is touched."""
    watched = [campaign / "gold", campaign / "store" / "runs", campaign / "store" / "archive"]

    def state() -> dict:
        return {p: p.read_bytes() for w in watched for p in w.rglob("*") if p.is_file()}

    before, last = state(), (campaign / "store" / "last_build.json").read_bytes()
    assert run(capsys, "diff", campaign, "v0001", "v0002")[0] == 0
    assert state() == before
    assert (campaign / "store" / "last_build.json").read_bytes() == last
