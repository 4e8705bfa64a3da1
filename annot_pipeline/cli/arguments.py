"""All commands with their arguments, and what each does.

A new command is an entry of `DECLARED` and a function of the arguments in a module beside it. The
module is imported when the command runs: ``--help`` loads none, and only `build --dagster` loads
Dagster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, NamedTuple

from annot_pipeline.commands.init_roles import INIT_ROLES

Texts = Mapping[str, str]
"""Help of each argument, by name, value and default, as `argument` reads them.

Those of a command begin with its module and name.
"""


def integers(written: str) -> tuple[int, ...]:
    """Return whole numbers that commas separate."""
    return tuple(map(int, written.split(",")))


def decimals(written: str) -> tuple[float, ...]:
    """Return numbers that commas separate."""
    return tuple(map(float, written.split(",")))


def variances(written: str) -> dict[str, float]:
    """Return numbers by name, as ``judge_system=20,residual=200``."""
    pairs = (part.partition("=") for part in written.split(","))
    return {name.strip(): float(value) for name, _, value in pairs}


TYPES: Mapping[str, Callable[[str], Any]] = {
    "N": int, "P": float, "SHARE": float, "POINTS": float, "X": float, "N,...": integers,
    "X,...": decimals, "a=b,...": variances,
    "EXPORT": Path, "PREDICTIONS": Path, "--output": Path,
}  # fmt: skip
"""Types of values by how they are written, or by the name of the option; others are text."""
ATTRIBUTES = {"--set": "sets", "--question": "task", "-n": "items"}
"""Names under which functions read options, where these are others."""
SHORT = {"--output": "-o", "--quiet": "-q", "--verbose": "-v"}
NEEDED, REPEATED = "!", "..."
"""In the place of a default: a value is needed, or several are taken."""


class Command(NamedTuple):
    """A subcommand: its name, module, what it does, its arguments."""

    name: str
    module: str
    help: str
    arguments: Texts

    @classmethod
    def declared(cls, texts: Texts) -> Command:
        """Return the command that texts declare: what it does, and its arguments."""
        (path, does), *arguments = texts.items()
        module, _, name = path.partition(".")
        return cls(name, module, does, dict(arguments))

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments, and what runs them.

        The usage shows which options are needed; where one is missing, the command says what to do.
        """
        actions = [argument(parser, *each) for each in self.arguments.items()]
        argument(parser, "--json", "print one JSON document")
        one_of = parser.add_mutually_exclusive_group()
        argument(one_of, "--quiet", "tell no progress")
        argument(one_of, "--verbose", "tell all steps, hashes")
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


def argument(parser: argparse._ActionsContainer, usage: str, text: str) -> argparse.Action:
    """Add an argument or option.

    Parameters
    ----------
    parser
        Gets it.
    usage
        Its name; what stands for its value, in brackets where it may be left out, or the values
        that are allowed in braces; and its default, `NEEDED` or `REPEATED`. Without a value it is
        an option that is given or not.
    text
        Its help, which gets the default unless it has it.
    """
    name, value, default, *_ = [*usage.split(), "", ""]
    names = [SHORT[name], name] if name in SHORT else [name]
    if not value:
        return parser.add_argument(*names, action="store_true", help=text)
    word = value.strip("[]")
    options: dict[str, Any] = {"metavar": word, "default": "" if word == "TEXT" else None}
    if value.startswith("{"):
        options |= {"metavar": None, "choices": tuple(value.strip("{}").split(","))}
    if read := TYPES.get(name, TYPES.get(word)):
        options["type"] = read
    if name in ATTRIBUTES:
        options["dest"] = ATTRIBUTES[name]
    if word != value:
        options |= {"nargs": "?", "const": "" if name.startswith("-") else None}
    if default == NEEDED:
        options["required"] = True
    elif default == REPEATED and name.startswith("-"):
        options |= {"action": "append", "default": []}
    elif default == REPEATED:
        options["nargs"] = "+"
    elif default:
        options["default"] = (read or str)(default)
        text += "" if "(default: " in text else f" (default: {default})"
    return parser.add_argument(*names, help=text, **options)


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


TABLES = ("labels", "scores", "ranks", "verdicts", "model_judges")
"""What `annot diff` compares."""
SET = {"--set a.b=c ...": "override a setting of campaign.yaml, as --set seed=3 (repeatable)"}
CAMPAIGN = {"campaign CAMPAIGN": "campaign.yaml or the folder that holds it"} | SET
RELEASE = {"--release V latest": "release to read, as v0012 (default: the newest)"}
CANDIDATE = {"--release V latest": "release, as v0012, candidate or its run (default: the newest)"}
TASK = {"--task TASK": "read only this task (default: all)"}
WHY = "why (kept with the decision)"
BECAUSE = {"--because TEXT !": WHY}
BY = {"--by NAME": "who decided (default: the user of this process)"}
DECISION = {**CAMPAIGN, "version V": "a release, as v0002", **BECAUSE, **BY}

DECLARED: Sequence[Texts] = (
    {
        "campaign.init": "look at exports and write a commented campaign.yaml",
        "exports EXPORT ...": "export files, or folders of them",
        "--output DIR": "folder for campaign.yaml, which names the campaign (default: this folder)",
        "--preset NAME": "use this mapping instead of guessing one; an unknown name lists all",
        **{f"--{role.replace('_', '-')} COLUMN": text for role, text in INIT_ROLES.items()},
        "--question COLUMN": "the same as --task",
        "--force": "overwrite an existing campaign.yaml",
    },
    {
        "campaign.validate": "read the configuration and every export; write nothing",
        **CAMPAIGN,
    },
    {
        "campaign.build": "run the pipeline; publish a release if the gates pass",
        **CAMPAIGN,
        "--dagster": "run the job in Dagster, and record it in the instance of DAGSTER_HOME",
        "--gone": "mark the releases of lost or replaced gold as removed, and publish a new one",
        "--candidate": "publish nothing: keep the tables as a candidate, to be looked at",
        "--keep": "keep the candidate also after the next publication",
    },
    {
        "campaign.publish": "publish a candidate, or copy a release to a folder or the Hub",
        **CAMPAIGN,
        "--candidate RUN": "run of the candidate, its first characters, or latest",
        "--accept GATE ...": "a gate that failed and is accepted (repeatable)",
        "--because TEXT": f"{WHY}; needed with --accept",
        **BY,
        "--to FOLDER|hf://OWNER/NAME": "copy a release to a new folder, or to a dataset of the Hub",
        **RELEASE,
    },
    {
        "status.status": "show the last release, its gates, and what has arrived since",
        **CAMPAIGN,
    },
    {
        "releases.releases": "list the releases and what changed in each",
        **CAMPAIGN,
    },
    {
        "releases.rollback": "publish the content of an older release again",
        **DECISION,
    },
    {
        "releases.retract": "mark a release as not to be used",
        **DECISION,
    },
    {
        "releases.forget": "leave a person out of archive, store, releases and new exports",
        **CAMPAIGN,
        "judge JUDGE": "the person's name, as exports or releases have it",
        **BECAUSE,
        **BY,
        "--pinned": "remove pinned releases with the person too",
        "--unseen": "take a name that no export has now: later ones are read without it",
        "--dry-run": "say what would be removed, and remove nothing",
    },
    {
        "trace.trace": "show why an item has its label or score: judgments, fates, weights",
        **CAMPAIGN,
        "item ITEM": "an item, one of two compared items, or both as 'a | b'",
        **TASK,
        **CANDIDATE,
    },
    {
        "trace.items": "list items by what makes them doubtful",
        **CAMPAIGN,
        **CANDIDATE,
        **TASK,
        "--uncertain": "only items whose label is not certain",
        "--label LABEL": "only items with this label",
        "--judge JUDGE": "only items that this judge judged, by the published name",
        "--reason REASON": "only items with this reason: uncertain, one judge, split votes, "
        "against the votes, expert against model, no judgment counts, scores differ, preferences "
        "differ, models differ from people, ranks differ",
        "--rows N 20": "items to show",
        "--output FILE.csv|FILE.parquet": "write all items there, with texts and votes",
    },
    {
        "serve.serve": "serve a local page of items, judges and raw rows",
        **CAMPAIGN,
        "--port N 8017": "port; 0 takes a free one",
        "--output FILE.csv": "file that decisions are added to (default: decisions.csv next to "
        "campaign.yaml, NAME_decisions.csv next to NAME.yaml)",
        "--show-names": "show raw rows with the names of judges, though these have pseudonyms",
    },
    {
        "diff.bisect": "show by which release a label, score or metric changed, and why",
        **CAMPAIGN,
        "name NAME": "an item, or a metric: a gate, statistic or figure of the manifest",
        **TASK,
    },
    {
        "diff.diff": "show what changed between two releases, each change with its cause",
        **CAMPAIGN,
        "old [V1]": "older release, as v0001 (default: the one before the newest)",
        "new [V2] latest": "newer release, as v0002, latest, candidate or its run",
        "--output FILE.parquet|FOLDER": "write every changed cell to this Parquet file or folder",
        f"--table {{{','.join(TABLES)}}}": "compare only these tables (default: all)",
        "--rows N 10": "cells to show per table, and judgments to show",
        "--no-causes": "list changes without causes; recomputes nothing",
    },
    {
        "releases.verify": "recompute every checksum; --rebuild: from the archived exports",
        **CAMPAIGN,
        "version [V]": "release, as v0012 or latest (default: all releases and the archive)",
        "--rebuild": "rebuild each release from its archived exports and compare byte for byte",
    },
    {
        "score.score": "score a model's labels or probabilities against gold",
        **CAMPAIGN,
        "predictions PREDICTIONS": "one row per item: csv, tsv, jsonl or parquet, also .gz",
        **TASK,
        **RELEASE,
        "--item COLUMN": "column that holds the item (default: item)",
        "--label COLUMN": "column that holds the label (default: label)",
        "--form {labels,columns,long}": "layout (default: inferred from the columns)",
        "--floor P 1e-9": "smallest probability in log loss and KL; raises smaller ones",
        "--rounds N 1000": "bootstrap rounds; 0: no bootstrap intervals",
        "--normalize": "divide an item's probabilities by their sum",
        "--raw": "use Dawid-Skene's probabilities of gold instead of the published ones",
        "--output FILE.csv|FILE.parquet": "write items there, the largest disagreements first",
        "--unknown-wrong": "count predicted classes that gold does not have as wrong",
    },
    {
        "releases.pin": "pin a release so that prune keeps it",
        **CAMPAIGN,
        "version [V]": "release to keep, as v0012 or latest (default: list the pins)",
        "--remove": "remove the pin",
        "--because TEXT": "why the release is kept",
    },
    {
        "releases.prune": "remove old releases, and archived exports that only they need",
        **CAMPAIGN,
        "--keep N !": "number of newest releases to keep; pinned ones are kept too",
        "--gone [V|GOLD] ...": "mark releases whose folders were deleted as removed: all, one "
        "version, or all of another gold of this store, by folder or URL (repeatable)",
        "--dry-run": "list what would be removed, and remove nothing",
    },
    {
        "batches.review": "write the files that MTurk takes to approve or reject work",
        **CAMPAIGN,
        "--output DIR": "folder for the files (default: review/ next to campaign.yaml)",
        "--force": "overwrite files that were edited",
    },
    {
        "batches.hits": "write the next batch to annotate, ready to upload",
        **CAMPAIGN,
        "--output DIR": "folder for the batch (default: a new one in hits/ by campaign.yaml)",
        "--design {easl,controlled,tournament,adequacy,validate,audit,labels}": "same as --set "
        "next_hits.design=...",
        "--upload {mturk,label_studio,jsonl}": "same as --set next_hits.upload=...",
        "-n N": "same as --set next_hits.items=...",
        "--task TASK ...": "plan only this task (repeatable; default: all)",
        "--force": "overwrite another batch in the folder",
    },
    {
        "batches.plan": "show which differences between systems a design detects",
        "campaign [CAMPAIGN]": CAMPAIGN["campaign CAMPAIGN"],
        **SET,
        **RELEASE,
        **TASK,
        "--assume a=b,...": "variances without a release: judge_system, segment_system, residual",
        "--judges N,...": "numbers of judges to compare, as 5,10,20",
        "--segments N,...": "numbers of segments to compare, as 100,500",
        "--per-output X,...": "numbers of judgments per output to compare, as 1,2",
        "--systems N": "number of systems",
        "--difference POINTS": "smallest difference to detect",
        "--power SHARE 0.8": "power at which a difference counts as detectable",
        "--price X": "price of one judgment; adds the cost of each design",
    },
    {
        "campaign.schema": "print the JSON Schema of campaign.yaml, for editors",
    },
)
COMMANDS = tuple(map(Command.declared, DECLARED))
