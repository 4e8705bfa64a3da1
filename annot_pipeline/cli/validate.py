"""annot validate."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, load, say, show, typed
from annot_pipeline.cli.fates import fates_text
from annot_pipeline.errors import AnnotError, counted, counted_kind, first_of, printable


def add(validate: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(validate)


def run(arguments: argparse.Namespace) -> int:
    """Say what a build would see."""
    from annot_pipeline.commands.validate import validate

    try:
        document = validate(load(arguments), say)
    except AnnotError as error:
        error.reveal()
        raise
    show(arguments, document, lambda: _validation_text(typed(arguments), document))
    return int(any(gate["level"] == "error" for gate in document["gates"]))


def _validation_text(campaign: str, document: Document) -> str:
    lines = []
    for source in document["sources"]:
        lines.append(
            f"{printable(source['path'])} ({source['format']}): "
            + ", ".join(counted(source[f"{noun}s"], noun) for noun in ("file", "row", "record"))
        )
        for what, count in source["ignored"].items():
            lines.append(f"  not records: {counted_kind(count, printable(what))}")
        for field in source["fields"]:
            examples = ", ".join(printable(e)[:30] for e in field["examples"]) or "not shown"
            lines.append(
                f"  {field['field']:<13} {printable(field['expression'])[:50]:<32} "
                f"{field['filled']:>10,} filled, {field['distinct']:>8,} different: {examples}"
            )
    for task in document["tasks"][:10]:
        allowed = first_of(task["labels"] or (), 10)
        if task["scale"]:
            allowed = "{:g} to {:g}".format(*task["scale"])
        guessed = " (guessed by fields)" if task["guessed"] else ""
        votes = ", by majority of anonymous votes" if task["by_votes"] else ""
        text = (
            f"task {task['task']}: {task['kind']}{f': {allowed}' * bool(allowed)}{votes}{guessed}"
        )
        lines.append(printable(text))
    if len(document["tasks"]) > 10:
        lines.append(f"and {len(document['tasks']) - 10} more tasks")
    lines += fates_text(document["records"], document["fates"], document["rejections"])
    lines += [
        f"look alike, but differ: {printable(group)}" for group in document["look_alikes"][:5]
    ]
    bad = [gate for gate in document["gates"] if gate["level"] == "error"]
    if bad:
        lines += [
            f"a build would publish nothing: gate {gate['name']}: {gate['do']}" for gate in bad
        ]
    missing, failed = document["other_key"], document["failed_build"]
    if missing:
        lines.append(f"a build would publish nothing: {printable(missing['what'])}")
        lines.append(f"next: {printable(missing['do'])}")
    elif failed and not bad:
        do = printable("; ".join(failed["do"]))
        lines.append("the last build failed with these exports and settings: see annot status")
        lines.append(f"next: resolve its error ({do}), then annot build {campaign}")
    elif not bad:
        lines.append(f"next: annot build {campaign}")
    return "\n".join(lines)
