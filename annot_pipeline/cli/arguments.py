"""All commands with their arguments: what each does, and what exit status 1 means.

A new command is an entry of `COMMANDS` and a function of the arguments in a module beside it. The
module is imported when the command runs: ``--help`` loads none, and only `build --dagster` loads
Dagster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, NamedTuple

from annot_pipeline.commands.init_roles import INIT_ROLES

Argument = tuple[tuple[str, ...], dict[str, Any]]


class Command(NamedTuple):
    """A subcommand: its name, module, what it does, what exit status 1 means, its arguments."""

    name: str
    module: str
    help: str
    failure: str
    arguments: tuple[Argument, ...]

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments, and what runs them.

        The usage shows which options are needed; where one is missing, the command says what to do.
        """
        actions = [parser.add_argument(*names, **options) for names, options in self.arguments]
        parser.add_argument(*JSON[0], **JSON[1])
        one_of = parser.add_mutually_exclusive_group()
        for names, options in (QUIET, VERBOSE):
            one_of.add_argument(*names, **options)
        needed = [action for action in actions if action.required and action.option_strings]
        if needed:
            parser.usage = parser.format_usage().removeprefix("usage: ")
        for action in needed:
            action.required = False
        parser.set_defaults(run=self.run)

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command; return its exit status."""
        _keep_arrow_from_pandas()
        module = import_module(f"annot_pipeline.cli.{self.module}")
        function: Callable[[argparse.Namespace], int] = getattr(module, f"run_{self.name}")
        return function(arguments)


def _keep_arrow_from_pandas() -> None:
    """Let Arrow find no pandas at its first array, for which alone it would load it (0.3 s).

    Who converts a table later loads it then. Not where Arrow is in use: this is no process of ours.
    """
    if {"pandas", "pyarrow"} & sys.modules.keys():
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class _NoPandas(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Refuse pandas, and know nothing of other modules."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname, name=fullname)


def option(name: str, text: str, metavar: str | None = None, **options: Any) -> Argument:
    """Return an argument as ``argparse`` takes it, with its help and what stands for its value."""
    names = ("-o", name) if name == "--output" else (name,)
    return names, {"help": text, "metavar": metavar, **options}


def flag(name: str, text: str) -> Argument:
    """Return an option that is given or not."""
    return (name,), {"action": "store_true", "help": text}


JSON = flag("--json", "print one JSON document")
QUIET: Argument = ("-q", "--quiet"), {"action": "store_true", "help": "tell no progress"}
VERBOSE: Argument = ("-v", "--verbose"), {"action": "store_true", "help": "tell all steps, hashes"}
"""Options of all commands."""
CAMPAIGN_HELP = "campaign.yaml or the folder that holds it"
SET_HELP = "override a setting of campaign.yaml, as --set seed=3 (repeatable)"
SET = option("--set", SET_HELP, "a.b=c", action="append", default=[], dest="sets")
CAMPAIGN = (option("campaign", CAMPAIGN_HELP, "CAMPAIGN"), SET)
RELEASE_HELP = "release to read, as v0012 (default: the newest)"
RELEASE = option("--release", RELEASE_HELP, "V", default="latest")
CANDIDATE_HELP = "release to read, as v0012, candidate or its run (default: the newest)"
RELEASE_OR_CANDIDATE = option("--release", CANDIDATE_HELP, "V", default="latest")
TASK = option("--task", "read only this task (default: all)", "TASK")
OUTPUT: dict[str, Any] = {"type": Path, "default": None}
DESIGNS = ("easl", "controlled", "tournament", "adequacy", "validate", "audit", "labels")
TABLES = ("labels", "scores", "ranks", "verdicts", "model_judges")
"""What `annot diff` compares."""

INIT = (
    option("exports", "export files, or folders of them", "EXPORT", nargs="+", type=Path),
    option("--output", "folder for campaign.yaml; it also names the campaign (default: the current "
           "folder, and the exports name the campaign)", "DIR", type=Path),
    option("--preset", "use this mapping instead of guessing one; an unknown name lists all",
           "NAME"),
    *(option(f"--{role.replace('_', '-')}", text, "COLUMN") for role, text in INIT_ROLES.items()),
    option("--question", "the same as --task", "COLUMN", dest="task"),
    flag("--force", "overwrite an existing campaign.yaml"),
)  # fmt: skip
BUILD = (
    *CAMPAIGN,
    flag("--dagster", "run the job in Dagster, and record it in the instance of DAGSTER_HOME"),
    flag("--gone", "mark the releases of lost or replaced gold as removed, and publish a new one"),
    flag("--candidate", "publish nothing: keep the tables as a candidate, to be looked at"),
    flag("--keep", "keep the candidate also after the next publication"),
)
WHY = "why (kept with the decision)"
BECAUSE = option("--because", WHY, "TEXT", default="", required=True)
BY = option("--by", "who decided (default: the user of this process)", "NAME")
PUBLISH = (
    *CAMPAIGN,
    option("--candidate", "run of the candidate, its first characters, or latest", "RUN"),
    option("--accept", "a gate that failed and is accepted (repeatable)", "GATE", action="append",
           default=[]),
    option("--because", f"{WHY}; needed with --accept", "TEXT", default=""),
    BY,
    option("--to", "copy a release to a new folder, or to a dataset of the Hugging Face Hub",
           "FOLDER|hf://OWNER/NAME"),
    RELEASE,
)  # fmt: skip
DECISION = (*CAMPAIGN, option("version", "a release, as v0002", "V"), BECAUSE, BY)
FORGET = (
    *CAMPAIGN,
    option("judge", "the person's name, as exports or releases have it", "JUDGE"),
    BECAUSE,
    BY,
    flag("--pinned", "remove pinned releases with the person too"),
    flag("--unseen", "take a name that no export has now: later ones are read without it"),
    flag("--dry-run", "say what would be removed, and remove nothing"),
)
TRACE = (
    *CAMPAIGN,
    option("item", "an item, one of two compared items, or both as 'a | b'", "ITEM"),
    TASK,
    RELEASE_OR_CANDIDATE,
)
ITEMS = (
    *CAMPAIGN,
    RELEASE_OR_CANDIDATE,
    TASK,
    flag("--uncertain", "only items whose label is not certain"),
    option("--label", "only items with this label", "LABEL"),
    option("--judge", "only items that this judge judged, by the published name", "JUDGE"),
    option("--reason", "only items with this reason: uncertain, one judge, split votes, against "
           "the votes, expert against model, no judgment counts, scores differ, preferences "
           "differ, models differ from people, ranks differ", "REASON"),
    option("--rows", "items to show (default: 20)", "N", type=int, default=20),
    option("--output", "write all items there, with texts and votes", "FILE.csv|FILE.parquet",
           **OUTPUT),
)  # fmt: skip
SERVE = (
    *CAMPAIGN,
    option("--port", "port; 0 takes a free one (default: 8017)", "N", type=int, default=8017),
    option("--output", "file that decisions are added to (default: decisions.csv next to "
           "campaign.yaml, NAME_decisions.csv next to NAME.yaml)", "FILE.csv", **OUTPUT),
    flag("--show-names", "show raw rows with the names of judges, though these have pseudonyms"),
)  # fmt: skip
BISECT = (
    *CAMPAIGN,
    option("name", "an item, or a metric: a gate, statistic or figure of the manifest", "NAME"),
    TASK,
)
DIFF = (
    *CAMPAIGN,
    option("old", "older release, as v0001 (default: the one before the newest)", "V1", nargs="?"),
    option("new", "newer release, as v0002, latest, candidate or its run (default: latest)", "V2",
           nargs="?", default="latest"),
    option("--output", "write every changed cell to this Parquet file or folder",
           "FILE.parquet|FOLDER", **OUTPUT),
    option("--table", "compare only these tables (default: all)", choices=TABLES),
    option("--rows", "cells to show per table, and judgments to show (default: 10)", "N",
           type=int, default=10),
    flag("--no-causes", "list changes without causes; recomputes nothing"),
)  # fmt: skip
VERIFY = (
    *CAMPAIGN,
    option("version", "release to verify, as v0012 or latest (default: all releases and the "
           "archive)", "V", nargs="?"),
    flag("--rebuild", "rebuild each release from its archived exports and compare byte for byte"),
)  # fmt: skip
SCORE = (
    *CAMPAIGN,
    option("predictions", "predictions, one row per item: csv, tsv, jsonl or parquet, also .gz",
           "PREDICTIONS", type=Path),
    TASK,
    RELEASE,
    option("--item", "column that holds the item (default: item)", "COLUMN"),
    option("--label", "column that holds the label (default: label)", "COLUMN"),
    option("--form", "layout of the predictions (default: inferred from the columns)",
           choices=("labels", "columns", "long", "object")),
    option("--floor", "smallest probability in log loss and KL; raises smaller ones (default: "
           "1e-9)", "P", type=float, default=1e-9),
    option("--rounds", "bootstrap rounds; 0: no bootstrap intervals (default: 1000)", "N",
           type=int, default=1000),
    flag("--normalize", "divide an item's probabilities by their sum"),
    flag("--raw", "use Dawid-Skene's probabilities of gold instead of the published ones"),
    option("--output", "write one row per item there, the largest disagreements first: what to "
           "review", "FILE.csv|FILE.parquet", **OUTPUT),
    flag("--unknown-wrong", "count predicted classes that gold does not have as wrong"),
)  # fmt: skip
PIN = (
    *CAMPAIGN,
    option("version", "release to keep, as v0012 or latest (default: list the pins)", "V",
           nargs="?"),
    flag("--remove", "remove the pin"),
    option("--because", "why the release is kept", "TEXT", default=""),
)  # fmt: skip
PRUNE = (
    *CAMPAIGN,
    option("--keep", "number of newest releases to keep; pinned ones are kept too", "N",
           type=int, required=True),
    option("--gone", "mark releases whose folders were deleted as removed: all, one version, or "
           "all of another gold of this store, by folder or URL (repeatable)", "V|GOLD",
           nargs="?", const="", action="append"),
    flag("--dry-run", "list what would be removed, and remove nothing"),
)  # fmt: skip
REVIEW = (
    *CAMPAIGN,
    option("--output", "folder for the files (default: review/ next to campaign.yaml)", "DIR",
           **OUTPUT),
    flag("--force", "overwrite files that were edited"),
)  # fmt: skip
HITS = (
    *CAMPAIGN,
    option("--output", "folder for the batch (default: a new folder in hits/ next to "
           "campaign.yaml)", "DIR", **OUTPUT),
    option("--design", "same as --set next_hits.design=...", choices=DESIGNS),
    option("--upload", "same as --set next_hits.upload=...",
           choices=("mturk", "label_studio", "jsonl")),
    option("-n", "same as --set next_hits.items=...", "N", dest="items", type=int),
    option("--task", "plan only this task (repeatable; default: all)", "TASK", action="append",
           default=[]),
    flag("--force", "overwrite another batch in the folder"),
)  # fmt: skip
PLAN = (
    option("campaign", CAMPAIGN_HELP, "CAMPAIGN", nargs="?"),
    SET,
    RELEASE,
    TASK,
    option("--assume", "variances to assume without a release: judge_system, segment_system, "
           "residual", "a=b,..."),
    option("--judges", "numbers of judges to compare, as 5,10,20", "N,..."),
    option("--segments", "numbers of segments to compare, as 100,500", "N,..."),
    option("--per-output", "numbers of judgments per output to compare, as 1,2", "N,..."),
    option("--systems", "number of systems", "N", type=int),
    option("--difference", "smallest difference to detect", "POINTS", type=float),
    option("--power", "power at which a difference counts as detectable (default: 0.8)", "SHARE",
           type=float, default=0.8),
    option("--price", "price of one judgment; adds the cost of each design", "X", type=float),
)  # fmt: skip
UNBUILT = "no build of these exports and settings is there, or the store cannot be read"
COMMANDS = (
    Command("init", "campaign", "look at exports and write a commented campaign.yaml",
            "an export cannot be read", INIT),
    Command("validate", "campaign", "read the configuration and every export; write nothing",
            "a build would fail a gate, or an export cannot be read", CAMPAIGN),
    Command("build", "campaign", "run the pipeline; publish a release if the gates pass",
            "a gate failed, or an export, the store or gold cannot be used (the last release "
            "stands)", BUILD),
    Command("publish", "campaign", "publish a candidate, or copy a release to a folder or the Hub",
            "a gate that failed is not accepted, or the candidate is out of date", PUBLISH),
    Command("status", "status", "show the last release, its gates, and what has arrived since",
            "the store or gold cannot be read", CAMPAIGN),
    Command("releases", "releases", "list the releases and what changed in each",
            "gold is missing, older than the store's log, or cannot be read", CAMPAIGN),
    Command("rollback", "releases", "publish the content of an older release again",
            "the release is removed, retracted or damaged, or gold cannot be written", DECISION),
    Command("retract", "releases", "mark a release as not to be used",
            "there is no such release, or gold cannot be written", DECISION),
    Command("forget", "releases", "leave a person out of archive, store, releases and new exports",
            "a gate failed, rows cannot be removed from a format, or gold cannot be written",
            FORGET),
    Command("trace", "trace", "show why an item has its label or score: judgments, fates, weights",
            "the release does not have the item or task, or cannot be read", TRACE),
    Command("items", "items", "list items by what makes them doubtful",
            "the release cannot be read", ITEMS),
    Command("serve", "serve", "serve a local page of items, judges and raw rows",
            "the release cannot be read, or the port is taken", SERVE),
    Command("bisect", "diff", "show by which release a label, score or metric changed, and why",
            "there is no such item or metric, or a release cannot be read", BISECT),
    Command("diff", "diff", "show what changed between two releases, each change with its cause",
            "a release cannot be read", DIFF),
    Command("verify", "releases", "recompute every checksum; --rebuild: from the archived exports",
            "a file is damaged or missing, or a rebuild differs", VERIFY),
    Command("score", "score", "score a model's labels or probabilities against gold",
            "the predictions or the release cannot be scored", SCORE),
    Command("pin", "releases", "pin a release so that prune keeps it",
            "the release cannot be read, or the store cannot be written", PIN),
    Command("prune", "releases", "remove old releases, and archived exports that only they need",
            "gold or the store cannot be read or written", PRUNE),
    Command("review", "batches", "write the files that MTurk takes to approve or reject work",
            UNBUILT, REVIEW),
    Command("hits", "batches", "write the next batch to annotate, ready to upload", UNBUILT, HITS),
    Command("plan", "plan", "show which differences between systems a design detects",
            "the release cannot be read", PLAN),
    Command("schema", "campaign", "print the JSON Schema of campaign.yaml, for editors",
            "the schema cannot be written", ()),
)  # fmt: skip
