"""annot-pipeline: from raw judgment exports to versioned gold datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from annot_pipeline.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["__version__", "load_gold"]


def load_gold(gold: str | Path, table: str, version: str = "latest") -> pa.Table:
    """A table of a release, its checksum verified.

    Parameters
    ----------
    gold
        Folder of the releases (``gold`` in campaign.yaml).
    table
        A table of the contract, as ``labels``.
    version
        ``v0001`` and so on, or ``latest``.

    Raises
    ------
    annot_pipeline.errors.StoreError
        There is no such release or table; or its bytes, or those of the manifest, are not those
        that were published; or a newer annot-pipeline wrote it.
    """
    from annot_pipeline.storage.releases import Releases

    return Releases(Path(gold)).get(version).table(table)
