"""Contracts: every rule of every table is broken once, and told with the key of the row."""

from __future__ import annotations

import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD, JUDGMENTS, LABELS, LINEAGE
from annot_pipeline.gates import expectations
from annot_pipeline.gates.expectations import hold_to_suite
from annot_pipeline.gates.rules import Rule, check_rules_by_chunk, rules_of
from annot_pipeline.stages.gold import check_tables
from annot_pipeline.stages.gold.check_tables import check_table, misshapen, violations
from annot_pipeline.storage.tables import StoredTable, read_groups, write_table
from tests.gates.broken_tables import broken_rows, good_rows, table_of

NAMES = sorted(GOLD)


def dictionaries(table):
    """As tables of the store are read."""
    return pa.table(
        {
            name: table[name].dictionary_encode() if pa.types.is_string(t) else table[name]
            for name, t in zip(table.schema.names, table.schema.types, strict=True)
        }
    )


def parts(table, size):
    return [table.slice(n, size) for n in range(0, table.num_rows, size)]


def expected(contract, rules):
    """Breaches of `broken_rows`."""
    places = {rule: (place,) for place, rule in enumerate(rules)}
    if contract.unique:
        places[rules[-1]] = (len(rules) - 1, len(rules))
    return places


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_every_rule_is_an_expectation(name):
    rows, rules = broken_rows(GOLD[name])
    table = table_of(rows, GOLD[name])
    breaches, unchecked = hold_to_suite(name, rules, dictionaries(table))
    assert unchecked == []
    assert {b.rule: b.places for b in breaches} == expected(GOLD[name], rules)
    assert all(b.rows == len(b.places) for b in breaches)
    good = table_of(good_rows(GOLD[name], 3), GOLD[name])
    assert hold_to_suite(name, rules, dictionaries(good)) == ([], [])


@pytest.mark.parametrize("per_part", [1, 2, 3, 100])
@pytest.mark.parametrize("name", NAMES)
def test_every_rule_is_held_by_parts(name, per_part):
    rows, rules = broken_rows(GOLD[name])
    breaches = check_rules_by_chunk(rules, parts(table_of(rows, GOLD[name]), per_part))
    assert {b.rule: b.places for b in breaches} == expected(GOLD[name], rules)
    assert all(b.rows == len(b.places) for b in breaches)
    assert (
        check_rules_by_chunk(rules, parts(table_of(good_rows(GOLD[name], 3), GOLD[name]), per_part))
        == []
    )


@pytest.mark.parametrize("per_part", range(1, 9))
def test_keys_that_repeat_are_counted_once_a_row_wherever_parts_end(per_part):
    rows = good_rows(LABELS, 7)
    for row in rows[2:6]:
        row |= {"task": "task002", "item": None}  # equal nulls are equal
    repeated = [rule for rule in rules_of(LABELS) if rule.kind == "repeated"]
    (breach,) = check_rules_by_chunk(repeated, parts(table_of(rows, LABELS), per_part))
    assert (breach.rows, breach.places) == (4, (2, 3, 4, 5))


def test_every_declaration_of_a_column_is_a_rule():
    """So that the two tests above look at all there is."""
    for contract in GOLD.values():
        rules = rules_of(contract)
        for c in contract.columns:
            kinds = {r.kind for r in rules if r.columns == (c.name,) and r.kind != "repeated"}
            ranged = (c.minimum, c.maximum, c.doubtful_below) != (None, None, None)
            declared = {"not_allowed": bool(c.allowed), "out_of_range": ranged}
            assert kinds == {kind for kind, is_ruled in declared.items() if is_ruled}, c.name
        assert [r.columns for r in rules if r.kind == "repeated"] == [contract.key] * (
            contract.unique
        )


@pytest.mark.parametrize("contract", [LABELS, JUDGMENTS], ids=lambda c: c.name)
def test_rows_that_break_a_rule_are_named_by_key(contract, tmp_path):
    """Five, and that there are more."""
    rows = good_rows(contract, 9)
    for row in rows[1:8]:
        row["probability" if contract is LABELS else "fate"] = None
    rows[8]["item"] = rows[7]["item"] = "twice"
    for name in contract.key:
        rows[8][name] = rows[7][name]
    if contract is LABELS:
        rows[3]["probability"] = 1.5
        rows[4]["label"] = None
    file = write_table(tmp_path / "t.parquet", table_of(rows, contract))
    broken = check_table(contract, StoredTable((file,))).broken
    if contract is LABELS:
        assert "probability is below 0 or above 1 in 1 row: 'task003' / 'item003'" in broken
        assert "label is null in 1 row: 'task004' / 'item004'" in broken
        assert "task, item repeats in 2 rows: 'task007' / 'twice', 'task007' / 'twice'" in broken
    else:
        (null,) = (text for text in broken if text.startswith("fate is null in 7 rows: "))
        assert null.count("judgment_id") == 5
        assert null.endswith(" and more")
        assert any(
            text.startswith("task, item, judge, judgment_id repeats in 2") for text in broken
        )


def arrow(contract, rows, *, per_group=100):
    table = table_of(rows, contract)
    return violations(parts(table, per_group), contract)


@pytest.mark.parametrize("per_group", [1, 2, 100])
def test_order_and_nan(per_group):
    rows = good_rows(LABELS, 5)
    assert arrow(LABELS, rows, per_group=per_group) == []
    rows[1]["entropy"] = rows[3]["entropy"] = float("nan")
    rows[2], rows[4] = rows[4], rows[2]
    assert arrow(LABELS, rows, per_group=per_group) == [
        "entropy is NaN in 2 rows: 'task001' / 'item001', 'task003' / 'item003'",
        "rows are not sorted by task, item in 2 rows: 'task003' / 'item003', 'task002' / 'item002'",
    ]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("per_group", [1, 2, 100])
@pytest.mark.parametrize("name", NAMES)
def test_nulls_stand_where_they_may_alone(name, per_group):
    contract = GOLD[name]
    for column in contract.columns:
        rows = good_rows(contract, 3)
        rows[1][column.name] = None
        texts = [
            text for text in arrow(contract, rows, per_group=per_group) if "not sorted" not in text
        ]
        assert len(texts) == (not column.nullable)
        assert all(text.startswith(f"{column.name} is null in 1 row: ") for text in texts)


def test_nulls_stand_last_in_the_order():
    rows = good_rows(LINEAGE, 3)
    rows[2]["task"] = None
    assert arrow(LINEAGE, rows) == []
    rows[1]["task"], rows[2]["task"] = None, "task002"
    assert len(arrow(LINEAGE, rows)) == 1
    rows[1], rows[2] = rows[2], rows[1]
    rows[0] = rows[1] | {}
    assert arrow(LINEAGE, rows) == []  # equal keys are in order


def test_other_columns_and_types():
    missing = LABELS.schema.remove(2)
    (text,) = misshapen(missing, LABELS)
    assert text.startswith("columns are ['task', 'item', 'probability'")
    wrong = LABELS.schema.set(3, pa.field("probability", pa.float32()))
    assert misshapen(wrong, LABELS) == ["probability is float, declared is double"]
    encoded = LABELS.schema.set(2, pa.field("label", pa.dictionary(pa.int32(), pa.string())))
    assert misshapen(encoded, LABELS) == misshapen(LABELS.schema, LABELS) == []


def test_a_table_of_other_columns_is_not_looked_into(tmp_path, monkeypatch):
    monkeypatch.setattr(check_tables, "check_rules_by_chunk", None)
    table = table_of(good_rows(LABELS, 2), LABELS).drop(["label"])
    file = write_table(tmp_path / "t.parquet", table)
    checked = check_table(LABELS, StoredTable((file,)))
    assert len(checked.broken) == 1
    empty = write_table(tmp_path / "t.parquet", LABELS.empty())
    assert check_table(LABELS, StoredTable((empty,))) == check_tables.Checked()


@pytest.fixture
def files_read(monkeypatch):
    """Names of the files that are read, without those whose columns alone are."""
    names = []

    def logged(table, *of, **how):
        names.extend(path.stem for path in table.paths)
        return read_groups(table, *of, **how)

    monkeypatch.setattr(check_tables, "read_groups", logged)
    return names


def labels_in_files(folder, rows_by_file):
    files = [
        write_table(folder / f"{name}.parquet", table_of(rows, LABELS))
        for name, rows in rows_by_file.items()
    ]
    return StoredTable(tuple(files)), [file.sha256 for file in files]


def test_files_that_kept_the_contract_are_not_read_again(tmp_path, files_read):
    rows = good_rows(LABELS, 7)
    by_file = {name: [row] for name, row in zip("abcdefg", rows, strict=True)}
    whole, _ = labels_in_files(tmp_path, by_file)
    old = [file.sha256 for file in whole.files if file.path.stem not in "cg"]
    assert check_table(LABELS, whole, old) == check_tables.Checked()
    assert {*files_read} == {*"bcdfg"}
    files_read.clear()
    gone = StoredTable(whole.files[:2] + whole.files[3:])
    assert check_table(LABELS, gone, [file.sha256 for file in whole.files]) == (
        check_tables.Checked()
    )
    assert not files_read


def test_order_and_keys_are_held_across_files_that_are_not_new(tmp_path, files_read):
    rows = good_rows(LABELS, 6)
    twice = rows[1] | {"label": "other"}
    by_file = {"a": rows[:2], "b": [twice], "c": rows[3:4], "d": rows[5:]}
    table, digests = labels_in_files(tmp_path, by_file)
    broken = check_table(LABELS, table, [digests[0], *digests[2:]]).broken
    assert broken == check_table(LABELS, table).broken
    assert broken == ("task, item repeats in 2 rows: 'task001' / 'item001', 'task001' / 'item001'",)
    late = StoredTable((table.files[0], table.files[3], table.files[2]))
    files_read.clear()
    broken = check_table(LABELS, late, [digests[0], *digests[2:]]).broken
    assert broken == ("rows are not sorted by task, item in 1 row: 'task003' / 'item003'",)
    assert {*files_read} == {*"acd"}, "files that moved"


def test_what_errs_is_told_apart_from_what_fails():
    """A column that an expectation looks at and does not find."""
    rules = rules_of(LABELS)
    rows = good_rows(LABELS, 2)
    rows[1]["probability"] = 2.0
    table = table_of(rows, LABELS).drop(["entropy"])
    breaches, unchecked = hold_to_suite("labels", rules, table)
    assert [b.rule.columns for b in breaches] == [("probability",)]
    assert unchecked == [
        'whether entropy is below 0: Error: The column "entropy" in BatchData does not exist.'
    ]


def test_great_expectations_that_fails_as_a_whole_says_so(monkeypatch):
    def fails(*_):
        raise RuntimeError("no\nway")

    monkeypatch.setattr(expectations, "_validate", fails)
    table = table_of(good_rows(LABELS, 2), LABELS)
    assert hold_to_suite("labels", rules_of(LABELS), table) == (
        [],
        ["labels: RuntimeError: no\ufffdway"],
    )


def test_seconds_below_0_are_doubtful(tmp_path):
    rows = good_rows(JUDGMENTS, 3)
    rows[1]["seconds"] = -4.0
    file = write_table(tmp_path / "t.parquet", table_of(rows, JUDGMENTS))
    checked = check_table(JUDGMENTS, StoredTable((file,)))
    assert checked.broken == ()
    assert checked.doubtful == (
        "seconds is below 0 in 1 row: 'task001' / 'item001' / 'judge001' / 'judgment_id001'",
    )


def test_severities_of_expectations():
    seconds = next(r for r in rules_of(GOLD["judges"]) if r.columns == ("seconds_per_judgment",))
    assert seconds == Rule("out_of_range", seconds.columns, "warning", minimum=0)
    assert all(r.severity == "critical" for r in rules_of(LABELS))
