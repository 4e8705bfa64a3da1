"""What commands have in common: the campaign, what goes to stdout and stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from annot_pipeline.errors import printable

if TYPE_CHECKING:
    from annot_pipeline.config import LoadedCampaign

Document = dict[str, Any]


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


def show(
    arguments: argparse.Namespace, document: Document, lines: Callable[[], Iterable[str]]
) -> None:
    """Print the result on stdout: one JSON document with --json, else text for people."""
    if arguments.json:
        print(json.dumps(document, sort_keys=True, indent=2))  # ASCII: safe on any terminal
    else:
        print("\n".join(map(printable, lines())))
