"""annot hits."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, add_output, load, say, show
from annot_pipeline.errors import printable

WIDEST_SHOWN = 5
"""Intervals that are shown, the widest ones."""


def add(hits: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(hits)
    text = "folder for the batch (default: a new folder in hits/ next to campaign.yaml)"
    add_output(hits, text)
    for name, choices in (
        ("design", ("easl", "controlled", "tournament", "adequacy", "validate")),
        ("upload", ("mturk", "label_studio", "jsonl")),
    ):
        text = f"same as --set next_hits.{name}=..."
        hits.add_argument(f"--{name}", choices=choices, help=text)
    hits.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASK",
        help="plan only this task (repeatable; default: all)",
    )
    hits.add_argument("--force", action="store_true", help="overwrite another batch in the folder")


def run(arguments: argparse.Namespace) -> int:
    """Write the next batch."""
    from annot_pipeline.hits.command import next_batch

    for name in ("design", "upload"):
        if getattr(arguments, name):
            arguments.sets.append(f"next_hits.{name}={getattr(arguments, name)}")
    campaign = load(arguments)
    document = next_batch(
        campaign, arguments.output, only=arguments.task, force=arguments.force, progress=say
    )
    show(arguments, document, lambda: _hits_text(document))
    return 0


def _hits_text(document: Document) -> str:
    if document["done"]:
        lines = [f"nothing is left to ask ({document['design']}); no file is written"]
        lines += [f"  {task}: {why}" for task, why in document["unplanned"].items()]
        lines += [f"  note: {note}" for note in document["notes"]]
        return "\n".join(map(printable, [*lines, f"next: {document['next']}"]))
    lines = [
        f"{document['hits']:,} HITs, {document['slots']:,} slots ({document['design']}): "
        f"{document['folder']}"
    ]
    for task in document["tasks"]:
        size = f"{'up to ' * (task['ask'] != 'score')}{task['slots']}"
        lines.append(f"  {task['task']}: {task['hits']:,} HITs of {size}")
        lines += [f"    {file['path']}: {file['bytes']:,} bytes" for file in task["files"]]
        if task["task"] in document.get("validation", {}):
            lines += _sample_lines(document["validation"][task["task"]])
    lines += [f"  not planned: {task}: {why}" for task, why in document["unplanned"].items()]
    lines += [f"  note: {note}" for note in (*document["notes"], *document["warnings"])]
    if "selection_probabilities" in document:
        lines.append(f"sample: {document['selection_probabilities']}")
    lines += [f"log: {document['plan']}", f"next: {document['next']}"]
    return "\n".join(map(printable, lines))


def _sample_lines(sample: Document) -> list[str]:
    """Return the strata of a sample, and the widest intervals now and expected."""
    lines = [
        f"    {s['stratum']}: {s['asked']:,} of {s['items']:,} items asked, {s['judged']:,} judged "
        "before"
        for s in sample["strata"]
    ]
    widths = sorted(sample["estimands"], key=lambda e: -(e["width"] or e["expected_width"] or 0))
    for estimand in widths[:WIDEST_SHOWN]:
        names = (estimand[key] for key in ("quantity", "criterion", "system", "label"))
        what = " ".join(name for name in names if name is not None)
        now = "unknown" if estimand["width"] is None else f"{estimand['width']:.3g}"
        expected = estimand["expected_width"]
        then = "unknown" if expected is None else f"{expected:.3g}"
        lines.append(f"    95% interval of {what}: width {now} now, {then} expected")
    if len(widths) > WIDEST_SHOWN:
        lines.append(f"    {len(widths) - WIDEST_SHOWN:,} more intervals: see --json")
    return lines
