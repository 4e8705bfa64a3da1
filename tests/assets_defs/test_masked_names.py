"""What Dagster and status show before a release is searched names no judge who has a pseudonym."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from annot_pipeline.cli import main
from annot_pipeline.errors import InputError, Problem
from annot_pipeline.stages.gold.name_mask import NameMask
from annot_pipeline.stages.shared.name_search import NOT_SHOWN, NameSearch
from annot_pipeline.storage.store import Store

pytestmark = pytest.mark.slow

JUDGES = ("erin.wide@example.org", "A2XYZQ8KJ3LM0P", "Bob_Smith.1987")
HEAD = "item,judge,label\n"
ROWS = HEAD + "".join(f"i{n},{judge},a\n" for n in range(4) for judge in JUDGES)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Names stand in paths of exports, in an item of an item table, and in a task."""
    folder = tmp_path / "campaign"
    (folder / "exports").mkdir(parents=True)
    for name, text in {
        "a.csv": ROWS, "Bob_Smith.1987.csv": HEAD, "of A2XYZQ8KJ3LM0P.csv": HEAD + "i1,,a\n",
    }.items():  # fmt: skip
        (folder / "exports" / name).write_text(text)
    (folder / "items.csv").write_text("item,text\n,by\n")
    source = {
        "path": "exports/*.csv",
        "format": "csv",
        "fields": {n: n for n in HEAD[:-1].split(",")},
    }
    document = {
        "campaign": "small",
        "sources": [source],
        "items": [
            {"path": "items.csv", "format": "csv", "fields": {"item": "item", "text": "text"}}
        ],
        "tasks": [{"name": "erin.wide@example.org", "kind": "categorical"}],
        "gates": {"rejected_share": {"error": 1, "warn": 0}},
    }
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def named(text: str) -> set[str]:
    return {judge for judge in JUDGES if judge in text}


def test_before_publication_nothing_names_a_judge(campaign, tmp_path, monkeypatch, capsys):
    """Gates, metadata, logs, the outcome in the store, and what status says of them."""
    home = tmp_path / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    assert main(["build", str(campaign), "--dagster"]) == 1, "the release would name judges"
    out, err = capsys.readouterr()
    assert not named(out + err)
    assert NOT_SHOWN in err, "the gates say that something is not shown"
    assert "published_names" in err
    with dg.DagsterInstance.get() as instance:
        [run] = instance.get_run_ids()
        records = [record.to_json() for record in instance.all_logs(run)]
    assert len(records) > 50
    assert [actual for record in records if (actual := named(record))] == []
    assert any(NOT_SHOWN in record for record in records)
    outcome = json.loads((campaign / "store" / "last_build.json").read_text())
    assert "published_names" in outcome["outcome"]
    assert not named(outcome["outcome"])
    main(["status", str(campaign), "--json"])
    document = json.loads(capsys.readouterr().out)
    document.pop("arrived")  # of exports that lie there, no text of a build
    assert not named(json.dumps(document))


def test_without_pseudonyms_nothing_is_masked(campaign, capsys):
    main(["build", str(campaign), "--set", "privacy.pseudonymize=false"])
    out, err = capsys.readouterr()
    assert NOT_SHOWN not in out + err
    assert "of A2XYZQ8KJ3LM0P.csv row 1 (line 2)" in err


def test_errors_and_documents_are_masked_where_they_stand(build_campaign, tmp_path):
    built = build_campaign({"a.csv": ROWS + "i1,label_a,x\ni2,label_b,label_a\n"})
    store = Store(tmp_path / "campaign" / "store")
    mask = NameMask(store, "another run")
    assert built.publication.published
    problem = Problem("a.csv", "see Bob_Smith.1987", values=("A2XYZQ8KJ3LM0P", "other"))
    error = InputError("erin.wide@example.org: cannot be read", [problem])
    mask.error(error)
    assert not named(str(error) + repr(error.args) + json.dumps(error.document()))
    assert "other" in str(error)
    document = {"a": ["by Bob_Smith.1987, or xBob_Smith.1987", 1, None], "b": {"c": "fine"}}
    assert mask.everywhere(document) == {
        "a": [f"by {NOT_SHOWN}, or xBob_Smith.1987", 1, None], "b": {"c": "fine"},
    }  # fmt: skip
    assert mask("label_a and label_b") == f"label_a and {NOT_SHOWN}", "labels are no secret"
    assert NameMask(Store(tmp_path / "none"), "run")("Bob_Smith.1987") == "Bob_Smith.1987"


def test_cells_that_are_short_names_are_masked(build_campaign, tmp_path):
    built = build_campaign({"a.csv": ROWS + "i1,erin,a\ni2,a,a\ni3,report,a\n"})
    assert built.publication.published
    mask = NameMask(Store(tmp_path / "campaign" / "store"), "another run")
    assert mask("no time: 'Erin', and \"erin\"") == f"no time: {NOT_SHOWN}, and {NOT_SHOWN}"
    for text in ("erin in a text", "'erins'", "judge 'a' is a label", "'report' is our word"):
        assert mask(text) == text
    error = InputError("unknown", [Problem("a.csv", "unknown", values=("erin", "a", "other"))])
    mask.error(error)
    assert error.problems[0].values == (NOT_SHOWN, "a", "other")


def test_longer_names_are_masked_first():
    search = NameSearch.from_names(["smith.john", "smith.john.jr"])
    text = "smith.john.jr and smith.john"
    assert search.masked(text, search.in_text(text)) == f"{NOT_SHOWN} and {NOT_SHOWN}"


OTHERS = {
    "no header": "i9,dora.new@example.org,a\n",
    "a column of a judge": "item,judge,dora.new@example.org\ni9,x,a\n",
}


@pytest.mark.parametrize(
    "name", ["a column of a judge", pytest.param("no header", marks=pytest.mark.slow)]
)
def test_columns_are_shown_by_validate_alone(name, tmp_path, monkeypatch, capsys):
    """The first row of a file without a header is one: it holds judges whom nobody knows yet."""
    folder = tmp_path / "campaign"
    (folder / "exports").mkdir(parents=True)
    (folder / "exports" / "a.csv").write_text(OTHERS[name])
    source = {"path": "exports/*.csv", "format": "csv",
              "fields": {n: n for n in HEAD[:-1].split(",")}}  # fmt: skip
    document = {"campaign": "small", "sources": [source]}
    (folder / "campaign.yaml").write_text(json.dumps(document))
    home = tmp_path / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    assert main(["build", str(folder), "--dagster"]) == 2
    main(["build", str(folder), "--json"])
    main(["status", str(folder)])
    printed = "".join(capsys.readouterr())
    assert "the 3 columns of the export, which annot validate shows" in printed
    with dg.DagsterInstance.get() as instance:
        records = [r.to_json() for run in instance.get_run_ids() for r in instance.all_logs(run)]
    noted = (folder / "store" / "last_build.json").read_text()
    assert "unknown column" in noted
    assert "dora" not in printed + noted + "".join(records)
    main(["validate", str(folder)])
    assert "dora.new@example.org" in capsys.readouterr().err
    document["privacy"] = {"pseudonymize": False}
    (folder / "campaign.yaml").write_text(json.dumps(document))
    main(["build", str(folder)])
    assert "dora.new@example.org" in capsys.readouterr().err, "names are public there"
