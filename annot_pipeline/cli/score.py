"""annot score."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from annot_pipeline.cli.common import Document, check_output, load, say, show, typed
from annot_pipeline.cli.render import at, fields, table

NAMES = {
    "accuracy": "accuracy",
    "expected_accuracy": "expected accuracy",
    "log_loss": "log loss, nats",
    "kl": "KL from gold, nats",
    "brier": "Brier score, 0 to 2",
    "log_loss_label": "log loss of label",
    "entropy": "entropy of gold",
}
MOST = 25
"""Tasks, and classes, that get a line; --json has all."""
COVERAGE = {
    "form.says": "read as", "gold_column": "gold, of label_distributions", "rows": "rows",
    "matched": "items of gold with a prediction", "gold_items": "items of gold",
    "unknown_items": "  rows left out, items that gold does not have",
    "gold_without_prediction": "  items of gold left out, without a prediction",
    "unknown_tasks": "  rows left out, tasks that gold does not have",
    "other_tasks": "  rows left out, of other tasks", "not_rows": "  not rows",
    "form.classes_without_column": "  classes without a column, taken as 0",
    "form.ignored": "  ignored columns",
}  # fmt: skip
OF_ITEMS = {
    "n_normalized": "  items whose probabilities were divided by their sum",
    "n_unknown_class": "  items with a class that gold does not have, counted as wrong",
    "n_tied": "  items with several classes of the highest probability: the first counts",
    "n_floored": "  items with a probability raised to {floor:g}",
    "n_adjudicated": "  items that an expert decided",
}
ON_KNOWN = "scored on items whose class is known, by truth or an expert: not on gold's labels"
ON_GOLD = (
    "scored on gold, which was inferred: where gold is wrong, a model that is right counts as "
    "wrong; the majority is left out, as gold was made of it. From 50 known items on (truth in "
    "items, or adjudicated) these alone are scored"
)
ON_BOTH = "some tasks are scored on known items, the others on gold: see scored_on in --json"
FIGURES = "figure model from=95%_from to majority prevalence gold"
CLASSES = (
    "label=class n_gold=gold n_predicted=model precision.value=precision recall.value=recall "
    "f1.value=F1 expected_f1.value=expected_F1"
)
OF_PART = (
    "n_items=items figures.accuracy.value=accuracy figures.accuracy.ci_low=95%_from "
    "figures.accuracy.ci_high=to figures.expected_accuracy.value=expected "
    "figures.log_loss.value=log_loss"
)
FARTHEST = (
    "item label=gold probability=by adjudicated=expert predicted=model predicted_probability=by"
)


def run_score(arguments: argparse.Namespace) -> int:
    """Score predictions."""
    from dataclasses import fields as names_of

    from annot_pipeline.commands.items import write_items
    from annot_pipeline.scoring import Options, score

    options = Options(**{name.name: getattr(arguments, name.name) for name in names_of(Options)})
    campaign, path = load(arguments), arguments.output
    if path is not None:
        check_output(campaign, "scores of items", path, (".csv", ".parquet"), [path])
    scores = score(campaign, arguments.predictions, options, progress=say)
    document = scores.document
    if path is not None:
        write_items(scores.items, path)
        document["items_path"] = str(path)
    document["next"] = _next(arguments, document)
    return show(arguments, document, lambda: _lines(document))


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


def _lines(document: Document) -> Iterator[str]:
    tasks = document["tasks"]
    yield f"{document['campaign']} {document['release']}, {document['predictions']}"
    yield from fields(document, COVERAGE)
    counts = {name: sum(task[name] for task in tasks) or None for name in OF_ITEMS}
    headings = {name: text.format(floor=document["floor"]) for name, text in OF_ITEMS.items()}
    yield from fields(counts, headings)
    part = tasks[0] if len(tasks) == 1 else document["micro"]
    yield from table(f"{part['n_items']:,} items", _figures(part), FIGURES)
    modes = {task["scored_on"] for task in tasks}
    yield ON_BOTH if len(modes) > 1 else ON_KNOWN if modes == {"known"} else ON_GOLD
    yield from (f"empty cells: {why}" for why in dict.fromkeys(document["why_null"].values()))
    if len(tasks) == 1:
        mean = {"label": "mean", "f1": part["mean_f1"], "expected_f1": part["mean_expected_f1"]}
        yield from table("classes", [*part["by_class"][:MOST], mean], CLASSES, most=MOST + 1)
        if (more := len(part["by_class"]) - MOST) > 0:
            yield f"  and {more:,} more classes; --json has all"
        yield from fields(part, {"calibration.error": "calibration error"})
    else:
        yield from table("tasks", tasks, f"task {OF_PART} figures.kl.value=KL", most=MOST)
        yield from table(
            "mean over tasks", [document["macro"]], f"n_tasks=tasks {OF_PART} figures.kl.value=KL"
        )
    certain = [row for row in document["micro"]["by_certainty"] if row["n_items"]]
    yield from table("items by how certain gold is", certain, f"certainty {OF_PART}")
    farthest = f"task {FARTHEST}" if len(tasks) > 1 else FARTHEST
    yield from table("largest disagreements", document["farthest"], farthest)
    yield from fields(document, {"items_path": "all items"})
    yield f"next: {document['next']}"


def _figures(part: Document) -> list[Document]:
    """Return the figures of the model next to those of the baselines."""
    paths = {"gold": "baselines.gold.{}.value", "majority": "baselines.majority_vote.{}.value",
             "prevalence": "baselines.prevalence.{}.value", "model": "figures.{}.value",
             "from": "figures.{}.ci_low", "to": "figures.{}.ci_high"}  # fmt: skip
    return [
        {"figure": title} | {key: at(part, path.format(name)) for key, path in paths.items()}
        for name, title in NAMES.items()
    ]
