"""Oracles from csv files."""

from __future__ import annotations

from pathlib import Path

import pytest

from annot_pipeline.errors import ConfigError
from studies.oracles import (
    read_item_oracle,
    read_system_oracle,
)


def written(folder: Path, text: str) -> Path:
    path = folder / "oracle.csv"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_item_oracle(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("header", ["item,truth", "sent,label", "id,label", "truth,x,item"])
def test_columns_have_several_names(tmp_path: Path, header: str) -> None:
    rest = "1,b,a" if header.startswith("truth") else "a,1"
    actual = read_item_oracle(written(tmp_path, f"{header}\n{rest}\n"))
    assert actual.values == {None: {"a": 1.0}}
    assert actual.for_task("any task") == {"a": 1.0}


def test_tasks_and_ranks(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufefftask,system,rank\ncs-en,A,1\ncs-en,B,2\nde-en,A,1\n")
    actual = read_system_oracle(path)
    assert actual.for_task("cs-en") == {"A": -1.0, "B": -2.0}
    assert actual.for_task("de-en") == {"A": -1.0}
    assert actual.for_task("fr-en") == {}
    scored = read_system_oracle(written(tmp_path, "system,rank,score\nA,1,.5\n"))
    assert scored.values == {None: {"A": 0.5}}


def test_what_cannot_be_used(tmp_path: Path) -> None:
    assert "no column truth or label" in refusal(written(tmp_path, "x,y\n1,2\n"))
    said = refusal(written(tmp_path, "item,truth\na,1\nb,high\nc,nan\n,3\na,2\n"))
    assert "'b: high', 'c: nan', ': 3'" in said
    assert "item given twice" in said
    assert "holds no rows" in refusal(written(tmp_path, "item,truth\n"))
    assert "cannot be read: No such file" in refusal(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"item,truth\n\xe9,1\n")
    assert "cannot be read: 'utf-8' codec" in refusal(tmp_path / "latin.csv")
