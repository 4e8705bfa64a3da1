"""Ranking XML: blocks, chunks, encodings; nothing trusted."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from annot_pipeline.exports import Opening, wmt_ranking
from tests.exports.wmt_ranking.ranking_xml import (
    FIVE,
    HEAD,
    Record,
    document,
    hit,
    opened,
    output,
    read,
    result,
    task,
)


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("chunk", [1, 5, 50_000])
def test_blocks_and_chunks_change_nothing(block: int, chunk: int, tmp_path: Path) -> None:
    content = document(hit(task(result(), result(user="ü")), task(result(""), segment="é")))
    whole = read(opened(tmp_path / "w.xml", content))
    sizes = {"block_bytes": block, "chunk_records": chunk}
    assert read(opened(tmp_path / "w.xml", content, **sizes)) == whole
    zipped = gzip.compress(content.encode())
    assert read(opened(tmp_path / "w.xml.gz", zipped, **sizes)) == whole


def test_records_come_in_chunks(tmp_path: Path) -> None:
    """A ranking is not cut in two."""
    content = document(hit(task(*(result(user=f"u{n}") for n in "1234"))))
    export = opened(tmp_path / "w.xml", content, chunk_records=10)
    assert [len(chunk) for chunk in export.chunks] == [12, 12]


def test_encodings(records: Callable[..., list[Record]]) -> None:
    text = document(hit(task(result(user="zoë"))))
    latin = text.replace("UTF-8", "ISO-8859-1")
    ways: list[tuple[bytes, dict[str, str]]] = [
        (text.encode(), {}),
        (b"\xef\xbb\xbf" + text.encode(), {}),
        (latin.encode("latin-1"), {}),
        (text.encode("latin-1"), {"encoding": "latin-1"}),
        (text.encode("utf-16"), {"encoding": "utf-16"}),
        (text.replace("UTF-8", "UTF-16").encode("utf-16"), {"encoding": "utf-16"}),
        (text.replace(HEAD, "").encode("cp037"), {"encoding": "cp037"}),
    ]
    for content, options in ways:
        assert {r["user"] for r in records(content, **options)} == {"zoë"}, options


@pytest.mark.parametrize("content", ["", " \n", "<WMT14-results />", f"{HEAD}<wmt16-results/>"])
def test_an_export_of_nothing_has_no_rows(tmp_path: Path, content: str) -> None:
    export = opened(tmp_path / "w.xml", content)
    assert (read(export), export.n_rows, export.ignored) == ([], 0, {})


LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)

FILE = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
GOOD = document(hit(task(result())))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD[: len(GOOD) // 2], r"cut short .unclosed token, line \d"),
        (GOOD.replace("</HIT>", ""), "mismatched tag, line 15"),
        (GOOD.replace("</WMT15-results>", ""), "cut short .no element found, line 16"),
        (GOOD + "<more/>", "junk after document element, line 16"),
        (GOOD.replace('rank="2"', 'rank="2" rank="3"', 1), "duplicate attribute, line 9"),
        (GOOD.replace("u1", "&who;"), "undefined entity, line 6"),
        (GOOD.replace("u1", "\0"), "not well-formed .invalid token., line 6"),
        (GOOD.replace("u1", "zoë").encode("latin-1"), "invalid token., line 6.*options.encoding"),
        (GOOD.replace("UTF-8", "klingon"), "declares an encoding that cannot be read .*klingon"),
        (HEAD + LAUGHS + "<r>&c;</r>", r"has a document type \(<!DOCTYPE>\), line 2"),
        (HEAD + FILE + "<r>&a;</r>", r"has a document type \(<!DOCTYPE>\), line 2"),
        ("<!DOCTYPE html><html></html>", "is an HTML page, not an export"),
        ("<!DOCTYPE x><x></x>", r"has a document type \(<!DOCTYPE>\), line 1"),
        ("<rss><body/></rss>", "it has no ranking-task: its first element is 'rss'"),
        (
            "<set><seg id='1'/></set>",
            "has no ranking-task.*do: +check format: wmt_ranking is HIT >",
        ),
        (
            GOOD.replace(FIVE, f"{FIVE}<ranking-result />"),
            "a ranking-result is nested in another, line 12",
        ),
        ('{"a": 1}', "not well-formed .invalid token., line 1"),
    ],
)
def test_files_that_cannot_be_read(
    content: str | bytes, says: str, error: Callable[..., str]
) -> None:
    assert re.search(says, error(content), re.DOTALL)


def test_the_encoding_given_must_fit(error: Callable[..., str]) -> None:
    assert "w.xml: cannot be read" in error(GOOD.replace("u1", "zoë"), encoding="ascii")
    assert "is not text in ascii" in error(GOOD.replace("u1", "zoë"), encoding="ascii")
    assert "options.encoding: utf-16" in error(GOOD.encode("utf-16"))


def test_a_gzip_cut_short(error: Callable[..., str]) -> None:
    zipped = gzip.compress(GOOD.encode(), mtime=0)
    assert "gzip is damaged or cut short" in error(zipped[:-20], "w.xml.gz")


@pytest.mark.parametrize("start", ['<r><a b="', "<r><!-- ", "<r><?a "])
def test_a_huge_tag_is_refused_before_it_is_held(
    start: str, error: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def endless(_: Opening, __: object) -> Iterator[bytes]:
        yield start.encode()
        for n in range(100):
            asked.append(n)
            yield b"x" * (1 << 16)

    monkeypatch.setattr(wmt_ranking, "_blocks", endless)
    assert "a tag or comment is longer than 1,048,576 bytes, line 1" in error("")
    assert len(asked) < 20


def test_a_long_text_or_many_elements_are_no_huge_tag(tmp_path: Path) -> None:
    long = "<note>" + "word " * 500_000 + "</note>"
    deep = "<n>" * 20_000 + "</n>" * 20_000
    export = opened(tmp_path / "w.xml", document(hit(task(result() + long + deep))))
    assert len(read(export)) == 6


def test_a_long_name_is_read_whole(records: Callable[..., list[Record]]) -> None:
    name = "x" * 500_000
    assert [r["system"] for r in records(document(hit(task(result(output(name, 1))))))] == [name]
