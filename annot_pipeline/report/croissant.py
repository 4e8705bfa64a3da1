"""croissant.json: the release in the MLCommons Croissant 1.0 vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DATA_TYPES = {
    "string": "sc:Text",
    "int64": "sc:Integer",
    "double": "sc:Float",
    "bool": "sc:Boolean",
    "timestamp[us, tz=UTC]": "sc:DateTime",
}
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "recordSet": "cr:recordSet",
    "sc": "https://schema.org/",
    "source": "cr:source",
}


def croissant(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON-LD document of a release, from its manifest (without ``files``)."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": manifest["campaign"],
        "description": f"Gold dataset of the campaign {manifest['campaign']}, made from "
        "judgments by annot-pipeline.",
        "datePublished": manifest["created_at"],
        "version": f"{int(manifest['version'][1:])}.0.0",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": table["file"],
                "name": table["file"],
                "contentUrl": table["file"],
                "encodingFormat": "application/x-parquet",
                "sha256": table["sha256"],
            }
            for table in manifest["tables"]
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table["name"],
                "name": table["name"],
                "description": f"One row is {table['row']}.",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{table['name']}/{column['name']}",
                        "name": column["name"],
                        "description": column["description"],
                        "dataType": DATA_TYPES[column["type"]],
                        "source": {
                            "fileObject": {"@id": table["file"]},
                            "extract": {"column": column["name"]},
                        },
                    }
                    for column in table["columns"]
                ],
            }
            for table in manifest["tables"]
        ],
    }
