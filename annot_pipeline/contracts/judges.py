"""Tables of judges and of their agreement."""

from __future__ import annotations

from typing import Annotated

from annot_pipeline.contracts.table import (
    Bounds,
    Count,
    JudgeKind,
    Share,
    Table,
    Verdict,
    columns_of,
)


class Judges:
    """The reliability of a judge, and the result of judge control.

    Parameters
    ----------
    model
        Name of the model, without version, prompt and temperature; null if the judge is not a model
    family
        Family of related judges declared in campaign.yaml; null if none is declared
    version
        Version of the model; null unless stated in exports or under judges in campaign.yaml
    prompt_hash
        First 12 hex digits of the SHA-256 of the model's prompt, or of the text that identifies the
        prompt; null if unknown
    temperature
        Sampling temperature of the model; null unless stated in exports or under judges in
        campaign.yaml
    n_judgments
        Number of judgments used, measured, set aside as controls, or made by a judge who failed
        judge control; 0 if all answers failed
    n_unscored
        Number of answers that failed (fate unscored); where judges differ, see the gate
        answers_missing_by_judge
    answered_share
        Share of the judge's answers that did not fail: n_judgments of n_judgments and n_unscored
    verdict
        Result of judge control
    verdict_reason
        Why there is no test, or how the verdict was reached
    dropped
        Whether the judge's judgments have the fate judge_failed
    suspected
        Whether the judge's labels look wrong while the data cannot tell who is right
        (verdict_reason); labels of which suspected judges gave half of the answers or more are
        never certain, unless an audit certifies them
    test
        Name of the statistical test of judge control, or by the others' answers (chance, constant,
        copies); null if there is none
    contrast
        Groups of judgments that the test compares; null if there is no such test
    statistic
        Test statistic: t, standard normal z, or number of correct answers, as the test defines
    effect
        Difference that is tested, in points of the scale; for known answers, accuracy minus chance;
        for chance, the agreement with the other judges above chance, as a share of the largest
        possible
    effect_low
        Lower end of the 95% interval of effect, in points (known answers: a share); allows for
        dependent scores within an output and within a HIT
    effect_high
        Upper end of the 95% interval of effect, in points (known answers: a share); allows for
        dependent scores within an output and within a HIT
    required_effect
        A failed judge with a lower effect_high is proposed for rejection: quality.required_effect
        or half the passing judges' median effect, corrected for selection (known answers: midway
        from the judge's chance to the passing judges' accuracy); null if unknown
    p_value
        One-sided p-value of the test; null without a test
    p_adjusted
        One-sided p-value, corrected over judges by quality.correction (chance: as it is); null
        without a test
    power
        Probability that a judge with the passing judges' median effect (corrected for selection),
        or an assumed one if that is unknown, passes with this number of controls (docs/campaign.md)
    n_pairs
        Sample size of the test: number of pairs, of scores in the smaller sample, of known answers,
        or of labels or preferences of items that others judged
    n_needed
        Sample size, counted like n_pairs, from which power is at least quality.min_power (chance: 1
        - alpha); null if there is a verdict or no size is enough
    n_ask_again
        Number of judgments of repeated items
    n_bad_reference
        Number of judgments of degraded copies
    n_good_reference
        Number of judgments of references
    n_known_answers
        Number of questions with a known answer
    known_answer_accuracy
        Share of the questions with a known answer that the judge answered correctly
    known_answer_low
        Lower end of the 95% Wilson interval of known_answer_accuracy
    known_answer_high
        Upper end of the 95% Wilson interval of known_answer_accuracy
    mean
        Mean of the judge's scores in points of the scale, as used for z-scores
    sd
        Standard deviation (ddof 1) of the judge's scores in points of the scale, as used for
        z-scores
    mean_ordinary
        Mean score of ordinary outputs and repeated items, in points of the scale
    mean_good_reference
        Mean score of references, in points of the scale
    mean_bad_reference
        Mean score of degraded copies, in points of the scale
    no_z_reason
        Why the judge has no z-scores; null otherwise
    n_graphs
        Number of segments whose outputs the judge compared
    n_graphs_in_contradiction
        Number of segments in which the judge's comparisons contradict each other
    consistency
        Share of the compared outputs that are not part of a contradiction among the judge's
        comparisons
    seconds_per_judgment
        Mean time per judgment in seconds; computed from the seconds of HITs if judgments have none
    hurried_share
        Share of the judge's timed answers (labels, scores) that take less time than hurried_below;
        null for models, with fewer than 20 timed answers, or without hurried_below
    hurried_below
        Level of hurried_share, seconds: a third of the median over judges of their median time per
        answer; judges who passed judge control where 3 did, else all; null with fewer than 3 judges
        of 20 timed answers
    longest_constant_run
        Length of the longest run of equal scores in order of work; null if the order is unknown
    share_at_ends
        Share of the judge's scores at the lowest or highest point of the declared scale
    accuracy
        Probability of a correct label: diagonal of the judge's confusion matrix, weighted by
        prevalence; too low if judges err independently (docs/methods.md); null without items that
        others judged or whose label is known
    mean_class_accuracy
        Unweighted mean of the diagonal of the judge's confusion matrix
    mean_met_class_accuracy
        Unweighted mean of the diagonal of the judge's confusion matrix, without classes that no
        item was inferred to have
    chance_accuracy
        Expected accuracy of random answers with the label frequencies of this judge
    below_chance
        Whether accuracy is below chance_accuracy
    bias_label
        Label that the judge overuses most
    bias
        Labels: share of bias_label among expected answers minus its prevalence. Scores: mean points
        above the other judges on the same items; null with fewer than 3 shared items
    spread
        Change of the judge's scores, in points, per point of the other judges' noise-corrected mean
        (assessor model); null with fewer than 3 shared items, or if these means vary more by noise
        than by items
    inconsistency
        Standard deviation of the judge's noise, in points of the scale (ITU-T P.913); null with
        fewer than 3 shared items
    correlation
        Correlation of the judge's scores with the other judges' means on the same items; null with
        fewer than 3 shared items, or if either is constant
    n_shared_items
        Number of items and criteria scored by this judge and by others, not counting others who
        failed judge control or agree no better than chance; null if there are no scores
    """

    task: str
    judge: str
    kind: JudgeKind | None
    model: str | None
    family: str | None
    version: str | None
    prompt_hash: str | None
    temperature: float | None
    n_judgments: Count
    n_unscored: Count
    answered_share: Share
    verdict: Verdict
    verdict_reason: str | None
    dropped: bool
    suspected: bool
    test: str | None
    contrast: str | None
    statistic: float | None
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    required_effect: float | None
    p_value: Share | None
    p_adjusted: Share | None
    power: Share | None
    n_pairs: Count
    n_needed: Count | None
    n_ask_again: Count
    n_bad_reference: Count
    n_good_reference: Count
    n_known_answers: Count
    known_answer_accuracy: Share | None
    known_answer_low: Share | None
    known_answer_high: Share | None
    mean: float | None
    sd: float | None
    mean_ordinary: float | None
    mean_good_reference: float | None
    mean_bad_reference: float | None
    no_z_reason: str | None
    n_graphs: Count | None
    n_graphs_in_contradiction: Count | None
    consistency: Share | None
    seconds_per_judgment: Annotated[float, Bounds(doubtful_below=0)] | None
    hurried_share: Share | None
    hurried_below: float | None
    longest_constant_run: Count | None
    share_at_ends: Share | None
    accuracy: Share | None
    mean_class_accuracy: Share | None
    mean_met_class_accuracy: Share | None
    chance_accuracy: Share | None
    below_chance: bool | None
    bias_label: str | None
    bias: float | None
    spread: float | None
    inconsistency: float | None
    correlation: Annotated[float, Bounds(minimum=-1, maximum=1)] | None
    n_shared_items: Count | None


JUDGES = Table("judges", "task and judge", ("task", "judge"), columns_of(Judges))


class Agreement:
    """A statistic of the agreement between judges, with its interval.

    Parameters
    ----------
    statistic
        Name of the statistic
    value
        Value of the statistic; null if undefined
    ci_low
        Lower end of the 95% interval of value; see reason if null
    ci_high
        Upper end of the 95% interval of value; see reason if null
    n_items
        Number of items that the statistic uses: those with two or more judgments
    n_judges
        Number of judges who judged the items that the statistic uses
    reason
        Why value, ci_low or ci_high is null, or which judges the interval applies to
    """

    task: str
    statistic: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    n_items: Count
    n_judges: Count
    reason: str | None


AGREEMENT = Table("agreement", "task and statistic", ("task", "statistic"), columns_of(Agreement))
