"""annot simulate."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annot_pipeline.cli.common import Document, add_output, show
from annot_pipeline.errors import printable


def add(simulate: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    simulate.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        nargs="?",
        help="name of the experiment (default: list all)",
    )
    simulate.add_argument(
        "campaign", metavar="CAMPAIGN", nargs="?",
        help="campaign.yaml or its folder, for experiments that replay recorded judgments",
    )  # fmt: skip
    simulate.add_argument(
        "--oracle", metavar="FILE", type=Path, help="csv file with the true values"
    )
    add_output(simulate, "folder for tables, figures and page (default: experiments/EXPERIMENT)")
    simulate.add_argument(
        "--set", action="append", default=[], metavar="a=b", dest="sets",
        help="set a setting of the experiment, or as a.b=c of the campaign (repeatable)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run an experiment, or list them."""
    from annot_pipeline.config.campaign_file import load_campaign
    from annot_pipeline.experiments import EXPERIMENTS, run_experiment
    from annot_pipeline.experiments.progress import progress_bar

    name = arguments.experiment
    if name is None:
        document: Document = {
            "experiments": [_experiment_document(e) for e in EXPERIMENTS.values()]
        }
        show(arguments, document, lambda: _experiments_text(EXPERIMENTS.values()))
        return 0
    settings, sets = _own_settings(EXPERIMENTS.get(name), arguments.sets)
    campaign = None
    if arguments.campaign is not None:
        campaign = load_campaign(arguments.campaign, sets=sets)
    else:
        settings |= _pairs(sets)  # the experiment says what it does not know
    folder = arguments.output or Path("experiments") / name
    with progress_bar() as tell:
        document = run_experiment(name, settings, campaign, arguments.oracle, folder, tell)
    show(arguments, document, lambda: _experiment_text(document))
    return 0


def _own_settings(experiment: Any, sets: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings of the experiment, and the others, which are the campaign's."""
    names = {name for name, _, _ in experiment.settings()} if experiment else set()
    own = [assignment for assignment in sets if assignment.partition("=")[0] in names]
    return _pairs(own), [assignment for assignment in sets if assignment not in own]


def _pairs(sets: Iterable[str]) -> dict[str, str]:
    return {name: value for name, _, value in (assignment.partition("=") for assignment in sets)}


def _experiment_document(experiment: Any) -> Document:
    return {
        "name": experiment.name,
        "says": experiment.description,
        "takes_campaign": experiment.needs_campaign,
        "settings": {key: default for key, default, _ in experiment.settings()},
    }


def _experiments_text(experiments: Iterable[Any]) -> str:
    lines = []
    for experiment in experiments:
        campaign = " CAMPAIGN" if experiment.needs_campaign else ""
        lines.append(f"annot simulate {experiment.name}{campaign}: {experiment.description}")
        for key, default, description in experiment.settings():
            lines.append(f"    --set {f'{key}={default}':<28} {description}")
    return "\n".join([*lines, "next: annot simulate lexical"])


def _experiment_text(document: Document) -> str:
    lines = [*document["found"], *(f"  note: {note}" for note in document["notes"])]
    lines += [f"{len(document['files'])} files: {document['folder']}", f"next: {document['next']}"]
    return "\n".join(map(printable, lines))
