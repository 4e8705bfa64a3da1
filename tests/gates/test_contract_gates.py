"""Contract gates in builds: what breaks a contract, or could not be checked, is not published."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from annot_pipeline.errors import GateError
from annot_pipeline.gates import expectations
from annot_pipeline.runtime import context
from annot_pipeline.stages.gold import check_tables, trace_lineage
from tests.test_gates import EXPORT


def changing_labels(monkeypatch, change):
    """Lets ``change`` at the labels before they are written."""
    declared = context._as_declared

    def changed(rows, name, **how):
        if name == "labels":
            rows = change(rows.read_all())
        return declared(rows, name, **how)

    monkeypatch.setattr(context, "_as_declared", changed)


def with_null_label(table):
    labels = pc.if_else(pc.equal(table["item"], "i1"), None, table["label"])
    field = pa.field("label", pa.string())
    return table.set_column(table.schema.names.index("label"), field, labels)


@pytest.mark.expectations
def test_a_null_where_none_may_be_is_named_and_not_published(build_campaign, monkeypatch):
    changing_labels(monkeypatch, with_null_label)
    with pytest.raises(GateError) as error:
        build_campaign({"a.csv": EXPORT})
    assert "contract_labels" in str(error.value)
    assert "label is null in 1 row: 'small' / 'i1'" in str(error.value)


def test_rows_out_of_order_are_not_published(build_campaign, monkeypatch):
    changing_labels(monkeypatch, lambda table: table.take([1, 0, 2]))
    with pytest.raises(GateError, match="the order of task, item is broken in 1 row"):
        build_campaign({"a.csv": EXPORT})


def test_lineage_is_held_by_parts(build_campaign, monkeypatch):
    lineage_rows = trace_lineage.lineage_rows

    def careless(records):
        for part in lineage_rows(records):
            rows = pc.subtract(part["source_row"], 1)
            yield part.set_column(part.schema.get_field_index("source_row"), "source_row", rows)

    monkeypatch.setattr(trace_lineage, "lineage_rows", careless)
    with pytest.raises(GateError, match="source_row is below 1 in 1 row:"):
        build_campaign({"a.csv": EXPORT})


def test_what_could_not_be_checked_is_an_error_and_checked_again(build_campaign, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(check_tables, "hold_to_suite", lambda *_: ([], ["no way to tell"]))
        with pytest.raises(GateError) as error:
            build_campaign({"a.csv": EXPORT})
    assert "contract_labels: could not be checked: no way to tell" in str(error.value)
    assert "build again" in str(error.value)
    built = build_campaign({"a.csv": EXPORT})
    assert built.publication.published
    assert not built.runs["infer_labels"].result.reused


@pytest.mark.expectations
def test_a_build_holds_every_table_and_a_second_one_none(build_campaign, monkeypatch):
    held = []
    validate = expectations._validate
    monkeypatch.setattr(
        expectations,
        "_validate",
        lambda suite, rows: held.append(suite.name) or validate(suite, rows),
    )
    first = build_campaign({"a.csv": EXPORT})
    filled = {t["name"] for t in first.publication.release.manifest["tables"] if t["rows"]}
    assert sorted(held) == sorted(filled - {"judgments", "lineage"})
    assert len(held) > 4
    build_campaign({"a.csv": EXPORT})
    assert len(held) == len(filled) - 2
