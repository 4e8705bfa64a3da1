"""Decisions of experts: fixtures."""

import pytest

from tests.adjudication.decided import SOURCES, answers


def with_answers(build):
    def built(exports, *sets, **settings):
        return build({"a.csv": answers()} | exports, *sets, **({"sources": SOURCES} | settings))

    return built


@pytest.fixture
def build(build_campaign):
    return with_answers(build_campaign)


@pytest.fixture
def stage(stage_campaign):
    return with_answers(stage_campaign)
