"""annot trace."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import RELEASE_HELP, TASK_HELP, add_campaign, load, show, typed


def add(trace: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(trace)
    text = "an item, one of two compared items, or both as 'a | b'"
    trace.add_argument("item", metavar="ITEM", help=text)
    trace.add_argument("--task", metavar="TASK", help=TASK_HELP)
    trace.add_argument("--release", default="latest", metavar="V", help=RELEASE_HELP)


def run(arguments: argparse.Namespace) -> int:
    """Say why an item is what it is in gold."""
    from annot_pipeline.audit.trace.items import trace
    from annot_pipeline.cli.trace_text import traces_text
    from annot_pipeline.stages.ingest.archived_lines import released_lines
    from annot_pipeline.storage.releases import Releases

    campaign = load(arguments)
    release = Releases.for_campaign(campaign).get(arguments.release)
    lines = released_lines(campaign, release.manifest)
    documents = trace(release, arguments.item, arguments.task, lines)
    document = {
        "campaign": release.manifest["campaign"],
        "release": release.version,
        "item": arguments.item,
        "traces": documents,
    }
    show(arguments, document, lambda: traces_text(typed(arguments), documents))
    return 0
