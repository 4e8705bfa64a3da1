"""All commands with their arguments: what each does, and what exit status 1 means.

A new command is an entry of `COMMANDS` and a function of the arguments in a module beside it. The
module is imported when the command runs: ``--help`` loads none, and only `build` loads Dagster.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Argument = tuple[tuple[str, ...], dict[str, Any]]


class Command(NamedTuple):
    """A subcommand: its name, module, what it does, what exit status 1 means, its arguments."""

    name: str
    module: str
    help: str
    failure: str
    arguments: tuple[Argument, ...]

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments, and what runs them."""
        for names, options in (*self.arguments, JSON):
            parser.add_argument(*names, **options)
        parser.set_defaults(run=lambda arguments: self.function()(arguments))

    def function(self) -> Callable[[argparse.Namespace], int]:
        """Return the function that runs the command."""
        module = import_module(f"annot_pipeline.cli.{self.module}")
        function: Callable[[argparse.Namespace], int] = getattr(module, f"run_{self.name}")
        return function


def option(*names: str, **options: Any) -> Argument:
    """Return an argument as ``argparse`` takes it: its names, and the rest."""
    return names, options


def flag(*names: str, help: str) -> Argument:  # noqa: A002 - as argparse
    """Return an option that is given or not."""
    return names, {"action": "store_true", "help": help}


def output(metavar: str, text: str, default: Path | None = None) -> Argument:
    """Return the option that says where to write."""
    return option("-o", "--output", metavar=metavar, type=Path, default=default, help=text)


CAMPAIGN_HELP = "campaign.yaml or the folder that holds it"
JSON = flag("--json", help="print one JSON document")
SET = option(
    "--set", action="append", default=[], metavar="a.b=c", dest="sets",
    help="override a setting of campaign.yaml, as --set seed=3 (repeatable)",
)  # fmt: skip
CAMPAIGN = (option("campaign", metavar="CAMPAIGN", help=CAMPAIGN_HELP), SET)
RELEASE = option(
    "--release", metavar="V", default="latest",
    help="release to read, as v0012 (default: the newest)",
)  # fmt: skip
TASK = option("--task", metavar="TASK", help="read only this task (default: all)")
TABLES = ("labels", "scores", "ranks", "verdicts", "model_judges")
"""What `annot diff` compares."""

COMMANDS = (
    Command(
        "init", "campaign", "look at exports and write a commented campaign.yaml",
        "an export cannot be read",
        (
            option("exports", nargs="+", metavar="EXPORT", type=Path,
                   help="export files, or folders of them"),
            output("DIR", "folder for campaign.yaml; it also names the campaign (default: the "
                   "current folder)", Path()),
            option("--preset", metavar="NAME",
                   help="use this mapping instead of guessing one; an unknown name lists all"),
            flag("--force", help="overwrite an existing campaign.yaml"),
        ),
    ),
    Command(
        "validate", "campaign", "read the configuration and every export; write nothing",
        "a build would fail a gate, or an export cannot be read", CAMPAIGN,
    ),
    Command(
        "build", "campaign", "run the pipeline; publish a release if the gates pass",
        "a gate failed, or an export, the store or gold cannot be used (the last release stands)",
        (
            *CAMPAIGN,
            flag("--gone", help="mark the releases of lost gold as removed, and publish a new one"),
        ),
    ),
    Command(
        "status", "status", "show the last release, its gates, and what has arrived since",
        "the store or gold cannot be read", CAMPAIGN,
    ),
    Command(
        "releases", "releases", "list the releases and what changed in each",
        "gold is missing, older than the store's copy, or cannot be read", CAMPAIGN,
    ),
    Command(
        "trace", "trace", "show why an item has its label or score: judgments, fates, weights",
        "the release does not have the item or task, or cannot be read",
        (
            *CAMPAIGN,
            option("item", metavar="ITEM",
                   help="an item, one of two compared items, or both as 'a | b'"),
            TASK, RELEASE,
        ),
    ),
    Command(
        "diff", "diff", "show what changed between two releases, each change with its cause",
        "a release cannot be read",
        (
            *CAMPAIGN,
            option("old", metavar="V1", help="older release, as v0001"),
            option("new", metavar="V2", help="newer release, as v0002 or latest"),
            output("FILE.parquet|FOLDER",
                   "write every changed cell to this Parquet file or folder"),
            option("--table", choices=TABLES, help="compare only these tables (default: all)"),
            option("--rows", metavar="N", type=int, default=10,
                   help="cells to show per table, and judgments to show (default: 10)"),
            flag("--no-causes", help="list changes without causes; recomputes nothing"),
        ),
    ),
    Command(
        "verify", "releases", "recompute every checksum; --rebuild: from the archived exports",
        "a file is damaged or missing, or a rebuild differs",
        (
            *CAMPAIGN,
            option("version", metavar="V", nargs="?", help="release to verify, as v0012 or latest "
                   "(default: all releases and the archive)"),
            flag("--rebuild", help="rebuild each release from its archived exports and compare "
                 "byte for byte"),
        ),
    ),
    Command(
        "score", "score", "score a model's labels or probabilities against gold",
        "the predictions or the release cannot be scored",
        (
            *CAMPAIGN,
            option("predictions", metavar="PREDICTIONS", type=Path,
                   help="predictions, one row per item: csv, tsv, jsonl or parquet, also .gz"),
            TASK, RELEASE,
            option("--item", metavar="COLUMN",
                   help="column that holds the item (default: item)"),
            option("--label", metavar="COLUMN",
                   help="column that holds the label (default: label)"),
            option("--form", choices=("labels", "columns", "long", "object"),
                   help="layout of the predictions (default: inferred from the columns)"),
            option("--floor", metavar="P", type=float, default=1e-9, help="smallest probability "
                   "in log loss and KL; raises smaller ones (default: 1e-9)"),
            option("--rounds", metavar="N", type=int, default=1000,
                   help="bootstrap rounds; 0: no bootstrap intervals (default: 1000)"),
            flag("--normalize", help="divide an item's probabilities by their sum"),
            flag("--raw", help="use Dawid-Skene's probabilities of gold instead of the published "
                 "ones"),
            output("FILE.csv|FILE.parquet", "write one row per item there, the largest "
                   "disagreements first: what to review"),
            flag("--unknown-wrong",
                 help="count predicted classes that gold does not have as wrong"),
        ),
    ),
    Command(
        "pin", "releases", "pin a release so that prune keeps it",
        "the release cannot be read, or the store cannot be written",
        (
            *CAMPAIGN,
            option("version", metavar="V", nargs="?",
                   help="release to keep, as v0012 or latest (default: list the pins)"),
            flag("--remove", help="remove the pin"),
            option("--why", metavar="TEXT", default="", help="why the release is kept"),
        ),
    ),
    Command(
        "prune", "releases", "remove old releases, and archived exports that only they need",
        "gold or the store cannot be read or written",
        (
            *CAMPAIGN,
            option("--keep", metavar="N", type=int, required=True,
                   help="number of newest releases to keep; pinned ones are kept too"),
            option("--gone", nargs="?", const="", action="append", metavar="V|GOLD",
                   help="mark releases whose folders were deleted as removed: all, one version, "
                   "or all of another gold of this store, by folder or URL (repeatable)"),
            flag("--dry-run", help="list what would be removed, and remove nothing"),
        ),
    ),
    Command(
        "review", "batches", "write the files that MTurk takes to approve or reject work",
        "no build of these exports and settings is there, or the store cannot be read",
        (
            *CAMPAIGN,
            output("DIR", "folder for the files (default: review/ next to campaign.yaml)"),
            flag("--force", help="overwrite files that were edited"),
        ),
    ),
    Command(
        "hits", "batches", "write the next batch to annotate, ready to upload",
        "no build of these exports and settings is there, or the store cannot be read",
        (
            *CAMPAIGN,
            output("DIR", "folder for the batch (default: a new folder in hits/ next to "
                   "campaign.yaml)"),
            option("--design", choices=("easl", "controlled", "tournament", "adequacy", "validate"),
                   help="same as --set next_hits.design=..."),
            option("--upload", choices=("mturk", "label_studio", "jsonl"),
                   help="same as --set next_hits.upload=..."),
            option("--task", action="append", default=[], metavar="TASK",
                   help="plan only this task (repeatable; default: all)"),
            flag("--force", help="overwrite another batch in the folder"),
        ),
    ),
    Command(
        "plan", "plan", "show which differences between systems a design detects",
        "the release cannot be read",
        (
            option("campaign", metavar="CAMPAIGN", nargs="?", help=CAMPAIGN_HELP),
            SET, RELEASE, TASK,
            option("--assume", metavar="a=b,...", help="variances to assume without a release: "
                   "judge_system, segment_system, residual"),
            option("--judges", metavar="N,...", help="numbers of judges to compare, as 5,10,20"),
            option("--segments", metavar="N,...",
                   help="numbers of segments to compare, as 100,500"),
            option("--per-output", metavar="N,...",
                   help="numbers of judgments per output to compare, as 1,2"),
            option("--systems", metavar="N", type=int, help="number of systems"),
            option("--difference", metavar="POINTS", type=float,
                   help="smallest difference to detect"),
            option("--power", metavar="SHARE", type=float, default=0.8,
                   help="power at which a difference counts as detectable (default: 0.8)"),
            option("--price", metavar="X", type=float,
                   help="price of one judgment; adds the cost of each design"),
        ),
    ),
    Command(
        "schema", "campaign", "print the JSON Schema of campaign.yaml, for editors",
        "the schema cannot be written", (),
    ),
)  # fmt: skip
