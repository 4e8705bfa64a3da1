"""Lines for campaign.yaml that leave exports out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.storage.archive import glob_exports

ELEMENT_NOTE = "# one more element of the list exclude"
ALL_NOTE = "# excluding every export leaves nothing to build"


def exclusions(
    campaign: LoadedCampaign, exports: Mapping[str, str], because: str = "..."
) -> dict[str, str]:
    """Return the line that excludes each of some exports, digests by name, if none does so yet.

    Where the source has a list ``exclude``, also by a line before, it is an element of that list.
    """
    text, lines = json.dumps(because, ensure_ascii=False), dict[str, str]()
    extended = [source.path for source in campaign.settings.sources if source.exclude]
    for name, digest in exports.items():
        for source in campaign.settings.sources:
            if campaign.folder / name in glob_exports(campaign.folder, source.path)[1]:
                break
        if not any(exclusion.matches(digest) for exclusion in source.exclude):
            element = f"{{digest: {digest[:16]}, because: {text}}}"
            is_more = source.path in extended
            lines[name] = f"{element}  {ELEMENT_NOTE}" if is_more else f"exclude: [{element}]"
            extended.append(source.path)
    return lines
