"""Clusters of segments: those of one document err together.

A segment without a document is a cluster of its own. Documents that share a segment are one
cluster, and so are documents that a chain of such segments connects: each segment then lies in one
cluster, and judgments of two clusters share neither segment nor document.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annot_pipeline.arrays import Codes

NO_DOCUMENT = -1


def document_clusters(segments: Codes, documents: Codes, n_segments: int) -> Codes | None:
    """Return the cluster of each segment, ``(n_segments,)``; None if no row names a document.

    Parameters
    ----------
    segments, documents
        ``(n,)`` codes: the segment is of the document; `NO_DOCUMENT` where none is named.
    n_segments
        Size of the code range.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    is_named = documents != NO_DOCUMENT
    if not is_named.any():
        return None
    segments, documents = segments[is_named], documents[is_named]
    size = n_segments + int(documents.max()) + 1
    graph = coo_array(
        (np.ones(segments.size), (segments, n_segments + documents)), shape=(size, size)
    )
    return by_first_segment(connected_components(graph, directed=False)[1][:n_segments])


def by_first_segment(clusters: npt.ArrayLike) -> Codes:
    """Return clusters numbered from 0 in the order of their first segments."""
    _, first, codes = np.unique(np.asarray(clusters), return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int64)
    number[np.argsort(first)] = np.arange(first.size)
    return number[codes.reshape(-1)]
