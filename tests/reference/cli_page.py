"""docs/reference/cli.md, from the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from annot_pipeline.cli import COMMANDS, build_parser

WIDTH = 88
PAGES = {
    "init": "campaign.md", "validate": "campaign.md", "build": "operations.md",
    "publish": "decisions.md#a-candidate", "status": "operations.md", "releases": "gold.md",
    "rollback": "decisions.md#back-to-an-older-release",
    "retract": "decisions.md#retract-a-release", "forget": "decisions.md#forget-a-person",
    "trace": "audit.md#trace-where-a-label-comes-from", "items": "gold.md#doubtful-items",
    "serve": "serve.md", "bisect": "decisions.md#since-when",
    "diff": "audit.md#diff-what-changed-and-why", "verify": "audit.md#verify-and-rebuild",
    "score": "score.md", "pin": "audit.md#pin-and-prune", "prune": "audit.md#pin-and-prune",
    "review": "judge_control.md#review-of-mturk-work", "hits": "hits.md",
    "plan": "methods.md#plan-the-next-evaluation",
    "schema": "campaign.md#completion-in-an-editor",
}  # fmt: skip
"""Where each command is explained."""

JSON = {
    "init": "`campaign_file`, `text`, `beliefs` (of each source, its roles: expression, why, "
    "score, evidence, alternatives); where a question is open, `error` also has `questions` "
    "(options with the commands that give them) and `beliefs`",
    "validate": "`campaign`, `sources`, `tasks`, `records`, `fates`, `rejections`, `look_alikes`, "
    "`excluded`, `gates`, `failed_build`, `other_key`, `names_of_this_run`",
    "build": "`campaign`, `published`, `version`, `path`, `run`, `facts`, `tables` (rows by name), "
    "`checks`, `changes`, `candidate` (the run, where it is one)",
    "publish": "as `build`; with `--to`: `version`, `to`, `revision`, `main`",
    "status": "`campaign`, `release`, `rolled_back`, `arrived` (new, changed, gone), "
    "`exports_not_compared`, `unread`, `settings_changed`, `changed_settings`, `not_compared`, "
    "`last_build`, `damaged_note`, `unended_build`, `unfinished_forgets`, `failing`, `candidate`, "
    "`other_candidates`, `dropped`, `exclude` (lines for campaign.yaml, by export), "
    "`unused_exclusions`, `failed_build`, `refused_folders`, `exposed_secrets`, `excluded`, "
    "`unpointed`, `build_due`",
    "releases": "`releases`, `candidates` (run, created_at, parent, kept, bytes, do), "
    "`forgotten` (at, by, because, finished), `rolled_back`",
    "rollback": "`campaign`, `version`, `restored`, `path`, `dropped_exports`, `exclude`",
    "retract": "`campaign`, `version`, `copies` (releases with its content that are not marked)",
    "forget": "`campaign`, `release`, `removed`, `elsewhere`, `exclude`, `alike`, `dry_run`; "
    "with `--dry-run`: `rows` (by archived export), `pinned` (which stop it), "
    "`loss` (release, judgments, items)",
    "trace": "see [below](#the-document-of-annot-trace)",
    "items": "`campaign`, `n_items`, `items`, `path`",
    "serve": "`address`, `release`, `decisions`",
    "bisect": "`campaign`, `item`, `changes`; of a metric `metric`, `task`, `question`, `values`, "
    "`since`, `before`, `value`, `value_before`, `causes`, `decision`, `exports`, `settings`",
    "diff": "see [below](#the-document-of-annot-diff)",
    "verify": "`ok`, `files`, `bytes`, `releases`, `archive_ok`, `exports`, `pruned`, `forgotten`, "
    "`findings` (file, what, do), `rebuilt` (by version: tables, equal, other_code, differences, "
    "error)",
    "score": "see [below](#the-document-of-annot-score)",
    "plan": "`release` (null: assumed), `tasks` (variances, `designs`, `enough`)",
    "hits": "`campaign`, `design`, `format`, `folder`, `plan`, `hits`, `slots`, `tasks`, "
    "`unplanned`, `done` (nothing is left to ask), `notes`, `warnings`, `next`",
    "review": "`campaign`, `folder`, `review`, `assignments`, `approve`, `reject`, `decide`, "
    "`uploads`",
    "pin": "`campaign`, `version`, `pins`",
    "prune": "`campaign`, `dry_run`, `kept`, `removed`, `archive`, `gone_gold`, `struck_off`, "
    "`bytes`",
    "schema": "the JSON Schema itself",
}
"""Keys of the JSON document of each command."""

DETAILS = {
    "trace": (
        "Keys of each of `traces`.",
        [
            (
                "`campaign`, `release`, `task`, `item`, `kind`",
                "what was asked for",
            ),
            (
                "`segment`, `system`, `text`, `item_version`, `source`, `reference`, `truth`, "
                "`other_texts`",
                "the item, and its other texts if the text changed",
            ),
            (
                "`label`, `distribution`, `score`, `segment_ranks`, `system_rankings`",
                "its rows in these tables",
            ),
            (
                "`judgments`",
                "columns of `judgments`, and `answer`, `reason`, `evidence`, `likelihoods`, "
                "`rules_out`, `weight`, `z_weight`, `beside` (ranks in the same ranking), "
                "`places` (each record of it: file, row, line, cell, digest, fate)",
            ),
            (
                "`anonymous_votes`, `votes`",
                "votes that an export gives as counts",
            ),
            (
                "`other_records`, `set_aside`, `judges`",
                "rejected records; judgments left out of a calculation; verdicts of all judges "
                "above",
            ),
            (
                "`runner_up`, `prior_evidence`",
                "the class that evidence is against; the evidence of the prevalence",
            ),
            (
                "`without_judge`, `flipped_by`, `held_fixed`",
                "the result without each judge; what stays fixed, or why this is not shown",
            ),
            (
                "`chain`",
                "the stages that made it, with code and data versions",
            ),
        ],
    ),
    "diff": (
        "",
        [
            (
                "`campaign`, `from`, `to`",
                "what is compared",
            ),
            (
                "`inputs`",
                "`exports`, `judgments` (counts), `verdicts`, `model_versions`, `settings`, "
                "`code` that differ",
            ),
            (
                "`causes_found`, `recomputed`, `notes`",
                "whether causes were computed, and from which builds",
            ),
            (
                "`labels`",
                "labels that `changed`, were `added` or are gone (`removed`); null without labels",
            ),
            (
                "`summary`",
                "by table and column: `changed`, `added`, `removed`, `became_true` (flags), "
                "`largest` change, `causes` (counts)",
            ),
            (
                "`cells`, `rows`",
                "how many cells differ; the first `--rows` of each table",
            ),
            (
                "`judgments_changed`, `judgments`",
                "how many judgments differ; the first of them",
            ),
        ],
    ),
    "score": (
        'A figure is `{"value": x, "ci_low": x, "ci_high": x}`.',
        [
            (
                "`campaign`, `release`, `manifest_sha256`, `predictions`, `gold_column`",
                "what was scored against what",
            ),
            (
                "`form`",
                "`name`, `says`, `item`, `task`, `label`, `probability`, `columns`, "
                "`classes_without_column`, `ignored`",
            ),
            (
                "`floor`, `rounds`, `seed`",
                "the options of these names",
            ),
            (
                "`rows`, `matched_rows`, `matched`, `gold_items`, `not_rows`",
                "rows of the file, those about an item of gold, items in both, items of gold; "
                "comments and other lines",
            ),
            (
                "`unknown_items`, `gold_without_prediction`",
                "`n`, and the `first` five",
            ),
            (
                "`unknown_tasks`, `other_tasks`",
                "rows by task: not in gold; not asked for",
            ),
            (
                "`tasks`",
                "by task: `task`, `scored_on`, `n_items`, `n_known`, `n_without_prediction`, "
                "`n_adjudicated`, `n_without_votes`, `n_unknown_class`, `n_normalized`, "
                "`n_tied`, `n_floored`, `classes`, `figures`, `mean_f1`, `mean_expected_f1`, "
                "`baselines`, `by_class` (`label`, `n_gold`, `n_predicted`, `mass`, "
                "`precision`, `recall`, `f1`, `expected_precision`, `expected_recall`, "
                "`expected_f1`), `by_certainty` (`certainty`, `n_items`, `figures`), "
                "`calibration` (`error`, `label_error`, `bins` of `low`, `high`, `n_items`, "
                "`confidence`, `expected_accuracy`, `accuracy`)",
            ),
            (
                "`micro`, `macro`",
                "figures and baselines over tasks; `n_tasks`",
            ),
            (
                "`why_null`",
                "figure to reason",
            ),
            (
                "`farthest`",
                "the largest disagreements: `task`, `item`, `label`, `probability`, "
                "`adjudicated`, `predicted`, `predicted_probability`, `distance`, figures",
            ),
            (
                "`next`",
                "the next step",
            ),
        ],
    ),
}
"""Documents with many keys: a sentence about them, and the keys with what they hold."""

HEAD = """# Command line

Run a command with `annot COMMAND`; `annot COMMAND --help` shows its arguments. Options go before,
between or after arguments. Results go to stdout, progress and errors to stderr. With `--json` the
result is one JSON document, and so is an error ([documents](#json-documents)).

| Exit status | Means |
|---|---|
| 0 | done; gates may have warned |
| 1 | a gate failed, or data, the store or gold cannot be used; the last release stands |
| 2 | wrong usage or configuration; nothing was written |

| Environment variable | Means |
|---|---|
| `ANNOT_KEY` | secret of the pseudonyms; `privacy.key_env` names another variable |
| `ANNOT_DEBUG` | if set, an internal error shows its traceback |
| `NO_COLOR` | if set, a terminal shows no colours |
| `FORCE_COLOR` | if set, colours are written to pipes and files too |

| Command | Does |
|---|---|
"""


DOCUMENTS = """## JSON documents

With `--json` a command prints one document. Where a key is about something that may not exist, its
value is null; `do` says what to do about it. A failure is `{"error": {"title", "problems":
[{"where", "what", "allowed", "do", "values"}]}, "exit_status"}`, with `checks` as in the manifest
if gates failed.

| Command | Keys |
|---|---|"""


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments and options of a command, without --help."""
    return [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]


def subcommands() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands by name."""
    (group,) = [
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(group.choices)


def written(action: argparse.Action, usage: str = "") -> str:
    """Return an argument or option with its value, as the synopsis has it."""
    value = "{" + ",".join(action.choices) + "}" if action.choices else action.metavar
    if not action.option_strings:
        text = str(value)
        return {"?": f"[{text}]", "+": f"{text} [{text} ...]"}.get(str(action.nargs), text)
    text = (
        action.option_strings[-1] if action.nargs == 0 else f"{action.option_strings[-1]} {value}"
    )
    if action.nargs == "?":
        text = f"{action.option_strings[-1]} [{value}]"
    is_needed = bool(usage) and f"[{text}]" not in " ".join(usage.split())  # or of a group
    return text if is_needed and not is_flag(action) else f"[{text}]"


def is_flag(action: argparse.Action) -> bool:
    """Return whether an option takes no value: none of these is needed."""
    return action.nargs == 0


def names(action: argparse.Action) -> str:
    """Return an argument or option as its row in a table names it."""
    if not action.option_strings:
        return f"`{action.metavar}`"
    value = "" if action.nargs == 0 or action.choices else f" {action.metavar}"
    value = f" [{action.metavar}]" if action.nargs == "?" else value
    spelled = ", ".join(f"`{name}{value}`" for name in action.option_strings)
    return spelled.replace("|", "\\|")


def says(action: argparse.Action) -> str:
    """Return the help of an argument, with the words that it allows."""
    text = str(action.help)
    if action.choices:
        text += ": " + ", ".join(f"`{choice}`" for choice in action.choices)
    return text.replace("|", "\\|")


def synopsis(words: list[str]) -> str:
    """Return the words of a synopsis in lines of at most `WIDTH`, never broken within one."""
    lines = [words[0]]
    for word in words[1:]:
        fits = len(lines[-1]) + len(word) < WIDTH
        lines[-1:] = [f"{lines[-1]} {word}"] if fits else [lines[-1], f"    {word}"]
    return "\n".join(lines)


def section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    rows = actions(parser)
    ordered = [a for a in rows if not a.option_strings] + [a for a in rows if a.option_strings]
    yield f"## annot {name}\n"
    yield f"{parser.description} More: [{PAGES[name].partition('#')[0]}](../{PAGES[name]}).\n"
    yield (
        "```text\n"
        + synopsis([parser.prog, *(written(one, parser.usage or "") for one in ordered)])
        + "\n```\n"
    )
    yield "| Argument | Means |\n|---|---|"
    yield from (f"| {names(action)} | {says(action)} |" for action in ordered)


def cli_page() -> str:
    """Return the page."""
    head = HEAD + "\n".join(f"| [`{c.name}`](#annot-{c.name}) | {c.help} |" for c in COMMANDS)
    lines = [head + "\n"]
    for name, parser in subcommands().items():
        lines += section(name, parser)
    lines += [DOCUMENTS, *(f"| `{name}` | {JSON[name]} |" for name in JSON)]
    for name, (sentence, keys) in DETAILS.items():
        lines.append(f"\n### The document of annot {name}\n")
        lines += [f"{sentence}\n"] if sentence else []
        lines += ["| Key | Holds |\n|---|---|", *(f"| {key} | {held} |" for key, held in keys)]
    return "\n".join(lines) + "\n"
