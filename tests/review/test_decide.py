"""`annot review`: whose work is proposed to be rejected, and whose a person decides on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from annot_pipeline.config import Quality
from annot_pipeline.review.assignments import recommend
from tests.conftest import build_file
from tests.review.batches import TEN, batch, reviewed, scored, sheet, ten_pairs, upload, work

BOUNDS = "failed, but the effect may be as large as "


def failed(**figures: Any) -> dict[str, Any]:
    verdict = {"verdict": "failed", "task": "t", "verdict_reason": None, "test": "paired_t"}
    verdict |= {"contrast": "paired", "p_value": 0.3, "p_adjusted": 0.3, "n_pairs": 10}
    return verdict | {"effect": 2.0, "effect_high": 9.0, "required_effect": 10.0} | figures


@pytest.mark.parametrize(
    ("figures", "recommendation", "reason"),
    [
        ({}, "reject", "Control items: degraded copies were not scored reliably lower"),
        ({"required_effect": 9.0}, "decide", f"{BOUNDS}9 (95% bound), and 9 is required"),
        ({"effect_high": None}, "decide", "failed, but the controls are too few for an interval"),
        ({"required_effect": None}, "decide", "failed, but the required effect is unknown"),
    ],
)
def test_rejected_only_below_the_required_effect(figures, recommendation, reason):
    actual = recommend([failed(**figures)], Quality(), "utf-8")
    assert actual[0] == recommendation
    assert actual[1].startswith(reason)


def test_one_verdict_that_is_proven_is_enough():
    """scope: task gives several; the words are those of the proven one."""
    doubtful = failed(task="u", required_effect=5.0, n_pairs=3)
    recommendation, reason = recommend([doubtful, failed()], Quality(), "utf-8")
    assert recommendation == "reject"
    assert "10 pairs" in reason
    assert "3 pairs" not in reason


@pytest.mark.slow
def test_what_a_person_decides_on_is_blank(make):
    """Blank is neither approved nor rejected, whatever is uploaded."""
    rows = [
        work("careful", ten_pairs(45, 55, 60)),
        work("careless", ten_pairs(1, -1, 2, -2)),
        work("wild", ten_pairs(70, -40, 60, -30, 50)),
    ]
    folder = make({"b.csv": batch(*rows)}, source=TEN)
    document = reviewed(folder)
    assert [document[kind] for kind in ("approve", "reject", "decide")] == [1, 1, 1]
    filled = [line.rsplit(',"fine",', 1)[1] for line in upload(folder).splitlines()[1:]]
    assert filled[0] == '"x",""'
    assert filled[1].startswith('"","Control items: ')
    assert filled[2] == '"",""'
    actual = {row["worker"]: row for row in sheet(folder)}
    assert (actual["wild"]["verdict"], actual["wild"]["recommendation"]) == ("failed", "decide")
    assert actual["wild"]["reason"].startswith(BOUNDS)
    assert float(actual["wild"]["effect_high"]) > float(actual["wild"]["required_effect"])


@pytest.mark.slow
def test_a_perfect_judge_with_three_known_answers_is_not_rejected(shared_data, tmp_path):
    """Twelve judges without a fault; two of them met three questions each."""
    case = shared_data.parent / "cases" / "exports_perfect_judge_fails"
    folder = tmp_path / "case"
    folder.mkdir()
    settings = yaml.safe_load((case / "campaign.yaml").read_text())
    (folder / "campaign.yaml").write_text(yaml.safe_dump(settings))
    name = settings["sources"][0]["path"]
    (folder / name).write_bytes((case / name).read_bytes())
    built = build_file(folder)
    verdicts = [row["verdict"] for row in built.rows("judges")]
    assert (verdicts.count("passed"), verdicts.count("undetermined")) == (10, 2)
    document = reviewed(folder)
    assert (document["approve"], document["reject"], document["decide"]) == (120, 0, 12)
    assert {row["fate"] for row in built.rows("lineage")} == {"used", "control"}


@pytest.mark.slow
def test_careful_judges_are_seldom_rejected(make: Any, tmp_path: Path):
    """Ten pairs of a HIT with a mood of its own: those who fail are for a person to decide on."""
    draw = np.random.default_rng(6)
    rows = []
    for n in range(60):
        mood, sd = draw.normal(0, 6), 17 * np.exp(draw.normal(0, 0.4))
        item = draw.uniform(40, 80, 10)
        copy = item - 20 - mood - draw.normal(0, sd, 10)
        pairs = [(round(a), round(min(max(b, 0), 100))) for a, b in zip(item, copy, strict=True)]
        rows.append([f"h{n}", *work(f"careful{n}", scored(*pairs))[1:]])
    for n in range(20):
        scores = draw.integers(45, 56, (10, 2)).tolist()
        rows.append([f"g{n}", *work(f"careless{n}", scored(*map(tuple, scores)))[1:]])
    reviewed(make({"b.csv": batch(*rows)}, source=TEN))
    actual = [(row["worker"].rstrip("0123456789"), row["recommendation"])
             for row in sheet(tmp_path / "campaign")]  # fmt: skip
    assert actual.count(("careful", "reject")) == 0
    assert actual.count(("careless", "reject")) >= 10
