"""What a gate stops is a candidate: people compare it, and publish it with a name and a reason."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from annot_pipeline import load_gold
from annot_pipeline.cli import main
from annot_pipeline.commands import decisions
from annot_pipeline.commands.build import build_release
from annot_pipeline.commands.decisions import publish_candidate, roll_back
from annot_pipeline.commands.prune import prune
from annot_pipeline.commands.release_list import list_releases
from annot_pipeline.commands.status import status
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError, GateError, Problem, StoreError
from annot_pipeline.storage.candidates import CANDIDATES, MOST, Candidates
from annot_pipeline.storage.exclusions import ALL_NOTE
from annot_pipeline.storage.files import atomic_directory, file_sha256
from annot_pipeline.storage.releases import Releases
from annot_pipeline.version import numeric_packages
from tests.audit.two_releases import EXPORT, MORE, SETTINGS, build


def silent(_: str) -> None:
    """Report nothing."""


@pytest.fixture
def campaign(copy_campaign, tmp_path) -> Path:
    """A release, and an export by a new judge that a gate stops."""
    folder = copy_campaign(_first_release, tmp_path / "campaign")
    _stop_by_a_gate(folder)
    return folder


def _stop_by_a_gate(folder: Path) -> None:
    settings = SETTINGS | {"gates": {"unseen_judges": {"error": 0.0, "minimum": 1}}}
    (folder / "campaign.yaml").write_text(json.dumps(settings))
    (folder / "exports" / "b.csv").write_text(MORE)


def _first_release(folder: Path) -> None:
    build(folder, {"a.csv": EXPORT})


@pytest.fixture
def candidate_campaign(copy_campaign, tmp_path) -> Path:
    """The campaign, whose build was stopped."""
    return copy_campaign(_stopped_build, tmp_path / "campaign", start=_first_release)


def _stopped_build(folder: Path) -> None:
    _stop_by_a_gate(folder)
    stopped(folder)


def stopped(campaign: Path, **options: Any) -> GateError:
    with pytest.raises(GateError) as error:
        build_release(load_campaign(campaign), silent, **options)
    return error.value


def accept(campaign: Path, *gates: str, run: str = "latest", because: str = "seen") -> Any:
    return publish_candidate(
        load_campaign(campaign), run, gates, because=because, by="ann", progress=silent
    )[0]


def test_a_stopped_build_keeps_its_tables_and_gold_stays(campaign, capsys):
    error = stopped(campaign)
    candidate = Candidates(campaign / "store").get()
    run = candidate.manifest["candidate"]["run"]
    advice = error.problems[-1].do
    assert f"annot diff {campaign} latest candidate" in advice
    assert f"annot publish {campaign} --candidate {run[:8]} --accept unseen_judges" in advice
    assert candidate.table("labels").num_rows == 6
    assert Releases(campaign / "gold").versions() == ["v0001"]
    assert load_gold(campaign / "gold", "labels").num_rows == 5
    with pytest.raises(StoreError, match="no release candidate"):
        load_gold(campaign / "gold", "labels", "candidate")
    assert main(["diff", str(campaign), "latest", "candidate", "--no-causes"]) == 0
    assert "v0001 to candidate" in capsys.readouterr().out
    assert main(["trace", str(campaign), "i9", "--release", "candidate"]) == 0
    assert main(["status", str(campaign)]) == 0
    assert f"--candidate {run[:8]}" in capsys.readouterr().out
    report = (candidate.folder / "report.html").read_text()
    assert "A candidate: nothing was published" in report
    assert "Published <time" not in report
    assert f"annot publish campaign.yaml --candidate {run[:8]} --accept unseen_judges" in report
    assert "annot items campaign.yaml --release candidate    # items to look at" in report
    assert "annot verify campaign.yaml" not in report
    assert "A candidate, not published; made: 20" in (candidate.folder / "README.md").read_text()


@pytest.mark.slow
def test_a_stopped_build_says_how_to_leave_out_the_export_that_is_new(campaign, capsys):
    error = str(stopped(campaign))
    assert "exports/b.csv: new or changed since v0001" in error
    assert "exports/a.csv" not in error
    [line] = set(re.findall(r"exclude: (\[.*\])", error))
    assert main(["status", str(campaign)]) == 0
    shown, _, step = capsys.readouterr().out.partition("\nnext: ")
    assert f"exclude: {line}" in shown  # the outcome of the last build
    assert f"or build without exports/b.csv: exclude: {line} in its source" in step
    settings = json.loads((campaign / "campaign.yaml").read_text())
    settings["sources"][0]["exclude"] = yaml.safe_load(line.replace("...", "a flood"))
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    release = build_release(load_campaign(campaign), silent)[0].release
    assert [source["name"] for source in release.manifest["sources"]] == ["exports/a.csv"]


@pytest.mark.slow
def test_of_a_source_that_excludes_exports_the_element_of_the_list_is_named(campaign):
    settings = json.loads((campaign / "campaign.yaml").read_text())
    settings["sources"][0]["exclude"] = [{"digest": "0123456789ab", "because": "a flood"}]
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    (campaign / "exports" / "c.csv").write_text((campaign / "exports" / "b.csv").read_text())
    error = str(stopped(campaign))
    assert "exclude: [" not in error
    lines = re.findall(r"add to its source: (\{digest: .*)", error)
    assert len(lines) == 2
    settings["sources"][0]["exclude"] += [
        yaml.safe_load(line.replace("...", "a flood")) for line in lines
    ]
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    names = [
        s["name"]
        for s in build_release(load_campaign(campaign), silent)[0].release.manifest["sources"]
    ]
    assert names == ["exports/a.csv"]


@pytest.mark.slow
def test_only_one_of_several_exports_of_a_source_gets_the_whole_line(campaign):
    (campaign / "exports" / "c.csv").write_text((campaign / "exports" / "b.csv").read_text())
    error = str(stopped(campaign))
    assert error.count("add to its source: exclude: [{digest") == 1
    assert error.count("add to its source: {digest") == 1


@pytest.mark.slow
def test_an_export_that_a_release_has_is_named_where_a_gate_names_its_judges(tmp_path):
    """A release of other settings, which let the export pass, has read it."""
    rows = [(i, j, "ab"[(i + (i + 7 * j) % 9 // 8) % 2]) for i in range(80) for j in range(4)]
    good = "item,judge,label\n" + "".join(f"i{i},w{j},{label}\n" for i, j, label in rows)
    flood = "item,judge,label\n" + "".join(f"i{i},w9,a\n" for i in range(80))
    build(tmp_path, {"a.csv": good, "b.csv": flood})
    settings = SETTINGS | {"gates": {"careless_judges": {"error": 0.0}}}
    (tmp_path / "campaign.yaml").write_text(json.dumps(settings))
    error = str(stopped(tmp_path))
    assert "exports/b.csv: most rows are by judges whom a failed gate names" in error
    assert error.count("add to its source: exclude: [{digest") == 1
    document = status(load_campaign(tmp_path))
    assert list(document["candidate"]["exclude"]) == ["exports/b.csv"]
    # who copies all lines of a night that is stopped must not exclude the nights before
    (tmp_path / "exports" / "c.csv").write_text(MORE)
    error = str(stopped(tmp_path))
    assert re.findall(r"exports/.\.csv: (?:new|most) .*", error) == [
        "exports/c.csv: new or changed since v0001"
    ]
    assert ALL_NOTE not in error


@pytest.mark.slow
def test_lines_that_exclude_every_export_say_so(campaign):
    (campaign / "exports" / "a.csv").write_text(EXPORT.replace("a\n", "b\n", 1))
    assert str(stopped(campaign)).count(ALL_NOTE) == 2
    lines = status(load_campaign(campaign))["candidate"]["exclude"].values()
    assert [line.rpartition("  ")[2] for line in lines] == [ALL_NOTE] * 2
    settings = json.loads((campaign / "campaign.yaml").read_text())
    settings["sources"][0]["files"] = "latest"
    settings["gates"]["vanished_judgments"] = {"error": None}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    [line] = re.findall("to build without it, .*", str(stopped(campaign)))
    assert ALL_NOTE not in line  # the export before is read then


@pytest.mark.slow
def test_the_first_build_that_is_stopped_names_no_export_to_leave_out(tmp_path):
    (tmp_path / "exports").mkdir()
    settings = SETTINGS | {"gates": {"rejected_share": {"error": 0.0}}}
    (tmp_path / "campaign.yaml").write_text(json.dumps(settings))
    (tmp_path / "exports" / "a.csv").write_text(f"{EXPORT}i1,,a\n")
    assert "exclude" not in str(stopped(tmp_path))


def test_a_gate_that_was_accepted_is_no_error_of_the_same_content(campaign):
    settings = SETTINGS | {"gates": {"rejected_share": {"error": 0.0}}}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    (campaign / "exports" / "b.csv").write_text(f"{MORE}i1,,a\n")
    stopped(campaign)
    accept(campaign, "rejected_share", because="one row")
    messages: list[str] = []
    build_release(load_campaign(campaign), messages.append)
    assert not [message for message in messages if message.startswith("error:")]
    [message] = [message for message in messages if "rejected_share: " in message]
    assert message.startswith("accepted for v0002, with its exports alone: ")
    assert "(allowed: 0.00%); accepted by ann: one row" in message


@pytest.mark.slow
def test_a_release_names_the_release_that_it_was_compared_with(candidate_campaign):
    campaign = candidate_campaign
    folder = accept(campaign, "unseen_judges").release.folder
    checks = json.loads((folder / "manifest.json").read_text())["checks"]
    [question] = [c["question"] for c in checks if c["name"] == "unseen_judges"]
    assert "who are not in v0001" in question
    for name in ("manifest.json", "report.html", "README.md"):
        assert "the newest release" not in (folder / name).read_text()


def test_a_diff_says_how_many_labels_are_others_new_and_gone(candidate_campaign, capsys):
    campaign = candidate_campaign
    assert main(["diff", str(campaign), "latest", "candidate", "--no-causes"]) == 0
    assert "0 labels changed, 1 added\n" in capsys.readouterr().out
    assert main(["diff", str(campaign), "candidate", "latest", "--no-causes"]) == 0
    shown = capsys.readouterr().out
    assert "0 labels changed, 0 added\n1 item that had a label has none now\n" in shown
    assert main(["diff", str(campaign), "latest", "candidate", "--no-causes", "--json"]) == 0
    labels = json.loads(capsys.readouterr().out)["labels"]
    assert labels == {"changed": 0, "added": 1, "removed": 0}


def test_who_accepts_a_gate_and_why_stands_in_the_release(candidate_campaign, capsys):
    campaign = candidate_campaign
    candidate = Candidates(campaign / "store").get()
    files = {n: d for n, d in candidate.manifest["files"].items() if n.endswith(".parquet")}
    publication = accept(campaign, "unseen_judges", because="w7 is an expert")
    manifest = publication.release.manifest
    assert publication.published
    assert publication.release.version == "v0002"
    decision = manifest["decision"]
    assert (decision["by"], decision["because"]) == ("ann", "w7 is an expert")
    assert decision["accepted"] == ["unseen_judges"]
    [check] = [c for c in manifest["checks"] if c["name"] == "unseen_judges"]
    assert check["level"] == "warn"
    assert "accepted by ann: w7 is an expert" in check["detail"]
    assert {n: manifest["files"][n] for n in files} == files  # the very tables that were looked at
    assert "w7 is an expert" in (publication.release.folder / "report.html").read_text()
    assert list_releases(load_campaign(campaign))["releases"][1]["decision"] == decision
    assert main(["releases", str(campaign)]) == 0
    assert "accepted unseen_judges, by ann: w7 is an expert" in capsys.readouterr().out
    assert Candidates(campaign / "store").runs() == []  # nothing is left to decide
    assert main(["verify", str(campaign), "v0002", "--rebuild"]) == 0


@pytest.mark.slow
def test_what_was_accepted_stops_the_same_content_no_more(campaign, capsys):
    settings = SETTINGS | {"gates": {"rejected_share": {"error": 0.0}}}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    (campaign / "exports" / "b.csv").write_text(f"{MORE}i1,,a\n")
    stopped(campaign)
    accept(campaign, "rejected_share")
    assert status(load_campaign(campaign))["failing"] == []
    publication, _ = build_release(load_campaign(campaign), silent)
    assert (publication.release.version, publication.published) == ("v0002", False)
    assert "error" not in {check["level"] for check in publication.checks}
    assert Candidates(campaign / "store").runs() == []
    roll_back(load_campaign(campaign), "v0001", because="x", by="ann", progress=silent)
    roll_back(load_campaign(campaign), "v0002", because="y", by="ann", progress=silent)
    assert main(["releases", str(campaign)]) == 0
    assert "restored v0002, by ann: y" in capsys.readouterr().out
    assert build_release(load_campaign(campaign), silent)[0].release.version == "v0004"
    (campaign / "exports" / "c.csv").write_text("item,judge,label\ni0,w8,a\n")
    assert "rejected_share" in str(stopped(campaign))  # another release, another decision
    [step] = status(load_campaign(campaign))["candidate"]["do"][1:]
    assert step.endswith('--accept rejected_share --because "..."')


@pytest.mark.slow
def test_only_what_failed_can_be_accepted_and_all_of_it_must_be(campaign):
    stopped(campaign)
    with pytest.raises(ConfigError, match="label_flips did not fail"):
        accept(campaign, "unseen_judges", "label_flips")
    with pytest.raises(ConfigError, match="a decision needs a reason"):
        accept(campaign, "unseen_judges", because="...")
    with pytest.raises(GateError, match="unseen_judges"):
        accept(campaign, because="")
    for run in ("0x", "", "*", "../.."):  # as of a variable of a shell that is not set
        with pytest.raises(StoreError, match="no candidate of run"):
            accept(campaign, "unseen_judges", run=run)
    assert Releases(campaign / "gold").versions() == ["v0001"]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["contract_labels", "accounting", "published_names"])
def test_nobody_can_accept_that_the_release_itself_is_wrong(candidate_campaign, name):
    campaign = candidate_campaign
    path = Candidates(campaign / "store").get().folder / "manifest.json"
    document = json.loads(path.read_bytes())
    for check in document["checks"]:
        check["level"] = "error" if check["name"] == name else check["level"]
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=f"{name} cannot be accepted"):
        accept(campaign, "unseen_judges", name)


@pytest.mark.slow
def test_a_candidate_of_other_settings_is_published_by_the_command_that_is_named(campaign):
    stopped(campaign)
    settings = json.loads((campaign / "campaign.yaml").read_text())
    (campaign / "campaign.yaml").write_text(json.dumps(settings | {"seed": 5}))
    with pytest.raises(StoreError, match="is not what a build would make now") as error:
        accept(campaign, "unseen_judges")
    [problem, last] = error.value.problems
    assert (problem.where, problem.what) == ("settings", "seed was 17, now 5")
    assert last.do.startswith(f"annot build {campaign} --candidate")
    assert main(shlex.split(problem.do.replace("...", "looked at"))[1:]) == 0
    assert Releases(campaign / "gold").get().manifest["settings"]["seed"] == 17


def test_the_list_names_the_settings_that_a_candidate_takes(candidate_campaign):
    """Its command was refused, as the candidate is not what a build of campaign.yaml would make."""
    [row] = list_releases(load_campaign(candidate_campaign))["candidates"]
    assert "--set" not in row["do"]
    [row] = list_releases(load_campaign(candidate_campaign, sets=["seed=5"]))["candidates"]
    assert "annot publish" in row["do"]
    assert row["do"].count("--set seed=17") == row["do"].count("annot ")


def test_a_command_that_is_named_has_one_value_a_setting_and_can_work(
    candidate_campaign, monkeypatch
):
    """No setting makes a candidate that follows an older release one of now."""
    loaded = load_campaign(candidate_campaign, sets=["seed=5"])

    def refused() -> list[Problem]:
        with pytest.raises(StoreError) as error:
            publish_candidate(
                loaded, "latest", ["unseen_judges"], because="seen", by="ann", progress=silent
            )
        return list(error.value.problems)

    words = shlex.split(refused()[0].do)
    assert [word for word in words if word.startswith("seed=")] == ["seed=17"]

    def overtaken(*_: object) -> None:
        raise StoreError("overtaken")

    monkeypatch.setattr(decisions, "refuse_overtaken", overtaken)
    settings, base, last = refused()
    assert (settings.where, settings.do) == ("settings", "")
    assert (base.where, base.do) == ("release before", "")
    assert last.do.startswith("annot build ")
    assert " --candidate makes one of what is there now" in last.do


@pytest.mark.slow
def test_settings_that_no_option_gives_back_are_to_be_set_by_hand(campaign):
    stopped(campaign)
    settings = json.loads((campaign / "campaign.yaml").read_text())
    settings["sources"][0]["where"] = [{"column": "item", "in": ["i1", "i2"]}]
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    with pytest.raises(StoreError) as error:
        accept(campaign, "unseen_judges")
    assert error.value.problems[0].do == "set them back in campaign.yaml"


def test_a_candidate_of_exports_that_are_gone_or_changed_is_refused(candidate_campaign):
    campaign = candidate_campaign
    (campaign / "exports" / "b.csv").rename(campaign / "b.csv")
    with pytest.raises(StoreError) as error:
        accept(campaign, "unseen_judges")
    assert [p.what for p in error.value.problems[:-1]] == ["gone: exports/b.csv"]
    (campaign / "exports" / "b.csv").write_text(MORE + "i0,w9,a\n")
    with pytest.raises(StoreError) as error:
        accept(campaign, "unseen_judges")
    assert [p.what for p in error.value.problems[:-1]] == ["changed since: exports/b.csv"]
    (campaign / "b.csv").rename(campaign / "exports" / "b.csv")
    (campaign / "exports" / "c.csv").write_text("item,judge,label\ni0,w8,a\n")  # arrives later
    assert accept(campaign, "unseen_judges").published


@pytest.mark.slow
def test_a_candidate_of_other_code_names_the_versions(campaign, monkeypatch):
    stopped(campaign)
    packages = numeric_packages() | {"numpy": "99.0"}
    for module in ("stages.build", "audit.verify.rebuild"):
        monkeypatch.setattr(f"annot_pipeline.{module}.numeric_packages", lambda: packages)
    with pytest.raises(StoreError) as error:
        accept(campaign, "unseen_judges")
    [problem, _] = error.value.problems
    assert problem.where == "code"
    assert problem.what.endswith("now 99.0")


@pytest.mark.slow
def test_a_candidate_that_another_release_overtook_is_refused(campaign):
    stopped(campaign, keep=True)
    (campaign / "exports" / "b.csv").rename(campaign / "b.csv")
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nk,w0,b\n")
    assert build_release(load_campaign(campaign), silent)[0].release.version == "v0002"
    (campaign / "b.csv").rename(campaign / "exports" / "b.csv")
    with pytest.raises(StoreError) as error:
        accept(campaign, "unseen_judges")
    assert [problem.what for problem in error.value.problems[:-1]] == [
        "it follows v0001; the newest is v0002"
    ]
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002"]


@pytest.mark.slow
def test_a_candidate_can_be_asked_for_and_is_kept_on_request(campaign):
    loaded = load_campaign(campaign, sets=["gates.unseen_judges.error=1"])
    publication, built = build_release(loaded, silent, candidate=True, keep=True)
    assert publication.is_candidate
    assert not publication.published
    assert Releases(campaign / "gold").versions() == ["v0001"]
    released, _ = publish_candidate(loaded, built.run[:6], (), because="", by=None, progress=silent)
    assert released.release.version == "v0002"
    assert released.release.manifest.get("decision") is None
    assert Candidates(campaign / "store").runs() == [built.run]


def test_candidates_that_stay_are_listed_with_commands_that_work(campaign, capsys):
    stopped(campaign, keep=True)
    [run] = [run[:8] for run in Candidates(campaign / "store").runs()]
    assert status(load_campaign(campaign))["other_candidates"] == []  # status shows it
    loaded = load_campaign(campaign, sets=["gates.unseen_judges.error=1"])
    build_release(loaded, silent)
    assert status(load_campaign(campaign))["other_candidates"] == [run]
    [row] = list_releases(loaded)["candidates"]
    assert (row["run"], row["kept"], row["parent"]) == (run, True, "v0001")
    assert row["bytes"] > 10_000
    assert row["do"] == f"annot diff {loaded.typed} latest {run}"  # an older base is not published
    build_release(loaded, silent, candidate=True)
    other = list_releases(loaded)["candidates"][-1]
    assert (other["kept"], other["parent"]) == (False, "v0002")
    assert other["do"].endswith(f"; annot publish {loaded.typed} --candidate {other['run']}")
    for option in ((), ("--json",)):
        assert main(["status", str(campaign), *option]) == 0
        assert main(["releases", str(campaign), *option]) == 0
        said = capsys.readouterr().out
        assert said.count(run) >= 2
        assert said.count(other["run"]) >= 2
    command = row["do"].split()[1:]
    assert main(command) == 0
    [manifest] = (campaign / "store" / "candidates").glob(f"{run}*/*/manifest.json")
    manifest.write_text("{}")
    [row] = [row for row in list_releases(loaded)["candidates"] if row["run"] == run]
    assert row["do"].endswith("delete its folder")
    assert run in status(load_campaign(campaign))["other_candidates"]


@pytest.mark.slow
def test_status_names_no_command_for_a_candidate_that_is_gone(campaign, capsys):
    publish = "annot publish"
    stopped(campaign)
    assert main(["status", str(campaign)]) == 0
    assert publish in capsys.readouterr().out
    Candidates(campaign / "store").clear()  # as a rollback does
    assert main(["status", str(campaign)]) == 0
    said = capsys.readouterr().out
    assert "unseen_judges" in said
    assert publish not in said


@pytest.mark.slow
def test_commands_say_paths_from_where_the_user_stands(campaign, capsys, monkeypatch):
    monkeypatch.chdir(campaign.parent)
    name = campaign.name
    said = []
    for command in (
        ("build", "--candidate", "--set", "gates.unseen_judges.error=1"),
        ("releases",),
        ("build", "--set", "gates.unseen_judges.error=1"),
    ):
        assert main([command[0], name, *command[1:]]) == 0
        said.append(capsys.readouterr().out)
        assert str(campaign.parent) not in said[-1]
    assert f"nothing published; candidate: {name}/store/candidates/" in said[0]
    assert f"annot diff {name} latest " in said[1]
    assert f"published v0002: {name}/gold/v0002\n" in said[2]


@pytest.mark.slow
def test_a_candidate_is_compared_and_traced_by_its_run(campaign, capsys):
    stopped(campaign, keep=True)
    [run] = Candidates(campaign / "store").runs()
    (campaign / "exports" / "b.csv").write_text(MORE + "i0,w9,a\n")
    stopped(campaign)
    assert main(["diff", str(campaign), "latest", run[:8], "--no-causes"]) == 0
    assert f"v0001 to {run[:8]}" in capsys.readouterr().out
    assert main(["diff", str(campaign), run, "candidate", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["from"], document["to"]) == (run, "candidate")
    assert [change["name"] for change in document["inputs"]["exports"]["changed"]] == [
        "exports/b.csv"
    ]
    assert main(["trace", str(campaign), "i9", "--release", run[:8], "--json"]) == 0
    [document] = json.loads(capsys.readouterr().out)["traces"]
    assert len(document["judgments"]) == 1
    assert main(["items", str(campaign), "--release", run[:8]]) == 0
    assert main(["diff", str(campaign), "latest", "0123nothing"]) == 1
    assert "no release 0123nothing" in capsys.readouterr().err


@pytest.mark.slow
def test_the_same_build_again_makes_no_second_candidate_and_old_ones_go(campaign):
    stopped(campaign)
    [run] = Candidates(campaign / "store").runs()
    stopped(campaign)
    assert Candidates(campaign / "store").runs() == [run]
    for n in range(MOST + 1):
        (campaign / "exports" / "b.csv").write_text(f"{MORE}j{n},w7,a\n")
        stopped(campaign)
    runs = Candidates(campaign / "store").runs()
    assert len(runs) == MOST
    assert run not in runs


@pytest.mark.slow
def test_prune_keeps_what_a_candidate_was_made_of(campaign):
    stopped(campaign)
    digest = file_sha256(campaign / "exports" / "b.csv")
    (campaign / "exports" / "b.csv").write_text(f"{MORE}j,w7,a\n")
    stopped(campaign)
    prune(load_campaign(campaign), 1, progress=silent)
    assert (campaign / "store" / "archive" / digest[:2] / digest).exists()


@pytest.mark.slow
def test_a_candidate_that_cannot_be_written_does_not_hide_the_gate(campaign, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Candidates, "add", full)
    error = stopped(campaign)
    assert [problem.where for problem in error.problems] == [""]
    assert not (campaign / "store" / CANDIDATES).exists()


def test_a_publication_removes_no_candidate_that_another_build_writes(tmp_path):
    candidates = Candidates(tmp_path)
    written = candidates.folder / "one" / "v0002"
    with atomic_directory(written) as folder:
        candidates.clear()
        assert folder.is_dir()
    killed = candidates.folder / "two" / ".tmp-v0002-1-0"
    killed.mkdir(parents=True)
    assert candidates.clean() == ["one"]
    assert not killed.parent.exists()
    candidates.clear()
    assert list(candidates.folder.iterdir()) == []
