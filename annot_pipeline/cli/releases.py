"""annot releases."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.changes import changes_text
from annot_pipeline.cli.common import add_campaign, load, show, typed
from annot_pipeline.errors import printable


def add(releases: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(releases)


def run(arguments: argparse.Namespace) -> int:
    """List the releases.

    Returns 1 where gold is missing or older than the store's copy, or a release cannot be read.
    """
    from annot_pipeline.commands.release_list import list_releases
    from annot_pipeline.storage.releases import Releases

    campaign = load(arguments)
    rows = list_releases(campaign)
    rolled_back = Releases.for_campaign(campaign).rolled_back()

    def text() -> str:
        if not rows and not rolled_back:
            return f"no release yet\nnext: annot build {typed(arguments)}"
        lines = []
        for row in rows:
            pinned = "  pinned" * row["pinned"]
            if row["problem"]:
                lines.append(
                    f"{row['version']}{pinned}  cannot be read: {printable(row['problem'])}"
                )
                lines.append(f"  do: {printable(row['do'])}")
                continue
            changes = changes_text(row["changes"] | {"settings_changed": row["settings_changed"]})
            parent = f" after {row['parent']}" if row["parent"] else ""
            first = "no judgment, label or decision changed" if row["parent"] else "first release"
            sizes = "".join(f"{row[n]:,} {n}, " for n in ("labels", "scores") if row[n])
            lines.append(
                f"{row['version']}{pinned}  {row['created_at']}{parent}  {sizes}"
                f"{row['records']:,} records  "
                f"{changes or first}"
            )
        if rolled_back:
            lines.append(printable(f"{rolled_back.where}: {rolled_back.what}"))
            lines.append(f"next: {printable(rolled_back.do)}")
        return "\n".join(lines)

    problem = rolled_back and {
        "file": rolled_back.where, "what": rolled_back.what, "do": rolled_back.do,
    }  # fmt: skip
    show(arguments, {"releases": rows, "rolled_back": problem}, text)
    return int(rolled_back is not None or any(row["problem"] for row in rows))
