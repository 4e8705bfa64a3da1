"""What a manifest says is printed without what moves the cursor of a terminal."""

from __future__ import annotations

import json

import pytest

from annot_pipeline.cli import main
from tests.audit.two_releases import KEY, rewrite

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202e"


def hostile(manifest):
    manifest["created_at"] += HOSTILE
    manifest["signature"] += HOSTILE
    for check in manifest["checks"]:
        check |= {"level": "warn", "question": HOSTILE, "detail": HOSTILE, "do": HOSTILE}
    for source in manifest["sources"]:
        source["name"] += HOSTILE


@pytest.mark.parametrize(
    "command",
    [["status"], ["releases"], ["trace", "i0"], ["verify"], ["diff", "v0001", "v0002"]],
    ids=lambda command: command[0],
)
def test_no_command_prints_codes_of_a_manifest(campaign, capsys, monkeypatch, command):
    monkeypatch.setenv("ANNOT_KEY", KEY)
    rewrite(campaign, "v0002", hostile)
    main([command[0], str(campaign), *command[1:]])
    printed = "".join(capsys.readouterr())
    assert printed.strip()
    assert not any(code in printed for code in ("\x1b", "\x07", "\u202e"))


def test_json_says_what_the_manifest_says(campaign, capsys):
    rewrite(campaign, "v0002", hostile)
    main(["status", str(campaign), "--json"])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert json.loads(printed)["release"]["created_at"].endswith(HOSTILE)
