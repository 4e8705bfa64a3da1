"""The sections of campaign.yaml beside its sources: tasks, and settings of the stages."""

from __future__ import annotations

import os
import re
import zoneinfo
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from annot_pipeline.config.strict_section import Section
from annot_pipeline.errors import shorten
from annot_pipeline.methods.planning.hit_design import HitDesign

LARGEST = 1e15
"""Scores beyond could not be summed exactly."""
MASTER = re.compile(
    r"""local (\[ ([1-9]\d*|\*) (,\s*\d+)? \])?
    | local-cluster \[ \s*\d+\s*,\s*\d+\s*,\s*\d+\s* \]
    | spark:// ([^\s:,/]+|\[[0-9a-fA-F:]+\]):\d+ (,([^\s:,/]+|\[[0-9a-fA-F:]+\]):\d+)*
    | k8s:// \S+ | yarn | sc:// \S+""",
    re.VERBOSE,
)
"""What Spark takes; of what it does not it says little more than that Java failed."""


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
    criteria: dict[str, Criterion] = Field(default_factory=dict)
    references: tuple[str, ...] = ()
    adequacy: Adequacy | None = None
    question: str | None = None
    repeats: Literal["keep", "first", "last", "reject"] | None = None
    reconcile: Literal["order"] | None = None

    @model_validator(mode="after")
    def _repeats_of_single_answers(self) -> Self:
        if self.kind == "ranking" and self.repeats not in (None, "keep"):
            raise ValueError(
                f"repeats: {self.repeats} does not go with kind: ranking, where a judge may rank "
                "an output in several rankings"
            )
        return self

    @model_validator(mode="after")
    def _reconciles_pairs(self) -> Self:
        if self.reconcile and self.kind not in (None, "pairwise"):
            raise ValueError(f"reconcile belongs to kind: pairwise, not {self.kind}")
        return self

    @field_validator("scale")
    @classmethod
    def _rising(cls, scale: tuple[float, float] | None) -> tuple[float, float] | None:
        if scale and not scale[0] < scale[1]:
            raise ValueError(f"{list(scale)} does not rise; write [lowest, highest]")
        if scale and max(map(abs, scale)) > LARGEST:
            raise ValueError(f"{list(scale)} goes beyond {LARGEST:g}")
        return scale

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[str, ...] | None) -> tuple[str, ...] | None:
        twice = sorted({label for label in labels or () if (labels or ()).count(label) > 1})
        if twice:
            raise ValueError(f"named twice: {', '.join(twice)}")
        return labels

    @model_validator(mode="after")
    def _reversed_on_a_scale(self) -> Self:
        reversed_ = [name for name, criterion in self.criteria.items() if criterion.reverse]
        if reversed_ and self.scale is None:
            raise ValueError(f"to reverse {', '.join(reversed_)}, name scale: [lowest, highest]")
        return self


class About(Section):
    """What a release says of itself; none of it can move a number."""

    title: str | None = None
    description: str | None = None
    license: str | None = None
    citation: str | None = None
    url: str | None = None
    contact: str | None = None
    creators: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        if url is not None and not re.fullmatch(r"https?://[^\s<>\"'`\\{}|^]+", url):
            raise ValueError(f"{url!r} is no address of the web, as https://example.org/data")
        return url

    @field_validator("languages")
    @classmethod
    def _language_tags(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        for tag in languages:
            if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", tag):
                raise ValueError(f"{tag!r} is no language tag, as en or pt-BR")
        return languages


TESTS_WITH_CONTRAST = ("paired_t", "signed_rank", "welch", "mann_whitney")
"""Tests that compare scores of controls, as ``contrast`` says."""
SCREENINGS = ("reference_threshold", "bt500")
"""Rules of recommendations, without p and without power."""


class Quality(Section):
    """Judge control."""

    test: Literal[
        "paired_t", "signed_rank", "welch", "mann_whitney", "known_answer", "consistency",
        "reference_threshold", "bt500", "none",
    ] = "paired_t"  # fmt: skip
    contrast: Literal["paired", "pooled", "difference"] = "paired"
    signed: bool = False
    known_accuracy: float | None = Field(default=None, gt=0, lt=1)
    threshold: float = Field(default=90.0, gt=0, le=100)
    share: float = Field(default=0.15, ge=0, lt=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)
    min_pairs: int = Field(default=2, ge=2)
    min_power: float = Field(default=0.5, ge=0, lt=1)
    required_effect: float | None = Field(default=None, gt=0)
    undetermined: Literal["keep", "drop"] = "keep"
    scope: Literal["campaign", "task"] = "campaign"
    correction: Literal["none", "holm", "benjamini_hochberg"] = "none"
    rejected_assignments: Literal["drop", "keep"] = "drop"

    @model_validator(mode="after")
    def _test_fits_contrast(self) -> Self:
        paired = self.test in ("paired_t", "signed_rank")
        if paired and self.contrast != "paired":
            raise ValueError(
                f"{self.test} compares pairs; with contrast: {self.contrast} write test: welch or "
                "mann_whitney"
            )
        if self.test in ("welch", "mann_whitney") and self.contrast == "paired":
            raise ValueError(
                f"{self.test} compares two samples; write contrast: pooled (all ordinary scores "
                "against all degraded ones) or difference (d2 against d1)"
            )
        if self.signed and self.contrast != "difference":
            raise ValueError("signed belongs to contrast: difference")
        if self.known_accuracy is not None and self.test != "known_answer":
            raise ValueError("known_accuracy belongs to test: known_answer")
        if (self.threshold, self.share) != (90.0, 0.15) and self.test != "reference_threshold":
            raise ValueError("threshold and share belong to test: reference_threshold")
        if self.required_effect is not None:
            self._check_required_effect(self.required_effect)
        return self

    def _check_required_effect(self, required: float) -> None:
        if self.test in SCREENINGS:
            raise ValueError(
                f"required_effect has no meaning with test: {self.test}, which estimates no "
                "effect; delete it"
            )
        if self.test == "consistency" and required >= 1:
            raise ValueError(
                f"required_effect is a correlation with test: consistency; {required:g} is not "
                "allowed: write a number above 0 and below 1, such as 0.2"
            )

    @property
    def is_chosen_test(self) -> bool:
        """Whether the campaign asks for a test other than the default."""
        return self.test not in ("paired_t", "none")

    @property
    def has_contrast(self) -> bool:
        """Whether the test compares scores of controls, as ``contrast`` says."""
        return self.test in TESTS_WITH_CONTRAST

    @property
    def uses_controls(self) -> bool:
        """Whether the test needs controls; the others take the ordinary scores of all judges."""
        return self.test not in ("consistency", "bt500")

    @property
    def required_power(self) -> float:
        """Power from which on a judge who does not pass fails.

        A test without controls must not fail a judge who agrees as the typical judge does more
        often than at alpha.
        """
        if self.test == "consistency":
            return max(self.min_power, 1 - self.alpha)
        return self.min_power

    @property
    def paired_controls(self) -> tuple[str, ...]:
        """Kinds of controls that the test compares with their ordinary judgments."""
        if self.contrast == "pooled" or not self.has_contrast:
            return ()
        return ("bad_reference",) if self.contrast == "paired" else ("bad_reference", "ask_again")


class Standardize(Section):
    """z-scores."""

    controls: Literal["include", "exclude"] = "include"
    arithmetic: Literal["exact", "wmt"] = "exact"


class Agreement(Section):
    """Agreement of judges."""

    bootstrap: int = Field(default=200, ge=0)


class Labels(Section):
    """Labels of categorical tasks."""

    certain_at: float = 0.95

    @field_validator("certain_at", mode="before")
    @classmethod
    def _is_between_half_and_one(cls, value: object) -> object:
        if isinstance(value, int | float) and 0.5 < value < 1:
            return value
        shown = shorten(value)
        raise ValueError(
            f"{shown} is not allowed: write a probability above 0.5 and below 1, such as 0.95"
        )


class Easl(Section):
    """Online scalar scores and the next HITs."""

    gamma: float = Field(default=0.1, ge=1e-4, le=1e4)
    epsilon: float = Field(default=0.1, ge=0, le=100)
    hit_size: int = Field(default=5, ge=2)
    hits: int = Field(default=100, ge=1)
    random_share: float = Field(default=0.0, ge=0, le=1)
    margin: float = Field(default=0.0, ge=0, le=LARGEST)
    trueskill_mean: float = Field(default=0.0, ge=-LARGEST, le=LARGEST)
    trueskill_sd: float = Field(default=1.0, gt=0, le=LARGEST)


class NextHits(Section):
    """The next batch to annotate."""

    design: Literal["easl", "controlled", "tournament", "adequacy", "validate"] = "easl"
    upload: Literal["mturk", "label_studio", "jsonl"] = "mturk"
    within: Literal["segment", "task"] = "segment"
    segments: int = Field(default=100, ge=1)
    hit_size: int = Field(default=20, ge=1, le=1000)
    items: int | None = Field(default=None, ge=2)


class ControlledHits(Section):
    """Quality-controlled HITs."""

    hits: int = Field(default=10, ge=1)
    groups: int = Field(default=10, ge=1, le=50)
    spacing: tuple[int, int] = (40, 60)
    controls: tuple[Literal["ask_again", "bad_reference", "good_reference"], ...] = (
        "ask_again", "bad_reference", "good_reference",
    )  # fmt: skip
    degradation: Literal["duplicate_words", "replace_span"] = "duplicate_words"

    @model_validator(mode="after")
    def _can_be_built(self) -> Self:
        _ = self.hit_design
        return self

    @property
    def hit_design(self) -> HitDesign:
        """The section as the method takes it."""
        if len(set(self.controls)) < len(self.controls):
            raise ValueError("controls: one stands twice")
        return HitDesign(groups=self.groups, controls=self.controls, spacing=self.spacing)


class Ranking(Section):
    """Rankings of segments and systems."""

    cluster_rule: Literal["wmt", "all_beat_all", "min_wins"] = "wmt"
    alpha: float = Field(default=0.05, gt=0, lt=1)
    correction: Literal["none", "holm"] = "none"
    bootstrap: int = Field(default=1000, ge=0)
    resample: Literal["segments"] = "segments"
    online_rounds: int = Field(default=0, ge=0)
    judge_effects: Literal["fixed", "random"] = "fixed"
    segment_effects: Literal["random", "fixed"] = "random"
    bradley_terry_ties: Literal["davidson", "half"] = "davidson"
    shown_order: Literal["as_listed", "unknown"] = "as_listed"
    regularize: Literal["none"] | Annotated[float, Field(gt=0, le=1e6)] = "none"
    segment_graphs: Literal["pooled", "judge"] = "pooled"
    covariates: tuple[Literal["length"], ...] = ()

    @field_validator("covariates")
    @classmethod
    def _named_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("names a covariate twice")
        return names


class Privacy(Section):
    """Judges' pseudonyms."""

    pseudonymize: bool = True
    key_env: str = "ANNOT_KEY"
    new_key: bool = Field(default=False, exclude=True)
    """Whether a build may give judges other names than the last release did."""


class Retries(Section):
    """How often an unattended build reads exports again, waiting longer each time."""

    max: int = Field(default=3, ge=0, le=20)
    delay_seconds: float = Field(default=30, ge=0, le=86_400)


class Fresh(Section):
    """How old gold may be; null means what follows from the cron."""

    warn_hours: float | None = Field(default=None, ge=1 / 60)
    fail_hours: float | None = Field(default=None, ge=1 / 60)

    @model_validator(mode="after")
    def _warns_first(self) -> Self:
        if self.warn_hours and not self.fail_hours:
            raise ValueError("warn_hours needs fail_hours")
        if self.warn_hours and self.fail_hours and not self.warn_hours < self.fail_hours:
            raise ValueError("warn_hours must be less than fail_hours")
        return self


class Sensor(Section):
    """The sensor that looks for new exports."""

    active: bool = False
    interval_seconds: int = Field(default=60, ge=1, le=86_400)


class Schedule(Section):
    """When builds run that nobody waits for; schedule and sensor start stopped unless active."""

    active: bool = False
    cron: str = Field(default="0 2 * * *", pattern=r"^([\d*/,\-A-Za-z]+\s+){4}[\d*/,\-A-Za-z#]+$")
    timezone: str = "UTC"
    sensor: Sensor = Sensor()
    retries: Retries = Retries()
    fresh: Fresh = Fresh()

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"unknown time zone {name!r}; as UTC or Europe/Paris") from None
        return name


class Resources(Section):
    """Limits; null means what the machine has."""

    memory_limit: str | None = Field(default=None, pattern=r"^\d+(\.\d+)?\s?([KMGT]i?B|B)$")
    spill: str | None = None
    threads: int | None = Field(default=None, ge=1, le=1024)

    @property
    def workers(self) -> int:
        """How much is done side by side."""
        return self.threads or os.cpu_count() or 1


class Limits(Section):
    """Bounds of what an export may hold; beyond, it is refused and not read on.

    None of them can move a number. ``unpacked_ratio`` counts from 64 MB on.
    """

    unpacked_bytes: int = Field(default=1 << 38, ge=1)
    unpacked_ratio: int = Field(default=250, ge=1)
    row_bytes: int = Field(default=64 << 20, ge=1 << 10, le=1 << 30)
    document_bytes: int = Field(default=1 << 30, ge=1)
    columns: int = Field(default=20_000, ge=1)


class Engine(Section):
    """Where the parts of heavy steps are made.

    ``master`` and ``config`` are Spark's own: where it runs, and its settings by name. A build ends
    when nobody has been at work there for ``wait_seconds``. All may stay where ``kind: local`` is
    said, as by ``--set`` on a day without the cluster.
    """

    kind: Literal["local", "spark"] = "local"
    master: str | None = None
    config: dict[str, str] = Field(default_factory=dict)
    wait_seconds: float = Field(default=300, ge=1)

    @field_validator("master")
    @classmethod
    def _spark_takes_it(cls, master: str | None) -> str | None:
        if master is not None and re.search(r";\s*token=", master):
            raise ValueError(
                "a token belongs in the environment: leave master out and set SPARK_REMOTE to the "
                "whole address"
            )
        if master is not None and not MASTER.fullmatch(master):
            raise ValueError(
                f"{master!r} is no master of Spark; local[2], local[*], spark://HOST:PORT, "
                "k8s://HOST:PORT, yarn or sc://HOST"
            )
        return master

    @field_validator("config", mode="before")
    @classmethod
    def _by_dotted_names(cls, config: object) -> object:
        return _dotted(config) if isinstance(config, dict) else config

    @field_validator("config")
    @classmethod
    def _of_spark(cls, config: dict[str, str]) -> dict[str, str]:
        others = sorted(name for name in config if not name.startswith("spark."))
        if others:
            raise ValueError(f"Spark reads names that begin with spark. alone: {', '.join(others)}")
        if meant := {"spark.master", "spark.remote"}.intersection(config):
            raise ValueError(f"{meant.pop()} is said by engine.master")
        return config

    @model_validator(mode="after")
    def _spark_alone_has_a_master(self) -> Self:
        if "kind" not in self.model_fields_set and (self.master or self.config):
            raise ValueError("master and config are Spark's: add kind: spark")
        return self


def _dotted(nested: dict[str, Any]) -> dict[str, Any]:
    """Flatten nested settings into Spark's dotted names; values become texts."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            flat |= {
                f"{name}.{inner}": inner_value for inner, inner_value in _dotted(value).items()
            }
        elif isinstance(value, bool | int | float):
            flat[name] = str(value).lower()
        else:
            flat[name] = value
    return flat


class Threshold(Section):
    """Levels of a gate: a figure above ``warn`` warns, above ``error`` nothing is published.

    ``minimum`` is how many items, judges or judgments its figure takes.
    """

    warn: float | None = None
    error: float | None = None
    minimum: int | None = Field(default=None, ge=1)
