"""The ranking XML of WMT15, against what was published of it."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from annot_pipeline.exports import READERS, Opening
from tests.exports.wmt_ranking.ranking_xml import Record, read

PUBLISHED = {
    "ces-eng": (2_568, 24_473, 85_877, 60, 16),
    "deu-eng": (2_091, 19_468, 40_535, 53, 13),
    "eng-ces": (5_973, 58_956, 136_890, 22, 15),
    "eng-deu": (3_092, 29_752, 54_447, 15, 16),
    "eng-fin": (2_520, 24_399, 32_694, 5, 10),
    "eng-fre": (2_592, 22_858, 34_512, 15, 7),
    "eng-rus": (3_561, 34_546, 49_302, 15, 10),
    "fin-eng": (1_863, 17_309, 31_577, 47, 14),
    "fre-eng": (2_229, 19_375, 29_770, 49, 7),
    "rus-eng": (2_528, 23_614, 44_539, 45, 13),
}
"""Rankings, pairs of outputs, pairs of systems, judges, systems: NOTE.md of the data."""

CSV_FILES = ("eng-fin", "fin-eng", "fre-eng")


@pytest.fixture(scope="module")
def wmt15(shared_data: Path) -> list[Record]:
    path = shared_data / "wmt15-ranking/data/wmt15.users-hashed.xml.gz"
    export = READERS["wmt_ranking"](Opening(path, path.name))
    assert (export.n_rows, export.ignored) == (29_017, {})
    return read(export)


def pairs(records: list[Record]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Rankings, pairs of positions and pairs of systems of each language pair."""
    rankings: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for r in records:
        languages = f"{r['source_language']}-{r['target_language']}"
        rankings[languages, r["ranking"]].append(r)
    actual, collapsed, expanded = Counter[str](), Counter[str](), Counter[str]()
    for (languages, _), outputs in rankings.items():
        ranked = [r for r in outputs if r["system"]]
        actual[languages] += 1
        n_positions = len({r["position"] for r in ranked})
        collapsed[languages] += n_positions * (n_positions - 1) // 2
        expanded[languages] += len(ranked) * (len(ranked) - 1) // 2
    return actual, collapsed, expanded


@pytest.mark.slow
def test_wmt15_counts_as_published(wmt15: list[Record]) -> None:
    actual, collapsed, expanded = pairs(wmt15)
    judges, systems = defaultdict(set), defaultdict(set)
    for r in wmt15:
        languages = f"{r['source_language']}-{r['target_language']}"
        judges[languages].add(r["user"])  # also who skipped all
        systems[languages] |= {r["system"]} - {None}
    assert {
        name: (
            actual[name], collapsed[name], expanded[name], len(judges[name]), len(systems[name])
        )
        for name in actual
    } == PUBLISHED  # fmt: skip
    assert sum(expanded.values()) == 540_143
    assert Counter(r["problem"] for r in wmt15 if r["problem"]) == {
        "the ranking holds no output (skipped)": 757
    }


@pytest.mark.slow
def test_wmt15_without_what_nobody_ranked(wmt15: list[Record]) -> None:
    """mjpost/wmt15 gives 136,855 for eng-ces: a ranking that is not whole counts in part."""
    _, _, expanded = pairs([r for r in wmt15 if r["rank"] != "-1"])
    assert expanded == {n: told[2] for n, told in PUBLISHED.items()} | {"eng-ces": 136_855}


@pytest.mark.parametrize("languages", CSV_FILES)
@pytest.mark.slow
def test_wmt15_comparisons_are_those_of_the_published_table(
    languages: str, wmt15: list[Record], shared_data: Path
) -> None:
    """Judges and rankings have other names there: compared as multisets of what was judged."""
    path = shared_data / f"wmt15-ranking/data/wmt15.{languages}.csv"
    published: Counter[tuple[str, ...]] = Counter()
    lines = itertools.islice(path.read_text(encoding="utf-8").splitlines(), 1, None)
    for line in filter(str.strip, lines):
        _, _, _, segment, _, a, rank_a, b, rank_b, _ = line.split(",")
        published[segment, *sorted([f"{a} {rank_a}", f"{b} {rank_b}"])] += 1
    rankings = defaultdict(list)
    for r in wmt15:
        if f"{r['source_language']}-{r['target_language']}" == languages and not r["problem"]:
            rankings[r["ranking"], r["segment"]].append(f"{r['system']} {r['rank']}")
    actual: Counter[tuple[str, ...]] = Counter()
    for (_, segment), outputs in rankings.items():
        for a, b in itertools.combinations(outputs, 2):
            actual[segment, *sorted([a, b])] += 1
    assert actual == published
