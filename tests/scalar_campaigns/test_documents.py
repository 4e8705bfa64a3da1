"""Documents of segments, from exports and item tables to intervals of the headline."""

from __future__ import annotations

import random

import pytest

from tests.conftest import Staged, stage_file
from tests.scalar_campaigns.judged import write_rows

N_JUDGES, N_SEGMENTS, N_SYSTEMS = 12, 48, 3
DOCUMENTS = 8


def evaluation(seed: int = 1, **columns):
    """All judges judge all systems on some segments; each document has systems that it suits."""
    draw = random.Random(seed)
    suits = {(d, s): draw.gauss(0, 12) for d in range(DOCUMENTS) for s in range(N_SYSTEMS)}
    rows = []
    for judge in range(N_JUDGES):
        for segment in draw.sample(range(N_SEGMENTS), 20):
            for system in range(N_SYSTEMS):
                score = 50 + 4 * system + suits[segment % DOCUMENTS, system] + draw.gauss(0, 6)
                rows.append(
                    {
                        "judge": f"w{judge}", "segment": f"s{segment}", "system": f"m{system}",
                        "score": round(min(max(score, 0), 100)),
                        **{name: of(segment) for name, of in columns.items()},
                    }
                )  # fmt: skip
    return rows


def stage_rows(folder, rows, **settings) -> Staged:
    return stage_file(write_rows(folder, rows, **settings))


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Staged:
    """The evaluation without documents."""
    return stage_rows(tmp_path_factory.mktemp("plain"), evaluation())


@pytest.fixture(scope="module")
def mapped(tmp_path_factory) -> Staged:
    """The evaluation whose rows name documents of several segments."""
    return stage_rows(tmp_path_factory.mktemp("mapped"), evaluation(document=document))


def headline(built, table="system_comparisons"):
    return [row for row in built.rows(table) if row["headline"]]


def width(row):
    return row["ci_high"] - row["ci_low"]


def document(segment: int) -> str:
    return f"d{segment % DOCUMENTS}"


def test_documents_widen_intervals_and_move_no_estimate(plain, mapped):
    built = mapped
    assert {row["document"] for row in plain.rows("judgments")} == {None}
    for row in built.rows("judgments"):
        assert row["document"] == document(int(row["segment"].removeprefix("s")))
    for mine, other in zip(headline(built), headline(plain), strict=True):
        assert mine["difference"] == pytest.approx(other["difference"], rel=1e-9)
        assert width(mine) > 1.3 * width(other)
    for mine, other in zip(*(headline(one, "system_rankings") for one in (built, plain)),
                           strict=True):  # fmt: skip
        assert mine["n_segments"] == other["n_segments"] > 4 * DOCUMENTS
        assert "20 documents" in mine["reason"]
        assert "document" not in (other["reason"] or "")


def test_item_tables_say_which_document_a_segment_is_of(mapped, tmp_path):
    items = [
        {"segment": f"s{segment}", "system": f"m{system}", "document": document(segment)}
        for segment in range(N_SEGMENTS)
        for system in range(N_SYSTEMS)
    ]
    listed = stage_rows(tmp_path / "listed", evaluation(), items=items)
    for table in ("judgments", "system_rankings", "system_comparisons"):
        assert listed.rows(table) == mapped.rows(table), table


def test_documents_of_one_segment_are_its_segments(plain, tmp_path):
    own = stage_rows(tmp_path / "own", evaluation(document="d{}".format))
    for table in ("system_comparisons", "variance"):
        assert own.rows(table) == plain.rows(table), table


@pytest.mark.slow
def test_three_documents_are_these_documents(tmp_path):
    built = stage_rows(tmp_path, evaluation(document=lambda segment: f"d{segment % 3}"))
    reasons = {row["reason"] for row in headline(built)}
    assert reasons == {"fewer than 4 documents: intervals and tests speak of these documents only"}


@pytest.mark.slow
def test_a_segment_of_two_documents_joins_them(tmp_path):
    """Six documents, of which one segment is named with all: what is left is one cluster."""
    rows = evaluation(document=lambda segment: f"d{segment % 6}")
    shared = [n for n, row in enumerate(rows) if row["segment"] == "s0"]
    assert len(shared) >= 6
    for n, row in enumerate(shared):
        rows[row]["document"] = f"d{n % 6}"
    built = stage_rows(tmp_path, rows)
    assert all("fewer than 4 documents" in row["reason"] for row in headline(built))


@pytest.mark.slow
def test_means_have_no_interval_where_documents_repeat(tmp_path):
    """Each judge judges one segment: segments alone repeat, unless documents do."""
    draw = random.Random(3)
    rows = [
        {
            "judge": f"w{segment}", "segment": f"s{segment}", "system": f"m{system}",
            "score": 40 + 10 * system + draw.randrange(20), "document": f"d{segment // 2}",
        }
        for segment in range(60)
        for system in range(2)
    ]  # fmt: skip
    built = stage_rows(tmp_path / "documents", rows)
    plain = [{name: value for name, value in row.items() if name != "document"} for row in rows]
    other = stage_rows(tmp_path / "plain", plain)
    actual, expected = (
        [row for row in one.rows("system_rankings") if row["method"] == "raw_mean"]
        for one in (built, other)
    )
    assert all(row["ci_low"] is not None for row in expected)
    assert all(row["ci_low"] is None for row in actual)
    assert all("segments of one document are not independent" in row["reason"] for row in actual)
