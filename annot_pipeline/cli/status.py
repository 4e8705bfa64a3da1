"""annot status."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping

from annot_pipeline.cli.common import Document, decision_text, load, show, trim, typed
from annot_pipeline.cli.render import at, fields, text
from annot_pipeline.errors import counted_kind

DROPPED = "the next build fails where it reads these exports again: correct or exclude them"
GONE = "\n  candidate: "
"""Before a candidate in the note of a build: one that is gone is not named, nor its commands."""
JUDGES = {
    "verdicts": "judges",
    "label_verdicts": "judges by the others' answers",
    "failed": "  failed",
    "random": "  look random, not failed",
    "suspected": "  suspected, the data cannot show who is right",
}
SINCE = {
    "release.decisions": "labels decided by experts, and against the model",
    "release.anonymous_votes": "labels by majority of anonymous votes, without probabilities",
    "release.damaged": "damaged, not as it was published",
    "arrived.new": "since then new",
    "arrived.changed": "since then changed",
    "arrived.gone": "since then gone",
    "exports_not_compared": "not compared, as the digests in the release need the store's key",
    "excluded": "excluded by their source",
    "unread": "not read, no source matches",
    "changed_settings": "since then other settings",
    "other_candidates": "other candidates, which annot releases shows",
}


def run_status(arguments: argparse.Namespace) -> int:
    """Say where the campaign stands; return 1 where the note of the last build is damaged."""
    from annot_pipeline.commands.status import status

    document = trim(status(load(arguments)))
    show(arguments, document, lambda: status_lines(document, typed(arguments)))
    return int(document["damaged_note"] is not None)


def status_lines(document: Document, campaign: str) -> Iterator[str]:
    """Yield the release and its warnings, what differs since, and the next command."""
    release, last = document["release"], document["last_build"]
    state = "no release is there" if document["rolled_back"] else "no release yet"
    if document["unpointed"]:
        state = f"{text(document['unpointed'])} lie there, but latest.json does not"
    elif release:
        state = f"{release['version']} of {release['created_at']}, {release['path']}"
    yield f"{document['campaign']}: {state}"
    if decision := at(document, "release.decision"):
        yield f"  {decision_text(decision)}"
    warnings = list(_warnings(document))
    for what, do in warnings:
        yield f"  {what}"
        yield f"    do: {do}"
    if release:
        judges = release["judges"]
        for name in ("verdicts", "label_verdicts"):  # tests that tested nobody say nothing
            if not any(n for verdict, n in judges[name].items() if verdict != "untested"):
                judges = judges | {name: {}}
        yield from fields(judges, JUDGES)
        if any(judges[name] for name in ("failed", "random", "suspected")):
            yield "  see verdict and verdict_reason in the table judges"
    is_listed = any(text(document["unread"]) in what for what, _ in warnings)
    yield from fields(document | {"unread": [] if is_listed else document["unread"]}, SINCE)
    yield from excluded_lines(document["exclude"])
    yield from problem_lines(document["rolled_back"])
    if document["not_compared"]:
        warned = "settings cannot be compared" if release else "warning"
        yield f"{warned}: {document['not_compared']['what']}"
    yield from fields(document, {"refused_folders.what": "a build would be refused"})
    if last:
        outcome = last["outcome"] if document["candidate"] else last["outcome"].split(GONE)[0]
        first, *more = outcome.splitlines() or [""]
        yield f"last build, {last['finished']}: {first}"
        yield from (f"  {line}" for line in more)
    yield from problem_lines(document["damaged_note"])
    if interrupted := document["unended_build"]:
        stage, at_ = interrupted["stage"], interrupted["at"]
        why = "it runs still, was killed, or was of some assets only"
        yield f"a build has not ended: it had made {stage} at {at_}; {why}"
    n_unread = len(document["unread"]) * all("unread_files: " not in what for what, _ in warnings)
    counts = ((len(warnings), "warnings"), (n_unread, "unread files"))
    open_ = " and ".join(counted_kind(n, what) for n, what in counts if n)
    steps = re.split(r"(?<=;) |(?<=,) (?=then annot)", _next(document, campaign, open_))
    yield f"next: {steps[0]}"
    yield from (f"      {step}" for step in steps[1:])


def excluded_lines(lines: Mapping[str, str], title: str = DROPPED) -> Iterator[str]:
    """Yield lines of campaign.yaml that exclude exports, by name, below a title."""
    yield from ([title] if lines else ())
    for name, line in lines.items():
        yield from (f"  {name}", f"    {line}")


def problem_lines(problem: Document | None) -> Iterator[str]:
    """Yield what is wrong with a file, if anything is."""
    if problem:
        yield f"{problem['file']}: {problem['what']}"


def _warnings(document: Document) -> Iterator[tuple[str, str]]:
    """Yield what gates warn of, and what to do; exposed secrets are looked at anew."""
    from annot_pipeline.commands.status import EXPOSED
    from annot_pipeline.gates.gate import statement
    from annot_pipeline.stages.ingest.exports import EXCLUDE

    for gate in (document["release"] or {"checks": []})["checks"]:
        if gate["level"] != "pass":
            detail = f": {gate['detail']}" if gate["detail"] else ""
            measured = statement(gate["value"], gate["question"])
            yield f"{gate['level']}: {gate['name']}: {measured}{detail}", gate["do"]
    for unused in document["unused_exclusions"]:
        yield f"warn: exclude: no export has the digest {unused}", EXCLUDE
    for open_one in document["unfinished_forgets"]:
        yield f"warn: forget: {open_one['what']}", open_one["do"]
    if exposed := document["exposed_secrets"]:
        yield f"warn: {EXPOSED.name}: {'; '.join(exposed)}", EXPOSED.do


def _next(document: Document, campaign: str, warnings: str) -> str:
    """Return what to do first: what makes a build impossible comes before what makes it due."""
    missing, due = document["not_compared"], document["build_due"]
    build, exclude = f"annot build {campaign}", "exclude what the rollback dropped (see above)"
    again = build if due else f"annot status {campaign}"
    failed = "; ".join(at(document, "failed_build.do") or ())
    failing = "; ".join(dict.fromkeys(gate["do"] for gate in document["failing"]))
    candidate = "; then ".join(at(document, "candidate.do") or ())
    mend = f"resolve the failed gate ({failing}), then {build}"
    dropped = text(list(document["dropped"]))
    lines = (at(document, "candidate.exclude") or {}).items()
    without = [f"build without {name}: {line} in its source" for name, line in lines]
    note = at(document, "damaged_note.file")
    steps = (
        (at(document, "release.damaged"), f"annot verify {campaign}"),
        (document["rolled_back"], at(document, "rolled_back.do")),
        (document["refused_folders"], at(document, "refused_folders.do")),
        # a build without the key would give all judges new names
        (missing, f"{at(document, 'not_compared.do')}, then {again}"),
        (dropped, f"correct {dropped}, or {exclude}, then {build}"),
        (failing and candidate, "; or ".join((candidate, *without, mend))),
        (failing, mend),
        (failed, f"resolve the error of the last build ({failed}), then {build}"),
        (due, build),
        (note, f"{build} (it writes {note} again)"),
        (warnings, f"{warnings} to resolve (see above)"),
    )
    return next((str(step) for condition, step in steps if condition), "nothing to do")
