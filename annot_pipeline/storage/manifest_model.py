"""The shape of manifest.json: every value that some command reads has its type here.

Strict: nothing is converted. Keys beyond these are allowed.
What does not belong here: reading the file (manifest).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from annot_pipeline.errors import shorten
from annot_pipeline.storage.pointer import SHA256, VERSION
from annot_pipeline.storage.tables import StoredTable, TableFile

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
    kind: str
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
        files = (TableFile(Path(file.file), file.sha256, file.rows) for file in self.files)
        if self.files and StoredTable(tuple(files)).sha256 != self.sha256:
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


def unusable_value(document: Any) -> tuple[str, str] | None:
    """Return the place of a value that JSON allows and a manifest never holds, and what it is.

    Such are numbers that are not finite, text that is no Unicode, and nesting without end: where
    values of any type are allowed, nothing else would refuse them.
    """
    level: list[tuple[str, Any]] = [("", document)]
    for _ in range(DEEPEST):
        for where, value in level:
            if what := _unusable(value):
                return where, what
        level = [(f"{where}.{key}".lstrip("."), inner) for where, value in level
                 for key, inner in _inner(value)]  # fmt: skip
        if not level:
            return None
    return level[0][0][:60], f"more than {DEEPEST} levels of nesting"


def _unusable(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is no number"
    texts = value if isinstance(value, dict) else [value]
    if any(isinstance(text, str) and not _is_unicode(text) for text in texts):
        return "text that is no Unicode"
    return ""


def _inner(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(position), inner) for position, inner in enumerate(value))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
