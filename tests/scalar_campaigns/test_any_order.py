"""Scores through the whole pipeline: names, order."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from annot_pipeline.contracts import GOLD
from tests.conftest import Built
from tests.scalar_campaigns.judged import FOUR, Row, build_rows, by, of, outputs

pytestmark = pytest.mark.slow

HOSTILE = [
    "<script>alert(1)</script>", "two\nlines", "a\x1fb", "x" * 10_000, "=cmd()", "../../etc",
    "'; DROP TABLE judgments; --", "%2F", "a/b", '"], "x', "NULL", "nan", "\u202etxt", "🙈",
    "\x1b[31mred", "C:\\con", "{i}", "a,b;c\td", " blank ", "#1",
]  # fmt: skip


ONLINE = {"bounded_ra", "trueskill"}


NAMED = {"component", "reason"}
"""Columns in which names stand, or which count by names."""


def test_hostile_names_come_out_unchanged(build: Any) -> None:
    """As systems, segments, criteria, judges and tasks; numbers are those of plain names."""
    chance = random.Random(17)
    plain = [f"n{k:02}" for k in range(len(HOSTILE))]
    shape = [
        (chance.randrange(3), s, g, c, j, chance.randrange(101))
        for s, g, c in product(range(0, len(plain), 3), range(2), range(2))
        for j in chance.sample(range(len(plain)), 6)
    ]

    def built(names: list[str]) -> Built:
        rows = [
            {"task": names[t], "system": names[s], "segment": names[-1 - g], "criterion": names[c],
             "judge": names[j], "hit": names[t], "score": score}
            for t, s, g, c, j, score in shape
        ]  # fmt: skip
        drawn = {"bootstrap": 0, "online_rounds": 0}
        return build(rows, agreement={"bootstrap": 0}, ranking=drawn)

    hostile, tame = built(HOSTILE), built(plain)
    # blanks around a name are no part of it
    back = {name.strip(): other for name, other in zip(HOSTILE, plain, strict=True)}
    for table in ("judges", "system_rankings", "system_comparisons"):
        key = GOLD[table].key
        actual, expected = (
            # online methods take comparisons in the order of ids, which hang on the names
            {names: row for names, row in by(b.rows(table), *key).items() if not {*names} & ONLINE}
            for b in (hostile, tame)
        )
        named = {
            tuple(back.get(name, name) for name in names): row for names, row in actual.items()
        }
        assert named.keys() == expected.keys(), table
        for names, row in expected.items():
            for column in row.keys() - {*key, *NAMED}:  # sums are in the order of names
                assert named[names][column] == pytest.approx(row[column], abs=1e-9), column
    scores = {(row["segment"], row["system"]): row["raw_mean"] for row in hostile.rows("scores")
              if row["task"] == HOSTILE[0]}  # fmt: skip
    assert {(back[g], back[s]): score for (g, s), score in scores.items()} == {
        (row["segment"], row["system"]): row["raw_mean"] for row in tame.rows("scores")
        if row["task"] == plain[0]
    }  # fmt: skip
    items = {row["item"] for row in hostile.rows("scores")}
    assert len(items) == len({row["item"] for row in tame.rows("scores")}), "none run together"


def test_a_name_too_long_to_be_one(stage: Any) -> None:
    rows = [
        *outputs({"x": [1, 2, 3]}),
        of("s9", system="y" * 100_001),
        of("s9", judge="z" * 100_001),
    ]
    actual = Counter(row["reason"] for row in stage(rows).rows("lineage"))
    assert actual == {
        None: 3,
        "system is longer than 100,000 bytes": 1,
        "judge is longer than 100,000 bytes": 1,
    }


def messy(chance: random.Random) -> list[Row]:
    """Two scalar tasks and one of labels, with controls, repeats and things that do not fit."""
    rows: list[Row] = []
    for task, judge in product(("da", "flu", "cat"), range(8)):
        for n in range(12):
            row = {"task": task, "judge": f"j{judge}", "hit": f"h{n % 3}", "native_id": len(rows),
                   "submitted_at": f"2024-05-{1 + n:02}"}  # fmt: skip
            if task == "cat":
                row |= {"item": f"i{n}", "label": chance.choice("yn")}
                if chance.random() < 0.2:
                    row |= {"control": "known_answer", "truth": chance.choice(["y", "n", ""])}
            else:
                segment, system = f"s{n % 4}", chance.choice(["x", "y", "z", ""])
                score = chance.choice(
                    [chance.randrange(101), 70.1, "n/a", 101, chance.uniform(0, 100)]
                )
                row |= {"segment": segment, "system": system, "item": f"{segment}/{system}",
                        "score": score, "criterion": chance.choice(["fluency", "fun"]),
                        "status": chance.choice(["Approved", "Rejected", "", ""])}  # fmt: skip
            rows.append(row)
            if task != "cat" and chance.random() < 0.6:
                kind = chance.choice(["bad_reference", "ask_again", "good_reference"])
                rows.append(
                    row | {"control": kind, "native_id": len(rows), "score": chance.randrange(60)}
                )
    return rows


MESSY_TASKS = [
    {"name": "cat", "kind": "categorical", "labels": ["n", "y"]},
    {
        "name": "*",
        "kind": "scalar",
        "scale": [0, 100],
        "criteria": {"fluency": {}, "fun": {"reverse": True, "quality": False}},
    },
]


@pytest.mark.parametrize(
    "settings",
    [
        {"quality": {"test": "paired_t", "undetermined": "drop", "alpha": 0.4}},
        pytest.param(
            {"quality": {"test": "mann_whitney", "contrast": "difference", "scope": "task",
                         "alpha": 0.4},
             "ranking": {"bootstrap": 20}},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"quality": {"test": "known_answer", "alpha": 0.6, "min_power": 0,
                         "correction": "benjamini_hochberg"},
             "standardize": {"controls": "exclude", "arithmetic": "wmt"}},
            marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_order_and_files_and_keys_change_nothing(
    settings: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes of all tables but lineage, in any order and split into any files."""
    settings = {"ranking": {"bootstrap": 20}} | settings | {
        "tasks": MESSY_TASKS, "privacy": {"pseudonymize": True},
    }  # fmt: skip
    chance = random.Random(17)
    rows = messy(chance)
    whole = build_rows(tmp_path / "whole", rows, **settings)
    assert len({row["verdict"] for row in whole.rows("judges")}) >= 2
    assert {row["left_out_of"] for row in whole.rows("set_aside")} >= {"system_rankings"}
    for n in range(2):
        mixed = chance.sample(rows, len(rows))
        files: dict[str, list[Row]] = {f"{k}.csv": mixed[k::4] for k in range(4)}
        other = build_rows(tmp_path / f"mixed{n}", files, **settings)
        assert {k: v for k, v in other.hashes().items() if k != "lineage"} == {
            k: v for k, v in whole.hashes().items() if k != "lineage"
        }
    monkeypatch.setenv("ANNOT_KEY", "another key, and as long as it needs to be")
    other = build_rows(tmp_path / "key", rows, **settings)
    for table in GOLD:
        if table in ("set_aside", "lineage", "segment_ranks"):
            continue
        names = {
            "judges": ["judge"],
            "judge_confusion": ["judge"],
            "judgments": ["judge", "judgment_id", "hit", "ranking"],
        }.get(table, [])
        first, second = (without(b.rows(table), names) for b in (whole, other))
        assert first == second, table
        if not names:
            assert whole.hashes()[table] == other.hashes()[table], table
    aside = ["judge", "judgment_id"]
    assert without(whole.rows("set_aside"), aside) == without(other.rows("set_aside"), aside)


def test_repeats_in_a_file_in_any_order(build: Any) -> None:
    """Judgments that nothing but their answers tells apart: all count, in no order."""
    chance = random.Random(17)
    rows = outputs({s: xs * 2 for s, xs in FOUR.items()}) * 2
    rows = [row | {"segment": "s0", "score": row["score"] / 3} for row in rows]
    first = build(rows)
    assert sum(row["n_judgments"] for row in first.rows("scores")) == len(rows)
    other = build(chance.sample(rows, len(rows)))
    for name in ("lineage", "set_aside"):
        assert without(first.rows(name), ["source_row", "source_digest"]) == without(
            other.rows(name), ["source_row", "source_digest"]
        )
    assert {k: v for k, v in first.hashes().items() if k != "lineage"} == {
        k: v for k, v in other.hashes().items() if k != "lineage"
    }


def without(rows: list[Row], names: Sequence[str]) -> list[str]:
    """Rows without some columns, in an order of their own."""
    return sorted(repr({k: v for k, v in row.items() if k not in names}) for row in rows)


def test_messy_input_as_worked_out_in_python(stage: Any) -> None:
    """Means, z and pairs of random campaigns, from the rows themselves."""
    for seed in range(4):
        rows = messy(random.Random(seed))
        built = stage(rows, tasks=MESSY_TASKS, quality={"alpha": 0.4}, ranking={"bootstrap": 0})
        failed = {row["judge"] for row in built.rows("judges") if row["dropped"]}
        counted: list[tuple[Row, float]] = []
        for row in rows:
            fits = isinstance(row.get("score"), (int, float)) and row["score"] <= 100
            if row["task"] != "cat" and fits and row["status"] != "Rejected":
                counted.append(
                    (row, 100 - row["score"] if row["criterion"] == "fun" else row["score"])
                )
        given = defaultdict(list)
        for row, score in counted:
            given[row["task"], row["judge"]].append(score)
        judges = by(built.rows("judges"), "task", "judge")
        for key, scores in given.items():
            assert judges[key]["mean"] == pytest.approx(fmean(scores))
            assert judges[key]["sd"] == pytest.approx(stdev(scores))
        cells: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
        for row, score in counted:
            if row.get("control") in (None, "ask_again") and row["judge"] not in failed:
                of_judge = given[row["task"], row["judge"]]
                z = (score - fmean(of_judge)) / stdev(of_judge)
                cells[row["task"], row["item"]][row["criterion"]].append((score, z))
        actual = by(built.rows("scores"), "task", "item")
        for key, by_criterion in cells.items():
            for place, name in enumerate(("raw_mean", "z_mean")):
                means = [
                    fmean(value[place] for value in values) for values in by_criterion.values()
                ]
                assert actual[key][name] == pytest.approx(fmean(means)), (key, name)
        assert {k for k, row in actual.items() if row["n_judgments"]} == set(cells)
        check_pairs(built, [row | {"score": score} for row, score in counted])


def check_pairs(built: Built, counted: list[Row]) -> None:
    """Every pair is of one judge, HIT, criterion and output, and the only one there is."""

    def place(row: Row) -> tuple[Any, ...]:
        output = (row["segment"], row["system"]) if row["system"] else row["item"]
        return row["task"], row["judge"], row["hit"], row["criterion"], output

    there = Counter((place(row), row.get("control", "none")) for row in counted)
    score = {(place(row), row.get("control", "none")): row["score"] for row in counted}
    expected = Counter(
        round(score[where, "none"], 9)
        for (where, control), n in there.items()
        if control != "none" and n == 1 and there[where, "none"] == 1
    )
    pairs = built.rows("control_pairs")
    assert (
        Counter(round(row["ordinary_score"], 9) for row in pairs if not row["reason"]) == expected
    )
    assert len(pairs) == sum(n for (_, control), n in there.items() if control != "none")
