"""Names as figures show them: short, in one line, fit for XML."""

from __future__ import annotations

import unicodedata

import pytest

from annot_pipeline.report.figures.base import MOST_COLUMNS, clean, short
from annot_pipeline.report.figures.base import width_of as width

FORBIDDEN = [*map(chr, range(32)), "\x7f", "\x85", "\ud800", "\udfff", "\ufffe", "\uffff"]
"""By XML 1.0, or of no use in it; tab and line breaks become blanks."""


@pytest.mark.parametrize("character", FORBIDDEN)
def test_no_character_is_left_that_xml_forbids(character):
    cleaned = clean(f"a{character}b")
    assert cleaned in ("a b", "a\ufffdb")
    assert (cleaned == "a b") == (character.isspace())


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200f", "\u061c"])
def test_a_name_cannot_turn_the_line_around(character):
    assert clean(f"a{character}b") == "a\ufffdb"


def test_what_is_text_stays():
    for text in (
        "système",
        "Σύστημα",
        "مترجم",
        "机器翻译系统",
        "👩\u200d🔬",
        "क्\u200dष",
        "a $x$ b",
    ):
        assert clean(text) == short(text) == text


def test_nameless():
    assert short(None) == "(none)"
    assert short("") == short(" \n\t") == "(empty)"
    assert short(3) == "3"


@pytest.mark.parametrize(
    "name",
    [
        "x" * 41, "M" * 40, "系" * 21, "word " * 1000, "e" + "\u0301" * 500, "ab\u0301" * 5000,
        "x" * 10**7,
    ],
    ids=["letters", "capitals", "cjk", "words", "marks", "marked", "megabytes"],
)  # fmt: skip
def test_long_names_keep_head_and_tail(name):
    shown = short(name + "1.7")
    assert width(shown) <= MOST_COLUMNS
    assert len(shown) <= 80
    assert shown.startswith(name[:5].rstrip())
    assert shown.endswith("1.7")
    assert shown.count("…") == 1
    assert not unicodedata.combining(shown[shown.index("…") + 1])


def test_names_of_just_the_length_are_whole():
    assert short("x" * 40) == "x" * 40
    assert short("系" * 20) == "系" * 20
    assert short("abcdefghijk", 9) == "abcd…ijk"
