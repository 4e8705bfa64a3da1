"""The numbers that a figure of the report draws are those of the table beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from annot_pipeline.contracts import GOLD
from annot_pipeline.report.contents import Contents
from annot_pipeline.report.release_figures import reliability_figures
from annot_pipeline.report.sections.agreement import agreement
from annot_pipeline.report.sections.certainty import certainty
from annot_pipeline.report.sections.changes import changes
from annot_pipeline.report.sections.judges import judges
from annot_pipeline.report.sections.models import models
from annot_pipeline.report.sections.rankings import rankings
from annot_pipeline.report.sections.records import records
from annot_pipeline.report.sections.use import winner_tile
from annot_pipeline.stages.rankings.describe_comparisons import COMPARISON_TIMES
from tests.conftest import Built
from tests.report.figure_reader import Figure
from tests.report.report_pages import QUERIES, contents_of, html_of, with_all_shown

Rows = list[dict[str, str]]


class Section(HTMLParser):
    """The figures of a section by title, and its tables by caption."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, Rows] = {}
        self.heads: list[str] = []
        self.cells: list[str] = []
        self.figures: dict[str, Figure] = {}
        self.caption = self.title = ""
        self.same: list[str] = []
        self.inside: list[str] = []
        html = with_all_shown(html)
        self.svgs = iter(re.findall(r"<svg xmlns.*?</svg>", html, re.DOTALL))
        self.feed(re.sub(r"<svg (?!.*?</svg>).*?</svg>", "", html))

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        self.inside.append(tag)
        if tag == "svg" and "figure" in self.inside and self.title:
            self.figures[self.title] = Figure(next(self.svgs))
            self.title = ""
        if tag == "figcaption":
            self.title = ""
        if tag == "caption":
            self.caption, self.same = "", []
        if tag == "thead":
            self.heads = []
        if tag in ("th", "td"):
            (self.heads if "thead" in self.inside else self.cells).append("")

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass
        if tag == "tr" and self.cells:
            row = dict(zip(self.heads, self.cells, strict=True))
            row |= zip(self.same[::2], self.same[1::2], strict=True)
            self.tables.setdefault(self.caption.strip(), []).append(row)
            self.cells = []

    def handle_data(self, data: str) -> None:
        if "figcaption" in self.inside:
            self.title += data.strip() * ("span" not in self.inside)
        elif {"caption", "span"} <= {*self.inside}:
            self.same += filter(None, [data.removeprefix("In all rows:").strip(" ,")])
        elif "caption" in self.inside:
            self.caption += data
        elif {"th", "td"} & {*self.inside}:
            (self.heads if "thead" in self.inside else self.cells)[-1] += data

    def figure(self, start: str) -> Figure:
        return next(figure for title, figure in self.figures.items() if title.startswith(start))


@pytest.fixture(scope="module")
def contents(full_build: Built) -> Contents:
    """A campaign with labels, scores, comparisons, models and decisions of experts."""
    return contents_of(full_build)


def with_tables(contents: Contents, **tables: pa.Table) -> Contents:
    return replace(contents, tables={**contents.tables, **tables})


def gold_rows(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), GOLD[name].empty().schema)


def share(text: str) -> float:
    return float(text.strip("<>%")) / 100


def number_of(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


def label_counts(
    contents: Contents, rows: Sequence[tuple[str, int | None, bool, bool, int]]
) -> pa.Table:
    """Labels by task, band, whether certain and decided, and their number."""
    schema = contents.tables["label_counts"].schema
    return pa.Table.from_pylist(
        [
            {"task": task, "label": "a", "band": band, "certain": certain,
             "adjudicated": decided, "as_model": True, "right": None, "n": n}
            for task, band, certain, decided, n in rows
        ],
        schema,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("certain_from", [2, 3, 4], ids=["0.8", "0.95", "0.99"])
def test_certainty(contents, certain_from):
    """Labels in every band, certain from several probabilities, some without one, some decided."""
    rows = [("x", band, band >= certain_from, False, 10 + band) for band in range(5)]
    rows += [("x", None, False, False, 7), ("x", None, True, True, 3), ("x", 1, False, True, 2)]
    rows += [("y", 3, certain_from <= 3, False, 1), ("y", 0, False, False, 2)]
    rows += [("z", None, False, False, 9), ("z", None, False, True, 1)]
    section = Section(
        html_of(certainty, with_tables(contents, label_counts=label_counts(contents, rows)))
    )
    figure, table = section.figure("Probability of"), section.tables["Labels by probability"]
    assert [row["task"] for row in table] == figure.words("task") == ["x", "y", "z"]
    assert figure.words("certain") == [row["certain or decided"] for row in table]


def test_certainty_where_nothing_was_decided(contents):
    rows = [("x", band, band >= 3, False, 1) for band in range(5)]
    section = Section(
        html_of(certainty, with_tables(contents, label_counts=label_counts(contents, rows)))
    )
    (row,) = section.tables["Labels by probability"]
    assert section.figure("Probability of").words("certain") == [row["certain"]] == ["40.0%"]


def test_class_frequencies(contents):
    html = html_of(certainty, contents)
    section = Section(html)
    assert any(title.startswith("Prevalence, ") for title in section.figures)
    n_labels = contents.labelled_in_all.n
    assert f'Probability of the labels <span class="note">{n_labels} labels</span>' in html
    for title, figure in section.figures.items():
        if not title.startswith("Prevalence, "):
            continue
        task = title.removeprefix("Prevalence, ")
        rows = [row for row in section.tables["Classes"] if row["task"] == task]
        heads = ("prevalence", "share of votes", "most frequent label")
        written = [row[head] for head in heads for row in rows]
        assert len(written) == len(figure.words("value")) > 3
        for text, drawn in zip(written, figure.words("value"), strict=True):
            assert share(text) == pytest.approx(float(drawn), abs=0.0011)


def test_agreement(contents):
    """A value that differs from 0 by rounding alone is 0 in both."""
    rows = contents.tables["agreement"].to_pylist()
    task = next(task for task in contents.facts["kinds"] if contents.headline(task))
    headline = contents.headline(task)["statistic"]
    for row in rows:
        if (row["task"], row["statistic"]) == (task, headline):
            row |= {"value": -1e-17, "ci_low": -0.25, "ci_high": 0.25}
    section = Section(
        html_of(agreement, with_tables(contents, agreement=gold_rows("agreement", rows)))
    )
    figure = section.figure("Agreement by task")
    tasks = [task for task in sorted(contents.facts["kinds"]) if contents.headline(task)]
    values = {(row["task"], row["statistic"]): row["value"] for row in section.tables["Agreement"]}
    assert "0.00" in figure.words("number")
    assert len(figure.words("task")) == len(figure.words("number")) == len(tasks) > 1
    for task, name, drawn in zip(tasks, figure.words("task"), figure.words("number"), strict=True):
        assert name.startswith(task[:5])
        value = values[task, contents.headline(task)["statistic"]]
        assert number_of(value) == pytest.approx(number_of(drawn), abs=0.0051)


@pytest.mark.parametrize("ends", [(-0.00149, 0.4962), (-1e-17, 0.25)])
def test_agreement_on_the_first_screen(contents, ends):
    """Tiles and tables have one format: three digits, a minus sign, no negative zero."""
    tasks = [task for task in sorted(contents.facts["kinds"]) if contents.headline(task)]
    headlines = {task: contents.headline(task)["statistic"] for task in tasks}
    rows = contents.tables["agreement"].to_pylist()
    for row in rows:
        if headlines.get(row["task"]) == row["statistic"]:
            row |= {"value": 0.2555, "ci_low": ends[0], "ci_high": ends[1]}
    unranked = contents.tables["system_rankings"].slice(0, 0)
    tables = {"agreement": gold_rows("agreement", rows), "system_rankings": unranked}
    many = with_tables(contents, **tables)
    one = replace(many, manifest=contents.manifest | {
        "facts": contents.manifest["facts"] | {"kinds": {tasks[0]: "categorical"}}
    })  # fmt: skip
    (row,) = [
        row
        for row in Section(html_of(agreement, one)).tables["Agreement"]
        if (row["task"], row["statistic"]) == (tasks[0], headlines[tasks[0]])
    ]
    tile, ends_text = winner_tile(one), row["95% interval"]
    assert (tile.value, tile.words) == (
        row["value"],
        f"1 is full, 0 is by chance; Krippendorff's alpha, 95% interval {ends_text}",
    )
    assert ends_text.startswith("\u22120.001 to" if ends[0] < -1e-9 else "0.000 to")
    in_words = f"Krippendorff&#x27;s alpha {row['value']} ({ends_text})"
    assert in_words in html_of(records, one)
    assert winner_tile(many).value == row["value"]
    assert winner_tile(many).words.startswith(
        f"1 is full, 0 is by chance; median of all {len(tasks)} tasks"
    )
    kinds = contents.facts["kinds"] | {"without agreement": "categorical"}
    more = replace(
        many, manifest=many.manifest | {"facts": many.manifest["facts"] | {"kinds": kinds}}
    )
    said = f"median of {len(tasks)} of {len(tasks) + 1} tasks"
    assert said in winner_tile(more).words


def test_references_are_said_to_be_ranked_without_competing(contents):
    """The first screen names the winner without them, the table of the best with them."""
    said = "References (human, gold) are ranked here, too, but do not compete."
    tasks = [{"name": "*", "references": ["human", "gold"]}]
    settings = contents.manifest["settings"] | {"tasks": tasks}
    with_references = replace(contents, manifest=contents.manifest | {"settings": settings})
    assert said in html_of(rankings, with_references)
    assert "do not compete" not in html_of(rankings, contents)


def test_agreement_of_models(contents):
    section = Section(html_of(models, contents))
    figure, table = section.figure("Agreement of models"), section.tables["Models"]
    written = [row["agreement"] for row in table if row["agreement"]]
    assert len(written) == len(figure.words("number")) > 1
    for text, drawn in zip(written, figure.words("number"), strict=True):
        assert share(text) == pytest.approx(float(drawn), abs=0.0051)


def test_records(contents):
    section = Section(html_of(records, contents))
    figure = section.figure("From exports")
    for row in section.tables["Records by fate"]:
        assert f"{row['fate']} {row['records']}" in figure.texts
    exports = section.tables["Exports, and the fates of their records"]
    totals = [row["records"] for row in exports]
    assert sorted(figure.words("total")) == sorted(totals)


def ranked(contents: Contents) -> Contents:
    """Systems of two clusters with several members each, one without interval."""
    empty = contents.tables["system_rankings"].schema.names
    lines = [
        ("A", 1, 2.0, (1.5, 2.5), 1), ("B", 2, 1.5, (1.0, 2.0), 1), ("C", 3, 1.25, None, 1),
        ("D", 4, -0.5, (-1.0, 0.0), 2), ("E", 5, -0.75, (-1.25, -0.25), 2),
    ]  # fmt: skip
    rows = [
        dict.fromkeys(empty) | {
            "task": "t", "method": "adjusted", "system": system, "headline": True, "rank": rank,
            "score": score, "ci_low": ends and ends[0], "ci_high": ends and ends[1],
            "cluster": cluster, "component": 1, "n_judgments": 5, "n_segments": 5, "wins": 0,
        }
        for system, rank, score, ends, cluster in lines
    ]  # fmt: skip
    return with_tables(contents, system_rankings=gold_rows("system_rankings", rows))


def test_rankings(contents):
    """Every member of a cluster has its number, as in the table."""
    section = Section(html_of(rankings, ranked(contents)))
    figure, table = section.figure("Ranking by adjusted"), section.tables["Rankings of systems"]
    assert figure.words("system") == [row["system"] for row in table]
    assert figure.words("cluster") == [row["cluster"] for row in table] == ["1", "1", "1", "2", "2"]
    points = sorted(figure.points("score"), key=lambda point: point[1])
    scores = [number_of(row["score"]) for row in table]
    assert np.polyfit(scores, [x for x, _ in points], 1, full=True)[1] == pytest.approx(0, abs=0.1)
    n_intervals = sum(bool(row["95% interval"]) for row in table)
    assert len(figure.boxes("interval")) == n_intervals == 4


def test_seconds_by_length(contents):
    """Without breaks: other means, of fewer timings, than with them."""
    lengths = [(10, 50, 5, 3.25, 2.5), (20, 90, 9, 4.5, 3.0)]
    rows = [
        dict.fromkeys(COMPARISON_TIMES.names) | {
            "task": "t", "unit": unit, "lengths": "cumulative", "words": words, "n": n,
            "n_breaks": breaks, "mean": 9.0, "median": 9.0, "mean_without_breaks": 8.0,
            "mean_per_word": mean * factor, "mean_per_word_without_breaks": without * factor,
        }
        for unit, factor in (("comparison", 0.5), ("ranking", 1.0))
        for words, n, breaks, mean, without in lengths
    ]  # fmt: skip
    times = pa.Table.from_pylist(rows, COMPARISON_TIMES)
    internal = {**contents.internal, "comparison_times": times}
    section = Section(html_of(rankings, replace(contents, internal=internal)))
    figure = section.figure("Seconds by length")
    table = section.tables["Seconds by length of the source"]
    expected = ["1.250", "1.500", "2.500", "3.000"]
    assert [row["mean s a word without breaks"] for row in table] == expected
    y = [y for _, y in figure.points("curve")]
    assert (y[1] - y[0]) * 2 == pytest.approx(y[3] - y[2], abs=0.1)
    assert figure.words("count") == [
        str(int(row["n"]) - int(row["breaks"])) for row in table
    ]  # fmt: skip
    assert any("without breaks" in text for text in figure.words("axis"))


def test_judges(contents):
    section = Section(html_of(judges, contents))
    rows = section.tables["Judges by task"]
    table = {row["judge"]: row for row in rows if row["p"] and row["seconds a judgment"]}
    figure = section.figure("p against seconds")
    verdicts = {row["verdict"].split()[-1] for row in table.values()}
    assert sum(len(figure.points(verdict)) for verdict in verdicts) == len(table) > 1


@pytest.mark.slow
def test_differences_of_judges(contents):
    """Without repeats, the effect of a judge is the mean difference to degraded copies."""
    section = Section(html_of(judges, contents))
    table = {row["judge"]: row for row in section.tables["Judges by task"]}
    drawn = [f for title, f in section.figures.items() if title.startswith("Differences of")]
    assert len(drawn) == 2
    for figure in drawn:
        (judge,), (mean,) = figure.words("title"), figure.words("mean-value")
        row = table[judge]
        assert number_of(mean.removeprefix("mean ")) == pytest.approx(number_of(row["effect"]))
        assert any(words.endswith(f"n = {row['pairs']}") for words in figure.words("count"))


def test_confusion(contents):
    section = Section(html_of(judges, contents))
    rows = contents.tables["judge_confusion"].to_pylist()
    titles = [title for title in section.figures if title.startswith("Confusion of")]
    assert titles
    for title in titles:
        figure, task = section.figures[title], title.partition("judges, ")[2]
        ends = [tuple(name.split("\u2026")) for name in figure.words("title")]
        of_judges = [
            row["probability"]
            for row in rows
            for head, tail in ends
            if row["task"] == task and row["judge"].startswith(head) and row["judge"].endswith(tail)
        ]
        drawn = sorted(map(float, figure.words("cell")))
        assert len(drawn) > 9
        assert drawn == pytest.approx(sorted(of_judges), abs=0.0051)


def test_comparisons_of_systems(contents):
    section = Section(html_of(rankings, contents))
    table = section.tables["Rankings of systems"]
    titles = [title for title in section.figures if title.startswith("Systems compared by ")]
    assert len(titles) == 2
    for title in titles:
        figure = section.figures[title]
        method, _, task = title.removeprefix("Systems compared by ").split(", ")
        beaten = {
            row["system"]: row["systems beaten"]
            for row in table
            if (row["method"], row["task"]) == (method, task)
        }
        assert figure.words("wins") == [
            beaten[name.partition(". ")[2]] for name in figure.words("row")
        ]


def test_scores(contents):
    figure = Section(html_of(rankings, contents)).figure("Scores of items")
    scores = contents.tables["drawn_scores"].num_rows
    assert f"n = {scores}" in figure.words("count")


def test_reliability():
    """Labels in every bin, at its ends too; right and wrong ones."""
    shares = [n / 20 for n in range(5, 21) for _ in range(n)]
    right = [n % 3 > 0 for n in range(len(shares))]
    known = {"task": ["t"] * len(shares), "probability": shares, "right": right,
             "dawid_skene_probability": shares, "dawid_skene_right": right}  # fmt: skip
    (drawn,) = reliability_figures(pa.table(known))
    figure = Figure(drawn.svg)
    n_bins = len({min(int(10 * share), 9) for share in shares})
    assert len(figure.boxes("bin")) == 2 * n_bins == len(figure.boxes("interval"))


def test_changed_labels_have_the_published_probability(contents):
    now = gold_rows("labels", [{"task": "t", "item": "i", "label": "b", "probability": 0.75,
                                "adjudicated": False}])  # fmt: skip
    before = gold_rows("labels", [{"task": "t", "item": "i", "label": "a", "probability": 0.5,
                                   "adjudicated": False}])  # fmt: skip

    def answers(*of: tuple[str, str, str]) -> pa.Table:
        return gold_rows("judgments", [
            {"task": "t", "item": "i", "judge": name, "judgment_id": name, "label": label,
             "fate": fate} for name, label, fate in of
        ])  # fmt: skip

    inputs = {
        "old_labels": before, "new_labels": now,
        "old_judgments": answers(
            ("j1", "a", "used"), ("j2", "a", "used"), ("j3", "a", "used"), ("j4", "b", "used"),
        ),
        "new_judgments": answers(
            ("j2", "b", "used"), ("j3", "a", "judge_failed"), ("j4", "b", "used"),
            ("j5", "b", "used"), ("j6", "b", "used"),
        ),
        "new_lineage": gold_rows("lineage", [
            {"judgment_id": name, "fate": fate, "source_file": "a.csv", "source_row": row,
             "record_id": name}
            for row, (name, fate) in enumerate([("j2", "used"), ("j3", "judge_failed")], 7)
        ]),
    }  # fmt: skip
    parameters = {"same_names": True, "most": 9, "most_answers": 3, "forgotten": []}
    changed = QUERIES.table("report/label_changes", inputs, parameters)
    empty = {name: contents.tables[name].slice(0, 0) for name in ("judges", "system_rankings")}
    manifest = contents.manifest | {"parent": {"version": "v0000"}, "changes": {}}
    previous = empty | {"label_changes": changed}
    with_changes = replace(with_tables(contents, **empty), manifest=manifest, previous=previous)
    (row,) = Section(html_of(changes, with_changes)).tables["Labels that changed"]
    assert (row["probability was"], row["probability is"]) == ("50.0%", "75.0%")
    assert row["its answers since"] == (
        "2 new, 1 withdrawn, 1 corrected, 1 of a judge who counts no more"
        "j2: corrected, a to b (a.csv row 7)"
        "j3: counts no more, a (a.csv row 8)"
        "j5: new, b"
    )
