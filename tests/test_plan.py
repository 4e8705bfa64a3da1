"""annot plan: designs from a release, and from assumed variances."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from annot_pipeline import cli
from annot_pipeline.cli import main
from tests.conftest import build_file

ASSUMED = "judge_system=9,segment_system=25,residual=100"


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    status = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def planned(capsys, *arguments: object) -> dict:
    status, out, _ = run(capsys, "plan", *arguments, "--json")
    assert status == 0
    return json.loads(out)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Path:
    """Twelve judges score three systems on thirty segments; another task has one system."""
    folder = tmp_path_factory.mktemp("plan")
    rng = np.random.default_rng(2)
    lines = ["task,judge,system,segment,score"]
    for judge in range(12):
        level = rng.normal(0, 10)
        taste = rng.normal(0, 3, 3)
        for system in range(3):
            for segment in range(30):
                score = 50 + level + taste[system] + 4 * system + rng.normal(0, 8)
                lines.append(f"quality,j{judge},s{system},g{segment},{score:.3f}")
        lines.append(f"alone,j{judge},s0,g0,{50 + level:.3f}")
    write_scores(folder, lines)
    return folder


def write_scores(folder: Path, lines: list[str]) -> None:
    """Write scores, whose columns are named as the fields, and build them."""
    (folder / "scores.csv").write_text("\n".join(lines) + "\n")
    source = {
        "path": "scores.csv",
        "format": "csv",
        "fields": {name: name for name in lines[0].split(",")},
    }
    document = {
        "campaign": "plan",
        "sources": [source],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    }
    (folder / "campaign.yaml").write_text(json.dumps(document))
    build_file(folder)


@pytest.mark.slow
def test_a_release_says_what_its_design_tells_apart(campaign, capsys):
    [task] = planned(capsys, campaign, "--judges", "12", "--segments", "30", "--per-output", "12")[
        "tasks"
    ]
    assert (task["task"], task["judges"], task["systems"]) == ("quality", 12, 3)
    [design] = task["designs"]
    assert design["judgments"] == 12 * 30 * 3
    # the same design, from its own variances
    assert design["detectable_difference"] == pytest.approx(task["detectable_difference"], rel=0.25)
    assert design["detectable_after_holm"] > design["detectable_difference"]
    _, out, _ = run(capsys, "plan", campaign)
    assert "task quality: standard deviations in points: judge x system" in out
    assert "found in 80 of 100 evaluations\n" in out, "it holds for other judges, too"
    assert task["detectable_reason"] is None


def test_the_report_says_it_too(campaign):
    report = (campaign / "gold" / "v0001" / "report.html").read_text()
    assert "smallest difference detected in 80% of evaluations" in report
    heads = re.findall(r"<th [^>]*>([^<]*)</th>", report)
    assert max(map(len, heads)) < 50, "heads of several lines on a phone"


def test_assumed_variances_need_no_campaign(capsys):
    document = planned(capsys, "--assume", ASSUMED, "--judges", "9", "--segments", "50",
                       "--per-output", "2", "--price", "0.5", "--systems", "4")  # fmt: skip
    [design] = document["tasks"][0]["designs"]
    assert design["detectable_difference"] == pytest.approx(np.sqrt(5) * 2.62, rel=0.03)
    assert (design["judgments"], design["cost"]) == (400, 200)


def test_segments_that_find_a_difference(capsys):
    rows = planned(capsys, "--assume", ASSUMED, "--judges", "4,40", "--difference", "3")
    few, many = rows["tasks"][0]["enough"]
    assert few["segments"] is None, "what four judges make of a system is too much"
    assert many["detectable_difference"] <= 3
    fewer = planned(capsys, "--assume", ASSUMED, "--judges", "40", "--segments",
                    many["segments"] - 1)  # fmt: skip
    assert fewer["tasks"][0]["designs"][0]["detectable_difference"] > 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no campaign is named"),
        (["--assume", "judge=1"], "judge: unknown variance"),
        (["--assume", "judge_system=-1,segment_system=1,residual=1"], "judge_system: is -1"),
        (["--assume", "judge_system=0,segment_system=0,residual=0"], "all variances are 0"),
        (["--assume", ASSUMED, "--judges", "1"], "judges: is 1"),
        (["--assume", ASSUMED, "--judges", "5", "--per-output", "20"], "per_output: is 20"),
        (["--assume", ASSUMED, "--power", "1"], "power: is 1"),
        (["--assume", ASSUMED, "--difference", "0"], "difference: is 0"),
    ],
)
def test_designs_that_cannot_be(capsys, arguments, says):
    status, out, err = run(capsys, "plan", *arguments)
    assert (status, out) == (2, "")
    assert says in err


@pytest.mark.parametrize(
    ("option", "value"),
    [("--assume", "judge_system=x"), ("--segments", "many"), ("--judges", "4.5")],
)
def test_numbers_that_are_none(capsys, option, value):
    with pytest.raises(SystemExit) as end:
        main(["plan", option, value])
    assert end.value.code == 2
    assert f"error: argument {option}: invalid" in capsys.readouterr().err


def test_a_task_without_variances(campaign, capsys):
    status, _, err = run(capsys, "plan", campaign, "--task", "alone")
    assert status == 2
    assert "task alone has no variances: no scores of two systems" in err
    assert "allowed: quality" in err


@pytest.mark.slow
def test_a_difference_that_three_judges_find_is_theirs(tmp_path, capsys):
    """Segments alone are drawn: other judges would find less, which the plan of three says."""
    rng = np.random.default_rng(4)
    lines = ["judge,system,segment,score"]
    for judge in range(3):
        taste = rng.normal(0, 4, 2)
        lines += [
            f"j{judge},s{system},g{segment},{50 + taste[system] + rng.normal(0, 6):.3f}"
            for system in range(2)
            for segment in range(40)
        ]
    write_scores(tmp_path, lines)
    capsys.readouterr()
    [task] = planned(capsys, tmp_path, "--judges", "3", "--segments", "40", "--per-output", "3")[
        "tasks"
    ]
    assert task["detectable_reason"] == "for these judges only: fewer than 4"
    assert task["designs"][0]["detectable_difference"] > 2 * task["detectable_difference"]
    _, out, _ = run(capsys, "plan", tmp_path)
    assert "in 80 of 100 evaluations, for these judges only: fewer than 4" in out


@pytest.mark.slow
def test_documents_of_several_segments_make_a_plan_too_optimistic(tmp_path, capsys):
    """Six documents of five segments suit one system or the other; a seventh has one segment."""
    rng = np.random.default_rng(6)
    suits = rng.normal(0, 8, (7, 2))
    lines = ["task,judge,system,segment,document,score"]
    for task, has_documents in (("plain", False), ("grouped", True)):
        for judge in range(10):
            for segment in range(31):
                document = segment // 5
                lines += [
                    f"{task},j{judge},s{system},g{segment},{f'd{document}' * has_documents},"
                    f"{50 + suits[document, system] + rng.normal(0, 5):.3f}"
                    for system in range(2)
                ]
    write_scores(tmp_path, lines)
    capsys.readouterr()
    tasks = {task["task"]: task for task in planned(capsys, tmp_path)["tasks"]}
    assert (tasks["plain"]["shared_documents"], tasks["plain"]["warning"]) == (0, None)
    grouped = tasks["grouped"]
    assert grouped["shared_documents"] == 6
    assert grouped["warning"] == (
        "6 documents with several segments: this plan takes segments as independent and is too "
        "optimistic; the difference as judged counts documents: "
        f"{grouped['detectable_difference']:.3g} points"
    )
    assert grouped["detectable_difference"] > 1.5 * tasks["plain"]["detectable_difference"]
    _, out, _ = run(capsys, "plan", tmp_path)
    assert out.count("  warning: 6 documents with several segments") == 1


@pytest.mark.slow
def test_systems_without_common_judges_are_said_to_have_none(tmp_path, capsys):
    """Their scores vary; judges that are drawn at random connect them."""
    rng = np.random.default_rng(7)
    lines = ["judge,system,segment,score"] + [
        f"{system}{judge},{system},g{segment},{rng.normal(50, 9):.3f}"
        for system in "xy"
        for judge in range(5)
        for segment in range(20)
    ]
    write_scores(tmp_path, lines)
    capsys.readouterr()
    for arguments in ((), ("--task", "plan")):
        status, _, err = run(capsys, "plan", tmp_path, *arguments)
        assert status == 2
        assert "no judge has scored two systems" in err
        assert "ranking.judge_effects: random" in err
        assert "that vary" not in err
    build_file(tmp_path, "ranking.judge_effects=random")
    capsys.readouterr()
    assert planned(capsys, tmp_path)["tasks"][0]["warning"] is None
