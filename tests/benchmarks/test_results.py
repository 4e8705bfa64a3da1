"""How runs become tables, figures and a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import run
from benchmarks.comparison import Comparison, Way
from benchmarks.comparisons import COMPARISONS
from benchmarks.figures import ratios_svg, scaling_svg
from benchmarks.into_docs import HEAD, PAGE, shortened, with_results
from benchmarks.process import Run, measured
from benchmarks.results import Result, Results, Row, markdown, three_digits

ROOT = Path(__file__).parents[2]


def row(size: int, way: str, *seconds: float) -> Row:
    return Row(size, way, [Run(s, 2 * s, 5.0) for s in seconds])


@pytest.fixture
def result() -> Result:
    rows = [
        row(10, "ours", 0.5, 9.0, 1.0),
        row(10, "theirs", 30.0),
        row(100, "ours", 4.0),
        row(1_000, "ours", 16.0),
    ]
    return Result("sorting", "Sorting", "numbers", rows, ["x: not installed."], exponent_from=100)


def test_medians_ratios_and_exponent(result):
    assert result.rows[0].median("seconds") == 1.0
    assert result.ratio(result.rows[1]) == 30.0
    slope, low, high = result.exponent()
    assert (slope, low, high) == (pytest.approx(np.log10(4)), 100, 1_000)


def test_markdown(result):
    text = markdown("A machine.", [result])
    assert text.startswith("A machine.\n\n**sorting.** Sorting.\n\n| numbers | way |")
    assert "| 10 | ours | 1.00 |  | 2.00 |  | 5 | 500,000 | 3 |" in text
    assert "| 10 | theirs | 30.0 | 30.0 | 60.0 | 30.0 | 5 | 500,000 | 1 |" in text
    assert "Time grows as size^0.60 from 100 to 1,000." in text
    assert "x: not installed." in text


def test_figures(result):
    ratios = ratios_svg([result])
    assert "sorting, 10: theirs" in ratios
    assert "30.0" in ratios
    assert "sorting: size^0.60" in scaling_svg([result])
    nothing = Result("sorting", "Sorting", "numbers")
    assert "no peer was measured" in ratios_svg([nothing])
    assert "no time was measured" in scaling_svg([nothing])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (1.234, "1.23"), (99.94, "99.9"), (1234.5, "1,234"), (0, "0")],
)
def test_three_digits(value, text):
    assert three_digits(value) == text


def test_results_of_the_same_machine_stay(result, tmp_path):
    path = tmp_path / "results.json"
    Results("A machine.", {"sorting": result}).write(path)
    assert Results.read(path, "A machine.").results == {"sorting": result}
    assert Results.read(path, "Another.").results == {}


def test_ways_take_turns_and_the_slow_one_is_not_asked_again(monkeypatch):
    asked = []

    def in_new_process(_, size, way=None):
        asked.append((size, way.name if way else None))
        return Run(100.0 if way and way.name == "slow" else 1.0, 1.0, 1.0)

    monkeypatch.setattr(run, "in_new_process", in_new_process)

    def prepare(_):
        raise AssertionError("only in a process of its own")

    ways = (
        Way("ours", prepare), Way("slow", prepare, most=10), Way("absent", prepare, needs="no_such")
    )  # fmt: skip
    comparison = Comparison("Sorting", "numbers", (10, 20), (10,), prepare, ways)
    actual = run.compare("sorting", comparison, (10, 20), 2)
    assert asked == [
        (10, None), (10, "ours"), (10, "slow"), (10, "ours"),
        (20, None), (20, "ours"), (20, "ours"),
    ]  # fmt: skip
    assert [(r.size, r.way, len(r.runs)) for r in actual.rows] == [
        (10, "ours", 2), (10, "slow", 1), (20, "ours", 2),
    ]  # fmt: skip
    assert actual.skipped == ["absent: not installed (the extra `bench`)."]


@pytest.mark.slow
def test_memory_is_what_the_run_adds():
    held = np.ones(30_000_000)  # 240 MB
    run_ = measured(lambda: np.ones(10_000_000).sum())  # 80 MB
    assert 75 < run_.megabytes < 100
    assert held.size


def test_an_unknown_name_is_told(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["run", "sorting"])
    with pytest.raises(SystemExit):
        run.main()
    assert "no comparison sorting; there are: dawid_skene" in capsys.readouterr().err


def table(machine: str, **rows: str) -> str:
    """Return what the page has of a machine: a row a comparison."""
    lines = [f"| `{name}` | {of} |" for name, of in rows.items()]
    return f"{machine}\n\n" + "\n".join([HEAD, *lines]) + "\n"


def page_with(*blocks: str) -> str:
    marked = "\n".join(f"<!-- machine -->\n{block}" for block in blocks)
    return f"a\n<!-- results -->\n{marked}<!-- end of results -->\nb\n"


def test_results_are_put_between_the_marks():
    page = "a\n<!-- results -->\n<!-- end of results -->\nb\n"
    assert with_results(page, table("m", new="1")) == page_with(table("m", new="1"))
    with pytest.raises(ValueError, match="no <!-- results -->"):
        with_results("a\n", "new\n")


def test_what_was_not_measured_again_stays_with_its_machine():
    page = page_with(table("m", one="1", two="2"))
    again = with_results(page, table("m", two="22", three="3"))
    assert again == page_with(table("m", one="1", two="22", three="3"))
    assert with_results(again, table("m", two="22")) == again
    other = table("another", two="2")
    moved = page_with(table("m", one="1"), other)
    assert with_results(page, other) == moved
    assert with_results(moved, table("another", one="11")) == page_with(
        table("another", two="2", one="11")
    )


def test_how_time_grows_stays_below_the_table():
    said = "`scaling_x`: time grows as size^0.60 from 100 to 1,000.\n"
    block = table("m", scaling_x="1") + "\n" + said
    assert with_results(page_with(table("m", one="1")), block) == page_with(
        table("m", one="1", scaling_x="1") + "\n" + said
    )


def test_the_page_has_the_largest_size(result):
    text = shortened(markdown("A machine.", [result]))
    assert text.startswith(f"A machine.\n\n{HEAD}\n| `sorting` | 10 numbers | ours | 1.00 | 5 |")
    assert text.count("\n| `sorting` | ") == 2
    assert "| `sorting` | 10 numbers | ours | 1.00 | 5 | theirs | 30.0 | 5 |" in text
    assert "| `sorting` | 1,000 numbers | ours | 16.0 | 5 |  |  |  |" in text
    assert text.endswith("`sorting`: time grows as size^0.60 from 100 to 1,000.")
    assert "| 100 numbers |" not in text


def test_the_page_names_every_comparison_and_has_the_place():
    page = PAGE.read_text()
    assert with_results(page, table("m", new="1")) != page
    for name in COMPARISONS:
        assert f"`{name}`" in page
