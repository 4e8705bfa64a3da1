"""The sections ``easl``, ``next_hits`` and ``controlled_hits`` of campaign.yaml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from annot_pipeline.config.strict_section import LARGEST, Section
from annot_pipeline.methods.planning.hit_design import HitDesign


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
