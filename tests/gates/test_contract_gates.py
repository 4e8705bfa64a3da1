"""Contract gates in builds: what breaks a contract, or could not be checked, is not published."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from annot_pipeline.errors import GateError
from annot_pipeline.runtime import context
from annot_pipeline.stages.gold import list_judgments
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


def test_a_null_where_none_may_be_is_named_and_not_published(build_campaign, monkeypatch):
    changing_labels(monkeypatch, with_null_label)
    with pytest.raises(GateError) as error:
        build_campaign({"a.csv": EXPORT})
    assert "contract_labels" in str(error.value)
    assert "label is null in 1 row: 'small' / 'i1'" in str(error.value)


@pytest.mark.slow
def test_rows_out_of_order_are_not_published(build_campaign, monkeypatch):
    changing_labels(monkeypatch, lambda table: table.take([1, 0, 2]))
    with pytest.raises(GateError, match="rows are not sorted by task, item in 1 row"):
        build_campaign({"a.csv": EXPORT})


@pytest.mark.slow
def test_lineage_is_held_by_parts(build_campaign, monkeypatch):
    lineage_rows = list_judgments.lineage_rows

    def careless(records):
        for part in lineage_rows(records):
            rows = pc.subtract(part["source_row"], 1)
            yield part.set_column(part.schema.get_field_index("source_row"), "source_row", rows)

    monkeypatch.setattr(list_judgments, "lineage_rows", careless)
    with pytest.raises(GateError, match="source_row is below 1 in 1 row:"):
        build_campaign({"a.csv": EXPORT})
