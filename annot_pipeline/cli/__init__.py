"""The command line: one parser, errors as readable blocks, exit statuses.

`arguments` declares the commands, `render` writes their documents as text.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, TextIO

from annot_pipeline.cli.arguments import COMMANDS
from annot_pipeline.cli.common import terminal
from annot_pipeline.cli.terminal import write
from annot_pipeline.errors import AnnotError, Problem, StoreError, printable
from annot_pipeline.version import __version__

EXIT = (
    "Exit status: 0 done; 1 a gate failed, a check did not match, or data, the store or gold "
    "cannot be used (the last release stands); 2 wrong usage or configuration."
)
__all__ = ["COMMANDS", "build_parser", "console", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status (0 done, 1 not published, 2 wrong usage)."""
    arguments = build_parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that is not UTF-8 shows escapes
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        screen = terminal.begin(quiet=arguments.quiet, verbose=arguments.verbose)
        with _printed(as_json=getattr(arguments, "json", False)), contextlib.closing(screen):
            status: int = arguments.run(arguments)
        return status
    except AnnotError as error:
        return _failed(arguments, error)
    except BrokenPipeError:
        return 0
    except MemoryError:
        do = "end other programs, or take a machine with more memory; the last release stands"
        return _failed(
            arguments, StoreError("not enough memory", [Problem("", "it ran out", do=do)])
        )
    except OSError as error:
        what = f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}"
        problem = Problem("", what, do="free space, or restore access")
        return _failed(arguments, StoreError("a file cannot be read or written", [problem]))
    except Exception as error:
        if os.environ.get("ANNOT_DEBUG"):
            raise
        what = f"{type(error).__name__}: {str(error).strip() or 'no message'}"
        do = "please report it, with what ANNOT_DEBUG=1 annot ... prints"
        return _failed(arguments, StoreError("a defect of annot", [Problem("", what, do=do)]))
    except KeyboardInterrupt:
        print("annot: stopped; the last release stands", file=sys.stderr)
        return 130


@contextlib.contextmanager
def _printed(*, as_json: bool) -> Iterator[None]:
    """Keep what moves a terminal's cursor out of all that is printed; JSON escapes it itself.

    Texts come from exports, and from manifests that somebody else may have written.
    """
    with contextlib.ExitStack() as redirected:
        if not as_json:
            redirected.enter_context(contextlib.redirect_stdout(PrintableStream(sys.stdout)))
        redirected.enter_context(contextlib.redirect_stderr(PrintableStream(sys.stderr)))
        yield


class PrintableStream(io.TextIOBase):
    """Writes lines of text to another stream as `printable` shows them."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text; line ends and tabs stay."""
        parts = re.split(r"([\n\t])", text)
        self.stream.write("".join(p if p in ("\n", "\t") else printable(p) for p in parts))
        return len(text)

    def flush(self) -> None:
        """Flush the other stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Return whether the other stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor of the other stream."""
        return self.stream.fileno()


def console() -> NoReturn:
    """Return the command as installed: ends without the destructors of native libraries.

    Their threads may still be ending then, and now and then abort a process that has done all that
    it was asked for. What Python has to do at the end is done.
    """
    gc.set_threshold(50_000)  # to look for cycles after every 700 objects takes a tenth of all time
    try:
        status = main()
    except SystemExit as end:  # argparse: wrong usage, --help
        status = end.code if isinstance(end.code, int) else 2
    except BaseException:  # what ANNOT_DEBUG asks for
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # a pipe that nobody reads any more
            stream.flush()
    os._exit(status)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors fit the terminal, and show no characters that move its cursor."""

    def error(self, message: str) -> NoReturn:
        """Say how the command is used, and what is wrong; exit with status 2."""
        self.print_usage(sys.stderr)
        write([f"error: {message}"], sys.stderr)
        self.exit(2)


class _Commands(_Parser):
    """The parser of all commands: a wrong name is answered with the likely one."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and which command was probably meant."""
        if match := re.search(r"invalid choice: '([^']*)'", message):
            names = [command.name for command in COMMANDS]
            meant = "".join(f"; did you mean {n}?" for n in get_close_matches(match[1], names, 1))
            message = f"no command {match[1]}{meant} (annot --help lists all)"
        super().error(message)


class _Command(_Parser):
    """A command whose options may stand before, between and after what they are about."""

    _typed: Sequence[str] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return arguments in any order, which argparse itself does not take."""
        if self._typed is not None:
            return super().parse_known_args(args, namespace)
        self._typed = args
        try:
            arguments, unknown = self.parse_known_intermixed_args(args, namespace)
            if unknown:
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            return arguments, unknown
        finally:
            self._typed = None

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and how a name that starts with a hyphen is given."""
        own = {"--", *self._option_string_actions}
        words = [w for w in self._typed or () if w[:1] == "-" and w.partition("=")[0] not in own]
        if words and "arguments are required" in message:
            message += f" (write -- before a name that starts with a hyphen: -- {words[0]})"
        meant = get_close_matches(words[0], own, 1) if words and "unrecognized" in message else []
        message += "".join(f"; did you mean {name}?" for name in meant)
        super().error(message)


def _failed(arguments: argparse.Namespace, error: AnnotError) -> int:
    """Say what is wrong: a block on stderr, and with --json a document on stdout too."""
    write(f"annot: {error}".split("\n"), sys.stderr)
    if arguments.json:
        with contextlib.suppress(BrokenPipeError):  # nobody reads on
            document = {"error": error.document(), "exit_status": error.exit_status}
            print(json.dumps(document, indent=2), flush=True)
    return error.exit_status


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Commands(
        prog="annot",
        description="From raw judgment exports to versioned gold datasets.",
        epilog="Start with: annot init EXPORT... -o DIR",
    )
    parser.add_argument("--version", action="version", version=f"annot {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Command)
    for command in COMMANDS:
        text = f"{command.help[:1].upper()}{command.help[1:]}."
        command.add_to(
            commands.add_parser(command.name, help=command.help, description=text, epilog=EXIT)
        )
    return parser
