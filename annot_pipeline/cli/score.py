"""annot score."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path

from annot_pipeline.cli.common import (
    RELEASE_HELP,
    TASK_HELP,
    Document,
    add_campaign,
    load,
    say,
    show,
    typed,
)
from annot_pipeline.errors import counted, counted_kind, printable, shorten

NAMES = {
    "accuracy": "accuracy",
    "expected_accuracy": "expected accuracy",
    "log_loss": "log loss, nats",
    "kl": "KL from gold, nats",
    "brier": "Brier score, 0 to 2",
    "log_loss_label": "log loss of label",
    "entropy": "entropy of gold",
}
MOST_TASKS = 25
"""Tasks that get a line; --json has all."""
MOST_CLASSES = 25
TERMINAL_WIDTH = 80


def add(score: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_campaign(score)
    score.add_argument(
        "predictions", metavar="PREDICTIONS", type=Path,
        help="predictions, one row per item: csv, tsv, jsonl or parquet, also .gz",
    )  # fmt: skip
    score.add_argument("--task", metavar="TASK", help=TASK_HELP)
    score.add_argument("--release", metavar="V", default="latest", help=RELEASE_HELP)
    score.add_argument(
        "--item", metavar="COLUMN", help="column that holds the item (default: item)"
    )
    score.add_argument(
        "--label", metavar="COLUMN", help="column that holds the label (default: label)"
    )
    score.add_argument(
        "--form", choices=("labels", "columns", "long", "object"),
        help="layout of the predictions (default: inferred from the columns)",
    )  # fmt: skip
    score.add_argument(
        "--floor", metavar="P", type=float, default=1e-9,
        help="smallest probability in log loss and KL; raises smaller ones (default: 1e-9)",
    )  # fmt: skip
    score.add_argument(
        "--rounds",
        metavar="N",
        type=int,
        default=1000,
        help="bootstrap rounds; 0: no bootstrap intervals (default: 1000)",
    )
    score.add_argument(
        "--normalize", action="store_true", help="divide an item's probabilities by their sum"
    )
    score.add_argument(
        "--raw", action="store_true",
        help="use Dawid-Skene's probabilities of gold instead of the published ones",
    )  # fmt: skip
    score.add_argument(
        "-o", "--output", metavar="FILE.csv|FILE.parquet", type=Path,
        help="write one row per item there, the largest disagreements first: what to review",
    )  # fmt: skip
    score.add_argument(
        "--unknown-wrong",
        action="store_true",
        help="count predicted classes that gold does not have as wrong",
    )


def run(arguments: argparse.Namespace) -> int:
    """Score predictions."""
    from annot_pipeline.scoring import Options, score
    from annot_pipeline.scoring.items_file import items_path, write_items

    options = Options(
        task=arguments.task,
        release=arguments.release,
        item=arguments.item,
        label=arguments.label,
        form=arguments.form,
        floor=arguments.floor,
        rounds=arguments.rounds,
        normalize=arguments.normalize,
        unknown_wrong=arguments.unknown_wrong,
        raw=arguments.raw,
    )
    campaign = load(arguments)
    path = items_path(campaign, arguments.output) if arguments.output else None
    scores = score(campaign, arguments.predictions, options, progress=say)
    document = scores.document
    if path is not None:
        write_items(scores.items, path)
        document["items_path"] = str(path)
    document["next"] = _next(arguments, document)
    show(arguments, document, lambda: _score_text(document))
    return 0


def _next(arguments: argparse.Namespace, document: Document) -> str:
    """Return what to look at: the item that gold and the model disagree on most."""
    if not document["farthest"]:
        if all(task["scored_on"] == "known" for task in document["tasks"]):
            return "nothing to do, the model gives each known item its class"
        return (
            "list the truth of 50 items, or let experts decide them: the model agrees with "
            "gold on every item, but gold was inferred, so its errors count as right"
        )
    row = document["farthest"][0]
    words = [row["item"], "--task", row["task"], "--release", document["release"]]
    return f"annot trace {typed(arguments)} {shlex.join(words)}"


def _score_text(document: Document) -> str:
    tasks = document["tasks"]
    lines = [
        f"{document['campaign']} {document['release']}, {document['predictions']}",
        f"read as: {document['form']['says']}",
        f"gold: {document['gold_column']} of label_distributions",
        *_coverage(document),
        "",
        *_figures(tasks[0] if len(tasks) == 1 else document["micro"], document),
    ]
    if len(tasks) == 1:
        lines += _classes(tasks[0])
    else:
        lines += ["", *_tasks(document)]
    lines += [
        "",
        *_certainty(document["micro"]),
        "",
        *_farthest(document["farthest"], len(tasks) > 1),
    ]
    if "items_path" in document:
        lines.append(f"all items: {document['items_path']}")
    return "\n".join(map(printable, [*lines, f"next: {document['next']}"]))


def _coverage(document: Document) -> list[str]:
    """Return lines on what of the file and of gold is in the figures, and what is not."""
    lines = [
        f"{document['rows']:,} rows, {document['matched']:,} of {document['gold_items']:,} items "
        "of gold"
    ]
    for name, noun, description in (
        ("unknown_items", "row", "left out, items that gold does not have"),
        ("gold_without_prediction", "item", "of gold without a prediction, left out"),
    ):
        missing = document[name]
        if missing["n"]:
            names = _names(missing["first"], missing["n"])
            lines.append(f"  {counted(missing['n'], noun)} {description}: {names}")
    for name, description in (
        ("unknown_tasks", "left out, tasks that gold does not have"),
        ("other_tasks", "left out, of other tasks"),
    ):
        if tasks := document[name]:
            rows = counted(sum(tasks.values()), "row")
            lines.append(f"  {rows} {description}: {_names(list(tasks), len(tasks))}")
    lines += [f"  not rows: {counted_kind(n, kind)}" for kind, n in document["not_rows"].items()]
    form = document["form"]
    for name, description in (
        ("classes_without_column", "classes without a column, taken as 0"),
        ("ignored", "ignored columns"),
    ):
        if form[name]:
            lines.append(f"  {description}: {_names(form[name], len(form[name]))}")
    for name, description in (
        ("n_normalized", "whose probabilities were divided by their sum"),
        ("n_unknown_class", "with a class that gold does not have, counted as wrong"),
        ("n_tied", "with several classes of the highest probability: the first counts"),
        ("n_floored", f"with a probability raised to {document['floor']:g}"),
        ("n_adjudicated", "that an expert decided"),
    ):
        n = sum(task[name] for task in document["tasks"])
        if n:
            lines.append(f"  {counted(n, 'item')} {description}")
    return lines


ON_KNOWN = "scored on items whose class is known, by truth or an expert: not on gold's labels"
ON_GOLD = (
    "scored on gold, which was inferred: where gold is wrong, a model that is right counts as "
    "wrong; the majority is left out, as gold was made of it. From 50 known items on (truth in "
    "items, or adjudicated) these alone are scored"
)
ON_BOTH = "some tasks are scored on known items, the others on gold: see scored_on in --json"


def _names(names: Sequence[str], n: int) -> str:
    """Return the first three of ``n``, of which ``names`` may be the first few."""
    texts = [shorten(name, 30) for name in names[:3]]
    more = n - len(texts)
    return ", ".join(texts) + (f" and {more:,} more" if more > 0 else "")


def _figures(part: Document, document: Document) -> list[str]:
    """Return the figures of the model next to those of the baselines."""
    n = part["n_items"]
    lines = [f"{f'{n:,} items':<20}{'model':>8}  {'95% interval':<16}{'majority':>9}"
             f"{'prevalence':>12}{'gold':>9}"]  # fmt: skip
    for name, title in NAMES.items():
        figure = part["figures"][name]
        majority, prevalence, gold = (
            part["baselines"].get(baseline, {}).get(name, {}).get("value")
            for baseline in ("majority_vote", "prevalence", "gold")
        )
        lines.append(
            f"{title:<20}{_value(figure['value']):>8}  {_interval(figure):<16}"
            f"{_value(majority):>9}{_value(prevalence):>12}{_value(gold):>9}"
        )
    reasons = dict.fromkeys(document["why_null"].values())
    scored_on = textwrap.wrap(_scored_on(document), TERMINAL_WIDTH)
    return [*lines, *scored_on, *(f"-: {why}" for why in reasons)]


def _scored_on(document: Document) -> str:
    """Return what the figures are about."""
    modes = {task["scored_on"] for task in document["tasks"]}
    if len(modes) > 1:
        return ON_BOTH
    return ON_KNOWN if modes == {"known"} else ON_GOLD


def _classes(task: Document) -> list[str]:
    lines = [
        "",
        f"{'class':<20}{'gold':>7}{'model':>7}{'precision':>11}{'recall':>8}{'F1':>8}"
        f"{'expected F1':>13}",
    ]
    for row in task["by_class"][:MOST_CLASSES]:
        values = [_value(row[name]["value"]) for name in ("precision", "recall", "f1")]
        lines.append(
            f"{_truncate(row['label'], 19):<20}{row['n_gold']:>7,}{row['n_predicted']:>7,}"
            f"{values[0]:>11}{values[1]:>8}{values[2]:>8}"
            f"{_value(row['expected_f1']['value']):>13}"
        )
    mean = [_value(task[name]["value"]) for name in ("mean_f1", "mean_expected_f1")]
    lines.append(f"{'mean':<53}{mean[0]:>8}{mean[1]:>13}")
    more = len(task["by_class"]) - MOST_CLASSES
    if more > 0:
        lines.append(f"{more:,} more classes are in --json")
    if task["calibration"]:
        lines.append(f"calibration error {_value(task['calibration']['error'])}")
    return lines


def _tasks(document: Document) -> list[str]:
    head = f"{'task':<28}{'items':>8}{'accuracy':>10}{'expected':>10}{'log loss':>10}{'KL':>9}"
    lines = [head]
    rows = [(row["task"], row["n_items"], row["figures"]) for row in document["tasks"]]
    macro = document["macro"]
    for task, n, figures in [*rows[:MOST_TASKS], (None, macro["n_tasks"], macro["figures"])]:
        values = [
            _value(figures[name]["value"])
            for name in ("accuracy", "expected_accuracy", "log_loss", "kl")
        ]
        label = f"mean over {n:,} tasks" if task is None else _truncate(task, 27)
        count = "" if task is None else f"{n:,}"
        lines.append(
            f"{label:<28}{count:>8}{values[0]:>10}{values[1]:>10}{values[2]:>10}{values[3]:>9}"
        )
    if len(rows) > MOST_TASKS:
        lines.append(f"{len(rows) - MOST_TASKS:,} more tasks are in --json; --task shows one")
    return lines


def _certainty(part: Document) -> list[str]:
    lines = [
        f"{'gold is certain by':<20}{'items':>8}{'accuracy':>10}  {'95% interval':<16}"
        f"{'expected':>9}{'log loss':>10}"
    ]
    for row in part["by_certainty"]:
        if row["n_items"]:
            figures = row["figures"]
            lines.append(
                f"{row['certainty']:<20}{row['n_items']:>8,}"
                f"{_value(figures['accuracy']['value']):>10}  {_interval(figures['accuracy']):<16}"
                f"{_value(figures['expected_accuracy']['value']):>9}"
                f"{_value(figures['log_loss']['value']):>10}"
            )
    return lines


def _farthest(rows: Sequence[Document], several: bool) -> list[str]:
    lines = ["largest disagreements with gold:"] if rows else []
    for row in rows:
        by = "an expert" if row["adjudicated"] else f"{row['probability']:.3f}"
        prediction = (
            "no class" if row["predicted"] is None else _truncate(shorten(row["predicted"]), 13)
        )
        if row["predicted_probability"] is not None:
            prediction += f" ({row['predicted_probability']:.3f})"
        item, label = _truncate(shorten(row["item"]), 18), _truncate(shorten(row["label"]), 13)
        if several:
            item = f"{_truncate(row['task'], 12)} {_truncate(item, 14)}"
        lines.append(f"  {item}: gold {label} ({by}), model {prediction}")
    return lines


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _interval(figure: Document) -> str:
    if figure["ci_low"] is None:
        return ""
    return f"{figure['ci_low']:.4f}..{figure['ci_high']:.4f}"


def _truncate(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"
