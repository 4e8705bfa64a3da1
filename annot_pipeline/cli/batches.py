"""annot plan, hits and review: what to ask next, and files that go to a platform."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from annot_pipeline.cli.common import Document, chosen, load, say, show
from annot_pipeline.cli.render import fields, table, text
from annot_pipeline.errors import ConfigError, Problem, counted, first_of, row_and_line

ASSUMED = "judge_system=20,segment_system=20,residual=200"
"""An example, points squared."""
DESIGN = (
    "judges segments per_output judgments detectable_difference=finds "
    "detectable_after_holm=after_Holm cost"
)
WIDEST = 5
"""Intervals that are shown, the widest ones."""
STRATUM = "stratum items asked judged=judged_before"
ESTIMAND = "quantity criterion system label width=width_now expected_width"
UPLOAD = (
    "path approve reject decide decided=decided_before elsewhere=in_an_export_that_takes_precedence"
)
UNUSUAL = ("decided", "elsewhere")
"""Counts that are shown where they are not 0."""
ADVICE = """next: look at {}, change Approve and Reject in upload-*.csv,
      then upload it on the batch's Review Results page
      (edit upload-*.csv as text, or import all columns as text: a spreadsheet may
      take answers of workers for formulas; only review.csv is safe to open)"""


def run_hits(arguments: argparse.Namespace) -> int:
    """Write the next batch."""
    from annot_pipeline.hits.command import next_batch

    for name in ("design", "upload", "items"):
        if getattr(arguments, name):
            arguments.sets = [*arguments.sets, f"next_hits.{name}={getattr(arguments, name)}"]
    document = next_batch(
        load(arguments), arguments.output, only=arguments.task, force=arguments.force, progress=say
    )
    return show(arguments, document, lambda: _hits(document))


def _hits(document: Document) -> Iterator[str]:
    if document["done"]:
        yield f"no batch is planned ({document['design']}), and no file is written:"
    else:
        sizes = f"{counted(document['hits'], 'HIT')}, {counted(document['slots'], 'slot')}"
        yield f"{sizes} ({document['design']}): {document['folder']}"
    for task in document["tasks"]:
        size = f"{'up to ' * (task['ask'] != 'score')}{task['slots']}"
        yield f"  {task['task']}: {counted(task['hits'], 'HIT')} of {size}"
        yield from (f"    {file['path']}: {file['bytes']:,} bytes" for file in task["files"])
        sample = document.get("validation", {}).get(task["task"], {"strata": (), "estimands": ()})
        yield from table("  sample", sample["strata"], STRATUM, most=len(sample["strata"]))
        widest = sorted(
            sample["estimands"], key=lambda e: -(e["width"] or e["expected_width"] or 0)
        )
        yield from table("  95% intervals, the widest first", widest, ESTIMAND, most=WIDEST)
    begin = "  " + "not planned: " * (not document["done"])
    yield from (f"{begin}{task}: {why}" for task, why in document["unplanned"].items())
    yield from (f"  note: {note}" for note in (*document["notes"], *document.get("warnings", ())))
    yield from fields(document, {"selection_probabilities": "sample", "plan": "log"})
    yield f"next: {document['next']}"


def run_review(arguments: argparse.Namespace) -> int:
    """Write what MTurk takes to approve or reject work."""
    from annot_pipeline.review import FOLDER, review

    campaign = load(arguments)
    folder = arguments.output or campaign.folder / FOLDER
    document = review(campaign, folder, force=arguments.force, progress=say)
    return show(arguments, document, lambda: _review(document))


def _review(document: Document) -> Iterator[str]:
    uploads = document["uploads"]
    yield f"{document['review']}: {document['assignments']:,} assignments, the most doubtful first"
    yield "  it names workers: not to be published"
    rows = [upload | {name: upload[name] or None for name in UNUSUAL} for upload in uploads]
    yield from table("uploads", rows, UPLOAD, most=len(rows))
    for upload in uploads:
        if upload["ragged"]:
            numbers = zip(upload["ragged"], upload["ragged_lines"], strict=True)
            ragged = first_of([row_and_line(*number) for number in numbers])
            yield f"{upload['path']}:"
            yield f"  rows that do not fit the header, to fix or delete first: {ragged}"
            yield "  (rows are counted without the header: row 1 is the one below it)"
        if left_out := upload["left_out"]:
            places = [f"{row_and_line(r['row'], r['line'])} of {r['worker']}" for r in left_out]
            n, named = counted(len(left_out), "row"), first_of(places)
            yield f"{upload['path']}:"
            yield f"  {n} left out, whose worker ids start as formulas do: {named}"
            yield "  (MTurk gives no such ids: find out who changed the batch, download it again)"
    yield "nothing was sent to MTurk"
    if any(document[kind] for kind in ("approve", "reject", "decide")):
        yield from ADVICE.format(document["review"]).split("\n")
    else:
        yield "next: nothing to do, no assignment waits for a decision"


def run_plan(arguments: argparse.Namespace) -> int:
    """Say which differences of systems a design finds."""
    from annot_pipeline.commands.plan import PlanParams, plan_assumed, plan_release

    names = "judges segments per_output systems power difference price"
    options = chosen(arguments, names).items()
    params = PlanParams(**{name: value for name, value in options if value is not None})
    if arguments.assume is not None:
        document = plan_assumed(arguments.assume, params)
    elif arguments.campaign is None:
        do = f"annot plan CAMPAIGN, or annot plan --assume {ASSUMED}"
        raise ConfigError("nothing to plan with", [Problem("", "no campaign is named", do=do)])
    else:
        document = plan_release(load(arguments), arguments.release, arguments.task, params)
    return show(arguments, document, lambda: _plan(document, params.power))


def _plan(document: Document, power: float) -> Iterator[str]:
    for task in document["tasks"]:
        name = "assumed variances" if task["task"] is None else f"task {task['task']}"
        sds = {kind.replace("_", " x "): value**0.5 for kind, value in task["variances"].items()}
        yield f"{name}: standard deviations in points: {text(sds)}"
        if task.get("detectable_difference") is not None:
            sizes = f"{counted(task['judges'], 'judge')}, {counted(task['systems'], 'system')}"
            limit = f", {task['detectable_reason']}" if task["detectable_reason"] else ""
            size = text(task["detectable_difference"])
            yield f"  as judged ({sizes}): {size} points are found in 80 of 100 evaluations{limit}"
        yield from fields(task, {"warning": "  warning"})
        yield from table("", task["designs"], DESIGN, most=len(task["designs"]))
        enough = [
            row if row["segments"] else row | {"segments": "no number of segments finds it"}
            for row in task.get("enough", ())
        ]
        names = "judges per_output segments judgments"
        yield from table("  designs that find the difference", enough, names, most=len(enough))
    test = f"a one-sided test at .05 finds with probability {power:g}"
    yield f"finds: points of difference that {test}; after Holm: of one pair among all"
