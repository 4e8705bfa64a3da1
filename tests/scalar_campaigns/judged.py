"""Scores through the whole pipeline: what its tests share."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from annot_pipeline import load_gold
from annot_pipeline.contracts import GOLD
from tests.conftest import Built, build_file

SCALE = [{"name": "*", "kind": "scalar", "scale": [0, 100]}]


Row = dict[str, Any]


def as_csv(rows: Sequence[Mapping[str, Any]], names: Iterable[str] = ()) -> str:
    """Rows as an export; what a row does not name is blank."""
    text = io.StringIO(newline="")
    names = list(names) or list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


Rows = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows of one export, or by the name of the export."""


def build_rows(folder: Path, rows: Rows, *sets: str, **settings: Any) -> Built:
    """Build a campaign of `write_rows`, and check the release."""
    built = build_file(write_rows(folder, rows, **settings), *sets)
    check_gold(built, folder / "gold")
    return built


def write_rows(
    folder: Path, rows: Rows, *, items: Sequence[Mapping[str, Any]] = (), **settings: Any
) -> Path:
    """Write a campaign whose columns are named as the fields."""
    exports = rows if isinstance(rows, Mapping) else {"a.csv": rows}
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    columns = dict.fromkeys(name for content in exports.values() for row in content for name in row)
    for name, content in exports.items():
        (folder / "exports" / name).write_text(
            as_csv(content, columns), encoding="utf-8", newline=""
        )
    document: Row = {
        "campaign": "small",
        "sources": [
            {"path": "exports/*.csv", "format": "csv", "fields": {name: name for name in columns}}
        ],
        "tasks": SCALE,
        "privacy": {"pseudonymize": False},
        "gates": {"rejected_share": {"error": None}},
        "agreement": {"bootstrap": 2},
    }
    if items:
        (folder / "items.csv").write_text(as_csv(items), encoding="utf-8", newline="")
        fields = {name: name for name in dict.fromkeys(name for row in items for name in row)}
        document["items"] = [{"path": "items.csv", "format": "csv", "fields": fields}]
    (folder / "campaign.yaml").write_text(json.dumps(document | settings), encoding="utf-8")
    return folder


def check_gold(built: Built, gold: Path) -> None:
    """What holds in every release: no NaN, and every judgment that counts is in the means."""
    for name in GOLD:
        for column in load_gold(gold, name).itercolumns():
            if pa.types.is_floating(column.type):
                assert not pc.any(pc.is_nan(column)).as_py(), name
                assert not pc.any(pc.is_inf(column)).as_py(), name
    lineage, scores = built.rows("lineage"), built.rows("scores")
    scalar = {t["task"] for t in built.rows("tasks") if t["kind"] == "scalar"}
    counted = Counter(row["fate"] for row in lineage if row["task"] in scalar)
    assert sum(row["n_judgments"] for row in scores) == counted["used"]
    aside = {
        (row["judgment_id"], row["left_out_of"]): row["reason"] for row in built.rows("set_aside")
    }
    known = {row["judgment_id"] for row in lineage}
    assert {judgment for judgment, _ in aside} <= known
    assert all(aside.values()), "every row says why"
    for row in scores:
        assert (row["raw_mean"] is None) == (row["n_judgments"] == 0)
        assert (row["unfiltered_mean"] is None) == (row["n_unfiltered"] == 0)


def fates(built: Built, *key: str) -> dict[Any, tuple[str, str | None]]:
    """Fate and reason of each record, by item or other columns of lineage."""
    names = key or ("item",)
    return {
        tuple(row[n] for n in names) if len(names) > 1 else row[names[0]]: (
            row["fate"],
            row["reason"],
        )
        for row in built.rows("lineage")
    }


def by(rows: Iterable[Row], *names: str) -> dict[Any, Row]:
    actual: dict[Any, Row] = {}
    for row in rows:
        key = tuple(row[name] for name in names) if len(names) > 1 else row[names[0]]
        assert key not in actual
        actual[key] = row
    return actual


def gates(built: Built) -> dict[str, Any]:
    return {gate.name: gate for run in built.runs.values() for gate in run.gates}


def z_of(scores: Sequence[float]) -> list[float]:
    return [(score - fmean(scores)) / stdev(scores) for score in scores]


def alike(n: int, control: str = "bad_reference") -> str:
    return f"{n} {control} judgments of the same output by the same judge"


def of(segment: str = "s", score: Any = 60, **more: Any) -> Row:
    """An ordinary judgment; `bad` is its degraded copy."""
    return {"judge": "ann", "hit": "h", "system": "x", "segment": segment, "score": score} | more


def bad(segment: str = "s", score: Any = 20, **more: Any) -> Row:
    return of(segment, score, control="bad_reference") | more


def item_of(row: Row) -> str:
    """What the item is where no item is mapped."""
    parts = (row["segment"], row["system"])
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


CAREFUL = [(72, 31), (55, 20), (81, 40), (64, 66), (90, 35), (47, 12), (76, 52), (58, 49)]


CARELESS = [(50, 52), (61, 58), (40, 47), (55, 55), (70, 66), (33, 41), (48, 44), (59, 62)]


def hit_of(
    judge: str, pairs: Sequence[tuple[float, float]], again: Any = (), **more: Any
) -> list[Row]:
    """Rows of a judge: (ordinary score, degraded copy's), and (ordinary, asked again)."""
    rows = []
    for n, (first, second) in enumerate(pairs):
        rows += [of(f"s{n}", first), bad(f"s{n}", second)]
    for n, (first, second) in enumerate(again):
        rows += [of(f"a{n}", first), of(f"a{n}", second, control="ask_again")]
    return [row | {"judge": judge} | more for row in rows]


def expected_test(
    test: str, contrast: str, pairs: Sequence[tuple[float, float]], again: Any, signed: bool
) -> tuple[float, float, float]:
    """statistic (of t-tests), effect, p by scipy."""
    d2 = [a - b for a, b in pairs]
    d1 = [a - b if signed else abs(a - b) for a, b in again]
    if contrast == "paired":
        if test == "paired_t":
            actual = stats.ttest_rel(*zip(*pairs, strict=True), alternative="greater")
        else:
            actual = stats.wilcoxon(
                d2,
                alternative="greater",
                correction=True,
                method="asymptotic",
                zero_method="wilcox",
            )
        return actual.statistic, fmean(d2), actual.pvalue
    first, second = d2, d1
    if contrast == "pooled":
        first = [a for a, _ in pairs] + [a for a, _ in again]
        second = [b for _, b in pairs]
    if test == "welch":
        actual = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    else:
        actual = stats.mannwhitneyu(
            first, second, alternative="greater", use_continuity=True, method="asymptotic"
        )
    return actual.statistic, fmean(first) - fmean(second), actual.pvalue


def outputs(scores: Mapping[str, Sequence[float]], judge: str = "ann", **more: Any) -> list[Row]:
    """A judge's scores of each system's outputs, for the segments s0, s1, ..."""
    return [
        {"judge": judge, "system": system, "segment": f"s{n}", "score": score} | more
        for system, given in scores.items()
        for n, score in enumerate(given)
    ]


FOUR = {
    "a": [90, 85, 88, 93, 79, 95],
    "b": [81, 84, 75, 87, 78, 83],
    "c": [80, 86, 74, 82, 77, 76],
    "d": [30, 35, 28, 41, 22, 39],
}


def known(judge: str, answers: str, truths: str, task: str = "t", **more: Any) -> list[Row]:
    """A judge's answers, a letter each, to questions whose answers are known."""
    return [
        {"task": task, "judge": judge, "item": f"k{n}", "label": label, "truth": truth,
         "control": "known_answer"} | more
        for n, (label, truth) in enumerate(zip(answers, truths, strict=True))
    ]  # fmt: skip


def labels(judge: str, answers: str, task: str = "t") -> list[Row]:
    return [
        {"task": task, "judge": judge, "item": f"i{n}", "label": label}
        for n, label in enumerate(answers)
    ]


YES_NO = [{"name": "*", "kind": "categorical", "labels": ["n", "y"]}]


KNOWN = {"test": "known_answer"}
