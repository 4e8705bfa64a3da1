"""Method signature, settings, packages, files, and how to cite the release."""

from __future__ import annotations

import json
from typing import Any

from annot_pipeline.report.citation import bibtex, citation
from annot_pipeline.report.contents import Contents, Document
from annot_pipeline.report.markup import (
    Column,
    Markup,
    join,
    label_text,
    more,
    paragraph,
    part,
    table,
    text,
)
from annot_pipeline.storage.manifest import files_of

MOST_SETTINGS = 20_000
"""Characters of the settings that are shown."""


def method(contents: Contents) -> str:
    """Return what has to be told beside a number that is taken from here."""
    manifest = contents.manifest
    signature = Markup(f"<pre><code>{_signature(manifest['signature'])}</code></pre>\n")
    return join([
        paragraph("Quote this with any number from the release; it holds every choice that can "
                  "move one."),
        signature,
        more("All settings", _settings(contents.settings)),
        more("Code and packages", _code(manifest)),
        part("Files of the release", _files(manifest)),
        part("How to cite", _citation(manifest)),
        part("License and contact", _contact(contents)),
    ])  # fmt: skip


def _signature(signature: str) -> str:
    """Return one section a line; a copy of it is the signature but for line ends."""
    return "|\n".join(str(text(line, 2000)) for line in signature.split("|"))


def _settings(settings: Document) -> str:
    written = json.dumps(settings, indent=1, ensure_ascii=False, sort_keys=True)
    return f'<pre tabindex="0"><code>{text(written, MOST_SETTINGS)}</code></pre>\n'


def _code(manifest: Document) -> str:
    rows = [*manifest["code"].items(), *manifest["packages"].items()]
    rows += [("schema of the tables", manifest["schema_version"])]
    rows += [("settings, hash", manifest["settings_hash"])]
    rows += [("content, SHA-256 of all tables but lineage", manifest["content_sha256"])]
    return table("Code and packages", [Column("what"), Column("version")], rows)


def _files(manifest: Document) -> str:
    """Return a table of links to the files in the report's folder."""
    first = [
        ("README.md", "data card", None, ""),
        ("croissant.json", "description for machines (MLCommons Croissant)", None, ""),
        ("manifest.json", "everything in this report, and the SHA-256 of every file", None, ""),
    ]
    rows: list[tuple[str, str, Any, str]] = [
        *first,
        *(
            (file["file"], f"one row per {t['row']}", file["rows"], file["sha256"])
            for t in manifest["tables"]
            for file in files_of(t)
        ),
    ]
    columns = [Column("file"), Column("what"), Column("rows", "count"), Column("SHA-256")]
    cells = (
        (_link(name), what, n, Markup(f"<code>{text(sha)}</code>") if sha else "")
        for name, what, n, sha in rows
    )
    return table("Files of this release", columns, cells)


def _link(name: str) -> Markup:
    return Markup(f'<a href="{label_text(name)}">{text(name)}</a>')


def _citation(manifest: Document) -> str:
    entry = f"<pre><code>{text(bibtex(manifest), 4000)}</code></pre>\n"
    return paragraph(text(citation(manifest), 2000)) + entry


def _contact(contents: Contents) -> str:
    about = contents.about
    rows = [
        (key, _web_link(about[key]) if key == "url" else text(about[key], 500))
        for key in ("license", "url", "contact")
        if about.get(key)
    ]
    return table("As the campaign says", [Column("what"), Column("value")], rows)


def _web_link(address: str) -> Markup:
    """Return an address as a link if it is one of the web; else as text."""
    if not address.startswith(("https://", "http://")):
        return text(address, 500)
    return Markup(f'<a href="{label_text(address)}" rel="noreferrer">{text(address, 500)}</a>')
