"""Pages whose commands and code are run in order, and say what the page shows.

A line ``...`` of an output stands for any lines. ``UPDATE_PAGES=1 pytest tests/test_pages.py``
writes outputs that have none; read them first.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
UPDATE = os.environ.get("UPDATE_PAGES") == "1" and "CI" not in os.environ
BLOCK = re.compile(
    r"```console\n(?P<typed>\$ [^\n]*\n)(?P<said>.*?)```"
    r"|```python\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```",
    re.DOTALL,
)
KEY = "the key of the pages, long enough to be one"


def same(text: str) -> str:
    """Return a text without what differs from machine to machine."""
    return re.sub(r"[\d,]+ bytes", "N bytes", text).strip()


def shows(shown: str, output: str) -> bool:
    """Return whether an output is as shown, where ``...`` stands for any lines."""
    parts = re.split(r"^\.\.\.$", same(shown), flags=re.MULTILINE)
    pattern = ".*".join(re.escape(part.strip("\n")) for part in parts)
    return re.fullmatch(rf"\s*{pattern}\s*", same(output), re.DOTALL) is not None


def run(command: list[str], folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "ANNOT_KEY": KEY}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (done.stderr + done.stdout).replace(f"{folder}/", "")


DRIVER = """
import contextlib, io, json, sys
names = {}
for line in sys.stdin:
    step = json.loads(line)
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        if isinstance(step, str):
            exec(step, names)
        else:
            from annot_pipeline.cli import main
            with contextlib.redirect_stderr(errors):
                assert main(step) == 0, errors.getvalue()
    print(json.dumps(errors.getvalue() + printed.getvalue()), flush=True)
"""
"""Runs blocks of code one after the other, as a notebook does, and commands as lists of words.

Commands share the modules that one process loads; that they run as processes is tested elsewhere.
"""


@pytest.fixture
def run_step(tmp_path: Path) -> Iterator[Callable[[str | list[str]], str]]:
    """Return what a block of code or a command of annot prints, run after the steps before it."""
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "ANNOT_KEY": KEY},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def run(step: str | list[str]) -> str:
            print(json.dumps(step), file=process.stdin, flush=True)
            answer = process.stdout.readline()
            assert answer, f"failed: {step}"
            return str(json.loads(answer))

        yield run
        process.stdin.close()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "pages",
    [pytest.param(["model_judges.md"], marks=pytest.mark.slow), ["tutorial.md", "audit.md"]],
)
def test_commands_and_code_say_what_the_pages_show(
    pages: list[str], tmp_path: Path, run_step: Callable[[str | list[str]], str]
) -> None:
    """A page continues in the folder of the page before it."""
    for page in pages:
        text = updated = (DOCS / page).read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if block["typed"]:
                name, *arguments = shlex.split(block["typed"].removeprefix("$ "))
                shown = block["said"]
                if name == "annot":
                    output = run_step(arguments).replace(f"{tmp_path}/", "")
                else:
                    output = run([sys.executable, *arguments], tmp_path)
            else:
                shown, output = block["printed"], run_step(block["code"]).strip("\n") + "\n"
            if UPDATE and "...\n" not in shown:
                end = block[0].removesuffix(f"{shown}```")
                updated = updated.replace(block[0], f"{end}{output}```")
            else:
                assert shows(shown, output), f"{block[0]}\n\n{output}"
        if UPDATE:
            (DOCS / page).write_text(updated, encoding="utf-8")


def test_an_output_that_is_another_is_noticed() -> None:
    assert shows("a\n...\nb 1,234 bytes\n", "a\nx\ny\nb 5 bytes\n")
    assert shows("...\nb\n", "a\nb\n")
    assert not shows("a\nb\n", "a\nx\nb\n")
    assert not shows("a\n...\nc\n", "a\nb\n")


def test_the_campaign_is_that_of_the_example() -> None:
    campaign = (ROOT / "examples" / "model_judges" / "campaign.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{campaign}```" in (DOCS / "model_judges.md").read_text(encoding="utf-8")
