"""Exports to judgments: an id and a place for every row, and what becomes of it."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import numpy as np
import pandas as pd

KEY = b"not a secret"
ID_OF = {
    "labels": ["task", "judge", "item"],
    "scores": ["task", "judge", "segment", "system", "control", "hit"],
}
"""Columns that tell one judgment from another."""


def read(exports: Path, kind: str) -> pd.DataFrame:
    """All exports of a kind: a row of a file each, with its place and the judgment's id."""
    tables = []
    for path in sorted(exports.glob(f"{kind}-*.csv")):
        rows = pd.read_csv(path, engine="pyarrow")
        rows["source_file"] = path.name
        rows["source_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        rows["source_row"] = np.arange(1, len(rows) + 1)
        rows["judgment_id"] = _ids(rows, ID_OF[kind])
        tables.append(rows)
    rows = pd.concat(tables, ignore_index=True)
    if kind == "scores":
        rows["item"] = rows.segment + "/" + rows.system
    else:
        rows["control"] = "none"
    names = {judge: _pseudonym(judge) for judge in rows.judge.unique()}
    return rows.assign(judge=rows.judge.map(names), at=pd.to_datetime(rows["at"]))


def _ids(rows: pd.DataFrame, columns: list[str]) -> list[str]:
    """Hashes of what was judged by whom, and for the how-manieth time."""
    keys = rows[columns[0]]
    for column in columns[1:]:
        keys = keys + "\x1f" + rows[column]
    nth = keys.groupby(keys, sort=False).cumcount()
    texts = keys + "\x1f" + nth.astype(str)
    return [hmac.digest(KEY, text.encode(), "sha256").hex()[:32] for text in texts]


def _pseudonym(judge: str) -> str:
    return "j" + hmac.digest(KEY, judge.encode(), "sha256").hex()[:20]


def with_fates(rows: pd.DataFrame, failed: pd.Index) -> pd.DataFrame:
    """What becomes of every row, the first that applies; of equal judgments the latest counts."""
    latest = ~rows.sort_values("at").duplicated("judgment_id", keep="last").sort_index()
    fate = np.select(
        [~latest, rows.judge.isin(failed), rows.control == "bad_reference"],
        ["superseded", "judge_failed", "control"],
        "used",
    )
    return rows.assign(fate=fate)
