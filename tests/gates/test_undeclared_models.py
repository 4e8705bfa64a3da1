"""A judge with the name of a language model who counts as a person is named, with the share."""

from __future__ import annotations

EXPORT = "item,judge,label\n" + "".join(
    f"i{item},{judge},{'xy'[item % 2]}\n" for item in range(10) for judge in ("ann", "bob", "gpt-4")
)


def test_a_model_that_counts_as_a_person_is_named_with_its_share(stage_campaign):
    built = stage_campaign({"a.csv": EXPORT + "i11,claude-3-opus,x\n"})
    [gate] = [g for g in built.runs["settle_judgments"].gates if g.name == "undeclared_models"]
    names = {row["judge"]: row["judge_id"] for row in built.rows("judge_kinds")}
    assert (gate.level, gate.value) == ("warn", 2)
    assert gate.detail == (
        f"{names['gpt-4']} (family openai, 32.3% of all records), "
        f"{names['claude-3-opus']} (family anthropic, 3.2% of all records)"
    )
    assert names["gpt-4"] != "gpt-4"
