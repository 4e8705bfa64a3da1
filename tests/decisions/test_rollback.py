"""Back to an older release, exports that are excluded, releases that are not to be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from annot_pipeline import load_gold
from annot_pipeline.audit.bisect import bisect, bisect_metric
from annot_pipeline.cli import main
from annot_pipeline.commands.build import build_release
from annot_pipeline.commands.decisions import retract, roll_back
from annot_pipeline.commands.prune import prune
from annot_pipeline.commands.status import status
from annot_pipeline.commands.validate import validate
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import AnnotError, ConfigError, GateError, StoreError
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.releases import Releases
from tests.assets_defs.campaigns import write_campaign
from tests.audit.two_releases import EXPORT, MORE, SETTINGS, build_two, manifest_of


def silent(_: str) -> None:
    """Report nothing."""


@pytest.fixture
def campaign(copy_campaign, tmp_path) -> Path:
    """Two releases, the second of an export more."""
    return copy_campaign(build_two, tmp_path / "campaign")


def back(campaign: Path, version: str = "v0001") -> Any:
    return roll_back(
        load_campaign(campaign), version, because="b.csv is wrong", by="ann", progress=silent
    )


def exclude(campaign: Path, digest: str) -> None:
    [source] = SETTINGS["sources"]
    excluded = source | {"exclude": [{"digest": digest, "because": "wrong"}]}
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"sources": [excluded]}))


def rebuilt(campaign: Path) -> Any:
    return build_release(load_campaign(campaign), silent)[0]


def test_the_content_of_an_older_release_is_published_again(campaign):
    release = back(campaign)
    assert release.version == "v0003"
    old, new = manifest_of(campaign, "v0001"), manifest_of(campaign, "v0003")
    assert new["content_sha256"] == old["content_sha256"]
    assert new["parent"]["version"] == "v0002"
    assert (new["decision"]["restored"], new["decision"]["by"]) == ("v0001", "ann")
    assert list(new["decision"]["dropped"].values()) == ["exports/b.csv"]
    assert new["changes"]["removed_labels"] == 1
    assert load_gold(campaign / "gold", "labels").equals(
        load_gold(campaign / "gold", "labels", "v0001")
    )
    report = (release.folder / "report.html").read_text()
    assert "v0003 has the content of v0001" in report
    assert "v0003" in (release.folder / "README.md").read_text()
    assert main(["verify", str(campaign)]) == 0
    assert main(["verify", str(campaign), "v0003", "--rebuild"]) == 0


@pytest.mark.slow
def test_the_next_night_does_not_publish_what_was_dropped(campaign, capsys):
    back(campaign)
    assert main(["status", str(campaign)]) == 0
    before = capsys.readouterr().out
    assert main(["verify", str(campaign)]) == 0
    verified = capsys.readouterr().out
    assert "that a rollback dropped, and that builds refuse: correct or exclude them" in verified
    assert f"next: annot status {campaign}\n" in verified
    with pytest.raises(GateError, match="dropped_exports: 1 export"):
        rebuilt(campaign)
    digest = next(iter(manifest_of(campaign, "v0003")["decision"]["dropped"]))
    assert f'exclude: [{{digest: {digest[:16]}, because: "b.csv is wrong"}}]' in before
    assert "\nnext: correct exports/b.csv, or exclude" in before
    exclude(campaign, digest[:16])
    assert status(load_campaign(campaign))["dropped"] == {}
    publication = rebuilt(campaign)
    assert publication.release.version == "v0004"  # the settings differ
    assert manifest_of(campaign, "v0004")["facts"]["excluded_exports"] == {"exports/b.csv": "wrong"}
    assert load_gold(campaign / "gold", "labels").num_rows == 5
    document = status(load_campaign(campaign))
    assert document["excluded"] == {"exports/b.csv": "wrong"}
    assert not document["build_due"]
    assert main(["status", str(campaign)]) == 0
    assert "excluded by their source: exports/b.csv wrong" in capsys.readouterr().out


@pytest.mark.slow
def test_what_was_dropped_is_remembered_by_later_releases(campaign):
    """The wrong file is away for a night, and then there again."""
    back(campaign)
    wrong = campaign / "exports" / "b.csv"
    wrong.rename(campaign / "b.csv")
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nnew,w1,a\nnew,w2,a\n")
    assert rebuilt(campaign).release.version == "v0004"
    (campaign / "b.csv").rename(wrong)
    with pytest.raises(GateError, match="dropped_exports: 1 export"):
        rebuilt(campaign)


def test_a_digest_that_excludes_no_export_is_told(campaign):
    """As the digests of a release are after a new key."""
    exclude(campaign, "0123456789abcdef")
    messages: list[str] = []
    validate(load_campaign(campaign), messages.append)
    assert [m for m in messages if "no export has the digest 0123456789abcdef" in m]
    exclude(campaign, file_sha256(campaign / "exports" / "b.csv"))
    messages.clear()
    validate(load_campaign(campaign), messages.append)
    assert not [message for message in messages if "no export has" in message]


def test_a_campaign_without_an_export_that_is_not_excluded_is_refused(campaign, capsys):
    exclude(campaign, file_sha256(campaign / "exports" / "a.csv"))
    (campaign / "exports" / "b.csv").unlink()
    for command in ("validate", "build"):
        assert main([command, str(campaign)]) == 2
        error = capsys.readouterr().err
        assert "excluded: exports/a.csv (wrong)" in error
        assert "sources: every export is excluded" in error
        assert "add an export, or remove an entry of exclude" in error


@pytest.mark.slow
def test_build_and_status_name_the_file_that_is_excluded_no_more(campaign, capsys):
    """Also a build that publishes, which shows the warnings of the release."""
    back(campaign)
    [digest] = manifest_of(campaign, "v0003")["dropped"]
    exclude(campaign, digest[:16])
    (campaign / "exports" / "b.csv").write_text(MORE.replace("i9", "i8"))
    capsys.readouterr()
    assert main(["build", str(campaign)]) == 0
    said = capsys.readouterr().err
    assert f"exclude: no export has the digest {digest[:16]} (exports/b.csv)" in said
    assert "sha256sum" in said
    assert status(load_campaign(campaign))["unused_exclusions"] == [
        f"{digest[:16]} (exports/b.csv)"
    ]
    main(["status", str(campaign)])
    out = capsys.readouterr().out
    assert f"warn: exclude: no export has the digest {digest[:16]} (exports/b.csv)" in out


@pytest.mark.sampled
@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.slow
def test_rows_that_where_leaves_out_have_not_vanished(campaign, is_edited):
    """Unless the export is another one: then it may be that nobody meant to leave them out."""
    [source] = SETTINGS["sources"]
    left_out = source | {"where": [{"column": "judge", "not": ["w1"]}]}
    gates = {"vanished_judgments": {"warn": 0.0, "error": None, "minimum": 1}}
    document = SETTINGS | {"sources": [left_out], "gates": gates}
    (campaign / "campaign.yaml").write_text(json.dumps(document))
    if is_edited:
        for export in (campaign / "exports").iterdir():
            export.write_text(export.read_text() + "new,w2,a\n")
    checks = {check["name"]: check for check in rebuilt(campaign).release.manifest["checks"]}
    assert (checks["vanished_judgments"]["value"] > 0) == is_edited


@pytest.mark.parametrize("is_named_by_release", [False, True])
def test_a_rollback_names_no_export_that_is_excluded_already(campaign, capsys, is_named_by_release):
    [digest] = [
        source["source_digest"]
        for source in manifest_of(campaign, "v0002")["sources"]
        if source["name"] == "exports/b.csv"
    ]
    export = campaign / "exports" / "b.csv"
    exclude(campaign, digest if is_named_by_release else file_sha256(export))
    if is_named_by_release:  # it is away for now
        export.unlink()
    assert main(["rollback", str(campaign), "v0001", "--because", "b.csv is wrong"]) == 0
    out = capsys.readouterr().out
    assert "published v0003 with the content of v0001" in out
    assert "b.csv" not in out


@pytest.mark.slow
def test_a_corrected_export_is_read_after_a_rollback(campaign):
    back(campaign)
    (campaign / "exports" / "b.csv").write_text(MORE.replace("i9", "i8"))
    assert rebuilt(campaign).published


@pytest.mark.slow
def test_a_changed_export_is_dropped_and_a_second_rollback_remembers_it(campaign):
    (campaign / "exports" / "a.csv").write_text(f"{EXPORT}i8,w7,a\n")
    rebuilt(campaign)
    sources = manifest_of(campaign, "v0003")["sources"]
    digest = next(s["source_digest"] for s in sources if s["name"] == "exports/a.csv")
    back(campaign)
    names = sorted(manifest_of(campaign, "v0004")["decision"]["dropped"].values())
    assert names == ["exports/a.csv", "exports/b.csv"]
    back(campaign, "v0002")  # v0001 was too far
    assert manifest_of(campaign, "v0005")["decision"]["dropped"] == {digest: "exports/a.csv"}
    with pytest.raises(GateError, match="dropped_exports: 1 export"):
        rebuilt(campaign)


@pytest.mark.parametrize("text", ["two\nlines", "\udcff", "x" * 1_001, "\x1b[2J"])
@pytest.mark.parametrize("option", ["because", "by"])
def test_a_decision_is_one_line_that_can_be_printed(campaign, option, text):
    options = {"because": "wrong", "by": "ann"} | {option: text}
    with pytest.raises(ConfigError, match=f"--{option}: must be one line"):
        retract(load_campaign(campaign), "v0001", progress=silent, **options)
    assert Releases(campaign / "gold").retracted() == {}


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["sha256", "published"])
def test_an_export_is_excluded_by_either_digest_and_is_not_missed(campaign, form):
    """Its judgments are in the newest release: no gate says that they vanished."""
    digest = file_sha256(campaign / "exports" / "b.csv")
    if form == "published":
        sources = manifest_of(campaign, "v0002")["sources"]
        digest = next(s["source_digest"] for s in sources if s["name"] == "exports/b.csv")
    exclude(campaign, digest[:12])
    gates = {"vanished_judgments": {"error": 0.0, "minimum": 1},
             "vanished_items": {"error": 0.0, "minimum": 1}}  # fmt: skip
    document = json.loads((campaign / "campaign.yaml").read_text())
    (campaign / "campaign.yaml").write_text(json.dumps(document | {"gates": gates}))
    assert validate(load_campaign(campaign), silent)["excluded"] == {"exports/b.csv": "wrong"}
    assert rebuilt(campaign).published
    assert load_gold(campaign / "gold", "labels").num_rows == 5
    assert digest[:12] not in (campaign / "gold" / "v0003" / "manifest.json").read_text() or (
        form == "published"
    )


@pytest.mark.slow
def test_the_latest_file_is_the_last_one_that_is_not_excluded(campaign):
    exclude(campaign, file_sha256(campaign / "exports" / "b.csv"))
    document = json.loads((campaign / "campaign.yaml").read_text())
    document["sources"][0]["files"] = "latest"
    (campaign / "campaign.yaml").write_text(json.dumps(document))
    rebuilt(campaign)
    [source] = manifest_of(campaign, "v0003")["sources"]
    assert source["name"] == "exports/a.csv"


def test_what_cannot_be_gone_back_to_is_refused(campaign):
    with pytest.raises(ConfigError, match="v0002 is the newest release"):
        back(campaign, "v0002")
    with pytest.raises(StoreError, match="no release v0007"):
        back(campaign, "v0007")
    loaded = load_campaign(campaign)
    with pytest.raises(ConfigError, match="the newest release cannot be retracted"):
        retract(loaded, "latest", because="wrong", by=None, progress=silent)
    retract(loaded, "v0001", because="wrong", by="ann", progress=silent)
    with pytest.raises(StoreError, match="v0001 is not to be used"):
        back(campaign)
    with pytest.raises(ConfigError, match="v0001 is not to be used already"):
        retract(loaded, "v0001", because="another reason", by="bob", progress=silent)
    (campaign / "gold" / "v0001" / "labels.parquet").write_bytes(b"garbage")
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002"]


def test_only_releases_that_a_rollback_takes_are_offered(campaign):
    """Neither the newest, nor the one whose content it has, nor one that was retracted."""
    back(campaign)
    for version in ("v0009", "v0001", "v0003"):
        with pytest.raises(AnnotError) as error:
            back(campaign, version)
        assert [problem.do for problem in error.value.problems] == ["name v0002"]
    loaded = load_campaign(campaign)
    retract(loaded, "v0002", because="wrong", by="ann", progress=silent)
    for version in ("v0009", "v0002"):
        with pytest.raises(StoreError, match="no release is left to go back to") as error:
            back(campaign, version)
        assert f"then annot build {campaign}" in str(error.value)
    shutil.rmtree(campaign / "gold" / "v0002")
    with pytest.raises(StoreError, match="restore it from a backup"):
        back(campaign, "v0002")


@pytest.mark.slow
def test_releases_with_the_content_of_a_retracted_one_are_named_and_not_gone_back_to(
    campaign, capsys
):
    for version in ("v0001", "v0002"):  # v0003 has the content of v0001
        back(campaign, version)
    assert main(["retract", str(campaign), "v0001", "--because", "a flood", "--by", "ann"]) == 0
    said = capsys.readouterr().out
    assert "v0003 has its content: annot retract or annot rollback that too\n" in said
    with pytest.raises(StoreError, match="v0003 is not to be used") as error:
        back(campaign, "v0003")
    [problem] = error.value.problems
    assert problem.what == "ann retracted v0001, whose content it has: a flood"
    assert "no release is left to go back to" in problem.do
    assert Releases(campaign / "gold").get().version == "v0004"


def test_a_release_of_other_settings_that_has_the_content_of_a_retracted_one_is_named(
    campaign, capsys
):
    assert main(["build", str(campaign), "--set", "about.title=Again", "-q"]) == 0
    capsys.readouterr()
    assert main(["retract", str(campaign), "v0002", "--because", "a flood", "--by", "ann"]) == 0
    assert "v0003 has its content: annot retract or annot rollback that too\n" in (
        capsys.readouterr().out
    )


@pytest.mark.slow
def test_prune_leaves_a_release_to_go_back_to_after_a_rollback(campaign):
    """The newest and the release whose content it has are one: nothing was left but these."""
    loaded = load_campaign(campaign)
    roll_back(loaded, "v0001", because="wrong", by="ann", progress=silent)
    roll_back(loaded, "v0002", because="right", by="ann", progress=silent)
    retract(loaded, "v0003", because="wrong", by="ann", progress=silent)
    stay = [row["version"] for row in prune(loaded, 2, progress=silent)["kept"]]
    assert stay == ["v0001", "v0002", "v0003", "v0004"]
    assert roll_back(loaded, "v0001", because="x", by="ann", progress=silent).version == "v0005"
    stay = [row["version"] for row in prune(loaded, 1, progress=silent)["kept"]]
    assert stay == ["v0005"]
    for version, why in (("v0002", "pruned or forgotten"), ("v0009", "never published")):
        with pytest.raises(StoreError, match=f"no release {version}\n  V: {why}"):
            back(campaign, version)


def test_retracted_releases_do_not_count_as_releases_that_prune_keeps(campaign):
    back(campaign)
    back(campaign, "v0002")
    loaded = load_campaign(campaign)
    for version in ("v0001", "v0003"):
        retract(loaded, version, because="wrong", by="ann", progress=silent)
    document = prune(loaded, 2, progress=silent)
    assert [row["version"] for row in document["kept"]] == ["v0002", "v0003", "v0004"]
    assert Releases(campaign / "gold").versions() == ["v0002", "v0003", "v0004"]
    assert prune(loaded, 3, dry_run=True, progress=silent)["removed"] == []


def test_a_second_person_who_goes_back_hears_that_the_first_has(campaign):
    back(campaign)
    with pytest.raises(ConfigError, match="v0003 is the newest release, with the content of v0001"):
        back(campaign)
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002", "v0003"]


def test_a_damaged_release_is_not_restored(campaign):
    (campaign / "gold" / "v0001" / "labels.parquet").write_bytes(b"garbage")
    with pytest.raises(StoreError, match="not the bytes that were published"):
        back(campaign)
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002"]


def test_readers_hear_that_a_release_is_retracted(campaign, capsys):
    retract(load_campaign(campaign), "v0001", because="a flood", by="ann", progress=silent)
    with pytest.warns(UserWarning, match=r"v0001 is not to be used: a flood \(ann"):
        load_gold(campaign / "gold", "labels", "v0001")
    assert main(["releases", str(campaign)]) == 0
    assert "a flood (ann)" in capsys.readouterr().out
    with duckdb.connect(str(campaign / "store" / "catalog.duckdb"), read_only=True) as catalog:
        rows = catalog.execute("SELECT DISTINCT schema_name FROM duckdb_views()").fetchall()
    assert ("v0002",) in rows
    assert ("v0001",) not in rows
    rebuilt(campaign)  # the mark stays with later releases, and in the log
    assert "v0001" in Releases(campaign / "gold", store=campaign / "store").retracted()


def test_bisect_names_release_export_and_cause(campaign, capsys):
    [change] = bisect(load_campaign(campaign), "i9")
    assert (change["since"], change["before"], change["value_before"]) == ("v0002", "v0001", None)
    assert change["causes"] == ["new judgments"]
    assert change["exports"] == ["exports/b.csv"]
    [judgment] = change["judgments"]
    assert (judgment["new_file"], judgment["new_row"], judgment["new_line"]) == (
        "exports/b.csv", 2, 3,
    )  # fmt: skip
    [same] = bisect(load_campaign(campaign), "i1")
    assert (same["since"], same["before"]) == ("v0001", None)
    assert main(["bisect", str(campaign), "i9"]) == 0
    out = capsys.readouterr().out
    assert "since v0002" in out
    assert "exports/b.csv row 2 (line 3)" in out


WRONG = "item,judge,label\n" + "".join(f"i1,x{n},a\n" for n in range(9))


@pytest.mark.slow
def test_bisect_blames_the_rollback_not_the_export_that_it_dropped(campaign, capsys):
    """The label of i1 is b, a by the export of the third release, and b again."""
    (campaign / "exports" / "c.csv").write_text(WRONG)
    rebuilt(campaign)
    assert bisect(load_campaign(campaign), "i1")[0]["exports"] == ["exports/c.csv"]
    back(campaign, "v0002")
    [change] = bisect(load_campaign(campaign), "i1")
    assert (change["since"], change["before"]) == ("v0004", "v0003")
    assert (change["value_before"], change["value"]) == ("a", "b")
    assert (change["causes"], change["exports"]) == (["rollback to v0002"], [])
    assert change["decision"]["restored"] == "v0002"
    assert main(["bisect", str(campaign), "i1"]) == 0
    shown = capsys.readouterr().out
    assert "by: rollback to v0002\n" in shown
    assert "decision: restored v0002, by ann: b.csv is wrong" in shown
    assert "c.csv" not in shown


def test_bisect_of_an_item_that_a_rollback_took_away(campaign, capsys):
    back(campaign)
    [change] = bisect(load_campaign(campaign), "i9")
    assert (change["value_before"], change["value"]) == ("a", None)
    assert (change["since"], change["causes"]) == ("v0003", ["rollback to v0001"])
    assert main(["bisect", str(campaign), "i9"]) == 0
    assert "label of i9 is not there" in capsys.readouterr().out


@pytest.mark.slow
def test_bisect_of_a_metric_names_the_cause_of_the_largest_step(campaign, capsys):
    loaded = load_campaign(campaign)
    assert bisect_metric(loaded, "used")["causes"] == ["exports added"]
    (campaign / "exports" / "c.csv").write_text(EXPORT.replace(",w", ",x"))
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"seed": 5}))
    rebuilt(campaign)
    third = bisect_metric(loaded, "used")
    assert (third["since"], third["causes"]) == ("v0003", ["exports added", "settings"])
    assert third["settings"] == [["seed", "17", "5"]]
    back(campaign)
    step = bisect_metric(loaded, "used")
    assert (step["since"], step["before"]) == ("v0004", "v0003")
    assert (step["causes"], step["exports"]) == (["rollback to v0001"], [])
    assert main(["bisect", str(campaign), "used"]) == 0
    assert "by: rollback to v0001\n  decision: restored v0001, by ann" in capsys.readouterr().out


def test_bisect_of_a_gate_names_the_release_of_the_largest_step(campaign, capsys):
    """The second release has four items of six with one judgment, the first none."""
    loaded = load_campaign(campaign)
    by_release = {
        version: next(
            check["value"] for check in manifest_of(campaign, version)["checks"]
            if check["name"] == "single_judgment_items"
        )
        for version in ("v0001", "v0002")
    }  # fmt: skip
    assert by_release["v0001"] < by_release["v0002"]
    moved = bisect_metric(loaded, "single_judgment_items")
    assert moved["metric"] == "gates.single_judgment_items"
    assert {row["version"]: row["value"] for row in moved["values"]} == by_release
    assert (moved["before"], moved["since"]) == ("v0001", "v0002")
    assert (moved["value_before"], moved["value"]) == tuple(by_release.values())
    assert moved["exports"] == ["exports/b.csv"]
    assert moved["settings"] == []
    assert bisect_metric(loaded, "accounting")["before"] is None
    assert main(["bisect", str(campaign), "single_judgment_items"]) == 0
    assert "the largest step: v0001" in capsys.readouterr().out


def test_bisect_of_a_metric_reads_manifests_and_tables_of_statistics(campaign, capsys):
    loaded = load_campaign(campaign)
    facts = [manifest_of(campaign, version)["facts"] for version in ("v0001", "v0002")]

    def by_release(name: str, task: str | None = None) -> list[float]:
        return [row["value"] for row in bisect_metric(loaded, name, task)["values"]]

    assert by_release("fates.used") == [one["fates"]["used"] for one in facts]
    assert by_release("used") == by_release("fates.used")
    shares = [one["certain_share"]["small"] for one in facts]
    assert by_release("certain_share") == by_release("certain_share", "small") == shares
    agreement = [
        row["value"]
        for version in ("v0001", "v0002")
        for row in load_gold(campaign / "gold", "agreement", version).to_pylist()
        if row["statistic"] == "percent_agreement"
    ]
    assert by_release("percent_agreement") == agreement
    assert by_release("held_out_log_likelihood", "small")
    assert main(["bisect", str(campaign), "percent_agreement", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["metric"], document["task"]) == ("agreement.percent_agreement", None)


@pytest.mark.slow
def test_bisect_of_metrics_is_the_mean_of_all_tasks(tmp_path):
    campaign = write_campaign(tmp_path / "two", rows=None, sources=[{
        "path": "exports/*.csv", "format": "csv",
        "fields": {"task": "task", "item": "item", "judge": "judge", "label": "label"},
    }])  # fmt: skip
    rows = [f"{t},i{i},w{j},{'ab'[(i + j * (t == 'y')) % 2]}\n" for t in "xy" for i in range(9)
            for j in range(3)]  # fmt: skip
    (campaign / "exports" / "a.csv").write_text("task,item,judge,label\n" + "".join(rows))
    rebuilt(campaign)
    loaded = load_campaign(campaign)
    of_task = {t: bisect_metric(loaded, "percent_agreement", t)["value"] for t in "xy"}
    assert of_task["x"] == 1 > of_task["y"]
    mean = bisect_metric(loaded, "percent_agreement")["value"]
    assert mean == pytest.approx(sum(of_task.values()) / 2)
    with pytest.raises(StoreError, match="nothing to look for"):
        bisect_metric(loaded, "percent_agreement", "z")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("single_judgement_items", "did you mean single_judgment_items"),
        ("agreement.alpha_nomial", "did you mean agreement.alpha_nominal"),
        ("i99", "did you mean i9"),
        ("percnt", "did you mean agreement.percent_agreement"),
        ("nothing like it", "an item, a gate, or a metric: agreement.alpha_nominal, "),
        ("untested", "several metrics end with untested"),
    ],
)
def test_bisect_of_an_unknown_name_says_what_is_like_it(campaign, capsys, name, words):
    assert main(["bisect", str(campaign), name]) == 1
    assert words in capsys.readouterr().err


def test_bisect_of_an_item_without_a_label_says_so(campaign, capsys):
    (campaign / "items.csv").write_text("item\nnever judged\n")
    items = [{"path": "items.csv", "format": "csv", "fields": {"item": "item"}}]
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"items": items}))
    rebuilt(campaign)
    capsys.readouterr()
    assert main(["bisect", str(campaign), "never judged"]) != 0
    error = capsys.readouterr().err
    assert "an item has no label or score" in error
    assert f"annot trace {load_campaign(campaign).typed} 'never judged'" in error
    assert "did you mean" not in error


@pytest.mark.slow
def test_bisect_looks_past_releases_that_had_the_same_value(campaign):
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nk,w1,b\n")
    rebuilt(campaign)
    [change] = bisect(load_campaign(campaign), "i9")
    assert (change["since"], change["before"]) == ("v0002", "v0001")


@pytest.mark.slow
def test_a_diff_without_versions_compares_the_newest_with_its_parent(campaign, capsys):
    assert main(["diff", str(campaign), "--no-causes"]) == 0
    assert "small: v0001 to v0002" in capsys.readouterr().out
    back(campaign)
    assert main(["diff", str(campaign), "v0001", "--no-causes"]) == 0
    assert "small: v0001 to v0003" in capsys.readouterr().out
