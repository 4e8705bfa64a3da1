"""annot build."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.changes import changes_text
from annot_pipeline.cli.common import Document, add_campaign, load, say, show, typed
from annot_pipeline.cli.fates import fates_text


def add(build: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(build)
    text = "mark the releases of lost gold as removed, and publish a new one"
    build.add_argument("--gone", action="store_true", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Build and publish."""
    campaign = load(arguments)
    from annot_pipeline.storage.releases import Releases
    from assets_defs.run import run_in_process

    if arguments.gone and (versions := Releases.for_campaign(campaign).give_up()):
        say(f"removed from the list: {', '.join(versions)}")
    publication, build = run_in_process(campaign, say)
    manifest, folder = publication.release.manifest, publication.release.folder
    document = {
        "campaign": manifest["campaign"],
        "published": publication.published,
        "version": publication.release.version,
        "path": publication.release.location,
        "run": build.run,
        "facts": manifest["facts"],
        "tables": {table["name"]: table["rows"] for table in manifest["tables"]},
        "checks": manifest["checks"],
        "changes": manifest["changes"],
    }

    def text() -> str:
        facts = manifest["facts"]
        lines = fates_text(facts["records"], facts["fates"], facts["rejections"])
        rows = ", ".join(f"{n:,} {name}" for name, n in document["tables"].items() if n)
        news = "published" if publication.published else "nothing new; still"
        lines += [
            f"tables: {rows}",
            *(_changes_text(manifest) if publication.published else ()),
            f"{news} {publication.release.version}: {document['path']}",
            f"next: open {folder / 'report.html'}",
            f"      annot status {typed(arguments)}",
        ]
        return "\n".join(lines)

    show(arguments, document, text)
    return 0


def _changes_text(manifest: Document) -> list[str]:
    words = changes_text(manifest["changes"] or {})
    return [f"since {manifest['parent']['version']}: {words}"] if words else []
