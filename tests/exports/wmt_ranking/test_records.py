"""Ranking XML: every ranking a row, every system a record, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.exports import wmt_ranking
from tests.exports.wmt_ranking.ranking_xml import (
    FIVE,
    Record,
    document,
    hit,
    opened,
    output,
    read,
    result,
    task,
)


def test_a_record_is_a_system_of_a_ranking(records: Callable[..., list[Record]]) -> None:
    actual = records(document(hit(task(result()))))
    assert [(r["row"], r["cell"], r["position"], r["system"], r["rank"]) for r in actual] == [
        (1, "1.a", "1", "a", "3"),
        (1, "2.b", "2", "b", "1"),
        (1, "2.c", "2", "c", "1"),
        (1, "3.d", "3", "d", "2"),
        (1, "4.e", "4", "e", "2"),
        (1, "5.f", "5", "f", "5"),
    ]
    assert {r["problem"] for r in actual} == {None}
    shared = {
        "source_language": "deu", "target_language": "eng", "hit_id": "32872282", "block_id": "-1",
        "segment": "581", "user": "u1", "duration": "35.337", "duration_text": "00:00:35.337000",
    }  # fmt: skip
    assert all(r | shared == r for r in actual)
    [ranking] = {r["ranking"] for r in actual}
    assert re.fullmatch("[0-9a-f]{16}", ranking)


def test_rows_are_counted_over_the_file_and_attributes_end_with_their_element(
    records: Callable[..., list[Record]],
) -> None:
    two = output("a", 1) + output("b", 2)
    actual = records(
        document(
            hit(task(result(two), result(two, "u2")), task(result(two), segment="7")),
            hit(task(result(two)), id_="h2", languages=("eng", "ces")),
            task(result(two), segment="9"),
            result(two),
        )
    )
    places = [
        (r["row"], r["hit_id"], r["target_language"], r["segment"], r["user"]) for r in actual
    ]
    assert places[::2] == [
        (1, "32872282", "eng", "581", "u1"),
        (2, "32872282", "eng", "581", "u2"),
        (3, "32872282", "eng", "7", "u1"),
        (4, "h2", "ces", "581", "u1"),
        (5, None, None, "9", "u1"),
        (6, None, None, None, "u1"),
    ]
    assert len({r["ranking"] for r in actual}) == 6


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("00:00:35.337000", "35.337"),
        ("00:02:10", "130"),
        ("0:00:10", "10"),
        ("00:00:00.000001", "0.000001"),
        ("00:00:30.000000", "30"),
        ("23:59:59.999999", "86399.999999"),
        ("1 day, 2:03:04.5", "93784.5"),
        ("12 days, 0:00:00", "1036800"),
        ("", None),
        ("-1 day, 23:59:59", None),
        ("00:61:00", None),
        ("35.337", None),
        ("soon", None),
    ],
)
def test_durations_are_seconds(
    written: str, seconds: str | None, records: Callable[..., list[Record]]
) -> None:
    actual = records(document(hit(task(result(duration=written)))))
    assert {(r["duration"], r["duration_text"]) for r in actual} == {(seconds, written)}


def test_rankings_without_outputs_are_a_record(records: Callable[..., list[Record]]) -> None:
    skipped = '<ranking-result duration="00:00:01" user="u1" skipped="true" />'
    actual = records(
        document(
            hit(
                task(result("")),
                task(skipped),
                task(skipped.replace("/>", f">{FIVE}</ranking-result>")),
                task(result(output("a", 1))),
            )
        )
    )
    assert [(r["row"], r["cell"], r["system"], r["problem"]) for r in actual] == [
        (1, None, None, "the ranking holds no output"),
        (2, None, None, "the ranking holds no output (skipped)"),
        (3, None, None, "the ranking is marked as skipped, but holds outputs"),
        (4, "1.a", "a", None),
    ]
    assert {r["user"] for r in actual} == {"u1"}


@pytest.mark.parametrize("outputs", ['<translation rank="1" />', output("", 1), output(" ", 1)])
def test_an_output_without_a_name_leaves_the_others(
    outputs: str, records: Callable[..., list[Record]]
) -> None:
    actual = records(document(hit(task(result(outputs + output("z", 2))))))
    assert [(r["cell"], r["problem"]) for r in actual] == [
        ("1.", "a translation without the name of a system"),
        ("2.z", None),
    ]


@pytest.mark.parametrize("rank", ["-1", "", "best", "1.5", "0", " 2 "])
def test_ranks_stay_as_written(rank: str, records: Callable[..., list[Record]]) -> None:
    """What is no rank is rejected where those of all formats are (read_records)."""
    actual = records(document(hit(task(result(output("a", rank) + '<translation system="b"/>')))))
    assert [(r["rank"], r["problem"]) for r in actual] == [(rank, None), (None, None)]


def test_names_of_systems_in_one_output(records: Callable[..., list[Record]]) -> None:
    actual = records(document(hit(task(result(output(" a , b,a,,", 1))))))
    assert [(r["cell"], r["system"], r["problem"]) for r in actual] == [
        ("1.a", "a", None),
        ("1.b", "b", None),
        ("1.a#2", "a", "a translation names a system twice"),
        ("1.", None, "a translation without the name of a system"),
        ("1.#2", None, "a translation without the name of a system"),
    ]


def test_an_output_of_too_many_systems_is_one_record(records: Callable[..., list[Record]]) -> None:
    [actual, other] = records(document(hit(task(result(output("x," * 9_999, 1) + output("b", 2))))))
    assert (actual["cell"], actual["system"]) == ("1", None)
    assert actual["problem"] == "a translation names more than 1,000 systems"
    assert other["problem"] is None


def test_missing_attributes_are_nulls(records: Callable[..., list[Record]]) -> None:
    bare = f"<r><ranking-task><ranking-result>{FIVE}</ranking-result></ranking-task></r>"
    actual = records(bare)
    assert len(actual) == 6
    names = {n for n, value in actual[0].items() if value is None}
    assert names == {*wmt_ranking.OF_RANKING, "problem"} - {"ranking"}


def test_an_older_export_has_one_system_an_output(records: Callable[..., list[Record]]) -> None:
    older = document(
        hit(task(result(output("cu-bojar", 2) + output("onlineB", 1)), segment="27"))
    ).replace("WMT15", "WMT13")
    assert [(r["system"], r["rank"]) for r in records(older)] == [
        ("cu-bojar", "2"),
        ("onlineB", "1"),
    ]


def test_what_is_no_ranking_is_counted(tmp_path: Path) -> None:
    content = document(
        hit(
            task(result(FIVE + "<note>hm</note>")),
            output("a", 1),
            task("<!-- nothing -->", segment="8"),
        ),
        "<HIT hit-id='1' colour='red'><source>Wort</source></HIT>",
    )
    export = opened(tmp_path / "w.xml", content)
    assert len(read(export)) == 6
    assert export.ignored == {
        "'note' elements": 1,
        "'source' elements": 1,
        "'colour' attributes of HIT": 1,
        "texts between elements": 2,
        "translation elements outside of a ranking-result": 1,
        "ranking-task elements without a ranking-result": 1,
    }


def test_kinds_of_what_is_ignored_are_bounded(tmp_path: Path) -> None:
    many = "".join(f"<n{n} />" for n in range(1_000))
    export = opened(tmp_path / "w.xml", document(hit(task(result() + many))))
    assert len(export.ignored) == wmt_ranking.MOST_KINDS + 1
    assert sum(export.ignored.values()) == 1_000


def test_only_wanted_columns_are_made(tmp_path: Path) -> None:
    content = document(hit(task(result())))
    export = opened(tmp_path / "w.xml", content, used_columns=frozenset({"rank", "user"}))
    assert export.columns == list(wmt_ranking.COLUMNS)
    [chunk] = export.chunks
    assert sorted(chunk.columns) == ["rank", "user"]
