"""Judges: tested by degraded copies over all tasks, standardised and described task by task."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.stats

ALPHA = 0.05
SHOWN = ["task", "hit", "judge", "system", "segment"]
"""What a control has in common with the judgment that it belongs to."""


def with_repeats(scores: pd.DataFrame, control: str) -> pd.DataFrame:
    """Ordinary judgments (``_x``) beside a kind of control (``_y``) of the same output."""
    ordinary = scores[scores.control == "none"]
    return ordinary.merge(scores[scores.control == control], on=SHOWN)


def test_judges(scores: pd.DataFrame) -> pd.DataFrame:
    """Paired t-test of each judge who saw degraded copies, and the verdict."""
    pairs = with_repeats(scores, "bad_reference")
    rows = []
    for judge, of in pairs.groupby("judge"):
        if len(of) < 2:
            rows.append((judge, len(of), np.nan, np.nan, np.nan, "undetermined"))
            continue
        test = scipy.stats.ttest_rel(of.score_x, of.score_y, alternative="greater")
        verdict = "passed" if test.pvalue < ALPHA else "failed"
        effect = (of.score_x - of.score_y).mean()
        rows.append((judge, len(of), effect, test.statistic, test.pvalue, verdict))
    columns = ["judge", "n_pairs", "effect", "statistic", "p_value", "verdict"]
    return pd.DataFrame(rows, columns=columns)


def standardized(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with z, by judge and task; controls count in mean and deviation."""
    by_judge = scores.groupby(["task", "judge"]).score
    return scores.assign(z=(scores.score - by_judge.transform("mean")) / by_judge.transform("std"))


def describe_judges(
    labels: pd.DataFrame, scores: pd.DataFrame, tests: pd.DataFrame, accuracy: pd.DataFrame
) -> pd.DataFrame:
    """A row a task and judge."""
    by_judge = scores.groupby(["task", "judge"])
    of_scores = by_judge.score.agg(n_judgments="size", mean="mean", sd="std")
    kinds = scores.groupby(["task", "judge", "control"]).score.agg(["size", "mean"]).unstack()
    for control in ("ask_again", "bad_reference"):
        of_scores[f"n_{control}"] = kinds["size", control].fillna(0).astype(int)
    shown = scores[scores.control != "bad_reference"]
    of_scores["mean_ordinary"] = shown.groupby(["task", "judge"]).score.mean()
    of_scores["mean_bad_reference"] = kinds["mean", "bad_reference"]
    of_scores["longest_constant_run"] = _longest_runs(scores)
    of_labels = labels.groupby(["task", "judge"]).size().to_frame("n_judgments").join(accuracy)
    judges = pd.concat([of_labels, of_scores]).reset_index().merge(tests, on="judge", how="left")
    return judges.fillna({"verdict": "untested"})


def _longest_runs(scores: pd.DataFrame) -> pd.Series:
    """Most equal scores one after the other, by task and judge, in the order of time."""
    rows = scores.sort_values(["task", "judge", "at"])[["task", "judge", "score"]]
    run = (rows != rows.shift()).any(axis=1).cumsum()
    lengths = rows.groupby(["task", "judge", run.rename("run")]).size()
    return lengths.groupby(["task", "judge"]).max()
