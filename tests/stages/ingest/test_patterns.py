"""Regular expressions of a campaign end in bounded time, and match as Python's own do."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annot_pipeline.errors import ConfigError
from annot_pipeline.stages.ingest import expressions
from annot_pipeline.stages.ingest.expressions import compile_pattern

LETTERS = 30
"""Without a limit, the search that takes longest ends after some seconds."""
OURS = (r"^(\d+)-", r"(?i)yes|no", r"([^/]+)\.csv$", r"[a-c]+(?P<x>\d)?", r"\bgood\b", r"(.*?)x")


@given(st.sampled_from(OURS), st.text("abcx019-/.csv yesNOgod\n", max_size=20))
def test_matches_are_those_of_python(pattern, text):
    expected, actual = re.search(pattern, text), compile_pattern(pattern).search(text)
    assert (expected and expected.span()) == (actual and actual.span())
    assert (expected and expected.groups()) == (actual and actual.groups())


def test_a_search_that_would_take_for_ever_is_an_error(monkeypatch, build_campaign):
    """On a value on which a search without a limit takes seconds, so that this test ends."""
    monkeypatch.setattr(expressions, "LONGEST_SEARCH_S", 0.02)
    rows = f"item,judge,label\n{'a' * LETTERS}b,w1,x\n"
    source = {
        "path": "exports/*.csv",
        "format": "csv",
        "fields": {"item": {"column": "item", "match": "(a|aa)+$"}, "judge": "judge",
                   "label": "label"},
    }  # fmt: skip
    with pytest.raises(ConfigError, match="takes too long") as raised:
        build_campaign({"a.csv": rows}, sources=[source])
    assert "(a|aa)+$" in str(raised.value)
    assert "aaaaa" not in str(raised.value)  # a cell may name a judge
