"""Documents of compared outputs: their segments are one cluster of the headline."""

from __future__ import annotations

import random

import pytest

from tests.comparison_campaigns.compared import PREFERENCE, RANKING, preferences, rankings

DOCUMENTS = 6


def compared(seed: int = 2) -> str:
    """Comparisons of three systems by twelve judges; each document has systems that it suits."""
    draw = random.Random(seed)
    suits = {(d, s): draw.gauss(0, 1.5) for d in range(DOCUMENTS) for s in "xyz"}
    rows = ["judge,segment,a,b,won,doc"]
    for n in range(600):
        segment, (a, b) = draw.randrange(36), draw.sample("xyz", 2)
        odds = suits[segment % DOCUMENTS, a] - suits[segment % DOCUMENTS, b]
        won = "left" if draw.random() < 1 / (1 + 2.718**-odds) else "right"
        rows.append(f"w{n % 12},s{segment},{a},{b},{won},d{segment % DOCUMENTS}")
    return "\n".join([*rows, ""])


def headline(built):
    rows = [row for row in built.rows("system_comparisons") if row["headline"]]
    return {(row["system_a"], row["system_b"]): row for row in rows}


def test_documents_widen_intervals_of_preferences(stage_campaign, tmp_path):
    sets = (f"store={tmp_path}/store2", f"gold={tmp_path}/gold2")
    plain = headline(preferences(stage_campaign, compared(), *sets))
    built = preferences(stage_campaign, compared(), fields=PREFERENCE | {"document": "doc"})
    actual = headline(built)
    assert {row["document"] for row in built.rows("judgments")} == {f"d{n}" for n in range(6)}
    widths = []
    for pair, row in actual.items():
        assert row["difference"] == pytest.approx(plain[pair]["difference"], rel=1e-9)
        ends = [(one["ci_low"], one["ci_high"]) for one in (row, plain[pair])]
        widths.append((ends[0][1] - ends[0][0]) / (ends[1][1] - ends[1][0]))
    assert min(widths) > 1.1
    reasons = {
        row["reason"] for row in built.rows("system_rankings") if row["method"] == "bradley_terry"
    }
    assert all("20 documents" in reason for reason in reasons)


def test_documents_of_rankings(stage_campaign):
    rows = [
        f"w{n % 8},s{n},{system},r{n},{1 + (n + place) % 3},d{n // 20}"
        for n in range(60)
        for place, system in enumerate("xyz")
    ]
    built = rankings(stage_campaign, rows, fields=RANKING | {"document": "extra"})
    assert {row["document"] for row in built.rows("comparisons")} == {"d0", "d1", "d2"}
    reasons = {row["reason"] for row in headline(built).values()}
    assert reasons == {"fewer than 4 documents: intervals and tests speak of these documents only"}
