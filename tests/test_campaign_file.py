"""campaign.yaml: what it may say, and what is said of what it may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError

MINIMAL = """
campaign: small
sources:
- {path: "*.csv", format: csv, fields: {item: i, judge: j, label: l}}
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "campaign.yaml"
        path.write_text(text)
        return path

    return write


def problems(path: Path, **options) -> dict[str, str]:
    with pytest.raises(ConfigError) as error:
        load_campaign(path, **options)
    assert error.value.exit_status == 2
    return {p.where: f"{p.what} | {p.allowed} | {p.do}" for p in error.value.problems}


def test_defaults(write):
    settings = load_campaign(write(MINIMAL)).settings
    assert settings.dawid_skene_params.start == "diagonal"
    assert settings.seed == 17
    assert settings.privacy.pseudonymize


def test_of_two_lists_under_one_key_both_count(write):
    more = "- {path: b.csv, format: csv, fields: {item: i, judge: j, label: l}}\n"
    twice = {"line 5": 'the key "sources" is given twice |  | join the two lists under one key'}
    assert problems(write(f"{MINIMAL}sources:\n{more}")) == twice
    once = problems(write(f"{MINIMAL}seed: 1\nseed: 2\n"))
    assert once["line 6"].endswith("keep one of the two")


@pytest.mark.parametrize(("because", "is_refused"), [("...", True), ("-", True), ("明白", False)])
def test_dots_are_no_reason_to_exclude_an_export(write, because, is_refused):
    text = MINIMAL.replace("{path:", '{exclude: [{digest: 0123456789ab, because: "%s"}], path:')
    path = write(text % because)
    if is_refused:
        [what] = problems(path).values()
        assert what.startswith("gives no reason")
    else:
        load_campaign(path)


def test_settings_are_frozen(write):
    with pytest.raises(ValueError, match="frozen"):
        load_campaign(write(MINIMAL)).settings.seed = 3


def test_yaml_1_2(write):
    text = MINIMAL + "dawid_skene: {smoothing: 1e-8}\ntasks: [{name: x, labels: [yes, no, on]}]\n"
    settings = load_campaign(write(text)).settings
    assert settings.dawid_skene_params.smoothing == 1e-8
    assert settings.tasks[0].labels == ("yes", "no", "on")


def test_a_folder_stands_for_its_file_and_paths_start_there(write, tmp_path):
    write(MINIMAL + "store: ../store\n")
    loaded = load_campaign(tmp_path)
    assert loaded.file == tmp_path / "campaign.yaml"
    assert loaded.store == tmp_path.parent / "store"


@pytest.mark.parametrize(
    ("text", "where", "likely"),
    [
        ("sorces: []", "sorces", "sources"),
        ("dawid_skene: {smothing: 1}", "dawid_skene.smothing", "smoothing"),
        ("quality: {tset: none}", "quality.tset", "test"),
        ("privacy: {pseudonymise: true}", "privacy.pseudonymise", "pseudonymize"),
        ("tasks: [{nmae: x}]", "tasks.0.nmae", "name"),
        ("easl: {gama: 1}", "easl.gama", "gamma"),
    ],
)
def test_an_unknown_key_names_its_path_and_the_likely_key(write, text, where, likely):
    actual = problems(write(MINIMAL + text))
    assert actual[where].startswith("unknown key")
    assert f"did you mean {likely}?" in actual[where]


@pytest.mark.parametrize(
    ("fields", "where", "said"),
    [
        ("{itm: i, judge: j, label: l}", "sources.0.fields.itm", "did you mean item?"),
        ("{item: {colum: i}, judge: j, label: l}", "sources.0.fields.item.colum", "column?"),
        ("{item: i, label: l}", "sources.0", "fields needs judge"),
        ("{item: i, judge: j}", "sources.0", "fields needs an answer"),
        ("{judge: j, label: l}", "sources.0", "fields needs what was judged"),
        ("{item_a: i, judge: j, preference: l}", "sources.0", "item_a and item_b go together"),
        ("{item: {capture: '(x)'}, judge: j, label: l}", "sources.0.fields.item.capture",
         "no named group"),
        ("{item: {capture: '(?P<other>x)'}, judge: j, label: l}", "sources.0.fields",
         "item: the regex has no group named item (its groups: other)"),
        ("{item: {column: i, match: '('}, judge: j, label: l}", "sources.0.fields.item",
         "not a regular expression"),
        ("{item: {column: i, map: {'~(': x}}, judge: j, label: l}", "sources.0.fields.item",
         "not a regular expression"),
        ("{item: {column: i, else: x}, judge: j, label: l}", "sources.0.fields.item",
         "else needs match or map"),
        ("{item: {value: 3}, judge: j, label: l}", "sources.0.fields.item.value", '"3"'),
        ("{item_a: a, item_b: b, judge: j, label: l}", "sources.0", "label is about one item"),
        ("{item: {join: []}, judge: j, label: l}", "sources.0.fields.item.join", "is empty"),
    ],
)  # fmt: skip
def test_fields(write, fields, where, said):
    text = f"campaign: c\nsources:\n- {{path: a, format: csv, fields: {fields}}}\n"
    assert said in problems(write(text))[where]


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("dawid_skene: {smoothing: -1}", "dawid_skene", "smoothing must be a count >= 0"),
        ("dawid_skene: {start: vote}", "dawid_skene.start", "did you mean votes?"),
        ("dawid_skene: {max_iterations: 2.5}", "dawid_skene.max_iterations", "integer"),
        ("seed: yes", "seed", "integer"),
        ("seed: -1", "seed", "greater than or equal to 0"),
        ("tasks: [{name: a, labels: [1]}]", "tasks.0.labels.0", 'put it in quotes: "1"'),
        ("tasks: [{name: a, labels: [x, x]}]", "tasks.0.labels", "named twice: x"),
        ("tasks: [{name: a, kind: categoric}]", "tasks.0.kind", "did you mean categorical?"),
        ("owners: 2024-01-01", "owners", "quotes"),
        ("schedule: {cron: nightly}", "schedule.cron", "match"),
        ("schedule: {timezone: Mars/Base}", "schedule.timezone", "unknown time zone"),
        ("owners: [bob]", "owners", "neither team:NAME nor an e-mail address"),
        ("tasks: [{name: a, scale: [100, 0]}]", "tasks.0.scale", "is not ascending"),
        ("resources: {threads: 100000}", "resources.threads", "1024"),
        ("gold: ftp://host/x", "gold", "one of s3://, gs://, az://"),
        ("gold: s3://me:secret@bucket/x", "gold", "credentials come from the environment"),
        ("gold: s3://", "gold", "write s3://BUCKET/FOLDER"),
        ("gold: s3://bucket/../x", "gold", "write s3://BUCKET/FOLDER"),
        ("gold: s3://bucket/x?y=1", "gold", "write s3://BUCKET/FOLDER"),
        ("resources: {memory_limit: lots}", "resources.memory_limit", "match"),
        ("dawid_skene: {model: mace}", "dawid_skene.model", "unknown key"),
        (
            "labels: {certain_at: 0.5}",
            "labels.certain_at",
            "'0.5' is not allowed: write a probability above 0.5 and below 1, such as 0.95",
        ),
        ("labels: {certain_at: 1}", "labels.certain_at", "'1' is not allowed: write a probability"),
        ("labels: {certain_at: .nan}", "labels.certain_at", "'nan' is not allowed: write"),
        ("labels: {certain_at: true}", "labels.certain_at", "'True' is not allowed: write"),
        ("labels: {certain_at: high}", "labels.certain_at", "'high' is not allowed: write a"),
        ("judges: [{name: gpt, kind: bot}]", "judges.0.kind", "human, model"),
        ("judges: [{name: a, family: ''}]", "judges.0.family", "at least 1 character"),
        (
            "label_model: hierarchic",
            "label_model",
            "is not a label model; allowed: dawid_skene, one_coin",
        ),
    ],
)
def test_values(write, text, where, said):
    assert said in problems(write(MINIMAL + text))[where]


def test_a_number_or_a_word_is_one_problem(write):
    actual = problems(write(MINIMAL + "ranking: {regularize: half}\nresources: {threads: two}\n"))
    assert set(actual) == {"ranking.regularize", "resources.threads"}


def test_all_problems_come_at_once(write):
    actual = problems(write(MINIMAL + "seed: x\nquality: {alpha: 2}\nsorces: 1\n"))
    assert set(actual) == {"seed", "quality.alpha", "sorces"}


def test_set_wins_over_the_file(write):
    path = write(MINIMAL)
    settings = load_campaign(
        path, sets=["dawid_skene.start=votes", "seed=4", "sources.0.fields.label=other"]
    ).settings
    assert settings.dawid_skene_params.start == "votes"
    assert settings.seed == 4
    assert settings.sources[0].fields["label"].column == "other"
    assert "did you mean seed?" in problems(path, sets=["sed=4"])["sed"]
    for bad in ("seed", "sources.9.path=x", "sources.0.path.x=1"):
        with pytest.raises(ConfigError, match="--set"):
            load_campaign(path, sets=[bad])


def test_overrides_replace_top_level_keys(write):
    settings = load_campaign(write(MINIMAL), overrides={"seed": 9}).settings
    assert settings.seed == 9


def test_every_campaign_of_the_contract_is_read(shared_campaigns):
    paths = sorted(shared_campaigns.glob("*.yaml"))
    assert len(paths) >= 9
    for path in paths:
        assert load_campaign(path).settings.sources


def test_escapes_of_json_are_one_character(write):
    text = MINIMAL + 'tasks: [{name: "\\ud83d\\ude00 a\\u00e9"}]\n'
    assert load_campaign(write(text)).settings.tasks[0].name == "\U0001f600 a\u00e9"


@pytest.mark.parametrize("text", ['owners: ["\\ud83d"]\n', 'owners: ["x\\ude00\\ud83d"]\n'])
def test_half_a_character_is_refused(write, text):
    with pytest.raises(ConfigError) as error:
        load_campaign(write(MINIMAL + text))
    assert "half a character" in str(error.value)


def test_aliases_that_stand_for_millions_of_values_are_refused(write):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    with pytest.raises(ConfigError, match="too large") as error:
        load_campaign(write(MINIMAL + "\n".join(lines)))
    assert "aliases" in str(error.value)


def test_an_alias_that_holds_itself_is_refused(write):
    actual = problems(write(MINIMAL + "tasks: &t [*t]\n"))
    assert "an alias contain itself" in next(iter(actual.values()))


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "device", "dangling link"])
@pytest.mark.parametrize("by_folder", [True, False])
def test_a_campaign_is_an_ordinary_file(tmp_path, kind, by_folder):
    file = tmp_path / "campaign.yaml"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        file.symlink_to("pipe")
    elif kind == "device":
        file.symlink_to("/dev/null")
    else:
        file.symlink_to("gone.yaml")
    with pytest.raises(ConfigError, match="no campaign file") as error:
        load_campaign(tmp_path if by_folder else file)
    what = error.value.problems[0].what
    assert ("not a regular file" in what) == (kind != "dangling link")
    assert ("a link to gone.yaml, which does not exist" in what) == (kind == "dangling link")


def test_a_file_of_megabytes_is_no_campaign(write):
    with pytest.raises(ConfigError, match="not a campaign file"):
        load_campaign(write(MINIMAL + "#" * (5 << 20)))


@pytest.mark.parametrize("each", ["{i: 0..99999999}", "{i: 0..999, k: 0..999}", "{i: 0..100000}"])
def test_each_makes_so_many_records_of_a_row_and_no_more(write, each):
    text = MINIMAL.replace("fields:", f"each: {each}, fields:")
    (what,) = problems(write(text)).values()
    assert "records of each row; 100,000 are allowed" in what
