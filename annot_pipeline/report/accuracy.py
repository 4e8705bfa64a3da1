"""Labels held against the known answers of item tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.contracts import TEXT
from annot_pipeline.methods.wilson import wilson_interval


@dataclass(frozen=True)
class Accuracy:
    """Labels of a task whose answer is known.

    Parameters
    ----------
    task
        Its name.
    which
        Which of its labels.
    n, right
        How many have a known answer, and of these, how many are it.
    """

    task: str
    which: str
    n: int
    right: int

    @property
    def share(self) -> float:
        """Of labels that are right."""
        return self.right / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """95% of the share, after Wilson."""
        low, high = wilson_interval([self.right], [self.n])
        return float(low[0]), float(high[0])


def accuracies(tables: Mapping[str, pa.Table]) -> list[Accuracy]:
    """How often labels are the truth of their item, by task: all labels, those to rely on.

    Parameters
    ----------
    tables
        ``labels`` (``task``, ``item``, ``label``, ``calibrated_certain``, ``adjudicated``) and
        ``items`` (``item``, ``truth``).
    """
    labels, items = tables["labels"], tables["items"]
    known = items.filter(items["truth"].is_valid())
    if not known.num_rows or not labels.num_rows:
        return []
    place = pc.index_in(labels["item"].cast(TEXT), known["item"].cast(TEXT))
    truth = known["truth"].cast(TEXT).take(place)
    right = pc.equal(labels["label"].cast(TEXT), truth).to_numpy()
    held = place.is_valid().to_numpy()
    sure = pc.or_(labels["calibrated_certain"], labels["adjudicated"]).to_numpy()
    tasks = labels["task"].cast(TEXT).combine_chunks().dictionary_encode()
    codes = tasks.indices.to_numpy()
    found = []
    for code in np.argsort(tasks.dictionary.to_pylist()):
        of_task = held & (codes == code)
        for which, rows in (("all", of_task), ("certain or decided", of_task & sure)):
            n = int(rows.sum())
            if n:
                hits = sum(found is True for found in right[rows].tolist())
                found.append(Accuracy(tasks.dictionary[int(code)].as_py(), which, n, hits))
    return found
