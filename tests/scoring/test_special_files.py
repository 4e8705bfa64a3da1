"""`annot score` reads regular files of text, also behind links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from annot_pipeline.errors import InputError
from annot_pipeline.scoring.predictions import read_predictions


def test_predictions_behind_a_link_are_read(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "a.csv").write_text("item,label\na,yes\n")
    (tmp_path / "models" / "latest.csv").symlink_to(tmp_path / "a.csv")
    assert len(read_predictions(tmp_path / "models" / "latest.csv")) == 1


def test_pipes_devices_and_files_of_the_kernel_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "environ.csv").symlink_to("/proc/self/environ")
    for name in ("pipe.csv", "zero.csv", "environ.csv"):
        with pytest.raises(InputError, match="only regular files are read"):
            read_predictions(tmp_path / name)


def test_bytes_of_a_file_that_is_no_text_are_not_shown(tmp_path: Path):
    (tmp_path / "a.csv").write_bytes(b"a\x01b\x02SECRET,\x7f\x03c\n1,2\n")
    with pytest.raises(InputError, match="is not text") as error:
        read_predictions(tmp_path / "a.csv")
    assert "SECRET" not in str(error.value)
