"""How far a study is: steps, a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from studies import progress as progress_module
from studies.progress import Steps, progress_bar
from studies.registry import run_study
from tests.studies.study_runs import SMALL


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_told_every_half_second_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(0, 100, 0.2))
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    told: list[str] = []
    steps = Steps(told.append, "lexical", 7)
    for _ in range(7):
        steps.step()
    assert told == ["lexical: 3/7", "lexical: 6/7", "lexical: 7/7"]


def test_an_study_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[str] = []
    run_study("lexical", SMALL, None, None, tmp_path, told.append)
    assert told[-1] == "lexical: 12/12"


def test_a_bar_on_a_terminal_and_lines_elsewhere() -> None:
    messages = ["reading \x1b[2J", "replay: 1/4", "replay: 4/4"]
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with progress_bar(stream) as tell:
            for message in messages:
                tell(message)
    assert terminal.getvalue() == (
        "  reading \ufffd[2J\n"
        f"\r\x1b[K  [{'#' * 8}{'.' * 22}] replay: 1/4"
        f"\r\x1b[K  [{'#' * 30}] replay: 4/4\n"
    )
    assert file.getvalue() == "  reading \ufffd[2J\n  replay: 1/4\n  replay: 4/4\n"


def test_a_line_after_a_bar_begins_anew() -> None:
    terminal = Terminal()
    with progress_bar(terminal) as tell:
        tell("a: 1/2")
        tell("gate 0/0")
    assert terminal.getvalue().endswith("a: 1/2\n  gate 0/0\n")
