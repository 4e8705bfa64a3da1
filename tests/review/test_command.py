"""`annot review`: the command, real batches."""

from __future__ import annotations

import csv
import io
import json
import os
import re

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.review import review
from tests.conftest import build_file
from tests.review.batches import CAREFUL, batch, work
from tests.test_cli import loaded_modules


def test_the_command(plain, capsys, tmp_path):
    assert main(["review", str(plain)]) == 0
    folder = plain / "review"
    out = capsys.readouterr()
    assert out.out.splitlines() == [
        f"{folder}/review.csv: 2 assignments, the most doubtful first",
        "  it names workers: not to be published",
        "uploads",
        f"  {'path':<{len(str(folder)) + 13}}  approve  reject  decide",
        f"  {folder}/upload-b.csv        1       1       0",
        "nothing was sent to MTurk",
        f"next: look at {folder}/review.csv, change Approve and Reject in upload-*.csv,",
        "      then upload it on the batch's Review Results page",
        "      (edit upload-*.csv as text, or import all columns as text: a spreadsheet may",
        "      take answers of workers for formulas; only review.csv is safe to open)",
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
    assert main(["review", str(plain), "--force", "--set", "ranking.alpha=0.2"]) == 0
    assert main(["review", str(plain), "--set", "quality.alpha=0.1"]) == 1


@pytest.mark.slow
def test_the_command_when_all_is_decided(make, capsys):
    rows = [work("careful", CAREFUL, "Approved"), ["h1"], [*work("x", CAREFUL), "x"]]
    folder = make({"b.csv": batch(*rows)})
    assert main(["review", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "        0       0       0               3\n" in out
    assert (
        "rows that do not fit the header, to fix or delete first: row 2 (line 3), row 3 (line 4)"
        in out
    )
    assert "row 1 is the one below it" in out, "who deletes line 2 deletes another row"
    assert "no assignment waits for a decision" in out


@pytest.mark.slow
def test_dagster_is_not_loaded(plain):
    assert "dagster" not in loaded_modules(["review", str(plain)])
    assert (plain / "review" / "review.csv").exists()


@pytest.mark.slow
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
    recommendations = [row["recommendation"] for row in rows]
    assert recommendations.count("reject") == 0, "ten pairs of one HIT prove nobody careless"
    assert recommendations.count("decide") == 2 + 5
    assert os.path.basename(rows[0]["export"]) == "Batch_1234_batch_results.csv"
