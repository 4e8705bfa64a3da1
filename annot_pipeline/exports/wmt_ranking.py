"""Ranking XML of Appraise, as WMT published its human evaluation of 2013 to 2016.

A document type is refused whatever it declares: exports need none, and entities are how a small
file becomes a huge one (or reads another file).

``HIT(hit-id, source-language, target-language, block-id) > ranking-task(id: the segment) >
ranking-result(user, duration, skipped) > translation(system="a,b", rank)``

A row is one ranking-result, counted over the file; a cell is one system of it. A translation
may name several systems: one output, so these share position and rank. A ranking without an
output is one record, and no judgment. Everything stays as written but for ``duration``, which
is in seconds, and what is made: ``position`` (from 1) and ``ranking``.

The file is read twice, so that equal rankings of one judge can be told apart by what they say,
not by where they stand, and so that its rows are counted apart from the records.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple
from xml.parsers import expat

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.errors import shorten
from annot_pipeline.exports.raw_rows import Export, Opening, RawRows

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


CHUNK = 50_000
"""Records at once, and a ranking more."""

MOST_SYSTEMS = 1_000
"""That one output may have."""

MOST_KINDS = 50
"""Of what is ignored; names of elements are in the hands of who wrote the file."""

HIT, TASK, RESULT, OUTPUT = "HIT", "ranking-task", "ranking-result", "translation"
EMPTY_EXPORT = re.compile(r".*-results", re.IGNORECASE)
"""The element of a file in which Appraise found nothing to export."""

OF_HIT = {
    "source_language": "source-language",
    "target_language": "target-language",
    "hit_id": "hit-id",
    "block_id": "block-id",
}
OF_RANKING = (*OF_HIT, "segment", "user", "duration", "duration_text", "ranking")
COLUMNS = (*OF_RANKING, "position", "system", "rank")
KNOWN: dict[str, frozenset[str]] = {
    HIT: frozenset(OF_HIT.values()),
    TASK: frozenset({"id"}),
    RESULT: frozenset({"user", "duration", "skipped"}),
    OUTPUT: frozenset({"system", "rank"}),
}
"""Attributes that are read; others are counted as ignored."""

DURATION = re.compile(
    r"(?:(\d{1,6}) days?, )?(\d{1,2}):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?", re.ASCII
)
"""As Python writes a time or a span of time."""

Attributes = Mapping[str, str]
NONE: Attributes = {}
Texts = tuple[str | None, ...]


@dataclass
class _Ranking:
    """A ranking-result with the attributes of all elements that it stands in."""

    hit: Attributes
    task: Attributes
    result: Attributes
    outputs: list[Attributes] = field(default_factory=list)

    @property
    def is_skipped(self) -> bool:
        return self.result.get("skipped", "").strip().lower() == "true"

    @property
    def key(self) -> list[object]:
        """Return who ranked what; a judge may do so twice.

        The systems are part of it, in no order: two rankings of one segment that stand in two
        files must not become one, which would compare what was never shown together.
        """
        of_hit = [self.hit.get(name) for name in OF_HIT.values()]
        named = (name for output in self.outputs for name in output.get("system", "").split(","))
        systems = sorted({*map(str.strip, named)} - {""})
        return [*of_hit, self.task.get("id"), self.result.get("user"), systems]

    @property
    def answer_values(self) -> list[object]:
        """Return what tells rankings of one key apart."""
        outputs = [(output.get("system"), output.get("rank")) for output in self.outputs]
        return [self.result.get("duration"), self.is_skipped, *outputs]


def read_wmt_ranking(opening: Opening) -> Export:
    """Open a ranking XML; see `raw_rows.Export`.

    Raises
    ------
    InputError
        The file is no well-formed XML, or no ranking stands in it.
    """
    ignored: Counter[str] = Counter()
    ordinals = _ordinals(_rankings(opening, ignored))
    export = Export(iter(()), [*COLUMNS], dict(ignored), len(ordinals))
    export.chunks = _chunks(opening, ordinals)
    return export


# --- records -------------------------------------------------------------------------------


def _chunks(opening: Opening, ordinals: npt.NDArray[np.int64]) -> Iterator[RawRows]:
    used_columns = [n for n in COLUMNS if opening.used_columns is None or n in opening.used_columns]
    records: list[Texts] = []
    rows, n_chunk = array("q"), opening.chunk_records or CHUNK
    for row, ranking in enumerate(_rankings(opening, Counter()), start=1):
        shared = _shared(ranking, int(ordinals[row - 1]))
        for cell in _cells(ranking):
            records.append((*shared, *cell))
            rows.append(row)
        if len(records) >= n_chunk:
            yield _raw_rows(records, rows, used_columns)
            records, rows = [], array("q")
    if records:
        yield _raw_rows(records, rows, used_columns)


def _raw_rows(records: list[Texts], rows: array[int], used_columns: Sequence[str]) -> RawRows:
    names = (*COLUMNS, "cell", "problem")
    texts = dict(zip(names, zip(*records, strict=True), strict=True))
    columns = {n: pa.array(texts[n], pa.string()) for n in (*used_columns, "cell", "problem")}
    return RawRows(
        {name: columns[name] for name in used_columns},
        np.array(rows, np.int64),
        columns["problem"],
        columns["cell"],
    )


def _shared(ranking: _Ranking, ordinal: int) -> Texts:
    """Return the columns `OF_RANKING`."""
    duration = ranking.result.get("duration")
    return (
        *(ranking.hit.get(name) for name in OF_HIT.values()),
        ranking.task.get("id"),
        ranking.result.get("user"),
        _seconds(duration),
        duration,
        _digest(ranking.key, 8).hex() + (f"-{ordinal}" if ordinal > 1 else ""),
    )


def _seconds(duration: str | None) -> str | None:
    """Return a duration as seconds, in plain decimals; None where it is none."""
    match = DURATION.fullmatch((duration or "").strip())
    if not match:
        return None
    days, hours, minutes, seconds = (int(match[n] or 0) for n in range(1, 5))
    whole = ((24 * days + hours) * 60 + minutes) * 60 + seconds
    return f"{whole}.{match[5] or ''}".rstrip("0").rstrip(".") if match[5] else str(whole)


def _cells(ranking: _Ranking) -> Iterator[Texts]:
    """Yield position, system, rank, cell of the row, and problem of each system."""
    if ranking.is_skipped and ranking.outputs:
        yield None, None, None, None, "the ranking is marked as skipped, but holds outputs"
    elif not ranking.outputs:
        skipped = " (skipped)" if ranking.is_skipped else ""
        yield None, None, None, None, f"the ranking holds no output{skipped}"
    else:
        for position, output in enumerate(ranking.outputs, start=1):
            for system, cell, problem in _systems(output, str(position)):
                yield str(position), system, output.get("rank"), cell, problem


def _systems(output: Attributes, location: str) -> Iterator[tuple[str | None, str, str | None]]:
    """Yield the systems of an output, each with its cell and what is wrong with its name."""
    named = output.get("system", "")
    if named.count(",") >= MOST_SYSTEMS:
        yield None, location, f"a translation names more than {MOST_SYSTEMS:,} systems"
        return
    counts: Counter[str] = Counter()
    for system in map(str.strip, named.split(",")):
        counts[system] += 1
        cell = f"{location}.{system}" + (f"#{counts[system]}" if counts[system] > 1 else "")
        if not system:
            yield None, cell, "a translation without the name of a system"
        elif counts[system] > 1:
            yield system, cell, "a translation names a system twice"
        else:
            yield system, cell, None


# --- rankings ------------------------------------------------------------------------------


def _rankings(opening: Opening, ignored: Counter[str]) -> Iterator[_Ranking]:
    """Yield the rankings of a file, in order; what is none of them is counted in ``ignored``."""
    hit, task, ranking = NONE, NONE, None
    root, n_tasks, n_results = "", 0, 0
    for event in xml_events(opening):
        name, attributes, line = event
        if name == TEXT:
            _ignore(ignored, "texts between elements")
        elif attributes is not None:
            root = root or name
            _note(ignored, event, is_root=name == root)
            if name == HIT:
                hit = attributes
            elif name == TASK:
                task, n_tasks, n_results = attributes, n_tasks + 1, 0
            elif name == RESULT and ranking:
                raise opening.broken(
                    f"a {RESULT} is nested in another, line {line}", "fetch the export again"
                )
            elif name == RESULT:
                ranking, n_results = _Ranking(hit, task, attributes), n_results + 1
            elif name == OUTPUT and ranking:
                ranking.outputs.append(attributes)
            elif name == OUTPUT:
                _ignore(ignored, f"{OUTPUT} elements outside of a {RESULT}")
        elif name == HIT:
            hit = NONE
        elif name == TASK:
            task = NONE
            if not n_results:
                _ignore(ignored, f"{TASK} elements without a {RESULT}")
        elif name == RESULT and ranking:
            yield ranking
            ranking = None
    if root and not n_tasks and not EMPTY_EXPORT.fullmatch(root):
        raise opening.broken(
            f"it has no {TASK}: its first element is {shorten(root)}",
            f"check format: wmt_ranking is HIT > {TASK} > {RESULT} > {OUTPUT}",
        )


def _note(ignored: Counter[str], event: XmlEvent, *, is_root: bool) -> None:
    """Count an unknown element, or the unknown attributes of a known one."""
    allowed = KNOWN.get(event.name)
    if allowed is None:
        if not is_root:
            _ignore(ignored, f"{shorten(event.name)} elements")
    elif event.attributes and not event.attributes.keys() <= allowed:
        for name in event.attributes.keys() - allowed:
            _ignore(ignored, f"{shorten(name)} attributes of {event.name}")


def _ignore(ignored: Counter[str], kind: str) -> None:
    ignored[kind if kind in ignored or len(ignored) < MOST_KINDS else "others"] += 1


def _ordinals(rankings: Iterator[_Ranking]) -> npt.NDArray[np.int64]:
    """Return ``(n_rankings,)`` the number of each among those of its key, from 1.

    In the order of what they say, and only then of the file, so that it stays when rows move.
    """
    keys, answer_digests = array("Q"), array("Q")
    for ranking in rankings:
        keys.append(int.from_bytes(_digest(ranking.key, 8), "big"))
        answer_digests.append(int.from_bytes(_digest(ranking.answer_values, 8), "big"))
    key, answer_digest = np.array(keys, np.uint64), np.array(answer_digests, np.uint64)
    order = np.lexsort((answer_digest, key))  # stable: equal ones stay in the order of the file
    starts = np.flatnonzero(np.diff(key[order], prepend=key[order][:1] + np.uint64(1)))
    lengths = np.diff(starts, append=len(key))
    ordinals = np.empty(len(key), np.int64)
    ordinals[order] = 1 + np.arange(len(key)) - np.repeat(starts, lengths)
    return ordinals


def _digest(values: Sequence[object], size: int) -> bytes:
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=size).digest()
