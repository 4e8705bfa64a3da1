"""Agreement on labels of a task that is too large for one job: its items come in blocks.

Statistics are made of sums over items, which are asked of all blocks and added in their order. Each
resample of items is drawn block by block. Labels of pairs of judges are counted block by block,
then compared some judges at a time, over all blocks; their means have no interval, as there would
be a resample of all counts in each round.

What does not belong here: the statistics (methods.agreement.agreement,
methods.agreement.label_pairs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from annot_pipeline.errors import shorten
from annot_pipeline.methods.agreement.agreement import (
    ItemAgreement,
    NominalAgreement,
    agreement_of,
    statistics_of_sums,
)
from annot_pipeline.methods.agreement.label_pairs import JudgePairMeans, PairCounts
from annot_pipeline.methods.agreement.rating_counts import Overlap
from annot_pipeline.methods.agreement.rating_pairs import Partners
from annot_pipeline.methods.labels.label_matrix import LabelCodes
from annot_pipeline.methods.numerics.bootstrap import ItemResamples, all_rounds, replicate_counts
from annot_pipeline.runtime.blocks import dump, load
from annot_pipeline.runtime.context import StageContext
from annot_pipeline.runtime.indexing import class_order
from annot_pipeline.runtime.large_tasks import spans_by_size
from annot_pipeline.runtime.partitions import InputPartition
from annot_pipeline.stages.agreement.measure_agreement import agreement_table
from annot_pipeline.stages.agreement.measure_label_agreement import (
    agreement_rows,
    label_names,
    rated,
    ratings_of_labels,
    suffixes,
)
from annot_pipeline.stages.agreement.ratings import UNFILTERED, Row
from annot_pipeline.stages.comparisons.bootstrap_rounds import BootstrapRounds
from annot_pipeline.storage.files import regular, replacing
from annot_pipeline.storage.tables import StoredTable, read_unharmed

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

COLUMNS = ("task", "item", "judge", "label", "control", "fate")
"""What ratings are made of."""
PAIRS_AT_ONCE = 1_000_000
"""Counts of pairs of judges that one job compares, some 100 bytes each, unless they are of one."""


def label_agreement_in_blocks(
    context: StageContext, folder: Path, inputs: InputPartition, tasks: pa.Table
) -> tuple[pa.Table, dict[str, int]]:
    """Return the rows of the table ``agreement`` of one task; no pair of judges is left out.

    Parameters
    ----------
    folder
        Where it may put what is of no use when the stage has ended.
    inputs
        Its judgments, ``controlled``.
    tasks
        ``task``, ``labels``, ``ordinal`` of it.
    """
    [task] = tasks.to_pylist()
    folder.mkdir(parents=True)
    tables = [block.files["controlled"] for block in inputs.slices("controlled")]
    vocabulary = AgreementVocabulary.from_blocks(
        context.run([partial(_scan, table) for table in tables]), task
    )
    dump(folder / "given", vocabulary)
    rows: list[Row] = []
    for suffix in vocabulary.suffixes:
        context.progress(f"agreement of {shorten(task['task'])}{suffix and ', all judges'}")
        agreement = _measured(context, folder, tables, vocabulary, task, suffix)
        rows += agreement_rows(agreement, task, suffix)
    return agreement_table(rows), {}


@dataclass(frozen=True)
class _Scanned:
    """Holds the judges, labels and suffixes of statistics that occur in a block."""

    judges: Sequence[str]
    labels: Sequence[str]
    suffixes: Sequence[str]


@dataclass(frozen=True)
class AgreementVocabulary:
    """Holds the judges by name, the classes in order and the suffixes of a whole task."""

    judges: Mapping[str, int]
    classes: Sequence[str]
    suffixes: Sequence[str]

    @classmethod
    def from_blocks(cls, blocks: Sequence[_Scanned], task: Row) -> AgreementVocabulary:
        """Return the names that some blocks of a task hold."""
        judges, labels, suffixes = (
            sorted({name for block in blocks for name in getattr(block, what)})
            for what in ("judges", "labels", "suffixes")
        )
        classes = task["labels"] or class_order(labels)
        return cls({name: n for n, name in enumerate(judges)}, list(classes), suffixes)


@dataclass(frozen=True)
class _Coded:
    """Holds the counts of a block whose labels are coded.

    Parameters
    ----------
    n_items, n_shared
        With two or more labels, and with labels by two or more judges.
    judges, shared_judges
        ``(n_judges,)`` whether they are among the judges of these.
    n_pairs
        Pairs of labels by distinct judges.
    counts
        ``(n_judges,)`` counts of pairs of judges, by the first of them.
    """

    n_items: int
    n_shared: int
    judges: npt.NDArray[np.bool_]
    shared_judges: npt.NDArray[np.bool_]
    n_pairs: int
    counts: npt.NDArray[np.int64]


def _measured(
    context: StageContext,
    folder: Path,
    tables: Sequence[StoredTable],
    vocabulary: AgreementVocabulary,
    task: Row,
    suffix: str,
) -> NominalAgreement:
    """Return the agreement of all blocks."""
    settings = context.campaign.settings
    bootstrap = BootstrapRounds(task["task"], settings.agreement.bootstrap, settings.seed)
    blocks = [_Block(folder, n, suffix) for n in range(len(tables))]
    coded = context.run(
        [partial(_code, table, block) for table, block in zip(tables, blocks, strict=True)]
    )
    sizes = [coded_block.n_items for coded_block in coded]
    resamples = ItemResamples.draw(sum(sizes), **bootstrap.arguments(f"labels{suffix}")).split(
        sizes
    )
    drawn = [*zip(blocks, resamples, strict=True)]
    sums = reduce(add, context.run([partial(_sums, *arguments) for arguments in drawn]))
    ordinal = None
    if task["ordinal"]:
        dump(folder / "sums", sums)
        jobs = [partial(_ordinal_sum, *arguments, folder / "sums") for arguments in drawn]
        ordinal = reduce(add, context.run(jobs))
    firsts = spans_by_size(
        [sum(counts) for counts in zip(*(block.counts for block in coded), strict=True)],
        PAIRS_AT_ONCE,
    )
    sizes_of_codes = len(vocabulary.judges), len(vocabulary.classes)
    by_pair = context.run([partial(_pairs, blocks, *sizes_of_codes, *span) for span in firsts])
    judges, shared = (
        int(np.logical_or.reduce([getattr(coded_block, name) for coded_block in coded]).sum())
        for name in ("judges", "shared_judges")
    )
    return agreement_of(
        statistics_of_sums(sums, ordinal),
        JudgePairMeans.from_sums(reduce(add, by_pair)),
        labelled=Overlap(sum(sizes), judges),
        shared=Overlap(sum(coded_block.n_shared for coded_block in coded), shared),
        n_label_pairs=sum(coded_block.n_pairs for coded_block in coded),
        rounds=bootstrap.rounds,
    )


@dataclass(frozen=True)
class _Block:
    """Holds the paths of a block's intermediate files."""

    folder: Path
    n: int
    suffix: str

    @property
    def items(self) -> Path:
        """Return the path of the block's `ItemAgreement`."""
        return self.folder / f"items{self.suffix}-{self.n}"

    @property
    def pairs(self) -> Path:
        """Return the path of the block's `PairCounts`, stored as an array of keys and counts."""
        return self.folder / f"pairs{self.suffix}-{self.n}.npy"


def _scan(table: StoredTable) -> _Scanned:
    judgments = read_unharmed(table, COLUMNS)
    rows = rated(judgments, UNFILTERED)
    return _Scanned(label_names(rows, "judge"), label_names(rows), suffixes(judgments))


def _code(table: StoredTable, block: _Block) -> _Coded:
    """Put what a block's items add, and counts of its pairs of judges, where its jobs find them."""
    vocabulary = load(block.folder / "given")
    rows = rated(read_unharmed(table, COLUMNS), block.suffix)
    ratings = ratings_of_labels(rows, vocabulary.classes, vocabulary.judges)
    n_items, n_judges = ratings.sizes["n_items"], len(vocabulary.judges)
    codes = LabelCodes(
        ratings.items, ratings.judges, ratings.values, n_items, n_judges, len(vocabulary.classes)
    )
    units, cells = ItemAgreement.from_codes(codes)
    pairs = PairCounts.from_cells(cells, Partners.from_rows(cells.items, cells.judges))
    dump(block.items, units)
    with replacing(block.pairs) as temporary, temporary.open("wb") as file:
        np.save(file, np.stack([pairs.keys, *pairs.counts]))
    shared = units.pairs > 0
    return _Coded(
        n_items=units.n_items,
        n_shared=int(shared.sum()),
        judges=np.bincount(cells.judges, minlength=n_judges) > 0,
        shared_judges=np.bincount(cells.judges[shared[cells.items]], minlength=n_judges) > 0,
        n_pairs=int(units.pairs.sum()),
        counts=np.bincount(pairs.keys // (n_judges * len(vocabulary.classes)), minlength=n_judges),
    )


def _sums(block: _Block, resamples: ItemResamples) -> Floats:
    """Return sums over the items of a block, of the data and of resamples."""
    resamples = replace(resamples)  # what is drawn goes with the job
    units: ItemAgreement = load(block.items)
    replicates = replicate_counts(units.sums, resamples, floats_per_round=units.floats_per_round)
    return all_rounds(replicates, resamples)


def _ordinal_sum(block: _Block, resamples: ItemResamples, sums: Path) -> Floats:
    """Return a block's sums for ordinal alpha, which needs the ``sums`` of all blocks."""
    resamples = replace(resamples)  # what is drawn goes with the job
    units: ItemAgreement = load(block.items)
    replicates = replicate_counts(
        lambda times, of_all: units.ordinal_sum(times, of_all)[None, :],
        resamples,
        floats_per_round=units.floats_per_round,
        round_values=load(sums),
    )
    of_rounds: Floats = all_rounds(replicates, resamples)[0]
    return of_rounds


def _pairs(blocks: Sequence[_Block], n_judges: int, n_labels: int, first: int, end: int) -> Floats:
    """Return the sums of judge pairs whose first judge is from ``first`` to before ``end``."""
    pair_counts = []
    for block in blocks:
        counted = np.load(regular(block.pairs), mmap_mode="r")
        keys = [first * n_judges * n_labels, end * n_judges * n_labels]
        some = np.array(counted[:, slice(*np.searchsorted(counted[0], keys))])
        pair_counts.append(PairCounts(some[0], some[1:]))
    return PairCounts.joined(pair_counts).sums(n_labels)
