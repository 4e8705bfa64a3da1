"""What a diff says of model judges: versions, judgments that are only measured, estimates."""

from __future__ import annotations

import random

import pytest

from annot_pipeline.cli.diff import diff_lines

FIELDS = {"item": "item", "judge": "judge", "label": "label", "judge_version": "version"}
SETTINGS = {
    "sources": [{"path": "exports/*.csv", "format": "csv", "fields": FIELDS}],
    "agreement": {"bootstrap": 0},
}
DECLARED = {"judges": [{"name": "gpt*", "kind": "model"}]}


def exports(version: str = "1") -> dict[str, str]:
    """Return labels of three people on 20 items, and of a model on 30."""
    draw = random.Random(5)
    truth = [draw.choice("xy") for _ in range(30)]

    def label(item: int) -> str:
        return truth[item] if draw.random() < 0.8 else draw.choice("xy")

    head = "item,judge,label,version\n"
    people = "".join(f"i{n},p{j},{label(n)},\n" for n in range(20) for j in range(3))
    model = "".join(f"i{n},gpt-4o,{label(n)},{version}\n" for n in range(30))
    return {"people.csv": head + people, "model.csv": head + model}


@pytest.mark.slow
def test_another_version_is_named_and_moves_estimates(build_campaign, start_campaign, diff):
    start_campaign(exports("1"), **SETTINGS, **DECLARED)
    accepted = "gates.vanished_judgments.error=1"  # those of version 1, which the export gave
    build_campaign(exports("2"), accepted, **SETTINGS, **DECLARED)
    d = diff()
    assert d.inputs["model_versions"] == [
        {"task": "small", "model": "gpt-4o", "judges": "gpt-4o (version 2)",
         "released_judges": "gpt-4o (version 1)"}
    ]  # fmt: skip
    assert "  small  gpt-4o (version 1)  gpt-4o (version 2)" in diff_lines(d.document(5))
    assert (d.inputs["judgments"]["new"], d.inputs["judgments"]["withdrawn"]) == (30, 30)
    rows = d.cells.to_pylist()
    assert {row["table"] for row in rows} == {"judge_validation", "estimates"}  # nothing of people
    causes = {(row["judge"], *row["causes"]) for row in rows}
    assert causes == {
        ("gpt-4o (version 2)", "new judgments"), ("gpt-4o (version 1)", "withdrawn judgments")
    }  # fmt: skip


@pytest.mark.slow
def test_judgments_that_are_only_measured_now_are_not_withdrawn(
    build_campaign, start_campaign, diff
):
    start_campaign(exports(), **SETTINGS)
    built = build_campaign(exports(), **SETTINGS, **DECLARED, privacy={"pseudonymize": False})
    changes = built.publication.release.manifest["changes"]
    assert changes["withdrawn_judgments"] is None  # names are others: nothing is matched
    d = diff()
    assert {cause for row in d.cells.to_pylist() for cause in row["causes"]} <= {"settings", "code"}


@pytest.mark.slow
def test_where_names_are_alike_they_are_counted_as_measured(build_campaign, start_campaign, diff):
    plain = {"privacy": {"pseudonymize": False}}
    start_campaign(exports(), **SETTINGS, **plain)
    changed = exports()
    changed["people.csv"] += "i20,p0,x,\n"
    built = build_campaign(changed, **SETTINGS, **DECLARED, **plain)
    changes = built.publication.release.manifest["changes"]
    counts = {name: n for name, n in changes.items() if "judgments" in name and n}
    assert counts == {"new_judgments": 1, "judgments_of_models_measured_now": 30}
    d = diff()
    assert d.inputs["judgments"]["withdrawn"] == 0
    estimates = [row for row in d.cells.to_pylist() if row["table"] == "estimates"]
    assert {tuple(row["causes"]) for row in estimates} == {("settings",)}


@pytest.mark.slow
def test_selection_probabilities_are_what_item_tables_say(build_campaign, start_campaign, diff):
    items = [{"path": "exports/p.txt", "format": "csv",
              "fields": {"item": "item", "selection_probability": "p"}}]  # fmt: skip

    def listed(p: str) -> dict[str, str]:
        rows = "".join(f"i{n},{p if n < 10 else 0.5}\n" for n in range(30))
        return exports() | {"p.txt": "item,p\n" + rows}

    start_campaign(listed("0.5"), **SETTINGS, **DECLARED, items=items)
    build_campaign(listed("0.25"), **SETTINGS, **DECLARED, items=items)
    rows = [row for row in diff().cells.to_pylist() if row["change"] == "changed"]
    assert {row["table"] for row in rows} == {"judge_validation", "estimates"}
    assert {tuple(row["causes"]) for row in rows} == {("item tables",)}
