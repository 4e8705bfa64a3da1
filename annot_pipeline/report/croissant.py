"""croissant.json: the release in the MLCommons Croissant 1.0 vocabulary, with that of RAI.

``references`` between tables are left out: readers take one for an order to join the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.citation import citation, described, title
from annot_pipeline.storage.manifest import files_of

DATA_TYPES = {
    "string": "sc:Text",
    "int64": "sc:Integer",
    "double": "sc:Float",
    "bool": "sc:Boolean",
    "timestamp[us, tz=UTC]": "sc:DateTime",
}
SPDX = re.compile(
    r"(Apache|MIT|CC|CC0|BSD|GPL|LGPL|AGPL|MPL|ODbL|ODC-By|PDDL|CDLA|EUPL|OGL|Unlicense)(-[\w.+-]+)?"
)
"""Licences that are named by their SPDX id, which Croissant wants as an address."""

OWN_TERMS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex "
    "repeated replace samplingRate separator source subField transform"
)
"""Terms of Croissant's own vocabulary, which have its prefix."""
CONTEXT: dict[str, Any] = {name: f"cr:{name}" for name in OWN_TERMS.split()} | {
    "@language": "en", "@vocab": "https://schema.org/", "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/", "sc": "https://schema.org/",
}  # fmt: skip
CONTEXT = dict(sorted(CONTEXT.items()))
"""The context of the specification, whole, as its readers expect it."""


def croissant(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON-LD document of a release, from its manifest (without ``files``)."""
    about = manifest["settings"]["about"]
    optional = {
        "license": about["license"] and _license(about["license"]),
        "url": about["url"],
        "keywords": about["keywords"],
        "inLanguage": about["languages"],
        "creator": [{"@type": "sc:Organization", "name": name} for name in about["creators"]],
    }
    return {
        "@context": CONTEXT, "@type": "sc:Dataset",
        "conformsTo": [f"http://mlcommons.org/croissant/{v}" for v in ("1.0", "RAI/1.0")],
        "name": title(manifest),
        "description": described(manifest), "datePublished": manifest["created_at"],
        "version": f"{int(manifest['version'][1:])}.0.0", "isLiveDataset": False,
        "citeAs": citation(manifest), **{key: value for key, value in optional.items() if value},
        **_responsible_ai(manifest),
        "distribution": [entry for table in manifest["tables"] for entry in _distribution(table)],
        "recordSet": [_record_set(table) for table in manifest["tables"]],
    }  # fmt: skip


def _responsible_ai(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return how the data was collected and annotated: properties of Croissant's RAI vocabulary."""
    rows = {table["name"]: table["rows"] for table in manifest["tables"]}
    fates = ", ".join(f"{n} {fate}" for fate, n in manifest["facts"]["fates"].items() if n)
    judgments = f"{rows['judgments']} judgments of {rows['items']} items"
    return {
        "rai:annotationsPerItem": f"{judgments}; the table judgments has all",
        "rai:dataAnnotationAnalysis": "see the tables agreement and judges",
        "rai:dataPreprocessingProtocol": f"{manifest['facts']['records']} records by fate: {fates}",
        "rai:personalSensitiveInformation": "people have pseudonyms; item texts are unchanged",
    }


def _license(license_: str) -> str:
    return f"https://spdx.org/licenses/{license_}.html" if SPDX.fullmatch(license_) else license_


def _distribution(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the files of a table, and the set of them where there are several."""
    files = files_of(table)
    for file in files:
        yield {
            "@type": "cr:FileObject",
            "@id": file["file"],
            "name": file["file"],
            "description": f"The table {table['name']}, {file['rows']} rows.",
            "contentUrl": file["file"],
            "contentSize": f"{file['bytes']} B",
            "encodingFormat": "application/x-parquet",
            "sha256": file["sha256"],
        }
    if len(files) > 1:
        yield {
            "@type": "cr:FileSet",
            "@id": table["file"],
            "name": table["file"],
            "description": f"The table {table['name']}, {table['rows']} rows.",
            "includes": f"{table['file']}/*.parquet",
            "encodingFormat": "application/x-parquet",
        }


def _record_set(table: Mapping[str, Any]) -> dict[str, Any]:
    name = table["name"]
    key = {"key": _ids(name, table["key"])} if GOLD[name].unique else {}
    return {
        "@type": "cr:RecordSet", "@id": name, "name": name,
        "description": " ".join(filter(None, (f"One row per {table['row']}.", table.get("note")))),
        **key,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column['name']}",
                "name": column["name"],
                "description": column["description"],
                "dataType": DATA_TYPES[column["type"]],
                "source": {
                    "fileSet" if "files" in table else "fileObject": {"@id": table["file"]},
                    "extract": {"column": column["name"]},
                },
            }
            for column in table["columns"]
        ],
    }  # fmt: skip


def _ids(table: str, columns: Sequence[str]) -> list[dict[str, str]]:
    return [{"@id": f"{table}/{column}"} for column in columns]
