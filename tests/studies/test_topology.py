"""Rankings rebuilt from tournaments, against brute force; rankings out of comparisons."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from studies.full_rankings import REASONS, FullRankings, full_rankings
from studies.params import Topology
from studies.registry import run_study
from studies.topology import (
    COUNTS,
    READINGS,
    WAYS,
    dense,
    rebuild,
    share_right,
)
from studies.topology_result import topology_result
from studies.topology_study import (
    MEASURES,
    RebuiltRankings,
    interval_of,
    measures,
    rebuild_rankings,
)

Comparison = tuple[int, int, int, int, bool]


def silent(_: str) -> None:
    pass


def some_rankings(n: int, size: int, seed: int = 0) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(1, size + 1, (n, size))


# --- one ranking -----------------------------------------------------------------------------


def by_hand(original: Sequence[int], asked: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Rebuild one ranking with dictionaries and loops."""
    n = len(original)
    reach = {(a, b): False for a in range(n) for b in range(n)}
    for a, b in asked:
        reach[a, b] |= original[a] <= original[b]
        reach[b, a] |= original[b] <= original[a]
    for k, a, b in itertools.product(range(n), repeat=3):  # Warshall: k is the outer loop
        reach[a, b] |= reach[a, k] and reach[k, b]
    f = [
        sum(reach[a, b] and not reach[b, a] for b in range(n))
        - sum(reach[b, a] and not reach[a, b] for b in range(n))
        for a in range(n)
    ]
    rank = [sorted(set(f), reverse=True).index(v) + 1 for v in f]
    counts = {(way, count): 0 for way in WAYS for count in COUNTS}
    met = {tuple(sorted(pair)) for pair in asked}
    for a, b in itertools.combinations(range(n), 2):
        if (a, b) in met:
            continue
        way = "path" if reach[a, b] or reach[b, a] else "dominance"
        truth, actual = np.sign(original[b] - original[a]), np.sign(rank[b] - rank[a])
        counts[way, "relations"] += 1
        counts[way, "right"] += truth == actual
        counts[way, "strict"] += truth != 0
        counts[way, "rebuilt_strict"] += actual != 0
        counts[way, "both_strict"] += truth != 0 != actual
        counts[way, "strict_right"] += truth == actual != 0
    return {"rank": rank, "counts": counts}


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 8, 11])
def test_against_brute_force(n: int) -> None:
    original = some_rankings(40, n)
    actual = rebuild(original, np.random.default_rng(1))
    for place, row in enumerate(dense(original).tolist()):
        wanted = by_hand(row, actual.pairs[place].tolist())
        assert actual.rank[place].tolist() == wanted["rank"]
        got = {
            (way, count): actual.counts[place, w, c]
            for w, way in enumerate(WAYS)
            for c, count in enumerate(COUNTS)
        }
        assert got == wanted["counts"]
        if len(set(row)) == 1 or len(set(wanted["rank"])) == 1:
            assert np.isnan(actual.pearson[place])
        else:
            r = pearsonr(row, wanted["rank"]).statistic
            assert actual.pearson[place] == pytest.approx(r, abs=1e-12)


# --- rankings out of comparisons -------------------------------------------------------------


def comparisons_of(
    rankings: Sequence[Sequence[int]], same: Sequence[Sequence[tuple[int, int]]] = ()
) -> list[Comparison]:
    """All pairs of each ranking; items are numbered through."""
    rows: list[Comparison] = []
    start = 0
    for number, ranks in enumerate(rankings):
        one = set(same[number]) if same else set()
        for a, b in itertools.combinations(range(len(ranks)), 2):
            outcome = int(np.sign(ranks[b] - ranks[a]))
            rows.append((number, start + a, start + b, outcome, (a, b) in one))
        start += len(ranks)
    return rows


def put_together(rows: Sequence[Comparison]) -> FullRankings:
    return full_rankings(*(np.array(column) for column in zip(*rows, strict=True)))


def test_what_is_no_full_ranking() -> None:
    full = comparisons_of([[1, 2, 3]])
    cycle = [(7, 90, 91, 1, False), (7, 91, 92, 1, False), (7, 90, 92, -1, False)]
    # ties are not handed on: a = b, b = c, and yet a > c
    loose = [(8, 80, 81, 0, False), (8, 81, 82, 0, False), (8, 80, 82, 1, False)]
    missing = [row for row in comparisons_of([[9], [1, 2, 3, 4]]) if row[1:3] != (2, 4)]
    pair = [(9, 60, 61, 1, False)]
    # two systems of one output with different outcomes
    torn = [
        (5, 50, 51, 0, True), (5, 50, 52, 1, False), (5, 51, 52, -1, False),
        (5, 50, 53, 1, False), (5, 51, 53, 1, False), (5, 52, 53, 1, False),
    ]  # fmt: skip
    for rows, reason in (
        (cycle, REASONS[2]), (loose, REASONS[2]), (missing, REASONS[1]), (pair, REASONS[0]),
        (torn, REASONS[2]),
    ):  # fmt: skip
        actual = put_together([*full, *rows] if rows is not missing else rows)
        assert {why: n for why, n in actual.left_out.items() if n} == {reason: 1}
        assert actual.rank.get(3, np.empty(0)).tolist() == ([[1, 2, 3]] if rows != missing else [])


@given(st.lists(st.lists(st.integers(1, 5), min_size=3, max_size=6), min_size=1), st.randoms())
@settings(max_examples=40, deadline=None)
def test_order_and_sides_of_comparisons_do_not_matter(
    rankings: list[list[int]], random: Any
) -> None:
    rows = comparisons_of(rankings)
    turned = [(n, b, a, -o, s) if random.random() < 0.5 else (n, a, b, o, s)
              for n, a, b, o, s in rows]  # fmt: skip
    random.shuffle(turned)
    actual, wanted = put_together(turned), put_together(rows)
    assert {n: r.tolist() for n, r in actual.rank.items()} == {
        n: r.tolist() for n, r in wanted.rank.items()
    }
    for size, rank in wanted.rank.items():
        own = [row for row in rankings if len(row) == size]
        assert rank.tolist() == dense(own).tolist()


# --- numbers and intervals -------------------------------------------------------------------


def rebuilt(n_rankings: int = 60, size: int = 5, **given: Any) -> RebuiltRankings:
    return rebuild_rankings("t", dense(some_rankings(n_rankings, size)), Topology(**given))


def test_numbers_are_those_of_numpy() -> None:
    actual = rebuilt(repeats=4)
    value = dict(
        zip(MEASURES, interval_of(actual, 50, np.random.default_rng(0)).value, strict=True)
    )
    assert value["pearson"] == pytest.approx(np.nanmean(actual.pearson))
    by_repeat = np.nanstd(actual.pearson, axis=1, ddof=1)
    assert value["sd_of_pearson"] == pytest.approx(np.sqrt((by_repeat**2).mean()))
    counts = actual.counts.sum(axis=(0, 1))
    for reading in READINGS:
        assert value[reading] == share_right(counts.sum(axis=0), reading)
        assert value[f"{reading}_without_path"] == share_right(counts[1], reading)
    assert value["share_without_path"] == counts[1, 0] / counts[:, 0].sum()
    once = dict(zip(MEASURES, measures(actual)[2], strict=True))
    assert once["pearson"] == pytest.approx(np.nanmean(actual.pearson[2]))
    assert once["sd_of_pearson"] == pytest.approx(by_repeat[2])


# --- the study --------------------------------------------------------------------------


def of_tasks(**sizes: Sequence[int]) -> dict[str, FullRankings]:
    return {
        task: FullRankings(
            {n: dense(some_rankings(20, n, n)) for n in own}, dict.fromkeys(REASONS, 1)
        )
        for task, own in sizes.items()
    }


def test_no_ranking_of_so_many_outputs() -> None:
    with pytest.raises(ConfigError, match=r"no full ranking of 6 .* 20 of 4, 40 of 5") as error:
        topology_result(of_tasks(a=(4, 5), b=(5,)), Topology(n_outputs=6), silent)
    assert "--set n_outputs=5" in str(error.value)
    with pytest.raises(ConfigError, match="n_outputs: is 2"):
        Topology(n_outputs=2)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Rankings of four and five outputs; in one of these two systems share an output."""
    rows = []
    for number, ranks in enumerate(
        [[1, 2, 3, 4, 5], [2, 2, 1, 3, 1], [3, 3, 3, 3, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5, 5]]
    ):
        position = [*range(len(ranks) - 1), len(ranks) - 1 - (len(ranks) == 6)]
        rows += [
            (f"r{number}", f"s{number}", f"sys{k}", "judge", rank, position[k])
            for k, rank in enumerate(ranks)
        ]
    folder = tmp_path / "campaign"
    folder.mkdir()
    with (folder / "ranks.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["ranking", "segment", "system", "judge", "rank", "position"])
        writer.writerows(rows)
    names = ("ranking", "segment", "system", "judge", "rank", "position")
    source = {
        "path": "ranks.csv",
        "format": "csv",
        "fields": {"task": {"value": "t"}} | {n: n for n in names},
    }
    (folder / "campaign.yaml").write_text(json.dumps({"campaign": "c", "sources": [source]}))
    return folder


@pytest.mark.slow
def test_rankings_of_a_campaign(campaign: Path, tmp_path: Path) -> None:
    def run(name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        before = sorted(campaign.iterdir())
        given = {"repeats": 3, "rounds": 20}
        out = tmp_path / name
        document = run_study("topology", given, load_campaign(campaign), None, out, silent)
        assert sorted(campaign.iterdir()) == before, "nothing is written beside the campaign"
        return document, {path.name: path.read_bytes() for path in sorted(out.iterdir())}

    document, files = run("one")
    assert sorted(files) == [
        "histogram.csv", "repetitions.csv", "sizes.csv", "study.html", "ties.csv",
        "topology.csv",
    ]  # fmt: skip
    (numbers,) = document["numbers"]
    assert (numbers["task"], numbers["rankings"], numbers["constant"]) == ("t", 4, 1)
    assert (numbers["asked"], numbers["all_pairs"]) == (6, 10)
    sizes = list(csv.DictReader(files["sizes.csv"].decode().splitlines()))
    assert [(row["outputs"], row["rankings"]) for row in sizes] == [("4", "1"), ("5", "4")]
    json.dumps(document, allow_nan=False)
    assert run("two")[1] == files
