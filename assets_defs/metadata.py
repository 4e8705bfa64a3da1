"""Metadata: what a person wants to see of a table in Dagster.

What does not belong here: pictures (figures), which take longer than a small build.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow.compute as pc

from annot_pipeline.commands.publish import Publication
from annot_pipeline.config.gold_url import is_url
from annot_pipeline.contracts import GOLD
from annot_pipeline.report.markdown import escape
from annot_pipeline.stages.build import Build, StageRun
from annot_pipeline.stages.ingest.metrics import JudgmentMetrics
from annot_pipeline.stages.judges.metrics import ControlMetrics
from annot_pipeline.stages.labels.metrics import LabelMetrics
from annot_pipeline.storage.tables import read_verified

INTERNAL = {
    "exports": "Exports of this build. One row per file.",
    "settled": "Every record with its judgment id and preliminary fate; judges have raw names.",
    "controlled": "Every record with its judgment id and final fate; judges have raw names.",
}
"""Tables of the store that are assets."""


def table_description(table: str) -> str:
    """Return a one-sentence description of a table."""
    return f"One row per {GOLD[table].row}." if table in GOLD else INTERNAL[table]


def location_metadata(gold: str, name: str) -> dict[str, Any]:
    """Return where something of gold lies, from the folder of campaign.yaml as ``gold`` does."""
    where = f"{gold.rstrip('/')}/{name}"
    return {"uri": where} if is_url(where) else {"path": dg.MetadataValue.path(where)}


def gold_metadata(publication: Publication, table: Mapping[str, Any], gold: str) -> dict[str, Any]:
    """Return metadata of a published table: the release, where it lies, its rows and columns.

    Parameters
    ----------
    publication
        The release, and whether this build published it; else nothing was new.
    table
        Its entry in the manifest.
    gold
        The setting.
    """
    return {
        "release": publication.release.version,
        "published": publication.published,
        **location_metadata(gold, f"{publication.release.version}/{table['file']}"),
        "dagster/row_count": table["rows"],
        "dagster/column_schema": _column_schema(table["name"]),
        "bytes": table["bytes"],
    }


def step_metadata(
    build: Build, runs: Sequence[StageRun], table: str, *, is_persistent: bool
) -> dict[str, Any]:
    """Return the metadata of a step's table; with what its stages say, and figures.

    Figures only if Dagster stores them.
    """
    run = runs[-1]
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
        fates = run.metrics(ControlMetrics).fates.items()
        metadata |= {f"fate {fate}": count for fate, count in fates}
    elif table == "settled":
        rejections = _rejections(run.metrics(JudgmentMetrics).rejections)
        metadata["rejected"] = dg.MetadataValue.md(build.mask_text(rejections))
    elif table == "labels" and output.rows:
        certain = read_verified(output, ["certain"])["certain"]
        metadata["certain_share"] = (pc.sum(certain).as_py() or 0) / output.rows
        metadata["most_iterations"] = max(run.metrics(LabelMetrics).iterations.values(), default=0)
        audits = run.metrics(LabelMetrics).certificates.items()
        metadata |= {f"audit {t} bound": a["bound"] for t, a in audits if a["bound"] is not None}
    if is_persistent:
        from assets_defs.figures import figures_of

        for of_stage in runs:
            for name in of_stage.result.tables.keys() - GOLD.keys():  # those are on gold tables
                metadata |= figures_of(build, of_stage, name)
    return metadata


def _column_schema(table: str) -> dg.TableSchema:
    key, columns = GOLD[table].key, []
    for column in GOLD[table].columns:
        rules = dg.TableColumnConstraints(nullable=column.nullable, unique=(column.name,) == key)
        columns.append(dg.TableColumn(column.name, str(column.type), column.description, rules))
    return dg.TableSchema(columns)


def _rejections(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "none"
    lines = [f"| {r['records']:,} | {escape(r['reason'])} | {escape(r['example'])} |" for r in rows]
    return "\n".join(["| records | reason | as in |", "|---|---|---|", *lines])
