"""Every `annot` command that a page shows is one that the program takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from annot_pipeline.cli import build_parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ )?(annot [a-z][^\n]*)$", re.MULTILINE)
NUMBERS = {"N": "5", "P": "0.5"}
"""What stands for a number where a page shows a form."""


def commands(page: Path) -> list[str]:
    """Return the commands of a page's code blocks; forms with alternatives are left out."""
    lines = [
        line
        for block in BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in COMMAND.findall(block.replace("\\\n", " "))
    ]
    return [line for line in lines if not re.search(r"[\[|<…]|\.\.\.", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_taken(page, capsys):
    for line in commands(page):
        words = shlex.split(line, comments=True)[1:]
        words = words[: words.index("&&")] if "&&" in words else words
        words = words[: words.index(">")] if ">" in words else words
        try:
            build_parser().parse_args([NUMBERS.get(word, word) for word in words])
        except SystemExit:
            raise AssertionError(f"{line}\n{capsys.readouterr().err}") from None


def test_pages_show_commands():
    assert sum(len(commands(page)) for page in PAGES) > 25
