"""Makes all tables: `python -m benchmarks.users_script EXPORTS OUT [--rounds N] [--by-library]`."""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.users_script.agreement import Row, label_agreement, score_agreement
from benchmarks.users_script.judges import (
    describe_judges,
    standardized,
    test_judges,
    with_repeats,
)
from benchmarks.users_script.labels import infer_labels
from benchmarks.users_script.reading import read, with_fates
from benchmarks.users_script.scores import rank_systems, score_items

LINEAGE = ["judgment_id", "task", "item", "judge", "fate", "source_sha256", "source_file",
           "source_row"]  # fmt: skip
JUDGMENTS = ["task", "item", "judge", "judgment_id", "fate", "control", "segment", "system",
             "label", "score", "z", "hit", "at"]  # fmt: skip
KEYS = ["task", "method", "item", "label", "judge", "system", "system_a", "system_b", "statistic",
        "judgment_id"]  # fmt: skip
"""What tables are sorted by, as far as they have it."""

Tables = dict[str, pd.DataFrame]


def make_tables(exports: Path, rounds: int, *, by_library: bool) -> Tables:
    """All tables, by name."""
    labels, scores = read(exports, "labels"), standardized(read(exports, "scores"))
    tests = test_judges(scores)
    failed = pd.Index(tests.judge[tests.verdict == "failed"])
    labels, scores = with_fates(labels, failed), with_fates(scores, failed)
    of_labels = _of_labels(labels, rounds)
    of_scores = _of_scores(scores, failed, rounds, by_library=by_library)
    accuracy = of_labels.pop("accuracy").set_index(["task", "judge"])
    agreement = [of.pop("agreement") for of in (of_labels, of_scores)]
    both = pd.concat([labels, scores], ignore_index=True)
    return of_labels | of_scores | {
        "agreement": pd.concat(agreement),
        "judges": describe_judges(labels, scores, tests, accuracy),
        "items": both[["item", "segment", "system"]].drop_duplicates(),
        "judgments": both.loc[both.fate != "superseded", JUDGMENTS],
        "lineage": both[LINEAGE],
    }  # fmt: skip


def _of_labels(labels: pd.DataFrame, rounds: int) -> Tables:
    """Tables of all tasks of labels."""
    tables: defaultdict[str, list[pd.DataFrame]] = defaultdict(list)
    for task, of in labels.groupby("task"):
        kept = of[of.fate == "used"]
        for name, table in infer_labels(kept).items():
            tables[name].append(table.assign(task=task))
        for suffix, rows in (("", kept), ("_unfiltered", of)):
            statistics = label_agreement(rows[["item", "judge", "label"]], rounds)
            tables["agreement"].append(_agreement(str(task), suffix, statistics))
    return {name: pd.concat(parts) for name, parts in tables.items()}


def _of_scores(scores: pd.DataFrame, failed: pd.Index, rounds: int, *, by_library: bool) -> Tables:
    """Tables of all tasks of scores."""
    items = score_items(scores[scores.control != "bad_reference"])
    tables: defaultdict[str, list[pd.DataFrame]] = defaultdict(list, scores=[items])
    rng = np.random.default_rng(17)
    for task, of in items.groupby("task"):
        rankings, comparisons = rank_systems(of, rng)
        tables["system_rankings"].append(rankings.assign(task=task))
        tables["system_comparisons"].append(comparisons.assign(task=task))
    for task, of in scores.groupby("task"):
        repeats = with_repeats(of, "ask_again")
        for suffix, left_out in (("", failed), ("_unfiltered", [])):
            rows, again = (table[~table.judge.isin(left_out)] for table in (of, repeats))
            statistics = score_agreement(rows, again, rounds, by_library=by_library)
            tables["agreement"].append(_agreement(str(task), suffix, statistics))
    return {name: pd.concat(parts) for name, parts in tables.items()}


def _agreement(task: str, suffix: str, rows: Iterable[Row]) -> pd.DataFrame:
    table = pd.DataFrame(list(rows), columns=["statistic", "value", "ci_low", "ci_high"])
    return table.assign(task=task, statistic=table.statistic + suffix)


def write(tables: Tables, out: Path) -> None:
    """Sorted Parquet files, and a manifest with their hashes."""
    manifest = {}
    for name, table in tables.items():
        path = out / f"{name}.parquet"
        keys = [column for column in KEYS if column in table]
        table.sort_values(keys).to_parquet(path, index=False, compression="zstd")
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest[name] = {"file": path.name, "rows": len(table), "sha256": sha256}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.users_script", description=__doc__)
    parser.add_argument("exports", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=200, help="bootstrap rounds of agreement")
    parser.add_argument("--by-library", action="store_true", help="alphas of scores by the library")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = make_tables(asked.exports, asked.rounds, by_library=asked.by_library)
    write(tables, asked.out)
