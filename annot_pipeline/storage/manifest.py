"""manifest.json of a release: its shape, read with care, since it says which files to open.

Strict: nothing is converted. Keys beyond these are allowed.

A release may come from another machine, half copied, edited, or written by a newer program.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.contracts import SCHEMA_VERSION
from annot_pipeline.errors import Problem, StoreError, shorten
from annot_pipeline.storage.files import read_document
from annot_pipeline.storage.pointer import SHA256, VERSION
from annot_pipeline.storage.tables import StoredTable

DEEPEST = 60
"""Levels of nesting in a manifest; settings, the deepest part, have about ten."""


def _plain(name: str) -> str:
    if not name or name in (".", "..") or any(c in name for c in "/\\\0"):
        raise ValueError("no plain file name: a release names files of its own folder alone")
    return name


def _file_of_release(name: str) -> str:
    folder, slash, file = name.partition("/")
    return f"{_plain(folder)}/{_plain(file)}" if slash else _plain(name)


PlainName = Annotated[str, AfterValidator(_plain)]
FileName = Annotated[str, AfterValidator(_file_of_release)]
"""A file of a release, or one in the folder of a table that lies in several."""
Digest = Annotated[str, Field(pattern=f"^{SHA256.pattern}$")]
Version = Annotated[str, Field(pattern=f"^{VERSION.pattern}$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Place = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""The place of a source in the settings."""


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Parent(_Section):
    version: Version
    manifest_sha256: Digest


class _Export(_Section):
    kind: Literal["judgments", "items"]
    name: str
    source: Place
    source_digest: Digest
    bytes: Count


class _Column(_Section):
    name: str
    type: str
    nullable: bool
    description: str


class _File(_Section):
    file: FileName
    sha256: Digest
    bytes: Count
    rows: Count


class _Table(_Section):
    name: PlainName
    file: PlainName
    files: list[_File] = Field(default_factory=list)
    key: list[str] = Field(default_factory=list)
    sha256: Digest
    rows: Count
    row: str
    columns: list[_Column]

    @model_validator(mode="after")
    def _files_are_in_its_folder(self) -> Self:
        for file in self.files:
            if file.file.partition("/")[0] != self.file:
                raise ValueError(f"a table in several files has them in its folder, {self.file}")
        if self.files and sum(file.rows for file in self.files) != self.rows:
            raise ValueError("its files hold other rows in all than the table")
        files = StoredTable.from_entries(Path(), [file.model_dump() for file in self.files])
        if self.files and files.sha256 != self.sha256:
            raise ValueError("its checksum is not that of its files")
        return self


class _Check(_Section):
    """How a gate went, as `annot status` and the report print it."""

    name: str
    level: Literal["pass", "warn", "error"]
    question: str
    detail: str
    do: str


class _Run(_Section):
    """The result of a stage: what made which tables from which."""

    stage: str
    run: str
    code_version: str
    key: str
    inputs: dict[str, str]
    outputs: dict[str, str]


class _Rejection(_Section):
    reason: str
    records: Count
    example: str


class _Decisions(_Section):
    decided: Count
    overridden: Count


class _Certificate(_Section):
    """What an audit certifies of the labels of a task; numbers are those of a certificate."""

    certified: bool
    release: str | None
    certain_at: float
    level: float | None
    n: Count
    errors: Count
    bound: float | None
    reason: str | None

    @model_validator(mode="after")
    def _is_of_a_level(self) -> Self:
        if self.certified and (self.level is None or self.bound is None):
            raise ValueError("certified labels have a level and a bound")
        return self


class _Facts(_Section):
    records: Count
    fates: dict[str, Count]
    rejections: list[_Rejection]
    kinds: dict[str, str]
    adjudications: dict[str, _Decisions]
    certificates: dict[str, _Certificate] = Field(default_factory=dict)
    anonymous_votes: dict[str, Count]
    verdicts: dict[str, Count]
    label_verdicts: dict[str, Count]
    careless_judges: dict[str, list[str]]
    failed_judges: dict[str, list[str]]
    suspected_judges: list[str]
    certain_share: dict[str, float]


class _Figures(_Section):
    """Figures of a release before."""

    version: Version
    created_at: str
    used: Count
    labels: Count
    scores: Count
    certain: float | None
    new_judgments: Count | None
    changed_labels: Count | None
    warnings: Count


class _Privacy(_Section):
    pseudonymize: bool | None = None
    key_fingerprint: str | None = None


class _Criterion(_Section):
    reverse: bool = False


class _Task(_Section):
    name: str
    scale: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    criteria: dict[str, _Criterion] = Field(default_factory=dict)


class _Settings(_Section):
    privacy: _Privacy = Field(default_factory=_Privacy)
    tasks: list[_Task] = Field(default_factory=list)


class _Candidate(_Section):
    run: str
    made_of: dict[str, Any]


class _Decision(_Section):
    """What a person decided about a release."""

    by: str
    at: str
    because: str
    accepted: list[str]
    restored: str
    dropped: dict[Digest, str]
    forgets_person: bool = False


class ManifestModel(_Section):
    """What every manifest has."""

    schema_version: Annotated[int, Field(ge=1)]
    campaign: str
    version: Version
    parent: _Parent | None
    trend: list[_Figures]
    created_at: str
    content_sha256: Digest
    code: dict[str, str]
    packages: dict[str, str]
    settings: _Settings
    settings_hash: Digest
    signature: str
    sources: list[_Export]
    tables: list[_Table]
    files: dict[FileName, Digest]
    checks: list[_Check]
    runs: list[_Run]
    facts: _Facts
    candidate: _Candidate | None = None
    decision: _Decision | None = None
    dropped: dict[Digest, str] = Field(default_factory=dict)
    """Exports that a rollback dropped, until a release reads them again."""
    changes: dict[str, bool | Count | None] | None
    """Counts and flags; a count is null where judgments cannot be matched."""

    @model_validator(mode="after")
    def _folders_are_of_tables(self) -> Self:
        listed = {file.file for table in self.tables for file in table.files}
        for name in {*self.files, *listed}:
            if "/" in name and name not in listed:
                raise ValueError(f"{shorten(name)} is in the folder of no table")
        return self

    @model_validator(mode="after")
    def _tables_have_one_name(self) -> Self:
        names = [table.name for table in self.tables]
        if len(names) != len(set(names)):
            raise ValueError("two tables have one name")
        return self

    @model_validator(mode="after")
    def _changes_are_since_the_parent(self) -> Self:
        if self.changes is not None and self.parent is None:
            raise ValueError("it has changes, and no parent")
        return self


def unusable_value(document: Any, where: str = "", level: int = 0) -> tuple[str, str] | None:
    """Return the place of a value that JSON allows and a manifest never holds, and what it is.

    Such are numbers that are not finite, text that is no Unicode, and nesting without end: where
    values of any type are allowed, nothing else would refuse them.
    """
    if level == DEEPEST:
        return where[:60], f"more than {DEEPEST} levels of nesting"
    if isinstance(document, float) and not math.isfinite(document):
        return where, f"{document} is no number"
    texts = document if isinstance(document, dict) else [document]
    if any(isinstance(text, str) and not _is_unicode(text) for text in texts):
        return where, "text that is no Unicode"
    inner: Iterable[tuple[Any, Any]] = document.items() if isinstance(document, dict) else ()
    inner = enumerate(document) if isinstance(document, list) else inner
    for key, value in inner:
        if unusable := unusable_value(value, f"{where}.{key}".lstrip("."), level + 1):
            return unusable
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


MANIFEST = "manifest.json"
COPY_AGAIN = "copy the whole folder again, or restore a backup"


def read_manifest(folder: Path, sha256: str | None = None) -> dict[str, Any]:
    """Return the manifest of the release in a folder.

    Parameters
    ----------
    folder
        The release's folder, named by its version.
    sha256
        Digest of the manifest, as the pointer knows it; None: unknown.

    Raises
    ------
    StoreError
        It is missing, not as it was published, of another release, or of a newer schema.
    """
    path = folder / MANIFEST
    try:
        data = read_document(path)
    except FileNotFoundError:
        problem = Problem("", f"{MANIFEST} is missing", do=COPY_AGAIN)
        raise StoreError(f"{folder}: half a release", [problem]) from None
    except OSError as error:
        problem = Problem("", error.strerror or str(error), do="restore access to it")
        raise StoreError(f"{path}: cannot be read", [problem]) from None
    return verified_manifest(data, folder.name, sha256, path)


def verified_manifest(
    data: bytes, version: str, sha256: str | None, path: Path | str
) -> dict[str, Any]:
    """Return the manifest of a version that some bytes are.

    Parameters and errors of `read_manifest`.
    """
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        what = "the checksum differs from that in latest.json"
        problem = Problem("", what, do="restore the release from a backup")
        raise StoreError(f"{path}: not the bytes that were published", [problem])
    manifest = parse_manifest(data, path)
    if manifest["version"] != version:
        what = f"it is the manifest of {manifest['version']}"
        problem = Problem("", what, do="give the folder its name back, or restore a backup")
        raise StoreError(f"{path}: not this release's", [problem])
    return manifest


def parse_manifest(data: bytes, path: Path | str) -> dict[str, Any]:
    """Parse the bytes of a manifest; ``path`` is named in messages.

    Raises
    ------
    StoreError
        They are none, or one of a newer schema.
    """
    damaged, do = f"{path}: damaged", "restore the release from a backup"
    try:
        manifest = parse_bounded_json(data)
        schema = manifest["schema_version"]
        if not isinstance(schema, int) or isinstance(schema, bool):
            raise TypeError(schema)
    except (ValueError, KeyError, TypeError):
        problem = Problem("", "it is not the JSON of a manifest", do=do)
        raise StoreError(damaged, [problem]) from None
    if schema > SCHEMA_VERSION:
        what = f"it has schema {schema}; this one reads up to {SCHEMA_VERSION}"
        problem = Problem("", what, do="upgrade: pip install --upgrade annot-pipeline")
        raise StoreError(f"{path}: written by a newer annot-pipeline", [problem])
    if unusable := unusable_value(manifest):
        raise StoreError(damaged, [Problem(*unusable, do=do)])
    try:
        ManifestModel.model_validate(manifest)
    except ValidationError as error:
        problems = [
            Problem(".".join(map(str, details["loc"])), _words(details), do=do)
            for details in error.errors(include_url=False)[:5]
        ]
        raise StoreError(damaged, problems) from None
    result: dict[str, Any] = manifest
    return result


def _words(details: Any) -> str:
    if details["type"] == "missing":
        return "is missing"
    message: str = details["msg"].removeprefix("Value error, ")
    return (
        message if isinstance(details["input"], dict) else f"{shorten(details['input'])}: {message}"
    )


def files_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the files of a table: ``file``, ``sha256``, ``bytes``, ``rows`` of each, in order.

    Parameters
    ----------
    table
        What the manifest says of it; ``files`` where it lies in several.
    """
    one = {name: table[name] for name in ("file", "sha256", "bytes", "rows") if name in table}
    return list(table.get("files") or [one])


def stored_table(folder: Path, table: Mapping[str, Any]) -> StoredTable:
    """Return a table of the release in a folder."""
    return StoredTable.from_entries(folder, files_of(table))


def written_in(folder: Path) -> dict[str, Path]:
    """Return the files of a release in the making, by name.

    Of a table in several, ``table/file``.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


def lying_in(folder: Path, manifest: Mapping[str, Any]) -> set[str]:
    """Return the names in the folder of a release, and in those of tables in several files.

    Parameters
    ----------
    manifest
        Its ``files`` tell which folders are of tables.
    """
    of_tables = {name.partition("/")[0] for name in manifest["files"] if "/" in name}
    names = set()
    for path in folder.iterdir():
        if path.name in of_tables and path.is_dir() and not path.is_symlink():
            names |= {f"{path.name}/{entry.name}" for entry in path.iterdir()}
        else:
            names.add(path.name)
    return names
