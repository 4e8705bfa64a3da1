"""What people see while a command runs: one line that moves, messages, warnings, colours.

A terminal has a line with step, part and time, which is rewritten; a file gets plain lines. rich
writes to terminals and is loaded for them alone.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable
from textwrap import fill
from typing import TYPE_CHECKING, Any, TextIO

from annot_pipeline.errors import Passing, Step, counted, printable, relative_paths

if TYPE_CHECKING:
    from rich.console import Console

BETWEEN = 60.0
"""Seconds between passing messages in a file."""
WARNING = "warn: "
STYLES = {"warn:": "yellow", "error:": "red", "annot:": "bold red", "next:": "bold"}
STYLES |= {"published": "green"}
"""Styles of lines by their first word."""
ITERATIONS = re.compile(r"(: iteration \d|; the label model took up to [\d,]+ iteration).*")
"""What a message says of iterations, which is told with -v alone."""
LONG_WORD = re.compile(r"(?<=[^\s/]{299})[^\s/]{2,}")
"""What a terminal leaves out of words of more than 300 characters; no folder has so long a name."""
TO_COPY = re.compile(r" *(annot|open|dagster) |next: (.* )?(annot|open) |.*(^| )# |\s*\"")
"""Commands, and lines of a file or of JSON, which are not divided."""


class Terminal:
    """Where a command says what it does.

    Parameters
    ----------
    quiet
        Whether only warnings and errors are told.
    verbose
        Whether passing messages are told in a file too.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.begin(quiet=quiet, verbose=verbose)

    def begin(self, *, quiet: bool, verbose: bool) -> Terminal:
        """Begin a command; return the terminal."""
        self.quiet, self.verbose = quiet, verbose
        self.step, self.part, self.start = "", "", time.monotonic()
        self.last = self.start
        self.warnings: list[str] = []
        self.live: Any = None
        return self

    def say(self, message: str) -> None:
        """Tell a message about the progress."""
        if not self.verbose:
            message = type(message)(ITERATIONS.sub("", message))
        if message.startswith(WARNING):
            self.warnings.append(message.removeprefix(WARNING))
        elif self.quiet:
            return
        elif isinstance(message, Passing) and sys.stderr.isatty():
            self._move(message)
        elif not isinstance(message, Passing) or self._is_due():
            self._print(f"  {message}")

    def close(self) -> None:
        """End the line that moves, and tell the warnings."""
        if self.live is not None:
            self.live.stop()
            self.live = None
        if self.warnings:
            self._print(f"  {counted(len(self.warnings), 'warning')}")
        for warning in self.warnings:
            self._print(f"  warn: {relative_paths(warning)}")
        self.warnings = []

    def _is_due(self) -> bool:
        is_due = self.verbose or time.monotonic() - self.last >= BETWEEN
        self.last = time.monotonic() if is_due else self.last
        return is_due

    def _move(self, message: Passing) -> None:
        if isinstance(message, Step):
            self.step, message = printable(message), Passing()
        self.part = printable(message).removeprefix(f"{self.step.partition('] ')[2]}: ")
        if self.live is None:
            from rich.live import Live

            self.live = Live(
                console=console(sys.stderr), get_renderable=self._line, transient=True,
                refresh_per_second=4,
            )  # fmt: skip
            self.live.start()

    def _line(self) -> Any:
        from rich.text import Text

        minutes, seconds = divmod(int(time.monotonic() - self.start), 60)
        parts = [part for part in (self.step, self.part, f"{minutes}:{seconds:02}") if part]
        return Text(", ".join(parts), style="cyan", no_wrap=True, overflow="ellipsis")

    def _print(self, line: str) -> None:
        if self.live is not None:
            self.live.console.print(styled(line, self.live.console.width), soft_wrap=True)
        else:
            write([line], sys.stderr)


def write(lines: Iterable[str], stream: TextIO) -> None:
    """Write lines, on a terminal in colours by their first word."""
    if not (stream.isatty() or os.environ.get("FORCE_COLOR")):
        for line in lines:
            print(printable(line), file=stream, flush=True)
        return
    target = console(stream)
    for line in lines:
        target.print(styled(line, target.width * stream.isatty()), soft_wrap=True)


def styled(line: str, width: int) -> Any:
    """Return a line with the style of its first word, divided between words if it is too long."""
    from rich.text import Text

    text, word = printable(line), line.strip().partition(" ")[0]
    if 0 < width < len(text) and not TO_COPY.match(text):
        tab = " " * (len(text) - len(text.lstrip()) + 2)
        whole: Any = {"break_long_words": False, "break_on_hyphens": False}
        text = fill(LONG_WORD.sub("…", text), width, subsequent_indent=tab, **whole)
    return Text(text, style=STYLES.get(word, ""))


def console(stream: TextIO) -> Console:
    """Return rich's console on a stream, beneath what makes texts printable; it heeds NO_COLOR."""
    from rich.console import Console

    return Console(
        file=getattr(stream, "stream", stream), force_terminal=True, highlight=False, markup=False,
        emoji=False,
    )  # fmt: skip
