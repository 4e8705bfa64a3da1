"""The section ``tasks`` of campaign.yaml."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from annot_pipeline.config.strict_section import LARGEST, Section
from annot_pipeline.contracts.answer_text import answer_text


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
