"""Conversations of `annot init` on a terminal of 80 columns; docs/conversations.md has some.

``UPDATE_DOCS=1 SOAK=1 pytest tests/init/test_conversations.py`` writes the page; read it then.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from tests.recorded_pages import check_page

PAGE = Path(__file__).parents[2] / "docs/conversations.md"
COLUMNS, ROWS = 80, 40
MOST_SECONDS = 60
PROMPT = re.compile(rb"(stop|name): $")
STYLE = re.compile(r"\x1b\[[0-9;]*m")
HEAD = """# Conversations

What `annot init` asks on a terminal about two exports whose columns do not say all. Cells that may
be names of people are shown by their shape: `a9` stands for letters and digits. Options such as
`--judge vp` give the same answers without a terminal. [Mapping](mapping.md#what-annot-init-asks)
explains them.
"""


def listening_test() -> str:
    rows = [
        f"{person + 1},song{song},{codec},{40 + 20 * place + (person * 7 + song * 3) % 11}"
        for person in range(8) for song in range(5)
        for place, codec in enumerate(("v1", "v2", "original"))
    ]  # fmt: skip
    return "\n".join(["vp,stimulus,verfahren,wert", *rows, ""])


def rubric() -> str:
    rows = [
        f"essay {n},{n % 5 + 1},{n * 3 % 5 + 1},{n * 2 % 5 + 1},{'fine' if n % 3 else 'see notes'}"
        for n in range(30)
    ]
    return "\n".join(["essay,clarity,evidence,style,remark", *rows, ""])


def nested() -> str:
    def said(n: int, k: int, who: str) -> dict[str, object]:
        tone = "kind" if n * k % 2 else "rude"
        return {"who": {"name": who}, "verdict": {"ok": (n + k) % 3 > 0, "tone": tone}}

    judges = list(enumerate(("ada", "bea", "cy")))
    documents = [
        {
            "meta": {"uid": f"d{n}", "lang": "en"},
            "review": {"rounds": [said(n, k, who) for k, who in judges]},
        }
        for n in range(20)
    ]
    return json.dumps({"project": "p", "documents": documents})


def matrix() -> str:
    rows = [
        ",".join([f"headline {n}", *("news" if (n + k) % 4 else "clickbait" for k in range(4))])
        for n in range(25)
    ]
    return "\n".join(["headline,K1,K2,K3,K4", *rows, ""])


EXPORTS = {
    "A listening test": ("hearing.csv", listening_test, ["1", "3"]),
    "A rubric sheet": ("rubric.csv", rubric, ["1", "Anna"]),
    "Nested JSON": ("nested.json", nested, ["1", "1"]),
    "A matrix": ("matrix.csv", matrix, ["1"]),
}

SHOWN = ("A listening test", "A rubric sheet")
"""Conversations that the page has, the first with its campaign."""


def conversation(folder: Path, command: Sequence[str], answers: Sequence[str]) -> str:
    """Return what a terminal shows of a command, with the answers that are typed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ |= {"TERM": "dumb", "COLUMNS": str(COLUMNS)}
        os.execv(sys.executable, [sys.executable, "-m", "annot_pipeline.cli", *command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    shown, left, end = b"", list(answers), time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            shown += os.read(terminal, 1 << 16)
        except OSError:  # the command has ended
            break
        if PROMPT.search(shown):
            os.write(terminal, f"{left.pop(0) if left else ''}\n".encode())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown.decode()
    assert not left
    lines = STYLE.sub("", shown.decode()).split("\r\n")
    return "\n".join(line.rstrip() for line in lines)


@pytest.mark.slow
def test_what_is_asked_and_answered(tmp_path: Path) -> None:
    page = [HEAD]
    for title, (name, export, answers) in EXPORTS.items():
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text(export(), encoding="utf-8")
        command = ["init", name, "-o", "campaign"]
        shown = conversation(folder, command, answers)
        asked = shown[: shown.index("# Written by annot init")]
        assert max(map(len, asked.splitlines())) <= COLUMNS
        assert load_campaign(folder / "campaign")
        body = shown[shown.index("sources:") : shown.index("written to")]
        if title not in SHOWN:
            continue
        page.append(
            f"## {title}\n\n```console\n$ annot {' '.join(command)}\n{asked.rstrip()}\n```\n"
        )
        if title == SHOWN[0]:
            page.append(f"The campaign that this writes:\n\n```yaml\n{body.rstrip()}\n```\n")
    check_page(PAGE, "\n".join(page))
