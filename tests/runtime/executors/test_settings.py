"""What campaign.yaml may say of the engine."""

from __future__ import annotations

import pytest

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError

CAMPAIGN = """\
campaign: c
sources:
- path: a.csv
  format: csv
  fields: {item: item, judge: judge, label: label}
"""


@pytest.fixture
def engine(tmp_path):
    def of(text, *sets):
        (tmp_path / "campaign.yaml").write_text(CAMPAIGN + text)
        return load_campaign(tmp_path / "campaign.yaml", sets=sets).settings.engine

    return of


def test_names_of_spark_may_be_nested(engine):
    text = (
        "engine:\n  kind: spark\n  config:\n    spark.executor.memory: 2g\n"
        "    spark: {executor: {cores: 1}, ui.enabled: false}\n"
    )
    config = {
        "spark.executor.memory": "2g",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
    }
    assert engine(text).config == config
    more = engine(text, "engine.config.spark.task.cpus=2", "engine.master=local[2]")
    assert more.config == config | {"spark.task.cpus": "2"}
    assert more.master == "local[2]"
    assert engine("").kind == "local"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("engine: {kind: dask}\n", "engine.kind"),
        ("engine: {master: 'local[2]'}\n", "master and config need kind: spark"),
        ("engine: {kind: spark, config: {spark.a: [1]}}\n", "engine.config.spark.a"),
        ("engine: {kind: spark, config: none}\n", "engine.config"),
        ("engine: {kind: spark, wait_seconds: 0}\n", "engine.wait_seconds"),
        ("engine: {kind: spark, config: {foo: 1, spark.a: 1}}\n", "do not begin with spark.: foo"),
        ("engine: {kind: spark, config: {spark.master: yarn}}\n", "is set by engine.master"),
        ("store: s3://bucket/store\n", "store: the store is a folder"),
    ],
)
def test_what_is_not_allowed_is_said(engine, text, says):
    with pytest.raises(ConfigError, match=says):
        engine(text)


@pytest.mark.parametrize(
    "master",
    [
        "local", "local[4]", "local[*]", "local[2,3]", "local-cluster[2,1,1024]", "yarn",
        "spark://a.example:7077", "spark://a:7077,b:7078", "spark://[::1]:7077",
        "k8s://https://a:6443", "sc://a", "sc://a:443/;x-databricks-cluster-id=1",
    ],
)  # fmt: skip
def test_masters_of_spark(engine, master):
    assert engine("", "engine.kind=spark", f"engine.master={master}").master == master


def test_a_day_without_the_cluster(engine):
    text = "engine: {kind: spark, master: 'spark://a:7077', config: {spark.task.cpus: 2}}\n"
    assert engine(text, "engine.kind=local").kind == "local"


@pytest.mark.parametrize(
    "master",
    [
        "local[x]",
        "local[0]",
        "local[]",
        "http://a",
        "spark://a",
        "sc://",
        "k8s://",
        "Local",
        "a:7077",
    ],
)
def test_other_masters_are_refused_before_java_is(engine, master):
    with pytest.raises(ConfigError, match=r"engine.master: .* is not a Spark master; write local"):
        engine("", "engine.kind=spark", f"engine.master={master}")


def test_a_token_belongs_in_the_environment(engine):
    with pytest.raises(ConfigError, match="set SPARK_REMOTE") as error:
        engine("", "engine.kind=spark", "engine.master=sc://a:443/;user_id=u;token=abcdef")
    assert "abcdef" not in str(error.value)
