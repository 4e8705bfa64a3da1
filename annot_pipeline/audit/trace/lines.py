"""Line numbers beside the row numbers of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from annot_pipeline.stages.ingest.archived_lines import FindLines, Place

Row = dict[str, Any]


def no_lines(places: Iterable[Place]) -> dict[Place, int]:  # noqa: ARG001 - a `FindLines`
    """Return no line: the exports are not at hand."""
    return {}


def with_lines(traces: Sequence[Row], find: FindLines) -> list[Row]:
    """Return traces whose records have a ``line``: where their row starts; null if unknown."""
    lines = find({_place(record) for trace in traces for record in _records(trace)})
    for trace in traces:
        for record in _records(trace):
            record["line"] = lines.get(_place(record))
    return list(traces)


def _records(trace: Row) -> Iterator[Row]:
    """Yield what has a row number: the places of judgments, and other records."""
    for judgment in trace["judgments"]:
        yield from judgment["places"]
    yield from trace["votes"]
    yield from trace["other_records"]


def _place(record: Row) -> Place:
    digest = record.get("source_digest", record.get("source_sha256"))  # schema 3
    return record["source_file"], digest or "", record["source_row"]
