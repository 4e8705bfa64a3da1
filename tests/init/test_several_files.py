"""Guessed campaigns: several files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from annot_pipeline.init import OpenError, guess_campaign
from tests.init.conftest import Guess, write_csv
from tests.init.guessed import crossed, percent, yes_or_no


def test_files_of_one_kind_become_one_glob(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    for day in (1, 2, 10):
        rows = [("judge", "item", "label")]
        rows += [(f"j{j}", f"{day}-{i}", yes_or_no(j, i)) for i in range(9) for j in range(3)]
        write_csv(tmp_path / "exports" / f"day{day}.csv", rows)
    actual = guess(tmp_path / "exports")
    assert [source.path for source in actual.settings.sources] == ["../exports/*.csv"]
    assert actual.settings.campaign == "exports"
    assert actual.used("task") == {("exports",)}
    assert actual.facts["fates"]["used"] == 81


def test_without_an_exact_glob_each_file_is_a_source(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "exports"
    rows = crossed("judge", "item", "label", label=yes_or_no)
    named = [write_csv(folder / name, rows) for name in ("1[1].csv", "2.csv")]
    write_csv(folder / "notes.csv", [("topic", "remark"), ("x", "y")])
    actual = guess(*named)
    assert [source.path for source in actual.settings.sources] == [
        "../exports/1[[]1].csv", "../exports/2.csv",
    ]  # fmt: skip
    assert actual.facts["fates"] | {"used": 40, "duplicate": 40} == actual.facts["fates"]


def local_task(folder: Path, word: str, values: int, judges: int = 5) -> None:
    rows = [("item", "annotator", "rating")]
    rows += [(i, j, 1 + (i * j) % values) for i in range(1, 41) for j in range(1, judges + 1)]  # type: ignore[misc]
    write_csv(folder / f"{word}.tsv", rows, "\t")


def test_words_in_file_names_are_tasks_where_ids_restart(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    for word, values in (("add-v", 3), ("ask-v", 4), ("fair-j", 2)):
        local_task(tmp_path / "munged", word, values)
    actual = guess(tmp_path / "munged")
    [source] = actual.settings.sources
    assert source.path == "../munged/*.tsv"
    assert actual.fields() == {
        "task": {"capture": "(?P<task>[^/]+)\\.tsv$"},
        "judge": {
            "join": ({"capture": "(?P<judge>[^/]+)\\.tsv$"}, {"column": "annotator"}),
            "sep": ":",
        },
        "item": "item",
        "label": "rating",
    }
    assert actual.used("task") == {("add-v",), ("ask-v",), ("fair-j",)}
    assert len(actual.used("judge")) == 15
    assert actual.facts["fates"]["used"] == 600


def test_numbers_in_file_names_are_no_tasks(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    for number in (1, 2):
        local_task(tmp_path / "munged", f"part{number}", 3)
    actual = guess(tmp_path / "munged")
    assert "task" not in actual.fields()
    assert "the same item ids are in several files" in actual.text


def test_files_that_answer_differently_are_sources_of_their_own(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "all"
    write_csv(folder / "rte.std.tsv", crossed("judge", "id", "response", label=yes_or_no), "\t")
    for word in ("anger", "joy"):
        rows = crossed("judge", "id", "response", items=60, label=percent)
        write_csv(folder / f"{word}.std.tsv", rows, "\t")
    actual = guess(folder)
    assert actual.task_kinds == {"anger": "scalar", "joy": "scalar", "rte": "categorical"}
    assert actual.used("task") == {("anger",), ("joy",), ("rte",)}
    assert actual.facts["fates"]["used"] == 40 + 2 * 240


def test_other_columns_for_other_questions_are_other_tasks(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "both"
    write_csv(folder / "topic.csv", crossed("judge", "item", "label", label=yes_or_no))
    rows = crossed("judge", "item", "score", items=60, label=percent)
    write_csv(folder / "quality.csv", rows)
    actual = guess(folder)
    assert actual.task_kinds == {"quality": "scalar", "topic": "categorical"}
    assert actual.facts["fates"]["used"] == 280


def test_item_tables_are_found_by_their_ids(tmp_path: Path, guess: Callable[..., Guess]) -> None:
    folder = tmp_path / "dogs"
    write_csv(folder / "answer.csv", crossed("worker", "question", "answer", label=yes_or_no))
    truth = [("question", "truth"), *((f"item{i}", "yes") for i in range(10))]
    write_csv(folder / "truth.csv", truth)
    texts = [("id", "text", "length"), *((f"item{i}", f"text {i}", i % 3) for i in range(10))]
    write_csv(folder / "texts.csv", texts)
    write_csv(folder / "systems.csv", [("name", "city"), ("a", "b"), ("c", "d")])
    actual = guess(folder)
    tables = {table.path: dict(table.fields) for table in actual.settings.items}
    assert {path: set(fields) for path, fields in tables.items()} == {
        "../dogs/truth.csv": {"item", "truth"},
        "../dogs/texts.csv": {"item", "text"},
    }
    assert "../dogs/systems.csv: no column says who judged; nor is it an item" in actual.notes


def test_an_item_table_with_other_ids_is_left_out(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    folder = tmp_path / "dogs"
    write_csv(folder / "answer.csv", crossed("worker", "question", "answer", label=yes_or_no))
    write_csv(folder / "truth.csv", [("question", "truth"), ("x1", "yes"), ("x2", "no")])
    actual = guess(folder)
    assert actual.settings.items == ()
    assert "no column holds the ids of the judged items" in actual.notes


def test_what_other_campaigns_wrote_is_no_export(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    for folder in ("a/exports", "b/store/records", "b/gold/v0001"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        write_csv(tmp_path / "in" / folder / "rows.csv", rows)
    for marker in ("store/.annot-store", "gold/.annot-gold"):
        (tmp_path / "in/b" / marker).touch()
    actual = guess(tmp_path / "in")
    assert [source.path for source in actual.settings.sources] == ["../in/a/exports/*.csv"]


def test_subfolders_are_searched_if_a_folder_holds_no_judgments(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    write_csv(tmp_path / "all" / "in" / "v.csv", rows)
    write_csv(tmp_path / "all" / "readme.csv", [("about", "this"), ("a", "b")])
    actual = guess(tmp_path / "all")
    assert [source.path for source in actual.settings.sources] == ["../all/in/*.csv"]


def test_the_campaigns_own_releases_are_no_exports(tmp_path: Path) -> None:
    rows = crossed("judge", "item", "label", label=yes_or_no)
    write_csv(tmp_path / "exports" / "v.csv", rows)
    write_csv(tmp_path / "gold" / "v0001" / "judges.csv", rows)
    write_csv(tmp_path / "store" / "labels.csv", rows)
    text = guess_campaign([tmp_path], tmp_path)
    assert "path: exports/*.csv" in text
    assert "gold/" not in text


def rater_files(folder: Path, *raters: str, first_item: int = 0) -> None:
    for place, rater in enumerate(raters):
        start = place * first_item
        rows = [("item_id", "text", "label")]
        rows += [(f"i{i}", f"text {i}", "abc"[(i + place * (i % 4 == 0)) % 3])
                 for i in range(start, start + 24)]  # type: ignore[misc]  # fmt: skip
        write_csv(folder / f"rater_{rater}.csv", rows)


def test_files_of_the_same_items_may_be_a_judge_each(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    rater_files(tmp_path / "in", "anna", "ben")
    with pytest.raises(OpenError) as caught:
        guess_campaign([tmp_path / "in"], tmp_path)
    [question] = caught.value.questions
    assert question.options[0].by_role == {"judge": ("file",)}
    actual = guess(tmp_path / "in", judge="file")
    assert [source.path for source in actual.settings.sources] == ["../in/rater_*.csv"]
    assert actual.used("judge") == {("rater_anna",), ("rater_ben",)}
    assert actual.fields()["item"] == "item_id"
    assert actual.facts["fates"] == actual.facts["fates"] | {"used": 48, "superseded": 0}
    assert not actual.settings.privacy.pseudonymize  # else the names of files stop every release


@pytest.mark.parametrize(("name", "is_published"), [("a", False), ("dora.green", True)])
def test_a_file_that_is_named_as_one_of_its_judges(
    tmp_path: Path, guess: Callable[..., Guess], name: str, is_published: bool
) -> None:
    """Of a short name that is chance, and no gate looks for it."""
    judges = (name, "ben.white", "anna.brown")
    rows = [("item", "judge", "label")]
    rows += [(f"i{i}", judge, "xyz"[(i + place * (i % 4 == 0)) % 3])
             for i in range(24) for place, judge in enumerate(judges)]  # fmt: skip
    write_csv(tmp_path / f"{name}.csv", rows)
    actual = guess(tmp_path / f"{name}.csv")
    assert actual.settings.privacy.pseudonymize is not is_published


def test_files_of_other_items_are_rather_one_judges(tmp_path: Path) -> None:
    rater_files(tmp_path / "in", "x", "y", first_item=24)
    with pytest.raises(OpenError) as caught:
        guess_campaign([tmp_path / "in"], tmp_path)
    [question] = caught.value.questions
    assert question.options[-1].by_role == {"judge": ("file",)}


def test_files_of_items_and_questions_may_be_a_judge_each(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    for name, shift in (("darja", 0), ("giulio", 1), ("zhu", 2)):
        rows = [(n, *((n // k + shift) % 3 for k in (1, 2, 3))) for n in range(20)]
        write_csv(tmp_path / f"ratings-{name}.csv", [("id", "clear", "fluent", "true"), *rows])
    paths = sorted(tmp_path.glob("*.csv"))
    with pytest.raises(OpenError, match="--label clear,fluent,true --judge file"):
        guess_campaign(paths, tmp_path)
    actual = guess(*paths, label="clear,fluent,true", judge="file")
    assert len(actual.used("judge")) == 3
    assert actual.facts["fates"]["used"] == 3 * 20 * 3


def annotator_files(folder: Path, *, index: bool = False) -> list[Path]:
    """Two files of the same 40 things, each of a person whom only its name tells."""
    header = ("number", "commit", "emotion")
    rows = [[(n, f"c{n}f", "ab"[(n + p) % 2 or n % 3 == 0]) for n in range(40)] for p in (0, 1)]
    first = [header, *rows[0]]
    second = [("commit", "emotion", "number"), *((c, e, n) for n, c, e in rows[1])]
    if index:
        second = [("row", *row) if row[0] == "commit" else (7, *row) for row in second]
    return [write_csv(folder / f"coder_{n}.csv", r) for n, r in enumerate((first, second), 1)]


def test_columns_in_another_order_are_the_same_columns(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    files = annotator_files(tmp_path / "exports")
    actual = guess(*files, judge="file", item="commit", label="emotion")
    assert [source.path for source in actual.settings.sources] == ["../exports/coder_*.csv"]
    assert actual.used("judge") == {("coder_1",), ("coder_2",)}
    assert actual.facts["fates"]["used"] == 80


def test_files_of_the_same_things_are_offered_as_a_judge_each(tmp_path: Path) -> None:
    files = annotator_files(tmp_path, index=True)
    with pytest.raises(OpenError) as caught:
        guess_campaign(files, tmp_path)
    assert {q.options[0].by_role["judge"] for q in caught.value.questions} == {("file",)}


def test_no_judge_is_left_out_where_each_file_is_one(tmp_path: Path) -> None:
    rows = [("item", "label"), *((f"i{n}", "ab"[n % 2]) for n in range(20))]
    other = [("what", "ever"), *((n % 4, n % 3) for n in range(20))]
    named = [write_csv(tmp_path / name, rows) for name in ("ada.csv", "bea.csv")]
    assert "capture" in guess_campaign(named, tmp_path, by_role={"judge": ("file",)})
    with pytest.raises(OpenError, match=r"cy\.csv"):
        guess_campaign(
            [*named, write_csv(tmp_path / "cy.csv", other)], tmp_path, by_role={"judge": ("file",)}
        )


def test_a_task_of_several_sources_has_a_scale_that_holds_the_scores_of_all(
    tmp_path: Path, guess: Callable[..., Guess]
) -> None:
    for name, low in (("anna", 0), ("ben", 1)):
        rows = [(f"c{n}f", low + n % (8 - low), "ab"[n % 2], n) for n in range(40)]
        header = ("commit", "intensity", "emotion", "seen" if low else "row")
        write_csv(tmp_path / "in" / f"{name}.csv", [header, *rows])
    files = sorted((tmp_path / "in").glob("*.csv"))
    actual = guess(*files, judge="file", item="commit", score="intensity", label="emotion")
    [scale] = {task.scale for task in actual.settings.tasks if task.kind == "scalar"}
    assert scale == (0, 10)
    assert actual.facts["fates"]["used"] == 160
