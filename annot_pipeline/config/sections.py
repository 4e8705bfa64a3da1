"""The sections of campaign.yaml beside its sources: tasks, and settings of the stages."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from annot_pipeline.config.next_hits import ControlledHits, Easl, NextHits
from annot_pipeline.config.operation import (
    Engine,
    Fresh,
    Limits,
    Resources,
    Retries,
    Schedule,
    Sensor,
)
from annot_pipeline.config.quality import SCREENINGS, TESTS_WITH_CONTRAST, Quality
from annot_pipeline.config.strict_section import Section
from annot_pipeline.config.task_settings import Adequacy, Criterion, TaskSettings
from annot_pipeline.errors import shorten

__all__ = [
    "SCREENINGS",
    "TESTS_WITH_CONTRAST",
    "About",
    "Adequacy",
    "Agreement",
    "ControlledHits",
    "Criterion",
    "Easl",
    "Engine",
    "Fresh",
    "Labels",
    "Limits",
    "NextHits",
    "Privacy",
    "Quality",
    "Ranking",
    "Resources",
    "Retries",
    "Schedule",
    "Sensor",
    "Standardize",
    "TaskSettings",
    "Threshold",
]


class About(Section):
    """Describes the dataset of a campaign; changes no number.

    Parameters
    ----------
    title
        Title of the dataset.
    description
        What was judged, why and by whom. Blank lines separate paragraphs.
    license
        SPDX identifier such as CC-BY-4.0, name or URL of the license.
    citation
        How to cite the dataset, in one line.
    url
        Web page of the dataset, https://...
    contact
        Whom to ask about the dataset; published as written.
    creators
        Names of the people or organisations that made the dataset.
    keywords
        Keywords of the dataset.
    languages
        Language tags of the items, such as en or pt-BR.
    """

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
            raise ValueError(f"{url!r} is not a web address such as https://example.org/data")
        return url

    @field_validator("languages")
    @classmethod
    def _language_tags(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        for tag in languages:
            if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", tag):
                raise ValueError(f"{tag!r} is not a language tag such as en or pt-BR")
        return languages


class Standardize(Section):
    """Sets how scores become z-scores.

    Parameters
    ----------
    controls
        Whether controls count in a judge's mean and standard deviation.
    arithmetic
        exact, or wmt: rounds where WMT's scripts print, to reproduce their tables.
    """

    controls: Literal["include", "exclude"] = "include"
    arithmetic: Literal["exact", "wmt"] = "exact"


class Agreement(Section):
    """Sets the intervals of agreement.

    Parameters
    ----------
    bootstrap
        Bootstrap rounds for intervals of agreement on scores and preferences; labels need none.
        0: no intervals.
    """

    bootstrap: int = Field(default=200, ge=0)


class Labels(Section):
    """Sets which labels of categorical tasks are certain.

    Parameters
    ----------
    certain_at
        Probability from which a label is certain, above 0.5 and below 1.
    """

    certain_at: float = 0.95

    @field_validator("certain_at", mode="before")
    @classmethod
    def _is_between_half_and_one(cls, value: object) -> object:
        if isinstance(value, int | float) and 0.5 < value < 1:
            return value
        text = shorten(value)
        raise ValueError(
            f"{text} is not allowed: write a probability above 0.5 and below 1, such as 0.95"
        )


class Ranking(Section):
    """Sets how segments and systems are ranked.

    Parameters
    ----------
    cluster_rule
        Rule that ends a cluster of systems in wmt_cluster.
    alpha
        Significance level of wins.
    correction
        Correction of the p-values behind wmt_a_beats_b. The headline always uses Holm's.
    bootstrap
        Bootstrap rounds of descriptive methods, where only segments repeat. 0: no intervals.
    resample
        What these rounds draw.
    online_rounds
        Random orders of trueskill_permuted, and draws for the clusters of WMT15. 0: neither is
        computed.
    judge_effects
        fixed, or random if judges were assigned to systems at random.
    segment_effects
        random, or fixed if systems received easier or harder segments.
    bradley_terry_ties
        davidson: a model of ties. half: a tie is half a win for both.
    shown_order
        as_listed: item_a or system_a was shown first. unknown: no effect of the order is
        estimated.
    regularize
        Virtual comparisons of each two systems, half won by each, such as 0.1. none: no
        regularization.
    segment_graphs
        pooled: one graph per segment. judge: one graph per segment and judge.
    covariates
        length: comparisons are also ranked at equal length of texts (bradley_terry_length).
    """

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
    """Sets the pseudonyms of judges.

    Parameters
    ----------
    pseudonymize
        Whether judges have pseudonyms in releases.
    key_env
        Environment variable that holds the secret of the pseudonyms.
    new_key
        Whether a build may give judges other names than the last release did. Set it once, with
        --set.
    """

    pseudonymize: bool = True
    key_env: str = "ANNOT_KEY"
    new_key: bool = Field(default=False, exclude=True)
    """Whether a build may give judges other names than the last release did."""


class Threshold(Section):
    """Sets the levels of a gate.

    Parameters
    ----------
    warn
        The gate warns above this figure. null: never.
    error
        Above this figure nothing is published. null: never.
    minimum
        Fewest items, judges or judgments that the figure requires; not all gates have one.
    """

    warn: float | None = None
    error: float | None = None
    minimum: int | None = Field(default=None, ge=1)
