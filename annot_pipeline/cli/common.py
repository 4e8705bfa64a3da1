"""What commands have in common: arguments, the campaign, what goes to stdout and stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annot_pipeline.errors import printable

if TYPE_CHECKING:
    from annot_pipeline.config import LoadedCampaign

Document = dict[str, Any]

CAMPAIGN_HELP = "campaign.yaml or the folder that holds it"
SET_HELP = "override a setting of campaign.yaml, as --set seed=3 (repeatable)"
RELEASE_HELP = "release to read, as v0012 (default: the newest)"
TASK_HELP = "read only this task (default: all)"


def add_campaign(command: argparse.ArgumentParser) -> None:
    """Add CAMPAIGN and its settings."""
    command.add_argument("campaign", metavar="CAMPAIGN", help=CAMPAIGN_HELP)
    command.add_argument(
        "--set", action="append", default=[], metavar="a.b=c", dest="sets", help=SET_HELP
    )


def add_output(command: argparse.ArgumentParser, text: str, default: Path | None = None) -> None:
    """Add -o DIR."""
    command.add_argument("-o", "--output", metavar="DIR", type=Path, default=default, help=text)


def load(arguments: argparse.Namespace) -> LoadedCampaign:
    """Return the campaign that the arguments name."""
    from annot_pipeline.config.campaign_file import load_campaign

    return load_campaign(arguments.campaign, sets=arguments.sets)


def typed(arguments: argparse.Namespace) -> str:
    """Return the campaign as it was typed, for the next command."""
    from annot_pipeline.config.campaign import as_typed

    return as_typed(arguments.campaign, arguments.sets)


def say(message: str) -> None:
    """Print progress on stderr."""
    print(f"  {printable(message)}", file=sys.stderr, flush=True)


def show(arguments: argparse.Namespace, document: Document, text: Callable[[], str]) -> None:
    """Print the result on stdout: one JSON document with --json, else text for people."""
    if arguments.json:
        print(json.dumps(document, sort_keys=True, indent=2))  # ASCII: safe on any terminal
    else:
        print(text())
