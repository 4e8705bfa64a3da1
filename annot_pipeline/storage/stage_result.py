"""Results of stages as the store holds them: tables, metrics, and hashes of what they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from annot_pipeline.storage.files import canonical_json
from annot_pipeline.storage.tables import StoredTable, is_intact


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
