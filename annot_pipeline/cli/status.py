"""annot status."""

from __future__ import annotations

import argparse

from annot_pipeline.cli.common import Document, add_campaign, load, show, typed
from annot_pipeline.errors import counted, first_of, printable


def add(status: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(status)


def run(arguments: argparse.Namespace) -> int:
    """Say where the campaign stands; return 1 where the note of the last build is damaged."""
    from annot_pipeline.commands.status import status

    document = status(load(arguments))
    show(arguments, document, lambda: _status_text(typed(arguments), document))
    return int(document["damaged_note"] is not None)


def _status_text(campaign: str, document: Document) -> str:
    from annot_pipeline.gates.gate import statement

    release, last = document["release"], document["last_build"]
    release_text = "no release is there" if document["rolled_back"] else "no release yet"
    lines = [f"{document['campaign']}: {release_text}"]
    if document["unpointed"]:
        lying = first_of(document["unpointed"])
        lines = [f"{document['campaign']}: {lying} lie there, but latest.json does not"]
    damaged = release["damaged"] if release else []
    if release:
        version, when, path = (release[key] for key in ("version", "created_at", "path"))
        lines = [f"{document['campaign']}: {version} of {when}, {path}"]
        for gate in release["checks"]:
            if gate["level"] != "pass":
                detail = f": {printable(gate['detail'])}" if gate["detail"] else ""
                measured = statement(gate["value"], gate["question"])
                lines.append(f"  {gate['level']}: {gate['name']}: {measured}{detail}")
                lines.append(f"    do: {gate['do']}")
    exposed = document["exposed_secrets"]
    if exposed:
        from annot_pipeline.commands.status import EXPOSED

        lines.append(f"  warn: {EXPOSED.name}: {printable('; '.join(exposed))}")
        lines.append(f"    do: {EXPOSED.do}")
    if release:
        lines += _judge_lines(release["judges"])
        decisions = release["decisions"]
        if decisions["decided"]:
            n, against = (f"{decisions[name]:,}" for name in ("decided", "overridden"))
            lines.append(f"labels decided by experts: {n}, {against} against the model")
        if votes := release["anonymous_votes"]:
            from annot_pipeline.contracts import votes_text

            tasks = printable(votes_text(votes))
            lines.append(f"labels by majority of votes, without probabilities: {tasks}")
    rolled_back = document["rolled_back"]
    if rolled_back:
        lines.append(printable(f"{rolled_back['file']}: {rolled_back['what']}"))
    if damaged:
        lines.append(f"damaged, not as it was published: {_shorten_list(damaged)}")
    for what, names in document["arrived"].items():
        if names:
            lines.append(
                f"since then {what}: {counted(len(names), 'export')} ({_shorten_list(names)})"
            )
    if uncompared := document["exports_not_compared"]:
        exports = f"{counted(len(uncompared), 'export')} ({_shorten_list(uncompared)})"
        lines.append(
            f"not compared: {exports}: their digests in the release are keyed; the store's key is "
            "needed"
        )
    if document["unread"]:
        lines.append(f"not read, no source matches: {_shorten_list(document['unread'])}")
    if document["settings_changed"]:
        lines.append(f"since then other settings: {_shorten_list(document['changed_settings'])}")
    missing = document["not_compared"]
    if missing:
        warned = "settings cannot be compared" if release else "warning"
        lines.append(f"{warned}: {printable(missing['what'])}")
    refused = document["refused_folders"]
    if refused:
        lines.append(f"a build would be refused: {printable(refused['what'])}")
    if last:
        outcome = "\n  ".join(map(printable, last["outcome"].splitlines()))
        lines.append(f"last build, {last['finished']}: {outcome}")
    if note := document["damaged_note"]:
        lines.append(printable(f"{note['file']}: {note['what']}"))
    if interrupted := document["unended_build"]:
        progress = f"it had made {interrupted['stage']} at {interrupted['at']}"
        lines.append(
            f"a build has not ended: {progress}; it runs still, was killed, or was of some assets "
            "only"
        )
    step = _idle(document)
    if note:
        step = f"annot build {campaign} (it writes {note['file']} again)"
    if document["build_due"]:
        step = f"annot build {campaign}"
    if document["failed_build"]:
        do = printable("; ".join(document["failed_build"]["do"]))
        step = f"resolve the error of the last build ({do}), then annot build {campaign}"
    if document["failing"]:
        do = printable("; ".join(dict.fromkeys(gate["do"] for gate in document["failing"])))
        step = f"resolve the failed gate ({do}), then annot build {campaign}"
    if missing:  # a build without the key would give all judges new names
        command = "build" if document["build_due"] else "status"
        step = f"{missing['do']}, then annot {command} {campaign}"
    if refused:
        step = printable(refused["do"])
    if rolled_back:
        step = printable(rolled_back["do"])
    if damaged:
        step = f"annot verify {campaign}"
    lines.append(f"next: {step}")
    return "\n".join(lines)


def _judge_lines(judges: Document) -> list[str]:
    """Return how many judges have which verdict, and those to look at."""
    lines = []
    for what, verdicts in (
        ("judges", judges["verdicts"]), ("judges of labels", judges["label_verdicts"])
    ):  # fmt: skip
        if any(n for verdict, n in verdicts.items() if verdict != "untested"):
            counts = (f"{n:,} {verdict}" for verdict, n in verdicts.items() if n)
            lines.append(f"{what}: {', '.join(counts)}")
    groups = [(f"failed ({test})", names) for test, names in sorted(judges["failed"].items())]
    groups.append(("no better than chance, not failed", judges["random"]))
    groups.append(("suspected, the data cannot show who is right", judges["suspected"]))
    concerns = [
        f"  {what}: {counted(len(names), 'judge')}, {_shorten_list(names)}"
        for what, names in groups
        if names
    ]
    if concerns:
        concerns.append("  see verdict and verdict_reason in the table judges")
    return [*lines, *concerns]


def _idle(document: Document) -> str:
    """Return what is left to do where no build is due: what was warned of above, or nothing."""
    release = document["release"] or {"checks": []}
    warnings = sum(gate["level"] != "pass" for gate in release["checks"])
    warnings += bool(document["unread"]) + bool(document["exposed_secrets"])
    if not warnings:
        return "nothing to do"
    return f"{counted(warnings, 'warning')} to resolve (see above)"


def _shorten_list(names: list[str]) -> str:
    return first_of(list(map(printable, names)))
