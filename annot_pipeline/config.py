"""campaign.yaml: what it may say. Strict and frozen; an unknown key is an error.

Reading the file, `--set` and error messages live in `annot_pipeline.campaign_file`. Sections
of methods are the methods' own Params.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
    field_validator,
    model_validator,
)

from annot_pipeline.methods.dawid_skene import DawidSkeneParams

FieldName = Literal[
    "task", "judge", "item", "system", "segment", "criterion", "label", "score",
    "item_a", "item_b", "system_a", "system_b", "preference", "ranking", "rank", "rank_a",
    "rank_b", "hit", "position", "control", "control_of", "truth", "native_id", "status",
    "submitted_at", "seconds", "hit_seconds",
]  # fmt: skip
"""Canonical fields of a judgment."""

ItemFieldName = Literal["item", "segment", "system", "text", "source", "reference", "truth"]
Format = Literal["csv", "jsonl", "parquet", "mturk", "label_studio"]

CANONICAL_FIELDS: tuple[str, ...] = get_args(FieldName)
TAG = "~"
"""Marks the parts of pydantic's error paths that do not stand in the file."""


class Section(BaseModel):
    """A mapping of the file: no unknown keys, no coercion, no change after reading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=False, allow_inf_nan=False
    )


# --- expressions ---------------------------------------------------------------------------


class ColumnExpression(Section):
    """A column, then ``json``, ``match``, ``map`` (with ``else``), ``time``, in that order."""

    column: str
    json_path: str | None = Field(default=None, alias="json")
    match: str | None = None
    map: dict[str, str] | None = None
    otherwise: str | None = Field(default=None, alias="else")
    time: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the column is taken as written (but for ``time``)."""
        return self.json_path is None and self.match is None and self.map is None

    @model_validator(mode="after")
    def _regexes_compile(self) -> ColumnExpression:
        for pattern in filter(None, [self.match, *(k[1:] for k in self.map or () if k[:1] == "~")]):
            _compiles(pattern)
        if self.otherwise is not None and self.map is None and self.match is None:
            raise ValueError("else needs match or map: it is the value where those find nothing")
        return self


class ConstantExpression(Section):
    """The same value for every record."""

    value: str


class CaptureExpression(Section):
    """A named group of a regex on the path relative to the campaign."""

    capture: str

    @field_validator("capture")
    @classmethod
    def _has_a_named_group(cls, pattern: str) -> str:
        if not _compiles(pattern).groupindex:
            raise ValueError("the regex has no named group; write (?P<field>...)")
        return pattern


class JoinExpression(Section):
    """Expressions joined by ``sep``."""

    join: Annotated[tuple[Expression, ...], Field(min_length=1)]
    sep: str = ""


def _compiles(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


def _short_form(value: Any) -> Any:
    return {"column": value} if isinstance(value, str) else value


def _expression_kind(value: Any) -> str:
    if isinstance(value, Mapping):
        for kind in ("join", "capture", "value"):
            if kind in value:
                return TAG + kind
    elif isinstance(value, BaseModel):
        return TAGS[type(value)]
    return TAG + "column"


TAGS: dict[type, str] = {
    ColumnExpression: "~column",
    ConstantExpression: "~value",
    CaptureExpression: "~capture",
    JoinExpression: "~join",
}

Expression = Annotated[
    Annotated[ColumnExpression, Tag("~column")]
    | Annotated[ConstantExpression, Tag("~value")]
    | Annotated[CaptureExpression, Tag("~capture")]
    | Annotated[JoinExpression, Tag("~join")],
    Discriminator(_expression_kind),
    BeforeValidator(_short_form),
]
JoinExpression.model_rebuild()

# --- sources -------------------------------------------------------------------------------

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def _each_values(value: Any) -> Any:
    if isinstance(value, str):
        match = _RANGE.fullmatch(value)
        if not match:
            raise ValueError(f"{value!r} is neither a range like 0..99 nor a list")
        first, last = int(match[1]), int(match[2])
        if last < first:
            raise ValueError(f"the range {value} is empty")
        return tuple(str(i) for i in range(first, last + 1))
    return value


EachValues = Annotated[tuple[str, ...], BeforeValidator(_each_values), Field(min_length=1)]


class ReadOptions(Section):
    """How the bytes of an export are read."""

    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    quote: str = Field(default='"', max_length=1)
    encoding: str = "utf-8"
    columns: tuple[str, ...] | None = None
    multilabel: Literal["yes_no", "set"] = "yes_no"

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str) -> str:
        try:
            "".encode(name)
        except LookupError:
            raise ValueError(
                f"unknown encoding {name!r}; common: utf-8, latin-1, cp1252, utf-16"
            ) from None
        return name


class Source(Section):
    """Exports of one format, and how their columns become judgments."""

    path: str
    format: Format
    files: Literal["all", "latest"] = "all"
    options: ReadOptions = ReadOptions()
    each: dict[str, EachValues] = {}
    fields: dict[FieldName, Expression]

    @model_validator(mode="after")
    def _says_who_and_what(self) -> Source:
        given = set(self.fields)
        if "judge" not in given:
            raise ValueError("fields needs judge: who judged")
        answers = {"label", "score", "preference", "rank", "rank_a"}
        if not given & answers:
            raise ValueError(f"fields needs an answer: one of {', '.join(sorted(answers))}")
        single, pair = {"item", "segment"} & given, {"item_a", "system_a"} & given
        if not single and not pair:
            raise ValueError(
                "fields needs what was judged: item, segment with system, or a pair "
                "(item_a and item_b, or segment with system_a and system_b)"
            )
        for a, b in (("item_a", "item_b"), ("system_a", "system_b"), ("rank_a", "rank_b")):
            if (a in given) != (b in given):
                raise ValueError(f"{a} and {b} go together")
        for name, expression in self.fields.items():
            if isinstance(expression, CaptureExpression):
                groups = re.compile(expression.capture).groupindex
                if name not in groups:
                    raise ValueError(
                        f"{name}: the regex has no group named {name} "
                        f"(its groups: {', '.join(groups)})"
                    )
        return self


class ItemSource(Section):
    """A table of what was judged."""

    path: str
    format: Format
    options: ReadOptions = ReadOptions()
    fields: dict[ItemFieldName, Expression]

    @model_validator(mode="after")
    def _says_which_item(self) -> ItemSource:
        if "item" not in self.fields and not {"segment", "system"} <= self.fields.keys():
            raise ValueError("fields needs item, or segment and system")
        return self


class Criterion(Section):
    """One of several things judged at once."""

    reverse: bool = False
    quality: bool = True


class Adequacy(Section):
    """Which ordinary labels say that an output is good enough."""

    task: str
    adequate: tuple[str, ...]


class TaskSettings(Section):
    """What is known of the tasks whose names match ``name`` (a glob; the first match wins)."""

    name: str
    kind: Literal["categorical", "scalar", "pairwise", "ranking"] | None = None
    labels: tuple[str, ...] | None = None
    ordinal: bool = False
    scale: tuple[float, float] | None = None
    criteria: dict[str, Criterion] = {}
    references: tuple[str, ...] = ()
    adequacy: Adequacy | None = None

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[str, ...] | None) -> tuple[str, ...] | None:
        twice = sorted({label for label in labels or () if (labels or ()).count(label) > 1})
        if twice:
            raise ValueError(f"named twice: {', '.join(twice)}")
        return labels


# --- settings of the stages ----------------------------------------------------------------


class Quality(Section):
    """Judge control."""

    test: Literal[
        "paired_t", "signed_rank", "welch", "mann_whitney", "known_answer", "none"
    ] = "paired_t"  # fmt: skip
    contrast: Literal["paired", "pooled", "difference"] = "paired"
    alpha: float = Field(default=0.05, gt=0, lt=1)
    min_pairs: int = Field(default=2, ge=2)
    undetermined: Literal["keep", "drop"] = "keep"
    scope: Literal["campaign", "task"] = "campaign"
    correction: Literal["none", "holm", "benjamini_hochberg"] = "none"
    rejected_assignments: Literal["drop", "keep"] = "drop"


class Standardize(Section):
    """z-scores."""

    controls: Literal["include", "exclude"] = "include"


class Easl(Section):
    """Online scalar scores and the next HITs."""

    gamma: float = Field(default=0.1, gt=0)
    epsilon: float = Field(default=0.1, ge=0)
    hit_size: int = Field(default=5, ge=2)
    hits: int = Field(default=100, ge=1)
    random_share: float = Field(default=0.0, ge=0, le=1)
    margin: float = Field(default=0.0, ge=0)


class Ranking(Section):
    """Rankings of segments and systems."""

    cluster_rule: Literal["wmt", "all_beat_all", "min_wins"] = "wmt"
    alpha: float = Field(default=0.05, gt=0, lt=1)
    correction: Literal["none", "holm"] = "none"
    bootstrap: int = Field(default=1000, ge=0)
    resample: Literal["segments", "judges", "rankings"] = "segments"
    bradley_terry_ties: Literal["davidson", "half"] = "davidson"
    regularize: Literal["none"] | float = "none"
    segment_graphs: Literal["pooled", "judge"] = "pooled"


class Privacy(Section):
    """Judges' pseudonyms."""

    pseudonymize: bool = True
    key_env: str = "ANNOT_KEY"


class Schedule(Section):
    """When the nightly build runs."""

    cron: str = "0 2 * * *"
    timezone: str = "UTC"


class Resources(Section):
    """Limits; null means what the machine has."""

    memory_limit: str | None = Field(default=None, pattern=r"^\d+(\.\d+)?\s?([KMGT]i?B|B)$")
    spill: str | None = None
    threads: int | None = Field(default=None, ge=1)


class Engine(Section):
    """Where the heavy steps run."""

    kind: Literal["local"] = "local"


class Threshold(Section):
    """Levels of a gate: a figure above ``warn`` warns, above ``error`` nothing is published."""

    warn: float | None = None
    error: float | None = None


def _section_of(params: type) -> type[Section]:
    """The section whose keys, types and defaults are those of a method's Params."""
    types = get_type_hints(params)

    def check(section: Section) -> Section:
        params(**section.model_dump())  # ranges are the method's own business
        return section

    fields: dict[str, Any] = {
        field.name: (types[field.name], field.default) for field in dataclasses.fields(params)
    }
    return create_model(
        params.__name__,
        __base__=Section,
        __doc__=params.__doc__,
        __validators__={"check": model_validator(mode="after")(check)},  # type: ignore[dict-item]
        **fields,
    )


DawidSkene = _section_of(DawidSkeneParams)


class Campaign(Section):
    """A whole campaign.yaml."""

    campaign: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    store: str = "store"
    gold: str = "gold"
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]
    items: tuple[ItemSource, ...] = ()
    tasks: tuple[TaskSettings, ...] = ()
    quality: Quality = Quality()
    standardize: Standardize = Standardize()
    dawid_skene: DawidSkene = DawidSkene()  # type: ignore[valid-type]
    easl: Easl = Easl()
    ranking: Ranking = Ranking()
    privacy: Privacy = Privacy()
    schedule: Schedule = Schedule()
    owners: tuple[str, ...] = ()
    resources: Resources = Resources()
    engine: Engine = Engine()
    gates: dict[str, Threshold] = {}
    seed: int = Field(default=17, ge=0)

    @field_validator("gold")
    @classmethod
    def _gold_is_local(cls, gold: str) -> str:
        if "://" in gold:
            raise ValueError("releases on an object store are not supported yet; name a folder")
        return gold

    @property
    def dawid_skene_params(self) -> DawidSkeneParams:
        """The section as the method takes it."""
        return DawidSkeneParams(**self.dawid_skene.model_dump())  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True)
class LoadedCampaign:
    """A campaign and the folder that its relative paths start from."""

    settings: Campaign
    file: Path

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.file.parent

    @property
    def store(self) -> Path:
        """Folder of the working state."""
        return Path(os.path.normpath(self.folder / self.settings.store))

    @property
    def gold(self) -> Path:
        """Folder of the releases."""
        return Path(os.path.normpath(self.folder / self.settings.gold))
