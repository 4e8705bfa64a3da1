"""Guessed campaigns: hostile content, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from annot_pipeline.init.document import comment, scalar
from annot_pipeline.init.names import roles
from tests.init.conftest import Guess, write_csv
from tests.init.guessed import crossed, yes_or_no


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "la: bel", "label # 1", "{label", "*label", "&label", "'label'", "label\u2028x",
        "yes label", "étiquette label", "😀 label", "label\\n", "- label", "%label", "!label",
        "label\x85z",
    ],
)  # fmt: skip
def test_any_column_name_survives(tmp_path: Path, guess: Callable[..., Guess], name: str) -> None:
    rows = crossed("judge", "item", name, label=yes_or_no)
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.fields()["label"] == name
    assert actual.facts["fates"]["used"] == 40


@pytest.mark.parametrize("text", ["a\nb: c", "\x1b[31m", "x\u2028y", "tab\there", "\ud800", "null"])
def test_scalars_and_comments_stay_on_one_line(text: str) -> None:
    assert len(scalar(text).splitlines()) == 1
    assert comment(text).isprintable()
    assert scalar(text).startswith('"')


def test_labels_with_line_breaks_stay_in_their_comment(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed(
        "judge", "item", "label", label=lambda _, i: '"a\nowners: [x]"' if i % 2 else "b"
    )
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.settings.owners == ()
    assert actual.used("label") == {("a\nowners: [x]",), ("b",)}


def test_names_of_judges_are_not_written_down(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    secret = [(str(row[0]).replace("j", "secret"), *row[1:]) for row in rows[1:]]
    assert "secret" not in guess(write_csv(tmp_path / "v.csv", [rows[0], *secret])).text


def test_campaign_names_are_made_fit(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    folder = tmp_path / "2024 Ünï-Exports!"
    write_csv(folder / "v.csv", crossed("judge", "item", "label", label=yes_or_no))
    assert re.fullmatch(r"[a-z][a-z0-9_]*", guess(folder).settings.campaign)


def test_only_a_sample_of_a_big_file_is_looked_at(
    tmp_path: Path, guess: Callable[..., Guess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annot_pipeline.init.campaign.ROWS_READ", 30)
    actual = guess(
        write_csv(tmp_path / "v.csv", crossed("judge", "item", "label", label=yes_or_no))
    )
    assert "the first 30 rows were looked at" in actual.text
    assert actual.facts["fates"]["used"] == 40


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        (("text", "item", "label"), "no column says who judged"),
        (("judge", "colour", "label"), "no column says what was judged"),
        (("judge", "item", "remark"), "no column says what was answered"),
    ],
)
def test_what_is_missing_is_said_with_the_columns_there_are(
    tmp_path: Path, header: tuple[str, str, str], missing: str
) -> None:
    rows = [header, *((f"a{n}", f"b{n}", f"c{n} {'long text ' * 9}") for n in range(50))]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(ConfigError) as error:
        guess_campaign([path], tmp_path)
    text = str(error.value)
    assert missing in text
    assert f"its columns: {', '.join(header)}" in text
    assert f"annot init {path} --" in text, "the command that answers"
    assert "by hand" not in text
    assert error.value.exit_status == 2


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("v.csv", b"", "is empty"),
        ("v.csv", b"judge,item,label\n", "holds no rows"),
        ("v.csv", b"PK\x03\x04...", "zip or Excel"),
        ("v.csv.gz", b"not gzip", "cannot be read"),
        ("v.json", b'[{"a": 1}]', "no column says who judged"),
        ("v.jsonl", b'{"a": \n"b"}', "malformed JSON"),
        ("v.xml", b"<a/>", "is XML or HTML"),
        ("v.csv", b"a\0b", "is not text"),
    ],
)
def test_files_that_no_reader_can_read(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        guess_campaign([path], tmp_path)


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file or folder"):
        guess_campaign([tmp_path / "nowhere.csv"], tmp_path)
    with pytest.raises(ConfigError, match="no file here looks like an export"):
        guess_campaign([tmp_path], tmp_path)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("WorkerId", "judge"), ("user_name", "judge"), ("PROLIFIC_PID", "judge"),
        ("label_gold", "truth"),
        ("!amt_annotation_ids", "native_id"), ("task_id", "item"), ("HITId", "hit"),
        ("Input.sys_id", "system"), ("z_score", None), ("lifetime", None), ("country_code", None),
    ],
)  # fmt: skip
def test_names_say_roles(name: str, role: str | None) -> None:
    actual = roles(name)
    assert actual == {} if role is None else role in actual
