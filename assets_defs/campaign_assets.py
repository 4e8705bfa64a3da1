"""The assets of a campaign: which there are, their keys and specs, and the steps that make them.

A campaign has assets for what it can have: one of labels has no rankings. Stages whose tables
nobody looks at in Dagster run in the step of the next stage that has an asset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import dagster as dg
from pydantic import Field

from annot_pipeline.config import LoadedCampaign
from annot_pipeline.contracts import GOLD
from annot_pipeline.errors import ConfigError, Problem, relative_paths
from annot_pipeline.gates import GATES, RELEASE, Gate
from annot_pipeline.stages.build import STAGES, Stage
from annot_pipeline.stages.registry import MAKER
from assets_defs.freshness import freshness
from assets_defs.metadata import table_description

SHOWN = (
    "exports", "settled", "controlled", "scores", "labels", "segment_ranks", "system_rankings",
    "agreement", "judges", "judge_validation",
)  # fmt: skip
"""Tables of the store that are assets, where the campaign can have them; one a stage."""
ANSWERS = {
    "label": "categorical", "votes": "categorical", "score": "scalar", "preference": "pairwise",
    "winner": "pairwise", "strength": "pairwise", "rank_a": "pairwise", "rank": "ranking",
    "ranking": "ranking",
}  # fmt: skip
"""Kinds of the tasks that a mapped field gives answers to."""
EVERY_KIND = frozenset(ANSWERS.values())
COMPARED = frozenset({"scalar", "pairwise", "ranking"})
NEEDS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("labels", "label_distributions", "prevalence", "judge_confusion", "label_calibration"),
        frozenset({"categorical"}),
    ),
    **dict.fromkeys(
        ("scores", "segment_ranks", "system_rankings", "system_comparisons", "variance"), COMPARED
    ),
    "judge_bias": frozenset({"pairwise", "models"}),
    **dict.fromkeys(
        ("judge_validation", "validation_confusion", "estimates"), frozenset({"models"})
    ),
}
"""What a table takes, any of: a kind of task, or declared models; others every campaign has."""

Translate = Callable[[dg.AssetSpec], dg.AssetSpec]


class RunSettings(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Settings of campaign.yaml that a run overrides, as `annot build --set` takes them."""

    sets: list[str] = Field(default_factory=list)


class Step(NamedTuple):
    """Stages that run one after another, and the table that is the asset of the last."""

    table: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Layout:
    """How a project wants assets to be: what a component and `build_definitions` take.

    Parameters
    ----------
    key_prefix
        Put before each key.
    group_name
        Of gold and release; internal tables are in ``GROUP_work``. None: the campaign's name.
    tags
        Of each asset.
    translate
        Returns the spec of an asset as it shall be, key and all.
    """

    key_prefix: str | Sequence[str] = ()
    group_name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    translate: Translate | None = None


FILES = defaultdict[str, dict[str, int]](dict)
"""How often this process has loaded a campaign file, by the key of its resource."""


class CampaignKey(str):
    """Key of a campaign's resource: in Dagster's error on two of one name it names both files."""

    def __format__(self, _: str) -> str:
        if sum(FILES[self].values()) < 2:  # what Dagster writes of each run
            return str(self)
        do = "give one another name (campaign), and a store and gold of its own"
        return relative_paths(f"{self!s} (of the campaigns {' and '.join(FILES[self])}: {do})")


def _require(is_met: bool, what: str, allowed: str, where: str = "translate") -> None:
    if not is_met:
        raise ConfigError("an asset cannot be placed", [Problem(where, what, allowed)])


@dataclass(frozen=True)
class CampaignAssets:
    """The assets of a campaign in a layout."""

    campaign: LoadedCampaign
    layout: Layout = Layout()
    reload: Callable[..., LoadedCampaign] | None = None
    """Reads the campaign again with settings of a run (``sets``)."""

    @property
    def name(self) -> str:
        """Return the campaign's name."""
        return self.campaign.settings.campaign

    @property
    def settings_key(self) -> str:
        """Return the key of the resource whose run config overrides settings."""
        return f"{self.name}_settings"

    @property
    def resources(self) -> dict[str, RunSettings]:
        """Return the resource whose run config overrides settings, by a key of this campaign."""
        loads, file = FILES[self.settings_key], str(self.campaign.file)
        loads[file] = loads.get(file, 0) + 1
        return {CampaignKey(self.settings_key): RunSettings()}

    def campaign_of(self, context: dg.AssetExecutionContext) -> LoadedCampaign:
        """Return the campaign with the settings that the config of a run overrides.

        Raises
        ------
        annot_pipeline.errors.ConfigError
            A setting is wrong.
        """
        settings: RunSettings = getattr(context.resources, self.settings_key)
        if not settings.sets or self.reload is None:
            return self.campaign
        return self.reload(sets=settings.sets)

    @cached_property
    def tables(self) -> frozenset[str]:
        """Return the gold tables that the campaign can have."""
        settings = self.campaign.settings
        has = {ANSWERS[f] for source in settings.sources for f in source.fields if f in ANSWERS}
        has |= {task.kind for task in settings.tasks if task.kind}
        if any(source.format == "hits" for source in settings.sources):
            has |= EVERY_KIND
        has |= {"models"} if settings.judges.has_models else set()
        return frozenset(name for name in GOLD if NEEDS.get(name, has) & has or name not in NEEDS)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Return the steps before publication; the stages after the last run with it."""
        shown = {MAKER[t].name: t for t in SHOWN if t not in GOLD or t in self.tables}
        steps, stages = [], list[Stage]()
        for stage in STAGES:
            stages.append(stage)
            if stage.name in shown:
                steps.append(Step(shown[stage.name], tuple(stages)))
                stages = []
        return tuple(steps)

    @property
    def last_stages(self) -> tuple[Stage, ...]:
        """Return the stages that run with publication."""
        return STAGES[sum(len(step.stages) for step in self.steps) :]

    def gates(self, stages: Sequence[Stage]) -> list[Gate[Any]]:
        """Return the gates on some stages."""
        made = {table for stage in stages for table in stage.outputs}
        names = {stage.name for stage in stages}
        return [g for g in GATES if g.stage in names or (not g.stage and g.table in made)]

    def work_key(self, table: str) -> dg.AssetKey:
        """Return the key of a table of the store."""
        return self.specs["work", table].key

    def gold_key(self, table: str) -> dg.AssetKey:
        """Return the key of a published table."""
        return self.specs["gold", table].key

    @property
    def release_key(self) -> dg.AssetKey:
        """Return the key of the release."""
        return self.specs[RELEASE, ""].key

    @cached_property
    def specs(self) -> dict[tuple[str, str], dg.AssetSpec]:
        """Return the specs of all assets: of work and gold by table, and of the release."""
        group = self.layout.group_name or self.name
        _require(isinstance(group, str), f"{group!r} is no text", "a name", "group_name")
        common: dict[str, Any] = {"owners": self.campaign.settings.owners, "tags": self.layout.tags}
        of_gold: dict[str, Any] = {"group_name": group, "kinds": {"parquet"}, **common}
        of_gold["freshness_policy"] = freshness(self.campaign)
        published = "Published if contents, settings or exports changed and no gate fails; else "
        published += "the last release stays."
        specs = {
            ("work", step.table): dg.AssetSpec(
                self._key("work", step.table),
                description=f"{table_description(step.table)}\n\n{step.stages[-1].description}",
                group_name=f"{group}_work",
                kinds={"duckdb", "parquet"},
                code_version=step.stages[-1].code_version,
                **common,
            )
            for step in self.steps
        }
        specs[RELEASE, ""] = dg.AssetSpec(
            self._key(RELEASE),
            description=f"The newest release: tables, manifest, data card, report. {published}",
            code_version="1",
            **of_gold,
        )
        for table in (name for name in GOLD if name in self.tables):
            specs["gold", table] = dg.AssetSpec(
                self._key("gold", table),
                description=f"{table_description(table)} {published}",
                code_version=MAKER[table].code_version if table in MAKER else "1",
                **of_gold,
            )
        if (translate := self.layout.translate) is not None:
            rule = "a function that takes the dagster.AssetSpec of an asset and returns one"
            _require(callable(translate), f"{translate!r} cannot be called", rule)
            specs = {name: translate(spec) for name, spec in specs.items()}
        for spec in specs.values():
            _require(isinstance(spec, dg.AssetSpec), f"returned {spec!r}", "the dagster.AssetSpec")
        keys = {name: spec.key for name, spec in specs.items()}
        return {
            name: spec.merge_attributes(deps=[keys[upstream] for upstream in self._upstream(*name)])
            for name, spec in specs.items()
        }

    def _key(self, *parts: str) -> dg.AssetKey:
        return dg.AssetKey([self.name, *parts]).with_prefix(self.layout.key_prefix)

    def _upstream(self, kind: str, table: str) -> list[tuple[str, str]]:
        """Return the assets that one is made of: nothing runs before the steps that it needs."""
        steps = [(step, stage) for step in self.steps for stage in step.stages]
        made_in = {name: step.table for step, stage in steps for name in stage.outputs}
        if kind == RELEASE:
            return [("work", step.table) for step in self.steps]
        if kind == "gold":
            return [("work", made_in.get(table, self.steps[-1].table))]
        step = next(step for step in self.steps if step.table == table)
        needed = {made_in[name] for stage in step.stages for name in stage.inputs} - {table}
        return [("work", other.table) for other in self.steps if other.table in needed]
