"""Oracles from csv files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annot_pipeline.errors import ConfigError
from studies.oracles import (
    number_in,
    on_scale,
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
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize("header", ["item,truth", "sent,label", "id,label", "truth,x,item"])
def test_columns_have_several_names(tmp_path: Path, header: str) -> None:
    rest = "1,b,a" if header.startswith("truth") else "a,1"
    actual = read_item_oracle(written(tmp_path, f"{header}\n{rest}\n"))
    assert actual.values == {None: {"a": 1.0}}
    assert actual.for_task("any task") == {"a": 1.0}


def test_item_wins_over_sent_and_id(tmp_path: Path) -> None:
    actual = read_item_oracle(written(tmp_path, "id,sent,item,label,truth\n1,b,c,2,3\n"))
    assert actual.values == {None: {"c": 3.0}}
    sent = read_item_oracle(written(tmp_path, "id,sent,label\n1,b,2\n"))
    assert sent.values == {None: {"b": 2.0}}


def test_tasks_and_ranks(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufefftask,system,rank\ncs-en,A,1\ncs-en,B,2\nde-en,A,1\n")
    actual = read_system_oracle(path)
    assert actual.for_task("cs-en") == {"A": -1.0, "B": -2.0}
    assert actual.for_task("de-en") == {"A": -1.0}
    assert actual.for_task("fr-en") == {}
    scored = read_system_oracle(written(tmp_path, "system,rank,score\nA,1,.5\n"))
    assert scored.values == {None: {"A": 0.5}}


def test_what_cannot_be_used(tmp_path: Path) -> None:
    title = "an oracle that cannot be used\n  FILE: "
    assert refusal(written(tmp_path, "x,y\n1,2\n")) == (
        f"{title}no column item or sent or id\n    found:   'x', 'y'\n"
        "  FILE: no column truth or label\n    found:   'x', 'y'"
    )
    assert refusal(written(tmp_path, "item,truth\na,1\nb,high\nc,nan\n,3\na,2\n")) == (
        f"{title}rows without item, or whose truth is no number\n"
        "    found:   'b: high', 'c: nan', ': 3'\n    allowed: a number\n"
        "  FILE: item given twice\n    found:   'a'\n    allowed: one row each"
    )
    assert refusal(written(tmp_path, "item,truth\n")) == f"{title}holds no rows"
    assert refusal(tmp_path / "none.csv").endswith("cannot be read: No such file or directory")
    (tmp_path / "latin.csv").write_bytes(b"item,truth\n\xe9,1\n")
    assert "cannot be read: 'utf-8' codec" in refusal(tmp_path / "latin.csv")


def test_numbers() -> None:
    assert [number_in(text) for text in ("1", " 2.5 ", "-0", "1e3")] == [1, 2.5, 0, 1000]
    assert [number_in(text) for text in ("", "x", "nan", "inf", None)] == [None] * 5
    np.testing.assert_allclose(on_scale(np.array([-2.0, 0, 1]), (-2, 2)), [0, 0.5, 0.75])
