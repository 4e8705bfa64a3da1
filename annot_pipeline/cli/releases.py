"""annot releases, pin, prune and verify: what gold and the archive hold."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import groupby

from annot_pipeline.cli.common import Document, chosen, decision_text, load, say, show, trim, typed
from annot_pipeline.cli.render import fields, table
from annot_pipeline.cli.status import excluded_lines, problem_lines
from annot_pipeline.errors import ConfigError, Problem, counted
from annot_pipeline.storage.pointer import number

EXPORTS = {
    "error": "exports cannot be compared with those of {}",
    "changed": "exports changed since {}",
    "new": "exports new since {}",
    "gone": "exports gone since {}",
    "dropped": "exports that a rollback dropped, and that builds refuse: correct or exclude them",
    "not_compared": "exports not compared with {}, as the key of their digests is needed",
}
"""How the exports on disk differ from those of a release."""
CANDIDATE = "run created_at=created parent kept bytes do"
BY_HAND = (
    "these excluded exports have rows of the person: with these rows removed they stay excluded; "
    "after any other edit, exclude the file by its new sha256sum"
)


def run_releases(arguments: argparse.Namespace) -> int:
    """List the releases.

    Returns 1 where gold is missing or older than the store's log, or a release cannot be read.
    """
    from annot_pipeline.commands.release_list import list_releases

    document = list_releases(load(arguments))
    failed = document["rolled_back"] or any(row["problem"] for row in document["releases"])
    return show(arguments, document, lambda: _releases(document, typed(arguments)), bool(failed))


def _releases(document: Document, campaign: str) -> Iterator[str]:
    from annot_pipeline.contracts import certificates

    rows = [
        row
        | {"changed": row.get("changes", {})}
        | {"decision": decision_text(row.get("decision")), "made": row.get("created_at", "")[:16]}
        | {name: row.get(name) or None for name in ("labels", "scores")}  # no column of zeros
        | {"certified": [task for task, is_certified, _ in certificates(row) if is_certified]}
        | ({"parent": f"{row['parent']} ({gone})"} if (gone := row.get("parent_gone")) else {})
        for row in document["releases"]
    ]
    below = ("changed", "certified", "decision", "retracted", "problem", "do")
    names = f"version pinned made=created parent labels scores records {' '.join(below)}"
    yield from table("releases", rows, names, most=len(rows), below=below)
    yield from table("candidates", document["candidates"], CANDIDATE, below=("do",))
    yield from table("people who are forgotten", document["forgotten"], "at by because finished")
    yield from problem_lines(document["rolled_back"])
    if document["rolled_back"]:
        yield f"next: {document['rolled_back']['do']}"
    elif not rows:
        yield "no release yet"
        yield f"next: annot build {campaign}"


def run_rollback(arguments: argparse.Namespace) -> int:
    """Publish the content of an older release again."""
    from annot_pipeline.commands.decisions import roll_back
    from annot_pipeline.stages.ingest.present_exports import excluded_exports
    from annot_pipeline.storage.exclusions import exclusions

    campaign = load(arguments)
    release = roll_back(campaign, **chosen(arguments, "version because by"), progress=say)
    dropped: dict[str, str] = release.manifest["decision"]["dropped"]
    excluded = excluded_exports(campaign)[0]
    readable = {name: digest for digest, name in dropped.items() if name not in excluded}
    document = {
        "campaign": campaign.settings.campaign,
        "version": release.version,
        "restored": arguments.version,
        "path": release.location,
        "dropped_exports": [{"digest": d, "name": name} for d, name in dropped.items()],
        "exclude": exclusions(campaign, readable, arguments.because),
    }

    def lines() -> Iterator[str]:
        yield f"published {release.version} with the content of {arguments.version}"
        yield from excluded_lines(document["exclude"])
        yield f"next: annot releases {typed(arguments)}"

    return show(arguments, document, lines)


def run_retract(arguments: argparse.Namespace) -> int:
    """Mark a release as not to be used."""
    from annot_pipeline.commands.decisions import retract

    campaign, name = load(arguments), typed(arguments)
    version, copies = retract(campaign, **chosen(arguments, "version because by"), progress=say)
    document = {"campaign": campaign.settings.campaign, "version": version, "copies": copies}
    lines = [f"retracted {version}: load_gold warns of it"]
    lines += [f"{v} has its content: annot retract or annot rollback that too" for v in copies]
    return show(arguments, document, lambda: [*lines, f"next: annot releases {name}"])


def run_forget(arguments: argparse.Namespace) -> int:
    """Leave a person out of everything."""
    from annot_pipeline.commands.forget import forget

    campaign, name = load(arguments), typed(arguments)
    options = chosen(arguments, "because by pinned unseen dry_run")
    document = forget(campaign, arguments.judge, **options, progress=say)
    would = "would be " if arguments.dry_run else ""
    names = {"removed": f"releases {would}removed", "still_named": "still named, edit by hand"}
    names |= {"pinned": "pinned, so that the command stops without --pinned"}
    names |= {"rows": "rows that would be removed from archived exports"}
    names |= {"elsewhere": "not reached, remove by hand"}
    names |= {"alike": "not forgotten, names like this one: forget them too if the same person"}

    def lines() -> Iterator[str]:
        if document["release"]:
            yield f"published {document['release']} without the person"
        if not (document["release"] or document["removed"]):
            yield f"no release has the person; exports {would or 'are '}read without the person"
        yield from fields(document | {"removed": version_ranges(document["removed"])}, names)
        if loss := document.get("loss"):
            lost = f"{counted(loss['judgments'], 'judgment')} of {counted(loss['items'], 'item')}"
            yield f"{lost} of {loss['release']} would be removed; labels may change"
        yield from excluded_lines(document["exclude"], BY_HAND)
        yield f"next: {'the same without --dry-run' if would else 'annot verify ' + name}"

    return show(arguments, document | {"campaign": campaign.settings.campaign}, lines)


def version_ranges(versions: Sequence[str]) -> str:
    """Return all versions of a list on one line: v0001 to v0013, v0015."""
    runs = [
        [version for _, version in run]
        for _, run in groupby(enumerate(versions), lambda at: number(at[1]) - at[0])
    ]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def run_pin(arguments: argparse.Namespace) -> int:
    """Pin a release, or list the pins."""
    from annot_pipeline.commands.prune import list_pins, set_pin

    campaign, changed = load(arguments), None
    if arguments.version:
        named = chosen(arguments, "version remove")
        changed = set_pin(campaign, **named, why=arguments.because, progress=say)
    elif arguments.remove or arguments.because:
        raise ConfigError("no release is named", [Problem("V", "is missing", do="as v0001")])
    pins = list_pins(campaign)
    document = {"campaign": campaign.settings.campaign, "version": changed, "pins": pins}

    def lines() -> Iterator[str]:
        yield from table("pins", pins, "version pinned_at why", most=len(pins))
        if not pins:
            yield "no release is pinned"
            yield f"next: annot pin {typed(arguments)} latest --because TEXT"

    return show(arguments, document, lines)


def run_prune(arguments: argparse.Namespace) -> int:
    """Remove old releases."""
    from annot_pipeline.commands.prune import prune

    options = chosen(arguments, "keep dry_run")
    document = prune(load(arguments), **options, gone=arguments.gone or (), progress=say)
    return show(arguments, document, lambda: _pruned(document, typed(arguments)))


def _pruned(document: Document, campaign: str) -> Iterator[str]:
    stay, removed = document["kept"], document["removed"]
    would = "would be " * document["dry_run"]
    yield from table("releases that stay", stay, "version newest pinned why", most=len(stay))
    title = f"releases that {'would go' if document['dry_run'] else 'are gone'}"
    yield from table(title, removed, "version bytes", most=len(removed))
    if not removed:
        n = sum(not row["newest"] for row in stay)
        yield f"no release goes: {f'{n:,} older, all pinned' if n else 'none is older'}"
    names = {
        "struck_off": "removed from the list, as their folders do not exist",
        "gone_gold": "removed from the list, as it does not exist",
        "archive.kept": "archived exports that stay",
        "archive.removed": f"archived exports {would}removed",
        "archive.bytes": "  bytes of these",
        "bytes": f"bytes {would}freed",
    }
    yield from fields(document, names)
    yield "next: the same without --dry-run" if would else f"next: annot verify {campaign}"


def run_verify(arguments: argparse.Namespace) -> int:
    """Compute every checksum again."""
    from annot_pipeline.audit.verify.everything import verify

    document = verify(load(arguments), arguments.version, rebuild=arguments.rebuild, progress=say)
    document, failed = trim(document), not document["ok"]
    return show(arguments, document, lambda: _verified(document, typed(arguments)), failed)


def _verified(document: Document, campaign: str) -> Iterator[str]:
    rebuilt = document["rebuilt"] or ()
    rows = [
        row | {"verified": "ok" if row["ok"] else "WRONG", "size": f"{row['bytes']:,} bytes"}
        for row in document["releases"]
    ]
    yield from table("releases", rows, "version verified files size", most=len(rows))
    names = "version tables equal=byte_for_byte_the_same error other_code=changed_since"
    yield from table("built again", rebuilt, names, most=len(rebuilt))
    for finding in document["findings"]:
        yield f"{finding['file']}: {finding['what']}"
        yield from fields(finding, {"do": "  do"})
    yield from fields(document, "pruned forgotten=removed_with_a_forgotten_person")
    n = len(document["findings"])
    checked = f"{document['files']:,} files, {document['bytes']:,} bytes checked"
    yield f"{checked}; findings: {n:,}" if n else f"{checked}: all as published"
    exports = document["exports"] or {}
    names_of_exports = {name: text.format(exports.get("release")) for name, text in EXPORTS.items()}
    yield from fields(exports, names_of_exports)
    if not n and any(exports.get(kind) for kind in ("changed", "new", "gone", "dropped")):
        yield f"next: annot {'status' if exports['dropped'] else 'build'} {campaign}"
    elif not n and document["rebuilt"] is None:
        yield f"next: annot verify {campaign} --rebuild"
