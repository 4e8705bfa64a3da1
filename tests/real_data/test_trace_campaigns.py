"""Traces on real data, held against the raw rows as plain code reads them."""

from __future__ import annotations

import gzip
import hashlib
import hmac
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from annot_pipeline.audit.trace.documents import trace
from annot_pipeline.storage.releases import Release
from tests.conftest import build_file

pytestmark = pytest.mark.slow

KEY = "a key for tests, long enough to be one"
Row = dict[str, Any]


def raw_rows(path: Path) -> list[Row]:
    """Rows of a tab-separated file by column, each with its number from 1."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    head, *lines = data.decode().splitlines()
    names = head.split("\t")
    return [
        dict(zip(names, line.split("\t"), strict=True)) | {"row": number}
        for number, line in enumerate(lines, 1)
    ]


def keyed(campaign: str, text: str) -> str:
    """HMAC-SHA256 with the key that docs/gold.md derives from the secret and the campaign."""
    key = hmac.digest(KEY.encode(), f"annot campaign:{campaign}".encode(), "sha256")
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def public(campaign: str, judge: str) -> str:
    return "j" + keyed(campaign, f"judge:{judge}")[:20]


def build(campaign: Path, folder: Path, *sets: str) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", KEY)
        places = (f"store={folder}/store", f"gold={folder}/gold")
        return build_file(campaign, *places, *sets).publication.release


def check_sources(release: Release, raw: dict[str, list[Row]]) -> None:
    """In every source the fates sum up to the raw rows (a row is one record here)."""
    sources = {s["name"].rpartition("/")[2]: s for s in release.manifest["sources"]}
    assert sources.keys() == raw.keys()
    lineage = Counter(
        name.rpartition("/")[2] for name in release.table("lineage")["source_file"].to_pylist()
    )
    for name, rows in raw.items():
        assert sources[name]["rows"] == sum(sources[name]["records"].values()) == len(rows)
        assert lineage[name] == len(rows)


def said(document: Row) -> Counter[tuple[Any, ...]]:
    """Who answered what in which row, with what fate, as the trace has it."""
    judgments = [
        (j["judge"], j["answer"], p["source_row"], p["fate"])
        for j in document["judgments"]
        for p in j["places"]
    ]
    others = [(r["judge"], None, r["source_row"], r["fate"]) for r in document["other_records"]]
    return Counter([*judgments, *others])


@pytest.fixture(scope="module")
def rte(shared_campaigns, tmp_path_factory):
    return build(shared_campaigns / "rte.yaml", tmp_path_factory.mktemp("rte"))


@pytest.mark.parametrize("item", ["266", "1276", "2108"])
def test_rte(rte, shared_data, item):
    raw = raw_rows(shared_data / "snow2008" / "all_collected_data" / "rte.standardized.tsv")
    check_sources(rte, {"rte.standardized.tsv": raw})
    mine = [row for row in raw if row["orig_id"] == item]
    assert len(mine) == 10
    (actual,) = trace(rte, item)
    assert said(actual) == Counter(
        (public("rte", r["!amt_worker_ids"]), r["response"], r["row"], "used") for r in mine
    )
    assert {actual["truth"]} == {row["gold"] for row in mine}
    votes = Counter(row["response"] for row in mine)
    assert {r["label"]: r["votes"] for r in actual["distribution"]} == {
        label: votes[label] for label in "01"
    }
    assert actual["label"]["majority_share"] == max(votes.values()) / 10


@pytest.fixture(scope="module")
def masc(shared_campaigns, tmp_path_factory):
    """Two of the 45 words: each is a task of its own, fitted apart."""
    return build(
        shared_campaigns / "masc.yaml",
        tmp_path_factory.mktemp("masc"),
        "sources.0.path=../data/masc-wordsense/munged/fa[im]*.tsv",
        "gates.rejected_share.error=1",
    )


def test_masc(masc, shared_data):
    """Items of a word; fair-j declares senses 1 to 9, and its export holds 10 and 11 too."""
    munged = shared_data / "masc-wordsense" / "munged"
    raw = {f"{word}.tsv": raw_rows(munged / f"{word}.tsv") for word in ("fair-j", "family-n")}
    check_sources(masc, raw)
    by_item: dict[str, list[Row]] = defaultdict(list)
    for row in raw["fair-j.tsv"]:
        by_item[row["item"]].append(row)
    with_rejected = next(
        item for item, rows in by_item.items() if {"10", "11"} & {r["rating"] for r in rows}
    )
    wanted = [("fair-j", with_rejected), ("fair-j", "119"), ("family-n", "11")]
    for word, item in wanted:
        (actual,) = trace(masc, item, word)
        mine = [row for row in raw[f"{word}.tsv"] if row["item"] == item]
        kept = [r for r in mine if word != "fair-j" or r["rating"] not in ("10", "11")]
        judges = {r["annotator"]: public("masc", f"{word}:{r['annotator']}") for r in mine}
        used = [(judges[r["annotator"]], r["rating"], r["row"], "used") for r in kept]
        rejected = [
            (judges[r["annotator"]], None, r["row"], "rejected") for r in mine if r not in kept
        ]
        assert said(actual) == Counter(used + rejected)
        assert rejected or (word, item) != wanted[0]
        votes = Counter(row["rating"] for row in kept)
        assert {r["label"]: r["votes"] for r in actual["distribution"] if r["votes"]} == votes
        files = {p["source_file"] for j in actual["judgments"] for p in j["places"]}
        assert files == {f"../data/masc-wordsense/munged/{word}.tsv"}
        digest = hashlib.sha256((munged / f"{word}.tsv").read_bytes()).hexdigest()
        assert {p["source_digest"] for j in actual["judgments"] for p in j["places"]} == {
            keyed("masc", f"digest:{digest}")
        }
        shares = [r["probability"] for r in actual["distribution"]]
        assert sum(shares) == pytest.approx(1)
        assert actual["label"]["probability"] == max(shares)


def test_wmt22(shared_campaigns, shared_data, tmp_path):
    name = "recovered-raw-good-workers.tsv.gz"
    raw = raw_rows(shared_data / "wmt22-da-toen" / "derived" / name)
    release = build(
        shared_campaigns / "wmt22.yaml", tmp_path, "ranking.bootstrap=0", "agreement.bootstrap=0"
    )
    check_sources(release, {name: raw})
    kinds = {
        "SYSTEM": "none", "REPEAT": "ask_again", "BAD_REF": "bad_reference",
        "REF": "good_reference",
    }  # fmt: skip
    by_item, by_judge = defaultdict(list), defaultdict(list)
    for row in raw:
        by_item[f"{row['src']}-en", f"{row['sid']}/{row['sys_id']}"].append(row)
        by_judge[row["src"], row["WorkerId"]].append(float(row["raw_score"]))
    types = {at: Counter(row["type"] for row in rows) for at, rows in by_item.items()}
    wanted = [  # of the first asked again, of the second degraded, the third a reference's
        next(at for at, actual in types.items() if actual["SYSTEM"] and actual[kind])
        for kind in ("REPEAT", "BAD_REF", "REF")
    ]
    for at in wanted:
        (actual,) = trace(release, at[1], at[0])
        mine = by_item[at]
        assert Counter(
            (j["judge"], j["score"], j["control"], p["source_row"])
            for j in actual["judgments"]
            for p in j["places"]
        ) == Counter(
            (public("wmt22", r["WorkerId"]), float(r["raw_score"]), kinds[r["type"]], r["row"])
            for r in mine
        )
        assert actual["other_records"] == []
        used = [r for r in mine if r["type"] in ("SYSTEM", "REPEAT")]
        fates = Counter(j["fate"] for j in actual["judgments"])
        assert (fates["used"], fates.total()) == (len(used), len(mine))
        mean = fmean(float(r["raw_score"]) for r in used)
        assert actual["score"]["raw_mean"] == pytest.approx(mean, rel=1e-12)
        weights = [j["weight"] for j in actual["judgments"] if j["fate"] == "used"]
        assert weights == [pytest.approx(1 / len(used))] * len(used)
        z = {j["places"][0]["source_row"]: j["z"] for j in actual["judgments"]}
        for row in mine:
            scores = by_judge[row["src"], row["WorkerId"]]
            expected = (float(row["raw_score"]) - fmean(scores)) / stdev(scores)
            assert z[row["row"]] == pytest.approx(expected, rel=1e-9)
        for left in actual["without_judge"]:
            others = [
                float(r["raw_score"])
                for r in used
                if public("wmt22", r["WorkerId"]) != left["judge"]
            ]
            assert left["raw_mean"] == (pytest.approx(fmean(others)) if others else None)
