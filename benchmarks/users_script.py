"""From exports to tables as it is done today: pandas, scipy, crowd-kit, krippendorff.

`python -m benchmarks.users_script EXPORTS OUT` reads ``labels-*.csv`` and ``scores-*.csv``, drops
repeated rows, tests each judge over all tasks by a paired t-test against degraded copies, leaves
out who fails, standardises scores by judge and task, takes means of outputs and systems with
1,000 bootstrap rounds over segments (vectorised), infers labels by Dawid-Skene and measures
agreement by Krippendorff's alpha, task by task, and writes Parquet. It is written to be fast where
that is a line of pandas or numpy.

What it does not do, and `annot build` does: keep raw bytes, tell bad rows from good ones and give
each a fate, intervals and levels of agreement other than alpha, comparisons of systems,
EASL, TrueSkill, gates, checks, lineage, manifest, report. crowd-kit runs with its own defaults:
it stops earlier than we do.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Literal

import krippendorff
import numpy as np
import pandas as pd
import scipy.stats
from crowdkit.aggregation import DawidSkene

ALPHA, ROUNDS = 0.05, 1_000
OUTPUT = ["task", "hit", "judge", "system", "segment"]


def read(exports: Path, kind: str) -> pd.DataFrame:
    """All exports of a kind, each row once."""
    files = sorted(exports.glob(f"{kind}-*.csv"))
    return pd.concat([pd.read_csv(file) for file in files]).drop_duplicates()


def test_judges(scores: pd.DataFrame) -> pd.Series[float]:
    """p-value of each judge who saw degraded copies."""
    degraded = scores[scores.control == "bad_reference"]
    pairs = scores[scores.control == "none"].merge(degraded, on=OUTPUT)
    return pd.Series(
        {
            judge: scipy.stats.ttest_rel(of.score_x, of.score_y, alternative="greater").pvalue
            for judge, of in pairs.groupby("judge")
            if len(of) > 1
        }
    )


def standardized(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with z, by judge and task; controls count in mean and deviation."""
    by_judge = scores.groupby(["task", "judge"]).score
    z = (scores.score - by_judge.transform("mean")) / by_judge.transform("std")
    return scores.assign(z=z)[scores.control != "bad_reference"]


def system_means(outputs: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Mean z of each system over segments, with the 95% interval of rounds over segments."""
    cells = outputs.z.unstack("segment")
    values = cells.fillna(0).to_numpy()
    known = cells.notna().to_numpy().astype(float)
    n = values.shape[1]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=ROUNDS).T
    low, high = np.percentile((values @ drawn) / (known @ drawn), [2.5, 97.5], axis=1)
    mean = values.sum(axis=1) / known.sum(axis=1)
    return pd.DataFrame({"z_mean": mean, "ci_low": low, "ci_high": high}, index=cells.index)


def alpha(units: pd.Series, values: pd.Series, level: Literal["nominal", "interval"]) -> float:
    """Krippendorff's alpha of ratings in long form."""
    unit, distinct = pd.factorize(units)[0], np.unique(values)
    width = distinct.size
    cells = unit * width + np.searchsorted(distinct, values)
    counts = np.bincount(cells, minlength=(unit.max() + 1) * width)
    domain = np.arange(width) if level == "nominal" else distinct
    return float(
        krippendorff.alpha(
            value_counts=counts.reshape(-1, width), value_domain=domain, level_of_measurement=level
        )
    )


def run(exports: Path, out: Path) -> None:
    """Make all tables."""
    scores = read(exports, "scores")
    p_values = test_judges(scores)
    failed = p_values.index[p_values >= ALPHA]
    p_values.rename("p_value").rename_axis("judge").reset_index().to_parquet(out / "judges.parquet")
    agreement, outputs, systems, labels = {}, {}, {}, {}
    rng = np.random.default_rng(17)
    for task, of in standardized(scores).groupby("task"):
        kept = of[~of.judge.isin(failed)]
        outputs[task] = kept.groupby(["system", "segment"])[["score", "z"]].mean()
        systems[task] = system_means(outputs[task], rng)
        item = kept.segment + "/" + kept.system
        once = kept.control == "none"
        agreement[task] = alpha(item[once], kept.score[once], "interval")
    for task, of in read(exports, "labels").groupby("task"):
        kept = of[~of.judge.isin(failed)].rename(columns={"judge": "worker"})
        table = kept[["item", "worker", "label"]].rename(columns={"item": "task"})
        probability = DawidSkene().fit_predict_proba(table)
        labels[task] = pd.DataFrame(
            {"label": probability.idxmax(axis=1), "probability": probability.max(axis=1)}
        )
        agreement[task] = alpha(table.task, table.label, "nominal")
    for name, tables in (("scores", outputs), ("system_rankings", systems), ("labels", labels)):
        rows = pd.concat(tables, names=["of_task"]).reset_index()
        rows = rows.rename(columns={"task": "item", "of_task": "task"})
        rows.to_parquet(out / f"{name}.parquet")
    rows = pd.DataFrame({"task": agreement.keys(), "value": agreement.values()})
    rows.to_parquet(out / "agreement.parquet")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(*map(Path, sys.argv[1:]))
