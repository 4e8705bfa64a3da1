"""The week of docs/week.md: what the pipeline said and published, night by night.

A line ``...`` of the page stands for any lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annot_pipeline import load_gold
from examples.week.play import Scene, play
from tests.test_pages import shows

PAGE = (Path(__file__).parents[1] / "docs" / "week.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Scene]]:
    folder = tmp_path_factory.mktemp("nights") / "week"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ANNOT_KEY", "")  # the week sets its own
        return folder, list(play(folder))


def told(text: str) -> str:
    """What is said, but for what differs: bytes from machine to machine, and times."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "TIME", text)
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "RUN", text)
    text = re.sub(r"(?<=--candidate )\w{8}", "RUN", text)
    return re.sub(r" *[\d,]+ bytes", " N bytes", text).strip()


def scene(week: tuple[Path, list[Scene]], words: str) -> Scene:
    (actual,) = [s for s in week[1] if words in s.title]
    return actual


def used(folder: Path, version: str) -> dict[str, int]:
    """Records by fate."""
    fates = load_gold(folder / "gold", "lineage", version)["fate"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in fates}


@pytest.mark.slow
def test_every_scene_publishes_or_says_why_not(week):
    published = {
        s.title: (re.search(r"^published (v\d+)", s.said, re.M) or [None, None])[1]
        for s in week[1]
        if s.said.startswith("$ annot build")
    }
    assert list(published.values()) == [
        "v0001", "v0002", "v0003", None, "v0004", None, "v0005", None, "v0006", "v0007",
        None, "v0008", None,
    ]  # fmt: skip
    failed = [s.title for s in week[1] if s.status and s.said.startswith("$ annot build")]
    assert failed == [t for t, v in published.items() if v is None and "nothing" not in t]


@pytest.mark.slow
def test_cumulative_exports_count_a_judgment_once_and_the_correction(week):
    # Monday: 12 questions and 25 comments; each comment is judged by 4 of 6
    assert used(week[0], "v0001") == {"used": 25 * 4, "control": 12 * 6}
    tuesday = used(week[0], "v0002")
    assert tuesday["used"] == 2 * 25 * 4
    assert tuesday["superseded"] == 1  # ben's first answer to comment-16-07
    assert tuesday["duplicate"] == 25 * 4 + 12 * 6 - 1
    labels = load_gold(week[0] / "gold", "judgments", "v0002").to_pylist()
    (corrected,) = [
        r for r in labels if r["item"] == "comment-16-07" and r["submitted_at"].day == 17
    ]
    assert corrected["label"] == "no"


@pytest.mark.slow
def test_who_swaps_keys_fails_and_counts_no_more(week):
    verdicts = {
        version: sorted(load_gold(week[0] / "gold", "judges", version)["verdict"].to_pylist())
        for version in ("v0003", "v0004")
    }
    assert verdicts["v0003"] == ["passed"] * 6
    assert verdicts["v0004"] == ["failed", *["passed"] * 5]
    assert "judge_failed" not in used(week[0], "v0003")
    assert used(week[0], "v0004")["judge_failed"] > 0
    changed = scene(week, "what that changed").said
    assert re.search(r"verdict +passed +failed +new judgments", changed)


@pytest.mark.slow
def test_a_broken_export_stops_the_build_and_harms_nothing(week):
    broken = scene(week, "half an export")
    assert broken.status == 1
    assert "the gzip is damaged or cut short" in broken.said
    assert "published" not in broken.said
    assert "v0005" in scene(week, "the export is whole").said
    assert scene(week, "gold is unchanged").status == 0


@pytest.mark.slow
def test_renamed_columns_are_named(week):
    renamed = scene(week, "renamed two columns")
    assert renamed.status == 2
    assert "the 6 columns of the export, which annot validate shows" in renamed.said


@pytest.mark.slow
def test_a_flood_stops_the_build_and_can_be_left_out(week):
    flood = scene(week, "twelve new people")
    assert flood.status == 1
    assert "suspected_labels: 23.08% of items were decided by suspected judges" in flood.said
    why = scene(week, "Monday: why").said
    assert "suspected: the same answer to all items" in why
    labels = load_gold(week[0] / "gold", "labels", "v0008").to_pylist()
    assert len(labels) == 8 * 25
    assert not [row for row in labels if row["item"].startswith("extra")]
    judges = load_gold(week[0] / "gold", "judges", "v0008").to_pylist()
    assert sum(row["dropped"] and row["suspected"] for row in judges) == 12


@pytest.mark.slow
def test_after_a_rollback_the_dropped_export_is_not_published_again(week):
    assert "published v0009 with the content of v0007" in scene(week, "back to Sunday").said
    assert "dropped_exports: 1 export" in scene(week, "the same export").said


@pytest.mark.slow
def test_all_that_was_judged_is_there_in_the_end(week):
    last = load_gold(week[0] / "gold", "judgments", "v0007")
    assert last.num_rows == 7 * 25 * 4 + (12 + 6 * 4) * 6
    assert scene(week, "the auditor looks").said.count(" ok ") == 7


@pytest.mark.slow
def test_the_page_tells_what_was_said(week):
    blocks = re.findall(r"```text\n(\$ annot .*?)```", PAGE, re.DOTALL)
    said = iter(told(s.said) for s in week[1])
    assert len(blocks) > 10
    assert [b for b in map(told, blocks) if not any(shows(b, s) for s in said)] == []  # in order
