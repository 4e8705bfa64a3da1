"""A task whose scores are too many for one job: its items come in blocks, and nothing changes."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from annot_pipeline.runtime.job_sizes import JobSizes
from tests.conftest import stage_file

GOLD_OF_SCORES = (
    "judges", "judgments", "scores", "system_rankings", "system_comparisons", "segment_ranks",
    "set_aside", "lineage", "items",
)  # fmt: skip
FEW = ("ranking.bootstrap=20", "agreement.bootstrap=400")

BLOCK_SIZES = JobSizes(60, 40, task_judgments=100)
"""Blocks of some fifty judgments."""
WHOLE_SIZES = JobSizes(60, 40, task_judgments=10**6)
"""Partitions of as many rows, and no blocks."""


def crowd(n_hits=12, seed=3, decimals=0):
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


def assert_alike(blocks: pa.Table, whole: pa.Table, what: str) -> None:
    """The same rows; numbers but for rounding."""
    assert blocks.schema == whole.schema, what
    assert blocks.num_rows == whole.num_rows, what
    for name in whole.schema.names:
        actual, expected = blocks[name].to_pylist(), whole[name].to_pylist()
        if pa.types.is_floating(whole.schema.field(name).type):
            assert [x is None for x in actual] == [x is None for x in expected], (what, name)
            actual, expected = (
                [x for x in values if x is not None] for values in (actual, expected)
            )
            expected = pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert actual == expected, (what, name)


NO_INTERVAL = ("inter_spearman", "inter_spearman_unfiltered")


def assert_agreement_is_alike(blocks, whole):
    """The same statistics; other resamples, and no interval of a mean over pairs of judges."""
    actual, expected = (
        {(row["task"], row["statistic"]): row for row in built.rows("agreement")}
        for built in (blocks, whole)
    )
    assert [*actual] == [*expected]
    for key, row in expected.items():
        of = actual[key]
        if row["value"] is None:
            assert of["value"] is None, key
            continue
        assert of["value"] == pytest.approx(row["value"], rel=1e-9, abs=1e-9), key
        assert (of["n_items"], of["n_judges"]) == (row["n_items"], row["n_judges"]), key
        ends = of["ci_low"], of["ci_high"]
        if (key[0] == "large" and key[1] in NO_INTERVAL) or row["ci_low"] is None:
            assert ends == (None, None), key
        else:
            half = (row["ci_high"] - row["ci_low"]) / 2
            assert ends == pytest.approx((row["ci_low"], row["ci_high"]), abs=half + 1e-9), key


STAGES = (
    "standardize_scores", "score_items", "break_into_comparisons", "rank_segments", "rank_systems",
    "measure_agreement",
)  # fmt: skip


def assert_all_alike(blocks, whole):
    """Gold, and what stages tell."""
    assert_agreement_is_alike(blocks, whole)
    for name in GOLD_OF_SCORES:
        assert_alike(blocks.table(name), whole.table(name), name)
    for stage in STAGES:
        actual, expected = (
            {name: fact for name, fact in built.metrics(stage).items() if name != "parts"}
            for built in (blocks, whole)
        )
        assert actual == expected, stage


def built_both(folder, *sets):
    blocks = stage_file(folder, *FEW, *sets, sizes=BLOCK_SIZES)
    whole = stage_file(folder, *FEW, *sets, f"store={folder}/store2", sizes=WHOLE_SIZES)
    return tuple(built.run(*GOLD_OF_SCORES, "agreement") for built in (blocks, whole))


@pytest.mark.parametrize(
    ("settings", "decimals"),
    [
        ({}, 0),
        pytest.param({"standardize": {"controls": "exclude"}}, 3, marks=pytest.mark.slow),
        pytest.param({"quality": {"test": "none"}}, 0, marks=pytest.mark.slow),
        pytest.param(
            {"quality": {"test": "mann_whitney", "contrast": "pooled"}}, 1, marks=pytest.mark.slow
        ),
        pytest.param({"quality": {"test": "consistency"}}, 1, marks=pytest.mark.slow),
        pytest.param({"quality": {"test": "bt500", "scope": "task"}}, 0, marks=pytest.mark.slow),
    ],
)
def test_blocks_are_the_whole(tmp_path, settings, decimals):
    folder = campaign(tmp_path, crowd(decimals=decimals), **settings)
    blocks, whole = built_both(folder)
    for stage, table in (
        ("pair_controls", "control_pairs"), ("standardize_scores", "standardized"),
        ("score_items", "scores"), ("list_judgments", "judgments"),
    ):  # fmt: skip
        assert len(blocks.runs[stage].result.tables[table].files) > 4, table
    if not settings:
        reasons = blocks.table("set_aside")["reason"].to_pylist()
        assert "the ordinary judgment of the same output is by another judge" in reasons
    actual, expected = (built.metrics("control_judges") for built in (blocks, whole))
    assert actual["inconsistent_judges"] == expected["inconsistent_judges"]
    shared = [row["n_shared_items"] for row in whole.rows("judges") if row["task"] == "large"]
    assert max(shared) > 10, "judges meet, in several blocks"
    assert_all_alike(blocks, whole)


def judged(n, judge, segment, system, score, hit, **more):
    """A row of `odd`: a judgment of one criterion."""
    row = {
        "task": "large", "hit": hit, "judge": judge, "segment": segment, "system": system,
        "criterion": "fluent", "role": "", "score": score, "at": 1_760_000_000 + n, "id": n,
    }  # fmt: skip
    return {**row, **more}


def at_random(n=200, n_segments=20, n_systems=4, seed=1, **more):
    draw = random.Random(seed)
    rows = [
        judged(
            k, f"w{draw.randrange(6)}", f"seg {draw.randrange(n_segments):03}",
            f"sys {draw.randrange(n_systems)}", draw.randrange(101), f"h{k // 20:03}",
        )
        for k in range(n)
    ]  # fmt: skip
    return [
        {**row, **{name: of(k, draw) for name, of in more.items()}} for k, row in enumerate(rows)
    ]


def once(n=200):
    """Each output is scored once: no two judges meet."""
    return [
        judged(k, f"w{k // 20 % 5}", f"seg {k:04}", f"sys {k % 4}", 37 * k % 101, f"h{k // 20}")
        for k in range(n)
    ]


def met_in_some_blocks():
    again = [
        judged(1000 + k, f"w{(k // 20 + 1) % 5}", f"seg {k:04}", f"sys {k % 4}", 41 * k % 101,
               f"g{k // 20}")
        for k in range(60)
    ]  # fmt: skip
    return once() + again


def alike_where_judges_meet():
    """What several judges scored has one score; other outputs vary."""
    rows = []
    for segment in range(40):
        name, n = f"seg {segment:04}", 10 * segment
        rows += [
            judged(n + judge, f"w{judge}", name, "sys 1", 47.3, f"h{judge}-{segment // 20}")
            for judge in range(3)
        ]
        rows.append(judged(n + 3, f"w{segment % 3}", name, "sys 2", 37 * segment % 101, "k"))
    return rows


def item(k, _draw):
    return f"i{7 * k % 130}"


ODD = {
    "each output once": once(),
    "met in some blocks": met_in_some_blocks(),
    "alike where judges meet": alike_where_judges_meet(),
    "all scores are one": at_random(score=lambda *_: 50),
    "no system": at_random(system=lambda *_: "", item=item),
    "no segment, HITs of 20": at_random(segment=lambda *_: "", item=item),
    "no segment, long HITs": at_random(segment=lambda *_: "", item=item, hit=lambda k, _: k // 100),
    "two items an output": at_random(item=lambda k, draw: f"i{draw.randrange(40)}/{k % 2}"),
    "nothing tells order": at_random(at=lambda *_: "", id=lambda *_: "", n_segments=300),
    "no HIT": at_random(hit=lambda *_: "", n_segments=80),
    "a score a judge": at_random(judge=lambda k, _: f"w{k:04}"),
    "shown again alone": at_random(role=lambda *_: "ask_again"),
    "compared with each other": at_random(
        300, 3, 12, item=lambda _, draw: f"i{draw.randrange(90)}"
    ),
}


SLOW = (
    "a score a judge", "all scores are one", "no HIT", "no segment, HITs of 20",
    "no segment, long HITs", "nothing tells order", "shown again alone", "two items an output",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(rows, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, rows in ODD.items()
    ],
)
def test_odd_crowds(tmp_path, rows):
    lines = [",".join(map(str, row.values())) for row in rows]
    text = "\n".join([",".join(rows[0]), *lines, ""])
    folder = campaign(tmp_path, text)
    if "item" in rows[0]:
        document = json.loads((folder / "campaign.yaml").read_text())
        document["sources"][0]["fields"]["item"] = "item"
        (folder / "campaign.yaml").write_text(json.dumps(document))
    assert_all_alike(*built_both(folder))


@pytest.mark.slow
def test_documents_are_whole_in_blocks(tmp_path):
    """Nine documents, segments without one, and one that two documents share."""
    rows = []
    for row in at_random(300, 30):
        n = int(row["segment"].removeprefix("seg "))
        document = "" if n > 26 else f"doc {n % 9}"
        shared = n == 3 and len(rows) % 2
        rows.append({**row, "document": "doc 4" if shared else document})
    lines = [",".join(map(str, row.values())) for row in rows]
    folder = campaign(tmp_path, "\n".join([",".join(rows[0]), *lines, ""]))
    settings = json.loads((folder / "campaign.yaml").read_text())
    settings["sources"][0]["fields"]["document"] = "document"
    (folder / "campaign.yaml").write_text(json.dumps(settings))
    blocks, whole = built_both(folder)
    assert_all_alike(blocks, whole)
    assert len(blocks.runs["standardize_scores"].result.tables["standardized"].files) > 4
    headline = [row for row in blocks.rows("system_rankings") if row["headline"]]
    assert {row["cluster"] for row in headline} == {None}
    assert all("20 documents" in row["reason"] for row in headline)


@pytest.mark.slow
def test_what_is_new_in_blocks_is_what_comes_of_nothing(tmp_path):
    """A judgment is corrected, one is gone, one is new: the same files of stages, the same gold."""
    folder = campaign(tmp_path, crowd(n_hits=8))
    stage_file(folder, *FEW, sizes=BLOCK_SIZES).run(*GOLD_OF_SCORES, "agreement")
    lines = (folder / "a.csv").read_text().splitlines()
    fields = lines[37].split(",")
    fields[7] = "7"
    lines[37] = ",".join(fields)
    del lines[77]
    lines.append("large,h99,w77,seg 05,sys 1,fluent,,44,1770000000,99999")
    (folder / "a.csv").write_text("\n".join([*lines, ""]))
    again = stage_file(folder, *FEW, sizes=BLOCK_SIZES)
    sets = (*FEW, f"store={tmp_path}/store2", "resources.threads=1")
    fresh = stage_file(folder, *sets, sizes=BLOCK_SIZES)
    for stage in ("pair_controls", *STAGES):
        for name, table in again.runs[stage].result.tables.items():
            other = fresh.runs[stage].result.tables[name]
            assert [f.sha256 for f in table.files] == [f.sha256 for f in other.files], (stage, name)
        assert dict(again.metrics(stage)) == dict(fresh.metrics(stage)), stage
    for name in (*GOLD_OF_SCORES, "agreement"):
        assert again.table(name).equals(fresh.table(name)), name
    assert not [path for path in (tmp_path / "store").rglob("*") if path.name == "blocks"]


@pytest.mark.parametrize("sizes", [BLOCK_SIZES, WHOLE_SIZES])
def test_scores_typed_wrong_decide_no_verdict(tmp_path, sizes):
    """Of twelve judges two guess; two careful ones typed 5656 and 777, on a scale nobody told."""
    draw = random.Random(5)
    truth = {f"i{i}": draw.uniform(20, 80) for i in range(60)}
    rows = [
        [item, f"w{j}", 100 * draw.random() if j > 9 else min(max(draw.gauss(t, 12), 0), 100)]
        for item, t in truth.items() for j in draw.sample(range(12), 5)
    ]  # fmt: skip
    for judge, score in (("w0", 5656), ("w1", 777)):
        next(row for row in rows if row[1] == judge)[2] = score
    text = "item,judge,score\n" + "".join(f"{i},{j},{round(s)}\n" for i, j, s in rows)
    (tmp_path / "a.csv").write_text(text)
    source = {
        "path": "*.csv",
        "format": "csv",
        "fields": {n: n for n in ("item", "judge", "score")},
    }
    document = {
        "campaign": "c", "sources": [source], "quality": {"test": "consistency"},
        "privacy": {"pseudonymize": False},
    }  # fmt: skip
    (tmp_path / "campaign.yaml").write_text(json.dumps(document))
    built = stage_file(tmp_path, sizes=sizes)
    judges = {row["judge"]: row for row in built.rows("judges")}
    assert {name for name, row in judges.items() if row["verdict"] == "failed"} == {"w10", "w11"}
    assert all(5 < judges[f"w{j}"]["inconsistency"] < 20 for j in range(10))
