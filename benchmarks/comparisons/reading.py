"""One CSV export of labels read and kept as Parquet: ours, and what does only that.

Ours archives the bytes by SHA-256, finds rows that cannot be read and numbers the others, maps
columns to fields, and writes records; the others read columns, types guessed, and write them.
This is no race against equals: it shows how far our ingest is from what the machine can do.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.comparison import Comparison, Way, Work
from benchmarks.exports import Shape
from benchmarks.kept_exports import kept_campaign

STAGES = ("archive_exports", "read_records")


def draw_export(n: int) -> Path:
    """Path of a campaign with one export."""
    return kept_campaign(Shape(labels=n, scores=0, comparisons=0, tasks=1))


def ours(campaign: Path) -> Work:
    """Path of the folder with the records."""
    from annot_pipeline.config.campaign_file import load_campaign
    from annot_pipeline.stages.build import STAGES as ALL
    from annot_pipeline.stages.build import Build

    location = Path(tempfile.mkdtemp(prefix="bench-"))
    stages = [stage for stage in ALL if stage.name in STAGES]

    def work() -> Path:
        sets = [f"{folder}={location / folder}" for folder in ("store", "gold")]
        build = Build(load_campaign(campaign, sets=sets))
        for stage in stages:
            build.run_stage(stage)
        return build.store.records

    return work


def _peer(campaign: Path) -> tuple[str, str]:
    """The export, and where its Parquet goes."""
    (export,) = sorted((campaign.parent / "exports").iterdir())
    return str(export), str(Path(tempfile.mkdtemp(prefix="bench-")) / "labels.parquet")


def by_duckdb(campaign: Path) -> Work:
    """Path of the Parquet file."""
    import duckdb

    export, out = _peer(campaign)

    def work() -> str:
        with duckdb.connect() as connection:
            connection.read_csv(export).write_parquet(out, compression="zstd")
        return out

    return work


def by_polars(campaign: Path) -> Work:
    """Path of the Parquet file."""
    import polars

    export, out = _peer(campaign)

    def work() -> str:
        polars.read_csv(export).write_parquet(out, compression="zstd")
        return out

    return work


def by_pyarrow(campaign: Path) -> Work:
    """Path of the Parquet file."""
    from pyarrow import csv, parquet

    export, out = _peer(campaign)

    def work() -> str:
        parquet.write_table(csv.read_csv(export), out, compression="zstd")
        return out

    return work


COMPARISON = Comparison(
    "Reading one CSV export of labels, six columns, into Parquet (ours: archive and fates too)",
    "rows",
    sizes=(100_000, 1_000_000),
    quick=(100_000,),
    draw=draw_export,
    ways=(
        Way("annot-pipeline", ours),
        Way("DuckDB", by_duckdb, needs="duckdb"),
        Way("polars", by_polars, needs="polars"),
        Way("pyarrow", by_pyarrow, needs="pyarrow"),
    ),
)
