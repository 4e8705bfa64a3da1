"""XML from untrusted hands as a stream of starts and ends, in bounded memory.

A document type is refused whatever it declares: exports need none, and entities are how a small
file becomes a huge one (or reads another file).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import IO, NamedTuple
from xml.parsers import expat

from annot_pipeline.exports.raw_rows import Opening

BLOCK = 1 << 16
"""Bytes (or characters, where they are transcoded) that are parsed at once."""

LONGEST_TAG = 1 << 20
"""Bytes of a tag with its attributes, or of a comment: they must be held whole to be read."""

TEXT = "#text"
"""The name of an event that is a text (not blank) inside an element; it may come in pieces."""


class XmlEvent(NamedTuple):
    """The start of an element, its end, or a text.

    Parameters
    ----------
    name
        Of the element, prefix included; `TEXT` for a text.
    attributes
        Of a start; None for an end or a text.
    line
        Where it stands in the file, from 1.
    """

    name: str
    attributes: Mapping[str, str] | None
    line: int


def xml_events(opening: Opening) -> Iterator[XmlEvent]:
    """Yield the events of a file, in order; none if it is blank.

    The encoding is ``options.encoding`` where that is not UTF-8, else what the file declares.

    Raises
    ------
    InputError
        It is not well-formed, has a document type, or a tag is too long; with the line.
    """
    parser, events = _parser(opening)
    n_bytes, blank = 0, True
    with opening.open_bytes() as raw:
        for block in _blocks(opening, raw):
            blank = blank and not block.strip()
            n_bytes += len(block)
            _parse(opening, parser, block)
            yield from events
            events.clear()
            if n_bytes - parser.CurrentByteIndex > LONGEST_TAG:
                raise opening.broken(
                    f"a tag or comment is longer than {LONGEST_TAG:,} bytes, "
                    f"line {parser.CurrentLineNumber}",
                    "check that the file is the export",
                )
    if not blank:
        _parse(opening, parser, b"", last=True)
        yield from events


def _parser(opening: Opening) -> tuple[expat.XMLParserType, list[XmlEvent]]:
    """Return a parser, and the list that its events go to."""
    parser = expat.ParserCreate(None if opening.is_utf8 else "utf-8")
    parser.buffer_text = True
    events: list[XmlEvent] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        events.append(XmlEvent(name, attributes, parser.CurrentLineNumber))

    def end(name: str) -> None:
        events.append(XmlEvent(name, None, parser.CurrentLineNumber))

    def text(data: str) -> None:
        if not data.isspace():
            events.append(XmlEvent(TEXT, None, parser.CurrentLineNumber))

    def refuse(*_: object) -> None:
        raise opening.broken(
            f"has a document type (<!DOCTYPE>), line {parser.CurrentLineNumber}: "
            "what it may declare is not read",
            "fetch the export again: Appraise writes none",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    return parser, events


def _parse(
    opening: Opening, parser: expat.XMLParserType, block: bytes, *, last: bool = False
) -> None:
    try:
        parser.Parse(block, last)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise opening.broken(
            f"the XML is damaged or cut short ({what}, line {error.lineno})",
            "fetch the export again; if its text is not in the encoding that it declares "
            "(UTF-8 if it declares none), set options.encoding",
        ) from None
    except (LookupError, ValueError) as error:
        raise opening.broken(
            f"declares an encoding that cannot be read ({error})",
            "set options.encoding to the file's encoding",
        ) from None


def _blocks(opening: Opening, raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the file, block by block; in UTF-8 where ``options.encoding`` says what it is in."""
    n_bytes = opening.block_bytes or BLOCK
    if opening.is_utf8:
        while block := raw.read(n_bytes):
            yield block
        return
    with io.TextIOWrapper(raw, opening.encoding, newline="") as text:
        try:
            while characters := text.read(n_bytes):
                yield characters.encode()
        except UnicodeError:
            raise opening.broken(
                f"is not text in {opening.encoding}",
                "set options.encoding to the file's encoding",
            ) from None
