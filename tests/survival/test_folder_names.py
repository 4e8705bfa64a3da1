"""The names of folders above a campaign, its store or TMPDIR change no table and no finding."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config import CANONICAL_FIELDS
from annot_pipeline.contracts import GOLD
from tests.conftest import KEY, build_file
from tests.full_campaign import ITEM, LABELS, TASK, write_full_campaign

pytestmark = pytest.mark.slow

SHORT = ("task=a/label=yes", '[a]*?{b,c} it\'s "so" #1 año ✓ $HOME')
ODD = (
    "label=yes", "Judge=x", "task=a/item=%2F", "[a]*?{b,c}", 'it\'s "so" #1', "año ✓ $HOME",
    "judge=x", "LABEL=", "year=2024", "=", "a=b=c", "score=1e400", "fate=used", "reason=",
    "filename=f.parquet", "row=0", "record=7", "control=adjudication", "source_order=1",
    "~", "~root", "-o", "--json", ".hidden", " lead and trail ", "tab\there", "new\nline",
    "s3:", "file:", "c:\\d", "%2e%2e", "${HOME}", "`id`", "a::b", "part-00000.parquet", "n" * 200,
)  # fmt: skip
"""More than thirty with those of SHORT; `make soak` builds in each."""


def each_name(name: str) -> list[Any]:
    """Return all names as parameters, of which one is not slow."""
    slow = [
        pytest.param(other, marks=pytest.mark.slow) for other in (*SHORT, *ODD) if other != name
    ]
    return [name, *slow]


COLUMNS = sorted(
    {*CANONICAL_FIELDS, *(column.name for table in GOLD.values() for column in table.columns)}
)


def write_second_night(folder: Path) -> None:
    """Let one judge say something else, as the next export does."""
    export = folder / "exports" / "moods.csv"
    text = export.read_text(encoding="utf-8")
    export.write_text(text.replace(",m1,", ",m5,", 3), encoding="utf-8")


def read_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return what every command that reads says of two releases, without paths and times."""
    calls: dict[str, tuple[str, ...]] = {
        "validate": (),
        "status": (),
        "releases": (),
        "trace": (ITEM.format(1), "--task", TASK),
        "diff": ("v0001", "v0002"),
        "verify": ("--rebuild",),
        "hits": ("--set", "easl.hit_size=2", "--set", "easl.hits=2"),
        "score": (str(folder / "predictions.csv"), "--task", TASK),
    }
    calls |= {"pin": ("v0001", "--because", "kept"), "prune": ("--keep", "1", "--dry-run")}
    return ask(folder, calls, capsys) | guess(folder, "scores.csv", capsys)


def guess(folder: Path, export: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return what `annot init` says of an export, and the file that it writes."""
    target = folder / "guessed"
    said = ask(folder / "exports" / export, {"init": ("-o", str(target))}, capsys, folder)
    return said | {"guessed": (target / "campaign.yaml").read_text(encoding="utf-8")}


def ask(
    what: Path,
    calls: dict[str, tuple[str, ...]],
    capsys: pytest.CaptureFixture[str],
    folder: Path | None = None,
) -> dict[str, object]:
    """Return what commands say of a campaign or an export, without paths and times."""
    said: dict[str, object] = {}
    folder = folder or what
    for command, arguments in calls.items():
        status = main([command, str(what), *arguments, "--json"])
        captured = capsys.readouterr()
        text = captured.out.replace(json.dumps(str(folder), ensure_ascii=False)[1:-1], "CAMPAIGN")
        text = text.replace(json.dumps(str(folder))[1:-1], "CAMPAIGN")
        assert status == 0, (command, captured.err, captured.out)
        document = _without_times(json.loads(text))
        document.pop("next", None)  # a command to type: it quotes the path for the shell
        said[command] = document
    return said


TIMES = {
    "created_at",
    "pinned_at",
    "finished",
    "finished_at",
    "run",
    "seconds",
    "made_by_run",
    "since",
    "at",
}
DIGESTS = {"manifest_sha256", "parent", "files", "sha256", "bytes"}


def _without_times(value: object) -> object:
    if isinstance(value, dict):
        left_out = TIMES | DIGESTS
        return {k: _without_times(v) for k, v in value.items() if k not in left_out}
    if isinstance(value, list):
        return [_without_times(v) for v in value]
    return value


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_full_campaign(tmp_path_factory.mktemp("plain") / "campaign")
    write_predictions(folder)
    return folder


def write_predictions(folder: Path) -> None:
    with (folder / "predictions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [("task", "item", "label"), *((TASK, ITEM.format(n), LABELS[0]) for n in range(8))]
        )


@pytest.fixture(scope="module")
def expected(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What builds and commands give in a folder with a plain name."""
    folder = tmp_path_factory.mktemp("expected") / "campaign"
    shutil.copytree(plain, folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ANNOT_KEY", KEY)
        return {"folder": folder, "hashes": two_nights(folder)}


def two_nights(folder: Path) -> list[dict[str, str]]:
    first = build_file(folder).hashes()
    write_second_night(folder)
    return [first, build_file(folder).hashes()]


def write_batch_campaign(folder: Path) -> Path:
    """Write rankings, and an MTurk batch with degraded copies: what the full campaign lacks."""
    (folder / "exports").mkdir(parents=True)
    ranked = ["judge,segment,hit,system,rank"] + [
        f"w{judge},s{segment},h{judge}{segment},{system},{(place + judge * segment) % 3 + 1}"
        for judge in range(3) for segment in range(4) for place, system in enumerate("xyz")
    ]  # fmt: skip
    batch = ["HITId,AssignmentId,WorkerId,AssignmentStatus,Input.segment,Input.type,Answer.score"]
    batch += [
        f"h{judge},a{judge}{segment}{control},w{judge},Submitted,s{segment},{control},{score}"
        for judge in range(3) for segment in range(4)
        for control, score in (("none", 70 + segment), ("bad_reference", 60 - 9 * judge * segment))
    ]  # fmt: skip
    for name, lines in {"ranks.csv": ranked, "batch.csv": batch}.items():
        (folder / "exports" / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    fields = {n: n for n in ranked[0].split(",")} | {"task": {"value": "ranks"}}
    scored = {
        "task": {"value": "scores"}, "judge": "WorkerId", "hit": "HITId", "system": {"value": "x"},
        "native_id": "AssignmentId", "status": "AssignmentStatus", "segment": "Input.segment",
        "control": "Input.type", "score": "Answer.score",
    }  # fmt: skip
    document = {
        "campaign": "batches",
        "sources": [
            {"path": "exports/ranks.csv", "format": "csv", "fields": fields},
            {"path": "exports/batch.csv", "format": "mturk", "fields": scored},
        ],
        "tasks": [
            {"name": "ranks", "kind": "ranking"},
            {"name": "scores", "kind": "scalar", "scale": [0, 100]},
        ],
        "ranking": {"bootstrap": 5, "online_rounds": 2},
        "agreement": {"bootstrap": 5},
    }
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return folder


def one_night(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return hashes of tables, what commands say, and the files that `annot review` writes."""
    hashes = build_file(folder).hashes()
    calls: dict[str, tuple[str, ...]] = {
        "review": ("-o", str(folder / "review")),
        "trace": ("s1/x", "--task", "ranks"),
        "verify": (),
    }
    said = {"hashes": hashes, **ask(folder, calls, capsys)}
    written = sorted((folder / "review").glob("*.csv"))
    assert len(written) == 2
    return (
        said
        | {path.name: path.read_bytes() for path in written}
        | guess(folder, "ranks.csv", capsys)
    )


@pytest.fixture
def batches_expected(tmp_path, capsys) -> dict[str, object]:
    if not _BATCHES:
        _BATCHES.append(one_night(write_batch_campaign(tmp_path / "expected"), capsys))
    return _BATCHES[0]


_BATCHES: list[dict[str, object]] = []
"""What a folder with a plain name gives; made once."""


@pytest.mark.parametrize("name", each_name(SHORT[1]))
def test_rankings_and_batches_are_the_same_in_a_folder_of_any_name(
    batches_expected, name, tmp_path, capsys
):
    folder = write_batch_campaign(tmp_path / name / "campaign")
    said = one_night(folder, capsys)
    assert said.keys() == batches_expected.keys()
    for what, answer in batches_expected.items():
        assert said[what] == answer, what


@pytest.mark.parametrize("name", each_name(SHORT[0]))
@pytest.mark.slow
def test_a_folder_of_any_name_gives_the_same_tables_and_findings(
    plain, expected, name, tmp_path, capsys, monkeypatch
):
    if "said" not in expected:
        expected["said"] = read_commands(expected["folder"], capsys)
    folder = tmp_path / name / "campaign"
    shutil.copytree(plain, folder)
    temporary = tmp_path / "tmp" / name
    temporary.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it remembers the folder
    assert two_nights(folder) == expected["hashes"]
    said = read_commands(folder, capsys)
    for command, answer in expected["said"].items():
        assert said[command] == answer, command


@pytest.mark.parametrize("part", [0, 1])
def test_a_folder_named_after_any_column_gives_the_same_tables(plain, expected, tmp_path, part):
    """Half of the columns at once: DuckDB would take each folder for a partition."""
    folder = tmp_path.joinpath(*(f"{column}=x" for column in COLUMNS[part::2]))
    if len(str(folder)) > 3_000:  # PATH_MAX: short names, some at a time
        raise AssertionError("the path is longer than Linux takes: split the columns")
    shutil.copytree(plain, folder / "c")
    assert two_nights(folder / "c") == expected["hashes"]
