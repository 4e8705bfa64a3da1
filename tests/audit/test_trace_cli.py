"""annot trace: what it prints, its JSON, its exit statuses."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from math import log
from pathlib import Path

import pytest

from annot_pipeline.cli import main
from annot_pipeline.cli.trace import REST, record_place
from annot_pipeline.contracts import SCHEMA_VERSION
from annot_pipeline.storage.releases import Release
from tests.full_campaign import LABELS, TASK

ITEM = "item #0: 'x' | `y` *z*"
HIDDEN = "item #2: 'x' | `y` *z*"
"""Its text turns what follows it right to left."""


@pytest.fixture
def run(full_release: Release, capsys: pytest.CaptureFixture[str]):
    campaign = full_release.folder.parent.parent

    def command(*arguments: str, campaign: Path = campaign) -> tuple[int, str, str]:
        status = main(["trace", str(campaign), *arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return command


def test_a_label_with_a_decision(run):
    status, out, _ = run(ITEM)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == f"item {ITEM}: full, release v0001"
    assert lines[2] == f"task {TASK} (categorical)"
    words = " ".join(out.split())
    assert f"label {LABELS[2]}: " in words
    assert "adjudicated yes" in words
    assert 'adjudicated at 2024-06-01T00:00:00+00:00, adjudication reason said: "so"' in words
    assert f"model label {LABELS[0]}, model probability " in words
    assert "judgments (used 4, adjudication 1, measured 2); evidence in nats, for " in words
    assert any(line.split()[:2] == ["=gpt<LLM>|4", "model"] for line in lines)
    assert "row 33 (line 34)" in out
    assert "  evidence of the prevalence: " in out
    together, rest, published = (
        float(re.search(rf"^  {name}: (\S+)$", out, re.MULTILINE)[1])
        for name in ("evidence together", REST, "log odds as published")
    )
    (trace,) = json.loads(run(ITEM, "--json")[1])["traces"]
    *_, second, best = sorted(row["probability"] for row in trace["distribution"])
    assert together + rest == pytest.approx(published, abs=2e-3)
    assert published == pytest.approx(log(best / second), abs=2e-3)
    assert "\nwithout one judge\n" in out
    assert re.search(r"^made by \d+ stages: -v shows versions", out, re.MULTILINE)
    assert "infer_labels" not in out
    assert "infer_labels" in run(ITEM, "-v")[1]
    assert lines[-1].startswith("next: annot trace ")


def test_text_of_exports_cannot_move_the_terminal(run):
    status, out, _ = run(HIDDEN)
    assert status == 0
    assert "\u202e" not in out
    assert "right to left" in out
    assert all(line.isprintable() for line in out.splitlines())
    _, out, _ = run("item #1: 'x' | `y` *z*")
    assert max(map(len, out.splitlines())) < 1_100  # its text is 10 kB


def test_scores_say_which_judges_do_not_count(run, monkeypatch):
    status, out, _ = run("s3/<i>A<%2Fi>", "--task", "quality")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert "score 50.5: " in out
    failed = [line for line in lines if "judge_failed" in line]
    assert len(failed) == 2
    at = out.index("judges who do not count")
    assert f"{failed[0][0]}  failed   paired_t " in out[at:]
    monkeypatch.setattr("annot_pipeline.cli.render.terminal_columns", lambda: 80)
    _, narrow, _ = run("s3/<i>A<%2Fi>", "--task", "quality")
    assert len(re.findall(r"^    reason: judge control: failed ", narrow, re.MULTILINE)) == 2


def test_comparisons(run):
    status, out, _ = run("s1/y")
    assert status == 0
    assert "worse than s1/x" in out
    assert "a tie with s1/z" in out
    assert "ranks within segments" in out


def test_a_comparison_says_its_outcome(run):
    for pair in ("s1/x | s1/y", "s1/y | s1/x"):
        _, out, _ = run(pair)
        assert re.search(r"^\d+ comparisons: .*is better \d+", out, re.MULTILINE)
        assert "\n  Not worked out" in out


def test_the_next_command_can_be_typed(run):
    _, out, _ = run(ITEM)
    assert shlex.split(out.splitlines()[-1])[4] == ITEM


def test_json_is_one_document(run):
    status, out, _ = run(ITEM, "--json", "--release", "v0001")
    document = json.loads(out, parse_constant=pytest.fail)
    assert status == 0
    assert {k: document[k] for k in ("campaign", "release", "item")} == {
        "campaign": "full", "release": "v0001", "item": ITEM,
    }  # fmt: skip
    (actual,) = document["traces"]
    assert actual["task"] == TASK
    fates = [row["fate"] for row in actual["judgments"]]
    assert fates == ["used"] * 4 + ["adjudication"] + ["measured"] * 2
    assert [row["kind"] for row in actual["judgments"]] == ["human"] * 5 + ["model"] * 2


def test_unknown_names(run):
    status, out, err = run("item #9")
    assert (status, out) == (1, "")
    assert "no judgment about item 'item #9'" in err
    assert "the nearest are " in err
    assert json.dumps(ITEM) in err
    assert run(ITEM, "--task", "none")[0] == 1
    status, _, err = run(ITEM, "--release", "v0007")
    assert status == 1
    assert "no release v0007" in err
    assert run(ITEM, campaign=Path("nowhere"))[0] == 2
    status, out, _ = run("item #9", "--json")
    assert status == 1
    assert json.loads(out)["exit_status"] == 1


def test_a_newer_release_is_refused(run, full_release, tmp_path):
    gold = tmp_path / "gold"
    shutil.copytree(full_release.folder, gold / "v0001")
    path = gold / "v0001" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"schema_version": SCHEMA_VERSION + 1}))
    (gold / "latest.json").write_text(json.dumps({"version": "v0001"}))
    status, _, err = run(ITEM, "--set", f"gold={gold}")
    assert status == 1
    assert "upgrade" in err or "newer" in err or "latest.json" in err


@pytest.mark.slow
def test_many_tasks_get_a_line_each(build_campaign, capsys, tmp_path):
    fields = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
    text = "task,item,judge,label\n" + "".join(
        f"t{task},i,w{judge},{'no' if judge == task else 'yes'}\n"
        for task in range(4)
        for judge in range(3)
    )
    source = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    build_campaign({"a.csv": text}, sources=source)
    assert main(["trace", str(tmp_path / "campaign"), "i"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  in 4 tasks; --task NAME shows one of them in full" in lines
    assert [line.split()[0] for line in lines[3:7]] == ["t0", "t1", "t2", "t3"]
    assert all("  3" in line for line in lines[3:7])


def test_places_do_not_look_like_line_numbers():
    """file:333 is how editors name a line; this is row 333, the header not counted."""
    row = {"source_file": "a.csv", "source_row": 333, "cell": None}
    assert record_place(row) == "a.csv row 333"
    assert record_place(row | {"line": 334}) == "a.csv row 333 (line 334)"
    assert record_place(row | {"line": 334, "cell": "i=1"}) == "a.csv row 333 (line 334), i=1"


LINES = 'item,judge,label\ni1,"A\nB",x\ni2,c,x\ni1,c,x\n\ni1,d,\n'


@pytest.mark.slow
def test_lines_are_those_of_the_archived_bytes(build_campaign, capsys, tmp_path):
    """Cells over several lines, blank lines; of an older release too; none without its bytes."""
    settings = {"gates": {"rejected_share": {"error": 1}}, "privacy": {"pseudonymize": False}}
    build_campaign({"a.csv": LINES}, **settings)
    build_campaign({"a.csv": LINES.replace("A\nB", "A B")}, **settings)
    campaign = tmp_path / "campaign"

    def traced(*options: str) -> tuple[list[tuple[int, int | None]], str]:
        assert main(["trace", str(campaign), "i1", "--json", *options]) == 0
        (actual,) = json.loads(capsys.readouterr().out)["traces"]
        assert main(["trace", str(campaign), "i1", *options]) == 0
        places = [source for row in actual["judgments"] for source in row["places"]]
        rows = [*places, *actual["other_records"]]
        numbers = sorted((row["source_row"], row["line"]) for row in rows)
        return numbers, capsys.readouterr().out

    numbers, out = traced("--release", "v0001")
    assert numbers == [(1, 2), (3, 5), (4, 7)]
    assert "row 3 (line 5)" in out
    assert "exports/a.csv row 4 (line 7)" in out
    assert traced()[0] == [(1, 2), (3, 4), (4, 6)]
    shutil.rmtree(campaign / "store" / "archive")
    numbers, out = traced()
    assert numbers == [(1, None), (3, None), (4, None)]
    assert "(line" not in out


@pytest.mark.slow
def test_two_sources_that_read_an_export_in_two_ways_have_no_lines(
    build_campaign, capsys, tmp_path
):
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields}
    other = source | {"options": {"quote": ""}, "fields": fields | {"task": {"value": "b"}}}
    build_campaign({"a.csv": "item,judge,label\ni1,a,x\n"}, sources=[source, other])
    assert main(["trace", str(tmp_path / "campaign"), "i1", "--json", "--task", "b"]) == 0
    (actual,) = json.loads(capsys.readouterr().out)["traces"]
    assert [location["line"] for row in actual["judgments"] for location in row["places"]] == [None]
