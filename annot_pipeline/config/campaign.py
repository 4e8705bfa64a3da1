"""A whole campaign.yaml. Sections of methods are the methods' own Params."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, get_type_hints

from pydantic import Field, create_model, field_validator, model_validator

from annot_pipeline.config import sections
from annot_pipeline.config.gold_url import copy_folder, is_url, plain_url
from annot_pipeline.config.judges import Judges
from annot_pipeline.config.sources import ItemSource, Source
from annot_pipeline.config.strict_section import Section
from annot_pipeline.methods.labels.dawid_skene import DawidSkeneParams
from annot_pipeline.methods.labels.models import LABEL_MODELS

T = TypeVar("T")


NO_SETTINGS = ("model", "dependence", "posterior_tolerance")
"""Parameters of Dawid-Skene that the section does not have: ``label_model`` is a setting itself."""


def _check_params(section: Section) -> Section:
    _params_of(section, DawidSkeneParams)  # ranges are the method's own business
    return section


FIELDS: dict[str, Any] = {
    field.name: (get_type_hints(DawidSkeneParams)[field.name], field.default)
    for field in dataclasses.fields(DawidSkeneParams)
    if field.name not in NO_SETTINGS
}
DawidSkene = create_model(
    "DawidSkene",
    __base__=Section,
    __doc__=DawidSkeneParams.__doc__,
    __validators__={"check": model_validator(mode="after")(_check_params)},  # type: ignore[dict-item]
    **FIELDS,
)


def _params_of(section: Section, params: type[T]) -> T:
    """Return a method's Params, from the section that has its keys."""
    names = {field.name for field in dataclasses.fields(params)}  # type: ignore[arg-type]
    return params(**{n: getattr(section, n) for n in type(section).model_fields if n in names})


class Campaign(Section):
    """Holds all settings of a campaign.

    Parameters
    ----------
    campaign
        Name of the campaign: a lower-case letter, then lower-case letters, digits and
        underscores. It is the prefix and group of the Dagster assets.
    about
        What the data card, croissant.json and the report say about the dataset. It changes no
        number.
    store
        Folder of the working state: raw archive, parsed exports, stage results and the key of
        pseudonyms.
    gold
        Where releases are published: a folder, or an object store such as s3://bucket/folder.
    sources
        Exports and how their columns map to judgments, in order of precedence.
    items
        Tables of the items that were judged or are to be judged.
    tasks
        Settings by task name. The first entry whose name matches a task applies.
    quality
        Judge control: which test judges must pass, and what happens if they fail.
    standardize
        How scores become z-scores.
    label_model
        Model that infers the published labels of categorical tasks. hierarchical: corrects for
        shared errors by held-out labels. dawid_skene: a confusion matrix per judge. one_coin: an
        accuracy per judge. mace: a spamming rate per judge.
    labels
        Certainty of labels of categorical tasks.
    judges
        Which judges are models, which are related, and whose judgments count. A list stands for
        declared.
    dawid_skene
        Fit of the Dawid-Skene model; one_coin and mace take these settings too.
    easl
        EASL scores of items, comparisons within HITs, and the HITs that EASL plans.
    next_hits
        The next batch that annot hits writes.
    controlled_hits
        HITs of next_hits.design: controlled.
    agreement
        Agreement of judges.
    ranking
        Rankings of segments and systems.
    privacy
        Pseudonyms of judges.
    schedule
        Unattended builds in Dagster.
    owners
        Owners of the Dagster assets: team:NAME or e-mail addresses.
    resources
        Memory, disk and threads that a build may use.
    limits
        Largest export that a build accepts.
    engine
        Where heavy steps run: on this machine or on a Spark cluster.
    gates
        Levels of gates by gate name. Gates that are not named here have their default levels.
    seed
        Seed of everything that is drawn at random.
    """

    campaign: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    about: sections.About = sections.About()
    store: str = "store"
    gold: str = "gold"
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    items: tuple[ItemSource, ...] = ()
    tasks: tuple[sections.TaskSettings, ...] = ()
    quality: sections.Quality = sections.Quality()
    standardize: sections.Standardize = sections.Standardize()
    label_model: str = "hierarchical"
    labels: sections.Labels = sections.Labels()
    judges: Judges = Judges()
    dawid_skene: DawidSkene = DawidSkene()  # type: ignore[valid-type]
    easl: sections.Easl = sections.Easl()
    next_hits: sections.NextHits = sections.NextHits()
    controlled_hits: sections.ControlledHits = sections.ControlledHits()
    agreement: sections.Agreement = sections.Agreement()
    ranking: sections.Ranking = sections.Ranking()
    privacy: sections.Privacy = sections.Privacy()
    schedule: sections.Schedule = sections.Schedule()
    owners: tuple[str, ...] = ()
    resources: sections.Resources = sections.Resources()
    limits: sections.Limits = sections.Limits()
    engine: sections.Engine = sections.Engine()
    gates: dict[str, sections.Threshold] = Field(default_factory=dict)
    seed: int = Field(default=17, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _published_tables_need_all_judges(self) -> Self:
        """Set whether judges of labels are dropped: the papers' tables rest on all judges."""
        if self.quality.labels is None:
            labels = "measure" if self.label_model == "dawid_skene" else "drop"
            # sections do not change after reading, but for what another section decides
            self.__dict__["quality"] = self.quality.model_copy(update={"labels": labels})
        return self

    @field_validator("label_model")
    @classmethod
    def _label_model_is_known(cls, name: str) -> str:
        if name not in LABEL_MODELS:
            raise ValueError(f"{name!r} is not a label model; allowed: {', '.join(LABEL_MODELS)}")
        return name

    @field_validator("owners")
    @classmethod
    def _owners_are_teams_or_addresses(cls, owners: tuple[str, ...]) -> tuple[str, ...]:
        for owner in owners:
            if not re.fullmatch(r"team:\S+|[^@\s]+@[^@\s][^@\s.]*\.[^@\s]+", owner):
                raise ValueError(f"{owner!r} is neither team:NAME nor an e-mail address")
        return owners

    @field_validator("store")
    @classmethod
    def _store_is_a_folder(cls, store: str) -> str:
        if is_url(store):
            raise ValueError(
                "the store is a folder of this machine or of a shared file system (NFS, EFS, a "
                "volume); only gold may be in an object store"
            )
        return store

    @field_validator("gold")
    @classmethod
    def _gold_is_a_place(cls, gold: str) -> str:
        return plain_url(gold) if is_url(gold) else gold

    @property
    def dawid_skene_params(self) -> DawidSkeneParams:
        """Return the model's part of the section."""
        params = _params_of(self.dawid_skene, DawidSkeneParams)
        return dataclasses.replace(params, model=self.label_model)


def as_typed(path: str, sets: Iterable[str]) -> str:
    """Return words for a shell: a campaign, and the settings given beside its file."""
    return shlex.join([path, *(word for one in sets for word in ("--set", one))])


@dataclasses.dataclass(frozen=True)
class LoadedCampaign:
    """A campaign and the folder that its relative paths start from."""

    settings: Campaign
    file: Path
    sets: tuple[str, ...] = ()
    """Settings that were given beside the file."""

    @property
    def typed(self) -> str:
        """Return the campaign as commands take it, for messages."""
        path = self.folder if self.file.name == "campaign.yaml" else self.file
        return as_typed(str(path), self.sets)

    @property
    def folder(self) -> Path:
        """Return where relative paths start."""
        return self.file.parent

    @property
    def store(self) -> Path:
        """Return the folder of the working state."""
        return Path(os.path.normpath(self.folder / self.settings.store))

    @property
    def spill(self) -> Path:
        """Return the folder where SQL puts what does not fit into memory."""
        folder = self.settings.resources.spill
        return self.folder / folder if folder else self.store / "spill"

    @property
    def gold(self) -> Path:
        """Return the folder of the releases.

        For releases in an object store it holds copies.
        """
        if self.gold_url:
            return copy_folder(self.store, self.gold_url)
        return Path(os.path.normpath(self.folder / self.settings.gold))

    @property
    def own_folders(self) -> dict[str, Path]:
        """Return folders that builds write, by name: nothing in them is an export."""
        return {"store": self.store, "gold": self.gold}

    @property
    def gold_url(self) -> str | None:
        """Return where the releases are, if that is an object store."""
        return self.settings.gold if is_url(self.settings.gold) else None
