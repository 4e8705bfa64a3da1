"""Rows of a person leave an export as a line editor would remove them, but for line ends."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from annot_pipeline.config.sources import Source
from annot_pipeline.stages.ingest.forgotten_rows import text_digest, without_rows
from annot_pipeline.storage.archive import find_exports

FIELDS = {name: name for name in ("item", "judge", "label")}


@pytest.mark.parametrize(
    ("end", "row", "is_ended"), [*product(("\n", "\r\n"), (1, 2, 3), (True, False))]
)
def test_what_is_left_is_what_a_line_editor_leaves(
    tmp_path: Path, end: str, row: int, is_ended: bool
) -> None:
    lines = [f"{line}{end}" for line in ("item,judge,label", "i1,ann,a", "i2,ben,b", "i3,cy,a")]
    lines[-1] = lines[-1] if is_ended else lines[-1].removesuffix(end)
    (tmp_path / "a.csv").write_text("".join(lines), newline="")
    by_hand = "".join(lines[:row] + lines[row + 1 :])
    (tmp_path / "b.csv").write_text(by_hand, newline="")
    export, edited = (find_exports(tmp_path, name, where=name)[0] for name in ("a.csv", "b.csv"))
    source = Source.model_validate({"path": "a.csv", "format": "csv", "fields": FIELDS})
    (tmp_path / "c.csv").write_bytes(without_rows(export, source, {row}, {"nobody"}))
    [copy] = find_exports(tmp_path, "c.csv", where="c.csv")
    assert text_digest(copy) == text_digest(edited)
