"""Gates on items and systems of few judgments, and on segments that nothing connects."""

from __future__ import annotations

import pytest

from annot_pipeline.errors import GateError
from annot_pipeline.gates import GATES

FIELDS = {"item": "item", "judge": "judge", "score": "score"}
OF_SYSTEMS = {"segment": "segment", "system": "system", "judge": "judge", "score": "score"}


def campaign(fields):
    return {
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}],
        "quality": {"test": "none"},
    }


def gate(built, name):
    (stage,) = (gate.stage for gate in GATES if gate.name == name)
    (actual,) = (gate for gate in built.runs[stage].gates if gate.name == name)
    return actual


SCORES = "item,judge,score\ni1,a,10\ni1,b,30\ni2,a,50\ni3,b,20\n"


@pytest.mark.slow
def test_scores_of_one_judgment(build_campaign, stage_campaign):
    actual = gate(stage_campaign({"a.csv": SCORES}, **campaign(FIELDS)), "single_judgment_scores")
    assert (actual.level, actual.value) == ("warn", 2 / 3)
    levels = {"single_judgment_scores": {"error": 0.5}}
    with pytest.raises(GateError, match="single_judgment_scores"):
        build_campaign({"a.csv": SCORES + "i1,c,7\n"}, gates=levels, **campaign(FIELDS))


SYSTEMS = "segment,system,judge,score\n" + "".join(
    f"s{n},{system},{'ab'[n % 2]},{10 * n % 70}\n"
    for system, n_segments in (("rich", 10), ("poor", 9), ("poorer", 1))
    for n in range(n_segments)
)


@pytest.mark.slow
def test_systems_of_few_judgments(build_campaign, stage_campaign):
    built = stage_campaign({"a.csv": SYSTEMS}, **campaign(OF_SYSTEMS))
    actual = gate(built, "thin_systems")
    assert (actual.level, actual.value) == ("warn", 2)
    assert actual.detail == "small poor, small poorer"
    # of systems, one judgment an item is usual: the ranking adds them up
    assert gate(built, "single_judgment_scores").value == 0
    levels = {"thin_systems": {"error": 1}}
    with pytest.raises(GateError, match="thin_systems"):
        build_campaign({"a.csv": SYSTEMS}, gates=levels, **campaign(OF_SYSTEMS))
