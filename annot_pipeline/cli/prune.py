"""annot prune."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, load, say, show, typed
from annot_pipeline.errors import printable


def add(prune: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(prune)
    text = "number of newest releases to keep; pinned ones are kept too"
    prune.add_argument("--keep", metavar="N", type=int, required=True, help=text)
    text = (
        "mark releases whose folders were deleted as removed: all, one version, or all of another "
        "gold of this store, by folder or URL (repeatable)"
    )
    prune.add_argument("--gone", nargs="?", const="", action="append", metavar="V|GOLD", help=text)
    prune.add_argument(
        "--dry-run", action="store_true", help="list what would be removed, and remove nothing"
    )


def run(arguments: argparse.Namespace) -> int:
    """Remove old releases."""
    from annot_pipeline.commands.prune import prune

    campaign = load(arguments)
    gone = arguments.gone or ()
    document = prune(campaign, arguments.keep, gone=gone, dry_run=arguments.dry_run, progress=say)
    show(arguments, document, lambda: _text(typed(arguments), document))
    return 0


def _text(campaign: str, document: Document) -> str:
    gone = "would go" if document["dry_run"] else "gone"
    lines = []
    for row in document["kept"]:
        reasons = ["newest"] * row["newest"] + ["pinned"] * row["pinned"]
        why = f": {row['why']}" if row["why"] else ""
        lines.append(f"{row['version']}  stays ({', '.join(reasons)}{why})")
    lines += [f"{r['version']}  {gone}  {r['bytes']:>15,} bytes" for r in document["removed"]]
    lines += [
        f"{version}  removed from the list: its folder does not exist"
        for version in document["struck_off"]
    ]
    lines += [
        f"{location}  removed from the list: it does not exist"
        for location in document["gone_gold"]
    ]
    if not document["removed"]:
        older = sum(not row["newest"] for row in document["kept"])
        which = "release is" if older == 1 else "releases are"
        why = f"{older:,} older {which} pinned" if older else "none is older"
        lines.append(f"no release goes: {why}")
    archive = document["archive"]
    lines.append(
        f"archived exports: {archive['kept']:,} stay, {archive['removed']:,} {gone} "
        f"({archive['bytes']:,} bytes)"
    )
    lines.append(f"{document['bytes']:,} bytes {'to be freed' if document['dry_run'] else 'freed'}")
    lines.append(f"next: annot verify {campaign}")
    return "\n".join(map(printable, lines))
