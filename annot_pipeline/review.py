"""`annot review`: what judge control says of MTurk's assignments, in the file that MTurk takes.

Nothing is sent anywhere: a person looks at the files, changes them, and uploads them. Doubt
leaves a row blank: undetermined and untested judges, rows that could not be read, and rows that
MTurk, or a person, has decided already. What does not belong here: the verdicts themselves
(steps.control_judges).
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annot_pipeline.config import ColumnExpression, LoadedCampaign, Quality, Source
from annot_pipeline.contracts import INT, TEXT
from annot_pipeline.errors import ConfigError, Problem, StoreError, first_of, printable
from annot_pipeline.exports import READERS, Opening
from annot_pipeline.exports.mturk import REQUESTERS_COLUMNS
from annot_pipeline.exports.raw_rows import distinct
from annot_pipeline.exports.tabular import DELIMITERS
from annot_pipeline.pipeline import MAKER, STAGES, Build
from annot_pipeline.stages.exports import present_exports
from annot_pipeline.steps.read_records import columns_by_field
from annot_pipeline.storage.archive import archived
from annot_pipeline.storage.files import TEMPORARY, file_sha256, read_json, replacing, write_json
from annot_pipeline.storage.keys import KEY_FILE
from annot_pipeline.storage.store import StageResult
from annot_pipeline.storage.tables import TableFile, read_table

FOLDER = "review"
SHEET = "review.csv"
WRITTEN = ".written.json"
"""SHA-256 of what was written here, by file: what differs was edited by a person."""

BATCH_ROWS = 100_000
LONGEST_CELL = 1 << 30
LONGEST_REASON = 1024
"""Characters; MTurk refuses a longer one, and control characters."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell must not start with, lest a spreadsheet calculates it."""

COLUMNS = (
    "export", "row", "worker", "hit", "native_id", "status", "recommendation", "verdict", "reason",
)  # fmt: skip
FIGURES = (
    "p_value", "effect", "n_pairs", "mean_ordinary", "mean_good_reference",
    "mean_bad_reference", "seconds_per_judgment", "longest_constant_run", "share_at_ends",
)  # fmt: skip
"""What review.csv says of an assignment, then of its judge."""

TESTS = {
    "paired_t": "paired t-test",
    "signed_rank": "Wilcoxon signed-rank test",
    "welch": "Welch's t-test",
    "mann_whitney": "Mann-Whitney test",
}
DEGRADED = {
    "paired": ("scored {} lower than their originals", "pairs"),
    "pooled": ("scored {} lower than ordinary items", "scores in the smaller sample"),
    "difference": ("{} further from their originals than repeated items were", "pairs"),
}
"""What degraded copies were (or were not) in a contrast, and what the test counts."""

DOUBT = {"decide": 0, "reject": 1, "approve": 2}
SEVERITY = {"failed": 0, "undetermined": 1, "untested": 2, "passed": 3}
Judges = Mapping[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class _Batch:
    """An MTurk batch of the last build: how it is read, its rows, and the file to write."""

    opening: Opening
    rows: int
    judge_column: str | None
    target: str


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A raw row, and what to do about it; ``judge`` holds the figures of its worst verdict."""

    export: str
    row: int
    worker: str
    hit: str
    native_id: str
    status: str
    undecided: bool
    recommendation: str
    verdicts: tuple[str, ...]
    reason: str
    judge: Mapping[str, Any]
    n_judgments: int
    n_rejected: int
    elsewhere: bool

    @property
    def doubt(self) -> tuple[Any, ...]:
        """Sorts the most doubtful first; a p-value is doubtful where the verdict might turn."""
        p = self.judge.get("p_value") or 0.0
        turn = p if self.recommendation == "reject" else -p
        lost = self.n_rejected / max(self.n_judgments + self.n_rejected, 1)
        place = DOUBT[self.recommendation]
        return not self.undecided, place, len(self.verdicts) < 2, -lost, turn, self.export, self.row


def review(
    campaign: LoadedCampaign,
    folder: Path,
    *,
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write an upload file for every MTurk batch of the last build, and a sheet to look at.

    Parameters
    ----------
    campaign, folder
        What was built, and where to write.
    force
        Whether to write over files that a person has edited.
    progress
        Told which file is being written.

    Raises
    ------
    ConfigError
        There is no MTurk source; or files would be lost, or be read by the next build.
    StoreError
        The last build is not of these exports and settings.
    """
    _check_sources(campaign)
    build = Build(campaign)
    tables = _last_build(build)
    batches = _batches(build, tables)
    targets = [*(batch.target for batch in batches), SHEET]
    _refuse_read_back(campaign, [folder / target for target in targets])
    known = _written(folder)
    edited = [t for t in targets if (folder / t).exists() and _edited(folder / t, known)]
    if edited and not force:
        what = "was edited since annot review wrote it, or is not its work"
        do = "upload it first, give another folder with -o, or --force to lose it"
        raise ConfigError(
            f"{folder} holds decisions",
            [Problem(str(folder / name), what, do=do) for name in edited],
        )
    names = ["task", "judge", "verdict", "verdict_reason", "test", "contrast", "p_adjusted"]
    names += ["known_answer_accuracy", *FIGURES]
    judges = {
        (row["task"], row["judge"]): row
        for row in read_table(tables["judges"].path, names).to_pylist()
    }
    found = _by_row(_found(tables, batches))
    quality = campaign.settings.quality
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{TEMPORARY}upload-*"):  # what a killed review left
        left.unlink()
    sheet: list[_Assignment] = []
    uploads: list[dict[str, Any]] = []
    written: dict[str, list[str]] = {}
    with _long_cells(), contextlib.ExitStack() as files:
        for batch in batches:
            progress(f"{batch.target}: {batch.rows:,} rows")
            temporary = files.enter_context(replacing(folder / batch.target))
            upload = _Upload(batch, _matching(found, len(uploads)), judges, quality)
            with _private(temporary, upload.encoding) as file:
                sheet += upload.write(file)
            uploads.append({"path": str(folder / batch.target), **upload.counts()})
            written[batch.target] = [file_sha256(temporary), *known.get(batch.target, [])]
        temporary = files.enter_context(replacing(folder / SHEET))
        _write_sheet(temporary, sheet)
        written[SHEET] = [file_sha256(temporary), *known.get(SHEET, [])]
        write_json(folder / WRITTEN, known | written)  # a kill from here on loses nothing
    for name in known.keys() - written.keys():  # of batches that are gone
        if (folder / name).exists() and not _edited(folder / name, known):
            (folder / name).unlink()
    write_json(folder / WRITTEN, {name: hashes[:1] for name, hashes in written.items()})
    return {
        "campaign": campaign.settings.campaign,
        "folder": str(folder),
        "review": str(folder / SHEET),
        "assignments": len(sheet),
        "uploads": uploads,
        **{name: sum(upload[name] for upload in uploads) for name in DOUBT},
    }


# --- the last build --------------------------------------------------------------------------


def _check_sources(campaign: LoadedCampaign) -> None:
    sources = dict(enumerate(campaign.settings.sources))
    batches = {n: source for n, source in sources.items() if source.format == "mturk"}
    if not batches:
        raise ConfigError(
            "no source is an MTurk batch",
            [
                Problem(
                    "sources",
                    "none has format: mturk",
                    do="write format: mturk for batch results as MTurk's website gives them; "
                    "work from elsewhere is reviewed there",
                )
            ],
        )
    headless = [n for n, source in batches.items() if source.options.columns]
    if headless:
        where = f"sources.{headless[0]}.options.columns"
        what = "MTurk takes a batch with its header only, and this one has none"
        do = "download the batch results again"
        raise ConfigError("a batch without its header", [Problem(where, what, do=do)])


def _last_build(build: Build) -> dict[str, TableFile]:
    """Tables of the last build, if it is one of these exports, settings and code."""
    needed = {MAKER["judges"].name}
    for stage in reversed(STAGES):
        if stage.name in needed:
            needed |= {MAKER[table].name for table in stage.inputs}
    stages = [stage for stage in STAGES if stage.name in needed]
    results: dict[str, StageResult] = {}
    for stage in stages:
        try:
            results[stage.name] = build.store.recorded(build.run, stage.name)
        except StoreError:
            what = f"the store has no result of {stage.name}"
            raise _stale("nothing is built yet", what, build) from None
    tables = {name: table for r in results.values() for name, table in r.tables.items()}
    _check_exports(build, tables["exports"])
    key_env = build.campaign.settings.privacy.key_env
    if not os.environ.get(key_env) and not (build.store.root / KEY_FILE).exists():
        what = f"the key of the last build is not in the store, and ${key_env} is not set"
        raise _stale("the key of the judges' names is missing", what, build, do=f"set ${key_env}")
    for stage in stages:
        inputs = {name: tables[name].sha256 for name in stage.inputs}
        basis = results[stage.name].basis
        if dict(basis.inputs) != inputs:
            what = f"the last build did not get as far as {stage.name}"
            raise _stale("the last build is not whole", what, build)
        if basis != build.basis(stage, inputs):
            what = f"{stage.name} was made with other settings, another key or other code"
            raise _stale("the last build was another one", what, build)
    return tables


def _check_exports(build: Build, exports: TableFile) -> None:
    n_sources = len(build.campaign.settings.sources)
    before = {
        (row["source_order"] + n_sources * (row["kind"] == "items"), row["source_file"]):
            row["source_sha256"]
        for row in read_table(exports.path).to_pylist()
    }  # fmt: skip
    now = {(n, name): sha256 for n, name, sha256 in present_exports(build.campaign)}
    news = {
        "has arrived": now.keys() - before.keys(),
        "is gone": before.keys() - now.keys(),
        "has changed": {key for key in now.keys() & before.keys() if now[key] != before[key]},
    }
    told = [
        f"{what}: {first_of(sorted({name for _, name in keys}))}"
        for what, keys in news.items()
        if keys
    ]
    if told:
        raise _stale("exports are not those of the last build", "; ".join(told), build)


def _stale(title: str, what: str, build: Build, do: str = "") -> StoreError:
    outcome = (build.store.last_outcome() or {}).get("outcome", "")
    if outcome:
        what += f" (its outcome: {outcome.splitlines()[0]})"
    return StoreError(title, [Problem("", what, do=do or "annot build, then annot review")])


def _batches(build: Build, tables: Mapping[str, TableFile]) -> list[_Batch]:
    """Each batch once, though several sources may map it."""
    settings = build.campaign.settings
    exports: dict[str, dict[str, Any]] = {}
    mapped: dict[str, list[Source]] = {}
    for row in read_table(tables["record_files"].path).to_pylist():
        source = settings.sources[row["source_order"]]
        if source.format == "mturk":
            exports.setdefault(row["source_file"], row)
            mapped.setdefault(row["source_file"], []).append(source)
    batches = []
    for target, (name, row) in zip(_targets(list(exports)), exports.items(), strict=True):
        kept = archived(build.store.archive, row["source_sha256"])
        if not kept.exists() or file_sha256(kept) != row["source_sha256"]:
            what = "the archive has other bytes" if kept.exists() else "the archive has lost it"
            problem = Problem(str(kept), what, do="delete that file, then annot build")
            raise StoreError(f"{name}: not as it was archived", [problem])
        options = mapped[name][0].options
        reading = options.delimiter, options.quote, options.encoding
        opening = Opening(kept, name, frozenset(), *reading)
        batches.append(_Batch(opening, row["rows"], _judge_column(mapped[name]), target))
    return batches


def _judge_column(sources: Sequence[Source]) -> str | None:
    """The one column that holds judges as they are, if there is one."""
    columns = {name for source in sources for name in columns_by_field(source)["judge"]}
    for judge in (source.fields["judge"] for source in sources):
        if not isinstance(judge, ColumnExpression) or not judge.is_plain:
            return None
    return columns.pop() if len(columns) == 1 else None


def _targets(exports: Sequence[str]) -> list[str]:
    """``upload-NAME.csv`` for each export; its folders too where two have one name."""
    stems = [_stem(PurePosixPath(export).name) for export in exports]
    counts = Counter(stem.casefold() for stem in stems)
    taken: dict[str, str] = {}
    for export, stem in zip(exports, stems, strict=True):
        if counts[stem.casefold()] > 1:
            parts = [part for part in PurePosixPath(_stem(export)).parts if part != ".."]
            stem = "-".join(part for part in parts if part != "/")
        unique = stem
        while unique.casefold() in taken:
            unique += "-again"
        taken[unique.casefold()] = f"upload-{unique}.csv"
    return list(taken.values())


def _stem(name: str) -> str:
    for ending in (".gz", ".csv"):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name


# --- what the folder holds -------------------------------------------------------------------


def _refuse_read_back(campaign: LoadedCampaign, paths: Sequence[Path]) -> None:
    """No glob of the campaign may take our files for exports."""
    settings = campaign.settings
    listed = [(f"sources.{n}.path", source.path) for n, source in enumerate(settings.sources)]
    listed += [(f"items.{n}.path", table.path) for n, table in enumerate(settings.items)]
    for where, pattern in listed:
        parts = Path(os.path.normpath(campaign.folder / pattern)).parts
        for path in paths:
            if _fits(path.resolve().parts, parts):
                what = f"{pattern} matches {path}"
                do = "give a folder that no glob matches with -o, or narrow the glob"
                title = "the next build would read the review as an export"
                raise ConfigError(title, [Problem(where, what, do=do)])


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not parts or not pattern:
        return not parts and not pattern
    if pattern[0] == "**":
        return any(_fits(parts[n:], pattern[1:]) for n in range(len(parts)))
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _written(folder: Path) -> dict[str, list[str]]:
    try:
        written: dict[str, list[str]] = read_json(folder / WRITTEN)
    except (OSError, ValueError):
        return {}
    return written


def _edited(path: Path, known: Mapping[str, list[str]]) -> bool:
    return file_sha256(path) not in known.get(path.name, [])


@contextlib.contextmanager
def _private(path: Path, encoding: str, errors: str = "surrogateescape") -> Iterator[IO[str]]:
    """A new text file that its owner alone may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding=encoding, errors=errors, newline="") as file:
        yield file


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module read cells as long as the readers of exports do."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


# --- what the pipeline found of each row -----------------------------------------------------

_KEYS = ("batch", "row", "task", "judge_id")
_SUMS = ("counted", "rejected", "records")
_NAMES = ("judge", "hit", "native_id", "status", "reason")


def _found(tables: Mapping[str, TableFile], batches: Sequence[_Batch]) -> pa.Table:
    """One row is a batch, row, task and judge (null where no judgment counts), in that order."""
    place = {batch.opening.name: n for n, batch in enumerate(batches)}
    files = [
        row
        for row in read_table(tables["record_files"].path).to_pylist()
        if row["source_file"] in place
    ]
    width = 1 + max(row["file_order"] for row in files)
    codes = pa.array([row["source_order"] * width + row["file_order"] for row in files], INT)
    batch_of = pa.array([place[row["source_file"]] for row in files], INT)
    columns = ["source_order", "file_order", "source_row", "fate", *_KEYS[2:], *_NAMES]
    whole: pa.Table | None = None
    with pq.ParquetFile(tables["judgments"].path) as file:
        for rows in file.iter_batches(BATCH_ROWS, columns=columns):
            code = pc.add(pc.multiply(rows["source_order"], width), rows["file_order"])
            at = pc.index_in(pc.if_else(pc.less(rows["file_order"], width), code, None), codes)
            part = _part(rows, pc.take(batch_of, at)).filter(pc.is_valid(at))
            whole = _merged([part] if whole is None else [whole, part])
    if whole is None:
        return pa.table({name: [] for name in (*_KEYS, *_SUMS, *_NAMES)})
    return whole.sort_by([(name, "ascending") for name in _KEYS])


def _part(rows: pa.RecordBatch, batch: pa.Array) -> pa.Table:
    fate = rows["fate"].cast(TEXT)
    counted = pc.is_in(fate, pa.array(["used", "control", "judge_failed"], TEXT))
    rejected = pc.equal(fate, "rejected")

    def where(mask: pa.Array, name: str) -> pa.Array:
        return pc.if_else(mask, rows[name].cast(TEXT), pa.scalar(None, TEXT))

    return pa.table(
        {
            "batch": batch,
            "row": rows["source_row"],
            "task": where(counted, "task"),
            "judge_id": where(counted, "judge_id"),
            "counted": counted.cast(INT),
            "rejected": rejected.cast(INT),
            "records": pa.repeat(pa.scalar(1, INT), len(rows)),
            **{name: rows[name].cast(TEXT) for name in _NAMES[:-1]},
            "reason": where(rejected, "reason"),
        }
    )


def _merged(parts: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(parts).group_by(list(_KEYS))
    sums = [(name, "sum") for name in _SUMS]
    found = whole.aggregate([*sums, *((name, "min") for name in _NAMES)])
    return found.select(
        [*_KEYS, *(f"{n}_sum" for n in _SUMS), *(f"{n}_min" for n in _NAMES)]
    ).rename_columns([*_KEYS, *_SUMS, *_NAMES])


Found = tuple[tuple[int, int], list[dict[str, Any]]]


def _by_row(found: pa.Table) -> Iterator[Found]:
    """((batch, row), what was found of it), in order."""
    rows = (row for batch in found.to_batches(max_chunksize=10_000) for row in batch.to_pylist())
    for key, group in itertools.groupby(rows, key=lambda row: (row["batch"], row["row"])):
        yield key, list(group)


def _matching(found: Iterator[Found], batch: int) -> Callable[[int], list[dict[str, Any]] | None]:
    """What was found of a batch's next row; None if that is not the row that is asked for."""

    def of(row: int) -> list[dict[str, Any]] | None:
        key, group = next(found, ((-1, -1), []))
        return group if key == (batch, row) else None

    return of


# --- the upload file -------------------------------------------------------------------------


class _Upload:
    """Copies a batch, row by row as it was written, with both columns filled where it may."""

    def __init__(
        self,
        batch: _Batch,
        found: Callable[[int], list[dict[str, Any]] | None],
        judges: Judges,
        quality: Quality,
    ) -> None:
        self.batch, self.opening, self.found = batch, batch.opening, found
        self.judges, self.quality = judges, quality
        self.encoding = "utf-8" if self.opening.is_utf8 else self.opening.encoding
        self.delimiter = ","
        self.place: dict[str, int] = {}
        self.width, self.widths = 0, (0,)
        self.n_rows = 0
        self.ragged: list[int] = []
        self.tally: Counter[str] = Counter()

    def counts(self) -> dict[str, Any]:
        """What was written, in numbers; rows that are ragged, by number."""
        kinds = (*DOUBT, "decided", "elsewhere")
        return {
            "export": self.opening.name,
            "rows": self.n_rows,
            **{kind: self.tally[kind] for kind in kinds},
            "ragged": self.ragged,
        }

    def write(self, target: IO[str]) -> Iterator[_Assignment]:
        """Write the file; the assignments on the way."""
        with (
            self.opening.open_bytes() as raw,
            io.TextIOWrapper(raw, self.encoding, "surrogateescape", newline="") as lines,
        ):
            for line in lines:
                if line.strip("\ufeff\r\n \t"):
                    yield from self._copy(itertools.chain([line], lines), target)
                else:
                    target.write(line)
        if self.n_rows != self.batch.rows:
            raise self._mismatch(f"{self.n_rows:,} rows", f"{self.batch.rows:,} were read")

    def _copy(self, lines: Iterator[str], target: IO[str]) -> Iterator[_Assignment]:
        first = next(lines)
        self._delimit(first.removeprefix("\ufeff"))
        rows = self._split(itertools.chain([first], lines))
        text, header = next(rows)
        target.write(self._extended(text, header, self._read_header(header)))
        for text, cells in rows:
            if not cells:  # blank lines are no rows
                target.write(text)
                continue
            self.n_rows += 1
            assignment = self._assignment(cells)
            decision = self._decision(assignment, cells)
            target.write(self._with(text, cells, decision))
            if not assignment.elsewhere:
                yield assignment

    def _split(self, lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        """Rows as written, with their line ends, and as cells."""
        held: list[str] = []

        def noted() -> Iterator[str]:
            for n, line in enumerate(lines):
                held.append(line)
                yield line if n else line.removeprefix("\ufeff")

        for cells in csv.reader(noted(), delimiter=self.delimiter, **self._quoting):
            yield "".join(held), cells
            held.clear()

    @property
    def _quoting(self) -> dict[str, Any]:
        quote = self.opening.quote
        return {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}

    def _delimit(self, line: str) -> None:
        """The delimiter as readers find it."""

        def n_fields(delimiter: str) -> int:
            return len(next(csv.reader([line], delimiter=delimiter, **self._quoting)))

        self.delimiter = self.opening.delimiter or max(DELIMITERS, key=n_fields)

    def _read_header(self, header: Sequence[str]) -> list[str]:
        """Note where columns stand; the names that the header lacks."""
        names = distinct(header)
        read = READERS["mturk"](self.opening).columns
        if names[: len(read)] != read:
            raise self._mismatch("the header", f"columns {first_of(read)} were read")
        added = [name for name in REQUESTERS_COLUMNS if name not in names]
        self.place = {name: n for n, name in enumerate([*names, *added])}
        self.width = len(self.place)
        ends_so = (*names[-len(REQUESTERS_COLUMNS) :],) == REQUESTERS_COLUMNS
        shorter = (len(names) - len(REQUESTERS_COLUMNS),) if ends_so else ()
        self.widths = (len(names), *shorter)  # rows may end before the requester's columns
        return added

    def _cell(self, cells: Sequence[str], name: str) -> str:
        place = self.place.get(name, len(cells))
        return cells[place] if place < len(cells) else ""

    def _assignment(self, cells: Sequence[str]) -> _Assignment:
        found = self.found(self.n_rows)
        if found is None:
            raise self._mismatch(f"row {self.n_rows}", "another row came next")
        judge, column = _first(found, "judge"), self.batch.judge_column
        if judge and column and self._cell(cells, column) != judge:
            raise self._mismatch(f"row {self.n_rows}, {column}", "another judge was read")
        status = self._cell(cells, "AssignmentStatus") or _first(found, "status")
        open_ = ("submitted",) if "AssignmentStatus" in self.place else ("submitted", "")
        counted = [row for row in found if row["counted"]]
        n_rejected = sum(row["rejected"] for row in found)
        elsewhere = not counted and n_rejected < sum(row["records"] for row in found)
        decided = any(self._cell(cells, name).strip() for name in REQUESTERS_COLUMNS)
        verdicts = [self.judges[row["task"], row["judge_id"]] for row in counted]
        verdicts.sort(key=lambda v: (SEVERITY[v["verdict"]], -(v["p_value"] or 0)))
        recommendation, reason = self._recommend(verdicts)
        return _Assignment(
            self.opening.name,
            self.n_rows,
            self._cell(cells, "WorkerId") or judge,
            _first(found, "hit") or self._cell(cells, "HITId"),
            _first(found, "native_id") or self._cell(cells, "AssignmentId"),
            status,
            status.strip().lower() in open_ and not decided,
            recommendation,
            tuple(dict.fromkeys(v["verdict"] for v in verdicts)),
            reason or _first(found, "reason"),
            verdicts[0] if verdicts else {},
            sum(row["counted"] for row in found),
            n_rejected,
            elsewhere,
        )

    def _recommend(self, verdicts: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """What to do about a row with these verdicts, the worst first, and why."""
        failed = [v for v in verdicts if v["verdict"] == "failed"]
        if failed:
            reasons = {_words(v, self.quality): v["task"] for v in failed}
            if len(reasons) > 1:
                reasons = {f"{task}: {words}": task for words, task in reasons.items()}
            return "reject", self._short(" ".join(reasons))
        others = [v for v in verdicts if v["verdict"] != "passed"]
        why = next((v["verdict_reason"] for v in others or verdicts if v["verdict_reason"]), "")
        return "approve" if verdicts and not others else "decide", why

    def _short(self, reason: str) -> str:
        """A reason as MTurk takes it, in letters that the file's encoding has."""
        reason = printable(reason).encode(self.encoding, "replace").decode(self.encoding)
        over = len(reason) > LONGEST_REASON
        return f"{reason[: LONGEST_REASON - 3]}..." if over else reason

    def _decision(self, assignment: _Assignment, cells: Sequence[str]) -> tuple[str, str] | None:
        """What to write into Approve and Reject; None leaves them as they are."""
        if len(cells) not in self.widths:
            self.ragged.append(self.n_rows)
        if assignment.elsewhere:
            self.tally["elsewhere"] += 1
        elif not assignment.undecided:
            self.tally["decided"] += 1
        else:
            self.tally[assignment.recommendation] += 1
            if assignment.recommendation == "approve":
                return "x", ""
            if assignment.recommendation == "reject":
                return "", assignment.reason
        return None

    def _with(self, text: str, cells: list[str], decision: tuple[str, str] | None) -> str:
        """The row with its decision; as it was where no cell of it changes."""
        if len(cells) not in self.widths:
            return text
        whole = cells + [""] * (self.width - len(cells))
        for name, cell in zip(REQUESTERS_COLUMNS, decision or (), strict=False):
            whole[self.place[name]] = cell
        if whole[: len(cells)] == cells:
            return self._extended(text, cells, whole[len(cells) :])
        row = self.delimiter.join(map(self._quoted, whole))
        return row + text[len(text.rstrip("\r\n")) :]

    def _extended(self, text: str, cells: Sequence[str], more: Sequence[str]) -> str:
        """A row as it was, with more cells after its own."""
        body = text.rstrip("\r\n")
        added = [self._quoted(cell) for cell in more]
        return self.delimiter.join([body, *added] if cells else added) + text[len(body) :]

    def _quoted(self, cell: str) -> str:
        quote = self.opening.quote
        if quote:
            return quote + cell.replace(quote, 2 * quote) + quote
        return cell.replace(self.delimiter, " ")

    def _mismatch(self, what: str, read: str) -> StoreError:
        problem = Problem(what, f"the last build read it otherwise: {read}", do="please report it")
        return StoreError(f"{self.opening.name}: rows do not match", [problem])


def _first(found: Iterable[Mapping[str, Any]], name: str) -> str:
    """The first value that is there."""
    return next((str(row[name]) for row in found if row[name]), "")


def _words(verdict: Mapping[str, Any], quality: Quality) -> str:
    """Why a judge failed, for the judge to read: no thresholds, nothing to aim at."""
    p = verdict["p_adjusted"]
    tested = f"p = {p:.2g}{' after correction' * (quality.correction != 'none')}"
    n = verdict["n_pairs"]
    if verdict["test"] == "known_answer":
        share = verdict["known_answer_accuracy"]
        return (
            f"Control items: {round(share * n)} of {n} questions with a known answer were "
            f"answered right, too few (binomial test, {tested})."
        )
    words, what = DEGRADED[verdict["contrast"]]
    not_, how = ("not ", "reliably") if (verdict["effect"] or 0) > 0 else ("", "no")
    were = f"were {not_}{words.format(how)}"
    test = TESTS[verdict["test"]]
    return f"Control items: degraded copies {were} ({test}, {tested}, {n} {what})."


# --- the sheet -------------------------------------------------------------------------------


def _write_sheet(path: Path, assignments: list[_Assignment]) -> None:
    """One row an assignment, the most doubtful first."""
    with _private(path, "utf-8", "backslashreplace") as file:
        sheet = csv.writer(file, lineterminator="\n")
        sheet.writerow((*COLUMNS, *FIGURES, "n_judgments", "n_rejected_records"))
        for a in sorted(assignments, key=lambda a: a.doubt):
            who = [a.export, a.row, a.worker, a.hit, a.native_id, a.status]
            what = [a.recommendation, ", ".join(a.verdicts), a.reason]
            figures = [a.judge.get(name) for name in FIGURES]
            sheet.writerow(map(_safe, [*who, *what, *figures, a.n_judgments, a.n_rejected]))


def _safe(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers as they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
