"""A person who is forgotten is in no file of store and gold, nor in what later exports bring."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from annot_pipeline import load_gold
from annot_pipeline.audit.bisect import bisect_metric
from annot_pipeline.cli import main
from annot_pipeline.cli.releases import version_ranges
from annot_pipeline.commands.build import build_release
from annot_pipeline.commands.decisions import publish_candidate, retract, roll_back
from annot_pipeline.commands.forget import OF_ARRIVALS, forget
from annot_pipeline.commands.prune import prune, set_pin
from annot_pipeline.commands.release_list import list_releases
from annot_pipeline.commands.status import status
from annot_pipeline.commands.validate import validate
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError, GateError, InputError, StoreError
from annot_pipeline.gates import GATES
from annot_pipeline.stages.ingest.forgotten_rows import WRITERS
from annot_pipeline.storage.files import file_sha256
from annot_pipeline.storage.keys import judge_key, pseudonym
from annot_pipeline.storage.releases import Release, Releases
from tests.audit.two_releases import SETTINGS, build
from tests.conftest import stage_file, write_small_campaign
from tests.decisions.named import named_in

PERSON = "dora.green"
OTHER_KEY = "another key for tests, long enough to be one"
ROWS = "item,judge,label\n" + "".join(
    f"i{i},{judge},{'ab'[(i + j) % 2]}\n"
    for i in range(6)
    for j, judge in enumerate(("w0", PERSON, "w2"))
)
ALONE = f"item,judge,label\nk1,{PERSON},a\nk2,w0,b\n"


def silent(_: str) -> None:
    """Report nothing."""


def without(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if PERSON not in line)


def _two_releases(folder: Path) -> None:
    build(folder, {"a.csv": ROWS})
    build(folder, {"a.csv": ROWS, "b.csv": ALONE})


@pytest.fixture
def campaign(copy_campaign, tmp_path) -> Path:
    return copy_campaign(_two_releases, tmp_path / "campaign")


def forgotten(campaign: Path, judge: str = PERSON, **options: Any) -> dict[str, Any]:
    chosen = {"because": "asked for it", "by": "ann", "pinned": False, "dry_run": False} | options
    return forget(load_campaign(campaign), judge, **{"progress": silent} | chosen)


def _without_the_person(folder: Path) -> None:
    assert named_in(folder, PERSON) != []
    document = forgotten(folder)
    assert document["removed"] == ["v0001", "v0002"]
    assert document["release"] == "v0003"


@pytest.fixture
def forgetful(copy_campaign, tmp_path) -> Path:
    """The campaign after the person was forgotten."""
    return copy_campaign(_without_the_person, tmp_path / "campaign", start=_two_releases)


def test_afterwards_nothing_names_the_person_and_all_is_as_without(forgetful, tmp_path):
    campaign = forgetful
    assert named_in(campaign, PERSON) == []
    assert Releases(campaign / "gold").versions() == ["v0003"]
    with pytest.raises(StoreError, match="no release v0001"):
        load_gold(campaign / "gold", "labels", "v0001")
    texts = {"a.csv": without(ROWS), "b.csv": without(ALONE)}
    never = stage_file(write_small_campaign(tmp_path / "never", texts))
    for table in ("labels", "lineage", "judges", "judgments", "agreement"):
        assert load_gold(campaign / "gold", table).to_pylist() == never.rows(table), table
    assert main(["verify", str(campaign)]) == 0
    assert main(["verify", str(campaign), "v0003", "--rebuild"]) == 0
    entry = json.loads((campaign / "store" / "forgotten.json").read_text())["forgotten"][0]
    assert (entry["because"], entry["by"]) == ("asked for it", "ann")


def test_releases_manifest_and_report_say_that_a_person_was_forgotten(forgetful, capsys):
    campaign = forgetful
    folder = campaign / "gold" / "v0003"
    decided = json.loads((folder / "manifest.json").read_text())["decision"]
    assert decided["forgets_person"]
    assert (decided["by"], decided["because"]) == ("ann", "asked for it")
    report = (folder / "report.html").read_text()
    assert "without a person who is forgotten" in report
    assert "by ann, 20" in report
    assert "annot diff campaign.yaml v0002" not in report  # the release is gone
    assert main(["releases", str(campaign)]) == 0
    shown = capsys.readouterr().out
    assert "forgot a person, by ann: asked for it" in shown
    assert re.search(r"people who are forgotten\n.*\n +20\S+ +ann +asked for it", shown)
    assert main(["releases", str(campaign), "--json"]) == 0
    [person] = json.loads(capsys.readouterr().out)["forgotten"]
    assert person.keys() == {"at", "by", "because", "finished"}
    assert person["finished"]
    publication, _ = build_release(load_campaign(campaign, sets=["seed=3"]), silent)
    assert "decision" not in publication.release.manifest


def test_trace_says_that_rows_are_counted_without_the_person(forgetful, capsys):
    item = pq.read_table(forgetful / "gold" / "v0003" / "labels.parquet")["item"][0].as_py()
    assert main(["trace", str(forgetful), item]) == 0
    assert "rows and lines are counted without those of forgotten people" in capsys.readouterr().out
    assert main(["trace", str(forgetful), item, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forgotten_people"] == 1


@pytest.mark.slow
def test_releases_that_are_gone_with_a_person_are_not_called_pruned(campaign, capsys):
    forgotten(campaign)
    assert main(["releases", str(campaign)]) == 0
    assert "  v0002 (forgotten)  " in capsys.readouterr().out
    assert main(["verify", str(campaign), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["pruned"], document["forgotten"]) == ([], ["v0001", "v0002"])
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nq1,w7,b\n")
    build_release(load_campaign(campaign), silent)
    prune(load_campaign(campaign), 1, progress=silent)
    assert main(["verify", str(campaign)]) == 0
    shown = capsys.readouterr().out
    assert "pruned: v0003\nremoved with a forgotten person: v0001, v0002\n" in shown
    assert main(["releases", str(campaign)]) == 0
    assert "  v0003 (pruned)  " in capsys.readouterr().out


@pytest.mark.slow
def test_a_file_that_had_rows_of_the_person_only_is_not_warned_of(campaign):
    (campaign / "exports" / "c.csv").write_text(f"item,judge,label\nk1,{PERSON},b\n")
    (campaign / "exports" / "d.csv").write_text("item,judge,label\n")
    build_release(load_campaign(campaign), silent)
    forgotten(campaign)
    checks = Releases(campaign / "gold").get().manifest["checks"]
    [detail] = [check["detail"] for check in checks if check["name"] == "empty_exports"]
    assert detail == "exports/d.csv"


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["forget", "prune"])
def test_status_names_no_diff_with_a_release_that_is_gone(campaign, leave):
    """All labels are others: the gate says to look at the diff, where there is one."""
    gates = {name: {"error": None} for name in ("vanished_judgments", "corrected_judgments")}
    gates["label_flips"] = {"warn": 0.0, "error": None, "minimum": 1}
    settings = SETTINGS | {"gates": gates}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    rows = without(ROWS).translate(str.maketrans("ab", "ba"))
    (campaign / "exports" / "a.csv").write_text("item,judge,label\n" + rows.split("\n", 1)[1])
    if leave == "prune":
        build_release(load_campaign(campaign), silent)
        assert "annot diff" in advice(campaign)
        prune(load_campaign(campaign), 1, progress=silent)
    else:
        forgotten(campaign)
    assert "annot diff" not in advice(campaign)
    assert "look at corrected exports" in advice(campaign)


def advice(campaign: Path) -> str:
    """What the status says to do about labels that are others."""
    checks = status(load_campaign(campaign))["release"]["checks"]
    [do] = [check["do"] for check in checks if check["name"] == "label_flips"]
    return str(do)


@pytest.mark.slow
def test_bisect_names_that_a_person_was_forgotten(tmp_path):
    folder = tmp_path / "campaign"
    build(folder, {"a.csv": without(ROWS)})
    build(folder, {"a.csv": without(ROWS), "b.csv": ALONE})
    forgotten(folder)
    step = bisect_metric(load_campaign(folder), "used")
    assert (step["before"], step["since"]) == ("v0001", "v0003")
    assert step["causes"] == ["exports added", "a person was forgotten"]
    assert (step["decision"]["by"], step["decision"]["because"]) == ("ann", "asked for it")


@pytest.mark.slow
def test_the_report_of_labels_that_changed_names_no_forgotten_person(campaign):
    """Her answers decide all labels of one export: each of its items changes, and shows answers."""
    text = "item,judge,label\n" + "".join(
        f"q{i},{judge},{label}\n" for i in range(8)
        for judge, label in ((PERSON, "a"), (PERSON + "2", "a"), ("w2", "b"), ("w2", "b"))
    )  # fmt: skip
    (campaign / "exports" / "c.csv").write_text(text.replace(f"{PERSON}2", "w0"))
    build_release(load_campaign(campaign), silent)
    (campaign / "exports" / "d.csv").write_text("item,judge,label\nq1,w7,b\nq2,w7,b\n")
    forgotten(campaign)
    report = (campaign / "gold" / "v0004" / "report.html").read_text()
    assert "labels that changed" in report.lower()
    assert named_in(campaign, PERSON) == []


def vanished(release: Release) -> tuple[str, float]:
    [check] = [c for c in release.manifest["checks"] if c["name"] == "vanished_judgments"]
    return check["level"], check["value"]


def test_judgments_of_a_forgotten_person_have_not_vanished(forgetful):
    """Those of others have: 4 of the 20 of the newest release, 7 of which were the person's."""
    assert vanished(Releases(forgetful / "gold").get()) == ("pass", 0)


@pytest.mark.slow
def test_judgments_that_others_lose_while_a_person_is_forgotten_have_vanished(campaign):
    kept = ROWS.replace("i0,w0,a\n", "").replace("i1,w0,b\n", "")
    (campaign / "exports" / "a.csv").write_text(kept)
    forgotten(campaign)
    assert vanished(Releases(campaign / "gold").get()) == ("warn", 2 / 20)


@pytest.mark.slow
def test_a_person_does_not_hide_that_most_judgments_of_others_are_gone(campaign):
    (campaign / "exports" / "a.csv").write_text(f"item,judge,label\ni0,{PERSON},a\ni1,w2,a\n")
    with pytest.raises(GateError, match="vanished_judgments"):
        forgotten(campaign)


def excluded(campaign: Path, name: str) -> None:
    document = json.loads((campaign / "campaign.yaml").read_text())
    digest = file_sha256(campaign / "exports" / name)
    document["sources"][0]["exclude"] = [{"digest": digest, "because": "a flood"}]
    (campaign / "campaign.yaml").write_text(json.dumps(document))


ONCE = "nora.blue"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", "i3,\xff,a\n"])
def test_a_person_of_an_excluded_export_that_was_never_built_is_forgotten(campaign, ending):
    """Also of one that cannot be read: it is not UTF-8."""
    text = f"item,judge,label\ni1,{ONCE},a\ni8,w5,b\n{ending}"
    (campaign / "exports" / "c.csv").write_bytes(text.encode("latin-1"))
    excluded(campaign, "c.csv")
    assert forgotten(campaign, ONCE)["removed"] == []
    assert named_in(campaign, ONCE) == []
    document = json.loads((campaign / "campaign.yaml").read_text())
    del document["sources"][0]["exclude"]
    (campaign / "campaign.yaml").write_text(json.dumps(document))
    if not ending:
        build_release(load_campaign(campaign), silent)
        assert named_in(campaign, ONCE) == []
        assert "i8" in load_gold(campaign / "gold", "labels")["item"].to_pylist()
    with pytest.raises(ConfigError, match="in no export"):
        forgotten(campaign, "nobody.at.all")


@pytest.mark.slow
def test_an_excluded_export_that_names_the_person_in_a_text_stops_no_forgetting(campaign):
    text = f"item,judge,label,note\nk3,{PERSON},a,\nk3,w0,a,as {PERSON} says\n"
    (campaign / "exports" / "c.csv").write_text(text)
    excluded(campaign, "c.csv")
    build_release(load_campaign(campaign), silent)
    assert forgotten(campaign)["removed"] == ["v0001", "v0002", "v0003"]
    assert named_in(campaign, PERSON) == []
    assert main(["verify", str(campaign)]) == 0


@pytest.mark.slow
def test_a_person_of_a_dropped_export_leaves_archive_and_records(campaign):
    """She is in the archive and in one release, which a rollback replaced."""
    loaded = load_campaign(campaign)
    (campaign / "exports" / "c.csv").write_text(f"item,judge,label\ni1,{ONCE},a\ni2,w5,b\n")
    build_release(loaded, silent)
    roll_back(loaded, "v0002", because="wrong", by="ann", progress=silent)
    excluded(campaign, "c.csv")
    build_release(load_campaign(campaign), silent)
    for path in (campaign / "store" / "records").iterdir():
        path.unlink()  # as builds do with those that none has read for long
    assert "store/archive" in "".join(named_in(campaign, ONCE))
    assert forgotten(campaign, ONCE)["removed"] == ["v0003"]
    assert named_in(campaign, ONCE) == []


@pytest.mark.slow
def test_a_gate_accepted_for_the_newest_release_stops_no_forgetting(campaign):
    settings = SETTINGS | {"gates": {"rejected_share": {"error": 0.0}}}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nk2,w2,b\nk2,,b\n")
    with pytest.raises(GateError, match="rejected_share"):
        build_release(load_campaign(campaign), silent)
    with pytest.raises(GateError, match="rejected_share"):  # nobody has accepted it
        forgotten(campaign)
    publish_candidate(
        load_campaign(campaign), "latest", ["rejected_share"], because="seen", by="ann",
        progress=silent,
    )  # fmt: skip
    arrived = campaign / "exports" / "d.csv"
    arrived.write_text(f"item,judge,label\nk2,{PERSON},b\n")
    with pytest.raises(GateError, match="rejected_share"):  # it was accepted for other exports
        forgotten(campaign)
    arrived.unlink()
    assert forgotten(campaign)["release"] is None  # the candidate was made without the person
    assert named_in(campaign, PERSON) == []


@pytest.mark.slow
def test_a_stopped_forgetting_names_all_gates_and_only_the_export_that_is_new(campaign):
    """Also the gate that it would accept itself; exports without the person's rows are not new."""
    gates = {"rejected_share": {"error": 0.0}, "certain_share": {"error": -1.0, "minimum": 1}}
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"gates": gates}))
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nk2,w2,b\nk2,,b\n")
    with pytest.raises(GateError, match="rejected_share") as error:
        forgotten(campaign)
    *gates_that_failed, new, candidate = error.value.problems
    named = [problem.what.partition(":")[0] for problem in gates_that_failed]
    assert named == ["rejected_share", "certain_share"]
    assert (new.where, new.what) == ("exports/c.csv", "new or changed since v0002")
    assert "exclude: [{digest: " in new.do
    assert "leaves nothing to build" not in new.do
    accepted = " --accept rejected_share --accept certain_share --because"
    assert accepted in candidate.do
    document = status(load_campaign(campaign))["candidate"]
    assert accepted in document["do"][-1]
    assert document["exclude"].keys() == {"exports/c.csv"}
    publish_candidate(
        load_campaign(campaign), "latest", ["rejected_share", "certain_share"], because="seen",
        by="ann", progress=silent,
    )  # fmt: skip
    assert PERSON not in load_gold(campaign / "gold", "judges")["judge"].to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["w2", PERSON])
def test_forgetting_publishes_no_export_that_a_rollback_dropped(campaign, judge):
    """Nor one that holds the person, whose copy without the rows has other bytes."""
    (campaign / "exports" / "c.csv").write_text(f"item,judge,label\nk2,{judge},b\nk2,w5,b\n")
    build_release(load_campaign(campaign), silent)
    roll_back(load_campaign(campaign), "v0002", because="wrong", by="ann", progress=silent)
    with pytest.raises(StoreError, match="exports that the last rollback dropped would be read"):
        forgotten(campaign)
    assert not (campaign / "store" / "forgotten.json").exists()
    (campaign / "exports" / "c.csv").unlink()
    assert forgotten(campaign)["release"] == "v0005"


@pytest.mark.slow
def test_a_copy_without_the_person_is_dropped_and_excluded(campaign):
    forgotten(campaign)
    (campaign / "exports" / "c.csv").write_text(f"item,judge,label\nk2,{PERSON},b\nk9,w5,b\n")
    build_release(load_campaign(campaign), silent)
    roll_back(load_campaign(campaign), "v0003", because="wrong", by="ann", progress=silent)
    with pytest.raises(GateError, match=r"dropped_exports: 1 export"):
        build_release(load_campaign(campaign), silent)
    [digest] = Releases(campaign / "gold").get().manifest["decision"]["dropped"]
    document = json.loads((campaign / "campaign.yaml").read_text())
    document["sources"][0]["exclude"] = [{"digest": digest[:16], "because": "wrong"}]
    (campaign / "campaign.yaml").write_text(json.dumps(document))
    release = build_release(load_campaign(campaign), silent)[0].release
    assert release.manifest["facts"]["excluded_exports"] == {"exports/c.csv": "wrong"}
    assert "k9" not in load_gold(campaign / "gold", "labels")["item"].to_pylist()


def _with_items(campaign: Path, text: str, path: str = "items.csv") -> None:
    (campaign / "items.csv").write_text(text)
    document = json.loads((campaign / "campaign.yaml").read_text())
    fields = {"item": "item", **({"text": "text"} if path == "items.csv" else {})}
    document["items"] = [{"path": path, "format": "csv", "fields": fields}]
    (campaign / "campaign.yaml").write_text(json.dumps(document))


@pytest.mark.slow
def test_item_tables_that_name_the_person_are_refused(campaign):
    _with_items(campaign, f"item,text,by\ni0,an essay,written by {PERSON}\n")
    with pytest.raises(InputError, match="a cell of the item table names a forgotten person"):
        forgotten(campaign)
    assert not (campaign / "store" / "forgotten.json").exists()
    _with_items(campaign, "item,text,by\ni0,an essay,somebody\n")
    forgotten(campaign)
    for text in (PERSON, f"written by {PERSON}, they say"):
        _with_items(campaign, f'item,text,by\ni0,an essay,"{text}"\n')
        with pytest.raises(InputError, match="a cell of the item table names a forgotten person"):
            build_release(load_campaign(campaign), silent)


@pytest.mark.slow
def test_an_export_that_is_an_item_table_too_loses_the_rows(campaign):
    _with_items(campaign, "", path="exports/*.csv")
    build_release(load_campaign(campaign), silent)
    forgotten(campaign)
    assert named_in(campaign, PERSON) == []
    items = load_gold(campaign / "gold", "items")["item"].to_pylist()
    assert "i0" in items
    assert "k1" not in items


@pytest.mark.slow
def test_validate_leaves_forgotten_people_out(campaign, monkeypatch):
    """With a key that lies in the store alone."""
    monkeypatch.delenv("ANNOT_KEY")
    build_release(load_campaign(campaign, sets=["privacy.new_key=true"]), silent)
    forgotten(campaign)
    (campaign / "exports" / "c.csv").write_text(f"item,judge,label\nm1,{PERSON},a\nm1,w0,b\n")
    document = validate(load_campaign(campaign), silent)
    assert document["records"] == 12 + 1 + 1
    assert list((campaign / "store").glob("*.key")) == [campaign / "store" / "judge.key"]


@pytest.mark.parametrize("is_pseudonym", [False, True])
def test_a_name_in_the_settings_is_told_before(campaign, capsys, is_pseudonym):
    document = json.loads((campaign / "campaign.yaml").read_text())
    loaded = load_campaign(campaign)
    shown = pseudonym(judge_key(loaded.settings, loaded.store), PERSON)
    document["judges"] = [{"name": shown if is_pseudonym else PERSON, "kind": "human"}]
    (campaign / "campaign.yaml").write_text(json.dumps(document))
    assert forgotten(campaign, dry_run=True)["still_named"] == ["campaign.yaml"]
    assert main(["forget", str(campaign), PERSON, "--because", "asked", "--dry-run"]) == 0
    assert "settings name the person" in capsys.readouterr().err


@pytest.mark.slow
def test_releases_that_stay_can_be_verified_under_a_later_key(tmp_path):
    folder = tmp_path / "campaign"
    build(folder, {"a.csv": without(ROWS)})
    build(folder, {"a.csv": without(ROWS), "b.csv": ALONE})
    assert forgotten(folder)["removed"] == ["v0002"]
    assert Releases(folder / "gold").versions() == ["v0001", "v0003"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", OTHER_KEY)
        assert main(["verify", str(folder)]) == 0
    recorded = [json.loads(path.read_text()) for path in (folder / "store/digests").iterdir()]
    kept = {sha256 for entries in recorded for sha256 in entries.values()}
    assert kept == {path.name for path in (folder / "store/archive").glob("*/*")}


@pytest.mark.slow
def test_later_exports_are_read_without_the_person(campaign):
    forgotten(campaign)
    text = f"item,judge,label\nm1,{PERSON},a\nm1,w0,b\nm2,{PERSON},b\n"
    (campaign / "exports" / "c.csv").write_text(text)
    publication, _ = build_release(load_campaign(campaign), silent)
    assert publication.release.version == "v0004"
    assert named_in(campaign, PERSON) == []
    items = load_gold(campaign / "gold", "labels")["item"].to_pylist()
    assert "m1" in items
    assert "m2" not in items
    archived = [path.read_bytes() for path in (campaign / "store" / "archive").glob("??/*")]
    assert without(text).encode() in archived  # the last row is the person's
    assert not build_release(load_campaign(campaign), silent)[0].published  # nothing new


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv.gz", "jsonl", "parquet", "json"])
def test_rows_leave_every_format_that_has_rows(tmp_path, form):
    rows = [dict(zip(("item", "judge", "label"), line.split(","), strict=True))
            for line in ROWS.splitlines()[1:]]  # fmt: skip
    folder = tmp_path / "campaign"
    (folder / "exports").mkdir(parents=True)
    export = folder / "exports" / f"a.{form}"
    if form == "csv.gz":
        export.write_bytes(gzip.compress(ROWS.encode()))
    elif form == "jsonl":
        export.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), export)
    else:
        export.write_text(json.dumps({"meta": {"v": 1}, "data": {"rows": rows}}))
    source = {"path": "exports/*", "format": form.partition(".")[0],
              "fields": {"item": "item", "judge": "judge", "label": "label"}}  # fmt: skip
    source |= {"records": "data.rows"} if form == "json" else {}
    (folder / "campaign.yaml").write_text(json.dumps(SETTINGS | {"sources": [source]}))
    build_release(load_campaign(folder), silent)
    forgotten(folder)
    assert named_in(folder, PERSON) == []
    lineage = load_gold(folder / "gold", "lineage")
    assert lineage.num_rows == 12
    assert lineage["source_row"].to_pylist().count(1) == 1


def annotated(people: dict[str, int | str], **task: Any) -> list[dict[str, Any]]:
    """Return tasks of Label Studio that each of some people annotated, the last one cancelled."""
    return [
        {"id": n, "data": {"text": f"text {n}"}, "predictions": [], **task,
         "annotations": [
             {"id": f"{n}{name}", "completed_by": who, "was_cancelled": n == 3,
              "result": [{"from_name": "kind", "type": "choices",
                          "value": {"choices": ["ab"[n % 2]]}}]}
             for name, who in people.items()
         ]}
        for n in range(4)
    ]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    "form", ["list", *(pytest.param(form, marks=pytest.mark.slow) for form in ("gzip", "storage"))]
)
def test_annotations_leave_exports_of_label_studio(tmp_path, form):
    """Also where other keys of a task name people; of the others nothing changes."""
    emails = {name: f"{name}@lab.org" for name in ("ann", "dora.green", "bob")}
    people = {name: {"id": n, "email": email} for n, (name, email) in enumerate(emails.items(), 7)}
    tasks = annotated(people, updated_by=[{"user_id": 8}], drafts=[{"user": emails["dora.green"]}])
    others = annotated({name: people[name] for name in ("ann", "bob")})
    source = {"format": "label_studio", "fields": {
        "item": "task_id", "judge": "completed_by.email", "label": "choice",
    }}  # fmt: skip
    name = "a.json.gz" if form == "gzip" else "a.json"
    data = json.dumps(tasks).encode()
    if form == "storage":  # one task a file
        tasks, others = tasks[:1], others[:1]
        data = json.dumps(tasks[0]).encode()
    packed = gzip.compress(data) if form == "gzip" else data
    folder = with_export(tmp_path / "campaign", name, packed, **source)
    forgotten(folder, emails["dora.green"])
    assert named_in(folder, emails["dora.green"]) == []
    [path] = (path for path in (folder / "store" / "archive").rglob("*") if path.is_file())
    left = gzip.decompress(path.read_bytes()) if form == "gzip" else path.read_bytes()
    assert json.loads(left) == others
    packed = json.dumps(others).encode()
    packed = gzip.compress(packed) if form == "gzip" else packed
    alone = stage_file(write_export(tmp_path / "alone", name, packed, **source))
    assert load_gold(folder / "gold", "labels").to_pylist() == alone.rows("labels")


@pytest.mark.parametrize(
    "text",
    [
        f"{ROWS}i9,w0,{PERSON}\n",
        f"{ROWS}i9 of {PERSON},w0,a\n",
        pytest.param(f"{ROWS}i9 of Dora_Green,w0,a\n", marks=pytest.mark.slow),
        pytest.param(f"{ROWS}i9 (Green  Dora),w0,a\n", marks=pytest.mark.slow),
    ],
)
def test_a_name_in_other_cells_is_refused(campaign, text):
    (campaign / "exports" / "a.csv").write_text(text)
    before = sorted(campaign.rglob("*"))
    with pytest.raises(InputError, match="stands in other places of the file"):
        forgotten(campaign)
    new = {path.name for path in {*campaign.rglob("*")} ^ {*before}}
    assert new <= {"without_forgotten"}  # nothing went, nobody is forgotten


@pytest.mark.parametrize("wrong", [lambda rest: rest.replace(b"\ni5,w2,b", b""), lambda _: b""])
def test_a_copy_that_is_not_read_as_the_rest_is_refused(campaign, monkeypatch, wrong):
    """Whatever a format does with the rows: nothing went, nobody is forgotten."""
    remove = WRITERS["csv"]
    monkeypatch.setitem(WRITERS, "csv", lambda *read: wrong(remove(*read)))
    with pytest.raises(InputError, match="not read as the same file with fewer rows"):
        forgotten(campaign)
    monkeypatch.setitem(WRITERS, "csv", lambda *read: read[2])  # the rows are still there
    with pytest.raises(InputError, match="stands in other places"):
        forgotten(campaign)
    assert not (campaign / "store" / "forgotten.json").exists()


@pytest.mark.sampled
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.slow
def test_a_name_in_an_export_without_rows_of_the_person_is_refused(campaign, packed):
    text = f"item,judge,label,note\nk3,w0,a,as {PERSON} says\n"
    build(campaign, {"a.csv": ROWS, "b.csv": ALONE, "c.csv": text})
    if packed:  # whose bytes do not hold the name
        (campaign / "exports" / "c.csv").write_text(text.replace(PERSON, "nobody"))
        table = pa.table({"item": ["k3"], "judge": ["w0"], "label": ["a"], "note": [PERSON] * 1})
        pq.write_table(table, campaign / "exports" / "d.parquet", compression="zstd")
        [source] = SETTINGS["sources"]
        sources = [source, source | {"path": "exports/*.parquet", "format": "parquet"}]
        (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"sources": sources}))
    for dry_run in (True, False):
        with pytest.raises(InputError, match="stands in other places of the file") as error:
            forgotten(campaign, dry_run=dry_run)
        assert ("exports/d.parquet" if packed else "exports/c.csv") in error.value.title
        assert "delete the name from other cells" in error.value.problems[0].do
    assert Releases(campaign / "gold").versions() == ["v0001", "v0002", "v0003"]
    assert not (campaign / "store" / "forgotten.json").exists()


@pytest.mark.slow
def test_names_that_look_like_that_of_the_person_are_told(campaign, capsys):
    """By pseudonym: they may be somebody else's."""
    alike = {"Dora.Green": "case", "\uff44ora.green": "width", "dora.greenwood": "within"}
    text = "item,judge,label\n" + "".join(f"k4,{name},a\n" for name in alike)
    build(campaign, {"a.csv": ROWS, "b.csv": ALONE, "c.csv": text})
    key = judge_key(load_campaign(campaign).settings, campaign / "store")
    with pytest.raises(ConfigError, match="nobody has this name") as error:
        forgotten(campaign, "DORA.green")
    assert pseudonym(key, PERSON) in error.value.problems[0].do
    assert main(["forget", str(campaign), PERSON, "--because", "asked"]) == 0
    said = capsys.readouterr().out
    assert "not forgotten, names like this one: " in said
    for name in alike:
        assert pseudonym(key, name) in said
        assert name not in said
    assert load_gold(campaign / "gold", "judges").num_rows == 2 + len(alike)


def write_export(folder: Path, name: str, data: bytes, **source: Any) -> Path:
    """Write a campaign of one export."""
    (folder / "exports").mkdir(parents=True)
    (folder / "exports" / name).write_bytes(data)
    fields = {"item": "item", "judge": "judge", "label": "label"}
    source = {"path": "exports/*", "format": "csv", "fields": fields} | source
    (folder / "campaign.yaml").write_text(json.dumps(SETTINGS | {"sources": [source]}))
    return folder


def with_export(folder: Path, name: str, data: bytes, **source: Any) -> Path:
    """Build a campaign of one export."""
    build_release(load_campaign(write_export(folder, name, data, **source)), silent)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_name_is_seen_in_any_encoding_and_behind_escapes(tmp_path, form):
    name = "jos\u00e9.l\u00f3pez"
    rows = [("i1", name, "a"), ("i1", "w0", "a"), ("i2", "w0", name.upper())]
    if form == "csv":
        text = "item,judge,label\n" + "".join(f"{','.join(row)}\n" for row in rows)
        data, options = text.encode("latin-1"), {"options": {"encoding": "latin-1"}}
    else:
        keys = ("item", "judge", "label")
        text = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)
        data, options = text.encode(), {"format": "jsonl"}
    folder = with_export(tmp_path / "campaign", f"a.{form}", data, **options)
    with pytest.raises(InputError, match="stands in other places of the file"):
        forgotten(folder, name)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_an_export_of_the_person_alone_without_a_header_loses_all_rows(tmp_path, ending):
    """What was left was empty, which meant that the export has no rows of the person."""
    header, *rows = (line.split(",") for line in ROWS.splitlines())
    lines = [f"{json.dumps(dict(zip(header, row, strict=True)))}\n" for row in rows]
    theirs = [line for line in lines if PERSON in line]
    folder = write_export(tmp_path / "campaign", "a.jsonl", "".join(lines).encode(), format="jsonl")

    def add(name: str, text: str) -> None:
        pack = gzip.compress if ending else bytes
        (folder / "exports" / f"{name}.jsonl{ending}").write_bytes(pack(text.encode()))

    add("b", "".join(theirs).replace(': "i', ': "k'))
    build_release(load_campaign(folder), silent)
    assert forgotten(folder)["release"] == "v0002"
    assert named_in(folder, PERSON) == []
    add("c", "".join(theirs).replace(': "i', ': "m'))  # a later one
    build_release(load_campaign(folder), silent)
    assert named_in(folder, PERSON) == []
    assert load_gold(folder / "gold", "labels").num_rows == 6


@pytest.mark.slow
def test_dictionaries_of_parquet_lose_the_name(tmp_path):
    judges = pa.array([PERSON, "w0"] * 6).dictionary_encode()
    items, labels = [f"i{i // 2}" for i in range(12)], ["a", "b", "b", "a"] * 3
    table = pa.table({"item": items, "judge": judges, "label": labels})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    data = bytes(sink.getvalue())
    folder = with_export(tmp_path / "campaign", "a.parquet", data, format="parquet")
    forgotten(folder)
    files = [path for path in (folder / "store" / "archive").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert PERSON.encode() not in files[0].read_bytes()
    assert load_gold(folder / "gold", "lineage").num_rows == 6


@pytest.mark.slow
def test_rows_that_hold_answers_of_several_judges_are_refused(tmp_path):
    text = "item,j1,l1,j2,l2\n" + "".join(
        f"i{i},w0,a,{w},b\n" for i, w in enumerate((PERSON, "w2"))
    )
    fields = {"item": "item", "judge": "j{k}", "label": "l{k}"}
    each = {"each": {"k": ["1", "2"]}, "fields": fields}
    folder = with_export(tmp_path / "campaign", "a.csv", text.encode(), **each)
    with pytest.raises(InputError, match="answers of several judges"):
        forgotten(folder)
    assert load_gold(folder / "gold", "lineage").num_rows == 4


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["1", "worker1"])
def test_names_that_texts_hold_by_chance_do_not_stop_the_command(campaign, judge):
    text = ROWS.replace("w2", f"{judge}0").replace("w0", "2").replace(PERSON, judge)
    (campaign / "exports" / "a.csv").write_text(text.replace(",a", ",1"))
    (campaign / "exports" / "b.csv").unlink()
    loaded = load_campaign(campaign, sets=["gates.vanished_judgments.error=1"])
    build_release(loaded, silent)
    said: list[str] = []
    document = forgotten(campaign, judge, because="10 asked", progress=said.append)
    assert document["release"] == "v0004"
    assert ("warn: only cells that name the judge" in str(said)) == (judge == "1")
    assert load_gold(campaign / "gold", "lineage").num_rows == 12


@pytest.mark.slow
def test_what_a_rollback_dropped_does_not_come_back(campaign):
    loaded = load_campaign(campaign)
    (campaign / "exports" / "flood.csv").write_text("item,judge,label\nflood,w9,a\n")
    build_release(loaded, silent)
    roll_back(loaded, "v0002", because="a flood", by="ann", progress=silent)
    with pytest.raises(StoreError, match="last rollback dropped"):
        forgotten(campaign)
    (campaign / "exports" / "flood.csv").unlink()
    assert forgotten(campaign)["removed"] == ["v0001", "v0002", "v0003", "v0004"]
    assert named_in(campaign, PERSON) == []
    assert "flood" not in load_gold(campaign / "gold", "labels")["item"].to_pylist()


@pytest.mark.slow
def test_under_another_key_nobody_is_recognized_so_builds_stop(campaign):
    (campaign / "store" / "judge.key").unlink(missing_ok=True)
    forgotten(campaign)
    loaded = load_campaign(campaign, sets=["privacy.new_key=true"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", OTHER_KEY)
        with pytest.raises(StoreError, match="cannot be recognized"):
            build_release(loaded, silent)
        (campaign / "store" / "forgotten.json").write_text('{"forgotten": []}')  # as it says
        build_release(loaded, silent)
        assert set(forgotten(campaign)["removed"]) == {"v0003", "v0004"}  # v0003: of the old key


@pytest.mark.slow
def test_reasons_that_name_the_person_leave_the_log_and_its_chain_is_whole(campaign):
    loaded = load_campaign(campaign)
    set_pin(loaded, "v0002", remove=False, why=f"{PERSON}'s", progress=silent)
    set_pin(loaded, "v0002", remove=False, why="paper", progress=silent)
    retract(loaded, "v0001", because=f"of {PERSON}", by="ann", progress=silent)
    assert forgotten(campaign, pinned=True)["still_named"] == []
    releases = Releases.for_campaign(loaded)
    assert releases.log.read().damage is None
    assert releases.retracted()["v0001"].because == ""
    assert named_in(campaign, PERSON) == []


@pytest.mark.slow
def test_reasons_of_pins_leave_out_a_short_name_too(campaign):
    """A word of its own: in other texts a short name is there by chance."""
    loaded = load_campaign(campaign)
    set_pin(loaded, "v0001", remove=False, why="paper of W2", progress=silent)
    forgotten(campaign, "w2", pinned=True)
    assert "paper" not in Releases.for_campaign(loaded).log.path.read_text()


def test_forgetting_publishes_no_export_whose_answers_are_swapped(campaign):
    """Who leaves corrects no answers of others, so that nobody has accepted this."""
    assert {gate.name for gate in GATES}.issuperset(OF_ARRIVALS.split())
    gates = {"corrected_judgments": {"minimum": 1}}
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"gates": gates}))
    head, rows = without(ROWS).split("\n", 1)
    swapped = re.sub("[ab]$", lambda label: "ba"[label[0] == "b"], rows, flags=re.MULTILINE)
    (campaign / "exports" / "a.csv").write_text(f"{head}\n{swapped}")
    with pytest.raises(GateError, match="corrected_judgments: 100"):
        forgotten(campaign)


@pytest.mark.slow
def test_after_a_new_key_a_person_whose_rows_are_gone_is_forgotten_again(forgetful, monkeypatch):
    """By name, which no export has: an old export that arrives again is read without the person."""
    for name, text in (("a.csv", ROWS), ("b.csv", ALONE)):
        (forgetful / "exports" / name).write_text(without(text))
    monkeypatch.setenv("ANNOT_KEY", OTHER_KEY)
    (forgetful / "store" / "forgotten.json").write_text('{"forgotten": []}')
    command = ["forget", str(forgetful), PERSON, "--because", "asked for it"]
    new_key = ["--set", "privacy.new_key=true"]
    assert main([*command, *new_key]) == 2
    for no_name in (" ", "j" + "0a" * 10):
        assert main(["forget", str(forgetful), no_name, "--unseen", *command[3:], *new_key]) == 2
    assert main([*command, "--unseen", *new_key]) == 0
    assert Releases(forgetful / "gold").versions() == ["v0004"]
    (forgetful / "exports" / "a.csv").write_text(ROWS)
    build_release(load_campaign(forgetful), silent)
    assert named_in(forgetful, PERSON) == []
    assert load_gold(forgetful / "gold", "judges")["judge"].length() == 2


def test_pinned_releases_strangers_and_models_are_refused_before_anything_goes(campaign):
    loaded = load_campaign(campaign)
    set_pin(loaded, "v0001", remove=False, why="paper", progress=silent)
    with pytest.raises(ConfigError, match="v0001 is pinned and has the person") as refused:
        forgotten(campaign)
    assert "annot pin " in refused.value.problems[0].do
    assert " v0001 --remove" in refused.value.problems[0].do
    with pytest.raises(ConfigError, match="in no export"):
        forgotten(campaign, "nobody.at.all")
    with pytest.raises(ConfigError, match="names the person"):
        forgotten(campaign, because=f"{PERSON} asked")
    declared = SETTINGS | {"judges": [{"name": PERSON, "kind": "model"}]}
    (campaign / "campaign.yaml").write_text(json.dumps(declared))
    with pytest.raises(ConfigError, match="is declared a model"):
        forgotten(campaign)
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS))
    for pinned, in_the_way in ((True, []), (False, ["v0001"])):
        document = forgotten(campaign, dry_run=True, pinned=pinned)
        assert document["removed"] == ["v0001", "v0002"]
        assert document["pinned"] == in_the_way
        assert document["rows"] == {"exports/a.csv": 6, "exports/b.csv": 1}
    assert not (campaign / "store" / "forgotten.json").exists()


@pytest.mark.slow
def published_name(campaign: Path) -> str:
    """Return the pseudonym of the person, of whom alone b.csv tells that there is item k1."""
    rows = load_gold(campaign / "gold", "lineage").to_pylist()
    [name] = {row["judge"] for row in rows if row["item"] == "k1"}
    return str(name)


def test_a_person_can_be_given_by_the_name_that_releases_have(campaign):
    """Reports show it; without this nobody was forgotten, and all releases went."""
    name = published_name(campaign)
    assert name != PERSON
    with pytest.raises(ConfigError, match="the reason is kept"):
        forgotten(campaign, name, because=f"{name} asked for it")
    assert forgotten(campaign, name)["release"] == "v0003"
    assert named_in(campaign, PERSON) == []
    with pytest.raises(ConfigError, match="nobody has this name"):  # whom no record tells any more
        forgotten(campaign, name)
    assert Releases(campaign / "gold").versions() == ["v0003"]


def test_a_forgetting_that_a_gate_stops_is_said_to_be_unfinished(campaign, capsys):
    settings = SETTINGS | {"gates": {"rejected_share": {"error": 0.0}}}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nk2,w2,b\nk2,,b\n")
    command = ["forget", str(campaign), PERSON, "--because", "asked"]
    assert main(command) == 1
    do = f"annot forget {campaign} JUDGE"
    assert do in re.sub(r"\s+", " ", capsys.readouterr().err)
    for words in (["status"], ["verify"]):
        assert main([words[0], str(campaign)]) == (words == ["verify"])
        assert "is still in archive or releases" in re.sub(r"\s+", " ", capsys.readouterr().out)
    assert [row["finished"] for row in list_releases(load_campaign(campaign))["forgotten"]] == [
        False
    ]
    (campaign / "exports" / "c.csv").unlink()
    assert main(command) == 0
    assert named_in(campaign, PERSON) == []
    assert main(["verify", str(campaign)]) == 0
    assert [row["finished"] for row in list_releases(load_campaign(campaign))["forgotten"]] == [
        True
    ]


def test_a_command_that_was_killed_half_way_finishes(campaign, monkeypatch):
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Releases, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            forgotten(campaign)
    assert "v0002" in Releases(campaign / "gold").versions()
    assert forgotten(campaign)["removed"] == ["v0001", "v0002"]
    assert named_in(campaign, PERSON) == []


@pytest.mark.slow
def test_two_people_forgotten_at_once_are_both_gone(campaign):
    """The second command removed what the build of the first had made so far."""
    command = [sys.executable, "-m", "annot_pipeline.cli", "forget", str(campaign)]
    running = [
        subprocess.Popen([*command, judge, "--because", "asked"], stderr=subprocess.PIPE, text=True)
        for judge in (PERSON, "w2")
    ]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert named_in(campaign, PERSON) == []
    assert len(set(load_gold(campaign / "gold", "judges")["judge"].to_pylist())) == 1
    assert all(row["finished"] for row in list_releases(load_campaign(campaign))["forgotten"])


@pytest.mark.slow
def test_a_damaged_list_of_the_forgotten_stops_builds(campaign):
    forgotten(campaign)
    (campaign / "store" / "forgotten.json").write_text("{}")
    with pytest.raises(StoreError, match="nobody knows which people to leave out"):
        build_release(load_campaign(campaign), silent)


def test_a_backup_without_the_list_of_the_forgotten_brings_nobody_back(forgetful):
    """Exports still have the person: without the list the next build would publish the rows."""
    path = forgetful / "store" / "forgotten.json"
    entries = path.read_text()
    path.unlink()
    with pytest.raises(StoreError, match="missing, and nobody knows") as missing:
        build_release(load_campaign(forgetful), silent)
    assert "restore it from a backup" in missing.value.problems[0].do
    path.write_text(entries)
    assert not build_release(load_campaign(forgetful), silent)[0].published
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8")
    backup = page.partition("## Backups")[2].partition("##")[0]
    assert "`store/forgotten.json`" in backup


def test_the_command_says_what_it_cannot_reach(campaign, capsys):
    assert main(["forget", str(campaign), PERSON, "--because", "asked", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "releases would be removed: v0001, v0002" in out
    assert "not reached, remove by hand: exports in the folders of sources" in out
    assert "rows that would be removed from archived exports: exports/a.csv 6, exports/b.csv 1" in (
        out
    )
    assert "7 judgments of 7 items of v0002 would be removed; labels may change" in out
    shutil.rmtree(campaign / "gold")
    assert os.path.exists(campaign / "store")
    assert main(["forget", str(campaign), "nobody", "--because", "asked"]) == 2


@pytest.mark.slow
def test_a_dropped_export_stays_dropped_when_a_person_of_it_is_forgotten(campaign):
    """It is read as a copy without the person, which has another digest."""
    flood = campaign / "exports" / "flood.csv"
    text = f"item,judge,label\nflood,w9,a\nflood,{PERSON},b\n"
    flood.write_text(text)
    loaded = load_campaign(campaign)
    build_release(loaded, silent)
    roll_back(loaded, "v0002", because="a flood", by="ann", progress=silent)
    flood.unlink()
    forgotten(campaign)
    flood.write_text(text)
    with pytest.raises(GateError, match="last rollback dropped"):
        build_release(load_campaign(campaign), silent)
    assert "flood" not in load_gold(campaign / "gold", "labels")["item"].to_pylist()


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ([1, 2, 3, 4, 5, 9], "v0001 to v0005, v0009"),
        ([1, 2, 4, 5, 6], "v0001, v0002, v0004 to v0006"),
        ([], ""),
    ],
)
def test_all_versions_are_listed_on_one_line(versions, text):
    assert version_ranges([f"v{n:04}" for n in versions]) == text


FLOOD = f"item,judge,label\nflood,w9,a\nflood,{PERSON},b\n"


def _flood_excluded(folder: Path) -> None:
    """Build, roll back and exclude an export; then forget a person of it."""
    _two_releases(folder)
    (folder / "exports" / "flood.csv").write_text(FLOOD)
    loaded = load_campaign(folder)
    build_release(loaded, silent)
    roll_back(loaded, "v0002", because="a flood", by="ann", progress=silent)
    excluded(folder, "flood.csv")
    [line] = forgotten(folder)["exclude"].values()
    document = json.loads((folder / "campaign.yaml").read_text())
    document["sources"][0]["exclude"] += [YAML(typ="safe").load(line)]
    (folder / "campaign.yaml").write_text(json.dumps(document))


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture
def flooded(copy_campaign, tmp_path) -> Path:
    return copy_campaign(_flood_excluded, tmp_path / "campaign")


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_excluded_export_stays_excluded_when_rows_are_removed_by_hand(flooded, ends):
    by_hand = without(FLOOD).replace("\n", ends).encode()
    write(flooded / "exports" / "flood.csv", by_hand)
    messages: list[str] = []
    build_release(load_campaign(flooded), messages.append)
    assert "excluded: exports/flood.csv (a flood)" in messages
    assert not [message for message in messages if "no export has" in message]
    assert "flood" not in load_gold(flooded / "gold", "labels")["item"].to_pylist()


@pytest.mark.slow
def test_a_dropped_export_stays_dropped_when_rows_are_removed_by_hand(flooded):
    write(flooded / "exports" / "flood.csv", without(FLOOD).encode())
    document = json.loads((flooded / "campaign.yaml").read_text())
    del document["sources"][0]["exclude"]
    (flooded / "campaign.yaml").write_text(json.dumps(document))
    with pytest.raises(GateError, match="dropped_exports: 1 export"):
        build_release(load_campaign(flooded), silent)


def test_a_lone_carriage_return_stops_a_forgetting_before_anything_goes(campaign):
    """Readers may end a line there, where the removal of rows does not."""
    rows = "".join(f"k{n},w{n % 3 + 1},b\n" for n in range(4))
    text = f'item,judge,label\n"k8\rk9",w1,b\n{rows}k5,{PERSON},b\n'
    (campaign / "exports" / "c.csv").write_bytes(text.encode())
    with pytest.raises(InputError, match="carriage return without a newline"):
        forgotten(campaign)
    assert not (campaign / "store" / "forgotten.json").exists()


@pytest.mark.slow
def test_a_forgetting_accepts_no_gate_where_exports_arrived(campaign):
    gates = {"certain_share": {"error": -1.0, "minimum": 1}}
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | {"gates": gates}))
    (campaign / "exports" / "c.csv").write_text("item,judge,label\nk2,w2,b\n")
    with pytest.raises(GateError, match="certain_share"):
        forgotten(campaign)
    (campaign / "exports" / "c.csv").unlink()
    assert forgotten(campaign)["release"]


@pytest.mark.slow
def test_a_forgetting_accepts_no_gate_where_settings_changed(campaign):
    gates = {"gates": {"certain_share": {"error": -1.0, "minimum": 1}}}
    settings = SETTINGS | gates | {"label_model": "one_coin"}
    (campaign / "campaign.yaml").write_text(json.dumps(settings))
    with pytest.raises(GateError, match="certain_share"):
        forgotten(campaign)
    (campaign / "campaign.yaml").write_text(json.dumps(SETTINGS | gates))
    assert forgotten(campaign)["release"]


@pytest.mark.slow
def test_an_archived_export_of_a_release_that_stays_and_names_the_person_is_told(campaign):
    """The export is gone from its folder, and nothing of the person is in its judgments."""
    note = f"item,judge,label,note\nk7,w0,a,as {PERSON} says\n"
    every = ["gates.vanished_judgments.error=1", "gates.vanished_items.error=1"]
    folder = build(campaign.parent / "other", {"a.csv": note})
    build(folder, {"a.csv": ROWS}, *every)
    document = forgotten(folder)
    assert document["removed"] == ["v0002"]
    [path] = document["still_named"]
    assert Path(path).read_text() == note
