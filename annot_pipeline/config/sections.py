"""The sections of campaign.yaml beside sources and judges."""

from __future__ import annotations

import os
import re
import zoneinfo
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from annot_pipeline.config.strict_section import LARGEST, Section
from annot_pipeline.contracts.answer_text import answer_text
from annot_pipeline.errors import shorten
from annot_pipeline.methods.planning.hit_design import HitDesign

TESTS_WITH_CONTRAST = ("paired_t", "signed_rank", "welch", "mann_whitney")
SCREENINGS = ("reference_threshold", "bt500")


class Quality(Section):
    """Sets the test that judges must pass.

    Parameters
    ----------
    test
        Test that a judge must pass; none: no judge is tested.
    contrast
        What the test compares: paired (paired_t, signed_rank), pooled or difference (welch,
        mann_whitney).
    signed
        With contrast: difference, whether the difference of repeats keeps its sign.
    known_accuracy
        With test: known_answer, share of right answers that a judge must exceed. null: 1 /
        number of classes.
    threshold
        With test: reference_threshold, percent of the scale that references should reach.
    share
        With test: reference_threshold, share of a judge's references that may be below the
        threshold.
    alpha
        Significance level: a judge passes if p is below it.
    min_pairs
        Fewest pairs, or scores of the smaller sample, for a verdict.
    min_power
        Power below which a judge who does not pass is undetermined instead of failed.
    required_effect
        annot review proposes to reject only judges whose effect is below this. null: half the
        median effect of the judges who pass.
    undetermined
        Whether judgments of undetermined judges are kept or dropped.
    scope
        Whether a judge is tested once over the campaign, or for each task.
    correction
        Correction of p-values for the number of judges.
    rejected_assignments
        Whether judgments with the status Rejected are dropped or kept.
    labels
        Whether answers of people who fail the tests of judges of labels and preferences (chance,
        constant answers, copies) are dropped, or only measured. Answers of models are only
        measured. null: measure with label_model dawid_skene, else drop.
    suspected
        Whether answers of suspected judges of labels are kept or dropped: those whose answers look
        wrong while the data cannot tell who is right.
    """

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
    labels: Literal["measure", "drop"] | None = None
    suspected: Literal["keep", "drop"] = "keep"

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
        """Return whether the campaign asks for a test other than the default."""
        return self.test not in ("paired_t", "none")

    @property
    def has_contrast(self) -> bool:
        """Return whether the test compares scores of controls, as ``contrast`` says."""
        return self.test in TESTS_WITH_CONTRAST

    @property
    def uses_controls(self) -> bool:
        """Return whether the test needs controls.

        Other tests take the ordinary scores of all judges.
        """
        return self.test not in ("consistency", "bt500")

    @property
    def required_power(self) -> float:
        """Return the power from which on a judge who does not pass fails.

        A test without controls must not fail a judge who agrees as the typical judge does more
        often than at alpha.
        """
        if self.test == "consistency":
            return max(self.min_power, 1 - self.alpha)
        return self.min_power

    @property
    def paired_controls(self) -> tuple[str, ...]:
        """Return kinds of controls that the test compares with their ordinary judgments."""
        if self.contrast == "pooled" or not self.has_contrast:
            return ()
        return ("bad_reference",) if self.contrast == "paired" else ("bad_reference", "ask_again")


MASTER = re.compile(
    r"""local (\[ ([1-9]\d*|\*) (,\s*\d+)? \])?
    | local-cluster \[ \s*\d+\s*,\s*\d+\s*,\s*\d+\s* \]
    | spark:// ([^\s:,/]+|\[[0-9a-fA-F:]+\]):\d+ (,([^\s:,/]+|\[[0-9a-fA-F:]+\]):\d+)*
    | k8s:// \S+ | yarn | sc:// \S+""",
    re.VERBOSE,
)


class Retries(Section):
    """Sets how often an unattended build tries again.

    Parameters
    ----------
    max
        Largest number of retries.
    delay_seconds
        Seconds before the first retry; each later one waits twice as long.
    """

    max: int = Field(default=3, ge=0, le=20)
    delay_seconds: float = Field(default=30, ge=0, le=86_400)


class Fresh(Section):
    """Sets how old the newest release may be; null: as the cron expression implies.

    Parameters
    ----------
    warn_hours
        Age of the newest release from which the freshness check warns, in hours.
    fail_hours
        Age of the newest release from which the freshness check fails, in hours.
    """

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
    """Sets the sensor that looks for new exports.

    Parameters
    ----------
    active
        Whether the sensor runs as soon as a Dagster daemon runs.
    interval_seconds
        Seconds between two looks at the exports.
    """

    active: bool = False
    interval_seconds: int = Field(default=60, ge=1, le=86_400)


class Schedule(Section):
    """Sets when unattended builds run.

    Parameters
    ----------
    active
        Whether the schedule runs as soon as a Dagster daemon runs.
    cron
        When the nightly build runs, as a cron expression.
    timezone
        Time zone of the cron expression, such as UTC or Europe/Paris.
    sensor
        The sensor that builds when new exports arrive.
    retries
        How often an unattended build tries again after errors that may pass.
    fresh
        How old the newest release may be.
    """

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
            raise ValueError(
                f"unknown time zone {name!r}; write one such as UTC or Europe/Paris"
            ) from None
        return name


class Resources(Section):
    """Sets memory, disk and threads of a build; null: what the machine has.

    Parameters
    ----------
    memory_limit
        Memory of SQL queries, such as 4GB. null: 80% of the machine.
    spill
        Empty folder for what does not fit into memory. null: a folder in the store.
    threads
        Number of threads. null: one per core.
    """

    memory_limit: str | None = Field(default=None, pattern=r"^\d+(\.\d+)?\s?([KMGT]i?B|B)$")
    spill: str | None = None
    threads: int | None = Field(default=None, ge=1, le=1024)

    @property
    def workers(self) -> int:
        """Return how much is done side by side."""
        return self.threads or os.cpu_count() or 1


class Limits(Section):
    """Sets limits of an export; one beyond a limit is refused. Changes no number.

    Parameters
    ----------
    unpacked_bytes
        Largest size of an unpacked export, in bytes.
    unpacked_ratio
        Largest ratio of unpacked to packed size, from 64 MB on.
    row_bytes
        Largest size of a row or line, in bytes.
    document_bytes
        Largest size of a document that is read whole, in bytes.
    columns
        Largest number of columns.
    """

    unpacked_bytes: int = Field(default=1 << 38, ge=1)
    unpacked_ratio: int = Field(default=250, ge=1)
    row_bytes: int = Field(default=64 << 20, ge=1 << 10, le=1 << 30)
    document_bytes: int = Field(default=1 << 30, ge=1)
    columns: int = Field(default=20_000, ge=1)


class Engine(Section):
    """Sets where heavy steps run.

    With ``kind: local`` the other settings are ignored, so that ``--set engine.kind=local`` builds
    without the cluster.

    Parameters
    ----------
    kind
        local: this machine. spark: a Spark cluster.
    master
        Master of Spark: local[n], spark://, k8s://, yarn or sc://. null: Spark's own files and
        environment decide.
    config
        Settings of Spark by name, such as spark.executor.memory: 2g. Nested names are joined by
        dots.
    wait_seconds
        Seconds without progress on the cluster after which a build fails.
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
                f"{master!r} is not a Spark master; write local[2], local[*], spark://HOST:PORT, "
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
        names = sorted(name for name in config if not name.startswith("spark."))
        if names:
            raise ValueError(
                f"Spark ignores names that do not begin with spark.: {', '.join(names)}"
            )
        if meant := {"spark.master", "spark.remote"}.intersection(config):
            raise ValueError(f"{meant.pop()} is set by engine.master")
        return config

    @model_validator(mode="after")
    def _spark_alone_has_a_master(self) -> Self:
        if "kind" not in self.model_fields_set and (self.master or self.config):
            raise ValueError("master and config need kind: spark")
        return self


def _dotted(nested: dict[str, Any]) -> dict[str, Any]:
    """Flatten nested settings into Spark's dotted names; values become texts."""
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": inner for key, inner in _dotted(value).items()}
        elif isinstance(value, bool | int | float):
            flat[name] = str(value).lower()
        else:
            flat[name] = value
    return flat


class Criterion(Section):
    """Describes one of several criteria that are judged at once.

    Parameters
    ----------
    reverse
        Whether a high score is bad. The score becomes lowest + highest - score, so the task
        needs a scale.
    quality
        Whether the criterion takes part in judge control.
    """

    reverse: bool = False
    quality: bool = True


class Adequacy(Section):
    """Names the labels that say that an output is good enough.

    Parameters
    ----------
    task
        Name of the categorical task that asks whether an output is good enough.
    adequate
        Labels of that task which say that an output is good enough.
    """

    task: str
    adequate: tuple[str, ...]

    @field_validator("adequate")
    @classmethod
    def _as_answers(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(answer_text, labels))


class TaskSettings(Section):
    """Describes the tasks whose names match ``name``; the first match applies.

    Parameters
    ----------
    name
        Glob on the names of tasks.
    kind
        Kind of the task; null: inferred from the fields that have values.
    labels
        Allowed labels; others are rejected. null: all labels that occur.
    ordinal
        Whether the labels are ordered as they are listed.
    scale
        Lowest and highest score; scores outside are rejected.
    criteria
        Criteria that are judged at once, by name. Records of other criteria are rejected.
    references
        Systems that are human references.
    adequacy
        Labels that say whether an output of a pairwise or ranking task is good enough.
    question
        What the judges were asked; shown in the data card and in HITs.
    repeats
        What to do with several answers of one judge on one item and criterion. null: all count,
        and a gate warns.
    reconcile
        order: reconciles the answers of a judge who saw a pair in both orders.
    """

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
                f"repeats: {self.repeats} cannot be used with kind: ranking, where a judge may "
                "rank an output in several rankings"
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
            raise ValueError(f"{list(scale)} is not ascending; write [lowest, highest]")
        if scale and max(map(abs, scale)) > LARGEST:
            raise ValueError(f"{list(scale)} goes beyond {LARGEST:g}")
        return scale

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if labels is None:
            return None
        texts = tuple(map(answer_text, labels))
        twice = [label for label, text in zip(labels, texts, strict=True) if texts.count(text) > 1]
        if twice:
            raise ValueError(f"named twice: {', '.join(sorted({*twice}))}")
        return texts

    @model_validator(mode="after")
    def _reversed_on_a_scale(self) -> Self:
        reversed_ = [name for name, criterion in self.criteria.items() if criterion.reverse]
        if reversed_ and self.scale is None:
            raise ValueError(f"to reverse {', '.join(reversed_)}, name scale: [lowest, highest]")
        return self


class Easl(Section):
    """Sets EASL scores, comparisons within HITs, and the HITs that EASL plans.

    Parameters
    ----------
    gamma
        Skill chain of match quality, bounded ranking aggregation and TrueSkill.
    epsilon
        Tie rate of bounded ranking aggregation and TrueSkill.
    hit_size
        Items per HIT.
    hits
        Largest number of HITs of a batch, for each task.
    random_share
        Share of the HITs that are drawn uniformly at random.
    margin
        Scores within one HIT that differ by no more points than this are a tie.
    trueskill_mean
        Prior mean of TrueSkill.
    trueskill_sd
        Prior standard deviation of TrueSkill.
    """

    gamma: float = Field(default=0.1, ge=1e-4, le=1e4)
    epsilon: float = Field(default=0.1, ge=0, le=100)
    hit_size: int = Field(default=5, ge=2)
    hits: int = Field(default=100, ge=1)
    random_share: float = Field(default=0.0, ge=0, le=1)
    margin: float = Field(default=0.0, ge=0, le=LARGEST)
    trueskill_mean: float = Field(default=0.0, ge=-LARGEST, le=LARGEST)
    trueskill_sd: float = Field(default=1.0, gt=0, le=LARGEST)


class NextHits(Section):
    """Sets the next batch to annotate.

    Parameters
    ----------
    design
        How the next batch is chosen. easl: outputs to score, by variance. controlled: outputs to
        score, with controls. tournament: comparisons that connect the outputs of a segment.
        adequacy: outputs whose adequacy follows from no comparison. validate: a sample of what
        models judged, for people. audit: a sample of labels, whose answers by experts certify the
        others. labels: items whose label is below a level, those first of which one more judgment
        tells most; the default if all tasks are categorical and no judge is a model.
    upload
        Platform whose upload format is written.
    within
        Whether the items of an EASL HIT share a segment, where segments are mapped, or only the
        task.
    segments
        Largest number of segments of a tournament or adequacy batch, for each task.
    hit_size
        Comparisons or questions per HIT. Larger segments are split evenly.
    items
        Largest number of items drawn for people, for each task. null: with design: validate, as
        many as halve the interval; with design: audit, as many as certify labels.certain_at with
        one error; with design: labels, all that are below the level.
    level
        With design: labels, probability from which a label is not asked again. null:
        labels.certain_at.
    per_item
        With design: labels, number of judgments from which an item is not asked again.
    """

    design: Literal[
        "easl", "controlled", "tournament", "adequacy", "validate", "audit", "labels"
    ] = "easl"  # fmt: skip
    upload: Literal["mturk", "label_studio", "jsonl"] = "mturk"
    within: Literal["segment", "task"] = "segment"
    segments: int = Field(default=100, ge=1)
    hit_size: int = Field(default=20, ge=1, le=1000)
    items: int | None = Field(default=None, ge=2)
    level: float | None = Field(default=None, gt=0, le=1)
    per_item: int = Field(default=10, ge=1)


class ControlledHits(Section):
    """Sets HITs that hold controls.

    Parameters
    ----------
    hits
        Number of HITs, for each task.
    groups
        Groups of ten slots per HIT.
    spacing
        Fewest and most slots between a control and its output.
    controls
        Kinds of controls; each group has one of each.
    degradation
        How the degraded copy of a bad_reference is made.
    """

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
        """Return the section as the method takes it."""
        if len(set(self.controls)) < len(self.controls):
            raise ValueError("controls: one is listed twice")
        return HitDesign(groups=self.groups, controls=self.controls, spacing=self.spacing)


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
