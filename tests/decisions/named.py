"""Who is named where in a campaign."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow.parquet as pq

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.storage.keys import judge_key, pseudonym


def named_in(campaign: Path, person: str) -> list[str]:
    """Return files of store and gold with the name or, but for the record, the pseudonym."""
    key = judge_key(load_campaign(campaign).settings, campaign / "store")
    digest = pseudonym(key, person).encode()
    named = []
    for path in [*(campaign / "store").rglob("*"), *(campaign / "gold").rglob("*")]:
        if not path.is_file():
            continue
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        if path.suffix == ".parquet":
            data = repr(pq.read_table(path).to_pydict()).encode()
        if person.encode() in data or (digest in data and path.name != "forgotten.json"):
            named.append(path.relative_to(campaign).as_posix())
    return named
