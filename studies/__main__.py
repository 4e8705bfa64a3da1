"""Runs a study: ``python -m studies NAME``; without a name, lists all with their settings."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import AnnotError, ConfigError, printable
from studies.progress import progress_bar
from studies.registry import STUDIES, run_study

Document = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a study, or list them; returns 0, 1 (it cannot be done) or 2 (wrong usage)."""
    arguments = _parser().parse_args(argv)
    try:
        return _run(arguments)
    except AnnotError as error:
        print(f"studies: {error}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1
    except BrokenPipeError:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("study", metavar="NAME", nargs="?", help="name (default: list all)")
    parser.add_argument(
        "campaign", metavar="CAMPAIGN", nargs="?",
        help="campaign.yaml or its folder, for studies that replay recorded judgments",
    )  # fmt: skip
    parser.add_argument("--oracle", metavar="FILE", type=Path, help="csv file with the true values")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path,
        help="folder for tables, figures and page (default: build/studies/NAME)",
    )  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="a=b", dest="sets",
        help="set a setting of the study, or as a.b=c of the campaign (repeatable)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    name = arguments.study
    if name is None:
        document: Document = {"studies": [_study_document(e) for e in STUDIES.values()]}
        _show(arguments, document, lambda: _studies_text(STUDIES.values()))
        return 0
    settings, sets = _own_settings(STUDIES.get(name), arguments.sets)
    campaign = None
    if arguments.campaign is not None:
        campaign = load_campaign(arguments.campaign, sets=sets)
    else:
        settings |= _pairs(sets)  # the study says what it does not know
    folder = arguments.output or Path("build/studies") / name
    with progress_bar() as tell:
        document = run_study(name, settings, campaign, arguments.oracle, folder, tell)
    _show(arguments, document, lambda: _study_text(document))
    return 0


def _show(arguments: argparse.Namespace, document: Document, text: Callable[[], str]) -> None:
    print(json.dumps(document, sort_keys=True, indent=2) if arguments.json else text())


def _own_settings(study: Any, sets: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings of the study, and the others, which are the campaign's."""
    names = {name for name, _, _ in study.settings()} if study else set()
    own = [assignment for assignment in sets if assignment.partition("=")[0] in names]
    return _pairs(own), [assignment for assignment in sets if assignment not in own]


def _pairs(sets: Iterable[str]) -> dict[str, str]:
    return {name: value for name, _, value in (assignment.partition("=") for assignment in sets)}


def _study_document(study: Any) -> Document:
    return {
        "name": study.name,
        "description": study.description,
        "takes_campaign": study.needs_campaign,
        "settings": {key: default for key, default, _ in study.settings()},
    }


def _studies_text(studies: Iterable[Any]) -> str:
    lines = []
    for study in studies:
        campaign = " CAMPAIGN" if study.needs_campaign else ""
        lines.append(f"python -m studies {study.name}{campaign}: {study.description}")
        for key, default, description in study.settings():
            lines.append(f"    --set {f'{key}={default}':<28} {description}")
    return "\n".join([*lines, "next: python -m studies lexical"])


def _study_text(document: Document) -> str:
    lines = [*document["findings"], *(f"  note: {note}" for note in document["notes"])]
    lines += [f"{len(document['files'])} files: {document['folder']}", f"next: {document['next']}"]
    return "\n".join(map(printable, lines))


if __name__ == "__main__":
    sys.exit(main())
