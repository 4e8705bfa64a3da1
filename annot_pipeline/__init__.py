"""annot-pipeline: from raw judgment exports to versioned gold datasets."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from annot_pipeline.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["__version__", "load_gold"]


def load_gold(gold: str | Path, table: str, version: str = "latest") -> pa.Table:
    """A table of a release, its checksum verified.

    Of ``labels`` and ``label_distributions`` train and test on ``calibrated_probability`` and
    ``calibrated_certain``; ``probability`` and ``certain`` are Dawid-Skene's own, as papers have
    them, and too sure where judges err together.

    Parameters
    ----------
    gold
        Folder of the releases, or their URL as ``s3://bucket/gold`` (``gold`` in campaign.yaml).
    table
        A table of the contract, as ``labels``.
    version
        ``v0001`` and so on, or ``latest``.

    Raises
    ------
    annot_pipeline.errors.StoreError
        There is no such release or table; or its bytes, or those of the manifest, are not those
        that were published; or a newer annot-pipeline wrote it; or the URL cannot be reached.
    """
    from annot_pipeline.config.gold_url import is_url
    from annot_pipeline.storage.releases import Releases

    if not is_url(str(gold)):
        return Releases(Path(gold)).get(version).table(table)
    with TemporaryDirectory(prefix="annot-gold-") as copies:
        return Releases.at(str(gold), Path(copies)).get(version).table(table)
