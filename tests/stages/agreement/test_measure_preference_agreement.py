"""Agreement of a small campaign of rankings, worked by hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import AGREEMENT
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import ByTask
from annot_pipeline.stages.agreement.measure_preference_agreement import (
    measure_preference_agreement,
)
from annot_pipeline.stages.agreement.ratings import THESE_JUDGES, TOO_FEW_DRAWN
from annot_pipeline.stages.rankings.describe_comparisons import TABLES, describe_comparisons
from annot_pipeline.stages.shared.comparisons import COMPARISONS
from tests.task_data import task_data

NO_ITEMS = pa.schema(
    [(name, pa.string()) for name in ("item", "task", "segment", "system", "text", "source")]
    + [("place", pa.int64())]
).empty_table()


class Export:
    """Rankings as they are judged, and the table of comparisons that they give."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.n = 0

    def ranking(
        self,
        judge: str,
        segment: str | None,
        ranks: dict[str, int],  # in the order shown; "x,y" share an output
        *,
        kept: bool = True,
        seconds: float | None = None,
        order_known: bool = True,
        task: str = "t",
    ) -> None:
        self.n += 1
        named = [
            (f"{segment}/{system}" if segment else system, rank, place)
            for place, (systems, rank) in enumerate(ranks.items())
            for system in systems.split(",")
        ]
        for (a, rank_a, i), (b, rank_b, k) in combinations(sorted(named), 2):
            self.rows.append(
                {
                    "task": task, "judge": judge, "kept": kept, "segment": segment,
                    "item_a": a, "item_b": b, "system_a": a[-1], "system_b": b[-1],
                    "outcome": int(np.sign(rank_b - rank_a)), "same_output": i == k,
                    "b_shown_first": k < i if order_known and i != k else None,
                    "ranking": self.n, "submitted_at": None, "seconds": seconds,
                    "judgment_id": f"{self.n:04d}",
                }
            )  # fmt: skip

    def table(self) -> pa.Table:
        return pa.Table.from_pylist(self.rows, COMPARISONS)


def measured(export: Export, items: pa.Table = NO_ITEMS, *, rounds: int = 0):
    by_task, rows, facts = ByTask(export.table()), [], {"preferences": {}}
    tables = {name: [schema.empty_table()] for name, schema in TABLES.items()}
    for task in by_task.names:
        own, metrics = measure_preference_agreement(
            CodedTask(task, by_task[task]), rounds=rounds, seed=17
        )
        rows += [row | {name: nulled(row[name]) for name in NUMBERS} for row in own]
        data = {"comparisons": by_task[task], "item_rows": items}
        described, times = describe_comparisons(task_data(task, data))
        facts["preferences"][task] = metrics | times["comparison_times"]
        for name, table in described.items():
            tables[name].append(table)
    return rows, facts, {name: pa.concat_tables(parts) for name, parts in tables.items()}


NUMBERS = ("value", "ci_low", "ci_high")


def nulled(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def values(rows, task: str = "t") -> dict[str, float | None]:
    return {row["statistic"]: row["value"] for row in rows if row["task"] == task}


def by_name(rows) -> dict[str, dict[str, Any]]:
    return {row["statistic"]: row for row in rows}


@pytest.fixture
def three_judges() -> Export:
    """Judge 1 contradicts itself on segment g; judge 3 is alone on segment h."""
    export = Export()
    export.ranking("1", "g", {"a": 1, "b": 2, "c": 3}, seconds=30)
    export.ranking("1", "g", {"b": 1, "a": 2}, seconds=8)
    export.ranking("2", "g", {"c": 2, "a": 1, "b": 2}, seconds=60)
    export.ranking("3", "h", {"a": 1, "b": 1}, seconds=12)
    return export


def test_every_statistic_by_hand(three_judges):
    """Pairs ab: 1 1>, 1 <, 2 >. ac: >, >. bc: >, =. And one tie of judge 3."""
    rows, facts, tables = measured(three_judges)
    actual = values(rows)
    chance = (2 / 8) ** 2 + 2 * (3 / 8) ** 2  # 2 ties of 8 comparisons
    assert actual["inter_percent_agreement_ternary"] == pytest.approx(2 / 4)
    assert actual["inter_kappa_ternary"] == pytest.approx((0.5 - chance) / (1 - chance))
    assert actual["intra_percent_agreement_ternary"] == 0
    assert actual["intra_kappa_ternary"] == pytest.approx(-1)  # no ties: chance 1/2
    # judge 1 and judge 2: (>, >) (<, >) (>, >) (>, =)
    assert actual["cohen_kappa_ternary"] == pytest.approx((1 / 2 - 9 / 16) / (1 - 9 / 16))
    assert actual["majority_class_agreement"] == 0.5  # judge 1 has no vote on ab; ac, not bc
    assert actual["majority_class_chance"] == pytest.approx(1 / 3)
    # judge 1: a and b are a cycle above c, ranks 1 1 2; judge 2: 1 2 2
    assert actual["inter_pearson_ranks"] == pytest.approx(0.5)
    assert actual["inter_spearman_ranks"] == pytest.approx(0.5)
    assert actual["share_of_graphs_with_contradictions"] == pytest.approx(1 / 3)
    assert actual["consistency"] == pytest.approx(6 / 8)
    # ab, a first: both win, b first: wins; ac, a first: wins, c first: loses; bc: b first only.
    # ab weighs 2 (2)(1) / 3, ac weighs 2 (1)(1) / 2
    assert actual["first_shown_win_share"] == pytest.approx((4 / 3 * 1 + 1 * 0.5) / (4 / 3 + 1))
    n = {name: (row["n_items"], row["n_judges"]) for name, row in by_name(rows).items()}
    assert n == {
        "inter_kappa_ternary": (3, 2), "inter_percent_agreement_ternary": (3, 2),
        "intra_kappa_ternary": (1, 1), "intra_percent_agreement_ternary": (1, 1),
        "cohen_kappa_ternary": (3, 2), "majority_class_agreement": (2, 2),
        "majority_class_chance": (2, 2), "inter_pearson_ranks": (1, 2),
        "inter_spearman_ranks": (1, 2), "share_of_graphs_with_contradictions": (3, 3),
        "consistency": (8, 3), "first_shown_win_share": (2, 2),
    }  # fmt: skip
    assert tables["judge_contradictions"].to_pylist() == [
        {"task": "t", "judge": judge, "n_graphs": 1, "n_graphs_with_contradictions": n,
         "consistency": pytest.approx(share)}
        for judge, n, share in (("1", 1, 1 / 3), ("2", 0, 1), ("3", 0, 1))
    ]  # fmt: skip
    assert tables["segment_contradictions"].to_pylist() == [
        {"task": "t", "segment": segment, "n_graphs": n, "n_graphs_with_contradictions": n_with,
         "consistency": pytest.approx(share)}
        for segment, n, n_with, share in (("g", 2, 1, 4 / 6), ("h", 1, 0, 1))
    ]  # fmt: skip
    assert facts["preferences"]["t"] == {
        "graphs": 3, "graphs_with_contradictions": 1,
        "share_of_graphs_with_contradictions": pytest.approx(1 / 3),
        "rank_pairs_with_few_common_outputs": 0, "rank_pairs_with_constant_ranks": 0,
        "rankings_without_seconds": 0, "rankings_without_source": 4,
    }  # fmt: skip
    assert None not in values(rows).values()


def test_rows_fit_the_table_and_have_intervals(three_judges):
    rows, _, _ = measured(three_judges, rounds=50)
    table = AGREEMENT.from_columns(
        {name: [row[name] for row in rows] for name in AGREEMENT.schema.names}
    )
    assert table.num_rows == len(rows)
    row = by_name(rows)["consistency"]
    assert (row["ci_low"], row["ci_high"], row["reason"]) == (None, None, TOO_FEW_DRAWN)
    assert by_name(rows)["inter_pearson_ranks"]["ci_low"] is None  # one segment


def test_thirty_segments_have_an_interval():
    export = Export()
    for n in range(30):
        third = 3 if n % 2 else 1  # every other ranking contradicts itself
        export.ranking("1", f"g{n}", {"a": 1, "b": 2})
        export.ranking("1", f"g{n}", {"b": 1, "c": 2})
        export.ranking("1", f"g{n}", {"a": 3 - third + 1, "c": third})
    row = by_name(measured(export, rounds=50)[0])["consistency"]
    assert row["ci_low"] < row["value"] < row["ci_high"]
    assert row["reason"] == THESE_JUDGES


def test_shared_outputs_expanded_and_collapsed():
    """Two judges: x and y share a text. Expanded ab, ay, xy ...; asked is one comparison each."""
    export = Export()
    export.ranking("1", "g", {"x,y": 1, "z": 2})
    export.ranking("2", "g", {"z": 1, "x,y": 2})
    export.ranking("2", "h", {"z": 2, "a": 1})
    actual = values(measured(export)[0])
    assert actual["inter_percent_agreement_ternary"] == pytest.approx(1 / 3)  # xy: nobody was asked
    chance = (2 / 7) ** 2 + 2 * (5 / 14) ** 2
    assert actual["inter_kappa_ternary"] == pytest.approx((1 / 3 - chance) / (1 - chance))
    assert actual["inter_percent_agreement_ternary_collapsed"] == 0
    assert actual["inter_kappa_ternary_collapsed"] == pytest.approx(-1)
    assert actual["majority_class_agreement"] == 0
    assert actual["first_shown_win_share"] == 1  # of x and z; a and z stand in one order
    assert actual["intra_kappa_ternary_collapsed"] is None


REASON = "no two systems stand in both orders: side and system cannot be told apart"


def votes(share, n=400, better=0.85, first=0.0, seed=4):
    """Votes of which `better` are for y, which stands first in `share`; `first` go by the side."""
    rng = np.random.default_rng(seed)
    export = Export()
    for n_vote in range(n):
        x_first = rng.random() >= share
        y_wins = rng.random() < better
        if rng.random() < first:
            y_wins = not x_first
        ranks = {"x": 2 if y_wins else 1, "y": 1 if y_wins else 2}
        shown = {name: ranks[name] for name in ("xy" if x_first else "yx")}
        export.ranking(f"{n_vote % 5}", f"g{n_vote}", shown)
    return by_name(measured(export, rounds=300)[0])["first_shown_win_share"]


def test_one_order_tells_nothing_of_the_side():
    """The better system always stands second: that is no bias of the side."""
    row = votes(0)
    assert (row["value"], row["ci_low"], row["ci_high"]) == (None, None, None)
    assert (row["reason"], row["n_items"], row["n_judges"]) == (REASON, 0, 0)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_orders_that_are_not_balanced_tell_the_side(share):
    """The better system stands first in 50 or 90% of votes; judges do not mind, or do."""
    fair = votes(share, n=4000)
    assert fair["ci_low"] < 0.5 < fair["ci_high"]
    assert fair["ci_high"] - fair["ci_low"] < 0.08
    biased = votes(share, n=4000, first=0.2)
    assert biased["value"] == pytest.approx(0.6, abs=0.03)  # .8 .5 + .2
    assert biased["ci_low"] > 0.5
    assert biased["reason"] == THESE_JUDGES


def test_an_interval_without_width_is_none():
    """Nobody contradicts anybody: no draw of segments differs."""
    export = Export()
    for n in range(30):
        export.ranking("1", f"g{n}", {"a": 1, "b": 2})
    row = by_name(measured(export, rounds=20)[0])["consistency"]
    assert (row["value"], row["ci_low"], row["ci_high"]) == (1, None, None)
    assert row["reason"].startswith("no interval: the statistic is the same")


def test_every_null_has_a_reason(three_judges):
    export = Export()
    export.ranking("1", None, {"a": 1, "b": 2})
    for rounds in (0, 9):
        for rows in (measured(export, rounds=rounds)[0], measured(three_judges, rounds=rounds)[0]):
            for row in rows:
                numbers = [row[name] for name in ("value", "ci_low", "ci_high")]
                assert (None in numbers) == (row["reason"] not in (None, THESE_JUDGES)), row


def test_judges_who_do_not_count(three_judges):
    three_judges.ranking("4", "g", {"a": 3, "b": 2, "c": 1}, kept=False, seconds=1)
    three_judges.ranking("4", "g", {"a": 1, "b": 2}, kept=False, seconds=1)
    rows, facts, tables = measured(three_judges)
    kept = {row["statistic"]: row for row in rows if not row["statistic"].endswith("_unfiltered")}
    everyone = {
        row["statistic"].removesuffix("_unfiltered"): row
        for row in rows
        if row["statistic"].endswith("_unfiltered")
    }
    assert kept.keys() == everyone.keys()
    assert kept["consistency"]["value"] == pytest.approx(6 / 8)
    # c beats a and b, which are a cycle
    assert everyone["consistency"]["value"] == pytest.approx(7 / 11)
    assert facts["preferences"]["t"]["graphs"] == 3
    judges = tables["judge_contradictions"].to_pylist()
    assert [(row["judge"], row["consistency"]) for row in judges][-1] == ("4", pytest.approx(1 / 3))
    times = tables["comparison_times"].to_pylist()
    assert [row["n"] for row in times if row["unit"] == "ranking"] == [4]


def test_neither_order_of_rows_nor_another_task_matters(three_judges):
    rows, facts, tables = measured(three_judges, rounds=20)
    three_judges.ranking("1", "g", {"c": 1, "b": 2}, task="another")
    np.random.default_rng(3).shuffle(three_judges.rows)
    again, more_facts, more_tables = measured(three_judges, rounds=20)
    assert [row for row in again if row["task"] == "t"] == rows
    assert more_facts["preferences"]["t"] == facts["preferences"]["t"]
    for name, table in tables.items():
        mine = [row for row in more_tables[name].to_pylist() if row["task"] == "t"]
        assert mine == table.to_pylist()


def test_what_is_undefined_is_null():
    """One judge, one preference, nothing to tell the order."""
    export = Export()
    export.ranking("1", None, {"a": 1, "b": 2}, order_known=False)
    rows, facts, tables = measured(export, rounds=9)
    actual = values(rows)
    assert actual.pop("share_of_graphs_with_contradictions") == 0
    assert actual.pop("consistency") == 1
    assert set(actual.values()) == {None}
    assert "first_shown_win_share" not in actual
    assert tables["segment_contradictions"]["segment"].to_pylist() == [None]
    assert tables["comparison_times"].num_rows == 0
    assert facts["preferences"]["t"]["rankings_without_seconds"] == 1


def test_without_segments_pairs_and_graphs_are_drawn():
    export = Export()
    pairs = [f"{a}{n}{b}{n}" for n in range(8) for a, b in ("ab", "cd", "ef", "ac")]
    for judge in "123":
        for a, b in ((pair[:2], pair[2:]) for pair in pairs):
            export.ranking(judge, None, {a: 1, b: 2 if judge != "3" or a[0] == "a" else 0})
    row = by_name(measured(export, rounds=200)[0])["inter_percent_agreement_ternary"]
    assert row["value"] == pytest.approx((1 + 1 + 1 / 3 + 1 / 3) / 4)
    assert 1 / 3 < row["ci_low"] < row["value"] < row["ci_high"] < 1


def test_no_judge_counts():
    export = Export()
    export.ranking("1", "g", {"a": 1, "b": 2}, kept=False)
    rows, facts, _ = measured(export)
    assert values(rows)["consistency"] is None
    assert values(rows)["consistency_unfiltered"] == 1
    assert facts["preferences"]["t"]["share_of_graphs_with_contradictions"] is None


def test_no_comparisons():
    rows, facts, tables = measured(Export())
    assert rows == []
    assert facts == {"preferences": {}}
    assert {table.num_rows for table in tables.values()} == {0}


def test_times_by_the_length_of_the_source(three_judges):
    """Segment g has 4 words by an item's row, h has 12 by the row of its segment."""
    of_g, of_h = "A cat, a dog.", " ".join(["word"] * 12)
    items = pa.Table.from_pylist(
        [
            {"item": "g/b", "task": "another", "segment": "g", "source": "no", "place": 0},
            {"item": "g/a", "task": None, "segment": "g", "source": of_g, "place": 1},
            {"item": "g/a", "task": None, "segment": "g", "source": "later rows do not count",
             "place": 2},
            {"item": "h/x", "task": "t", "segment": "h", "source": of_h, "place": 3},
        ],
        NO_ITEMS.schema,
    )  # fmt: skip
    _, facts, tables = measured(three_judges, items)
    assert facts["preferences"]["t"]["rankings_without_source"] == 0
    actual = {
        (row["unit"], row["lengths"], row["longer_than"], row["words"]): row
        for row in tables["comparison_times"].to_pylist()
    }
    short = actual["ranking", "disjoint", None, 10]
    assert (short["n"], short["mean"], short["median"]) == (3, pytest.approx(98 / 3), 30)
    assert short["mean_per_word"] == pytest.approx(98 / 3 / 4)
    assert actual["ranking", "disjoint", 10, 20]["mean"] == 12
    assert actual["ranking", "cumulative", None, 20]["n"] == 4
    assert actual["comparison", "disjoint", None, 10]["mean"] == pytest.approx((10 + 8 + 20) / 3)
    # judge 1 took 38 seconds for segment g, judge 2 took 60
    assert actual["segment", "disjoint", None, 10]["mean"] == 49
    assert actual["segment", "all", None, None]["n"] == 3
    assert ("ranking", "disjoint", 20, 30) not in actual


def test_a_segment_with_an_unknown_time_has_none(three_judges):
    three_judges.ranking("2", "g", {"a": 1, "c": 2}, seconds=None)
    times = measured(three_judges)[2]["comparison_times"].to_pylist()
    assert [row["mean"] for row in times if row["unit"] == "segment"] == [(38 + 12) / 2]
