"""What the pages show, read from releases and the archive: documents, no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any

import pyarrow.compute as pc

from annot_pipeline.audit.bisect import bisect
from annot_pipeline.audit.diff.releases import diff_releases
from annot_pipeline.config import LoadedCampaign
from annot_pipeline.config.campaign_file import kept_settings
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.stages.ingest.archived_lines import MOST_BYTES, Place, released_lines
from annot_pipeline.stages.ingest.opened_exports import open_export
from annot_pipeline.stages.ingest.read_records import columns_by_field
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.manifest import MANIFEST
from annot_pipeline.storage.manifest_changes import source_digest
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases
from annot_pipeline.storage.source_digests import SourceDigests
from annot_pipeline.storage.store import Store
from annot_pipeline.storage.tables import StoredTable

ROWS = 50
"""Rows of a page."""
MOST_READ = MOST_BYTES // 16
"""Of an archived export that is read for the line numbers of a page."""
MASKED = "(name not shown)"
SHORTEST = 3
"""Characters of a name that is looked for in other cells: a judge named 1 is in every number."""
Document = dict[str, Any]
place_of = itemgetter("source_file", "source_digest", "source_row")

LISTS = {
    "items": ("labels label_distributions items judgments", "task label judge words uncertain"),
    "scored": ("scores judgments items", "task item words"),
    "judges": ("judges", "task judge verdict dropped"),
    "judgments": ("judgments lineage labels", "task item judge fate answer"),
    "other_fates": ("lineage", "task item judge fate"),
    "unknown": ("labels prevalence judges lineage", "label judge verdict fate"),
}
"""Lists of rows, most doubtful first, by their query: the tables that it reads, and its filters."""


class Pages:
    """Reads what pages show.

    Parameters
    ----------
    campaign
        Whose releases.
    show_names
        Whether raw rows are shown with the names of judges though these have pseudonyms.
    """

    def __init__(self, campaign: LoadedCampaign, *, show_names: bool = False) -> None:
        self.campaign = campaign
        self.show_names = show_names or not campaign.settings.privacy.pseudonymize
        self.queries = Queries(campaign.settings.resources, campaign.spill)
        self.opened: dict[str, Release] = {}
        self.stored = lru_cache(256)(self._stored)
        self.lines_beyond = cache(self._lines_beyond)
        self.causes = cache(self._causes)
        self.changes = lru_cache(8)(self._changes)

    def local(self, message: str) -> str:
        """Return a message with paths from the campaign on; of folders elsewhere their names."""
        message = message.replace(f"{self.campaign.folder}/", "")
        for folder in (self.campaign.gold, self.campaign.store):
            message = message.replace(str(folder), folder.name)
        return message

    def releases(self) -> Releases:
        """Return the releases as they are now: one may be new, or removed."""
        return Releases.for_campaign(self.campaign)

    def release(self, version: str) -> Release:
        """Return a release.

        Raises
        ------
        StoreError
            There is none of this name, or it was removed.
        """
        release = self.opened.get(version)  # unless it was removed while the page was open
        if release is None or not release.file(MANIFEST).exists():
            release = self.releases().get(version)
            self.opened[release.version] = release
        return release

    def _stored(self, version: str, name: str) -> StoredTable:
        """Return a table whose checksums were verified once in this process."""
        return self.release(version).stored(name)

    def _rows(
        self, query: str, version: str, tables: str, parameters: Mapping[str, Any]
    ) -> list[Document]:
        self.release(version)
        inputs = {name: self.stored(version, name) for name in tables.split()}
        rows: list[Document] = self.queries.table(f"serve/{query}", inputs, parameters).to_pylist()
        return rows

    def listed(
        self, query: str, version: str, chosen: Mapping[str, Any], page: int
    ) -> list[Document]:
        """Return rows of one of `LISTS` that its filters choose."""
        tables, filters = LISTS[query]
        parameters = {name: chosen.get(name) or None for name in filters.split()}
        part = {"most": ROWS, "skipped": ROWS * page}
        return self._rows(query, version, tables, parameters | part)

    def item(self, version: str, task: str, item: str) -> Document:
        """Return an item: classes with their probabilities, texts, score, and every judgment."""
        named = {"task": task, "item": item}
        with ThreadPoolExecutor(1) as pool:  # to plan a query takes half of its time, on one core
            running = pool.submit(self.listed, "judgments", version, named, 0)
            classes = self._rows("item", version, "labels label_distributions prevalence", named)
            texts = self._rows("texts", version, "items", {"names": [item, *item.split(" | ")]})
            scores = [] if classes else self.listed("scored", version, named, 0)
        judgments = running.result()
        if not classes and not judgments:
            raise StoreError(f"{version} has no such item", [Problem(item, f"not in task {task}")])
        places = {place_of(row) for row in judgments if row["source_file"] is not None}
        lines = self._lines(version, places)
        for row in judgments:
            row["line"] = lines.get(place_of(row))
        return {"classes": classes, "texts": texts, "judgments": judgments, "scores": scores}

    def _lines(self, version: str, places: Iterable[Place]) -> dict[Place, int]:
        """Return the lines of rows; an export is read again where its rows take several lines."""
        beyond = {place: self.lines_beyond(version, *place[:2]) for place in places}
        others = [place for place, n in beyond.items() if n is None]
        lines = released_lines(self.campaign, self.release(version).manifest, MOST_READ)(others)
        return lines | {place: place[2] + n for place, n in beyond.items() if n is not None}

    def _lines_beyond(self, version: str, file: str, digest: str) -> int | None:
        """Return the lines of an export before its first row; None: some stand between rows."""
        manifest = self.release(version).manifest
        export = (e for e in manifest["sources"] if (e["name"], source_digest(e)) == (file, digest))
        ends = [(file, digest, row) for row in (1, next(export)["rows"])]
        lines = released_lines(self.campaign, manifest, MOST_READ)(ends)
        first, last = (lines[end] - end[2] if end in lines else None for end in ends)
        return first if first == last else None  # it never becomes less from row to row

    def judge(self, version: str, judge: str) -> list[Document]:
        """Return the rows of a judge, one a task."""
        table = self.release(version).table("judges")
        rows: list[Document] = table.filter(pc.equal(table["judge"], judge)).to_pylist()
        return rows

    def _causes(self, version: str, task: str | None, item: str) -> Document:
        """Return since when an item has its value in a release; found by recomputation, once."""
        return bisect(self.campaign, item, task, version)[0]

    def _changes(self, old: str, new: str) -> list[Document]:
        """Return cells of items that differ between two releases."""
        diff = diff_releases(self.campaign, (old, new), tables=("labels", "scores"), causes=False)
        published = diff.cells.filter(pc.not_equal(diff.cells["column"], "model_label"))
        rows: list[Document] = published.slice(0, 1_000).to_pylist()
        return rows

    def row(self, version: str, file: str, digest: str, number: int) -> Document:
        """Return a raw row of an archived export, without names unless they are shown.

        Raises
        ------
        StoreError
            The release has no such export, the store lost its bytes or the settings of then, or it
            has no such row.
        """
        release = self.release(version)
        export = next(
            (e for e in release.manifest["sources"]
             if e["name"] == file and source_digest(e) == digest and e["kind"] == "judgments"), None
        )  # fmt: skip
        store, settings = Store(self.campaign.store), self.campaign.settings
        sha256 = SourceDigests(store, settings).sha256(digest) if export else None
        kept = store.settings(release.manifest["settings_hash"])
        if export is None or sha256 is None or kept is None:
            problem = Problem(file, "the store does not have it, or not the settings of then")
            raise StoreError(f"{version} has no such export", [problem])
        # Settings of then: today this may be another source, which names judges in other columns.
        source = kept_settings(kept, f"settings of {version}").sources[export["source"]]
        opened = open_export(
            source, archived(store.archive, sha256), file, limits=settings.limits, whole=True
        )
        for chunk in opened.chunks:
            for index in (chunk.row == number).nonzero()[0].tolist():
                cells = {name: col[index].as_py() or "" for name, col in chunk.columns.items()}
                if not self.show_names:
                    cells = without_names(cells, columns_by_field(source))
                return {"file": file, "row": number, "cells": cells,
                        "problem": chunk.problem[index].as_py()}  # fmt: skip
        raise StoreError(f"{file} has no such row", [Problem(f"row {number}", "not there")])


def without_names(cells: Mapping[str, str], columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return cells without the judge: neither the cell of the name, nor the name in others.

    Where judges are columns, columns that no field reads have numbers instead of their names.

    Parameters
    ----------
    cells
        By column.
    columns
        Raw columns by field, as `columns_by_field` gives them.
    """
    hidden = columns.get("judge", ())
    names = (cells.get(name, "").strip() for name in hidden)
    whole = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in names if len(name) >= SHORTEST]
    any_name = re.compile("|".join(whole) or "(?!)")
    mapped = {name for of_field in columns.values() for name in of_field}
    shown = {}
    for number, (name, text) in enumerate(cells.items(), 1):
        head = name if hidden or name in mapped else f"column {number}"
        shown[head] = MASKED if name in hidden and text else any_name.sub(MASKED, text)
    return shown
