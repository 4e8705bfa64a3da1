"""What campaign.yaml may say of the engine."""

from __future__ import annotations

import pytest

from annot_pipeline.campaign_file import load_campaign
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
        ("engine: {master: 'local[2]'}\n", "master and config belong to kind: spark"),
        ("engine: {kind: spark, config: {spark.a: [1]}}\n", "engine.config.spark.a"),
        ("engine: {kind: spark, config: none}\n", "engine.config"),
    ],
)
def test_what_is_not_allowed_is_said(engine, text, says):
    with pytest.raises(ConfigError, match=says):
        engine(text)
