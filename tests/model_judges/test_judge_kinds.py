"""People and models: whose judgments a task uses, what becomes of the others, and their names."""

from __future__ import annotations

import hashlib

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.config.judges import prompt_hash
from annot_pipeline.errors import ConfigError
from annot_pipeline.stages.registry import GOLD_MADE
from tests.conftest import write_small_campaign

PEOPLE = ("ann", "ben", "cleo")
HUMAN = "item,judge,label\n" + "".join(
    f"i{n:02},{judge},{'xy'[(n + (judge == 'cleo') * (n % 4 == 0)) % 2]}\n"
    for n in range(20)
    for judge in PEOPLE
)
MODEL = "item,judge,label\n" + "".join(
    f"i{n:02},gpt-4o,{'xy'[(n + (n % 3 == 0)) % 2]}\n" for n in range(30)
)
MODELS = [{"name": "gpt-*", "kind": "model", "family": "gpt"}]
BOTH = {"a.csv": HUMAN, "b.csv": MODEL}
OF_ALL = {"lineage", "judgments", "judges", "items", "judge_validation", "judge_bias", "estimates",
          "validation_confusion"}  # fmt: skip
"""Tables that hold rows of models, too."""


def names_of(built, table):
    return {row["judge"] for row in built.rows(table)}


def fates(built):
    return {fate: n for fate, n in built.metrics("settle_judgments")["fates"].items() if n}


@pytest.mark.slow
def test_models_change_no_table_of_people(stage_campaign):
    staged = stage_campaign({"a.csv": HUMAN}, judges=MODELS)
    alone = {name: staged.table(name) for name in GOLD_MADE}
    built = stage_campaign(BOTH, judges=MODELS)
    assert fates(built) == {"used": 60, "measured": 30}
    differing = {name for name, table in alone.items() if built.table(name) != table}
    assert differing <= OF_ALL
    assert differing >= {"lineage", "judgments", "judges", "items"}
    people = [row for row in built.rows("judgments") if row["kind"] == "human"]
    assert len(people) == 60
    assert "gpt-4o" in names_of(built, "judges")
    [model] = [row for row in built.rows("judges") if row["kind"] == "model"]
    assert (model["model"], model["family"], model["verdict"]) == ("gpt-4o", "gpt", "untested")
    assert model["verdict_reason"] == "the task uses judgments of other judges: judges.use"
    assert model["n_judgments"] == 30


@pytest.mark.slow
def test_judges_are_of_no_kind_where_none_is_declared(stage_campaign):
    built = stage_campaign(BOTH)
    assert fates(built) == {"used": 90}
    assert {row["kind"] for row in built.rows("judges")} == {None}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("humans", {"used": 60, "measured": 30}),
        ("models", {"measured": 60, "used": 30}),
        ("all", {"used": 90}),
    ],
)
def test_use_says_whose_judgments_count(stage_campaign, use, expected):
    built = stage_campaign(BOTH, judges={"use": use, "declared": MODELS})
    assert fates(built) == expected


@pytest.mark.slow
def test_a_task_of_models_alone_uses_them(stage_campaign):
    other = MODEL.replace("item,judge", "task,item,judge").replace("i", "t,i", 0)
    rows = other.splitlines()
    export = "\n".join([rows[0], *("only," + row for row in rows[1:])]) + "\n"
    people = HUMAN.splitlines()
    mixed = "\n".join(["task," + people[0], *("both," + row for row in people[1:])]) + "\n"
    both = "\n".join([*export.splitlines(), *("both," + row for row in rows[1:])]) + "\n"
    fields = {name: name for name in ("task", "item", "judge", "label")}
    built = stage_campaign(
        {"a.csv": mixed, "b.csv": both}, judges=MODELS,
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    )  # fmt: skip
    assert fates(built) == {"used": 90, "measured": 30}
    assert {row["task"] for row in built.rows("labels")} == {"both", "only"}


def test_decisions_of_people_count_whoever_judges_and_those_of_models_do_not(stage_campaign):
    export = "item,judge,label,control\n" + "".join(
        f"{row},none\n" for row in [*HUMAN.splitlines()[1:], *MODEL.splitlines()[1:]]
    )
    export += "i01,ann,x,adjudication\ni02,gpt-4o,y,adjudication\n"
    fields = {name: name for name in ("item", "judge", "label", "control")}
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    built = stage_campaign({"a.csv": export}, judges=MODELS, sources=sources)
    assert fates(built) == {"used": 60, "measured": 31, "adjudication": 1}
    judges = {"use": "models", "declared": MODELS}
    other = stage_campaign({"a.csv": export}, judges=judges, sources=sources)
    assert fates(other) == {"used": 30, "measured": 60, "adjudication": 2}


def test_names_of_models_are_published_and_those_of_people_are_not(build_campaign):
    people = HUMAN.replace("ann", "ann.smith")
    built = build_campaign({"a.csv": people, "b.csv": MODEL}, judges=MODELS)
    assert names_of(built, "judgments") >= {"gpt-4o"}
    assert built.publication.release.manifest["settings"]["judges"][0]["name"] == "gpt-*"
    for page in built.publication.release.folder.iterdir():
        if page.suffix in (".json", ".md", ".html"):
            assert "ann.smith" not in page.read_text(encoding="utf-8"), page.name


VERSIONS = "item,judge,label,version,prompt,t\n" + "".join(
    f"i{n:02},gpt-4o,x,{'0613' if n < 10 else '1106'},Is it x?,0.7\n" for n in range(20)
)


def test_a_version_that_changes_within_an_export_is_another_judge(stage_campaign):
    fields = {name: name for name in ("item", "judge", "label")}
    fields |= {"judge_version": "version", "judge_prompt": "prompt", "judge_temperature": "t"}
    built = stage_campaign(
        {"a.csv": VERSIONS}, judges=[{"name": "gpt-4o", "kind": "model"}],
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    )  # fmt: skip
    sha = hashlib.sha256(b"Is it x?").hexdigest()[:12]
    rows = {row["judge"]: row for row in built.rows("judges")}
    assert [*rows] == [
        f"gpt-4o (version {version}, prompt {sha}, temperature 0.7)" for version in ("0613", "1106")
    ]
    for row, version in zip(rows.values(), ("0613", "1106"), strict=True):
        shown = row["model"], row["version"], row["prompt_hash"], row["temperature"]
        assert shown == ("gpt-4o", version, sha, 0.7)
        assert row["n_judgments"] == 10


@pytest.mark.slow
def test_people_without_a_version_keep_their_names(stage_campaign):
    export = VERSIONS + "i01,ann,x,,,\n"
    fields = {name: name for name in ("item", "judge", "label")} | {"judge_version": "version"}
    fields["judge_temperature"] = {"column": "t", "map": {"0.7": ""}, "else": ""}
    built = stage_campaign(
        {"a.csv": export}, judges=MODELS, privacy={"pseudonymize": False},
        sources=[{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    )  # fmt: skip
    expected = {"ann", "gpt-4o (version 0613)", "gpt-4o (version 1106)"}
    assert names_of(built, "judgments") == expected


def test_a_declared_version_is_part_of_the_name(stage_campaign):
    declared = [{"name": "gpt-4o", "kind": "model", "version": "1106", "prompt": "p1"}]
    built = stage_campaign(BOTH, judges=declared)
    [model] = [row for row in built.rows("judges") if row["kind"] == "model"]
    assert model["judge"] == f"gpt-4o (version 1106, prompt {prompt_hash('p1')})"
    assert (model["model"], model["version"]) == ("gpt-4o", "1106")


def test_a_table_names_the_judges(tmp_path):
    path = write_small_campaign(tmp_path / "campaign", BOTH, judges={"table": "judges.csv"})
    (path / "judges.csv").write_text("judge,kind,family\ngpt-4o,model,gpt\nann,,\n")
    [model, person] = load_campaign(path).settings.judges.declared
    assert (model.name, model.kind, model.family) == ("gpt-4o", "model", "gpt")
    assert (person.name, person.kind) == ("ann", "human")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("name,kind\nx,model\n", "judge is required"),
        ("judge,kind\nx,robot\n", "human, model"),
        ("judge,kind\nx,model\nx,model\n", "keep one"),
        ("judge,kind,temperature\nx,model,warm\n", "temperature is not a number"),
        ("judge,kind\nx,model,1\n", "more or fewer cells"),
        ("judge,version\nx,1\n", "belong to kind: model"),
        (None, "does not exist"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, table, says):
    path = write_small_campaign(tmp_path / "campaign", BOTH, judges={"table": "judges.csv"})
    if table is not None:
        (path / "judges.csv").write_text(table)
    with pytest.raises(ConfigError) as error:
        load_campaign(path)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("judges", "says"),
    [
        ({"use": "models", "declared": [{"name": "a"}]}, "needs an entry of declared"),
        ({"use": "people"}, "humans, models, all"),
        ([{"name": "a", "version": "1"}], "version belong to kind: model"),
        ([{"name": "a", "knd": "model"}], "judges.0.knd"),
        ({"declare": []}, "did you mean declared?"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, judges, says):
    with pytest.raises(ConfigError) as error:
        load_campaign(write_small_campaign(tmp_path / "campaign", BOTH, judges=judges))
    assert says in str(error.value)


def test_use_can_be_set_beside_a_list(tmp_path):
    path = write_small_campaign(tmp_path / "campaign", BOTH, judges=MODELS)
    judges = load_campaign(path, sets=["judges.use=all"]).settings.judges
    assert judges.use == "all"
    assert judges.has_models


@pytest.mark.slow
def test_names_that_already_say_a_version_stay_apart(stage_campaign):
    other = MODEL.replace("gpt-4o", "gpt-4o (version 1)")
    third = MODEL.replace("gpt-4o", "gpt-4o (version 2)")
    declared = [{"name": "gpt-*", "kind": "model", "version": "1"}]
    built = stage_campaign(
        {"a.csv": HUMAN, "b.csv": MODEL, "c.csv": other, "d.csv": third}, judges=declared
    )
    models = [row for row in built.rows("judges") if row["kind"] == "model"]
    assert len({row["judge"] for row in models}) == 3
    assert {row["model"] for row in models} == {"gpt-4o"}
