"""Reads report.html back, and builds the campaigns whose reports are looked at."""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa

from annot_pipeline.commands.release_pages import drawn_tables, reported_tables
from annot_pipeline.config import Resources
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.report import section_html
from annot_pipeline.storage.queries import Queries
from annot_pipeline.storage.spill import temporary_spill
from tests.conftest import Built, build_file

QUERIES = Queries(Resources(), temporary_spill())

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror="document.title=\'hit\'">'
FORMULA = "=cmd|' /C calc'!A0"
ARABIC = "مرحبا بالعالم"
REORDERED = "\u202egnp.exe"
LONG = "long " * 1999 + "long."
MARKUP = "</td></table></section><h1>no</h1>&amp;<!--"
TEMPLATE = "{{7*7}}${7*7}javascript:alert(1)"
HOSTILE = (SCRIPT, IMAGE, FORMULA, ARABIC, REORDERED, LONG, MARKUP, TEMPLATE)


def html_of(section: Callable[..., Mapping[str, Any]], contents: Contents, **more: Any) -> str:
    """A section of the report by itself."""
    return section_html(section.__name__, section(contents, **more))


def contents_of(built: Built, **facts: Any) -> Contents:
    release = built.publication.release
    gold = tables_of(built)
    manifest = release.manifest | {"facts": release.manifest["facts"] | facts}
    made = {name: table for run in built.runs.values() for name, table in run.result.tables.items()}
    return Contents(manifest, gold, drawn_tables(made, gold, QUERIES))


def tables_of(built: Built) -> dict[str, pa.Table]:
    release = built.publication.release
    return reported_tables({name: release.stored(name) for name in release.tables}, QUERIES)


WAITING = re.compile(r'</tbody></table>\s*<script type="application/json">(.*?)</script>')
FIGURES = re.compile(
    r'(<div class="figures">(?:(?!<div class="figures">).)*?)'
    r'<script type="application/octet-stream">([^<]*)</script>', re.DOTALL,
)  # fmt: skip


def with_all_shown(html: str) -> str:
    """The page when its script has shown all rows of its tables, and all figures."""

    def cell(content: Any, tag: str) -> str:
        written, exact = content if isinstance(content, list) else (content or "", "")
        value = f' data-v="{exact}"' if exact else ""
        return f"<{tag}{value}>{written}</{tag[:2]}>"

    def rows(match: re.Match[str]) -> str:
        waiting = json.loads(match[1])
        every = [
            [waiting["texts"][c] if isinstance(c, int) else c for c in cells]
            for cells in waiting["rows"]
        ]
        lines = [
            f'<tr id="{own or ""}">' + cell(head, 'th scope="row"')
            + "".join(cell(content, "td") for content in rest) + "</tr>"
            for head, *rest, own in every
        ]  # fmt: skip
        return "".join(lines) + "</tbody></table>"

    def drawings(match: re.Match[str]) -> str:
        drawn = zlib.decompress(b64decode(match[2])).decode()
        svgs = iter(re.findall(r"<svg xmlns.*?</svg>", drawn, re.DOTALL))
        return re.sub("(?=</div></figure>)", lambda _: next(svgs), match[1])

    return FIGURES.sub(drawings, WAITING.sub(rows, html))


LABEL_CHANGE = (
    "task", "item", "label_old", "label", "adjudicated_old", "adjudicated", "adjudicator_old",
    "adjudicator", "probability", "probability_old", "n_changed", "n_new", "answers",
)  # fmt: skip
"""Columns of sql/report/label_changes.sql that the page shows."""


class Page(HTMLParser):
    """What a page holds: elements with attributes and texts, in order."""

    VOID = ("meta", "link", "br", "img", "input")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html = with_all_shown(html)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
            if tag in ("h1", "h2", "h3", "h4", "caption", "title", "script"):
                self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> is out of place"

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            if tag in self.texts:
                self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.elements if a.get("id")]  # type: ignore[misc]


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def build_into(folder: Path, exports: Mapping[str, str], document: Mapping[str, Any]) -> Built:
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    for name, content in exports.items():
        (folder / "exports" / name).write_text(content, encoding="utf-8", newline="")
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return build_file(folder)


def label_rows() -> list[dict[str, object]]:
    """12 items, 6 judges; the last judge answers against the others on half of them."""
    rows: list[dict[str, object]] = []
    for item in range(12):
        truth = "yes" if item % 3 else "no"
        other = "no" if truth == "yes" else "yes"
        for judge in range(6):
            wrong = (judge == 5 and item % 2 == 0) or (judge == 4 and item == 3)
            rows.append(
                {"item": f"item {item}", "judge": f"judge {judge}",
                 "label": other if wrong else truth}
            )  # fmt: skip
    return rows


LABELS_SOURCE = {
    "path": "exports/labels*.csv", "format": "csv",
    "fields": {"task": {"value": "good"}, "item": "item", "judge": "judge", "label": "label"},
}  # fmt: skip


def many_tasks_campaign(folder: Path, n_tasks: int = 500) -> Built:
    """Tasks of two items and three judges each, who do not always agree."""
    rows = [
        {"task": f"word sense {task:03}", "item": f"item {item}", "judge": f"annotator {judge}",
         "label": "abc"[(task * item + (judge == task % 5)) % 3]}
        for task in range(n_tasks) for item in range(2) for judge in range(3)
    ]  # fmt: skip
    fields = {name: name for name in ("task", "item", "judge", "label")}
    return build_into(folder, {"labels.csv": csv_text(rows)}, {
        "campaign": "many", "privacy": {"pseudonymize": False}, "agreement": {"bootstrap": 20},
        "tasks": [{"name": "*", "kind": "categorical", "labels": ["a", "b", "c"]}],
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": fields}],
    })  # fmt: skip


def labels_campaign(folder: Path, rows: Sequence[Mapping[str, object]] | None = None) -> Built:
    document = {
        "campaign": "small", "sources": [LABELS_SOURCE],
        "about": {"title": "Small & fine", "url": "https://example.org/data"},
        "tasks": [{"name": "good", "kind": "categorical", "question": "Is it good?"}],
    }  # fmt: skip
    return build_into(folder, {"labels-1.csv": csv_text(rows or label_rows())}, document)


def hostile_campaign(folder: Path) -> Built:
    """Names of every kind from outside are hostile: of files, tasks, items, judges, systems.

    On half of the items judges say three things.
    """
    labels = [
        {"task": task, "item": item, "judge": judge, "label": label}
        for task in (SCRIPT, IMAGE)
        for n, item in enumerate(HOSTILE)
        for m, judge in enumerate(HOSTILE)
        for label in [HOSTILE[(n + (m % 3 if n < 4 else m == n)) % len(HOSTILE)]]
    ]
    scores = [
        {"task": FORMULA, "segment": f"{segment}{REORDERED}", "system": system, "judge": judge,
         "score": 10 * n + m + segment}
        for segment in range(3)
        for n, system in enumerate(HOSTILE)
        for m, judge in enumerate(HOSTILE)
    ]  # fmt: skip
    document = {
        "campaign": "hostile",
        "about": {"title": SCRIPT, "description": IMAGE, "citation": MARKUP, "contact": IMAGE},
        "privacy": {"pseudonymize": False},
        "sources": [
            {"path": "exports/l*.csv", "format": "csv",
             "fields": {"task": "task", "item": "item", "judge": "judge", "label": "label"}},
            {"path": "exports/s*.csv", "format": "csv",
             "fields": {"task": "task", "segment": "segment", "system": "system",
                        "judge": "judge", "score": "score"}},
        ],
        "tasks": [
            {"name": FORMULA, "kind": "scalar", "scale": [0, 200], "question": SCRIPT},
            {"name": "*", "kind": "categorical", "question": IMAGE},
        ],
    }  # fmt: skip
    files = {
        "l <img src=x onerror=alert(1)>.csv": csv_text(labels),
        "s \"><b id='x'> & =1+1.csv": csv_text(scores),
    }
    return build_into(folder, files, document)


def section(card: str, heading: str) -> str:
    return card.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> list[list[str]]:
    """Cells of the tables in a section, without heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rules = [n for n, row in enumerate(cells) if set("".join(row)) <= {"-"} and row[0]]
    return [row for n, row in enumerate(cells) if n not in rules and n + 1 not in rules]


def rows_of_card(card: str, heading: str) -> list[list[str]]:
    return rows(section(card, heading))
