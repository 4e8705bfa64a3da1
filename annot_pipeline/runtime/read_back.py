"""What a command writes beside a campaign must not come back as an export."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.errors import ConfigError, Problem


def refuse_read_back(campaign: LoadedCampaign, paths: Sequence[Path]) -> None:
    """Refuse globs of the campaign that take our own files for exports.

    Raises
    ------
    ConfigError
        Which glob matches which file.
    """
    settings = campaign.settings
    listed = [(f"sources.{n}.path", source.path) for n, source in enumerate(settings.sources)]
    listed += [(f"items.{n}.path", table.path) for n, table in enumerate(settings.items)]
    for where, pattern in listed:
        parts = Path(os.path.normpath(campaign.folder / pattern)).parts
        for path in paths:
            if matches_glob(path.resolve().parts, parts):
                what = f"{pattern} matches {path}"
                do = "give a folder that no glob matches with -o, or narrow the glob"
                title = "the next build would read it as an export"
                raise ConfigError(title, [Problem(where, what, do=do)])


def matches_glob(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path matches a glob, both by their parts; ``**`` is any number of them."""
    if not parts or not pattern:
        return not parts and not pattern
    if pattern[0] == "**":
        return any(matches_glob(parts[n:], pattern[1:]) for n in range(len(parts)))
    return fnmatchcase(parts[0], pattern[0]) and matches_glob(parts[1:], pattern[1:])
