"""annot review."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, add_output, load, say, show
from annot_pipeline.errors import counted, first_of, printable, row_and_line


def add(review: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(review)
    add_output(review, "folder for the files (default: review/ next to campaign.yaml)")
    review.add_argument("--force", action="store_true", help="overwrite files that were edited")


def run(arguments: argparse.Namespace) -> int:
    """Write what MTurk takes to approve or reject work."""
    from annot_pipeline.review import FOLDER, review

    campaign = load(arguments)
    folder = arguments.output or campaign.folder / FOLDER
    document = review(campaign, folder, force=arguments.force, progress=say)
    show(arguments, document, lambda: _review_text(document))
    return 0


def _review_text(document: Document) -> str:
    lines = [
        f"{document['review']}: {document['assignments']:,} assignments, the most doubtful first",
        "  it names workers: not to be published",
    ]
    for upload in document["uploads"]:
        kinds = ("approve", "reject", "decide")
        counts = ", ".join(f"{upload[kind]:,} {kind}" for kind in kinds)
        for kind, text in (
            ("decided", "decided before"),
            ("elsewhere", "in an export that takes precedence"),
        ):
            counts += f"; {upload[kind]:,} {text}" * bool(upload[kind])
        lines.append(f"{upload['path']}: {counts}")
        if upload["ragged"]:
            numbers = zip(upload["ragged"], upload["ragged_lines"], strict=True)
            rows = first_of([row_and_line(*number) for number in numbers])
            lines.append(f"  rows that do not fit the header, to fix or delete first: {rows}")
            lines.append("  (rows are counted without the header: row 1 is the one below it)")
        if left_out := upload["left_out"]:
            places = [f"{row_and_line(r['row'], r['line'])} of {r['worker']}" for r in left_out]
            n, named = counted(len(left_out), "row"), first_of(places)
            lines.append(f"  {n} left out, whose worker ids start as formulas do: {named}")
            lines.append("  (MTurk gives no such ids: find out who changed the batch, and download")
            lines.append("  it again)")
    lines.append("nothing was sent to MTurk")
    if any(document[kind] for kind in ("approve", "reject", "decide")):
        lines += [
            f"next: look at {document['review']}, change Approve and Reject in upload-*.csv,",
            "      then upload it on the batch's Review Results page",
            "      (edit upload-*.csv as text, or import all columns as text: a spreadsheet may",
            "      take answers of workers for formulas; only review.csv is safe to open)",
        ]
    else:
        lines.append("next: nothing to do, no assignment waits for a decision")
    return "\n".join(map(printable, lines))
