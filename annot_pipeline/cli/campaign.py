"""annot init, validate, build and schema: a campaign from its first export to a release."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annot_pipeline.cli.common import Document, chosen, load, say, show, terminal, typed
from annot_pipeline.cli.render import at, fields, table, text
from annot_pipeline.cli.terminal import write
from annot_pipeline.commands.init_roles import INIT_ROLES
from annot_pipeline.errors import AnnotError, ConfigError, Problem, counted, counted_kind

if TYPE_CHECKING:
    from annot_pipeline.commands.publish import Publication
    from annot_pipeline.stages.build import Build

MOST_TASKS = 10
"""Tasks that `annot validate` shows; --json has all."""


def run_init(arguments: argparse.Namespace) -> int:
    """Write a campaign.yaml, or a draft of one and the question that is open."""
    from annot_pipeline.config.campaign_file import FILE_NAME, load_campaign
    from annot_pipeline.init import Guess, OpenError, guess

    named = arguments.output is not None
    folder: Path = arguments.output or Path()
    target = folder / FILE_NAME
    is_draft = target.exists() and target.read_bytes().startswith(DRAFT)
    if target.exists() and not is_draft and not arguments.force:
        problem = Problem("", "it would be lost", do="give another folder with -o, or --force")
        raise ConfigError(f"{target} exists", [problem])
    missing = [path for path in arguments.exports if not path.exists()]
    if problems := [Problem(str(path), "no such file") for path in missing]:
        raise ConfigError("an export is missing", problems)
    written = {role: getattr(arguments, role) for role in INIT_ROLES}
    by_role = {role: tuple(filter(None, all_.split(","))) for role, all_ in written.items() if all_}
    command = ["annot", "init", *map(str, arguments.exports)]
    command += ["-o", str(folder)] if named else []

    def make(known: Mapping[str, tuple[str, ...]]) -> Guess:
        return guess(
            arguments.exports, folder.resolve(), named_by_folder=named, preset=arguments.preset,
            by_role=known, command=shlex.join(command),
        )  # fmt: skip

    try:
        if sys.stdin.isatty() and sys.stdout.isatty() and not arguments.json:
            from annot_pipeline.init.conversation import converse

            guessed = converse(make, by_role, lambda line: write([line], sys.stdout), input)
        else:
            guessed = make(by_role)
    except OpenError as error:
        if error.draft:
            folder.mkdir(parents=True, exist_ok=True)
            target.write_text(error.draft, encoding="utf-8")
            drafted = Problem(str(target), "a draft, with ? in the open places, was written")
            error.problems = (*error.problems, drafted)
        raise
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(guessed.text, encoding="utf-8")
    single = [
        f"only {source.path} is read: see there for later exports"
        for source in load_campaign(folder).settings.sources
        if not has_magic(source.path)
    ]
    lines = [*guessed.text.split("\n"), f"written to {target}", *single]
    document = {"campaign_file": str(target), "text": guessed.text, "beliefs": guessed.beliefs}
    return show(arguments, document, lambda: [*lines, f"next: annot validate {folder}"])


DRAFT = b"# A draft of annot init"
"""How the text of a campaign.yaml with open places starts; the next one replaces it."""


def run_validate(arguments: argparse.Namespace) -> int:
    """Say what a build would see."""
    from annot_pipeline.commands.validate import validate

    try:
        document = validate(load(arguments), say)
    except AnnotError as error:
        error.reveal()
        raise
    failed = any(gate["level"] == "error" for gate in document["gates"])
    return show(arguments, document, lambda: _validation(document, typed(arguments)), failed)


def _validation(document: Document, campaign: str) -> Iterator[str]:
    for source in document["sources"]:
        counts = ", ".join(counted(source[f"{noun}s"], noun) for noun in ("file", "row", "record"))
        title = f"{source['path']} ({source['format']}): {counts}"
        rows = [row | {"examples": row["examples"] or "not shown"} for row in source["fields"]]
        yield from table(title, rows, "field expression filled distinct examples", most=len(rows))
        for what, count in source["ignored"].items():
            yield f"  not records: {counted_kind(count, what)}"
    names = "task kind labels scale by_votes=by_majority_of_anonymous_votes guessed"
    yield from table("tasks", document["tasks"], names, most=MOST_TASKS)
    yield from fates_lines(document)
    yield from fields(
        document, {"look_alikes": "look alike, but differ", "excluded": "excluded by their source"}
    )
    if document["names_of_this_run"]:
        yield "names like j0a1b... are of this run only: the first build makes the key of names"
    bad = [gate for gate in document["gates"] if gate["level"] == "error"]
    for gate in bad:
        yield f"a build would publish nothing: gate {gate['name']}: {gate['do']}"
    if document["other_key"]:
        yield f"a build would publish nothing: {document['other_key']['what']}"
        yield f"next: {document['other_key']['do']}"
    elif document["failed_build"] and not bad:
        yield "the last build failed with these exports and settings: see annot status"
        yield from (f"  do: {do}" for do in document["failed_build"]["do"])
        yield f"next: resolve its error, then annot build {campaign}"
    elif not bad:
        yield f"next: annot build {campaign}"


def fates_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield how many records had which fate, and why some were rejected."""
    from annot_pipeline.contracts import fates_text

    yield f"{counted(document['records'], 'record')}: {fates_text(document['fates'])}"
    for row in document["rejections"]:
        yield f"  rejected {row['records']:>9,} x {row['reason']} (as {row['example']})"


def run_build(arguments: argparse.Namespace) -> int:
    """Build and publish."""
    campaign = load(arguments)
    from annot_pipeline.storage.releases import Releases

    if arguments.dagster and (arguments.candidate or arguments.keep):
        what = "a run in Dagster makes no candidate that is asked for"
        problem = Problem("--dagster", what, do="leave one of the options out")
        raise ConfigError("two options exclude each other", [problem])
    if arguments.gone and (versions := Releases.for_campaign(campaign).give_up()):
        say(f"removed from the list: {', '.join(versions)}")
    if arguments.dagster:
        from assets_defs.run import run_in_process

        return _show_build(arguments, *run_in_process(campaign, say))
    from annot_pipeline.commands.build import build_release

    options = chosen(arguments, "candidate keep")
    return _show_build(arguments, *build_release(campaign, say, **options))


def run_publish(arguments: argparse.Namespace) -> int:
    """Publish a candidate, or copy a release."""
    is_decided = any(chosen(arguments, "candidate accept because by").values())
    if (arguments.candidate is None) == (arguments.to is None) or (arguments.to and is_decided):
        do = "--candidate RUN publishes a candidate; then --to PLACE alone copies the release"
        problem = Problem("", "one of --candidate and --to is needed, not both", do=do)
        raise ConfigError("what is to be published is not clear", [problem])
    if arguments.to is not None:
        return _share(arguments)
    from annot_pipeline.commands.decisions import publish_candidate

    options = chosen(arguments, "candidate accept because by")
    return _show_build(arguments, *publish_candidate(load(arguments), **options, progress=say))


def _share(arguments: argparse.Namespace) -> int:
    from annot_pipeline.commands.share import share

    document = share(load(arguments), arguments.to, arguments.release)
    lines = [f"copied {document['version']} to {document['to']}"]
    lines += fields(document, {"revision": "revision", "main": "release on main"})
    return show(arguments, document, lambda: [*lines, "next: nothing to do"])


def _show_build(arguments: argparse.Namespace, publication: Publication, build: Build) -> int:
    manifest, folder = publication.release.manifest, publication.release.folder
    document = {
        "campaign": manifest["campaign"], "published": publication.published,
        "version": publication.release.version,
        "candidate": build.run if publication.is_candidate else None,
        "path": publication.release.location, "run": build.run, "facts": manifest["facts"],
        "tables": {table["name"]: table["rows"] for table in manifest["tables"]},
        "checks": [*publication.checks], "changes": manifest["changes"],
    }  # fmt: skip

    from annot_pipeline.gates import GateResult

    terminal.warnings = [w for w in terminal.warnings if w.startswith("exclude:")]
    warnings = (check for check in publication.checks if check["level"] == "warn")
    terminal.warnings += [GateResult(**check).short for check in warnings]  # the release's, too

    def lines() -> Iterator[str]:
        from annot_pipeline.contracts.table import certificates
        from annot_pipeline.storage.candidates import candidate_steps

        yield from fates_lines(manifest["facts"])
        for task, is_certified, what in certificates(manifest["facts"]):
            yield f"audit of {task}: {'' if is_certified else 'not '}certified, {what}"
        yield f"tables: {', '.join(f'{n:,} {name}' for name, n in document['tables'].items() if n)}"
        news = "published" if publication.published else "nothing new; still"
        news = "nothing published;" if publication.is_candidate else news
        ordered = dict(sorted((manifest["changes"] or {}).items()))
        if publication.published and (changes := text(ordered)):
            yield f"since {at(manifest, 'parent.version')}: {changes}"
        yield f"{news} {publication.release.version}: {document['path']}"
        if any(not each.startswith("privacy.new_key=") for each in arguments.sets):
            yield "what --set says holds for this build: write it into campaign.yaml to keep it"
        yield f"next: open {folder / 'report.html'}"
        if publication.is_candidate:
            yield f"      {candidate_steps(manifest, typed(arguments))[-1]}"
        else:
            yield f"      annot status {typed(arguments)}"

    return show(arguments, document, lines)


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of campaign.yaml."""
    from annot_pipeline.commands.schema import schema_document, schema_text

    return show(arguments, schema_document(), lambda: schema_text().rstrip("\n").split("\n"))
