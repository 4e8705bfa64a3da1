"""Bad input: a folder a kind, with the exact words that users see.

Each folder of tests/cases is a campaign; its ``expected.txt`` is what `annot validate` and
`annot build` print and return. After a change of words: ``UPDATE_CASES=1 pytest
tests/test_cases.py``, then read the difference. What a repository should not hold (exports
that are large, cut short or no text, full disks) is made here.
"""

import csv
import errno
import gzip
import html.parser
import io
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from annot_pipeline import load_gold
from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.cli import main
from annot_pipeline.config import LoadedCampaign, Source
from annot_pipeline.errors import InputError
from annot_pipeline.exports import Opening, tabular
from annot_pipeline.pipeline import STAGES, Build
from annot_pipeline.publish import Publication, publish
from annot_pipeline.storage import files
from annot_pipeline.storage.releases import Releases
from tests.full_disk import fill_disk

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
UPDATE = os.environ.get("UPDATE_CASES") == "1" and "CI" not in os.environ

Action = Callable[[Path], None]
Run = Callable[..., str]
PREPARE: dict[str, Action] = {}
CHECK: dict[str, Action] = {}


def before(*names: str) -> Callable[[Action], Action]:
    """Registers what completes the copied folders of these cases."""

    def register(action: Action) -> Action:
        PREPARE.update(dict.fromkeys(names, action))
        return action

    return register


def after(*names: str) -> Callable[[Action], Action]:
    """Registers what must hold when these cases are built, beside what they print."""

    def register(action: Action) -> Action:
        CHECK.update(dict.fromkeys(names, action))
        return action

    return register


# --- exports made here ---------------------------------------------------------------------


def good_rows() -> list[tuple[str, ...]]:
    """24 judgments of 8 items by 3 judges, as most cases have them."""
    good = {"i1", "i2", "i3", "i5", "i8"}
    rows = [(f"i{n}", judge) for judge in ("ann", "bob", "cem") for n in range(1, 9)]
    return [
        (item, judge, "good" if (item in good) != ((item, judge) == ("i3", "cem")) else "bad")
        for item, judge in rows
    ]


def as_csv(rows: list[tuple[str, ...]], header: str = "item,judge,label") -> str:
    return "\n".join([header, *map(",".join, rows)]) + "\n"


def as_json_lines(rows: list[tuple[str, ...]]) -> str:
    names = ("item", "judge", "label")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def write_export(folder: Path, data: bytes, name: str = "monday.csv") -> Path:
    (folder / "exports").mkdir(exist_ok=True)
    path = folder / "exports" / name
    path.write_bytes(data)
    return path


@before("latin1", "latin1_declared")
def latin1(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good"), ("i2", "zoë", "good"), ("i3", "dee", "bad")]
    write_export(folder, as_csv(rows).encode("latin-1"))


@before("latin1_header")
def latin1_header(folder: Path) -> None:
    write_export(folder, as_csv(good_rows(), "item,Prüfer,label").encode("latin-1"))


@before("utf16", "utf16_declared")
def utf16(folder: Path) -> None:
    write_export(folder, as_csv([*good_rows(), ("i1", "zoë", "good")]).encode("utf-16"))


@before("nul_bytes")
def nul_bytes(folder: Path) -> None:
    rows = [(*row, "note") for row in good_rows()]
    rows[3] = ("i4", "an\0n", "bad", "note")
    rows[4] = ("i5", "ann", "go\0od", "note")
    rows[5] = ("i6", "ann", "bad", "no\0te")
    write_export(folder, as_csv(rows, "item,judge,label,note").encode())


@before("ragged_rows_not_utf8")
def ragged_rows_not_utf8(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good", "sehr schön"), ("i2", "zoë", "good"), ("i3", "zo")]
    write_export(folder, as_csv(rows).encode("latin-1"))


@before("first_row_long")
def first_row_long(folder: Path) -> None:
    rows = [(*row, "x" * 200_000 if row[:2] == ("i1", "ann") else "short") for row in good_rows()]
    write_export(folder, "\n".join(map(",".join, rows)).encode())


@before("ten_megabyte_cell")
def ten_megabyte_cell(folder: Path) -> None:
    long = [("i1", "dee", "x" * 10_000_000), ("y" * 10_000_000, "dee", "good")]
    write_export(folder, as_csv([*good_rows(), *long]).encode())


@before("ten_megabyte_cell_unused")
def ten_megabyte_cell_unused(folder: Path) -> None:
    rows = [(*row, "note") for row in good_rows()]
    rows[3] = (*rows[3][:3], '"' + "a line\n" * 1_500_000 + '"')
    write_export(folder, as_csv(rows, "item,judge,label,note").encode())


def as_gzip(text: str) -> bytes:
    """Stored, not compressed: the same bytes whatever the library."""
    return gzip.compress(text.encode(), compresslevel=0, mtime=0)


@before("latin1_gzip")
def latin1_gzip(folder: Path) -> None:
    rows = [*good_rows(), ("i1", "zoë", "good"), ("i2", "zoë", "good")]
    data = gzip.compress(as_csv(rows).encode("latin-1"), compresslevel=0, mtime=0)
    write_export(folder, data, "monday.csv.gz")


@before("truncated_gzip")
def truncated_gzip(folder: Path) -> None:
    data = as_gzip(as_csv(good_rows()))
    write_export(folder, data[: len(data) // 2], "monday.csv.gz")


@before("truncated_gzip_jsonl")
def truncated_gzip_jsonl(folder: Path) -> None:
    data = as_gzip(as_json_lines(good_rows()))
    write_export(folder, data[: len(data) // 2], "monday.jsonl.gz")


@before("damaged_gzip_jsonl")
def damaged_gzip_jsonl(folder: Path) -> None:
    data = as_gzip(as_json_lines(good_rows()))
    write_export(folder, data[:10] + b"\xff" + data[11:], "monday.jsonl.gz")


@before("damaged_gzip_label_studio")
def damaged_gzip_label_studio(folder: Path) -> None:
    data = as_gzip('[{"id": 1, "data": {}, "annotations": []}]')
    write_export(folder, data.replace(b"data", b"dada"), "monday.json.gz")


@before("gzip_without_its_name")
def gzip_without_its_name(folder: Path) -> None:
    write_export(folder, as_gzip(as_csv(good_rows())))


HOSTILE = ("<script>alert(1)</script>", "two\nlines\x1b[2J", "a\x1fb", "x" * 10_000)


@before("hostile_systems")
def hostile_systems(folder: Path) -> None:
    """Each name once as task, system, segment, criterion and judge; one judge is constant."""
    rows = [
        (
            task,
            judge,
            "h1",
            system,
            segment,
            criterion,
            "none",
            str(70 if judge == HOSTILE[0] else n),
        )
        for task, judge in zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1], strict=True)
        for n, (system, segment, criterion) in enumerate(
            itertools.product(HOSTILE, HOSTILE[:2], HOSTILE[1:3])
        )
    ]
    rows.append((HOSTILE[1], HOSTILE[2], "h1", "none", HOSTILE[0], "", "bad_reference", "3"))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "judge", "hit", "system", "segment", "criterion", "kind", "score"])
    writer.writerows(rows)
    write_export(folder, text.getvalue().encode())


@before("control_characters_unknown_column")
def control_characters_in_names(folder: Path) -> None:
    export = as_csv(good_rows(), "item,\x1b[2Jjudge,label").encode()
    write_export(folder, export, "\x1b[31m\nannot: all is well.csv")


@before("campaign_not_utf8")
def campaign_not_utf8(folder: Path) -> None:
    text = "# Written on an old computer.\ncampaign: bad_input\nowners: [zoë]\n"
    (folder / "campaign.yaml").write_bytes(text.encode("latin-1"))


@before("glob_matches_a_broken_link")
def broken_link(folder: Path) -> None:
    (folder / "exports/tuesday.csv").symlink_to("moved/tuesday.csv")


@before("glob_matches_a_name_that_is_not_text")
def name_that_is_not_text(folder: Path) -> None:
    try:
        write_export(folder, as_csv(good_rows()).encode(), os.fsdecode(b"pr\xfcfer.csv"))
    except OSError as error:
        pytest.skip(f"this file system has such names not: {error}")


@before("export_cannot_be_read")
def export_cannot_be_read(folder: Path) -> None:
    memory = Path("/proc/self/mem")  # opens, but the first read fails, for root too
    if not memory.exists():
        pytest.skip("there is no /proc here to read a broken file from")
    (folder / "exports/tuesday.csv").symlink_to(memory)


@before("rejected_share_failed", "gold_full", "gold_read_only", "store_read_only")
def an_earlier_release(folder: Path) -> None:
    export = folder / "exports/monday.csv"
    arrived = export.read_bytes()
    export.write_text(as_csv([*good_rows(), ("i1", "dee", "good")]), encoding="utf-8")
    assert main(["build", str(folder)]) == 0
    export.write_bytes(arrived)


# --- disks ---------------------------------------------------------------------------------

DISKS = {
    "store_full": ("store", errno.ENOSPC),
    "store_read_only": ("store", errno.EROFS),
    "gold_full": ("gold", errno.ENOSPC),
    "gold_read_only": ("gold", errno.EROFS),
    "temporary_folder_full": ("temporary", errno.ENOSPC),
}


@contextmanager
def failing_disk(path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder on a disk that is full or read-only, with the files that it holds.

    A tmpfs of its own where mounting is allowed (root is not stopped by modes); else the
    project's writes to that folder raise what such a disk raises.
    """
    path.mkdir(exist_ok=True)
    kept = path.with_name(f"{path.name}-kept")
    shutil.copytree(path, kept, symlinks=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "annot-test", str(path)]
    is_mounted = shutil.which("mount") and not subprocess.run(mount, capture_output=True).returncode
    try:
        if is_mounted:
            shutil.copytree(kept, path, symlinks=True, dirs_exist_ok=True)
            if number == errno.EROFS:
                subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
            else:
                fill_disk(path / "ballast")
        else:
            monkeypatch.setattr(files, "_beside", raising(files._beside, path, number))
        yield
    finally:
        if is_mounted:
            subprocess.run(["umount", str(path)], check=True)


def raising(beside: Callable[[Path], Path], path: Path, number: int) -> Callable[[Path], Path]:
    def no_file_beside(target: Path) -> Path:
        if target.is_relative_to(path):
            raise OSError(number, os.strerror(number), str(target))
        return beside(target)

    return no_file_beside


# --- the runner ----------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command; returns what it printed, without what differs from run to run."""
    monkeypatch.setenv("ANNOT_KEY", "the key of the tests")
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "yes")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)

    def run_command(command: str, folder: Path, *options: str) -> str:
        capfd.readouterr()
        status = main([command, str(folder), *options])
        out, err = capfd.readouterr()
        if "--json" in options:
            return out
        text = f"$ annot {command} <folder>\n{out}--- stderr\n{err}--- exit status {status}\n"
        text = text.replace(str(folder), "<folder>")
        text = re.sub(r"  Dawid-Skene: iteration .*\n", "", text)  # told once a second
        assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
        assert str(tmp_path) not in text
        return text

    return run_command


REPORTED = ("adjudication", "control_characters", "hostile_names", "hostile_systems", "markup")
"""Cases whose report is made: exports that a page could stumble over."""
MARKED = [
    pytest.param(name, marks=pytest.mark.reports) if name in REPORTED else name for name in NAMES
]


def needs_dagster(name: str) -> bool:
    """Gates that fail, reports, and one case in eight: the others say the same without it.

    Dagster takes stages that do not need each other in an order of its own: two warnings of
    ``items_repeated`` tell.
    """
    expected = CASES / name / "expected.txt"
    fails = expected.exists() and "gate failed" in expected.read_text(encoding="utf-8")
    return fails or name in (*REPORTED, "items_repeated") or zlib.crc32(name.encode()) % 8 == 0


def build_without_dagster(
    campaign: LoadedCampaign, progress: Callable[[str], None]
) -> tuple[Publication, Build]:
    """As the job does it; Dagster is half of what a small build takes."""
    build = Build(campaign, progress=progress)
    for stage in STAGES:
        build.run_stage(stage)
    return publish(build), build


@pytest.mark.parametrize("name", MARKED)
def test_case(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    folder = tmp_path / name
    shutil.copytree(CASES / name, folder, ignore=shutil.ignore_patterns("expected.txt"))
    if name in PREPARE:
        PREPARE[name](folder)
    # what a step says once a second depends on the machine
    monkeypatch.setattr("annot_pipeline.stages.gold._now_and_then", lambda _: lambda _: None)
    if not UPDATE and not needs_dagster(name):
        monkeypatch.setattr("assets_defs.run.run_in_process", build_without_dagster)
    disk = nullcontext()
    if name in DISKS:
        place, number = DISKS[name]
        disk = failing_disk(folder / place, number, monkeypatch)  # type: ignore[assignment]
        if place == "temporary":
            monkeypatch.setattr("tempfile.tempdir", str(folder / place))
    with disk:
        there, gold = contents(folder), contents(folder / "gold")
        validated = run("validate", folder)
        assert contents(folder) == there, "validate writes nothing"
        check_rows(folder, run("validate", folder, "--json"))
        built = run("build", folder)
        if built.endswith("exit status 0\n"):
            check_accounting(folder)
        else:
            assert contents(folder / "gold") == gold, "a build that fails leaves gold as it was"
        if name in CHECK:
            CHECK[name](folder)
    file = CASES / name / "expected.txt"
    if UPDATE:
        file.write_text(f"{validated}\n{built}", encoding="utf-8")
    assert file.exists(), "UPDATE_CASES=1 writes it; read it before you commit it"
    assert f"{validated}\n{built}" == file.read_text(encoding="utf-8")


def contents(folder: Path) -> dict[str, int]:
    """Every file, and when it was last written."""
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*") if not path.is_dir()}


WRITTEN = ("archive", "records", "stages", "runs", ".tmp-v0001", ".tmp-latest.json")


@pytest.mark.parametrize("place", WRITTEN)
def test_a_disk_that_runs_full(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Whichever file of a build finds no room, the next build goes on where it stopped."""
    folder = tmp_path / "campaign"
    shutil.copytree(CASES / "store_full", folder, ignore=shutil.ignore_patterns("expected.txt"))
    sync, hits = files._sync, []

    def full_there(path: Path) -> None:
        if f"/{place}" in str(path):
            hits.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_sync", full_there)
        said = run("build", folder)
    assert hits
    assert re.search(r"No space left on device\n    do:      free space.*\n.*status 1\n$", said)
    assert not list(folder.rglob(".tmp-*"))
    assert not Releases(folder / "gold").versions()
    assert run("build", folder).endswith("--- exit status 0\n")
    check_accounting(folder)


def check_rows(folder: Path, document: str) -> None:
    """Validation meets every raw row, as counted here, also where a gate will fail."""
    found = json.loads(document)
    if "error" in found:
        assert found["exit_status"] in (1, 2)
        assert found["error"]["title"]
    else:
        for source, told in zip(
            load_campaign(folder).settings.sources, found["sources"], strict=True
        ):
            paths = [path for path in folder.glob(source.path) if path.is_file()]
            assert told["rows"] == sum(count_rows(path, source) for path in paths), source.path
        assert found["records"] == sum(source["records"] for source in found["sources"])


def check_accounting(folder: Path) -> None:
    """Every raw row, as counted here, has its records in lineage."""
    campaign = load_campaign(folder)
    manifest = Releases(campaign.gold).get().manifest
    lineage = load_gold(campaign.gold, "lineage").to_pylist()
    records = Counter(row["source_file"] for row in lineage)
    exports = [source for source in manifest["sources"] if source["kind"] == "judgments"]
    assert sorted(records) == sorted(e["name"] for e in exports if e["rows"])
    for source in campaign.settings.sources:
        for path in sorted(p for p in folder.glob(source.path) if p.is_file()):
            name = path.relative_to(folder).as_posix()
            export = next(e for e in exports if e["name"] == name)
            n_rows = count_rows(path, source)
            assert export["rows"] == n_rows, name
            assert sum(export["records"].values()) == records[name], name
            met = {row["source_row"] for row in lineage if row["source_file"] == name}
            assert met == set(range(1, n_rows + 1)), name


def count_rows(path: Path, source: Source) -> int:
    """Raw rows of an export, counted without the project's readers."""
    if source.format == "parquet":
        return int(pq.read_metadata(path).num_rows)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode(source.options.encoding, errors="replace")
    if source.format == "jsonl":
        return sum(bool(line.strip()) for line in text.split("\n"))
    if source.format == "label_studio":
        return sum(len(task["annotations"]) for task in json.loads(text))
    if source.format == "wmt_ranking":
        return len(re.findall(r"<ranking-result\b", text))
    csv.field_size_limit(sys.maxsize)
    lines, delimiter = io.StringIO(text, newline=""), source.options.delimiter or ","
    if source.options.quote:
        rows = list(csv.reader(lines, delimiter=delimiter))
    else:
        rows = list(csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
    return sum(map(bool, rows)) - bool(text and not source.options.columns)


CELLS = ("x", '"q"', '"a,b"', '"l1\nl2"', "", '5" n', '"d""q"', '"\r\n"', "é", 'a"b"', '" "', " ")


@pytest.mark.parametrize("block", [64, tabular.FIRST_BLOCK])
def test_any_csv_is_read_as_python_reads_it(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ragged rows, quotes, blank lines and line ends at random, over block boundaries too."""
    monkeypatch.setattr(tabular, "FIRST_BLOCK", block)
    chance, path, n_unclosed = random.Random(17), tmp_path / "random.csv", 0
    for _ in range(500):
        end = chance.choice(["\n", "\r\n"])
        rows = [
            ",".join(chance.choices(CELLS, k=chance.choice([3, 3, 3, 3, 3, 2, 4, 1, 0])))
            for _ in range(chance.randint(0, 12))
        ]
        rows += ['x,"open,z'] * (chance.random() < 0.1)
        text = end.join(["a,b,c", *rows]) + chance.choice(["", end, end * 3])
        path.write_bytes((chance.choice(["", end]) + text).encode())
        try:
            list(csv.reader(io.StringIO(text, newline=""), strict=True))
            is_unclosed = False
        except csv.Error as error:
            is_unclosed = "end of data" in str(error)
        n_unclosed += is_unclosed
        if is_unclosed:
            with pytest.raises(InputError, match="never closed"):
                read_rows(path)
        else:
            written = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
            assert read_rows(path) == {
                number: row if len(row) == 3 else None
                for number, row in enumerate(written, start=1)
            }, text
    assert n_unclosed > 20


def read_rows(path: Path) -> dict[int, list[str] | None]:
    """Row number to cells, or to None if the row is rejected."""
    rows: dict[int, list[str] | None] = {}
    for chunk in tabular.read_csv(Opening(path, path.name)).chunks:
        cells = zip(*(column.to_pylist() for column in chunk.columns.values()), strict=True)
        for number, problem, row in zip(chunk.row, chunk.problem.to_pylist(), cells, strict=True):
            assert int(number) not in rows
            rows[int(number)] = None if problem else list(row)
    return rows


def test_there_are_cases() -> None:
    assert len(NAMES) > 90
    assert {*PREPARE, *CHECK, *DISKS} <= set(NAMES)


# --- what must hold beside the words -------------------------------------------------------


@after("hostile_names")
def hostile_names_come_out_unchanged(folder: Path) -> None:
    with (folder / "exports/monday.csv").open(encoding="utf-8", newline="") as file:
        written = {row["item"] for row in csv.DictReader(file)}
    assert {"../../etc/passwd", "'; DROP TABLE judgments; --", "=cmd()"} < written
    for table in ("labels", "items", "lineage"):
        assert set(load_gold(folder / "gold", table)["item"].to_pylist()) == written, table
    assert sorted(path.name for path in folder.iterdir()) == [
        "campaign.yaml", "exports", "gold", "store",
    ]  # fmt: skip


@after("control_characters")
def control_characters_come_out_unchanged(folder: Path) -> None:
    items = set(load_gold(folder / "gold", "lineage")["item"].to_pylist())
    assert {"i2\x07", "i4\nannot: all is well"} < items


@after("look_alikes", "numbers_as_labels")
def look_alikes_are_kept_apart(folder: Path) -> None:
    labels = set(load_gold(folder / "gold", "prevalence")["label"].to_pylist())
    assert labels in ({"bad", "b\u0430d", "good", "Good"}, {"0", "1", "1.0", "true"})


@after("nul_bytes_jsonl", "ten_megabyte_cell")
def unfit_values_stay_out_of_gold(folder: Path) -> None:
    tables = list((folder / "gold/v0001").glob("*.parquet"))
    assert tables
    for path in tables:
        for column in pq.read_table(path).itercolumns():
            for value in column.to_pylist():
                assert not isinstance(value, str) or ("\0" not in value and len(value) < 10_000)


@after("rejected_share_failed", "gold_full", "gold_read_only", "store_read_only")
def the_earlier_release_stands(folder: Path) -> None:
    releases = Releases(folder / "gold")
    assert releases.versions() == ["v0001"]
    assert releases.get().table("lineage").num_rows == 25


class Tags(html.parser.HTMLParser):
    """The tags of a page, with attributes that run something, where links lead, its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.runs: set[str] = set()
        self.links: set[str] = set()
        self.scripts: list[str] = []
        self._is_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.runs |= {f"{tag} {name}" for name, _ in attrs if name.startswith("on")}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        self._is_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._is_script &= tag != "script"

    def handle_data(self, data: str) -> None:
        if self._is_script:
            self.scripts.append(data)


@after("markup")
def markup_is_text(folder: Path) -> None:
    release = folder / "gold/v0001"
    page = (release / "report.html").read_text(encoding="utf-8")
    tags = Tags(page)
    assert not {"img", "iframe", "object", "embed", "form"} & tags.found
    assert not tags.runs
    assert not [link for link in tags.links if link != "data:," and ":" in link]
    assert not [script for script in tags.scripts if "alert(" in script]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    card = (release / "README.md").read_text(encoding="utf-8")
    assert Tags(card).found <= {"details", "summary"}
    assert "](javascript" not in card.replace("\\]", "")


# --- scores --------------------------------------------------------------------------------


@after("hostile_systems")
def hostile_systems_come_out_unchanged(folder: Path) -> None:
    gold = folder / "gold"
    assert set(load_gold(gold, "system_rankings")["task"].to_pylist()) == {*HOSTILE}
    systems = load_gold(gold, "system_comparisons")["system_a"].to_pylist()
    assert set(systems) == {*HOSTILE}
    assert {*HOSTILE[:2]} <= set(load_gold(gold, "scores")["segment"].to_pylist())
    markup_is_text(folder)


@after("constant_judges")
def constant_judges_are_set_aside(folder: Path) -> None:
    aside = load_gold(folder / "gold", "set_aside").to_pylist()
    reasons = Counter((row["left_out_of"], row["reason"]) for row in aside)
    assert reasons == {
        ("z_scores", "all 7 scores are equal"): 7,
        ("z_scores", "1 scores; 2 are needed"): 1,
    }


@after("controls_without_pair")
def controls_without_pair_are_set_aside(folder: Path) -> None:
    aside = load_gold(folder / "gold", "set_aside").to_pylist()
    assert Counter(row["reason"] for row in aside if row["left_out_of"] == "judge_control") == {
        "no ordinary judgment of the same output": 2,
        "the ordinary judgment of the same output is by another judge": 1,
        "2 ordinary judgments of the same output by the same judge": 1,
        "2 bad_reference judgments of the same output by the same judge": 2,
    }
    judges = load_gold(folder / "gold", "judges").to_pylist()
    assert Counter(row["verdict"] for row in judges) == {"passed": 2, "undetermined": 1}
    assert {row["n_pairs"] for row in judges} == {6, 0}


@after("known_answers")
def known_answers_without_truth_are_set_aside(folder: Path) -> None:
    aside = load_gold(folder / "gold", "set_aside").to_pylist()
    assert [(row["item"], row["reason"]) for row in aside] == [
        ("k7", "no truth is given for this question")
    ] * 2
    judges = load_gold(folder / "gold", "judges").to_pylist()
    assert sorted((row["verdict"], row["n_known_answers"]) for row in judges) == [
        ("failed", 7),
        ("passed", 7),
        ("undetermined", 0),
    ]
