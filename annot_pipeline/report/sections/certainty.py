"""How sure the labels are, and how frequent the classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from annot_pipeline.contracts import votes_text
from annot_pipeline.report.accuracy import accuracies
from annot_pipeline.report.contents import Contents, count_tasks, of_every_task
from annot_pipeline.report.figures.certainty_bands import NAMES, certainty_svg
from annot_pipeline.report.markup import (
    Column,
    figures,
    flag,
    interval,
    join,
    left_out,
    paragraph,
    part,
    table,
    text,
)
from annot_pipeline.report.release_figures import Drawn, prevalence_figures
from annot_pipeline.report.sections.calibration import calibration

MOST_ROWS = 200

HOW = {
    "hierarchical": "The probability is that of the published model: Dawid-Skene's, in which "
    "judges with few labels borrow from the others, averaged over how far judges repeat each other "
    "and with votes, as labels that are held out bear it out. No class without a vote is a label. ",
    "dawid_skene": "The probability is Dawid-Skene's own, as the campaign has chosen: it takes "
    "judges to err independently, and is too high where they do not. ",
}
"""By label model."""
OTHER_MODEL = (
    "The probability is that of the model that the campaign has chosen, see label_model under the "
    "settings; it takes judges to err independently, and is too high where they do not. "
)
NOT_TOLD = (
    "Labels cannot show where all judges make the same mistake; 50 known answers can. Labels that "
    "are not certain are worth another judgment, or an expert."
)

BY_VOTES = (
    "Labels of these tasks are the majority of votes that come as counts: {}. No judge is named, "
    "so no label model was fitted: there is no probability, and no label is certain. Votes of a "
    "class (<code>label_distributions.votes</code>) divided by all votes of the item "
    "(<code>labels.n_judgments</code>) are a soft label."
)

DECIDED = (
    "Decisions of experts are shown separately from the probability of the model: a decision "
    "is as good as the expert."
)


def certainty(contents: Contents) -> str:
    """Return bands of probability by task, convergence, prevalence."""
    if not contents.label_counts:
        return ""
    tasks, counts = bands_by_task(contents.label_counts)
    decided, votes = bool(counts[:, -1].any()), contents.anonymous_votes
    names = NAMES if decided else NAMES[:-1]
    fits = fits_by_task(contents.manifest["convergence"])
    labelled = [contents.labelled[task] for task in tasks]
    columns = [
        Column("task"), Column("labels", "count"), *(Column(name, "count") for name in names),
        Column("certain or decided" if decided else "certain", "share"), Column("judges", "count"),
        Column("judgments", "count"), Column("converged", choose=True),
        Column("iterations", "count"),
    ]  # fmt: skip
    cells = []
    for task, bands in zip(tasks[:MOST_ROWS], counts.tolist(), strict=False):
        fit = fits.get(task, {})
        cells.append([
            task, contents.labelled[task].n, *bands[: len(names)], contents.labelled[task].usable,
            fit.get("n_judges"), fit.get("n_judgments"), flag(fit.get("converged")),
            fit.get("iterations"),
        ])  # fmt: skip
    return join([
        paragraph(
            "A label is <strong>certain</strong> where its probability is "
            f"{contents.certain_at:g} or more: at most {100 * (1 - contents.certain_at):.3g}% of "
            "such labels should be wrong. "
            + HOW.get(contents.settings["label_model"], OTHER_MODEL)
            + NOT_TOLD
        ),
        paragraph(DECIDED) if decided else "",
        paragraph(BY_VOTES.format(text(votes_text(votes), 2000))) if votes else "",
        figures([Drawn("Probability of the labels", certainty_svg(
            tasks, counts, [of_task.n for of_task in labelled],
            [of_task.certain + of_task.decided for of_task in labelled],
        ))]),
        table("Labels by probability", columns, cells, sortable=True, search=len(cells) > 10),
        left_out(len(tasks), MOST_ROWS, "labels.parquet"),
        part("Calibration of these probabilities", calibration(contents)),
        part("Compared with known answers", _accuracies(contents)),
        part("Class frequencies", figures(
            prevalence_figures(contents.tables["prevalence"]),
            count_tasks(contents.tables["prevalence"]),
        ) + _classes(contents)),
    ])  # fmt: skip


def fits_by_task(fits: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by task whether all its fits converged, and the most iterations of one."""
    by_task: dict[str, dict[str, Any]] = {}
    for fit in fits:
        before = by_task.get(fit["task"], {"converged": True, "iterations": 0})
        by_task[fit["task"]] = {
            **fit,
            "converged": before["converged"] and fit["converged"],
            "iterations": max(before["iterations"], fit["iterations"]),
        }
    return by_task


def _accuracies(contents: Contents) -> str:
    columns = [
        Column("task"), Column("labels", choose=True), Column("with a known answer", "count"),
        Column("right", "count"), Column("accuracy", "share"), Column("95% interval"),
    ]  # fmt: skip
    shares = accuracies(contents.label_counts)
    cells = (
        (row.task, row.which, row.n, row.right, row.share, interval(*row.interval, "share"))
        for row in shares[:MOST_ROWS]
    )
    html = table("Labels that are the truth of the item tables", columns, cells, sortable=True)
    return html + left_out(len(shares), MOST_ROWS, "labels.parquet")


def bands_by_task(
    label_counts: Sequence[Mapping[str, Any]],
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return tasks by name, and how many of their labels lie in each band of ``NAMES``.

    Parameters
    ----------
    label_counts
        Rows of sql/report/label_counts.sql; what an expert decided is in the last band, and a
        label without probability in none.
    """
    tasks = sorted({row["task"] for row in label_counts})
    position = {task: n for n, task in enumerate(tasks)}
    counts = np.zeros((len(tasks), len(NAMES)), np.int64)
    for row in label_counts:
        band = len(NAMES) - 1 if row["adjudicated"] else row["band"]
        if band is not None:
            counts[position[row["task"]], band] += row["n"]
    return tasks, counts


def _classes(contents: Contents) -> str:
    prevalence = contents.tables["prevalence"]
    columns = [
        Column("class"), Column("task", choose=True), Column("prevalence", "share"),
        Column("share of votes", "share"), Column("most frequent label", "share"),
        Column("support", "share"), Column("votes agree", "share"), Column("items", "count"),
        Column("certain", "count"), Column("keeps its name", choose=True),
    ]  # fmt: skip
    return table("Classes", columns, _class_rows(contents), sortable=True, search=True) + left_out(
        prevalence.num_rows, of_every_task(prevalence, MOST_ROWS).num_rows, "prevalence.parquet"
    )


def _class_rows(contents: Contents) -> Iterator[list[object]]:
    certain: Counter[tuple[str, str]] = Counter()
    for row in contents.label_counts:
        if row["certain"] and not row["adjudicated"]:
            certain[row["task"], row["label"]] += row["n"]
    for row in of_every_task(contents.tables["prevalence"], MOST_ROWS).to_pylist():
        yield [
            row["label"], row["task"], row["prevalence"], row["vote_share"],
            row["plurality_frequency"], row["support"], row["plurality_agreement"],
            row["n_items"], certain[row["task"], row["label"]], flag(row["named"]),
        ]  # fmt: skip
