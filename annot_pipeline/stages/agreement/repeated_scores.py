"""Scores of outputs that a judge saw twice: the agreement of judges with themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Flags, Floats
from annot_pipeline.methods.scores.zscores import Arithmetic
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.coded_task import CodedTask
from annot_pipeline.runtime.indexing import is_in


@dataclass(frozen=True)
class RepeatedScores:
    """Scores of outputs that a judge saw twice, with their z-scores; arrays are ``(n_pairs,)``."""

    items: Codes
    judges: Codes
    first: Floats
    second: Floats
    first_z: Floats
    second_z: Floats
    dropped: Flags

    @classmethod
    def from_tables(
        cls,
        pairs: pa.Table,
        judge_tests: pa.Table,
        judge_scores: pa.Table,
        arithmetic: Arithmetic,
    ) -> RepeatedScores:
        """Return the repeats of one task; for the parameters see `measure_agreement`."""
        is_repeat = pc.and_(is_in(pairs["control"], ("ask_again",)), pc.is_null(pairs["reason"]))
        rows = CodedTask("", pairs.filter(is_repeat))
        first, second, judge = (
            rows.numbers("ordinary_score"),
            rows.numbers("score"),
            rows["judge_id"],
        )
        mean, sd = (_by_judge(judge_scores, judge.names, name) for name in ("mean", "sd"))
        dropped = _by_judge(judge_tests, judge.names, "dropped")
        first_z, second_z = (
            z_of(judge.codes, score, mean, sd, arithmetic=arithmetic) for score in (first, second)
        )
        items = rows.groups("item", "criterion")
        return cls(items, judge.codes, first, second, first_z, second_z, dropped[judge.codes] > 0)

    @property
    def n_items(self) -> int:
        """Return the size of the code range of items."""
        return int(self.items.max(initial=-1)) + 1

    @property
    def showings(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return scores and z-scores of the first showing, and of the second."""
        return (self.first, self.first_z), (self.second, self.second_z)

    def only(self, rows: Flags) -> RepeatedScores:
        """Return the repeats that ``rows`` selects."""
        return RepeatedScores(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def _by_judge(table: pa.Table, judges: list[str], column: str) -> Floats:
    rows = CodedTask("", table)
    values = np.full(len(judges) + 1, np.nan)  # the last is of judges who are not asked for
    values[rows.codes_among("judge", judges)] = rows.numbers(column)
    return values[:-1]
