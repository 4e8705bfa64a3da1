"""A language model that is the only judge of its entry under judges: the entry is used."""

from __future__ import annotations

import pytest

EXPORT = "item,judge,label\n" + "".join(
    f"i{item},{judge},{'xy'[item % 2]}\n" for item in range(4) for judge in ("ann", "bob", "j1")
)


@pytest.mark.parametrize(("kind", "level"), [("model", "pass"), ("human", "warn")])
def test_a_model_without_relatives_is_used(stage_campaign, kind, level):
    judges = [{"name": "j*", "kind": kind, "family": "gpt"}]
    built = stage_campaign({"a.csv": EXPORT}, judges=judges)
    (gate,) = (
        gate for gate in built.runs["read_records"].gates if gate.name == "unused_judge_settings"
    )
    assert gate.level == level
