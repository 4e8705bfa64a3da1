"""docs/model_judges.md: its commands and code are run, and say what the page shows.

``UPDATE_PAGES=1 pytest tests/test_model_judges_page.py`` writes the outputs; read them first.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "model_judges.md"
UPDATE = os.environ.get("UPDATE_PAGES") == "1" and "CI" not in os.environ
CONSOLE = re.compile(r"```console\n(\$ [^\n]*\n)(.*?)```", re.DOTALL)
CODE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def same(text: str) -> str:
    """Return a text without what differs from machine to machine."""
    return re.sub(r"[\d,]+ bytes", "N bytes", text).strip()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


def run(command: list[str], folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (done.stderr + done.stdout).replace(f"{folder}/", "")


def test_commands_and_code_say_what_the_page_shows(folder: Path) -> None:
    text = page = PAGE.read_text(encoding="utf-8")
    for typed, shown in CONSOLE.findall(text):
        name, *arguments = shlex.split(typed.removeprefix("$ "))
        start = [sys.executable]
        start += ["-m", "annot_pipeline.cli"] if name == "annot" else []
        output = run([*start, *arguments], folder)
        page = page.replace(f"{typed}{shown}```", f"{typed}{output}```")
        assert UPDATE or same(output) == same(shown)
    code = ""
    for block, shown in CODE.findall(text):
        before = run([sys.executable, "-c", code], folder) if code else ""
        code += block
        output = run([sys.executable, "-c", code], folder).removeprefix(before).strip("\n") + "\n"
        page = page.replace(
            f"{block}```\n\n```text\n{shown}```", f"{block}```\n\n```text\n{output}```"
        )
        assert UPDATE or output == shown
    if UPDATE:
        PAGE.write_text(page, encoding="utf-8")


def test_the_campaign_is_that_of_the_example() -> None:
    campaign = (ROOT / "examples" / "model_judges" / "campaign.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{campaign}```" in PAGE.read_text(encoding="utf-8")
