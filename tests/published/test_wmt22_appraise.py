"""WMT22 English-Livonian from Appraise: degraded twins find their outputs."""

from __future__ import annotations

import pytest

from tests.conftest import build_file


@pytest.mark.slow
def test_degraded_twins_are_paired(shared_campaigns, tmp_path):
    built = build_file(
        shared_campaigns / "appraise.yaml", f"store={tmp_path / 's'}", f"gold={tmp_path / 'g'}"
    )
    pairs = built.rows("control_pairs")
    assert len(pairs) == 638 + 144
    assert {row["reason"] for row in pairs} == {None}
    judgments = {row["judgment_id"]: row for row in built.rows("controlled")}
    for row in pairs:
        twin, output = judgments[row["judgment_id"]], judgments[row["ordinary_id"]]
        same = ("judge", "system", "segment", "task")
        assert [twin[name] for name in same] == [output[name] for name in same]
        assert (twin["control"], output["control"]) == ("bad_reference", "none")
    facts = built.metrics("control_judges")
    assert facts["verdicts"] == {"passed": 37, "failed": 0, "undetermined": 0, "untested": 0}
