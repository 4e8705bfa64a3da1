"""The command line. Heavy imports stand inside the command that needs them: only `build`
loads Dagster.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annot_pipeline.errors import AnnotError, ConfigError, Problem, StoreError, first_of, printable
from annot_pipeline.version import __version__

if TYPE_CHECKING:
    from annot_pipeline.config import LoadedCampaign

Document = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit status (0 done, 1 not published, 2 wrong usage)."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that is not UTF-8 shows escapes
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status: int = arguments.run(arguments)
        return status
    except AnnotError as error:
        return _failed(arguments, error)
    except BrokenPipeError:
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        problem = Problem("", f"{where}{error.strerror or error}", do="free space, or mend access")
        return _failed(arguments, StoreError("a file cannot be written", [problem]))
    except Exception as error:
        if os.environ.get("ANNOT_DEBUG"):
            raise
        what = f"{type(error).__name__}: {str(error).strip() or 'no message'}"
        do = "please report it, with what ANNOT_DEBUG=1 annot ... prints"
        return _failed(arguments, StoreError("a defect of annot", [Problem("", what, do=do)]))
    except KeyboardInterrupt:
        print("annot: stopped; the last release stands", file=sys.stderr)
        return 1


def _failed(arguments: argparse.Namespace, error: AnnotError) -> int:
    """Say what is wrong: a block on stderr, and with --json a document on stdout too."""
    print(f"annot: {error}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"error": error.document(), "exit_status": error.exit_status}, indent=2))
    return error.exit_status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="annot",
        description="From raw judgment exports to versioned gold datasets.",
        epilog="Start with: annot init EXPORT... -o DIR",
    )
    parser.add_argument("--version", action="version", version=f"annot {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    init = commands.add_parser("init", help="look at exports, write a commented campaign.yaml")
    init.add_argument("exports", nargs="+", metavar="EXPORT", type=Path, help="files or folders")
    init.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=Path(),
        help="folder for campaign.yaml (default: this one); also names the campaign",
    )  # fmt: skip
    init.add_argument("--force", action="store_true", help="write over a campaign.yaml")
    init.add_argument("--json", action="store_true", help="one JSON document on stdout")
    init.set_defaults(run=_init)

    for name, run, text in (
        ("validate", _validate, "read config and every source, write nothing"),
        ("build", _build, "the whole pipeline; publishes a release if the gates pass"),
        ("status", _status, "the last release, gates, what has arrived since"),
        ("releases", _releases, "the releases and what changed"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("campaign", metavar="CAMPAIGN", help="campaign.yaml or its folder")
        command.add_argument("--set", action="append", default=[], metavar="a.b=c", dest="sets")
        command.add_argument("--json", action="store_true", help="one JSON document on stdout")
        command.set_defaults(run=run)
    _add_review(commands.add_parser("review", help="what MTurk takes to approve or reject work"))
    return parser


def _add_review(review: argparse.ArgumentParser) -> None:
    review.add_argument("campaign", metavar="CAMPAIGN", help="campaign.yaml or its folder")
    review.add_argument(
        "-o", "--output", metavar="DIR", type=Path,
        help="folder for what it writes (default: review beside campaign.yaml)",
    )  # fmt: skip
    review.add_argument("--force", action="store_true", help="write over edited files")
    review.add_argument("--set", action="append", default=[], metavar="a.b=c", dest="sets")
    review.add_argument("--json", action="store_true", help="one JSON document on stdout")
    review.set_defaults(run=_review)


def _load(arguments: argparse.Namespace) -> LoadedCampaign:
    from annot_pipeline.campaign_file import load_campaign

    return load_campaign(arguments.campaign, sets=arguments.sets)


def _say(message: str) -> None:
    print(f"  {printable(message)}", file=sys.stderr, flush=True)


def _print(arguments: argparse.Namespace, document: Document, text: Callable[[], str]) -> None:
    if arguments.json:
        print(json.dumps(document, sort_keys=True, indent=2))  # ASCII: safe on any terminal
    else:
        print(text())


# --- init ----------------------------------------------------------------------------------


def _init(arguments: argparse.Namespace) -> int:
    from annot_pipeline.campaign_file import FILE_NAME
    from annot_pipeline.guess import guess_campaign

    folder: Path = arguments.output
    target = folder / FILE_NAME
    if target.exists() and not arguments.force:
        raise ConfigError(
            f"{target} exists",
            [Problem("", "it would be lost", do="give another folder with -o, or --force")],
        )
    missing = [path for path in arguments.exports if not path.exists()]
    if missing:
        raise ConfigError(
            "an export is missing", [Problem(str(path), "no such file") for path in missing]
        )
    named = folder.resolve() != Path.cwd()
    text = guess_campaign(arguments.exports, folder.resolve(), named_by_folder=named)
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    _print(
        arguments,
        {"campaign_file": str(target), "text": text},
        lambda: f"{text}\nwritten to {target}\nnext: annot validate {folder}",
    )
    return 0


# --- validate ------------------------------------------------------------------------------


def _validate(arguments: argparse.Namespace) -> int:
    from annot_pipeline.validate import validate

    document = validate(_load(arguments), _say)
    _print(arguments, document, lambda: _validation_text(arguments.campaign, document))
    return int(any(gate["level"] == "error" for gate in document["gates"]))


def _validation_text(campaign: str, document: Document) -> str:
    lines = []
    for source in document["sources"]:
        lines.append(
            f"{printable(source['path'])} ({source['format']}): {source['files']} files, "
            f"{source['rows']:,} rows, {source['records']:,} records"
        )
        for what, count in source["ignored"].items():
            lines.append(f"  not records: {count:,} {printable(what)}")
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
        text = f"task {task['task']}: {task['kind']}{f': {allowed}' * bool(allowed)}{guessed}"
        lines.append(printable(text))
    if len(document["tasks"]) > 10:
        lines.append(f"and {len(document['tasks']) - 10} more tasks")
    lines += _fates_text(document["records"], document["fates"], document["rejections"])
    lines += [
        f"look alike, but differ: {printable(group)}" for group in document["look_alikes"][:5]
    ]
    bad = [gate for gate in document["gates"] if gate["level"] == "error"]
    if bad:
        lines += [
            f"a build would publish nothing: gate {gate['name']}: {gate['do']}" for gate in bad
        ]
    else:
        lines.append(f"next: annot build {campaign}")
    return "\n".join(lines)


def _fates_text(records: int, fates: Document, rejections: list[Document]) -> list[str]:
    from annot_pipeline.contracts import fates_text

    lines = [f"{records:,} records: {fates_text(fates)}"]
    for row in rejections:
        reason, example = printable(row["reason"]), printable(row["example"])
        lines.append(f"  rejected {row['records']:>9,} x {reason} (as {example})")
    return lines


# --- build ---------------------------------------------------------------------------------


def _build(arguments: argparse.Namespace) -> int:
    campaign = _load(arguments)
    from assets_defs.run import run_in_process

    publication, build = run_in_process(campaign, _say)
    manifest, folder = publication.release.manifest, publication.release.folder
    document = {
        "campaign": manifest["campaign"],
        "published": publication.published,
        "version": publication.release.version,
        "path": str(folder),
        "run": build.run,
        "facts": manifest["facts"],
        "tables": {table["name"]: table["rows"] for table in manifest["tables"]},
        "checks": manifest["checks"],
        "changes": manifest["changes"],
    }

    def text() -> str:
        facts = manifest["facts"]
        lines = _fates_text(facts["records"], facts["fates"], facts["rejections"])
        rows = ", ".join(f"{n:,} {name}" for name, n in document["tables"].items() if n)
        news = "published" if publication.published else "nothing new; still"
        lines += [
            f"tables: {rows}",
            *_changes_text(manifest),
            f"{news} {publication.release.version}: {folder}",
            f"next: open {folder / 'report.html'}",
            f"      annot status {arguments.campaign}",
        ]
        return "\n".join(lines)

    _print(arguments, document, text)
    return 0


def _changes_text(manifest: Document) -> list[str]:
    changed = {what: n for what, n in (manifest["changes"] or {}).items() if n}
    if not changed:
        return []
    words = ", ".join(f"{n:,} {what.replace('_', ' ')}" for what, n in changed.items())
    return [f"since {manifest['parent']['version']}: {words}"]


# --- status, releases ----------------------------------------------------------------------


def _status(arguments: argparse.Namespace) -> int:
    from annot_pipeline.status import status

    document = status(_load(arguments))
    _print(arguments, document, lambda: _status_text(arguments.campaign, document))
    return 0


def _status_text(campaign: str, document: Document) -> str:
    release, last = document["release"], document["last_build"]
    lines = [f"{document['campaign']}: no release yet"]
    if release:
        version, when, path = (release[key] for key in ("version", "created_at", "path"))
        lines = [f"{document['campaign']}: {version} of {when}, {path}"]
        for gate in release["checks"]:
            if gate["level"] != "pass":
                found = f": {printable(gate['detail'])}" if gate["detail"] else ""
                lines.append(f"  {gate['level']}: {gate['name']}: {gate['question']}{found}")
                lines.append(f"    do: {gate['do']}")
    for what, names in document["arrived"].items():
        if names:
            shown = ", ".join(map(printable, names[:5])) + (" ..." if len(names) > 5 else "")
            lines.append(f"since then {what}: {len(names)} exports ({shown})")
    if document["settings_changed"]:
        lines.append("since then settings that can move a number have changed")
    missing = document["not_compared"]
    if missing:
        lines.append(f"settings cannot be compared: {missing['what']}")
    if last:
        outcome = "\n  ".join(map(printable, last["outcome"].splitlines()))
        lines.append(f"last build, {last['finished']}: {outcome}")
    step = f"annot build {campaign}" if document["build_due"] else "nothing to do"
    if missing:  # a build without the key would give all judges new names
        command = "build" if document["build_due"] else "status"
        step = f"{missing['do']}, then annot {command} {campaign}"
    lines.append(f"next: {step}")
    return "\n".join(lines)


def _releases(arguments: argparse.Namespace) -> int:
    from annot_pipeline.status import list_releases

    rows = list_releases(_load(arguments))

    def text() -> str:
        if not rows:
            return f"no release yet\nnext: annot build {arguments.campaign}"
        lines = []
        for row in rows:
            changes = ", ".join(
                f"{n:,} {k.replace('_', ' ')}" for k, n in row["changes"].items() if n
            )
            if row["settings_changed"]:
                changes = f"{changes}{', ' if changes else ''}other settings"
            parent = f" after {row['parent']}" if row["parent"] else ""
            first = "no judgment or label changed" if row["parent"] else "first release"
            made = "".join(f"{row[n]:,} {n}, " for n in ("labels", "scores") if row[n])
            lines.append(
                f"{row['version']}  {row['created_at']}{parent}  {made}"
                f"{row['records']:,} records  "
                f"{changes or first}"
            )
        return "\n".join(lines)

    _print(arguments, {"releases": rows}, text)
    return 0


# --- review --------------------------------------------------------------------------------


def _review(arguments: argparse.Namespace) -> int:
    from annot_pipeline.review import FOLDER, review

    campaign = _load(arguments)
    folder = arguments.output or campaign.folder / FOLDER
    document = review(campaign, folder, force=arguments.force, progress=_say)
    _print(arguments, document, lambda: _review_text(document))
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
            rows = first_of([f"{row:,}" for row in upload["ragged"]])
            lines.append(f"  rows that do not fit the header, to mend or delete first: {rows}")
    lines.append("nothing was sent to MTurk")
    if any(document[kind] for kind in ("approve", "reject", "decide")):
        lines += [
            f"next: look at {document['review']}, change Approve and Reject in upload-*.csv,",
            "      then upload it on the batch's Review Results page",
        ]
    else:
        lines.append("next: nothing to do, no assignment waits for a decision")
    return "\n".join(map(printable, lines))


if __name__ == "__main__":
    sys.exit(main())
