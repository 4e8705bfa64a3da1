"""The bytes of a JSON document for a parser that knows no NaN and no infinities.

Python, and evaluation tools written in it, write NaN, Infinity and -Infinity where a number is
undefined. RFC 8259 has no such numbers, and ijson refuses them: they become `MARKERS`, numbers that
no program writes, on the way to the parser, and their names again (`NAMES`) behind it.
"""

from __future__ import annotations

import codecs
import re
from typing import IO

MARKERS = {"NaN": "0e70001", "Infinity": "0e70002", "-Infinity": "-0e70002"}
NAMES = {"0E+70001": "NaN", "0E+70002": "Infinity", "-0E+70002": "-Infinity"}
"""The names of `MARKERS`, by their text as decimals."""
TOKEN = re.compile(r"(?<![\w.+-])(?:NaN|-?Infinity)(?![\w.+-])")
ESCAPED = (("\\\\", "\udc00"), ('\\"', "\udc01"))
"""Escapes that end no string, and surrogates that no decoded text holds."""
UNFINISHED = re.compile(r"[\w.+-]{1,16}\Z")
"""What may be the start of a token, at the end of a block."""
BACKSLASHES = re.compile(r"\\+\Z")


class JsonBytes:
    """The bytes of a file as UTF-8, without a byte order mark, with `MARKERS`.

    Parameters
    ----------
    raw
        The file.
    encoding
        Its encoding.
    slow_from
        Bytes after which each `read` returns a character or token, so that `place` is exact.
    """

    def __init__(self, raw: IO[bytes], encoding: str, slow_from: int | None = None) -> None:
        name = codecs.lookup(encoding).name
        self.raw = raw
        self.decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
        self.slow_from = slow_from
        self.before_last_block = 0
        self._n_read = 0
        self._in_string = False
        self._held = ""
        self._line, self._column = 1, 1
        self.place = (1, 1)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; none at the end."""
        while block := self._block(size):
            if text := self._passed(self.decoder.decode(block)):
                return text.encode()
        return self._passed(self.decoder.decode(b"", final=True), is_last=True).encode()

    def _block(self, size: int) -> bytes:
        if size == 0:  # ijson asks for the type of what is read
            return b""
        if self.slow_from is not None:
            size = min(size, self.slow_from - self._n_read) if self.slow_from > self._n_read else 1
        block = self.raw.read(size)
        self.before_last_block = self._n_read
        self._n_read += len(block)
        return block

    def _passed(self, text: str, *, is_last: bool = False) -> str:
        """Return what of a text can go to the parser; the start of a token waits for its end."""
        text = self._held + text
        in_string = self._in_string != bool(_without_escapes(text).count('"') % 2)
        self._held = ""
        unfinished = None if is_last else (BACKSLASHES if in_string else UNFINISHED).search(text)
        if unfinished and (not in_string or len(unfinished[0]) % 2):
            self._held = unfinished[0][-1:] if in_string else unfinished[0]
            text = text.removesuffix(self._held)
        marked = text
        if "NaN" in text or "Infinity" in text:
            marked = _with_markers(text, in_string=self._in_string)
        self._in_string = in_string
        if text or is_last:
            self.place = (self._line, self._column)
        self._move(text)
        return marked

    def _move(self, text: str) -> None:
        """Count lines and columns to the end of a text."""
        n_lines = text.count("\n")
        self._line += n_lines
        self._column = len(text) - text.rfind("\n") if n_lines else self._column + len(text)


def _without_escapes(text: str) -> str:
    """Return a text in which each quote starts or ends a string."""
    for escape, surrogate in ESCAPED:
        text = text.replace(escape, surrogate)
    return text


def _with_markers(text: str, *, in_string: bool) -> str:
    """Return a text, which starts within a string or not, with markers outside of strings."""
    parts = _without_escapes(text).split('"')
    outside = slice(1 if in_string else 0, None, 2)
    parts[outside] = [TOKEN.sub(_marker, part) for part in parts[outside]]
    text = '"'.join(parts)
    for escape, surrogate in reversed(ESCAPED):
        text = text.replace(surrogate, escape)
    return text


def _marker(match: re.Match[str]) -> str:
    return MARKERS[match[0]]
