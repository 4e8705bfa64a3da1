"""No cell of the csv can be a formula, wherever a spreadsheet splits it; all come back whole."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annot_pipeline.exports.hit_bookkeeping import Hit, Slot, parse_hit
from annot_pipeline.hits import PLATFORMS, write_batch
from annot_pipeline.hits.spreadsheet_safe import html_cell, json_cell
from tests.hits.platforms import plan, question, slot

MAX_EXAMPLES = 300 if "SOAK" in os.environ else 100
STARTS = "=+-@"
"""What makes a formula of a cell."""

NASTY = st.text(
    st.sampled_from(
        "=+-@|;,\t\r\n\"' \\{}[]<>&$#aZ09äß日\u00a0\u2028\uff1d\uff0b\uff0d\uff20\U0001d7d9😀"
    )
    | st.characters(codec="utf-8"),
    max_size=12,
)
EXAMPLES = (
    "=1+1", "-1", "a-b", "a -b", "\U0001d7d9-1", "&-1", ";-1", '"-1', "x;=1", "x\t=1", "x\r=1",
    '";=1;"', "${text_2}", "\n=1", " =1", "'=1", "+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\ufeff=1",
    "a\x00=b", "1-", "-", "--", "a--1", "\uff1d1",
)  # fmt: skip


def csv_of(texts: list[str], items: list[str], task: str, folder: Any) -> str:
    slots = [slot(item or "i", text=text) for item, text in zip(items, texts, strict=True)]
    write_batch(
        plan((task or "t", [slots, slots])),
        [question(task or "t")],
        folder,
        PLATFORMS["mturk"],
        force=True,
    )
    (path,) = folder.glob("hits-*.csv")
    return str(path.read_bytes().decode("utf-8"))


def cells(text: str) -> Iterator[tuple[str, str]]:
    """Every cell that a spreadsheet could make of a file, by where it splits."""
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            yield from ((delimiter, cell) for cell in row)
        for line in re.split("[\r\n]+", text):  # those that do not mind quotes
            yield from ((f"{delimiter} unquoted", cell) for cell in line.split(delimiter))


@settings(max_examples=MAX_EXAMPLES, deadline=None)
@given(texts=st.lists(NASTY, min_size=1, max_size=4), item=NASTY, task=NASTY)
@example(texts=list(EXAMPLES), item="=1", task="-1")
@example(texts=["x"], item='",=1', task='";-1')
def test_no_cell_is_a_formula(
    texts: list[str], item: str, task: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    items = [f"{item}{n}" for n in range(len(texts))]
    text = csv_of(texts, items, task if task.strip() else "t", folder)
    for where, cell in cells(text):
        bare = cell.strip(" \u00a0\ufeff\t\r\n\"'")
        assert not bare.startswith(tuple(STARTS)), (where, cell)
        assert not cell.startswith(("\t", "\r", "'")), (where, cell)
    assert not re.search(r"[^\x20-\uffff\n]|[\ud800-\udfff]", text)
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            assert not cell.startswith(('"', *STARTS))


@settings(max_examples=MAX_EXAMPLES, deadline=None)
@given(text=NASTY)
def test_html_shows_the_text(text: str) -> None:
    cell = html_cell(text)
    assert not set(cell) & set("<>\"'$\t\n\r=+@|\uff1d\uff0b\uff0d\uff20")
    shown = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]", "\ufffd", text)
    assert html.unescape(cell) == shown
    assert all(ord(character) < 0x10000 for character in cell)


@settings(max_examples=MAX_EXAMPLES, deadline=None)
@given(names=st.lists(NASTY.filter(lambda t: t.strip() != ""), min_size=1, max_size=3, unique=True))
def test_bookkeeping_comes_back(names: list[str]) -> None:
    slots = tuple(
        Slot(name, segment=name, control="ask_again", selection_probability=probability)
        for name, probability in zip(names, (1.5e-07, None, 0.25), strict=False)
    )
    hit = Hit(names[0], "0123456789abcdef", (-1e-7, 1e21), tuple(names), slots)
    cell = json_cell(hit.document())
    assert json.loads(cell) == hit.document()
    assert parse_hit(cell) == hit
    inside = "".join(re.findall(r'"([^"]*)"', re.sub("(?<=[0-9]e)-(?=[0-9])", "", cell)))
    assert re.fullmatch(r"(\\u[0-9a-f]{4}|[A-Za-z0-9 _{}\[\]:,.])*", inside)


def test_a_minus_in_a_word_stays() -> None:
    assert html_cell("well-known, 2020-11-21, a - b") == "well-known, 2020-11-21, a &#45; b"


def test_what_nobody_can_see_is_shown_as_such() -> None:
    assert html_cell("a\x00b\x1bc\x7f") == "a\ufffdb\ufffdc\ufffd"
