"""What a terminal shows while a command runs, and what a file gets instead."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from annot_pipeline.cli import COMMANDS, main
from annot_pipeline.cli.diff import diff_lines
from annot_pipeline.cli.render import Column, fit, table
from annot_pipeline.cli.terminal import TO_COPY, Terminal, write
from annot_pipeline.errors import Passing, Step
from tests.report.report_pages import labels_campaign

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def tell(terminal: Terminal) -> None:
    terminal.say(Step("[5/11] infer labels"))
    terminal.say(Passing("part 6 of 11"))
    terminal.say("warn: first: 1 of 2")
    terminal.say("1,995 items labelled")
    terminal.say("warn: second: 3 of 4")
    terminal.close()


def test_a_file_gets_plain_lines_without_passing_ones_and_warnings_at_the_end(capsys):
    tell(Terminal())
    assert capsys.readouterr().err.splitlines() == [
        "  1,995 items labelled", "  2 warnings", "  warn: first: 1 of 2", "  warn: second: 3 of 4",
    ]  # fmt: skip


def test_verbose_tells_every_step_and_quiet_only_warnings(capsys):
    tell(Terminal(verbose=True))
    assert capsys.readouterr().err.splitlines()[:2] == ["  [5/11] infer labels", "  part 6 of 11"]
    tell(Terminal(quiet=True))
    assert capsys.readouterr().err.splitlines()[0] == "  2 warnings"


def test_warnings_name_commands_from_the_working_directory(capsys, monkeypatch, tmp_path):
    """As errors do: logs that leave the machine do not say how its folders are named."""
    monkeypatch.chdir(tmp_path)
    terminal = Terminal()
    terminal.say(f"warn: annot forget {tmp_path}/week JUDGE finishes it")
    terminal.close()
    assert "  warn: annot forget week JUDGE finishes it\n" in capsys.readouterr().err


def test_a_terminal_has_one_line_with_step_part_and_time(monkeypatch):
    stream = Tty()
    monkeypatch.setattr(sys, "stderr", stream)
    terminal = Terminal()
    terminal.say(Step("[5/11] infer labels"))
    terminal.say(Passing("infer labels: 6 of 11 parts"))  # a file has no step before it
    terminal.live.refresh()
    terminal.say("1,995 items labelled")
    terminal.close()
    shown = ESCAPE.sub("", stream.getvalue())
    assert re.search(r"\[5/11\] infer labels, 6 of 11 parts, 0:0\d", shown)
    assert "1,995 items labelled" in shown
    assert stream.getvalue().rstrip().endswith("\x1b[2K"), "the line is gone at the end"
    terminal.say(Step("[6/11] rank systems"))
    terminal.close()
    assert "6 of 11" not in ESCAPE.sub("", stream.getvalue()).rpartition("[6/11]")[2]


@pytest.mark.parametrize("verbose", [False, True])
def test_iterations_are_told_with_v_alone(capsys, monkeypatch, verbose):
    terminal = Terminal(verbose=verbose)
    monkeypatch.setattr(terminal, "last", -1e9)  # long ago
    terminal.say(Passing("hierarchical model: iteration 325, 2/11 tasks ended"))
    terminal.say("45 items labelled in 1 task; the label model took up to 1,426 iterations")
    told = capsys.readouterr().err
    assert ("iteration 325" in told, "1,426 iterations" in told) == (verbose, verbose)
    assert "hierarchical model" in told
    assert "45 items labelled in 1 task" in told


@pytest.mark.parametrize(
    ("stream", "setting", "is_colored"),
    [(Tty, "", True), (Tty, "NO_COLOR", False), (io.StringIO, "", False),
     (io.StringIO, "FORCE_COLOR", True)],
)  # fmt: skip
def test_colours_are_for_terminals_unless_the_user_says_otherwise(
    monkeypatch, stream, setting, is_colored
):
    if setting:
        monkeypatch.setenv(setting, "1")
    out = stream()
    write(["annot: wrong", "  warn: \x1b[2Jlook", "plain"], out)
    colours = [code for code in COLOUR.findall(out.getvalue()) if re.search("3[0-7]", code)]
    assert bool(colours) is is_colored
    assert "\x1b[2J" not in out.getvalue()
    assert ESCAPE.sub("", out.getvalue()).splitlines()[2] == "plain"


def test_a_terminal_cuts_endless_words_and_a_pipe_has_them_whole(monkeypatch):
    """A campaign, task or judge may have such a name; paths and commands stay whole."""
    monkeypatch.setenv("COLUMNS", "80")
    path, name = "/folder" * 80, "n" * 10_000
    lines = [f"{name}: no release yet", f"  item  {name}", f"read {path}"]
    lines.append(f"next: annot build {name}")
    for out, cut in ((Tty(), True), (io.StringIO(), False)):
        write(lines, out)
        shown = ESCAPE.sub("", out.getvalue())
        assert (f"{'n' * 299}…" in shown, f"  {name}" in shown) == (cut, not cut)
        assert path in shown
        assert f"annot build {name}" in shown


def test_a_table_that_is_too_wide_is_wrapped_and_then_loses_columns(monkeypatch):
    rows = [{"item": f"item {n} " + "x" * 30, "text": "y" * 40, "share": 0.123456, "n": n}
            for n in range(3)]  # fmt: skip
    out = Tty()
    monkeypatch.setattr(sys, "stdout", out)
    for columns, left_out in ((80, []), (40, []), (30, ["share", "n"])):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = list(table("t", rows, "item text share n"))
        assert max(map(len, lines[1:-1])) <= columns, columns
        whole = "".join("".join(lines).split())
        assert whole.count("x") >= 90, "no identifier is cut"
        assert "…" not in whole
        told = [line for line in lines if "no room for" in line]
        assert told == ([f"  no room for {', '.join(left_out)}; --json has all"] * bool(left_out))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert "x" * 30 in "\n".join(table("t", rows, "item text share n")), "a file gets all"
    assert fit([Column(["name", "a" * 90], is_number=False)], 20)[0][0].width == 20


def test_columns_that_have_no_room_stand_whole_below_their_rows(monkeypatch):
    rows = [{"version": "v0001", "labels": 7}, {"version": "v0002", "labels": 9,
             "changed": {"new_labels": 2, "removed_labels": 1}, "why": "because " * 9}]  # fmt: skip
    below = ("changed", "why")
    out = Tty()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "60")
    write(table("releases", rows, "version labels changed why", below=below), out)
    assert ESCAPE.sub("", out.getvalue()).splitlines() == [
        "releases",
        "  version  labels",
        "  v0001         7",
        "  v0002         9",
        "    changed: new labels 2, removed labels 1",
        "    why: because because because because because because",
        "      because because because",
    ]
    monkeypatch.setenv("COLUMNS", "160")
    assert len(list(table("releases", rows, "version changed why", below=below))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 160])
def test_commands_on_a_terminal(tmp_path, columns):
    """Every line of the tables fits, and nothing but colours and the moving line is escaped."""
    labels_campaign(tmp_path)
    for command in (["status"], ["items"], ["releases"], ["trace", "item 3"], ["verify"]):
        shown = on_a_terminal([command[0], str(tmp_path), *command[1:]], columns)
        assert {code[-1] for code in ESCAPE.findall(shown)} <= set("mKAhl"), command
        lines = [ESCAPE.sub("", line).rstrip("\r") for line in shown.split("\n")]
        assert all(len(line) <= columns for line in lines if line.startswith("  item ")), command


PREDICTIONS = "item,label\n" + "".join(f"item {n},yes\n" for n in range(12))
SESSIONS = {
    "validate": [], "build": [], "status": [], "releases": [], "items": ["--uncertain"],
    "trace": ["item 3"], "bisect": ["item 3"], "diff": [], "verify": [], "plan": [],
    "hits": ["-o", "{folder}/hits"], "review": [], "score": ["{folder}/predictions.csv"],
    "pin": ["v0001"], "prune": ["--keep", "3"], "publish": ["--to", "{folder}/copy"],
    "forget": ["nobody", "--because", "gone"], "retract": ["v0099", "--because", "wrong"],
    "rollback": ["v0099", "--because", "wrong"],
}  # fmt: skip
"""What follows the campaign, by command."""
SENTENCES = {
    "score": ["a model that is right counts as wrong"],
    "trace": ["judges stay as they are with all judgments", "model label no, model probability"],
}
"""Parts of long lines, by command."""
WITHOUT_CAMPAIGN = {"init": ["{folder}/exports/labels-1.csv", "-o", "{folder}/new"]}
DOCUMENTS = {"serve", "schema"}
"""They serve pages, and print one JSON document."""


@pytest.fixture(scope="module")
def labels_folder(labels_builds, tmp_path_factory):
    name = "a campaign in a folder whose name is long enough to matter"
    built = labels_builds[1].publication.release.folder.parents[1]
    folder = shutil.copytree(built, tmp_path_factory.mktemp("terminal") / name)
    (folder / "predictions.csv").write_text(PREDICTIONS)
    return folder


def test_every_command_has_a_session():
    named = SESSIONS.keys() | WITHOUT_CAMPAIGN.keys() | DOCUMENTS
    assert named == {command.name for command in COMMANDS}


def session(name: str, folder: Path) -> list[str]:
    more = [word.format(folder=folder) for word in (SESSIONS | WITHOUT_CAMPAIGN)[name]]
    return [name, *([] if name in WITHOUT_CAMPAIGN else [str(folder)]), *more]


@pytest.mark.parametrize("name", [*SESSIONS, *WITHOUT_CAMPAIGN])
def test_every_command_fits_a_terminal_and_gives_a_pipe_plain_text(
    monkeypatch, labels_folder, tmp_path, name
):
    """Paths and commands to copy stay whole."""
    folder = tmp_path / "campaign"
    shutil.copytree(labels_folder, folder)
    wide = [(Tty(), 160)] if name in SENTENCES else []
    for stream, columns in ((Tty(), 80), *wide, (io.StringIO(), 80)):
        monkeypatch.setenv("COLUMNS", str(columns))
        for which in ("stdout", "stderr"):
            monkeypatch.setattr(sys, which, stream)
        assert main(session(name, folder)) in (0, 1, 2)
        shutil.rmtree(folder / "new", ignore_errors=True)
        shutil.rmtree(folder / "copy", ignore_errors=True)
        shown = stream.getvalue()
        assert shown.strip()
        if not stream.isatty():
            assert "\x1b" not in shown
            continue
        assert name not in ("releases", "diff") or not re.search("…|no room", shown), "all is whole"
        lines = ESCAPE.sub("", shown).replace("\r", "\n").split("\n")
        long = [line for line in lines if len(line) > columns and not TO_COPY.match(line)]
        assert all("/" in max(line.split(), key=len) for line in long), long
        whole = " ".join(" ".join(lines).split())
        for words in SENTENCES.get(name, ()):
            assert words in (whole if columns == 80 else shown), "a wide terminal breaks no line"


def test_releases_have_no_column_of_zeros(capsys, labels_folder):
    assert main(["releases", str(labels_folder)]) == 0
    heads = capsys.readouterr().out.splitlines()[1].split()
    assert "labels" in heads
    assert "scores" not in heads


def test_names_of_columns_stand_whole_in_a_diff_on_a_terminal(monkeypatch):
    stream = Tty()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "80")
    inputs = {"exports": {}, "settings": [], "code": [], "model_versions": [], "verdicts": []}
    summary = {"table": "labels", "changed": 15, "added": 135, "removed": 12, "became_true": 4}
    document = {
        "campaign": "c", "from": "v0001", "to": "v0002", "inputs": inputs, "judgments": [],
        "judgments_changed": 0, "causes_found": False, "recomputed": [], "notes": [], "cells": 2,
        "summary": [summary | {"column": "dawid_skene_probability", "largest": 0.47171,
                               "causes": {"new judgments": 150, "corrected judgments": 150}}],
        "rows": [],
    }  # fmt: skip
    [row] = [line for line in diff_lines(document) if "135" in line]
    assert re.search(r" dawid_skene_probability .* 4 +0.4717$", row)
    assert len(row) <= 80


def test_the_schema_is_json_on_a_narrow_terminal(monkeypatch):
    """Lines were divided within texts: what one copied was no JSON."""
    stream = Tty()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["schema"]) == 0
    assert json.loads(ESCAPE.sub("", stream.getvalue()))["title"]


def test_no_color_is_heeded_by_commands(monkeypatch, labels_folder):
    for setting, is_colored in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", setting)
        stream = Tty()
        monkeypatch.setattr(sys, "stderr", stream)
        main(session("rollback", labels_folder))
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", stream.getvalue())) is is_colored


def on_a_terminal(command: list[str], columns: int) -> str:
    """Run annot on a pseudo-terminal; return what it wrote."""
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", "annot_pipeline.cli", *command],
        stdout=follower, stderr=follower, stdin=follower, env=environment,
    )  # fmt: skip
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 65_536)
        except OSError:  # the other end is closed
            break
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()
