"""How far the probabilities of labels hold: of simulated crowds, or of a campaign with truth.

Truth takes part in nothing but the figures told here: labels are inferred as in a
build. What does not belong here: how that is done (infer_labels, check_calibration).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import LABEL_CALIBRATION, LABEL_DISTRIBUTIONS, TEXT, TIME
from annot_pipeline.errors import ConfigError, Problem
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.labels.reliability import reliability
from annot_pipeline.methods.numerics.blocks import InMemoryBlocks
from annot_pipeline.report.figures import reliability_svg
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.stages.labels.check_calibration import check_calibration, held_against_truth
from annot_pipeline.stages.labels.infer_labels import LabelSettings, fit_tasks, label_tables
from annot_pipeline.stages.labels.label_items import JudgedTask
from studies.crowds import CROWDS, CrowdParams, draw_crowd
from studies.curve_figures import MOST_TASKS, Drawn
from studies.item_rounds import stream
from studies.params import Crowds
from studies.progress import Progress
from studies.tables import Cell, Table
from studies.temporary_build import temporary_build
from studies.write import Result, Section

TITLE = "a campaign that knows no truth"
TABLES = ("certainty", "held_out")
AGAINST_TRUTH = (
    "accuracy", "log_loss", "expected_calibration_error", "certain_share", "certain_accuracy"
)  # fmt: skip
SAID = {"published": "published", "dawid_skene": "Dawid-Skene", "votes": "votes"}
"""Models, as people call them."""

ABOUT = (
    "Log loss in nats, of probabilities of 1e-9 at least. Intervals (95%) of shares are Wilson's.",
    "Simulated crowds know no truth: how far judges repeat each other is found by labels that are "
    "held out. Probabilities of a campaign are corrected by its known items, those of each item by "
    "the others.",
)

Row = Mapping[str, Any]


def run_crowds(params: Crowds, progress: Progress) -> Result:
    """Draw crowds of every kind, and measure how far their probabilities hold."""
    judgments, items = [], []
    names = [f"{kind} {n + 1}" for kind in CROWDS for n in range(params.repeats)]
    for position, name in enumerate(names):
        kind = CROWDS[position // params.repeats]
        crowd = CrowdParams(kind, params.n_items, params.per_item, params.n_judges)
        task, truth = draw_crowd(crowd, stream(params.seed, "crowds", name))
        judgments.append(_judgments(name, task))
        items.append(pa.table({
            "item": [f"{name} {n}" for n in range(task.n_items)],
            "truth": [str(k) for k in truth.tolist()],
        }))  # fmt: skip
    settings, item_truth = (
        LabelSettings(DawidSkeneParams(model="hierarchical")),
        pa.concat_tables(items),
    )
    tasks = [
        JudgedTask(name, InMemoryBlocks([rows]))
        for name, rows in zip(names, judgments, strict=True)
    ]
    labelled = []
    for name, rows, fitted in zip(names, judgments, fit_tasks(tasks, settings), strict=True):
        progress(f"labels of {name}")
        labelled.append(label_tables(name, rows, fitted, is_first=True)[0])
    figures = pa.concat_tables([
        check_calibration(
            name, tables["label_evidence"], tables["label_distributions"], item_truth,
            settings.certain_at,
        )[0]
        for name, tables in zip(names, labelled, strict=True)
    ])  # fmt: skip
    distributions = pa.concat_tables([tables["label_distributions"] for tables in labelled])
    return certainty_result(figures, distributions, item_truth)


def run_certainty(campaign: LoadedCampaign, progress: Progress) -> Result:
    """Infer the labels of a campaign, and tell how far their probabilities hold.

    Raises
    ------
    AnnotError
        Exports cannot be read; no item has a known truth.
    """
    columns_by_table = {
        "label_calibration": LABEL_CALIBRATION.schema.names,
        "label_distributions": LABEL_DISTRIBUTIONS.schema.names,
        "items": ("item", "truth"),
    }
    tables, failed = temporary_build(campaign, columns_by_table, progress)
    notes = [f"A gate that stops builds: {gate}" for gate in failed]
    return certainty_result(
        tables["label_calibration"], tables["label_distributions"], tables["items"], notes
    )


def certainty_result(
    figures: pa.Table, distributions: pa.Table, items: pa.Table, notes: Sequence[str] = ()
) -> Result:
    """Return the result, from `LABEL_CALIBRATION`, ``label_distributions`` and ``items``.

    Raises
    ------
    ConfigError
        No item has a known truth that is a class of its task.
    """
    figure_rows = {
        (row["task"], row["model"], row["statistic"]): row
        for row in figures.to_pylist()
    }  # fmt: skip
    tasks = sorted({task for task, _, statistic in figure_rows if statistic == "log_loss"})
    if not tasks:
        what = "no item of a categorical task has a truth that is one of its classes"
        do = "map truth in items, see docs/mapping.md"
        raise ConfigError(TITLE, [Problem("", what, do=do)])
    certainty, held_out = _certainty(figure_rows, tasks), _held_out(figure_rows, tasks)
    by_task = ByTask(distributions)
    sections = [
        Section(task, [Drawn("Labels by their probability", _figure(by_task[task], items))], {}, [
            _only(table, task) for table in (certainty, held_out)
        ])
        for task in tasks[:MOST_TASKS]
    ]  # fmt: skip
    n_undrawn = len(tasks) - len(sections)
    more = [f"Figures of the first {len(sections)} of {len(tasks)} tasks."] * (n_undrawn > 0)
    return Result(
        _findings(figure_rows, tasks), [*notes, *more, *ABOUT], [certainty, held_out], sections,
        [
            {"task": task, **{
                f"{model}_{name}": figure_rows[task, model, name]["value"]
                for model in SAID for name in AGAINST_TRUTH
            }}
            for task in tasks
        ],
    )  # fmt: skip


def _judgments(name: str, task: LabelCodes) -> pa.Table:
    """Return labels of a crowd, as a build has them."""
    n = task.items.size
    judges = [f"judge {code}" for code in task.judges.tolist()]
    return pa.table({
        "task": [name] * n,
        "item": [f"{name} {code}" for code in task.items.tolist()],
        "judge": judges, "judge_id": judges,
        "label": [str(code) for code in task.labels.tolist()],
        "control": ["none"] * n, "fate": ["used"] * n,
        "submitted_at": pa.nulls(n, TIME), "why": pa.nulls(n, TEXT),
    })  # fmt: skip


def _certainty(figure_rows: Mapping[tuple[str, str, str], Row], tasks: Sequence[str]) -> Table:
    columns = (
        "task", "probabilities", "items", *AGAINST_TRUTH, "certain_accuracy_low",
        "certain_accuracy_high",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for task in tasks:
        for model, model_name in SAID.items():
            figures = [figure_rows[task, model, name] for name in AGAINST_TRUTH]
            ends = (figures[-1]["ci_low"], figures[-1]["ci_high"])
            rows.append(
                (task, model_name, figures[0]["n"], *(row["value"] for row in figures), *ends)
            )
    return Table("certainty", columns, tuple(rows))


def _held_out(figure_rows: Mapping[tuple[str, str, str], Row], tasks: Sequence[str]) -> Table:
    columns = ("task", "labels", *SAID, "dependence", "weight_of_votes", "expected_accuracy")
    rows: list[tuple[Cell, ...]] = []
    for task in tasks:
        figures = {key[1:]: row for key, row in figure_rows.items() if key[0] == task}
        rows.append((
            task, figures["published", "held_out_log_likelihood"]["n"],
            *(figures[model, "held_out_log_likelihood"]["value"] for model in SAID),
            *(
                figures.get(("published", name), {}).get("value")
                for name in ("dependence", "weight_of_votes", "expected_accuracy")
            ),
        ))  # fmt: skip
    return Table("held_out", columns, tuple(rows))


def _only(table: Table, task: str) -> Table:
    return Table(table.name, table.columns, tuple(row for row in table.rows if row[0] == task))


def _figure(rows: pa.Table, items: pa.Table) -> str:
    """Draw the reliability of published and Dawid-Skene's probabilities, in ten bins."""
    probabilities, truth = held_against_truth(rows, items)
    curves = []
    for model in ("published", "dawid_skene"):
        shares = probabilities[model]
        right = shares.argmax(axis=1) == truth
        curves.append(reliability(shares.max(axis=1), right, right))
    return reliability_svg([SAID["published"], SAID["dawid_skene"]], curves)


def _findings(figure_rows: Mapping[tuple[str, str, str], Row], tasks: Sequence[str]) -> list[str]:
    def mean(model: str, name: str) -> float:
        return float(np.mean([figure_rows[task, model, name]["value"] for task in tasks]))

    def right(model: str) -> str:
        accuracies = [figure_rows[task, model, "certain_accuracy"] for task in tasks]
        n = sum(row["n"] for row in accuracies)
        share = sum((row["value"] or 0) * row["n"] for row in accuracies) / max(n, 1)
        return f"of {n:,} labels called certain {share:.1%} are right" if n else "none is certain"

    return [
        f"Accuracy: published {mean('published', 'accuracy'):.3f}, Dawid-Skene "
        f"{mean('dawid_skene', 'accuracy'):.3f}, votes {mean('votes', 'accuracy'):.3f}.",
        f"Log loss: published {mean('published', 'log_loss'):.3f}, Dawid-Skene "
        f"{mean('dawid_skene', 'log_loss'):.3f}, votes {mean('votes', 'log_loss'):.3f}.",
        f"Published: {right('published')}; Dawid-Skene: {right('dawid_skene')}.",
    ]
