"""Line numbers of the rows of archived exports, for the people who read row numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from annot_pipeline.config import Limits, LoadedCampaign, ReadOptions
from annot_pipeline.exports import Opening
from annot_pipeline.exports.line_numbers import row_lines
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store

MOST_BYTES = 256 << 20
"""Of an archived export that a build reads again for line numbers; `annot trace` reads any."""

Place = tuple[str, str, int]
"""Export, its digest as published, row."""
FindLines = Callable[[Iterable[Place]], dict[Place, int]]
"""Given places, the lines of those that have one."""


class Reading(Protocol):
    """How an export is read: a source or an item table."""

    @property
    def format(self) -> str:
        """Return the format."""

    @property
    def options(self) -> ReadOptions:
        """Return how its bytes are read."""


class _Released:
    """A source as the manifest of a release has it."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.format = str(source["format"])
        fields = {k: v for k, v in (source.get("options") or {}).items() if k in READ}
        self.options = ReadOptions.model_construct(**fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Released) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


READ = ReadOptions.model_fields.keys()


def export_lines(
    archive_path: Path,
    name: str,
    source: Reading,
    limits: Limits,
    rows: Iterable[int],
    most_bytes: int | None = None,
) -> dict[int, int]:
    """Return the lines of rows of an archived export; none if the archive lost it.

    Parameters
    ----------
    archive_path, name
        Its archived bytes, and its name.
    source
        How it is read.
    limits
        What it may hold at most.
    rows
        Row numbers.
    most_bytes
        A larger file is not read; None: any is.
    """
    if not archive_path.is_file() or (
        most_bytes is not None and archive_path.stat().st_size > most_bytes
    ):
        return {}
    opening = Opening.with_options(archive_path, name, source.options, limits=limits)
    return row_lines(opening, source.format, rows)


def _source_of(manifest: Mapping[str, Any], position: int) -> Mapping[str, Any] | None:
    """Return a source of a manifest's settings, which no model holds to a form; None: not one."""
    sources = manifest["settings"].get("sources")
    if not isinstance(sources, list) or not 0 <= position < len(sources):
        return None
    source = sources[position]
    if not isinstance(source, dict) or "format" not in source:
        return None
    is_read = isinstance(source.get("options") or {}, dict)
    return source if is_read else None


def released_lines(
    campaign: LoadedCampaign, manifest: Mapping[str, Any], most_bytes: int | None = None
) -> FindLines:
    """Return what finds lines of the exports of a release, as far as the archive has their bytes.

    Parameters
    ----------
    campaign
        Whose archive and key.
    manifest
        Of the release, which may still be in the making: its ``sources`` and ``settings``.
    most_bytes
        As for `export_lines`.
    """
    store = Store(campaign.store)
    digests = SourceDigests(store, campaign.settings)
    mapped: dict[tuple[str, str], list[_Released]] = defaultdict(list)
    for export in manifest["sources"]:
        if export.get("kind") == "judgments" and "source" in export:
            source = _source_of(manifest, export["source"])
            if source is not None:
                mapped[export["name"], source_digest(export)].append(_Released(source))

    def find(places: Iterable[Place]) -> dict[Place, int]:
        rows: dict[tuple[str, str], set[int]] = defaultdict(set)
        for name, digest, row in places:
            rows[name, digest].add(row)
        lines_by_place: dict[Place, int] = {}
        for (name, digest), row_numbers in rows.items():
            sources, sha256 = mapped.get((name, digest), []), digests.sha256(digest)
            if sha256 is None or not sources or any(s != sources[0] for s in sources):
                continue  # two sources may read one export in two ways
            archive_path, limits = archived(store.archive, sha256), campaign.settings.limits
            lines = export_lines(archive_path, name, sources[0], limits, row_numbers, most_bytes)
            lines_by_place |= {(name, digest, row): line for row, line in lines.items()}
        return lines_by_place

    return find
