"""Scores of outputs that a judge saw twice: the agreement of judges with themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Codes, Floats
from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.scores.zscores import Arithmetic
from annot_pipeline.methods.scores.zscores import standardized as z_of
from annot_pipeline.runtime.indexing import index, index_pairs, is_in


@dataclass(frozen=True)
class RepeatedScores:
    """Scores of outputs that a judge saw twice, with their z-scores; arrays are ``(n_pairs,)``."""

    items: Codes
    judges: Codes
    first: Floats
    second: Floats
    first_z: Floats
    second_z: Floats
    dropped: npt.NDArray[np.bool_]

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
        rows = pairs.filter(is_repeat)
        first, second = rows["ordinary_score"].to_numpy(), rows["score"].to_numpy()
        judge = index(rows["judge_id"])
        criterion = index(rows["criterion"], null="")
        mean, sd = (_by_judge(judge_scores, judge.names, name) for name in ("mean", "sd"))
        dropped = _by_judge(judge_tests, judge.names, "dropped")
        first_z, second_z = (
            z_of(judge.codes, score, mean, sd, arithmetic=arithmetic) for score in (first, second)
        )
        items = index_pairs(index(rows["item"]).codes, criterion.codes).codes
        return cls(items, judge.codes, first, second, first_z, second_z, dropped[judge.codes] > 0)

    @property
    def n_items(self) -> int:
        """Return the size of the code range of items."""
        return int(self.items.max(initial=-1)) + 1

    @property
    def showings(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return scores and z-scores of the first showing, and of the second."""
        return (self.first, self.first_z), (self.second, self.second_z)

    def only(self, rows: npt.NDArray[np.bool_]) -> RepeatedScores:
        """Return the repeats that ``rows`` selects."""
        return RepeatedScores(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def _by_judge(rows: pa.Table, judges: list[str], column: str) -> Floats:
    positions = pc.index_in(pa.array(judges, TEXT), rows["judge"].cast(TEXT).combine_chunks())
    values: Floats = rows[column].cast(pa.float64()).to_numpy()  # null is NaN
    return np.asarray(values[positions.to_numpy()])
