"""Names are compared as values: blanks, case, Unicode forms, escapes and parts do not hide them."""

# ruff: noqa: RUF001

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from annot_pipeline.contracts.name_key import name_key, name_parts
from annot_pipeline.errors import GateError
from annot_pipeline.stages.shared.name_search import NOT_SHOWN, NameSearch

MAIL, LOGIN, WRITTEN = "anna.smith@corp.example ", "CORP\\dora.green", "Eva Müller <eva@x.example>"
HEAD = "item,judge,label,note\n"


def rows(*judges: str, note: str = "") -> str:
    lines = [
        f'i{n},"{judge}",{"ab"[(n + k) % 2]},"{note}"'
        for n in range(4)
        for k, judge in enumerate(judges)
    ]
    return HEAD + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (MAIL, "see anna.smith@corp.example."),
        (MAIL, "ANNA.SMITH@Corp.Example"),
        (" Dora  Green", "by dora green"),
        ("Dora Green", "by Dora\u00a0\u2009Green"),
        ("Groß-Müller", "GROSS-MÜLLER"),
        ("Gross-Muller", "groß-muller"),
        ("ΟΔΥΣΣΕΥΣ-1", "οδυσσευς-1"),
        ("dora.green", "ｄｏｒａ.ｇｒｅｅｎ"),
        ("dora.green", "do\u200bra.green"),
        ("zoé.lang", "zoe\u0301.lang"),
        (LOGIN, "path CORP\\dora.green"),
        (LOGIN, json.dumps({"who": LOGIN})),
        (LOGIN, repr(LOGIN)),
        (LOGIN, "login dora.green"),
        ("zoé.lang", json.dumps("zoé.lang")),
        (WRITTEN, "asked eva@x.example"),
        (WRITTEN, "asked Eva Müller"),
        ("anna.smith@corp.example", "anna.smith at work"),
        (MAIL, "With Anna Smith"),
        (MAIL, "by smith anna"),
        (MAIL, "annotator anna_smith"),
        (LOGIN, "made by Dora-Green"),
        (LOGIN, "user DORAGREEN"),
        (WRITTEN, "Müller Eva"),
        ("dora.green", "see Green, Dora"),
        ("Dora Green", "GREEN, Dora"),
    ],
)
def test_a_name_is_found_however_it_is_written(name: str, text: str) -> None:
    search = NameSearch.from_names([name, "somebody-else-77"])
    assert search.in_text(text) == {name}
    assert search.in_column(pa.chunked_array([["nobody", text, None]])) == {name}
    masked = search.masked(text, {name})
    assert NOT_SHOWN in masked
    assert search.in_text(masked) == set()


@pytest.mark.parametrize(
    "text",
    [
        "anna.smithson@corp.example",
        "anna@corp.example",
        "green",
        "eva",
        "Anna, then Smith",
        "smithanna",
        "dora the green",
    ],
)
def test_other_names_are_not_found(text: str) -> None:
    search = NameSearch.from_names([MAIL, LOGIN, WRITTEN])
    assert search.in_text(text) == set()
    assert search.masked(text, {MAIL, LOGIN, WRITTEN}) == text


def test_a_mask_takes_the_name_alone() -> None:
    search = NameSearch.from_names(["Dora  Green", "Groß-Müller"])
    text = "  A,  dora\tGREEN: (gross-müller)\u00e9 B"
    assert search.masked(text, search.in_text(text)) == f"  A,  {NOT_SHOWN}: ({NOT_SHOWN})é B"


def test_keys_and_parts() -> None:
    assert name_key("  Ann\u00a0 \u200bSMITH ") == "ann smith"
    assert [*name_parts(WRITTEN)] == ["Eva Müller", "eva@x.example"]
    assert [*name_parts("CORP\\dora.green")] == ["dora.green"]
    assert [*name_parts("moderator@x.example")] == []
    assert [*name_parts("A1B2C3D4")] == []


@pytest.mark.slow
def test_conditions_on_judges_are_hashed_and_leave_a_person_out(build_campaign) -> None:
    """``where`` is the way to leave a person out; her name must not be what is published."""
    judges = (MAIL, LOGIN, "w1", "w2")
    fields = {"item": "item", "judge": "judge", "label": "label"}
    where = [
        {"column": "judge", "not": [MAIL, LOGIN]},
        {"column": "note", "not": ["draft"]},
    ]
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields, "where": where}
    built = build_campaign({"a.csv": rows(*judges)}, sources=[source])
    manifest = built.publication.release.manifest
    (published,) = manifest["settings"]["sources"]
    assert all(text.startswith("sha256:") for text in published["where"][0]["not"])
    assert published["where"][1]["not"] == ["draft"]
    folder = Path(built.publication.release.location)
    whole = "".join(p.read_text() for p in sorted(folder.iterdir()) if p.suffix != ".parquet")
    assert "anna.smith" not in whole.lower()
    assert "dora.green" not in whole.lower()
    fates = [row["fate"] for row in built.rows("lineage")]
    assert (fates.count("filtered"), fates.count("used")) == (8, 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "description"),
    [
        (MAIL, "made with ANNA.SMITH@corp.example"),
        (LOGIN, "made by CORP\\dora.green"),
        (WRITTEN, "made by Eva  Müller"),
    ],
)
def test_settings_that_name_a_judge_stop_the_release(build_campaign, judge, description) -> None:
    exports = {"a.csv": rows(judge, "w1", "w2")}
    with pytest.raises(GateError) as error:
        build_campaign(exports, about={"description": description})
    assert "manifest.json" in str(error.value)
    assert judge.strip() not in str(error.value)


def test_what_a_page_escapes_is_searched_too(tmp_path) -> None:
    from annot_pipeline.stages.gold.published_names import PublishedNames

    texts = {
        "report.html": "<td>CORP\\dora.green</td>",
        "report2.html": "<td>eva&#64;x.example</td>",
        "README.md": "by CORP\\\\dora\\.green",
        "croissant.json": json.dumps({"creator": "Eva Müller"}),
        "link.html": '<a href="mailto:anna.smith%40corp.example">',
        "plain.html": "<td>nobody</td>",
    }
    names = PublishedNames([MAIL, LOGIN, WRITTEN], {}, {})
    pages = [tmp_path / name for name in texts]
    for page in pages:
        page.write_text(texts[page.name])
    names.add_pages(pages)
    assert {page for page, found in names.by_place.items() if found} == {*texts} - {"plain.html"}
