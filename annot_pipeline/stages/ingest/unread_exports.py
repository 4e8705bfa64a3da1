"""Files beside exports that nobody reads: a source that names one file misses later ones."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from annot_pipeline.config import ItemSource, LoadedCampaign, Source
from annot_pipeline.errors import ConfigError
from annot_pipeline.storage.archive import find_exports, natural_key


def unread_exports(campaign: LoadedCampaign) -> list[str]:
    """Return files next to exports, with the same suffix, that no source reads."""
    listed: list[Source | ItemSource] = [*campaign.settings.sources, *campaign.settings.items]
    matched: set[str] = set()
    endings: dict[Path, set[str]] = {}
    for source in listed:
        with suppress(ConfigError):
            exports = find_exports(campaign.folder, source.path, where=source.path)
            matched |= {export.relative for export in exports}
            for export in exports:
                endings.setdefault(export.path.parent, set()).add(_ending(export.path))
    neighbours = [
        Path(os.path.relpath(path, campaign.folder)).as_posix()
        for folder, suffixes in endings.items()
        for path in folder.iterdir()
        if path.is_file() and _ending(path) in suffixes and not path.name.startswith(".")
    ]
    return sorted(set(neighbours) - matched, key=natural_key)


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix
