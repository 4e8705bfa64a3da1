"""What the report says of how far probabilities hold: every figure is that of the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annot_pipeline.report.sections.certainty import calibration
from tests.conftest import Built
from tests.methods.crowds import crowd
from tests.report.report_pages import build_into, contents_of, csv_text, html_of

FIELDS = {"task": "task", "item": "item", "judge": "judge", "label": "label"}
KNOWN, UNKNOWN = "known & told", "unknown"
"""A task whose items have ``truth``, and one whose items have none."""
HELD_OUT, EXPECTED, TRUTH = (
    "Held-out labels, mean log likelihood in nats",
    "Accuracy to expect",
    "Against the truth of item tables",
)

MODELS = {"published": "published", "dawid_skene": "Dawid-Skene", "votes": "votes"}
"""Models of the table, and as the report calls them."""


def campaign(folder: Path, **settings: object) -> Built:
    judged, truths = [], []
    for seed, task in enumerate((KNOWN, UNKNOWN)):
        codes, truth = crowd("difficulty", seed, n_items=80)
        judged += [
            {"task": task, "item": f"{task} {i}", "judge": f"j{j}", "label": f"class {label}"}
            for i, j, label in zip(codes.items, codes.judges, codes.labels, strict=True)
        ]
        if task == KNOWN:
            truths = [
                {"item": f"{task} {i}", "truth": f"class {label}"} for i, label in enumerate(truth)
            ]
    folder.mkdir(exist_ok=True)
    (folder / "items.csv").write_text(csv_text(truths), encoding="utf-8")
    document = {
        "campaign": "sure",
        "sources": [{"path": "exports/*.csv", "format": "csv", "fields": FIELDS}],
        "items": [{"path": "items.csv", "format": "csv",
                   "fields": {"item": "item", "truth": "truth"}}],
        **settings,
    }  # fmt: skip
    return build_into(folder, {"a.csv": csv_text(judged)}, document)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return campaign(tmp_path_factory.mktemp("sure"))


@pytest.fixture(scope="module")
def html(built: Built) -> str:
    return html_of(calibration, contents_of(built))


@pytest.fixture(scope="module")
def figures(built: Built) -> dict[tuple[str, str, str], dict]:
    rows = built.rows("label_calibration")
    return {(r["task"], r["model"], r["statistic"]): r for r in rows}


def cells(html: str, caption: str) -> list[list[str]]:
    """Rows of a table as they are read, its head first."""
    text = html.split(f"<caption>{caption}", 1)[1].split("</table>", 1)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in text.split("<tr")[1:]]
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in rows if row]


def as_number(cell: str) -> float:
    return float(cell.replace(",", "").replace("\u2212", "-").rstrip("%")) / (
        100 if cell.endswith("%") else 1
    )


@pytest.mark.slow
def test_held_out_labels_by_task(html, figures):
    head, *rows = cells(html, HELD_OUT)
    assert [row[0] for row in rows] == ["known &amp; told", UNKNOWN]
    for row, task in zip(rows, (KNOWN, UNKNOWN), strict=True):
        statistic = "held_out_log_likelihood"
        for model, name in MODELS.items():
            value = figures[task, model, statistic]["value"]
            assert as_number(row[head.index(name)]) == pytest.approx(value, abs=6e-4)
            assert int(row[head.index("labels")]) == figures[task, model, statistic]["n"] > 0
        for name in ("dependence", "weight_of_votes"):
            value = figures[task, "published", name]["value"]
            column = {"dependence": "dependence of judges"}.get(name, "weight of votes")
            assert as_number(row[head.index(column)]) == pytest.approx(value, abs=6e-4)


def test_accuracy_to_expect_has_an_interval_where_items_are_known(html, figures):
    """80 items of one task are known, none of the other."""
    head, *rows = cells(html, EXPECTED)
    assert [row[0] for row in rows] == ["known &amp; told", UNKNOWN]
    for row, task in zip(rows, (KNOWN, UNKNOWN), strict=True):
        told = dict(zip(head, row, strict=True))
        figure = figures[task, "published", "expected_accuracy"]
        value = as_number(told["accuracy"]) if told["accuracy"] else None
        assert value == pytest.approx(figure["value"], abs=6e-4)
        assert (
            (value is None) == told["reason"].startswith("fewer than 50 known") == (task == UNKNOWN)
        )
        assert int(told["known items"]) == figure["n"] == (80 if task == KNOWN else 0)
        interval = told["95% interval"]
        ends = [as_number(end) for end in interval.split(" to ")] if interval else [None, None]
        assert ends == pytest.approx([figure["ci_low"], figure["ci_high"]], abs=6e-4)
        assert (interval != "") == (task == KNOWN)
        temperature = figures.get((task, "published", "temperature"), {}).get("value")
        assert (as_number(told["temperature"]) if told["temperature"] else None) == pytest.approx(
            temperature, abs=6e-4
        )


def test_only_tasks_with_truth_are_held_against_it(html, figures):
    head, *rows = cells(html, TRUTH)
    assert [row[:2] for row in rows] == [["known &amp; told", name] for name in MODELS.values()]
    for row, model in zip(rows, MODELS, strict=True):
        for name, statistic in (
            ("log loss", "log_loss"), ("accuracy", "accuracy"),
            ("calibration error", "expected_calibration_error"), ("certain", "certain_share"),
        ):  # fmt: skip
            value = figures[KNOWN, model, statistic]["value"]
            assert as_number(row[head.index(name)]) == pytest.approx(value, abs=6e-4)
        right = figures[KNOWN, model, "certain_accuracy"]
        told = row[head.index("of these right (95%)")]
        assert (as_number(told.split(" ", 1)[0]) if told else None) == (
            pytest.approx(right["value"], abs=6e-4) if right["n"] else None
        )
