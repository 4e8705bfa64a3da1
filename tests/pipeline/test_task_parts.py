"""What a stage hands over to machines that share nothing with this one but files."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.runtime.task_partitions import ProgressCallback
from annot_pipeline.stages.ingest.raw_names import NAME_COLUMNS, may_be_alike, names_of


def test_progress_is_told_here_and_nowhere_else():
    heard = []
    told = ProgressCallback(heard.append)
    told("here")
    pickle.loads(pickle.dumps(told))("elsewhere")
    assert heard == ["here"]


def names(**columns):
    """Names of two records."""
    empty = {name: [None, None] for name in NAME_COLUMNS}
    given = {name: pa.array(of, pa.string()) for name, of in (empty | columns).items()}
    return names_of(pa.table(given))


def test_names_of_several_parts_are_compared():
    parts = [names(label=["Yes", "no"]), names(label=["yes", "no"]), names(item=["yes ", None])]
    alike = may_be_alike(parts)
    actual = pa.concat_tables(parts)
    actual = actual.filter(pc.is_in(actual["appearance_hash"], alike))
    labels = actual.filter(pc.equal(actual["what"], "label"))
    assert sorted(labels["name"].to_pylist()) == ["Yes", "yes"]


def test_one_name_in_several_parts_and_of_two_kinds_is_alike_to_none():
    assert not len(
        may_be_alike([names(label=["no", None], item=["no", "no"]), names(label=["no", "no"])])
    )
