"""annot-pipeline: from raw judgment exports to versioned gold datasets."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from annot_pipeline.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

    from annot_pipeline.api.judges import agreement, judges
    from annot_pipeline.api.labels import dawid_skene, infer_labels
    from annot_pipeline.api.rankings import rank
    from annot_pipeline.api.releases import open_gold as open  # noqa: A004 - as gzip.open
    from annot_pipeline.api.results import soft_labels
    from annot_pipeline.api.scores import score
    from annot_pipeline.api.splits import split
    from annot_pipeline.contracts import TableName
    from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams

__all__ = [
    "DawidSkeneParams",
    "__version__",
    "agreement",
    "dawid_skene",
    "infer_labels",
    "judges",
    "load_gold",
    "open",
    "rank",
    "score",
    "soft_labels",
    "split",
]

LAZY = {
    "DawidSkeneParams": ("methods.labels.dawid_skene", "DawidSkeneParams"),
    "agreement": ("api.judges", "agreement"),
    "dawid_skene": ("api.labels", "dawid_skene"),
    "infer_labels": ("api.labels", "infer_labels"),
    "judges": ("api.judges", "judges"),
    "open": ("api.releases", "open_gold"),
    "rank": ("api.rankings", "rank"),
    "score": ("api.scores", "score"),
    "soft_labels": ("api.results", "soft_labels"),
    "split": ("api.splits", "split"),
}
"""Module of `annot_pipeline` and what it has, by name; loaded when they are used."""


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, function = LAZY[name]
    return getattr(import_module(f"annot_pipeline.{module}"), function)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_gold(
    gold: str | Path,
    table: TableName,
    version: str = "latest",
    *,
    store: str | Path | None = None,
) -> pa.Table:
    """Return a table of a release, its checksum verified.

    Of ``labels`` and ``label_distributions`` train and test on ``probability`` and ``certain``;
    ``dawid_skene_probability`` and ``dawid_skene_certain`` are Dawid-Skene's own, as papers have
    them, and too sure where judges err together.

    Parameters
    ----------
    gold
        Folder of the releases, or their URL as ``s3://bucket/gold`` (``gold`` in campaign.yaml).
    table
        A table of the contract, as ``labels``.
    version
        ``v0001`` and so on, or ``latest``.
    store
        Folder of the store, where it is at hand: its copies of ``latest.json`` tell whether gold
        was put back to an older state, and whether the release is the one that was published; a
        copy that is damaged is warned of. Without a store, only an older state is noticed, where
        ``latest`` is asked for and newer releases are still in gold: two or more that follow
        ``latest.json``, each the child of the one before, are an error; any other with a valid
        manifest is a warning, whatever its age. A build that publishes at this moment, or was
        killed, leaves one such release.

    Raises
    ------
    annot_pipeline.errors.StoreError
        There is no such release or table; or its bytes, or those of the manifest, are not those
        that were published; or a newer annot-pipeline wrote it; or the URL cannot be reached; or
        the latest release is asked for, and ``latest.json`` is older than releases that lie there,
        or than the store's log; or the release is another than the log knows.
    """
    from annot_pipeline.config.gold_url import is_url
    from annot_pipeline.storage.releases import Releases

    with (
        TemporaryDirectory(prefix="annot-gold-") if is_url(str(gold)) else nullcontext("") as copies
    ):
        own = Path(store) if store is not None else None
        releases = Releases.at(str(gold), Path(copies), store=own)
        return releases.read(version).table(table)
