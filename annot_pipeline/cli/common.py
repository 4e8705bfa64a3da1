"""What commands have in common: the campaign, what goes to stdout and stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from annot_pipeline.cli.terminal import Terminal, write
from annot_pipeline.errors import ConfigError, Problem, relative_paths

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


def chosen(arguments: argparse.Namespace, names: str) -> dict[str, Any]:
    """Return arguments by their names, for a function that has the same parameters."""
    return {name: getattr(arguments, name) for name in names.split()}


def decision_text(document: Document | None) -> str:
    """Return what a person decided about a release; empty where nobody did."""
    from annot_pipeline.gates import Decision

    return str(Decision(**document)) if document else ""


def check_output(
    campaign: LoadedCampaign, what: str, output: Path, endings: Sequence[str], paths: Sequence[Path]
) -> None:
    """Make sure that files can be written.

    Raises
    ------
    ConfigError
        The name of ``output`` shows none of the formats, its folder does not exist, a path is in
        the folder of releases, or the next build would read it as an export.
    """
    from annot_pipeline.runtime.read_back import refuse_read_back

    problem = None
    if output.suffix not in endings and not output.is_dir():
        allowed = ", ".join(ending or "a folder" for ending in endings)
        problem = Problem("-o", f"{output} ends with {output.suffix}", allowed)
    elif not output.parent.is_dir():
        problem = Problem("-o", f"there is no folder {output.parent}", do="create it first")
    elif any(path.resolve().is_relative_to(campaign.gold.resolve()) for path in paths):
        problem = Problem("-o", f"{output} is in the folder of releases", do="name another folder")
    if problem:
        raise ConfigError(f"{what} cannot be written there", [problem])
    refuse_read_back(campaign, paths)


def trim(value: Any) -> Any:
    """Return a document with paths relative to the working directory; none of data of exports."""
    if isinstance(value, dict):
        return {name: trim(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [trim(one) for one in value]
    return relative_paths(value) if isinstance(value, str) else value


terminal = Terminal()
"""Of this process; the options of its command say how much it tells."""


def say(message: str) -> None:
    """Tell progress on stderr."""
    terminal.say(message)


def show(
    arguments: argparse.Namespace,
    document: Document,
    lines: Callable[[], Iterable[str]],
    failed: bool = False,
) -> int:
    """Print the result on stdout: one JSON document with --json, else text for people.

    Returns the exit status of the command.
    """
    terminal.close()
    if arguments.json:
        print(json.dumps(document, sort_keys=True, indent=2))  # ASCII: safe on any terminal
    else:
        write(map(relative_paths, lines()), sys.stdout)
    return int(failed)
