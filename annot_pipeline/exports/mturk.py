"""MTurk batch results: csv whose rows end before the requester's own columns.

``Approve`` and ``Reject`` stand in the header, for the requester to fill in; until then the
rows leave them out altogether. What a cell packs is the campaign's mapping to say.
"""

from __future__ import annotations

from annot_pipeline.exports.raw_rows import Export, Opening
from annot_pipeline.exports.tabular import read_csv

REQUESTERS_COLUMNS = ("Approve", "Reject")


def read_mturk(opening: Opening) -> Export:
    """Open MTurk batch results; see `raw_rows.Export`."""
    return read_csv(opening, left_out=REQUESTERS_COLUMNS)
