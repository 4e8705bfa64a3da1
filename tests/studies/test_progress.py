"""How far a study is: steps, a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io

from studies.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
