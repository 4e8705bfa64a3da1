"""Judgments of judges who do not count get the fate judge_failed; nothing is deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.steps.indexing import text_keys


def apply_verdicts(
    judgments: Iterable[pa.RecordBatch], judge_tests: pa.Table
) -> Iterator[pa.RecordBatch]:
    """The same rows in the same order, with the fates that judge control gives them.

    Parameters
    ----------
    judgments
        ``task``, ``judge_id``, ``fate``, ``reason`` and more.
    judge_tests
        As `control_judges` gives it.
    """
    dropped = judge_tests.filter(judge_tests["dropped"])
    keys = text_keys(dropped["task"], dropped["judge"]).combine_chunks()
    reasons = pc.binary_join_element_wise("judge control", _what(dropped), ": ").combine_chunks()
    for batch in judgments:
        place = pc.index_in(text_keys(batch["task"], batch["judge_id"]), keys)
        counted = pc.is_in(batch["fate"].cast(TEXT), pa.array(["used", "control"], TEXT))
        fails = pc.and_(pc.is_valid(place), counted)
        for name, values in (
            ("fate", pc.if_else(fails, "judge_failed", batch["fate"].cast(TEXT))),
            ("reason", pc.if_else(fails, reasons.take(place), batch["reason"].cast(TEXT))),
        ):
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, batch.schema.field(name), values)
        yield batch


def _what(dropped: pa.Table) -> pa.ChunkedArray:
    """Why, in words: the verdict, with p where there is one."""
    p_values = dropped["p_adjusted"].to_numpy()  # null is NaN; those have a reason
    p = pa.array(np.char.mod("%.4g", p_values).tolist(), TEXT)
    tested = pc.binary_join_element_wise(dropped["test"].cast(TEXT), p, ", p = ")
    why = pc.coalesce(dropped["verdict_reason"].cast(TEXT), tested)
    return pc.binary_join_element_wise(dropped["verdict"].cast(TEXT), " (", why, ")", "")
