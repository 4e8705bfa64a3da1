"""A task whose scores are too many for one job: its items come in blocks, and nothing changes."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from annot_pipeline.stages import large_tasks, parts
from tests.conftest import build_file

GOLD_OF_SCORES = (
    "judges", "judgments", "scores", "system_rankings", "system_comparisons", "segment_ranks",
    "set_aside", "lineage", "items",
)  # fmt: skip
FEW = ("ranking.bootstrap=20", "agreement.bootstrap=20")


def crowd(n_hits=24, seed=3, decimals=0):
    """HITs of ten outputs of one segment and five alone, with repeats and degraded copies."""
    draw = random.Random(seed)
    rows = ["task,hit,judge,segment,system,criterion,role,score,at,id"]
    n = 0

    def said(task, hit, judge, segment, system, role="", shift=0.0):
        nonlocal n
        for criterion in ("fluent", "robotic"):
            n += 1
            quality = 40 + 5 * system - shift + draw.gauss(0, 12)
            if judge == 3:
                quality = 100 * draw.random()
            score = 50 if judge == 5 else min(max(quality, 0), 100)
            score = round(score, decimals) if decimals else round(score)
            rows.append(
                f"{task},h{hit:02},w{judge},seg {segment:02},sys {system},{criterion},{role},"
                f"{score},{1_760_000_000 + 7 * n},{n}"
            )

    for hit in range(n_hits):
        judge, segment = hit % 6, draw.randrange(12)
        for system in range(5):
            said("large", hit, judge, segment, system)
        for other in draw.sample(range(12, 40), 5):
            said("large", hit, judge, other, draw.randrange(5))
        said("large", hit, judge, segment, 1, "ask_again")
        for system in range(3):
            said("large", hit, judge, segment, system, "bad_reference", 25)
    said("large", 1, 4, 99, 2)
    said("large", 1, 0, 99, 2, "bad_reference")  # of what another judge was shown
    for hit in range(3):
        for system in range(3):
            said("small", hit, hit, 1, system)
    return "\n".join([*rows, ""])


def campaign(folder, text, **more):
    names = ("task", "hit", "judge", "segment", "system", "criterion", "score")
    fields = {name: name for name in names}
    fields |= {"control": "role", "submitted_at": "at", "native_id": "id"}
    (folder / "a.csv").write_text(text)
    criteria = {"fluent": {}, "robotic": {"reverse": True, "quality": False}}
    document = {
        "campaign": "c",
        "sources": [{"path": "*.csv", "format": "csv", "fields": fields}],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100], "criteria": criteria}],
        **more,
    }
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


@pytest.fixture
def small(monkeypatch):
    """Blocks of some fifty judgments."""
    monkeypatch.setattr(parts, "PART_ROWS", 60)
    monkeypatch.setattr(parts, "LEAST_ROWS", 40)
    monkeypatch.setattr(large_tasks, "WHOLE", 100)


pytestmark = pytest.mark.usefixtures("small")


def assert_alike(blocks: pa.Table, whole: pa.Table, what: str) -> None:
    """The same rows; numbers but for rounding."""
    assert blocks.schema == whole.schema, what
    assert blocks.num_rows == whole.num_rows, what
    for name in whole.schema.names:
        found, expected = blocks[name].to_pylist(), whole[name].to_pylist()
        if pa.types.is_floating(whole.schema.field(name).type):
            assert [x is None for x in found] == [x is None for x in expected], (what, name)
            found, expected = ([x for x in of if x is not None] for of in (found, expected))
            expected = pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert found == expected, (what, name)


def assert_agreement_is_alike(blocks, whole):
    """The same statistics; other resamples, and no interval of a mean over pairs of judges."""
    found, expected = (
        {(row["task"], row["statistic"]): row for row in built.rows("agreement")}
        for built in (blocks, whole)
    )
    assert [*found] == [*expected]
    for key, row in expected.items():
        of = found[key]
        if row["value"] is None:
            assert of["value"] is None, key
            continue
        assert of["value"] == pytest.approx(row["value"], rel=1e-9), key
        assert (of["n_items"], of["n_judges"]) == (row["n_items"], row["n_judges"]), key
        if "spearman" in key[1] and key[0] == "large":
            assert of["ci_low"] is None
            assert of["ci_high"] is None
        elif row["ci_low"] is not None:
            assert of["ci_low"] < of["value"] < of["ci_high"], key
            width = row["ci_high"] - row["ci_low"]
            assert of["ci_low"] == pytest.approx(row["ci_low"], abs=width), key


@pytest.mark.parametrize(
    ("settings", "decimals"),
    [({}, 0), ({"standardize": {"controls": "exclude"}}, 3), ({"quality": {"test": "none"}}, 0)],
)
def test_blocks_are_the_whole(tmp_path, monkeypatch, settings, decimals):
    folder = campaign(tmp_path, crowd(decimals=decimals), **settings)
    blocks = build_file(folder, *FEW)
    for stage, table in (
        ("pair_controls", "control_pairs"), ("standardize_scores", "standardized"),
        ("score_items", "scores"), ("list_judgments", "judgments"),
    ):  # fmt: skip
        assert len(blocks.runs[stage].result.tables[table].files) > 4, table
    monkeypatch.setattr(large_tasks, "WHOLE", 10**6)
    whole = build_file(folder, *FEW, f"store={tmp_path}/store2", f"gold={tmp_path}/gold2")
    if not settings:
        reasons = blocks.table("set_aside")["reason"].to_pylist()
        assert "the ordinary judgment of the same output is by another judge" in reasons
    assert_agreement_is_alike(blocks, whole)
    for name in GOLD_OF_SCORES:
        assert_alike(blocks.table(name), whole.table(name), name)
    for stage in (
        "standardize_scores",
        "score_items",
        "break_into_comparisons",
        "rank_systems",
        "rank_segments",
    ):
        found, expected = (dict(built.facts(stage)) for built in (blocks, whole))
        found.pop("parts", None)
        expected.pop("parts", None)
        assert found == expected, stage
