"""Working state of a campaign: raw archive, parsed files, stage results, runs.

Stage results lie under the hash of all that went into them, so an unchanged step is found,
not run; two builds at once cannot disturb each other, and a killed one leaves nothing that
counts. Everything here can be deleted but the archive, the key and the settings of releases: it
will be made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage import locks, marked_folder
from annot_pipeline.storage.candidates import Candidates
from annot_pipeline.storage.files import (
    atomic_directory,
    atomic_write,
    canonical_json,
    read_json,
    read_regular,
    regular,
    remove_unfinished,
    temp_sibling,
    write_json,
)
from annot_pipeline.storage.locks import holders, open_lock, take
from annot_pipeline.storage.queries import clear_spill
from annot_pipeline.storage.shortages import cannot_write
from annot_pipeline.storage.tables import StoredTable, TableFile, is_intact, read_table


@dataclass(frozen=True)
class StageFingerprint:
    """Holds the hashes of what a result depends on: code and settings, and each input table."""

    code_version: str
    settings: str
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class StageResult:
    """Holds a stage's tables, the document of its metrics, its run, and the seconds it took."""

    stage: str
    key: str
    fingerprint: StageFingerprint
    tables: Mapping[str, StoredTable]
    document: Mapping[str, Any]
    run: str
    seconds: float
    reused: bool = False

    @classmethod
    def from_document(cls, document: Any, folder: Path) -> StageResult:
        """Return the result that a document in a folder of the store describes.

        Raises
        ------
        ValueError, KeyError, TypeError
            The document is not as it was written.
        """
        if not isinstance(document, dict):
            raise TypeError("it is no JSON object")
        if document.pop("sha256") != digest_of_read(document):
            raise ValueError("its content does not have its digest")
        tables = {
            name: StoredTable.from_entries(folder, files)
            for name, files in document["tables"].items()
        }
        fingerprint = StageFingerprint(**document["basis"])
        stage, key, facts = document["stage"], document["key"], document["facts"]
        return cls(stage, key, fingerprint, tables, facts, document["run"], document["seconds"])

    @property
    def is_intact(self) -> bool:
        """Return whether the bytes of all tables are those that were written."""
        return all(is_intact(file) for table in self.tables.values() for file in table.files)

    def stored(self) -> dict[str, Any]:
        """Return it as it is stored beside the tables."""
        document = {
            "stage": self.stage, "key": self.key, "basis": asdict(self.fingerprint),
            "tables": {
                name: [
                    {"file": file.path.name, "sha256": file.sha256, "rows": file.rows}
                    for file in table.files
                ]
                for name, table in self.tables.items()
            },
            "facts": dict(self.document), "run": self.run, "seconds": self.seconds,
        }  # fmt: skip
        return document | {"sha256": digest_of(document)}


def digest_of(document: Mapping[str, Any]) -> str:
    """Return the digest of a document as it is read again."""
    return digest_of_read(json.loads(canonical_json(document)))  # noqa: TID251 - our own


def digest_of_read(document: Mapping[str, Any]) -> str:
    """Return the digest of a document that was read from JSON."""
    return hashlib.sha256(canonical_json(document)).hexdigest()


LOCK = ".lock"
RESULT = "stage.json"
KEPT_RUNS = 20
UNUSED_AFTER = 86_400.0
"""Seconds after which a stage result that no kept run names is deleted."""


@dataclass
class ResultFolder:
    """The folder of a stage's result before it is complete, with its tables and metrics."""

    folder: Path
    tables: Mapping[str, StoredTable] = field(default_factory=dict)
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LastFailure:
    """Holds the advice of a failed build, and a digest of its exports and settings.

    ``may_pass``: a later build may succeed with the same.
    """

    advice: tuple[str, ...]
    state: str
    may_pass: bool = False


class Store:
    """Represents the folder of a campaign's working state.

    Attributes
    ----------
    archive
        Folder of the raw bytes of exports, by SHA-256.
    records
        Folder of parsed exports.
    checkpoints
        Folder of checkpoints of unfinished calculations.
    export_digests
        File of digests of exports that the sensor has read.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.archive, self.records = root, root / "archive", root / "records"
        self.checkpoints, self.export_digests = root / "checkpoints", root / "export_digests.json"
        self._settings, self._outcome = root / "settings", root / "last_build.json"
        self._results: dict[Path, StageResult] = {}  # read by this process

    def keep_settings(self, settings_hash: str, text: str) -> None:
        """Keep the settings of a release whole, for a rebuild; mode 600, as they name judges."""
        path = self._settings / f"{settings_hash}.json"
        if self.settings(settings_hash) != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.touch(mode=0o600)
                temporary.write_text(text, encoding="utf-8")

    def settings(self, settings_hash: str) -> str | None:
        """Return settings that were kept; None if they were not."""
        path = self._settings / f"{settings_hash}.json"
        return read_regular(path).decode("utf-8", errors="replace") if path.is_file() else None

    def prepare(self) -> None:
        """Create the folder and mark it as a store.

        Raises
        ------
        ConfigError
            It holds files that no build wrote.
        StoreError
            It cannot be written.
        """
        marker = self.root / marked_folder.STORE.marker
        try:
            if os.path.lexists(marker):
                regular(marker)
            marked_folder.claim(self.root, marked_folder.STORE)
            probe = self.root / f".tmp-probe-{time.monotonic_ns()}"
            probe.write_bytes(b"")
            probe.unlink(missing_ok=True)  # another build may be cleaning
        except OSError as error:
            raise cannot_write(self.root, error, "store") from None

    def refuse_foreign(self, campaign_folder: Path | None = None) -> None:
        """Make sure that what is deleted here was written by builds; see `claim`.

        ``campaign_folder`` is that of campaign.yaml, for the advice of the message.

        Raises
        ------
        ConfigError
            It holds files that no build wrote.
        """
        marked_folder.refuse_foreign(self.root, marked_folder.STORE, campaign_folder)

    def result(self, stage: str, key: str) -> StageResult | None:
        """Return an earlier result of the same inputs, settings and code, if all files exist.

        Bytes of tables are not checked here; see `StageResult.is_intact`.
        """
        path = self._stage_folder(stage, key) / RESULT
        result = self._results.get(path) or self._read_result(path)
        if result is None:
            return None
        files = [file for table in result.tables.values() for file in table.paths]
        if not all(file.exists() for file in (path, *files)):
            self._results.pop(path, None)
            return None
        self._results[path] = result
        return result

    def _read_result(self, path: Path) -> StageResult | None:
        """Return a result from its file; None where it is missing or damaged."""
        try:
            return StageResult.from_document(read_json(path), path.parent)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def files_of_release(
        self, stage: str, table: str, manifest: Mapping[str, Any]
    ) -> dict[str, TableFile]:
        """Return the files, in the store, of a table that a release was made of, by their hashes.

        None are known where the result of its stage has been removed since.
        """
        outputs = [run["outputs"] for run in manifest["runs"] if run["stage"] == stage]
        for folder in self._folders(f"stages/{stage}/*"):
            result = self.result(stage, folder.name)
            made = result.tables.get(table) if result else None
            if made and {table: made.sha256}.items() <= dict(*outputs).items():
                return {file.sha256: file for file in made.files}
        return {}

    @contextlib.contextmanager
    def make(
        self, stage: str, key: str, fingerprint: StageFingerprint, run: str
    ) -> Iterator[ResultFolder]:
        """Yield a folder to be filled; the result appears in one step or not at all."""
        started = time.monotonic()
        folder = self._stage_folder(stage, key)
        self._results.pop(folder / RESULT, None)
        self._remove(folder, lambda: self.result(stage, key) is None)  # damaged
        with atomic_directory(folder) as temporary:
            unfinished = ResultFolder(temporary)
            yield unfinished
            seconds = round(time.monotonic() - started, 3)
            tables, document = unfinished.tables, unfinished.document
            result = StageResult(stage, key, fingerprint, tables, document, run, seconds)
            write_json(temporary / RESULT, result.stored())

    def stored(self, stage: str, key: str) -> StageResult:
        """Return a result that was just made."""
        folder = self._stage_folder(stage, key)
        return StageResult.from_document(read_json(folder / RESULT), folder)

    def discard(self, result: StageResult) -> None:
        """Delete a useless result, unless another build has replaced it."""
        folder = self._stage_folder(result.stage, result.key)
        self._results.pop(folder / RESULT, None)
        self._remove(folder, lambda: self._read_result(folder / RESULT) == result)

    def _remove(self, folder: Path, is_useless: Callable[[], bool]) -> None:
        """Remove a result if it is still useless under the lock of its stage."""
        if not folder.exists():
            return
        trash = temp_sibling(folder)
        with self._lock(fcntl.LOCK_EX, folder.parent.with_suffix(".lock")):
            if not folder.exists() or not is_useless():
                return
            os.rename(folder, trash)
        shutil.rmtree(trash, ignore_errors=True)

    def record(self, run: str, result: StageResult) -> None:
        """Note that a run's stage has this result."""
        for owner in (run, "latest"):
            note = _Note(result.stage, result.key, result.reused)
            write_json(self.root / "runs" / owner / f"{result.stage}.json", asdict(note))

    def recorded(self, run: str, stage: str, *, own: bool = False) -> StageResult:
        """Return the stage's result in this run, else (unless ``own``) in the latest run.

        Raises
        ------
        StoreError
            No run has made it.
        """
        for owner in (run,) if own else (run, "latest"):
            note = _note(self.root / "runs" / owner / f"{stage}.json")
            result = self.result(stage, note.key) if note else None
            if note and result:
                return replace(result, reused=note.reused)
        do = "run annot build, or materialize the assets upstream first"
        problem = Problem("", "its result is not in the store", do=do)
        raise StoreError(f"{stage} has not run yet", [problem])

    def note_outcome(self, run: str, outcome: str, failure: LastFailure | None = None) -> None:
        """Remember how the latest build ended; a full disk does not hide the first error.

        A folder that was refused as a store is not written to.
        """
        if not marked_folder.is_marked(self.root, marked_folder.STORE):
            return
        when = datetime.now(UTC).isoformat(timespec="seconds")
        with contextlib.suppress(OSError):
            document = {"run": run, "finished": when, "outcome": outcome}
            write_json(self._outcome, document | ({"failure": asdict(failure)} if failure else {}))

    def last_outcome(self) -> dict[str, str] | None:
        """Return run, time and outcome of the latest build; None before the first."""
        try:
            outcome = read_json(self._outcome)
            return {name: str(outcome[name]) for name in ("run", "finished", "outcome")}
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def damaged_outcome(self) -> Problem | None:
        """Return that the note of the latest build is damaged; None if it is whole or missing."""
        if self.last_outcome() is not None or not os.path.lexists(self._outcome):
            return None
        what = "damaged: how the last build ended is not known"
        do = "run annot build, which writes it again; a build without news publishes nothing"
        return Problem(str(self._outcome), what, do=do)

    def last_failure(self) -> LastFailure | None:
        """Return why the latest build failed; None if it did not, or if that is unknown."""
        try:
            failure = read_json(self._outcome)["failure"]
            advice = tuple(map(str, failure["advice"]))
            return LastFailure(advice, str(failure["state"]), bool(failure["may_pass"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def interrupted_build(self) -> dict[str, str] | None:
        """Return run, last stage and time of the latest build if it has no recorded outcome.

        None where the record is damaged: it may have ended.
        """
        if self.damaged_outcome():
            return None
        notes = [path for path in self.root.glob("runs/*/*.json") if path.parent.name != "latest"]
        dated_notes = []
        for path in notes:
            with contextlib.suppress(FileNotFoundError):  # a build cleans meanwhile
                dated_notes.append((path.stat().st_mtime, path))
        if not dated_notes:
            return None
        seconds, last = max(dated_notes)
        outcome, when = self.last_outcome(), datetime.fromtimestamp(seconds, UTC)
        at = when.isoformat(timespec="seconds")
        if outcome and at == outcome["finished"]:  # the same second: the newer file tells
            has_ended = seconds <= self._outcome.stat().st_mtime
        else:
            has_ended = outcome is not None and at < outcome["finished"]
        if has_ended or (outcome and outcome["run"] == last.parent.name):
            return None
        return {"run": last.parent.name, "stage": last.stem, "at": at}

    def shared_lock(
        self, waiting: Callable[[], None] = lambda: None
    ) -> contextlib.AbstractContextManager[None]:
        """Lock the store for a stage, so that nobody cleans; many stages may run at once.

        ``waiting`` is called each minute while a process holds the exclusive lock.

        Raises
        ------
        StoreError
            Another process held the exclusive lock for longer than the limit.
        """
        return self._lock(fcntl.LOCK_SH, waiting=waiting)

    def exclusive_lock(
        self, waiting: Callable[[], None]
    ) -> contextlib.AbstractContextManager[None]:
        """Lock the store once no stage runs; ``waiting`` is called each minute.

        Raises
        ------
        StoreError
            A stage has run for too long.
        """
        if not self.root.is_dir():
            return contextlib.nullcontext()
        return self._lock(fcntl.LOCK_EX, waiting=waiting)

    def users(self) -> str:
        """Return the processes of this machine that use the store, as messages add them."""
        try:
            return holders(os.stat(self.root / LOCK))
        except OSError:
            return ""

    @contextlib.contextmanager
    def _lock(
        self, kind: int, path: Path | None = None, waiting: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Hold a lock, that of the whole store or of a file.

        The file is never deleted: a process that waits for it would lock a file that no other
        finds. The kernel releases the locks of a process that dies.
        """
        longest = locks.LONGEST_WAIT if path else locks.LONGEST_STAGE
        path = path or self.root / LOCK
        descriptor = _opened(path)
        try:
            take(descriptor, kind, path, waiting, longest)
            yield
        finally:
            os.close(descriptor)

    def clean(self, spill: Path) -> list[Path]:
        """Delete what killed builds left and what no kept run uses; not while a stage runs.

        Where the folder is not marked as a store, nothing is deleted. Returns folders of the spill
        folder that stay, since they hold what no query put there.
        """
        foreign: list[Path] = []
        if not marked_folder.is_marked(self.root, marked_folder.STORE):
            return foreign
        with contextlib.suppress(BlockingIOError), self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB):
            foreign = clear_spill(spill)
            self._clean()
        return foreign

    def _clean(self) -> None:
        for folder in (
            self.root,
            self.records,
            *self._folders("checkpoints/*"),
            *self._folders("stages/*"),
            self._settings,
            self.root / marked_folder.FIGURES,
            *self._folders("archive/*"),
            *self._folders("runs/*"),
        ):
            remove_unfinished(folder)
        runs = sorted(self._folders("runs/*"), key=lambda path: path.stat().st_mtime)
        kept = {"latest", *Candidates(self.root).clean()}
        for run in [path for path in runs if path.name not in kept][:-KEPT_RUNS]:
            if _holds_only(run, ".json"):
                shutil.rmtree(run)
        notes = map(_note, self.root.glob("runs/*/*.json"))
        used = {(note.stage, note.key) for note in notes if note}
        oldest = time.time() - UNUSED_AFTER
        kept_files: set[str] = set()
        for folder in self._folders("stages/*/*"):
            if (folder.parent.name, folder.name) in used:
                kept_files |= _parsed_export_keys(folder / "record_files.parquet")
            elif folder.stat().st_mtime < oldest and (folder / RESULT).is_file():
                shutil.rmtree(folder)
        for folder in self._folders("checkpoints/*"):
            if folder.stat().st_mtime < oldest and _holds_only(folder, ".npz"):
                shutil.rmtree(folder)
        for path in self.records.glob("*.*"):
            is_record_file = marked_folder.RECORD_FILE.fullmatch(path.name) is not None
            if is_record_file and path.stem not in kept_files and path.stat().st_mtime < oldest:
                path.unlink()

    def _folders(self, pattern: str) -> list[Path]:
        return [path for path in self.root.glob(pattern) if path.is_dir()]

    def _stage_folder(self, stage: str, key: str) -> Path:
        return self.root / "stages" / stage / key


def _holds_only(folder: Path, suffix: str) -> bool:
    """Return whether a folder holds nothing but files with one ending, as builds write there."""
    return all(path.suffix == suffix and path.is_file() for path in folder.iterdir())


def _opened(lock: Path) -> int:
    """Open a file to be locked; a reader without write access locks it, or the folder."""
    try:
        return open_lock(lock)
    except OSError:
        return os.open(lock if lock.exists() else lock.parent, os.O_RDONLY | os.O_NONBLOCK)


def _parsed_export_keys(record_files: Path) -> set[str]:
    """Return the keys of the parsed exports that a run used; none if they are unknown."""
    try:
        names = read_table(record_files, ["filename"])["filename"].to_pylist()
    except MemoryError:  # also Arrow's
        raise
    except (pa.ArrowException, OSError):  # no such stage, or damaged
        return set()
    return {name.partition(".")[0] for name in names}


@dataclass(frozen=True)
class _Note:
    """Represents a run's note that a stage has a result."""

    stage: str
    key: str
    reused: bool


def _note(path: Path) -> _Note | None:
    """Return a run's note, or None if there is none, or a damaged one."""
    try:
        note = read_json(path)
        return _Note(note["stage"], note["key"], note["reused"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
