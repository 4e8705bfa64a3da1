"""Decisions of experts: fixtures."""

import pytest

from tests.adjudication.decided import SOURCES, answers


@pytest.fixture
def build(build_campaign):
    def built(exports, *sets, **settings):
        return build_campaign({"a.csv": answers()} | exports, *sets,
                              **({"sources": SOURCES} | settings))  # fmt: skip

    return built
