"""The component: in a project's defs folder, with errors in our words, scaffolded, light."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import dagster as dg
import pytest
from dagster.components.testing.utils import create_defs_folder_sandbox

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.stages.ingest.present_exports import present_exports
from assets_defs import JudgmentCampaign, build_definitions, campaign_assets
from assets_defs.scaffold import campaign_name, data_folder
from tests.assets_defs.campaigns import ROWS, write_campaign

pytestmark = [
    pytest.mark.filterwarnings(  # dagster's own reading of defs.yaml
        "ignore:.*parse_obj_as:pydantic.warnings.PydanticDeprecatedSince20"
    ),
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]


def keys(definitions: dg.Definitions) -> set[str]:
    return {spec.key.to_user_string() for spec in definitions.resolve_all_asset_specs()}


def load(*attributes: dict[str, Any]) -> set[str]:
    """Keys of a project with these instances."""
    with create_defs_folder_sandbox() as sandbox:
        for number, given in enumerate(attributes):
            sandbox.scaffold_component(
                component_cls=JudgmentCampaign,
                defs_path=f"campaign_{number}",
                defs_yaml_contents={"type": "assets_defs.JudgmentCampaign", "attributes": given},
            )
        with sandbox.build_all_defs() as definitions:
            dg.Definitions.validate_loadable(definitions)
            return keys(definitions)


def test_the_component_builds_the_same_definitions(tmp_path):
    campaign = write_campaign(tmp_path / "small")
    assert load({"campaign": str(campaign)}) == keys(build_definitions(campaign))


def test_several_instances_in_one_project(tmp_path):
    campaign = str(write_campaign(tmp_path / "small"))
    other = {"campaign": "other", "store": "store2", "gold": "gold2"}
    actual = load({"campaign": campaign}, {"campaign": campaign, "overrides": other})
    assert {"small/release", "other/release"} <= actual


@pytest.fixture
def files_by_key(monkeypatch):
    """None is loaded yet, as in the process of a code location."""
    monkeypatch.setattr(campaign_assets, "FILES", defaultdict(dict))


@pytest.mark.usefixtures("files_by_key")
def test_the_same_campaign_twice_is_an_error_that_names_it(tmp_path):
    campaign = str(write_campaign(tmp_path / "small"))
    with pytest.raises(Exception, match="Error while building definitions") as error:
        load({"campaign": campaign}, {"campaign": campaign})
    said = str(error.value.__cause__)
    assert f"of the campaigns {campaign}/campaign.yaml: give one another name" in said


@pytest.mark.usefixtures("files_by_key")
def test_two_campaigns_of_one_name_are_refused_by_both_files(tmp_path):
    files = [write_campaign(tmp_path / folder / "small") for folder in ("one", "two")]
    definitions = [build_definitions(file) for file in files]
    names = " and ".join(f"{file}/campaign.yaml" for file in files)
    with pytest.raises(dg.DagsterInvariantViolationError) as error:
        dg.Definitions.merge(*definitions)
    assert f"{names}: give one another name (campaign), and a store and gold" in str(error.value)
    other = build_definitions(files[1], campaign="other", store="store2", gold="gold2")
    merged = dg.Definitions.merge(definitions[0], other)
    assert {"small/release", "other/release"} <= keys(merged)
    with pytest.raises(Exception, match="Error while building definitions") as raised:
        load(*({"campaign": str(file)} for file in files))
    assert f"{names}: give one another name" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"campaign": "nowhere"}, "nowhere: no campaign file"),
        ({"overrides": {"schdule": {}}}, "schdule: unknown key"),
        ({"overrides": {"quality": {"test": "nope"}}}, "quality.test: 'nope' is not allowed"),
        ({"overrides": {"campaign": 3}}, "campaign: 3 is not a string"),
        ({"on_failure": "no.such:function"}, "package.module:function"),
    ],
)
def test_what_is_wrong_is_said_in_our_words(tmp_path, given, said):
    campaign = str(write_campaign(tmp_path / "small"))
    with pytest.raises(Exception, match="Error while building definitions") as error:
        load({"campaign": campaign} | given)
    cause = error.value.__cause__
    assert said in str(cause)
    assert "do:" in str(cause) or "allowed:" in str(cause)
    assert cause.__suppress_context__  # nothing of pydantic's stands above


def test_attributes_are_documented():
    properties = JudgmentCampaign.get_model_cls().model_json_schema()["properties"]
    assert set(properties) == {
        "campaign", "overrides", "on_failure", "on_recovery", "key_prefix", "group_name", "tags",
        "owners", "translation",
    }  # fmt: skip
    own = [attribute for name, attribute in properties.items() if name != "translation"]
    assert all(len(attribute["description"]) > 20 for attribute in own)


def test_layout_and_owners_of_an_instance(tmp_path):
    attributes = {
        "campaign": str(write_campaign(tmp_path / "small")), "key_prefix": ["human", "eval"],
        "group_name": "evaluation", "tags": {"tier": "gold"}, "owners": ["team:other"],
        "translation": {"key": "{{ spec.key.to_user_string() }}_x", "tags": {"extra": "1"}},
    }  # fmt: skip
    with create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(
            component_cls=JudgmentCampaign,
            defs_path="one",
            defs_yaml_contents={"type": "assets_defs.JudgmentCampaign", "attributes": attributes},
        )
        with sandbox.build_all_defs() as definitions:
            dg.Definitions.validate_loadable(definitions)
            specs = {s.key.to_user_string(): s for s in definitions.resolve_all_asset_specs()}
    labels = specs["human/eval/small/gold/labels_x"]
    assert labels.group_name == "evaluation"
    assert labels.tags | {"tier": "gold", "extra": "1"} == labels.tags
    assert labels.owners == ["team:other"]
    upstream = specs["/".join(["human", "eval", "small", "work", "labels_x"])]
    assert upstream.group_name == "evaluation_work"
    assert upstream.key in {dep.asset_key for dep in labels.deps}


HEAVY = ("annot_pipeline", "numpy", "pandas", "pyarrow", "duckdb", "scipy", "great_expectations")


def test_the_entry_point_loads_dagster_alone():
    code = (
        "import sys, assets_defs; print(assets_defs.JudgmentCampaign.get_spec().tags);"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@pytest.mark.slow
def test_all_works_where_dagster_alone_is_installed():
    """Neither the web server nor dg, which are extras."""
    code = (
        "import sys\n"
        "for name in ('dagster_webserver', 'dagster_dg_cli', 'dagster_dg_core', 's3fs'):\n"
        "    sys.modules[name] = None\n"
        "import examples.definitions, dagster\n"
        "dagster.Definitions.validate_loadable(examples.definitions.defs)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=root
    )
    assert done.returncode == 0, done.stderr


def test_what_is_lazy_is_there():
    import assets_defs

    assert {getattr(assets_defs, name).__name__ for name in assets_defs.__all__} == {
        "FailedBuild", "JudgmentCampaign", "RecoveredBuild", "build_definitions",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = assets_defs.nothing


def test_what_is_scaffolded_loads():
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=JudgmentCampaign, defs_path="Röd-2")
        campaign = load_campaign(path)
        name = campaign.settings.campaign
        for folder in (campaign.store, campaign.gold):  # data lies outside the code
            assert not folder.is_relative_to(sandbox.defs_folder_path)
        data = campaign.store.parent
        assert (data / "exports").is_dir()
        assert (data / ".gitignore").read_text().endswith("*\n")
        assert str(path) not in (path / "campaign.yaml").read_text()
        with sandbox.build_all_defs() as definitions:
            assert f"{name}/release" in keys(definitions)


def test_scaffolding_guesses_from_exports_and_keeps_a_file_that_is_there(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("text_id,worker,answer\n" + ROWS)
    params = {"exports": str(tmp_path / "in")}
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=JudgmentCampaign, defs_path="sentiment", scaffold_params=params
        )
        settings = load_campaign(path).settings
        assert settings.campaign == "sentiment"
        assert settings.sources[0].fields["judge"].column == "worker"
        assert settings.store.endswith("data/sentiment/store")
        (path / "campaign.yaml").write_text("campaign: mine\nsources: []\n")
        sandbox.scaffold_component(component_cls=JudgmentCampaign, defs_path="sentiment")
        assert (path / "campaign.yaml").read_text().startswith("campaign: mine")


@pytest.mark.parametrize("exports", ["", "a.csv", "a*.csv", "*"])
def test_exports_outside_of_the_project_are_linked_and_named_portably(tmp_path, exports):
    """A path of this machine stands in the link alone, which is not in git."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("text_id,worker,answer\n" + ROWS)
    (folder / "b.csv").write_text("text_id,worker,answer\n" + ROWS)
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=JudgmentCampaign, defs_path="sentiment",
            scaffold_params={"exports": str(folder / exports)},
        )  # fmt: skip
        assert str(tmp_path) not in (path / "campaign.yaml").read_text()
        campaign = load_campaign(path)
        [source] = campaign.settings.sources
        pattern = exports if "*" in exports else exports or "*.csv"
        assert source.path.endswith(f"data/sentiment/exports/{pattern}")
        names = {name.rpartition("/")[2] for _, name, _ in present_exports(campaign)}
        assert names == ({"a.csv"} if "a" in exports else {"a.csv", "b.csv"})
        moved = tmp_path / "moved"
        folder.rename(moved)
        link = campaign.store.parent / "exports"
        link.unlink()
        link.symlink_to(moved)
        assert present_exports(load_campaign(path)) == present_exports(campaign)


def test_a_glob_in_the_project_stays_as_it_was_given(monkeypatch):
    with create_defs_folder_sandbox() as sandbox:
        root = data_folder(sandbox.defs_folder_path / "sentiment").parents[1]
        (root / "in").mkdir()
        (root / "in" / "a 1.csv").write_text("text_id,worker,answer\n" + ROWS)
        monkeypatch.chdir(root)
        path = sandbox.scaffold_component(
            component_cls=JudgmentCampaign, defs_path="sentiment",
            scaffold_params={"exports": "in/a*.csv"},
        )  # fmt: skip
        campaign = load_campaign(path)
        assert campaign.settings.sources[0].path.endswith("../in/a*.csv")
        assert len(present_exports(campaign)) == 1
        assert not (campaign.store.parent / "exports").is_symlink()


def test_exports_that_cannot_be_guessed_from_leave_no_folder(tmp_path):
    with create_defs_folder_sandbox() as sandbox:
        with pytest.raises(click.ClickException, match="no such file or folder"):
            sandbox.scaffold_component(
                component_cls=JudgmentCampaign,
                defs_path="sentiment",
                scaffold_params={"exports": str(tmp_path / "nothing")},
            )
        assert not (sandbox.defs_folder_path / "sentiment").exists()


def test_what_columns_do_not_say_is_an_option_of_the_same_command(tmp_path):
    """It was one of `annot init`, which writes another folder than the component's."""
    rows = [f"{i},w{j},{'ab'[i % 2]},{'cd'[j % 2]}" for i in range(20) for j in range(3)]
    (tmp_path / "a b.csv").write_text("\n".join(["q,u1,v,x", *rows, ""]))
    params = {"exports": str(tmp_path / "a b.csv")}
    with create_defs_folder_sandbox() as sandbox:
        with pytest.raises(click.ClickException, match="no column says who judged") as error:
            sandbox.scaffold_component(
                component_cls=JudgmentCampaign, defs_path="of/team", scaffold_params=params
            )
        scaffold = "do:      dg scaffold defs assets_defs.JudgmentCampaign of/team --exports"
        assert f"{scaffold} '{tmp_path}/a b.csv' --judge " in error.value.message
        params |= {"judge": "u1", "item": "q", "label": "v"}
        path = sandbox.scaffold_component(
            component_cls=JudgmentCampaign, defs_path="of/team", scaffold_params=params
        )
        campaign = load_campaign(path)
        assert campaign.settings.sources[0].fields["judge"].column == "u1"
        assert campaign.settings.campaign == "team"
        assert len(present_exports(campaign)) == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [("My-Toxicity 2", "my_toxicity_2"), ("2nd", "campaign_2nd"), ("日本", "campaign")],
)
def test_names_of_campaigns(text, name):
    assert campaign_name(text) == name
