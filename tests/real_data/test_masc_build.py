"""All 45 words of the word-sense data in one build: accounted for, repeatable."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.conftest import Built, build_file

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def masc(shared_campaigns: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, Path]:
    campaign = shared_campaigns / "masc.yaml"
    folder = tmp_path_factory.mktemp("masc")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        return build_file(campaign, f"store={folder}/store", f"gold={folder}/gold"), folder


def test_every_row_is_accounted_for(masc):
    built, _ = masc
    facts = built.metrics("settle_judgments") | {
        "unaccounted": built.metrics("control_judges")["unaccounted"]
    }
    assert facts["records"] == built.table("lineage").num_rows == 1_084_551
    assert sum(facts["fates"].values()) == 1_084_551
    assert facts["unaccounted"] == []
    # campaigns/masc.yaml declares senses 1 to 9 of fair-j; its export also holds 10 and 11
    assert [(r["kind"], r["records"]) for r in facts["rejections"]] == [
        ("label is not a declared class", 162 + 1589)
    ]
    assert facts["fates"]["used"] == 1_084_551 - 1751


def test_the_report_is_light(masc):
    built, _ = masc
    assert built.publication.release.file("report.html").stat().st_size <= 400_000


def test_an_unused_class_is_kept(masc):
    built, _ = masc
    rows = {r["label"]: r for r in built.rows("prevalence") if r["task"] == "fair-j"}
    assert sorted(rows) == list("123456789")
    assert rows["4"]["vote_share"] == 0


def test_a_second_build_publishes_nothing(masc, shared_campaigns):
    _, folder = masc
    again = build_file(
        shared_campaigns / "masc.yaml", f"store={folder}/store", f"gold={folder}/gold"
    )
    assert not again.publication.published
    assert again.metrics("read_records")["parsed"] == 0
    looked = ("archive_exports", "read_records", "compare_releases")
    assert all(r.result.reused for n, r in again.runs.items() if n not in looked)


def test_shuffled_split_renamed_on_one_thread_the_bytes_are_the_same(
    masc, shared_data, shared_campaigns
):
    built, folder = masc
    exports = folder / "shuffled" / "exports"
    exports.mkdir(parents=True)
    rng = random.Random(7)
    for path in sorted((shared_data / "masc-wordsense" / "munged").glob("*.tsv")):
        head, *rows = path.read_text().splitlines(keepends=True)
        rng.shuffle(rows)
        for part in range(2):
            (exports / f"part{part}-{path.name}").write_text(head + "".join(rows[part::2]))
    campaign = (shared_campaigns / "masc.yaml").read_text()
    campaign = campaign.replace("../data/masc-wordsense/munged/*.tsv", "exports/*.tsv")
    campaign = campaign.replace('"(?P<', '"[0-9]-(?P<')
    (folder / "shuffled" / "campaign.yaml").write_text(campaign)
    other = build_file(folder / "shuffled", "resources.threads=1")
    ours, theirs = built.hashes(), other.hashes()
    assert ours.pop("lineage") != theirs.pop("lineage")  # it names the files
    assert ours == theirs
