"""The section ``quality`` of campaign.yaml: judge control."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from annot_pipeline.config.strict_section import Section

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
