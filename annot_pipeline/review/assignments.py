"""Assignments: what to do about each, and why, in words for the worker who reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annot_pipeline.config import Quality
from annot_pipeline.config.sections import SCREENINGS
from annot_pipeline.errors import printable

LONGEST_REASON = 1024
"""Characters; MTurk refuses a longer one, and control characters."""

TESTS = {
    "paired_t": "paired t-test",
    "signed_rank": "Wilcoxon signed-rank test",
    "welch": "Welch's t-test",
    "mann_whitney": "Mann-Whitney test",
}
DEGRADED = {
    "paired": ("scored {} lower than their originals", "pairs"),
    "pooled": ("scored {} lower than ordinary items", "scores in the smaller sample"),
    "difference": ("{} further from their originals than repeated items were", "pairs"),
}
"""What degraded copies were (or were not) in a contrast, and what the test counts."""

DOUBT = {"decide": 0, "reject": 1, "approve": 2}
"""Recommendations, the most doubtful first."""

SEVERITY = {"failed": 0, "undetermined": 1, "untested": 2, "passed": 3}
"""Verdicts, the worst first."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A raw row, and what to do about it; ``judge`` holds the figures of its worst verdict."""

    export: str
    row: int
    line: int
    worker: str
    hit: str
    native_id: str
    status: str
    undecided: bool
    recommendation: str
    verdicts: tuple[str, ...]
    reason: str
    judge: Mapping[str, Any]
    n_judgments: int
    n_rejected: int
    elsewhere: bool

    @property
    def doubt(self) -> tuple[Any, ...]:
        """Return a sort key, the most doubtful first.

        A p-value is doubtful where the verdict might turn.
        """
        p = self.judge.get("p_value") or 0.0
        turn = p if self.recommendation == "reject" else -p
        lost = self.n_rejected / max(self.n_judgments + self.n_rejected, 1)
        rank = DOUBT[self.recommendation]
        return not self.undecided, rank, len(self.verdicts) < 2, -lost, turn, self.export, self.row


def recommend(
    verdicts: Sequence[Mapping[str, Any]], quality: Quality, encoding: str
) -> tuple[str, str]:
    """Return what to do about a row with these verdicts, the worst first, and why.

    A reason for the worker is written in letters that ``encoding`` has.
    """
    failed = [v for v in verdicts if v["verdict"] == "failed"]
    proven = [v for v in failed if _is_below(v)]
    if proven:
        reasons = {_words(v, quality): v["task"] for v in proven}
        if len(reasons) > 1:
            reasons = {f"{task}: {words}": task for words, task in reasons.items()}
        return "reject", shorten_reason(" ".join(reasons), encoding)
    if failed:
        return "decide", _doubt(failed[0])
    doubts = [v for v in verdicts if v["verdict"] != "passed"]
    why = next((v["verdict_reason"] for v in doubts or verdicts if v["verdict_reason"]), "")
    return "approve" if verdicts and not doubts else "decide", why


def _is_below(verdict: Mapping[str, Any]) -> bool:
    """Return whether a judge's effect is below the required one with 95% confidence."""
    high, required = verdict["effect_high"], verdict["required_effect"]
    return high is not None and required is not None and high < required


def _doubt(verdict: Mapping[str, Any]) -> str:
    """Return why work of a judge who failed is not to be rejected without a look.

    Not for the worker.
    """
    high, required = verdict["effect_high"], verdict["required_effect"]
    if verdict["test"] in SCREENINGS:
        return f"failed ({verdict['verdict_reason']}), by a rule for analyses, not for payment"
    if required is None:
        return "failed, but the required effect is unknown; set quality.required_effect"
    if high is None:
        return "failed, but the controls are too few for an interval of the effect"
    return (
        f"failed, but the effect may be as large as {high:.3g} (95% bound), and {required:.3g} is "
        "required"
    )


def shorten_reason(reason: str, encoding: str) -> str:
    """Return a reason as MTurk takes it, in letters that the file's encoding has."""
    reason = printable(reason).encode(encoding, "replace").decode(encoding)
    over = len(reason) > LONGEST_REASON
    return f"{reason[: LONGEST_REASON - 3]}..." if over else reason


def _words(verdict: Mapping[str, Any], quality: Quality) -> str:
    """Return why a judge failed, for the judge to read: no thresholds, nothing to aim at."""
    p, n = verdict["p_adjusted"], verdict["n_pairs"]
    tested = f"p = {p:.2g}{' after correction' * (quality.correction != 'none')}"
    if verdict["test"] == "consistency":
        return (
            "Scores: they did not agree with those that others gave the same items (permutation "
            f"test, {tested}, {n} items)."
        )
    if verdict["test"] == "known_answer":
        share = verdict["known_answer_accuracy"]
        return (
            f"Control items: {round(share * n)} of {n} questions with a known answer were "
            f"answered right, too few (binomial test, {tested})."
        )
    words, what = DEGRADED[verdict["contrast"]]
    not_, how = ("not ", "reliably") if (verdict["effect"] or 0) > 0 else ("", "no")
    were = f"were {not_}{words.format(how)}"
    test = TESTS[verdict["test"]]
    return f"Control items: degraded copies {were} ({test}, {tested}, {n} {what})."
