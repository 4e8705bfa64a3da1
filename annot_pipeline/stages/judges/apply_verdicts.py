"""Judgments of judges who do not count get the fate judge_failed; nothing is deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.runtime.indexing import index, index_pairs, is_in, names_of, text_keys


def apply_verdicts(judgments: Iterable[pa.Table], judge_tests: pa.Table) -> Iterator[pa.Table]:
    """Yield the same rows in the same order, with the fates that judge control gives.

    Parameters
    ----------
    judgments
        ``task``, ``judge_id``, ``fate``, ``reason`` and more, in parts.
    judge_tests
        As `finish_control` gives it.
    """
    dropped = judge_tests.filter(judge_tests["dropped"])
    keys = text_keys(dropped["task"], dropped["judge"]).combine_chunks()
    reasons = pc.binary_join_element_wise("judge control", _what(dropped), ": ").combine_chunks()
    for part in judgments:
        positions = _places(part["task"], part["judge_id"], keys)
        fails = pc.and_(pc.is_valid(positions), is_in(part["fate"], ("used", "control")))
        for name, values in (
            ("fate", pc.if_else(fails, "judge_failed", part["fate"].cast(TEXT))),
            ("reason", pc.if_else(fails, reasons.take(positions), part["reason"].cast(TEXT))),
        ):
            field = part.schema.field(name)
            if pa.types.is_dictionary(field.type):
                values = values.dictionary_encode().cast(field.type)
            part = part.set_column(part.schema.get_field_index(name), field, values)
        yield part


def _places(tasks: pa.ChunkedArray, judges: pa.ChunkedArray, keys: pa.Array) -> pa.Array:
    """Return the key number of each row's task and judge; null where there is none."""
    task, judge = index(tasks, null=""), index(judges, null="")
    pairs = index_pairs(task.codes, judge.codes)
    row_keys = text_keys(names_of(task.names, pairs.first), names_of(judge.names, pairs.second))
    return pc.index_in(row_keys, keys).take(pa.array(pairs.codes))


def _what(dropped: pa.Table) -> pa.ChunkedArray:
    """Return the reason in words: the verdict, with p where there is one."""
    p_values = dropped["p_adjusted"].to_numpy()  # null is NaN; those have a reason
    p = pa.array(np.char.mod("%.4g", p_values).tolist(), TEXT)
    tested = pc.binary_join_element_wise(dropped["test"].cast(TEXT), p, ", p = ")
    why = pc.coalesce(dropped["verdict_reason"].cast(TEXT), tested)
    return pc.binary_join_element_wise(dropped["verdict"].cast(TEXT), " (", why, ")", "")
