"""Releases in a folder or an object store: tables, traces, and what changed between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from annot_pipeline.audit.diff.releases import Diff, compare_releases
from annot_pipeline.audit.trace.documents import trace
from annot_pipeline.config import Resources
from annot_pipeline.config.gold_url import is_url
from annot_pipeline.contracts import TableName
from annot_pipeline.errors import AnnotError, ConfigError, Problem, StoreError, first_of
from annot_pipeline.scoring.gold import read_gold
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.release import Release
from annot_pipeline.storage.releases import Releases

ITEM = "item"
LATEST = "latest"


@dataclass(frozen=True, repr=False)
class Gold:
    """Releases of a campaign, each verified by checksum when it is read.

    ``latest`` is the release that was the newest when it was opened, also after the next build: all
    that one handle reads is of one release, unless a version is named. Open again for the newest.

    Parameters
    ----------
    location
        Folder of the releases, or their URL as ``s3://bucket/gold``.
    store
        Folder of the store that releases are held against; None: gold alone is looked at.
    newest
        Version that ``latest`` stands for; `open_gold` sets it. Else each call takes the newest.
    """

    location: str
    store: Path | None = None
    newest: str = LATEST

    def __repr__(self) -> str:
        """Return the newest release, its tables and their rows."""
        try:
            newest = self.release()
        except AnnotError as error:
            return f"Gold at {self.location}: {error.title}"
        counts = ((table["name"], table["rows"]) for table in newest.manifest["tables"])
        tables = ", ".join(f"{name} {n:,}" for name, n in counts if n)
        more = f" of {len(self.releases):,}" if len(self.releases) > 1 else ""
        return f"Gold at {self.location}: {newest.version}{more}; rows of tables: {tables}"

    @property
    def releases(self) -> list[str]:
        """Return the versions, oldest first."""
        with self._opened() as releases:
            return releases.versions()

    def release(self, version: str = "latest") -> Release:
        """Return a release: its manifest and tables.

        Raises
        ------
        StoreError
            There is none, or it is not as it was published.
        """
        with self._opened() as releases:
            return releases.read(self._version(version))

    def table(self, name: TableName, version: str = LATEST) -> pa.Table:
        """Return a gold table, its checksum verified.

        Parameters
        ----------
        name
            A table, as ``labels``.
        version
            ``v0001`` and so on, or ``latest``.

        Raises
        ------
        StoreError
            There is no such release or table, or its bytes are not those that were published.
        """
        with self._opened() as releases:
            return releases.read(self._version(version)).table(name)

    def soft_labels(self, task: str | None = None, version: str = LATEST) -> pa.Table:
        """Return one row per item and one column per class: probabilities to train on.

        They are those of ``label_distributions``, but 1 and 0 where an expert decided.

        Parameters
        ----------
        task
            Its name; None where the release has one task with labels.
        version
            ``v0001`` and so on, or ``latest``.

        Raises
        ------
        ConfigError
            There are several tasks with labels, or none of this name; or a class is named item.
        StoreError
            There is no such release, or it has no labels with probabilities.
        """
        with self._opened() as releases:
            gold = read_gold(releases.read(self._version(version)))
        if task not in gold and (task is not None or len(gold) > 1):
            problem = Problem("task=", f"is {task}", first_of(list(gold), 20))
            raise ConfigError("no such task with labels", [problem])
        labels = gold[task] if task is not None else next(iter(gold.values()))
        if ITEM in labels.classes:
            raise ConfigError("soft labels would have two columns item", [])
        shares = zip(labels.classes, labels.distribution.T, strict=True)
        return pa.table({ITEM: labels.items, **dict(shares)})

    def trace(
        self, item: str, *, task: str | None = None, version: str = "latest"
    ) -> list[dict[str, Any]]:
        """Return where the labels, scores and ranks of an item come from, one document per task.

        Documents are those of ``annot trace --json``, docs/reference/cli.md.

        Raises
        ------
        StoreError
            No such release, item or task.
        """
        with self._opened() as releases:
            return trace(releases.read(self._version(version)), item, task)

    def diff(self, old: str, new: str = "latest", *, tables: Sequence[str] | None = None) -> Diff:
        """Return the cells that differ between two releases.

        Causes take the store and its archive: ``annot diff`` finds them.

        Parameters
        ----------
        old, new
            Versions, whichever is older.
        tables
            Any of ``labels``, ``scores``, ``ranks``, ``verdicts``, ``model_judges``; None: all.

        Raises
        ------
        StoreError
            No such release, or it is not as it was published.
        """
        with self._opened() as releases, TemporaryDirectory(prefix="annot-spill-") as spill:
            queries = Queries(Resources(), Path(spill))
            before, after = (releases.read(self._version(version)) for version in (old, new))
            return compare_releases(queries, before, after, tables)

    def _version(self, version: str) -> str:
        return self.newest if version == LATEST else version

    @contextmanager
    def _opened(self) -> Iterator[Releases]:
        """Yield the releases; an error says so where the release of this handle was removed."""
        copies = (
            TemporaryDirectory(prefix="annot-gold-") if is_url(self.location) else nullcontext("")
        )
        with copies as folder:
            releases = Releases.at(self.location, Path(folder), store=self.store)
            try:
                yield releases
            except StoreError as error:
                if self.newest not in (LATEST, *releases.versions()):
                    what = f"{self.newest} was the newest when gold was opened, and is gone since"
                    error.problems += (Problem("", what, do="annot.open opens the newest release"),)
                raise


def open_gold(gold: str | Path, *, store: str | Path | None = None) -> Gold:
    """Open releases; what is read as ``latest`` is the release that is the newest now.

    Parameters
    ----------
    gold
        Folder of the releases (``gold`` in campaign.yaml), or their URL as ``s3://bucket/gold``.
    store
        Folder of the store, where it is at hand: every release that is read must be the one that
        it saw published, as for `load_gold`.

    Raises
    ------
    StoreError
        No release is there, or the newest is not as it was published.
    """
    opened = Gold(str(gold), Path(store) if store is not None else None)
    return replace(opened, newest=opened.release().version)
