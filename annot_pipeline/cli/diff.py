"""annot diff."""

from __future__ import annotations

import argparse
from pathlib import Path

from annot_pipeline.cli.common import add_campaign, load, say, show

TABLES = ("labels", "scores", "ranks", "verdicts", "model_judges")


def add(diff: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(diff)
    diff.add_argument("old", metavar="V1", help="older release, as v0001")
    diff.add_argument("new", metavar="V2", help="newer release, as v0002 or latest")
    diff.add_argument(
        "-o",
        "--output",
        metavar="FILE.parquet|FOLDER",
        type=Path,
        help="write every changed cell to this Parquet file or folder",
    )
    diff.add_argument("--table", choices=TABLES, help="compare only these tables (default: all)")
    diff.add_argument(
        "--rows",
        metavar="N",
        type=int,
        default=10,
        help="cells to show per table, and judgments to show (default: 10)",
    )
    diff.add_argument(
        "--no-causes", action="store_true", help="list changes without causes; recomputes nothing"
    )


def run(arguments: argparse.Namespace) -> int:
    """Say what changed between two releases, and why."""
    from annot_pipeline.audit.diff.file import diff_paths, write_diff
    from annot_pipeline.audit.diff.lines import add_lines
    from annot_pipeline.audit.diff.releases import diff_releases
    from annot_pipeline.cli.diff_text import diff_text

    campaign = load(arguments)
    versions = (arguments.old, arguments.new)
    paths = diff_paths(campaign, arguments.output, versions) if arguments.output else []
    diff = diff_releases(
        campaign,
        versions,
        tables=(arguments.table,) if arguments.table else TABLES,
        causes=not arguments.no_causes,
        progress=say,
    )
    document = diff.document(max(0, arguments.rows))
    add_lines(campaign, (diff.old, diff.new), document["judgments"])
    if paths:
        write_diff(diff, paths)
        document |= dict(zip(("path", "judgments_path"), map(str, paths), strict=False))
    show(arguments, document, lambda: diff_text(document))
    return 0
