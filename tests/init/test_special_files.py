"""`annot init` reads what builds would read: no link out of the folder, no device, no binary."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

from annot_pipeline.cli import main
from annot_pipeline.errors import ConfigError, InputError
from annot_pipeline.init import guess_campaign

EXPORT = "item,judge,label\n" + "".join(f"i{i},w{j},{i % 2}\n" for i in range(9) for j in "abc")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "secret.txt"
    path.parent.mkdir()
    path.write_text("root:x:SECRET,item\n" + "a,b\n" * 9)
    (tmp_path / "exports").mkdir()
    return path


def test_a_link_out_of_its_folder_is_not_read(secret, tmp_path, capsys):
    link = tmp_path / "exports" / "day2.csv"
    link.symlink_to(secret)
    assert main(["init", str(link), "-o", str(tmp_path / "c")]) == 1
    printed = capsys.readouterr()
    assert "a link that leads out of" in printed.err
    assert "SECRET" not in printed.out + printed.err
    assert not (tmp_path / "c").exists()


def test_a_link_out_of_a_folder_of_exports_is_not_read(secret, tmp_path):
    folder = tmp_path / "exports"
    (folder / "day1.csv").write_text(EXPORT)
    (folder / "day2.csv").symlink_to(secret)
    with pytest.raises(InputError, match="a link that leads out of") as error:
        guess_campaign([folder], tmp_path)
    assert "SECRET" not in str(error.value)


def test_a_link_within_its_folder_is_read(tmp_path):
    (tmp_path / "exports" / "data").mkdir(parents=True)
    (tmp_path / "exports" / "data" / "a.csv").write_text(EXPORT)
    (tmp_path / "exports" / "day1.csv").symlink_to("data/a.csv")
    assert "day1.csv" in guess_campaign([tmp_path / "exports" / "day1.csv"], tmp_path)


def test_pipes_devices_and_files_of_the_kernel_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/zero"), Path("/proc/self/environ")):
        with pytest.raises(InputError, match="exports are regular files"):
            guess_campaign([path], tmp_path)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_bytes_of_a_file_that_is_no_text_are_not_shown(tmp_path, name):
    content = b"SECRET" + bytes(random.Random(0).choices(range(1, 256), k=5000))
    packed = gzip.compress(content) if name.endswith(".gz") else content
    (tmp_path / name).write_bytes(packed)
    with pytest.raises(ConfigError, match="is not text") as error:
        guess_campaign([tmp_path / name], tmp_path)
    assert "SECRET" not in str(error.value)
