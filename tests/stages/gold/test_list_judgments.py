"""Judgments and lineage as they are listed, held against joins by id of what the stages made."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.runtime.listed_items import COLUMNS, DESCRIBED, ListedItems
from annot_pipeline.stages.build import STAGES, Build
from annot_pipeline.stages.gold.list_judgments import judgment_rows
from annot_pipeline.storage import tables
from annot_pipeline.storage.keys import derive
from annot_pipeline.storage.tables import read_table
from tests.private_campaign import write_private_campaign

COUNTED = ("used", "control", "adjudication", "judge_failed")
KEEPS = ("task", "fate", "control", "label", "score", "item_a", "item_b", "preference", "seconds")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The salt, and tables, of labels, scores, pairs, adjudications, broken rows.

    Row groups have 7 rows.
    """
    folder = write_private_campaign(tmp_path_factory.mktemp("listed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROW_GROUP", 7)
        build = Build(load_campaign(folder))
        for stage in STAGES:
            build.run_stage(stage)
    made = {
        name: read_table(table).to_pylist()
        for stage in STAGES
        for name, table in build.recorded(stage).result.tables.items()
    }
    for export in made["exports"]:
        export["published"] = build.public_digest(export["source_sha256"])
    return derive(build.key, "judgment"), made


def shown(row):
    pair = (row["item_a"], row["item_b"])
    return row["item"] or (None if None in pair else " | ".join(pair))


@pytest.mark.slow
def test_every_judgment_that_counts_with_its_own_z(built):
    _, made = built
    z = {row["judgment_id"]: row["z"] for row in made["standardized"]}
    expected = {row["public_id"]: row for row in made["controlled"] if row["fate"] in COUNTED}
    actual = {row["judgment_id"]: row for row in made["judgments"]}
    assert actual.keys() == expected.keys()
    assert {row["fate"] for row in actual.values()} >= {"used", "adjudication"}
    assert {None} < {row["z"] for row in actual.values()}
    for of, row in actual.items():
        settled = expected[of]
        assert row["z"] == z.get(settled["judgment_id"])
        assert row["item"] == shown(settled)
        assert row["judge"] == settled["judge_id"]
        assert all(row[name] == settled[name] for name in KEEPS)


def test_ids_hits_and_rankings_are_hashed_with_the_salt(built):
    salt, made = built

    def digest(text):
        return hashlib.sha256(f"{salt}{text}".encode()).hexdigest()

    settled = {row["public_id"]: row for row in made["controlled"]}
    hashed = 0
    for row in made["judgments"]:
        of = settled[row["judgment_id"]]
        assert row["judgment_id"] == digest(of["judgment_id"])[:32]
        for name in ("hit", "ranking"):
            assert row[name] == (of[name] and digest(f"{name}:{of[name]}")[:16])
            hashed += row[name] is not None
    assert hashed


def test_every_record_with_its_file_and_row(built):
    _, made = built
    hashes = {e["source_file"]: e["published"] for e in made["exports"]}

    def key(row):
        return tuple("" if cell is None else str(cell) for cell in row)

    expected = sorted(
        key((r["public_id"], r["task"], shown(r), r["judge_id"], r["fate"], r["reason"],
             hashes[r["source_file"]], r["source_file"], r["source_row"], r["cell"]))
        for r in made["controlled"]
    )  # fmt: skip
    assert sorted(key(row.values()) for row in made["lineage"]) == expected
    assert {"rejected", "used"} <= {row["fate"] for row in made["lineage"]}


def test_scores_of_other_judgments_are_refused():
    names = (
        "task", "item", "item_a", "item_b", "judge_id", "judge_kind", "public_id", "fate", "hit",
        "ranking",
    )  # fmt: skip
    row = dict.fromkeys(names, "x") | {"fate": "used"} | dict.fromkeys(DESCRIBED)
    part = pa.table({name: pa.array([value], pa.string()) for name, value in row.items()})
    tasks = pa.table({"task": ["x"], "kind": ["scalar"]})
    no_items = pa.schema([(name, pa.string()) for name in COLUMNS])
    one = {"tasks": tasks, "listed": ListedItems(no_items.empty_table()), "salt": None}
    (listed,) = judgment_rows([part], pa.chunked_array([[0.5]]), **one)
    assert listed["z"].to_pylist() == [0.5]
    with pytest.raises(ValueError, match="2 z-scores, 1 judgments"):
        list(judgment_rows([part], pa.chunked_array([[0.5, 0.7]]), **one))
