"""Answers to audits of labels: of which sample, and of which labels it was drawn.

A sample is named by the release, the number of items drawn, and a digest of the labels: items,
labels, probabilities and `labels.certain_at`. Its answers carry the name (``control_of``), and
certify labels with this digest alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annot_pipeline.arrays import Flags
from annot_pipeline.contracts import TEXT
from annot_pipeline.runtime.indexing import is_in

AUDIT = "audit"
"""The control of answers to an audit."""
SAMPLE = re.compile(r"(?P<release>v\d{1,9}) (?P<n>\d{1,9}) (?P<digest>[0-9a-f]{16})")


@dataclass(frozen=True)
class AuditSample:
    """A sample: the release that it was drawn from, its items, and the digest of the labels."""

    release: str
    n: int
    digest: str

    @classmethod
    def from_name(cls, name: str | None) -> AuditSample | None:
        """Return the sample of a name; None if it is none."""
        match = SAMPLE.fullmatch(name or "")
        return match and cls(match["release"], int(match["n"]), match["digest"])

    @classmethod
    def from_labels(cls, release: str, n: int, checksum: int, certain_at: float) -> AuditSample:
        """Return the sample of n labels with a checksum."""
        return cls(release, n, _digest(checksum, certain_at))

    def is_of(self, checksum: int, certain_at: float) -> bool:
        """Return whether the sample was drawn of labels with a checksum."""
        return self.digest == _digest(checksum, certain_at)

    @property
    def name(self) -> str:
        """Return the name, which each answer carries."""
        return f"{self.release} {self.n} {self.digest}"


def labels_checksum(rows: Iterable[tuple[str, str, float]]) -> int:
    """Return a checksum of items, labels and probabilities; those of blocks add up."""
    return sum(
        int.from_bytes(hashlib.sha256(f"{item}\0{label}\0{p:.9f}".encode()).digest()[:16], "big")
        for item, label, p in rows
    )


def _digest(checksum: int, certain_at: float) -> str:
    return hashlib.sha256(f"{checksum} {certain_at}".encode()).hexdigest()[:16]


def sample_names(rows: pa.Table) -> set[str]:
    """Return the samples that the answers among judgments name; "": none is named."""
    if "control_of" not in rows.column_names:
        return set()
    is_answer = pc.and_(is_in(rows["control"], (AUDIT,)), is_in(rows["fate"], ("control",)))
    return {*pc.unique(rows["control_of"].cast(TEXT).filter(is_answer)).fill_null("").to_pylist()}


def audited_items(
    rows: pa.Table, items: Sequence[str], labels: Sequence[str], names: Sequence[str]
) -> tuple[Flags, Flags]:
    """Return whether items were answered, and whether an answer is not the label.

    Parameters
    ----------
    rows
        Judgments: ``item``, ``label``, ``control``, ``control_of``, ``fate``.
    items, labels
        ``(n_items,)``.
    names
        Of samples.

    Returns
    -------
    answered, wrong
        ``(n_samples, n_items)``.
    """
    flags = np.zeros((2, len(names), len(items)), np.bool_)
    sample = pc.index_in(rows["control_of"].cast(TEXT).fill_null(""), pa.array(names, TEXT))
    item = pc.index_in(rows["item"].cast(TEXT), pa.array(items, TEXT))
    is_answer = pc.and_(is_in(rows["control"], (AUDIT,)), is_in(rows["fate"], ("control",)))
    some = pc.and_(is_answer, pc.and_(sample.is_valid(), item.is_valid()))
    at = sample.filter(some).to_numpy(), item.filter(some).to_numpy()
    answers = rows["label"].cast(TEXT).filter(some).to_numpy()
    flags[0][at] = True
    np.logical_or.at(flags[1], at, answers != np.array(labels, object)[at[1]])
    return flags[0], flags[1]
