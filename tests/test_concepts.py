"""The pages that explain terms say what builds do, and the picture is legible anywhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.compute as pc

from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts import CONTROLS, FATES, VERDICTS
from annot_pipeline.stages.build import MAKER, STAGES, Build
from annot_pipeline.storage.tables import read_table

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "img" / "concepts.svg"
TERMS = dict(re.findall(r"^\| (.+?) \| (.+) \|$", GLOSSARY, re.MULTILINE))


def test_the_row_flows_as_the_page_says(tmp_path):
    sets = (f"store={tmp_path / 'store'}", f"gold={tmp_path / 'gold'}")
    example = ROOT / "examples" / "anaesthetists"
    run = Build(load_campaign(example, sets=sets))
    for stage in STAGES:
        run.run_stage(stage)
    tables = {
        name: read_table(run.recorded(MAKER[name]).result.tables[name])
        for name in ("lineage", "labels", "label_distributions", "judges")
    }

    header, row = re.search(r"```text\n(.*)\n(.*)\n```", PAGE).groups()
    number = int(re.search(r"Its row (\d+) is", PAGE)[1])
    lines = (example / "exports" / "ratings.csv").read_text().splitlines()
    assert (lines[0], lines[number]) == (header, row)

    (record,) = tables["lineage"].filter(pc.field("source_row") == number).to_pylist()
    item = row.split(",")[0]
    assert (record["item"], record["task"], record["fate"]) == (item, "fitness", "used")
    assert f"`{record['source_file']}`, row {number}" in PAGE

    (label,) = tables["labels"].filter(pc.field("item") == item).to_pylist()
    votes = label["n_judgments"] * label["majority_share"]
    says = f"{label['n_judgments']} judgments are about item {item}; {votes:.0f} of them say "
    assert f"{says}{label['label']}, " in PAGE
    assert f"with probability {label['probability']:.4f} |" in PAGE
    answers = tables["label_distributions"].filter(pc.field("item") == item).to_pylist()
    assert {a["label"]: a["votes"] for a in answers if a["votes"]} == {"1": 3, "2": 4}
    assert {*tables["judges"]["verdict"].to_pylist()} == {"passed"}


def test_terms_are_sorted_and_explained():
    names = [name.strip("`").lower() for name in TERMS if name not in ("Term", "---")]
    assert names == sorted(names)
    assert len(names) > 45
    for name, text in TERMS.items():
        assert name in ("Term", "---", "annotator") or re.search(r"\. \[[^]]+\]\([^)]+\)$", text), (
            name
        )


def test_glossary_has_what_the_product_says():
    said = GLOSSARY.lower()
    for word in (*VERDICTS, *set(CONTROLS) - {"none", "known_answer"}, "known answer"):
        assert word in said, word
    assert len(FATES) == 11
    assert "exactly one of eleven values" in GLOSSARY


def test_the_picture_has_no_fonts_or_files_of_others_and_a_dark_form():
    text = PICTURE.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert not re.search(r"@font-face|@import|url\((?!#)|<image|xlink", text)
    assert "prefers-color-scheme: dark" in text
    shown = " ".join("".join(node.itertext()) for node in root.iter() if node.tag.endswith("text"))
    for word in ("campaign.yaml", "exports", "judgments", "fate", "judge control", "stages",
                 "gates", "release", "gold", "store", "lineage"):  # fmt: skip
        assert word in shown, word
        assert re.search(rf"\b{word.removesuffix('s').removesuffix('.yaml')}", PAGE, re.IGNORECASE)
