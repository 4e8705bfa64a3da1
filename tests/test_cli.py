"""The command line: documents, exit statuses, and what it does not load."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from annot_pipeline.cli import build_parser, main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.build import STAGES, Build
from tests.conftest import build_file

ROWS = "item,judge,label\n" + "".join(
    f"i{i},w{j},{'yes' if (i + j) % 3 else 'no'}\n" for i in range(12) for j in range(4)
)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "votes.csv").write_text(ROWS)
    (tmp_path / "campaign.yaml").write_text(
        "campaign: votes\nsources:\n"
        "- {path: votes*.csv, format: csv, fields: {item: item, judge: judge, label: label}}\n"
    )
    return tmp_path


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def document(capsys, *arguments: object) -> dict:
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0
    return json.loads(out)


def test_init_validate_build_status_releases(capsys, campaign, tmp_path):
    status, out, _ = run(capsys, "init", campaign / "votes.csv", "-o", tmp_path / "new")
    assert status == 0
    assert (tmp_path / "new" / "campaign.yaml").read_text() in out
    assert f"next: annot validate {tmp_path / 'new'}" in out
    assert document(capsys, "validate", tmp_path / "new")["fates"]["used"] == 48
    built = document(capsys, "build", tmp_path / "new")
    assert (built["version"], built["published"]) == ("v0001", True)
    assert built["tables"]["labels"] == 12
    again = document(capsys, "build", tmp_path / "new")
    assert (again["version"], again["published"]) == ("v0001", False)
    _, out, err = run(capsys, "build", tmp_path / "new", "--set", "gates.too_many_classes.warn=1")
    assert "nothing new; still v0001" in out
    assert "what --set says holds for this build" in out
    _, out, _ = run(capsys, "build", tmp_path / "new", "--set", "privacy.new_key=true")
    assert "what --set says" not in out, "a key is given up once: no setting of every build"
    assert "warn: class_identity" in err  # of a stage that is not run again
    state = document(capsys, "status", tmp_path / "new")
    assert state["release"]["version"] == "v0001"
    assert not state["build_due"]
    rows = document(capsys, "releases", tmp_path / "new")["releases"]
    assert [(r["version"], r["labels"], r["parent"]) for r in rows] == [("v0001", 12, None)]


@pytest.mark.slow
def test_the_next_command_has_the_settings_of_this_one(capsys, campaign, tmp_path):
    """Else it would look elsewhere, or come to another end."""
    sets = ("--set", f"gold={tmp_path / 'my gold'}")
    for command, *following in (
        ("validate", "build"), ("build", "status"), ("verify", "verify", "--rebuild"),
    ):  # fmt: skip
        _, out, _ = run(capsys, command, campaign, *sets)
        words = shlex.split(out.splitlines()[-1].removeprefix("next: "))
        assert words == ["annot", following[0], str(campaign), *sets, *following[1:]]
    _, _, err = run(capsys, "trace", campaign, "i1", "--set", f"gold={tmp_path / 'none'}")
    assert f"annot build {campaign} --set gold={tmp_path / 'none'}" in err


def test_init_does_not_write_over_a_campaign(capsys, campaign):
    status, _, err = run(capsys, "init", campaign / "votes.csv", "-o", campaign)
    assert status == 2
    assert "campaign.yaml exists" in err
    status, _, err = run(capsys, "init", campaign / "nothing.csv", "-o", campaign / "x")
    assert status == 2
    assert "no such file" in err


def test_validate_writes_nothing(capsys, campaign):
    before = sorted(p.name for p in campaign.iterdir())
    status, out, _ = run(capsys, "validate", campaign)
    assert status == 0
    assert sorted(p.name for p in campaign.iterdir()) == before
    assert "48 records: 48 used" in out
    assert f"next: annot build {campaign}" in out


def test_validate_says_that_names_are_of_this_run_until_a_build_makes_the_key(
    capsys, campaign, monkeypatch
):
    """Judge w4 gives one answer: a gate names the judge."""
    rows = "item,judge,label\n" + "".join(
        f"i{i},w{j},{'yes' if j == 4 or (i % 2 and (i + j) % 9) else 'no'}\n"
        for i in range(60)
        for j in range(5)
    )
    (campaign / "votes.csv").write_text(rows)
    monkeypatch.delenv("ANNOT_KEY", raising=False)
    notice = "are of this run only"
    assert notice in run(capsys, "validate", campaign)[1]
    build_file(campaign)
    status, out, err = run(capsys, "validate", campaign)
    assert (status, notice in out) == (0, False)
    [judge] = set(re.findall("j[0-9a-f]{20}", err))
    assert judge in (campaign / "gold/v0001/report.html").read_text()


@pytest.mark.slow
def test_documents_name_paths_from_where_the_user_stands(capsys, campaign, monkeypatch):
    """Logs that leave the machine do not say how its folders are named."""
    assert run(capsys, "build", campaign)[0] == 0
    monkeypatch.chdir(campaign.parent)
    named = document(capsys, "status", campaign.name), document(capsys, "verify", campaign.name)
    assert str(campaign.parent) not in json.dumps(named)
    assert (campaign.parent / named[0]["release"]["path"] / "manifest.json").exists()
    assert (campaign.parent / named[1]["gold"] / "latest.json").exists()


def test_status_says_what_arrived_changed_and_went(capsys, campaign):
    assert document(capsys, "status", campaign)["build_due"]
    (campaign / "votes2.csv").write_text("item,judge,label\nx,w1,yes\n")
    build_file(campaign)
    (campaign / "votes2.csv").unlink()
    (campaign / "votes3.csv").write_text("item,judge,label\ny,w1,yes\n")
    (campaign / "votes.csv").write_text(ROWS + "z,w1,no\n")
    state = document(capsys, "status", campaign)
    assert state["arrived"] == {
        "new": ["votes3.csv"], "changed": ["votes.csv"], "gone": ["votes2.csv"],
    }  # fmt: skip
    status, out, _ = run(capsys, "status", campaign)
    assert status == 0
    assert f"next: annot build {campaign}" in out


def test_a_failed_gate_is_exit_1_and_status_remembers_it(capsys, campaign):
    build_file(campaign)
    (campaign / "votes.csv").write_text(ROWS + ",w1,yes\n" * 10)
    status, out, err = run(capsys, "build", campaign)
    assert status == 1
    assert out == ""
    assert "rejected_share" in err
    assert "10 x item is blank" in err
    assert "Traceback" not in err
    state = document(capsys, "status", campaign)
    assert state["release"]["version"] == "v0001"
    assert "rejected_share" in state["last_build"]["outcome"]
    status, out, _ = run(capsys, "build", campaign, "--json")
    assert status == 1
    failed = json.loads(out)
    assert failed["exit_status"] == 1
    assert "10 x item is blank" in failed["error"]["problems"][0]["what"]
    gates = {gate["name"]: gate["level"] for gate in failed["error"]["checks"]}
    assert gates["rejected_share"] == "error"
    assert "pass" in gates.values()


@pytest.mark.slow
def test_status_remembers_bad_exports_and_changed_settings(capsys, campaign):
    document(capsys, "build", campaign)
    assert "published v0001" in document(capsys, "status", campaign)["last_build"]["outcome"]
    state = document(capsys, "status", campaign, "--set", "dawid_skene.smoothing=0.5")
    assert state["settings_changed"]
    assert state["build_due"]
    (campaign / "votes2.csv").write_text("item,label\nx,yes\n")
    assert run(capsys, "build", campaign)[0] == 2
    outcome = document(capsys, "status", campaign)["last_build"]["outcome"]
    assert "unknown column" in outcome


@pytest.mark.slow
def test_status_tells_of_a_build_that_was_killed(capsys, campaign):
    build_file(campaign)
    assert document(capsys, "status", campaign)["unended_build"] is None
    (campaign / "votes2.csv").write_text("item,judge,label\nx,w1,yes\n")
    killed = Build(load_campaign(campaign / "campaign.yaml"))
    for stage in STAGES[:3]:
        killed.run_stage(stage)
    unended = document(capsys, "status", campaign)["unended_build"]
    assert (unended["run"], unended["stage"]) == (killed.run, "settle_judgments")
    status, out, _ = run(capsys, "status", campaign)
    assert status == 0
    assert "a build has not ended: it had made settle_judgments at 2" in out
    build_file(campaign)
    assert document(capsys, "status", campaign)["unended_build"] is None


@pytest.mark.slow
def test_status_without_the_key_makes_none(capsys, campaign, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY")
    assert document(capsys, "status", campaign)["not_compared"] is None  # nothing to compare with
    assert not (campaign / "store").exists()
    monkeypatch.setenv("ANNOT_KEY", "the key of the build, long enough to be one")
    build_file(campaign)
    monkeypatch.delenv("ANNOT_KEY")
    before = {p: p.stat().st_mtime_ns for p in campaign.rglob("*")}
    state = document(capsys, "status", campaign)
    assert state["not_compared"] == {
        "what": "the key of the last build is not in the store, and $ANNOT_KEY is not set",
        "do": "set $ANNOT_KEY",
    }
    assert (state["settings_changed"], state["build_due"]) == (None, None)
    out = run(capsys, "status", campaign)[1]
    assert f"settings cannot be compared: {state['not_compared']['what']}\n" in out
    assert " ".join(out.split()).endswith(f"next: set $ANNOT_KEY, then annot status {campaign}")
    assert run(capsys, "validate", campaign)[0] == 0
    assert {p: p.stat().st_mtime_ns for p in campaign.rglob("*")} == before
    (campaign / "votes2.csv").write_text("item,judge,label\nx,w1,yes\n")
    state = document(capsys, "status", campaign)
    assert (state["settings_changed"], state["build_due"]) == (None, True)
    out = run(capsys, "status", campaign)[1]
    assert " ".join(out.split()).endswith(f"next: set $ANNOT_KEY, then annot build {campaign}")
    (campaign / "votes2.csv").unlink()
    monkeypatch.setenv("ANNOT_KEY", "the key of the build, long enough to be one")
    state = document(capsys, "status", campaign)
    assert (state["not_compared"], state["settings_changed"]) == (None, False)
    assert not state["build_due"]


@pytest.mark.slow
def test_status_reads_the_key_of_the_store(capsys, campaign, monkeypatch):
    monkeypatch.delenv("ANNOT_KEY")
    build_file(campaign)
    state = document(capsys, "status", campaign)
    assert (state["not_compared"], state["settings_changed"]) == (None, False)


def test_wrong_usage_is_exit_2(capsys, campaign):
    for arguments in (["frobnicate"], ["build"], ["build", campaign, "--sett", "x"]):
        with pytest.raises(SystemExit) as exit_:
            main([str(a) for a in arguments])
        assert exit_.value.code == 2
    status, _, err = run(capsys, "build", campaign, "--set", "sed=3")
    assert status == 2
    assert "did you mean seed?" in err


def loaded_modules(*commands: list[str]) -> set[str]:
    """Top-level modules after some commands, in a process of its own."""
    code = (
        "import json, sys\nfrom annot_pipeline.cli import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    try:\n        assert main(command) == 0\n"
        "    except SystemExit as end:\n        assert not end.code\n"
        "print('\\n' + ' '.join({m.partition('.')[0] for m in sys.modules}))"
    )
    command = [sys.executable, "-c", code, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_no_command_loads_dagster(campaign):
    """But ``build --dagster``, which needs an instance (tests/assets_defs/test_command.py)."""
    assert not loaded_modules(["--help"]) & {"dagster", "numpy", "pyarrow", "duckdb", "pydantic"}
    assert "dagster" not in loaded_modules(["build", str(campaign)])
    others = (
        ["validate"], ["status"], ["releases"], ["trace", "i1"], ["diff", "v0001", "v0001"],
        ["verify"], ["prune", "--keep", "1"],
    )  # fmt: skip
    actual = loaded_modules(*([name, str(campaign), *rest] for name, *rest in others))
    assert "duckdb" in actual
    assert "dagster" not in actual


@pytest.mark.slow
def test_options_stand_anywhere(capsys, campaign):
    build_file(campaign)
    first, second = "--set", "seed=17"
    for arguments in (
        ("verify", "--json", first, second, campaign, "v0001"),
        ("verify", campaign, first, second, "v0001", "--json"),
        ("verify", campaign, "v0001", first, second, "--json"),
    ):
        status, out, err = run(capsys, *arguments)
        assert (status, [row["version"] for row in json.loads(out)["releases"]]) == (
            0,
            ["v0001"],
        ), err
    assert run(capsys, "pin", campaign, "--because", "paper", "v0001")[0] == 0
    assert run(capsys, "pin", "--remove", campaign, "v0001")[0] == 0


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["releases", "."], 0, "no release yet"),
        (["verify", "."], 1, ""),
        (["verify", ".", "--rebuilt"], 2, "unrecognized arguments: --rebuilt"),
        (["--version"], 0, "annot "),
    ],
)
def test_the_installed_command_ends_with_the_status(campaign, arguments, status, said):
    command = [sys.executable, "-m", "annot_pipeline.cli", *arguments]
    done = subprocess.run(command, cwd=campaign, capture_output=True, text=True)
    assert done.returncode == status, done
    assert said in done.stdout + done.stderr


def test_debugging_shows_where_it_broke(campaign):
    code = (
        "import sys\nfrom annot_pipeline import cli\nfrom annot_pipeline.cli import releases\n"
        "releases.run_releases = lambda arguments: 1 / 0\n"
        "sys.argv = ['annot', 'releases', '.']\ncli.console()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=campaign, capture_output=True, text=True,
        env={"ANNOT_DEBUG": "1"},
    )  # fmt: skip
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_sql_is_found_in_the_package_else_beside_it(tmp_path, monkeypatch):
    from annot_pipeline.storage import queries

    beside = queries.sql_text("gold/items")
    assert "SELECT" in beside
    inside = tmp_path / "annot_pipeline"
    (inside / "sql" / "gold").mkdir(parents=True)
    (inside / "sql" / "gold" / "items.sql").write_text("-- inside")
    monkeypatch.setattr(queries, "files", lambda _: inside)
    assert queries.sql_text("gold/items") == "-- inside"


@pytest.mark.slow
def test_status_after_a_failed_gate_says_to_mend_it(capsys, campaign):
    build_file(campaign)
    (campaign / "votes.csv").write_text(ROWS + ",w1,yes\n" * 10)
    assert run(capsys, "build", campaign)[0] == 1
    state = document(capsys, "status", campaign)
    assert len(state["failing"]) == 1
    assert "rejected_share" in state["failing"][0]["what"]
    out = run(capsys, "status", campaign)[1]
    assert "; or resolve the failed gate (" in " ".join(out.split())
    # another threshold, or another export: a build may go through
    raised = ("status", campaign, "--set", "gates.rejected_share.error=0.5")
    assert document(capsys, *raised)["failing"] == []
    (campaign / "votes.csv").write_text(ROWS)
    assert document(capsys, "status", campaign)["failing"] == []


@pytest.mark.slow
def test_status_says_which_settings_changed_and_what_is_not_read(capsys, campaign):
    build_file(campaign)
    (campaign / "day2.csv").write_text("item,judge,label\nx,w1,yes\n")
    (campaign / "notes.txt").write_text("no export")
    state = document(capsys, "status", campaign, "--set", "dawid_skene.smoothing=0.5")
    assert state["changed_settings"] == ["dawid_skene.smoothing"]
    assert state["unread"] == ["day2.csv"]
    out = run(capsys, "status", campaign, "--set", "dawid_skene.smoothing=0.5")[1]
    assert "since then other settings: dawid_skene.smoothing\n" in out
    assert "not read, no source matches: day2.csv\n" in out


def test_an_error_into_a_pipe_that_nobody_reads_ends_quietly(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "annot_pipeline.cli", "status", str(tmp_path), "--json"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert done.returncode == 2
    assert "no campaign file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_mistyped_command_is_answered_with_the_likely_one(capsys):
    for typed, answer in (("biuld", "did you mean build?"), ("frobnicate", "annot --help lists")):
        with pytest.raises(SystemExit) as end:
            main([typed, "x"])
        assert end.value.code == 2
        assert answer in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("--uncertian", "; did you mean --uncertain?"), ("--frobnicate\x1b[1m", "--frobnicate\ufffd")],
)
def test_a_mistyped_option_shows_the_usage_of_its_command_within_the_terminal(
    capsys, monkeypatch, typed, answer
):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(SystemExit) as end:
        main(["items", "campaign", "--task", "a task with a long name", typed])
    assert end.value.code == 2
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)
    assert shown.startswith("usage: annot items ")
    assert "error: unrecognized arguments: " in shown
    assert answer in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 60


@pytest.mark.parametrize(
    ("command", "needed", "typed"),
    [
        (("rollback", "v0001"), "--because TEXT", "--because"),
        (("retract", "v0001"), "--because TEXT", "--because"),
        (("forget", "ann"), "--because TEXT", "--because"),
        (("prune",), "--keep N", "annot prune "),
    ],
)
def test_an_option_that_is_needed_is_shown_so_and_asked_for(
    capsys, campaign, command, needed, typed
):
    with pytest.raises(SystemExit):
        main([command[0], "--help"])
    usage = " ".join(capsys.readouterr().out.split("\n\n")[0].split())
    assert f" {needed} " in usage
    assert f"[{needed}]" not in usage
    status, _, error = run(capsys, command[0], campaign, *command[1:])
    assert status == 2
    assert error.startswith("annot: ")  # ours, not that of the parser
    [do] = [line for line in error.splitlines() if "do:" in line]
    assert typed in do


def test_quiet_and_verbose_exclude_each_other(capsys, campaign):
    with pytest.raises(SystemExit) as end:
        main(["status", str(campaign), "-q", "-v"])
    assert end.value.code == 2
    assert "-v/--verbose: not allowed with argument -q/--quiet" in capsys.readouterr().err


def test_an_interrupted_command_says_so_and_ends_as_shells_expect(capsys, campaign, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("annot_pipeline.commands.status.status", stop)
    status, out, err = run(capsys, "status", campaign)
    assert (status, out, err) == (130, "", "annot: stopped; the last release stands\n")


def test_a_bundled_example_without_exports_names_make_build(capsys, tmp_path):
    folder = tmp_path / "examples" / "simulated"
    shutil.copytree(Path(__file__).parents[1] / "examples" / "simulated", folder)
    status, _, err = run(capsys, "build", folder)
    assert status == 2
    assert "make build writes the exports of the examples" in err


@pytest.mark.parametrize("command", ["trace", "bisect"])
def test_a_name_that_starts_with_a_hyphen_is_asked_for_behind_two(capsys, command):
    with pytest.raises(SystemExit) as end:
        main([command, "campaign", "--task=t", "--set", "seed=3", "-rf"])
    assert end.value.code == 2
    hint = "(write -- before a name that starts with a hyphen: -- -rf)"
    assert "arguments are required: " in (error := capsys.readouterr().err)
    assert hint in error
    words = build_parser().parse_args([command, "campaign", "--", "-rf"])
    assert "-rf" in vars(words).values()
    with pytest.raises(SystemExit):
        main([command, "campaign", "--task", "t", "-q"])
    error = capsys.readouterr().err
    assert "arguments are required: " in error
    assert "hyphen" not in error
