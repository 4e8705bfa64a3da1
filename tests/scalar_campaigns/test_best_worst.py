"""Best-worst scaling: a judge names the best and the worst item of a tuple."""

from __future__ import annotations

import random
from typing import Any

import pytest
from scipy.stats import spearmanr

EACH = {"t": {"tuple": ["i1", "i2", "i3", "i4"], "best": "best", "worst": "worst"}}
FIELDS = {
    "judge": "judge", "item": {"value": "{t}"}, "score": "{t.value}",
    "ranking": {"join": ["i1", "i2", "i3", "i4"], "sep": "|"},
}  # fmt: skip
SOURCE = {"path": "exports/*.csv", "format": "csv", "each": EACH, "fields": FIELDS}
TASKS = [{"name": "*", "kind": "scalar", "scale": [-1, 1], "repeats": "keep"}]


def export(rows: list[tuple[str, ...]]) -> dict[str, str]:
    lines = [("judge", "i1", "i2", "i3", "i4", "best", "worst"), *rows]
    return {"a.csv": "".join(f"{','.join(line)}\n" for line in lines)}


def test_counts_and_order_of_simulated_judges(stage_campaign: Any) -> None:
    """(best - worst) / shown, counted here anew; items have the values 0 to 19 plus noise."""
    draw = random.Random(5)
    rows, net, shown = [], dict.fromkeys(range(20), 0), dict.fromkeys(range(20), 0)
    for place in range(400):
        items = draw.sample(range(20), 4)
        felt = {i: i + draw.gauss(0, 3) for i in items}
        best, worst = max(felt, key=felt.__getitem__), min(felt, key=felt.__getitem__)
        net[best] += 1
        net[worst] -= 1
        for item in items:
            shown[item] += 1
        rows.append((f"j{place % 8}", *(f"w{i}" for i in items), f"w{best}", f"w{worst}"))
    staged = stage_campaign(export(rows), sources=[SOURCE], tasks=TASKS)
    scores = {row["item"]: row for row in staged.rows("scores")}
    assert len(scores) == 20
    for item, n in shown.items():
        assert scores[f"w{item}"]["n_judgments"] == n
        assert scores[f"w{item}"]["raw_mean"] == pytest.approx(net[item] / n)
    for name in ("raw_mean", "z_mean", "trueskill_mean"):
        order = [scores[f"w{item}"][name] for item in range(20)]
        assert spearmanr(order, range(20)).statistic > 0.95, name


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("j", "a", "b", "c", "d", "a", "a"), "best and worst are not two items of the tuple"),
        (("j", "a", "b", "c", "d", "a", "e"), "best and worst are not two items of the tuple"),
        (("j", "a", "b", "c", "d", "", "b"), "best and worst are not two items of the tuple"),
        (("j", "a", "b", "c", "a", "a", "b"), "an item is in its tuple twice"),
        (("j", "a", "b", "c", "d", "", ""), None),
    ],
)
def test_tuples_that_say_nothing(
    stage_campaign: Any, row: tuple[str, ...], reason: str | None
) -> None:
    """A row of which no answer can be taken is one record; a blank answer was not asked for."""
    good = [("j", "a", "b", "c", "d", "a", "b"), ("k", "a", "b", "c", "d", "i3", "i2")]
    staged = stage_campaign(export([*good, row]), sources=[SOURCE], tasks=TASKS)
    judgments = staged.rows("settled")
    used = {(r["judge"], r["item"]): r["score"] for r in judgments if r["fate"] == "used"}
    assert used == {
        ("j", "a"): 1, ("j", "b"): -1, ("j", "c"): 0, ("j", "d"): 0,
        ("k", "a"): 0, ("k", "b"): -1, ("k", "c"): 1, ("k", "d"): 0,
    }  # fmt: skip
    [other] = [r for r in judgments if r["fate"] != "used"]
    assert (other["fate"], other["reason"]) == (
        ("rejected", reason) if reason else ("not_asked", "best and worst are blank")
    )
