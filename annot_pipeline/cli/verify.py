"""annot verify."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, load, say, show, typed
from annot_pipeline.errors import counted, first_of, printable

CHANGES = ("changed", "new", "gone")
"""How exports on disk differ from those of a release."""


def add(verify: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(verify)
    text = "release to verify, as v0012 or latest (default: all releases and the archive)"
    verify.add_argument("version", metavar="V", nargs="?", help=text)
    text = "rebuild each release from its archived exports and compare byte for byte"
    verify.add_argument("--rebuild", action="store_true", help=text)


def run(arguments: argparse.Namespace) -> int:
    """Compute every checksum again."""
    from annot_pipeline.audit.verify.everything import verify

    campaign = load(arguments)
    document = verify(campaign, arguments.version, rebuild=arguments.rebuild, progress=say)
    show(arguments, document, lambda: _text(typed(arguments), document))
    return int(not document["ok"])


def _text(campaign: str, document: Document) -> str:
    lines = [
        f"{row['version']}  {'ok   ' if row['ok'] else 'WRONG'}  {row['files']:>4,} files  "
        f"{row['bytes']:>15,} bytes"
        for row in document["releases"]
    ]
    if document["pruned"]:
        lines.append(f"pruned: {first_of(document['pruned'])}")
    for row in document["rebuilt"] or ():
        equal = f"{row['equal']} of {row['tables']} tables byte for byte the same"
        built = f"not built again: {row['error']}" if row["error"] else f"built again: {equal}"
        lines.append(f"{row['version']} {built}")
        lines += [f"  not as then: {what}" for what in row["other_code"]]
    findings, exports = document["findings"], _exports(document["exports"])
    for finding in findings:
        lines.append(f"{finding['file']}: {finding['what']}")
        lines += [f"  do: {finding['do']}"] if finding["do"] else []
    checked = f"{document['files']:,} files, {document['bytes']:,} bytes checked"
    if findings:
        lines += [f"{checked}; findings: {len(findings):,}", *exports]
    else:
        lines += [f"{checked}: all as published", *exports]
        if exports and any((document["exports"] or {}).get(kind) for kind in CHANGES):
            lines.append(f"next: annot build {campaign}")
        elif document["rebuilt"] is None:
            lines.append(f"next: annot verify {campaign} --rebuild")
    return "\n".join(map(printable, lines))


def _exports(exports: Document | None) -> list[str]:
    """Return how the exports on disk differ from those of a release, in lines."""
    if exports is None:
        return []
    release = exports["release"]
    if exports["error"]:
        return [f"exports cannot be compared with those of {release}: {exports['error']}"]
    counts = {
        what: f"{counted(len(names), 'export')} {what} ({first_of(names)})"
        for what in CHANGES
        if (names := exports[what])
    }
    lines = []
    if counts:
        lines.append(
            f"exports on disk differ from those of {release}: {', '.join(counts.values())}"
        )
    if names := exports["not_compared"]:
        what = f"{counted(len(names), 'export')} ({first_of(names)})"
        lines.append(f"not compared with {release}: {what}: the key of its digests is needed")
    return lines
