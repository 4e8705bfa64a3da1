"""Dagster runs the same assets on Spark, which reads large exports in pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.runtime.job_sizes import DEFAULT_SIZES
from assets_defs import build_definitions
from tests.spark.test_same_bytes import build, gold_of

N_ITEMS, N_JUDGES = 40_000, 10
TEXT = "what was shown, which makes a row as long as rows of exports are " * 4


def rows(of: str) -> list[dict[str, str]]:
    """One judge in eleven errs."""
    return [
        {
            "item": f"i{item}",
            "judge": f"{of}{judge}",
            "label": "abc"[(item + (item * 10 + judge) % 11 // 10) % 3],
            "text": f"{TEXT}{item * 7919 + judge}",
        }
        for item in range(N_ITEMS)
        for judge in range(N_JUDGES)
    ]


def document(**more: Any) -> str:
    fields = {"item": "item", "judge": "judge", "label": "label"}
    return json.dumps(
        {
            "campaign": "large",
            "sources": [
                {"path": "a.jsonl", "format": "jsonl", "fields": fields},
                {"path": "b.parquet", "format": "parquet", "fields": fields},
            ],
            "ranking": {"bootstrap": 20, "online_rounds": 2},
            "agreement": {"bootstrap": 20},
            **more,
        }
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Path:
    """Of JSON Lines and of Parquet one file each, both larger than a piece."""
    folder = tmp_path_factory.mktemp("large")
    lines, table = folder / "a.jsonl", folder / "b.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows("v")))
    stored = pa.Table.from_pylist(rows("w"))
    pq.write_table(stored, table, compression="none", use_dictionary=False, row_group_size=50_000)
    assert min(file.stat().st_size for file in (lines, table)) > DEFAULT_SIZES.export_bytes
    (folder / "campaign.yaml").write_text(document())
    return folder / "campaign.yaml"


def test_a_run_of_dagster_on_spark_makes_the_gold_of_this_machine(campaign):
    on_spark = campaign.with_name("on-spark.yaml")
    engine = {"kind": "spark", "master": "local[2]"}
    on_spark.write_text(document(engine=engine, store="dagster/store", gold="dagster/gold"))
    job = build_definitions(on_spark).resolve_job_def("large_nightly")
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(instance=instance).success
    assert gold_of(campaign, "dagster") == build(campaign, "local")
