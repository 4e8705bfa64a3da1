"""Ranking XML: the id of a ranking, which no file and no order changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exports.wmt_ranking.ranking_xml import (
    Record,
    document,
    hit,
    opened,
    output,
    read,
    result,
    task,
)

TIMES = [f"00:00:{n:02}" for n in range(1, 10)]


def identified(path: Path, content: str) -> dict[tuple[str, ...], str]:
    """What identifies a ranking to people, and its id."""
    actual = {}
    for r in read(opened(path, content)):
        told = (r["hit_id"], r["segment"], r["user"], r["duration"])
        assert actual.setdefault(told, r["ranking"]) == r["ranking"]
    assert len({*actual.values()}) == len(actual)
    return actual


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(12)), cut=st.integers(0, 12))
def test_ids_stay_when_files_are_split_or_put_in_another_order(
    order: list[int], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("w")
    hits = []
    for n in range(12):
        twice = [result(user=f"u{n % 2}", duration=t) for t in (TIMES[n % 9], TIMES[(n + 4) % 9])]
        hits.append((hit(task(*twice), id_=f"h{n}"), hit(task(*twice[::-1]), id_=f"h{n}")))
    whole = identified(folder / "w.xml", document(*(forward for forward, _ in hits)))
    assert len(whole) == 24
    moved = [hits[n][n % 2] for n in order]
    parts = [document(*part) for part in (moved[:cut], moved[cut:])]
    actual = [identified(folder / f"{n}.xml", part) for n, part in enumerate(parts)]
    assert actual[0] | actual[1] == whole


def shown(path: Path, *contents: str) -> dict[str, str]:
    """Id of a ranking to the systems that were shown in it, over several files."""
    actual: dict[str, set[str]] = defaultdict(set)
    for content in contents:
        for r in read(opened(path, content)):
            actual[r["ranking"]].add(r["system"])
    return {ranking: "".join(sorted(systems)) for ranking, systems in actual.items()}


def test_a_ranking_moved_to_another_file_keeps_its_id(tmp_path: Path) -> None:
    """One judge, one HIT, one segment, and other systems: never one ranking of all."""
    path = tmp_path / "w.xml"
    abc = result("".join(output(s, n) for n, s in enumerate("abc", 1)), duration="00:00:09")
    bde = result(output("b,e", 2) + output("d", 1), duration="00:00:05")
    turned = result(output("d", 2) + output("e, b", 1), duration="00:00:05")
    whole = shown(path, document(hit(task(abc, bde))))
    assert sorted(whole.values()) == ["abc", "bde"]
    assert shown(path, document(hit(task(abc))), document(hit(task(bde)))) == whole
    assert shown(path, document(hit(task(bde))), document(hit(task(abc)))) == whole
    assert shown(path, document(hit(task(turned, abc)))) == whole, "the order of outputs is no part"


def test_a_changed_rank_keeps_the_id(records: Callable[..., list[Record]]) -> None:
    before, after = (
        {r["ranking"] for r in records(document(hit(task(result(output("a", rank))))))}
        for rank in (1, 2)
    )
    assert before == after


def test_equal_rankings_are_told_apart(records: Callable[..., list[Record]]) -> None:
    actual = records(document(hit(task(result(), result(), result()))))
    ids = list(dict.fromkeys(r["ranking"] for r in actual))
    assert [i.partition("-")[2] for i in ids] == ["", "2", "3"]
    assert len({i.partition("-")[0] for i in ids}) == 1
