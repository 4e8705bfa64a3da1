"""What must hold when cases are built, beside the words that users see."""

import csv
import html.parser
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

from annot_pipeline import load_gold
from annot_pipeline.storage.releases import Releases
from tests.cases_made import HOSTILE

Action = Callable[[Path], None]
CHECK: dict[str, Action] = {}


def after(*names: str) -> Callable[[Action], Action]:
    """Registers what must hold when these cases are built, beside what they print."""

    def register(action: Action) -> Action:
        CHECK.update(dict.fromkeys(names, action))
        return action

    return register


@after("hostile_names")
def hostile_names_come_out_unchanged(folder: Path) -> None:
    with (folder / "exports/monday.csv").open(encoding="utf-8", newline="") as file:
        written = {row["item"] for row in csv.DictReader(file)}
    assert {"../../etc/passwd", "'; DROP TABLE judgments; --", "=cmd()"} < written
    for table in ("labels", "items", "lineage"):
        assert set(load_gold(folder / "gold", table)["item"].to_pylist()) == written, table
    assert sorted(path.name for path in folder.iterdir()) == [
        "campaign.yaml", "exports", "gold", "store",
    ]  # fmt: skip


@after("control_characters")
def control_characters_come_out_unchanged(folder: Path) -> None:
    items = set(load_gold(folder / "gold", "lineage")["item"].to_pylist())
    assert {"i2\x07", "i4\nannot: all is well"} < items


@after("look_alikes", "numbers_as_labels")
def look_alikes_are_kept_apart(folder: Path) -> None:
    labels = set(load_gold(folder / "gold", "prevalence")["label"].to_pylist())
    assert labels in ({"bad", "b\u0430d", "good", "Good"}, {"0", "1", "true"})


@after("nul_bytes_jsonl", "ten_megabyte_cell")
def unfit_values_stay_out_of_gold(folder: Path) -> None:
    tables = list((folder / "gold/v0001").glob("*.parquet"))
    assert tables
    for path in tables:
        for column in pq.read_table(path).itercolumns():
            for value in column.to_pylist():
                assert not isinstance(value, str) or ("\0" not in value and len(value) < 10_000)


@after("rejected_share_failed", "gold_full", "gold_read_only", "store_read_only")
def the_earlier_release_stands(folder: Path) -> None:
    releases = Releases(folder / "gold")
    assert releases.versions() == ["v0001"]
    assert releases.get().table("lineage").num_rows == 25


class Tags(html.parser.HTMLParser):
    """The tags of a page, with attributes that run something, where links lead, its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.runs: set[str] = set()
        self.links: set[str] = set()
        self.scripts: list[str] = []
        self._is_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.runs |= {f"{tag} {name}" for name, _ in attrs if name.startswith("on")}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        self._is_script = tag == "script" and ("type", "application/json") not in attrs

    def handle_endtag(self, tag: str) -> None:
        self._is_script &= tag != "script"

    def handle_data(self, data: str) -> None:
        if self._is_script:
            self.scripts.append(data)


@after("markup")
def markup_is_text(folder: Path) -> None:
    release = folder / "gold/v0001"
    page = (release / "report.html").read_text(encoding="utf-8")
    tags = Tags(page)
    assert not {"img", "iframe", "object", "embed", "form"} & tags.found
    assert not tags.runs
    own = ("data:,", "data:image/png;base64,")  # no icon; cells of matrices
    assert not [link for link in tags.links if ":" in link and not link.startswith(own)]
    assert not [script for script in tags.scripts if "alert(" in script]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    card = (release / "README.md").read_text(encoding="utf-8")
    assert Tags(card).found <= {"details", "summary"}
    assert "](javascript" not in card.replace("\\]", "")


@after("hostile_systems")
def hostile_systems_come_out_unchanged(folder: Path) -> None:
    gold = folder / "gold"
    assert set(load_gold(gold, "system_rankings")["task"].to_pylist()) == {*HOSTILE}
    systems = load_gold(gold, "system_comparisons")["system_a"].to_pylist()
    assert set(systems) == {*HOSTILE}
    assert {*HOSTILE[:2]} <= set(load_gold(gold, "scores")["segment"].to_pylist())
    markup_is_text(folder)


@after("constant_judges")
def constant_judges_are_set_aside(folder: Path) -> None:
    aside = load_gold(folder / "gold", "set_aside").to_pylist()
    reasons = Counter((row["left_out_of"], row["reason"]) for row in aside)
    assert reasons == {
        ("z_scores", "all 7 scores are equal"): 7,
        ("z_scores", "1 scores; 2 are needed"): 1,
    }


@after("controls_without_pair")
def controls_without_pair_are_set_aside(folder: Path) -> None:
    aside = load_gold(folder / "gold", "set_aside").to_pylist()
    assert Counter(row["reason"] for row in aside if row["left_out_of"] == "judge_control") == {
        "no ordinary judgment of the same output": 2,
        "the ordinary judgment of the same output is by another judge": 1,
        "2 ordinary judgments of the same output by the same judge": 1,
        "2 bad_reference judgments of the same output by the same judge": 2,
    }
    judges = load_gold(folder / "gold", "judges").to_pylist()
    assert Counter(row["verdict"] for row in judges) == {"passed": 2, "undetermined": 1}
    assert {row["n_pairs"] for row in judges} == {6, 0}


@after("known_answers")
def known_answers_without_truth_are_set_aside(folder: Path) -> None:
    aside = load_gold(folder / "gold", "set_aside").to_pylist()
    assert [(row["item"], row["reason"]) for row in aside] == [
        ("k7", "no truth is given for this question")
    ] * 2
    judges = load_gold(folder / "gold", "judges").to_pylist()
    assert sorted((row["verdict"], row["n_known_answers"]) for row in judges) == [
        ("failed", 14),
        ("passed", 14),
        ("undetermined", 0),
    ]
