"""Names of language models among judges become entries of ``judges``."""

from __future__ import annotations

import json

import pytest
from ruamel.yaml import YAML

from annot_pipeline.cli import main
from annot_pipeline.config.judges import MODEL_NAME, model_families
from annot_pipeline.init.campaign import guess_campaign


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o", "openai"), ("GPT4", "openai"), ("openai/gpt-3.5-turbo", "openai"),
        ("o3-mini", "openai"), ("claude-3-opus-20240229", "anthropic"),
        ("anthropic.claude-v2", "anthropic"), ("gemini-1.5-pro", "google"),
        ("meta-llama/Llama-3-70b", "meta"), ("mixtral-8x7b", "mistral"), ("Qwen2-72B", "qwen"),
        ("deepseek-chat", "deepseek"), ("model_graded_qa", "other"), ("llm-judge", "other"),
        ("claude-judge", "other"),
        ("claude_grader", "other"), ("phi-4", "microsoft"), ("nova-pro", "amazon"),
        ("autorater", "other"), ("JudgeLM-7b", "other"),
    ],
)  # fmt: skip
def test_names_of_models(name, family):
    match = MODEL_NAME.search(name)
    assert match is not None
    assert match.lastgroup == family


@pytest.mark.parametrize(
    "name",
    [
        "claude",
        "Claude Monet",
        "ann",
        "w-4711",
        "bard",
        "egpt",
        "gpt",
        "tom3",
        "grok",
        "sophi-1",
        "nova",
    ],
)
def test_names_of_people(name):
    assert MODEL_NAME.search(name) is None


@pytest.mark.parametrize(
    ("names", "families"),
    [
        (["claude", "gpt-4o", "ann"], {"claude": "anthropic", "gpt-4o": "openai"}),
        (["gpt", "Claude", "llama", "gemini"],
         {"gpt": "openai", "Claude": "anthropic", "llama": "meta", "gemini": "google"}),
        (["gpt", "grok"], {"gpt": "openai", "grok": "xai"}),
        (["claude", "ann"], {}), (["Claude", "Nova"], {}), (["gpt"], {}),
        (["gpt-4", "Claude Monet", "sophi"], {"gpt-4": "openai"}),
    ],
)  # fmt: skip
def test_names_without_a_version_are_models_beside_models(names, families):
    assert model_families(names) == families


def test_names_without_a_version_beside_declared_models():
    assert model_families(["claude", "our-judge"], has_models=True) == {"claude": "anthropic"}


def test_bare_names_become_entries(tmp_path):
    judges = ("gpt-4o", "claude", "ann")
    rows = [f"i{n},{judge},{'xy'[n % 2]}\n" for n in range(6) for judge in judges]
    (tmp_path / "answers.csv").write_text("item,judge,label\n" + "".join(rows))
    document = YAML(typ="safe").load(guess_campaign([tmp_path / "answers.csv"], tmp_path))
    assert document["judges"] == [
        {"name": "claude", "kind": "model", "family": "anthropic"},
        {"name": "gpt-4o", "kind": "model", "family": "openai"},
    ]


def test_a_column_of_people_and_models(tmp_path):
    rows = [f"i{n},{judge},{'xy'[n % 2]}\n" for n in range(6) for judge in ("ann", "ben", "gpt-4o")]
    (tmp_path / "answers.csv").write_text("item,judge,label\n" + "".join(rows))
    text = guess_campaign([tmp_path / "answers.csv"], tmp_path)
    document = YAML(typ="safe").load(text)
    assert document["judges"] == [{"name": "gpt-4o", "kind": "model", "family": "openai"}]
    (tmp_path / "campaign.yaml").write_text(text)
    assert main(["validate", str(tmp_path)]) == 0
    assert "judges" not in YAML(typ="safe").load(guess_campaign([_people(tmp_path)], tmp_path))


def _people(folder):
    path = folder / "people.csv"
    path.write_text("item,judge,label\n" + "".join(f"i{n},ann,x\ni{n},ben,y\n" for n in range(4)))
    return path


def test_scorers_of_inspect(tmp_path):
    samples = [
        {
            "id": n,
            "epoch": 1,
            "scores": {"model_graded_qa": {"value": "C"}, "match": {"value": "I"}},
        }
        for n in range(5)
    ]
    document = {"version": 2, "eval": {"model": "m"}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(document))
    document = YAML(typ="safe").load(guess_campaign([tmp_path / "log.json"], tmp_path))
    assert document["judges"] == [{"name": "model_graded_qa", "kind": "model"}]


def both(folder, judge, names=("human.csv", "llm.csv")):
    people = [f"i{n},{who},{'xy'[n % 2]}\n" for n in range(30) for who in ("ann", "ben")]
    models = [f"i{n},{who},{'xy'[n % 3 == 0]}\n" for n in range(40) for who in ("gpt-4o", "phi-4")]
    (folder / names[0]).write_text("item_id,annotator,label\n" + "".join(people))
    (folder / names[1]).write_text(f"item_id,{judge},label\n" + "".join(models))
    paths = [folder / name for name in names]
    return YAML(typ="safe").load(guess_campaign(paths, folder))


@pytest.mark.parametrize("judge", ["annotator", "model", "model_name", "judge_model"])
def test_answers_of_models_are_no_truth_and_no_other_task(tmp_path, judge):
    document = both(tmp_path, judge)
    assert "items" not in document
    assert not any("task" in source["fields"] for source in document["sources"])
    assert [entry["name"] for entry in document["judges"]] == ["gpt-4o", "phi-4"]
    mapped = {source["fields"]["judge"] for source in document["sources"]}
    assert mapped == {"annotator", judge}


def test_other_names_of_files_leave_it_to_the_judges(tmp_path):
    document = both(tmp_path, "annotator", ("march.csv", "april.csv"))
    assert not any("task" in source["fields"] for source in document["sources"])


def test_files_of_several_questions_are_tasks(tmp_path):
    for name in ("toxic.csv", "funny.csv"):
        rows = [f"i{n},{who},{'xy'[n % 2]}\n" for n in range(30) for who in ("ann", "gpt-4")]
        (tmp_path / name).write_text("item_id,annotator,label\n" + "".join(rows))
    paths = [tmp_path / name for name in ("toxic.csv", "funny.csv")]
    text = guess_campaign(paths, tmp_path)
    assert "task" in YAML(typ="safe").load(text)["sources"][0]["fields"]
