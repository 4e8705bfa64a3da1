"""What a release is called, what it says it is about, and how to cite it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from annot_pipeline.errors import printable


def title(manifest: Mapping[str, Any]) -> str:
    """Return the name of the dataset, for people."""
    return manifest["settings"]["about"]["title"] or str(manifest["campaign"])


def described(manifest: Mapping[str, Any]) -> str:
    """Return the description of the dataset: the campaign's own, or a default."""
    origin = f"made from the judgments of the campaign {manifest['campaign']} by annot-pipeline."
    return manifest["settings"]["about"]["description"] or f"Gold dataset, {origin}"


def question(manifest: Mapping[str, Any], task: str) -> str | None:
    """Return what judges of a task were asked, if the campaign says so."""
    for settings in manifest["settings"]["tasks"]:
        if fnmatchcase(task, settings["name"]):
            question_text: str | None = settings["question"]
            return question_text
    return None


def citation(manifest: Mapping[str, Any]) -> str:
    """Return how to cite the release, in one line; its content hash tells it from any other."""
    about = manifest["settings"]["about"]
    who = ", ".join(about["creators"])
    parts = [
        about["citation"] or f"{who + '. ' if who else ''}{title(manifest)}.",
        f"Release {manifest['version']}, {manifest['created_at'][:10]}",
        f"(content sha256 {manifest['content_sha256']}).",
        about["url"] or "",
    ]
    return " ".join(" ".join(filter(None, parts)).split())


def bibtex(manifest: Mapping[str, Any]) -> str:
    """Return the same as a BibTeX entry; what TeX would take for commands is escaped."""
    about = manifest["settings"]["about"]
    fields = {
        "title": f"{{{_tex(title(manifest))}}}",
        "author": " and ".join(f"{{{_tex(name)}}}" for name in about["creators"]),
        "year": manifest["created_at"][:4],
        "version": manifest["version"],
        "url": about["url"] or "",
        "note": f"content sha256 {manifest['content_sha256']}",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{manifest['campaign']}_{manifest['version']},", *lines, "}"])


TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", **{c: f"\\{c}" for c in "&%$#_"},
}  # fmt: skip


def _tex(text: str) -> str:
    flat = " ".join(printable(text).split())
    return re.sub(r"[\\{}~^&%$#_]", lambda match: TEX[match.group()], flat)
