"""The page of a study: all figures, no network, no name that breaks it."""

from __future__ import annotations

import csv
from html.parser import HTMLParser
from pathlib import Path

from tests.studies.study_runs import SMALL, rows, run

HOSTILE = '<script>alert("x")</script> & \u202ename\x00'


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]


def page(folder: Path) -> tuple[str, Tags]:
    text = (folder / "study.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    return text, tags


def test_the_page_holds_all_figures_and_needs_no_network(tmp_path: Path) -> None:
    document = run("lexical", tmp_path, **SMALL)
    text, tags = page(tmp_path)
    assert tags.tags.count("figure") == tags.tags.count("svg") == 5
    assert not [link for link in tags.links if not link.startswith(("#", "data:"))]
    assert "script" not in tags.tags
    for sentence in document["findings"]:
        assert sentence.replace("'", "&#x27;") in text


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "truth"])
        writer.writerows([f"{HOSTILE}{n}".replace("\x00", ""), n / 9] for n in range(10))
    run("political", tmp_path / "out", path, iterations=2, repeats=2, rounds=5)
    text, tags = page(tmp_path / "out")
    assert "script" not in tags.tags
    assert "&lt;script&gt;alert(&quot;x&quot;)" in text
    assert "\u202e" not in text
    names = {row["item"] for row in rows(tmp_path / "out" / "examples.csv")}
    assert all(name.startswith("<script>") for name in names)  # verbatim in tables
