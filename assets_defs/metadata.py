"""Metadata: what a person wants to see of a table in Dagster.

What does not belong here: pictures (figures), which take longer than a small build.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
import pyarrow.compute as pc

from annot_pipeline.config.gold_url import is_url
from annot_pipeline.contracts import GOLD
from annot_pipeline.report.markdown import escape
from annot_pipeline.stages.build import Build, StageRun
from annot_pipeline.stages.ingest.metrics import JudgmentMetrics, Rejections
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.labels.metrics import LabelMetrics
from annot_pipeline.storage.releases import Release
from annot_pipeline.storage.tables import StoredTable, groups_unharmed

INTERNAL = {
    "exports": "The exports of this build, one row a file.",
    "record_files": "Parsed exports, one row a file.",
    "item_rows": "Rows of the item tables.",
    "comparisons": "Comparisons of two outputs by a judge, from preferences, rankings and HITs.",
    "not_compared": "Ranked outputs that are in no comparison, and why.",
    "next_hits": "The next HITs, a row a slot: item, why it was chosen, how likely, its state.",
    "settled": "Every record with its judgment id and fate so far; judges by their raw names.",
    "controlled": "Every record with its judgment id and final fate; judges by their raw names.",
    "judge_tests": "Judge control: a verdict for every task and judge.",
    "control_pairs": "Controls with the ordinary judgments that they are compared with.",
    "known_answers": "Answers to questions whose answer is known.",
    "standardized": "Scalar judgments that count, with their z-scores.",
    "agreement_changes": "Agreement now and in the newest release.",
    "prevalence_changes": "Shares of classes now and in the newest release.",
    "label_changes": "Items by task whose label is not that of the newest release.",
    "judge_changes": "Judgments by task of judges whom the newest release does not have.",
    "vanished_judgments": "Judgments and items by task of the newest release that are gone.",
    "judge_scores": "How judges used the scale.",
    "judge_contradictions": "Contradictions in what single judges said, by judge; raw names.",
    "segment_contradictions": "Contradictions in what single judges said, by segment.",
    "comparison_times": "Seconds a ranking and a comparison, by words of the source.",
    "tasks": "The tasks, their kinds and classes.",
    "judge_figures": "What the label model says of judges.",
    "label_fits": "How each task's fit ended.",
    "names": "Names of tasks, labels, items and judges, by which look-alikes are found.",
    "controls_met": "Which kinds of controls each judge of a task met.",
    "costs": "What judgments cost, by task, where exports carry rewards.",
}
"""Tables of the store."""


def table_description(table: str) -> str:
    """What a row is, for people."""
    if table in GOLD:
        return f"One row per {GOLD[table].row}."
    return INTERNAL.get(table, "Working state of the pipeline.")


def gold_metadata(release: Release, table: Mapping[str, Any], *, published: bool) -> dict[str, Any]:
    """Return metadata of a published table: the release, where it lies, its rows and columns.

    Parameters
    ----------
    release
        That holds it.
    table
        Its entry in the manifest.
    published
        Whether this build published the release; else nothing was new.
    """
    where = f"{release.place}/{table['file']}"
    return {
        "release": release.version,
        "published": published,
        **({"uri": where} if is_url(where) else {"path": dg.MetadataValue.path(where)}),
        "dagster/row_count": table["rows"],
        "dagster/column_schema": _column_schema(table["name"]),
        "bytes": table["bytes"],
    }


def stage_metadata(
    build: Build, run: StageRun, table: str, *, is_persistent: bool
) -> dict[str, Any]:
    """Return the metadata of one table of a stage; with figures, if Dagster stores them."""
    output = run.result.tables[table]
    metadata: dict[str, Any] = {
        "dagster/row_count": output.rows,
        "bytes": output.bytes,
        "seconds": run.result.seconds,
        "reused": run.result.reused,
        "made_by_run": run.result.run,
    }
    if run.result.reused:
        metadata["skipped"] = f"inputs, settings and code are as run {run.result.run} had them"
    if table == "controlled":
        metadata |= {
            f"fate {fate}": count for fate, count in run.metrics(ControlMetrics).fates.items()
        }
    elif table == "settled":
        rejections = _rejections(run.metrics(JudgmentMetrics).rejections)
        metadata["rejected"] = dg.MetadataValue.md(build.masked(rejections))
    elif table == "labels" and output.rows:
        metadata["certain_share"] = _certain_share(output)
    elif table == "label_fits" and output.rows:
        metadata["most_iterations"] = max(run.metrics(LabelMetrics).iterations.values(), default=0)
    if is_persistent and table not in GOLD:  # figures of those are on the published table
        from assets_defs.figures import figures_of

        metadata |= figures_of(build, run, table)
    return metadata


def _certain_share(labels: StoredTable) -> float:
    """Return the share of the labels to train on."""
    usable = 0
    for rows in groups_unharmed(labels, ["certain"]):
        usable += pc.sum(rows["certain"]).as_py() or 0
    return float(usable / labels.rows)


def _column_schema(table: str) -> dg.TableSchema:
    return dg.TableSchema(
        [
            dg.TableColumn(
                column.name,
                str(column.type),
                column.description,
                dg.TableColumnConstraints(
                    nullable=column.nullable, unique=(column.name,) == GOLD[table].key
                ),
            )
            for column in GOLD[table].columns
        ]
    )


def _rejections(rows: list[Rejections]) -> str:
    if not rows:
        return "none"
    lines = [f"| {r['records']:,} | {escape(r['reason'])} | {escape(r['example'])} |" for r in rows]
    return "\n".join(["| records | reason | as in |", "|---|---|---|", *lines])
