"""Great Expectations: suites made from contracts, held against released tables.

Builds hold tables to the same rules by Arrow (parts), which loads 3 s sooner and takes any size;
the suites say in Dagster what was checked, by an engine of its own. An empty table breaks no rule
and is not looked at. What does not belong here: rules (rules), levels (run).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from annot_pipeline.errors import SHOWN_VALUES, printable
from annot_pipeline.gates.rules import Breach, Rule

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation import Expectation

RESULT = {"result_format": "SUMMARY", "partial_unexpected_count": SHOWN_VALUES}


def suite_of(name: str, rules: Sequence[Rule]) -> ExpectationSuite:
    """Return the suite of a table; ``meta`` of an expectation has the place of its rule."""
    with warnings.catch_warnings():  # it imports pyspark where that is, which knows no pandas 3
        warnings.simplefilter("ignore", FutureWarning)
        import great_expectations as gx

    expectations = [_expectation(rule, position) for position, rule in enumerate(rules)]
    return gx.ExpectationSuite(name=name, expectations=expectations)


def hold_to_suite(
    name: str, rules: Sequence[Rule], rows: pa.Table
) -> tuple[list[Breach], list[str]]:
    """Check a table against its rules.

    Parameters
    ----------
    name
        Of the table.
    rules
        Of its contract.
    rows
        The table.

    Returns
    -------
    breaches, unchecked
        Rules that the data breaks; rules that could not be checked, with the reason.
    """
    if not rows.num_rows:
        return [], []
    column_names = [
        n for n in dict.fromkeys(c for r in rules for c in r.columns) if n in rows.schema.names
    ]
    try:
        results = _validate(suite_of(name, rules), rows.select(column_names))
    except Exception as error:  # a defect of the checking, not of the data
        return [], [f"{name}: {_reason(error)}"]
    breaches, unchecked = [], []
    for result in sorted(results, key=lambda r: r.expectation_config.meta["rule"]):
        rule = rules[result.expectation_config.meta["rule"]]
        reason = _raised(result.exception_info)
        if reason is not None:
            unchecked.append(f"whether {rule.words}: {reason}")
        elif not result.success:
            places = result.result["partial_unexpected_index_list"][:SHOWN_VALUES]
            breaches.append(Breach(rule, result.result["unexpected_count"], tuple(places)))
    return breaches, unchecked


def _validate(suite: ExpectationSuite, rows: pa.Table) -> list[Any]:
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # dictionaries would become categories, of which pairs are slow to compare
    texts = pa.schema(
        [
            f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f
            for f in rows.schema
        ]
    )
    batch = context.data_sources.pandas_default.read_dataframe(rows.cast(texts).to_pandas())
    return list(batch.validate(suite, result_format=RESULT).results)


def _expectation(rule: Rule, position: int) -> Expectation:
    import great_expectations.expectations.core as gxe

    arguments: dict[str, Any] = {"severity": rule.severity, "meta": {"rule": position}}
    if len(rule.columns) > 1:
        return gxe.ExpectCompoundColumnsToBeUnique(column_list=list(rule.columns), **arguments)
    (arguments["column"],) = rule.columns
    if rule.kind == "repeated":
        return gxe.ExpectColumnValuesToBeUnique(**arguments)
    if rule.kind == "not_allowed":
        return gxe.ExpectColumnValuesToBeInSet(value_set=list(rule.allowed), **arguments)
    return gxe.ExpectColumnValuesToBeBetween(
        min_value=rule.minimum, max_value=rule.maximum, **arguments
    )


def _raised(info: dict[str, Any] | None) -> str | None:
    """Return why an expectation could not be checked; metrics may hold the error."""
    entries = [info or {}, *(e for e in (info or {}).values() if isinstance(e, dict))]
    for entry in entries:
        if entry.get("raised_exception"):
            return printable(str(entry.get("exception_message") or "no reason given"))
    return None


def _reason(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}")
