"""What a release says of the one before: decisions, corrections, settings, exports."""

from __future__ import annotations

import random
import shutil
import stat

import duckdb
import pytest

from annot_pipeline.cli import main
from annot_pipeline.cli.render import text
from annot_pipeline.commands.prune import prune
from annot_pipeline.commands.release_list import list_releases
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.storage.tables import read_table
from tests.audit.two_releases import EXPORT
from tests.conftest import build_file

JUDGED = {"item": "item", "judge": "judge", "label": "label"}
DECIDED = {**JUDGED, "submitted_at": "at", "why": "why", "control": {"value": "adjudication"}}
SOURCES = [
    {"path": "exports/a*.csv", "format": "csv", "fields": JUDGED},
    {"path": "exports/x*.csv", "format": "csv", "fields": DECIDED},
]


@pytest.fixture
def changes(build_campaign):
    """Builds again; returns what the release says has changed, without what has not."""

    def built(*decisions: str, export: str = EXPORT, sets: tuple[str, ...] = ()):
        expert = "item,judge,label,at,why\n" + "".join(f"{row}\n" for row in decisions)
        built = build_campaign({"a.csv": export, "x.csv": expert}, *sets, sources=SOURCES)
        actual = built.publication.release.manifest["changes"]
        return actual and {what: n for what, n in actual.items() if n and "exports" not in what}

    return built


@pytest.mark.slow
def test_decisions_are_counted(changes, tmp_path, capsys):
    assert changes("i0,eva,b,,seen") is None
    assert changes("i0,eva,b,,seen", "i1,eva,a,,") == {"changed_labels": 1, "new_decisions": 1}
    assert changes("i0,ann,b,,seen", "i1,eva,a,,") == {"changed_decisions": 1}
    assert changes("i0,ann,b,,read again", "i1,eva,a,,") == {"changed_decisions": 1}
    assert changes("i0,ann,b,,read again") == {"changed_labels": 1, "withdrawn_decisions": 1}
    campaign = tmp_path / "campaign"
    decisions = status(load_campaign(campaign))["release"]["decisions"]
    assert decisions == {"decided": 1, "overridden": 1}
    assert main(["status", str(campaign)]) == 0
    assert (
        "labels decided by experts, and against the model: decided 1, overridden 1"
        in capsys.readouterr().out
    )
    assert main(["releases", str(campaign)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "changed decisions 1" in lines[4]


@pytest.mark.slow
def test_a_judgment_corrected_in_its_export_is_counted(changes):
    changes()
    actual = changes(export=EXPORT.replace("i0,w1,b", "i0,w1,a"))
    assert actual["corrected_judgments"] == 1
    assert "new_judgments" not in actual


@pytest.mark.slow
def test_other_settings_are_known_after_the_parent_is_gone(changes, tmp_path):
    changes()
    changes(sets=("dawid_skene.smoothing=0.5",))
    campaign = load_campaign(tmp_path / "campaign")
    prune(campaign, 1, progress=lambda _: None)
    [row] = list_releases(campaign)["releases"]
    assert row["settings_changed"] is True


@pytest.mark.slow
def test_labels_that_change_though_no_export_does_are_counted(build_campaign):
    """All records have the lineage that they had."""
    draw = random.Random(5)
    rows = [f"i{n},w{judge},{draw.choice('aab')}\n" for n in range(30) for judge in range(4)]
    export = {"a.csv": "item,judge,label\n" + "".join(rows)}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": JUDGED}]
    some = {"sources": sources, "gates": {"label_flips": {"error": None}}}
    old, new = (
        build_campaign(export, f"label_model={model}", **some).publication.release
        for model in ("one_coin", "dawid_skene")
    )
    labels = zip(
        *(read_table(r.stored("labels"), ["label"])["label"].to_pylist() for r in (old, new)),
        strict=True,
    )
    n_changed = sum(before != now for before, now in labels)
    assert n_changed
    assert new.manifest["changes"]["changed_labels"] == n_changed
    assert new.manifest["changes"]["new_judgments"] == 0


def test_in_words():
    assert text({"new_labels": 1, "changed_labels": 1200, "new_judgments": None}) == (
        "new labels 1, changed labels 1,200"
    )
    assert text({"settings_changed": True, "judges_have_other_names": False}) == (
        "settings changed yes"
    )
    assert text({}) == ""


@pytest.mark.slow
def test_a_copied_campaign_gets_a_catalog_of_its_own(start_campaign, tmp_path):
    start_campaign({"a.csv": EXPORT})
    copied = shutil.copytree(tmp_path / "campaign", tmp_path / "copied")
    shutil.rmtree(tmp_path / "campaign")
    assert not build_file(copied).publication.published
    with duckdb.connect(str(copied / "store" / "catalog.duckdb"), read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM labels").fetchall() == [(5,)]


def test_only_the_owner_opens_the_store(start_campaign, tmp_path):
    start_campaign({"a.csv": EXPORT})
    mode = stat.S_IMODE((tmp_path / "campaign" / "store").stat().st_mode)
    assert mode == 0o700


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(JobSizes(compared_rows=1), marks=pytest.mark.slow),
        pytest.param(JobSizes(), marks=pytest.mark.slow),
        JobSizes(4, least_rows=1, end_one_in=1),
    ],
    ids=["one by one", "together", "files that differ"],
)
def test_changes_of_several_tasks_add_up(build_campaign, sizes):
    """One task comes, one goes, and one has other answers."""

    def lines(task, answers):
        return "".join(f"{task},i{n},w{j},{answer}\n" for n, row in enumerate(answers)
                       for j, answer in enumerate(row))  # fmt: skip

    sources = [{"path": "exports/*.csv", "format": "csv", "fields": {"task": "task", **JUDGED}}]
    head = "task,item,judge,label\n"
    old = lines("gone", ["aa", "bb"]) + lines("same", ["aab", "bba"]) + lines("more", ["aab"])
    new = lines("come", ["ab"]) + lines("same", ["aab", "baa"]) + lines("more", ["aab", "bba"])
    old += lines("alike", ["ab", "ba"])
    new += lines("alike", ["ab", "ba"])
    build_campaign({"a.csv": head + old}, sources=sources, sizes=sizes)
    built = build_campaign({"a.csv": head + new}, sources=sources, sizes=sizes)
    changes = built.publication.release.manifest["changes"]
    counts = {name: n for name, n in changes.items() if n and "exports" not in name}
    assert counts == {
        "new_judgments": 5, "corrected_judgments": 1, "withdrawn_judgments": 4,
        "new_labels": 2, "changed_labels": 1, "removed_labels": 2,
    }  # fmt: skip


def test_groups_of_tasks_are_compared_as_all_at_once(build_campaign, stage_campaign):
    """One task is gone, one is new, and in one a new export turns the scale of the same judges."""
    chance = random.Random(1)

    def rows(tasks, direction, start=0):
        return [f"{task},{task}{start + n},{judge},{direction * n + chance.gauss(0, 1):.3f}\n"
                for task in tasks for n in range(12) for judge in "abcdef"]  # fmt: skip

    head = "task,item,judge,score\n"
    old, new = rows(["d", "e", "gone"], 5), rows(["d", "f"], -5, 12)
    exports = {"old.csv": head + "".join(old[:144]), "new.csv": head + "".join(new)}
    fields = {name: name for name in ("task", "item", "judge", "score")}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    build_campaign({"old.csv": head + "".join(old)}, sources=sources)
    facts, at_once = (
        stage_campaign(exports, sources=sources, sizes=JobSizes(80, 1, 1, compared_rows=most))
        .metrics("compare_releases") for most in (10, 10**6)
    )  # fmt: skip
    assert facts == at_once
    assert [row["task"] for row in facts["vanished_judgments"]] == ["d", "e", "gone"]
    assert [row["vanished"] for row in facts["vanished_judgments"]] == [0, 0, 72]
    assert {row["name"] for row in facts["shifted_exports"]} == {"d exports/new.csv"}


def test_an_export_that_is_mapped_to_another_task_is_not_gone(build_campaign, stage_campaign):
    """Its task is compared with others that do not hold it: one judgment at a time, or all."""
    exports = {
        f"{name}.csv": "item,judge,label\n" + "".join(
            f"{name}{n},{judge},{'yn'[n % 2]}\n" for n in range(12) for judge in "abc")
        for name in ("one", "two", "other")
    }  # fmt: skip

    def sources(**task_by_name):
        fields = {name: name for name in ("item", "judge", "label")}
        return [
            {
                "path": f"exports/{name}.csv",
                "format": "csv",
                "fields": fields | {"task": {"value": t}},
            }
            for name, t in task_by_name.items()
        ]

    build_campaign(exports, sources=sources(one="z", two="z", other="d"))
    for most in (1, 10**6):
        built = stage_campaign(
            exports, sources=sources(one="z", two="e", other="d"),
            sizes=JobSizes(20, 1, 1, compared_rows=most),
        )  # fmt: skip
        facts = built.metrics("compare_releases")
        assert facts["vanished_by_export"] == []
        assert [row["vanished"] for row in facts["vanished_judgments"] if row["task"] == "z"] == [
            36
        ]
