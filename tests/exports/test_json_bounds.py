"""JSON in exports that is nested too deeply, or whose numbers cannot be written out."""

from __future__ import annotations

from pathlib import Path

import pytest

from annot_pipeline.bounded_json import DEEPEST, JsonError, bounded_number, parse_bounded_json
from annot_pipeline.cli import main
from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.stages.ingest.expressions import RejectionError, json_step
from tests.memory import peak_bytes

MB = 1 << 20
DEEP = "[" * 200_000 + "]" * 200_000
TOO_DEEP = "[" * DEEPEST + "]" * DEEPEST
"""In an object: one level too many."""
BAD = {
    "deep": DEEP,
    "one level too deep": TOO_DEEP,
    "not closed": "[" * 200_000,
    "exponent": "1e900000000",
    "signed exponent": "-1E+900000000",
    "small": "1e-900000000",
    "zeros before the exponent": "1e000900000000",
    "digits": "9" * 5_000,
    "fraction": "0." + "9" * 5_000,
}
GOOD = ["[" * (DEEPEST - 1) + "]" * (DEEPEST - 1), "1e308", "1e-999", "9" * 4_000]


def read(path: Path, format_: str) -> list[str | None]:
    """Return the problem of each record; what stops the export counts for all."""
    problems: list[str | None] = []
    records = "records" if format_ == "json" else None
    try:
        for chunk in READERS[format_](Opening(path, path.name, records=records)).chunks:
            problems += chunk.problem.to_pylist()
    except InputError as error:
        problems.append(str(error))
    return problems


def check_refused(path: Path, format_: str) -> None:
    problems = read(path, format_)
    assert any(problems), problems
    assert not any("999" in str(problem) for problem in problems)


def text_of(format_: str, value: str) -> str:
    record = f'{{"item": "i0", "label": {value}}}'
    if format_ == "jsonl":
        return f'{record}\n{{"item": "i1", "label": "a"}}\n'
    if format_ == "json":
        return f'{{"records": [{record}, {{"item": "i1", "label": "a"}}]}}'
    annotation = '{"result": [{"type": "choices", "value": {"choices": ["a"]}}]}'
    return f'[{{"data": {record}, "annotations": [{annotation}]}}]'


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("format_", ["jsonl", "json", "label_studio"])
def test_what_is_out_of_bounds_is_refused(tmp_path, format_, value):
    path = tmp_path / "export.json"
    path.write_text(text_of(format_, value))
    check_refused(path, format_)


@pytest.mark.parametrize("value", GOOD, ids=["deep", "large", "small", "digits"])
@pytest.mark.parametrize("format_", ["jsonl", "json", "label_studio"])
def test_what_is_within_bounds_is_read(tmp_path, format_, value):
    path = tmp_path / "export.json"
    path.write_text(text_of(format_, value[2:-2] if value.startswith("[") else value))
    assert not any(read(path, format_))


@pytest.mark.parametrize("format_", ["jsonl", "json"])
@pytest.mark.parametrize("value", [TOO_DEEP, "1e900000000"], ids=["deep", "exponent"])
def test_other_records_are_read(tmp_path, format_, value):
    path = tmp_path / "export.json"
    path.write_text(text_of(format_, value))
    assert sorted(problem is None for problem in read(path, format_)) == [False, True]


@pytest.mark.sampled
@pytest.mark.parametrize("format_", ["jsonl", "json", "label_studio"])
def test_an_exponent_takes_little_memory(tmp_path, format_):
    """Its digits, written out, took 900 MB and more."""
    path = tmp_path / "export.json"
    path.write_text(text_of(format_, "1e900000000"))
    assert peak_bytes(check_refused, path, format_) < 80 * MB


def test_values_of_the_whole_document_are_bounded(tmp_path):
    path = tmp_path / "export.json"
    path.write_text('{"model": 1e900000000, "records": [{"item": "i0"}]}')
    opening = Opening(path, path.name, records="records", document_fields=("model",))
    with pytest.raises(InputError, match="model is a number whose exponent has more than 3 digits"):
        list(READERS["json"](opening).chunks)


@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
def test_a_json_path_into_a_cell_rejects_the_record(value):
    with pytest.raises(RejectionError, match="label is not JSON"):
        json_step("a", "label")(f'{{"a": {value}}}')


@pytest.mark.sampled
@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("format_", ["jsonl", "json", "label_studio", "csv"])
def test_init_looks_at_it(tmp_path, monkeypatch, format_, value):
    monkeypatch.setenv("ANNOT_DEBUG", "1")  # a fault is raised
    path = tmp_path / f"export.{'json' if format_ == 'label_studio' else format_}"
    path.write_text(f"item;label\ni0;{value}\n" if format_ == "csv" else text_of(format_, value))
    assert main(["init", str(path), "-o", str(tmp_path / "campaign")]) in (0, 1, 2)


def test_messages_show_nothing_of_the_text():
    for text in ['{"name": "Ada"', '{"name": Ada}', '"Ada', '{"Ada": 1,}', "[Ada]"]:
        with pytest.raises(JsonError) as error:
            parse_bounded_json(text)
        assert "Ada" not in str(error.value)
    with pytest.raises(JsonError) as error:
        bounded_number("7" * 5_000)
    assert "77" not in str(error.value)
