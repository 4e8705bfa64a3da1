"""Rankings of several outputs: as XML, in rows of one output each, and side by side in a row."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from annot_pipeline.errors import ConfigError
from annot_pipeline.init import guess_campaign
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
SYSTEMS = ("alpha", "beta", "gamma", "delta")
RANKS = ((1, 2, 3, 4), (2, 2, 1, 4), (3, 1, 3, 2), (4, 4, 2, 2), (1, 1, 1, 1))
"""One has no rank 1: judges leave places out."""

# --- XML -----------------------------------------------------------------------------------


def ranking_xml(languages: tuple[tuple[str, str], ...] = (("eng", "fin"),), n: int = 12) -> str:
    hits = []
    for source, target in languages:
        for k in range(n):
            outputs = "".join(
                f'<translation system="{system}" rank="{rank}" />'
                for system, rank in zip(SYSTEMS, RANKS[k % 5], strict=True)
            )
            outputs = outputs.replace('"beta"', '"beta,epsilon"')
            hits.append(
                f'<HIT hit-id="{target}{k // 3}" source-language="{source}" block-id="-1" '
                f'target-language="{target}"><ranking-task id="{k}">'
                f'<ranking-result user="j{k % 3}" duration="00:00:{10 + k}">{outputs}'
                "</ranking-result></ranking-task></HIT>"
            )
    return f"<WMT15-results>{''.join(hits)}</WMT15-results>"


XML_FIELDS = {
    "task": {"join": ({"column": "source_language"}, {"column": "target_language"}), "sep": "-"},
    "judge": "user", "ranking": "ranking", "segment": "segment", "position": "position",
    "system": "system", "rank": "rank", "seconds": "duration", "hit": "hit_id",
}  # fmt: skip


def fields_of(actual: Guess) -> dict[str, object]:
    """Fields of the first source, joined columns by name alone."""
    return {
        n: {**e, "join": tuple({"column": c["column"]} for c in e["join"])} if "join" in e else e
        for n, e in actual.fields().items()
    }


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["rankings.xml", "rankings.xml.gz", "rankings.txt"])
def test_ranking_xml(name: str, tmp_path: Path, guess: Guesses) -> None:
    data = ranking_xml((("eng", "fin"), ("fin", "eng"))).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    actual = guess(path)
    assert actual.settings.campaign == "rankings"
    assert actual.settings.sources[0].format == "wmt_ranking"
    assert fields_of(actual) == XML_FIELDS
    assert actual.task_kinds == {"*": "ranking"}
    assert actual.used("task") == {("eng-fin",), ("fin-eng",)}
    assert actual.facts["fates"]["used"] == 2 * 12 * 5


def test_ranking_xml_without_languages_or_hits(tmp_path: Path, guess: Guesses) -> None:
    bare = ranking_xml()
    for name in ("hit-id", "source-language", "target-language"):
        bare = bare.replace(f" {name}=", f" no-{name}=")
    path = tmp_path / "w.xml"
    path.write_text(bare, encoding="utf-8")
    assert set(guess(path).fields()) == {*XML_FIELDS} - {"task", "hit"}


def test_several_ranking_xml_are_one_source(tmp_path: Path, guess: Guesses) -> None:
    (tmp_path / "in").mkdir()
    for target in ("fin", "ces"):
        path = tmp_path / f"in/wmt-{target}.xml"
        path.write_text(ranking_xml((("eng", target),)), encoding="utf-8")
    actual = guess(tmp_path / "in")
    [source] = actual.settings.sources
    assert source.path.endswith("in/wmt-*.xml")
    assert actual.used("task") == {("eng-fin",), ("eng-ces",)}


def test_pairs_made_of_the_same_rankings_are_left_out(tmp_path: Path, guess: Guesses) -> None:
    """As WMT published them: XML, and the pairs of it as a table."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/all.xml").write_text(ranking_xml(), encoding="utf-8")
    header = ("srclang", "trglang", "segmentId", "judgeID", "system1Id", "system1rank",
              "system2Id", "system2rank", "rankingID")  # fmt: skip
    rows = [("eng", "fin", k, f"judge{k % 3}", "alpha", 1, "beta", 2, k) for k in range(12)]
    write_csv(tmp_path / "in/eng-fin.csv", [header, *rows])
    others = [("eng", "deu", *row[2:]) for row in rows]
    write_csv(tmp_path / "in/eng-deu/eng-deu.csv", [header, *others])
    actual = guess(tmp_path / "in")
    assert [s.format for s in actual.settings.sources] == ["wmt_ranking"]
    assert "eng-fin.csv: compares pairs of tasks that" in actual.notes
    apart = guess_campaign([tmp_path / "in/all.xml", tmp_path / "in/eng-deu"], tmp_path / "other")
    assert "format: csv" in apart


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("<html></html>", "is an HTML page, not an export"),
        ("<r><ranking-task id='1'></r>", "the XML is damaged or cut short"),
        ("<!DOCTYPE r><r><ranking-task id='1'/></r>", "has a document type"),
        ("<r><ranking-task id='1'/></r>", "holds no rows"),
        (ranking_xml().replace(" user=", " who="), "no ranking says who judged"),
        (ranking_xml().replace(" rank=", " place="), "no ranking ranks anything"),
    ],
)
def test_other_xml_is_refused(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "w.xml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=says):
        guess_campaign([path], tmp_path)


# --- rows of one ranked output each --------------------------------------------------------

Row = tuple[object, ...]


def long_rows(n: int = 30) -> list[Row]:
    """Judge, segment, ranking, system, rank."""
    return [
        (f"j{k % 3}", f"s{k % 10}", f"r{k}", system, rank)
        for k in range(n)
        for system, rank in zip(SYSTEMS, RANKS[k % 5], strict=True)
    ]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "together", ["ranking_id", "rankingId", "HITId", "assignment_id", "ranking"]
)
def test_long_rankings(together: str, tmp_path: Path, guess: Guesses) -> None:
    header = ("judge", "segment", together, "system", "rank")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *long_rows()]))
    assert actual.fields() == {
        "judge": "judge", "segment": "segment", "ranking": together, "system": "system",
        "rank": "rank",
    }  # fmt: skip
    assert actual.task_kinds == {"*": "ranking"}
    assert actual.facts["fates"]["used"] == 120


def test_long_rankings_that_nothing_numbers(tmp_path: Path, guess: Guesses) -> None:
    rows = [(judge, segment, system, rank) for judge, segment, _, system, rank in long_rows()]
    header = ("worker_id", "prompt_id", "model", "rank")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.fields() == {
        "judge": "worker_id", "segment": "prompt_id", "system": "model", "rank": "rank"
    }  # fmt: skip
    assert "what a judge says of one segment, or in one HIT, is one ranking" in actual.notes


HEADER = ("ranking_id", "judge", "segment", "system", "rank")


def ranked(*ranks: object, n: int = 24) -> list[Row]:
    """Ranking, judge, segment, system, rank; the ranks are turned with the rankings."""
    return [
        (f"r{k}", f"j{k % 3}", f"s{k % 8}", f"sys{place}", ranks[(k + place) % len(ranks)])
        for k in range(n)
        for place in range(len(ranks))
    ]


RANK_VALUES = ((0, 1, 2), (1, 2, 2, 4), (1, 3, 7), (0, 0, 1), (7, 8, 9, 10), (5, 40, 90, 1))
RANK_COLUMNS = ("rank", "place", "ranking position", "final_rank")
RANKING_COLUMNS = ("ranking_id", "ranking", None)
RANK_LAYOUTS = {  # each two of ranks, name and column of rankings meet
    (ranks, RANK_COLUMNS[(row + shift) % 4], RANKING_COLUMNS[(row + shift // 4) % 3])
    for row, ranks in enumerate(RANK_VALUES)
    for shift in (0, 1, 6, 11)
}


@pytest.mark.sampled
@pytest.mark.parametrize(("ranks", "rank", "together"), sorted(RANK_LAYOUTS, key=str))
def test_whole_numbers_named_as_ranks_are_ranks(
    ranks: tuple[int, ...], rank: str, together: str | None, tmp_path: Path, guess: Guesses
) -> None:
    """From 0, with ties, with gaps: of ranks only the order counts."""
    start = 0 if together else 1
    header = (together, *HEADER[1:4], rank)[start:]
    rows = [(int(row[0][1:]), *row[1:])[start:] for row in ranked(*ranks)]  # type: ignore[index]
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    expected = {"judge": "judge", "segment": "segment", "system": "system", "rank": rank}
    assert actual.fields() == expected | ({"ranking": together} if together else {})
    assert actual.task_kinds == {"*": "ranking"}
    assert actual.used("rank") == {(str(rank),) for rank in ranks}
    assert "lower is better" in actual.text
    goes_beyond = max(ranks) > len(ranks)
    assert ("beyond the number of outputs" in actual.notes) == goes_beyond
    assert ("if higher is better, score:" in actual.notes) == goes_beyond


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("slips", "said"),
    [
        (["-1"], "1 are no whole numbers >= 0 and will be rejected: '-1' (1)"),
        (["-3"], "1 are no whole numbers >= 0 and will be rejected: '-3' (1)"),
        (["NA"], "1 are no whole numbers >= 0 and will be rejected: 'NA' (1)"),
        (["0"], ""),
        (["-1", "-1", "-3", "NA", "not shown"], "5 are no whole numbers >= 0 and will be"),
        (["1.5", "1.5"], "2 are no whole numbers >= 0 and will be rejected: '1.5' (2)"),
    ],
)
def test_a_few_slips_make_no_score_of_a_rank(
    slips: list[str], said: str, tmp_path: Path, guess: Guesses
) -> None:
    rows = ranked(1, 2, 3)
    for n, slip in enumerate(slips):
        rows[5 * n] = (*rows[5 * n][:4], slip)
    path = write_csv(tmp_path / "v.csv", [HEADER, *rows])
    actual = guess(path, rejected=sum(slip != "0" for slip in slips))
    assert actual.task_kinds == {"*": "ranking"}
    assert actual.fields()["rank"] == "rank"
    assert actual.fields()["ranking"] == "ranking_id"
    assert said in actual.notes
    assert ("will be rejected" in actual.notes) == bool(said)


def test_half_ranks_are_rejected_not_scored(tmp_path: Path, guess: Guesses) -> None:
    """The mean of ranks 2 and 3, as tools write a tie."""
    path = write_csv(tmp_path / "v.csv", [HEADER, *ranked(1, 2.5, 2.5, 4)])
    actual = guess(path, rejected=48)
    assert actual.task_kinds == {"*": "ranking"}
    assert "48 are no whole numbers >= 0 and will be rejected: '2.5' (48)" in actual.notes
    assert "map them to whole numbers" in actual.notes


def test_ids_called_ranking_are_no_ranks(tmp_path: Path, guess: Guesses) -> None:
    """Also where the ranks cannot be read as such."""
    rows = [(n, *row[1:4], f"{n % 3 + 1}th") for n, row in enumerate(ranked(1, 2, 3))]
    header = ("ranking", *HEADER[1:])
    with pytest.raises(ConfigError, match="no column says what was answered"):  # n-th by system
        guess(write_csv(tmp_path / "v.csv", [header, *rows]))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("header", "numbers", "field"),
    [
        (("judge", "item", "rank"), (1, 2, 3), "label"),  # nothing says what was ranked together
        (("judge", "item", "rank"), tuple(range(30)), "score"),
        ((*HEADER[1:],), (-3, -2, 0.25), "score"),  # no ranks
    ],
)
def test_a_rank_that_is_mapped_otherwise_is_told(
    header: Row, numbers: tuple[float, ...], field: str, tmp_path: Path, guess: Guesses
) -> None:
    rows = [
        (
            f"j{k % 3}",
            f"i{k // 3}",
            *(["ab"[k % 2]] * (len(header) - 3)),
            numbers[(k + k // 3) % len(numbers)],
        )
        for k in range(90)
    ]
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.fields()[field] == "rank"
    assert "rank: if 1 is best, kind: ranking" in actual.notes
    assert f"as {field} it says something else" in actual.notes


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["trial_index", "position", "hit_position", "presentation_order"])
def test_a_counter_of_rankings_is_no_position(name: str, tmp_path: Path, guess: Guesses) -> None:
    """Outputs of one ranking that share a position are taken for one identical output."""
    rows = [(*row, n // 3) for n, row in enumerate(ranked(1, 2, 2))]
    for header, shown in ((HEADER, rows), (HEADER[1:], [row[1:] for row in rows])):
        actual = guess(write_csv(tmp_path / "v.csv", [(*header, name), *shown]))
        assert "position" not in actual.fields()
        assert f"{name} is no position" in actual.notes
        (tmp_path / "campaign folder/campaign.yaml").unlink()
        (tmp_path / "campaign folder").rename(tmp_path / f"{name} {len(header)}")


def test_the_place_on_the_screen_is_a_position(tmp_path: Path, guess: Guesses) -> None:
    rows = [(*row, n % 3 + 1) for n, row in enumerate(ranked(1, 2, 2))]
    actual = guess(write_csv(tmp_path / "v.csv", [(*HEADER, "position"), *rows]))
    assert actual.fields()["position"] == "position"


def test_a_trial_of_single_outputs_is_no_position_either(tmp_path: Path, guess: Guesses) -> None:
    rows = [(*row, n) for n, row in enumerate(ranked(1, 2, 2))]
    actual = guess(write_csv(tmp_path / "v.csv", [(*HEADER, "trial_index"), *rows]))
    assert "position" not in actual.fields()


def test_a_score_beside_ranks_is_the_answer(tmp_path: Path, guess: Guesses) -> None:
    rows = [(*row, 100 - 7 * int(str(row[4]))) for row in long_rows()]
    header = ("judge", "segment", "ranking_id", "system", "rank", "score")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.fields()["score"] == "score"
    assert actual.task_kinds == {"*": "scalar"}


# --- side by side --------------------------------------------------------------------------


def wide_rows(answers: tuple[tuple[object, ...], ...]) -> list[Row]:
    return [
        (f"as{k}", f"j{k % 5}", f"s{k % 8}", *SYSTEMS, *answers[k % len(answers)])
        for k in range(40)
    ]


def wide_header(system: str, answer: str) -> Row:
    numbers = range(1, 5)
    return (
        "assignment_id", "worker_id", "segment_id",
        *(f"{system}{n}" for n in numbers), *(f"{answer}{n}" for n in numbers),
    )  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("system", "rank"), [("system", "rank"), ("sys_", "rank_"), ("model", "ranking")]
)
def test_wide_rankings(system: str, rank: str, tmp_path: Path, guess: Guesses) -> None:
    path = write_csv(tmp_path / "v.csv", [wide_header(system, rank), *wide_rows(RANKS)])
    actual = guess(path)
    assert actual.settings.sources[0].each == {"i": ("1", "2", "3", "4")}
    assert actual.fields() == {
        "judge": "worker_id", "segment": "segment_id", "system": f"{system}{{i}}",
        "rank": f"{rank}{{i}}", "ranking": "assignment_id", "native_id": "assignment_id",
        "position": {"value": "{i}"},
    }  # fmt: skip
    assert actual.task_kinds == {"*": "ranking"}
    assert actual.facts["fates"]["used"] == 160


def test_scores_side_by_side(tmp_path: Path, guess: Guesses) -> None:
    """Magnitudes without bounds, as of RankME: said so, and what a row holds stays together."""
    scores = tuple((100, 90 + k, 250 - 3 * k, 11 * k) for k in range(40))
    path = write_csv(tmp_path / "v.csv", [wide_header("sys", "quality"), *wide_rows(scores)])
    actual = guess(path)
    assert actual.fields()["score"] == "quality{i}"
    assert actual.fields()["ranking"] == "assignment_id"
    assert actual.task_kinds == {"*": "scalar"}
    assert "if scores mean no more than their order in a row: kind: ranking" in actual.notes


def test_wide_rows_without_an_id_have_no_ranking(tmp_path: Path, guess: Guesses) -> None:
    rows = [row[1:] for row in [wide_header("sys", "rank"), *wide_rows(RANKS)]]
    assert "ranking" not in guess(write_csv(tmp_path / "v.csv", rows)).fields()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("ranks", "n_rejected"),
    [
        (((0, 1, 2, 3), (3, 2, 1, 0)), 0),
        (((1, 3, 7, 9), (9, 7, 3, 1)), 0),
        (((1, 2, 3, 4), (1, "NA", 2, 3), (1, 2, 3, 3), (2, 1, 4, 3)), 10),
        (((1, 2, 3, 4), (1, -3, 2, 3), (1, 2, 3, 3), (2, 1, 4, 3)), 10),
        (((1, 2.5, 2.5, 4), (1, 2, 3, 4)), 40),
    ],
)
def test_wide_ranks_are_no_scores(
    ranks: tuple[tuple[object, ...], ...], n_rejected: int, tmp_path: Path, guess: Guesses
) -> None:
    path = write_csv(tmp_path / "v.csv", [wide_header("system", "rank"), *wide_rows(ranks)])
    actual = guess(path, rejected=n_rejected)
    assert actual.task_kinds == {"*": "ranking"}
    assert actual.fields()["rank"] == "rank{i}"
    assert (f"{n_rejected} are no whole numbers >= 0" in actual.notes) == bool(n_rejected)


def test_wide_numbers_named_as_ranks_that_are_none_are_told(tmp_path: Path, guess: Guesses) -> None:
    scores = tuple((k, 100 + k, 200 + k, 300 + k) for k in range(40))
    path = write_csv(tmp_path / "v.csv", [wide_header("system", "rank"), *wide_rows(scores)])
    actual = guess(path)
    assert actual.fields()["score"] == "rank{i}"
    assert "rank: if 1 is best, kind: ranking" in actual.notes


def test_the_number_of_the_column_is_the_position(tmp_path: Path, guess: Guesses) -> None:
    """Whatever counts the rows."""
    rows = [(*row, n) for n, row in enumerate(wide_rows(RANKS))]
    header = (*wide_header("system", "rank"), "position")
    actual = guess(write_csv(tmp_path / "v.csv", [header, *rows]))
    assert actual.fields()["position"] == {"value": "{i}"}


def test_keys_of_objects_that_a_judge_ranks_are_systems(tmp_path: Path, guess: Guesses) -> None:
    draw, systems = random.Random(3), ("ours", "gpt-4o", "random", "gold")
    rows = [
        {"example_id": f"e{n}", "annotator": f"a{n % 3}", "gold": f"idea {n}",
         "results": {s: {"suggestion": f"{s} {n}", "k": "1", "rank": rank}
                     for s, rank in zip(systems, draw.sample(range(1, 5), 4), strict=True)}}
        for n in range(24)
    ]  # fmt: skip
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    actual = guess(path)
    assert actual.used("system") == {(system,) for system in systems}
    assert (actual.fields()["segment"], actual.task_kinds) == ("example_id", {"*": "ranking"})
    assert "truth" not in actual.fields()


def places(columns: Sequence[str], things: Sequence[str]) -> list[tuple[object, ...]]:
    """What stands in each place of a ranking, by three of six judges an item."""
    draw = random.Random(2)
    rows = [
        (f"j{judge}", f"i{n}", *draw.sample(things, len(columns)))
        for n in range(20) for judge in draw.sample(range(6), 3)
    ]  # fmt: skip
    return [("annotator", "item", *columns), *rows]


@pytest.mark.parametrize("columns", [("rank_1", "rank_2", "rank_3"), ("Rank 2", "Rank 1")])
def test_columns_of_places_hold_what_was_ranked(
    tmp_path: Path, guess: Guesses, columns: tuple[str, ...]
) -> None:
    rows = places(columns, ("ours", "baseline", "human"))
    actual = guess(write_csv(tmp_path / "v.csv", rows))
    assert actual.task_kinds == {"*": "ranking"}
    [number] = re.findall(r"\d", columns[0])
    ranks = {(row[0], row[1], row[2], number) for row in rows[1:]}
    assert ranks <= actual.used("judge", "segment", "system", "rank")


def test_places_that_repeat_in_a_row_are_no_ranking(tmp_path: Path, guess: Guesses) -> None:
    rows = places(("rank_1", "rank_2"), ("good", "bad"))
    same = [(judge, item, first, first) for judge, item, first, _ in rows[1:]]
    actual = guess(write_csv(tmp_path / "v.csv", [rows[0], *same]))
    assert set(actual.task_kinds.values()) == {"categorical"}


def test_ranks_of_what_cells_show_to_be_ranked_together(tmp_path: Path, guess: Guesses) -> None:
    """No name says that a source is what the systems worked on."""
    rows: list[tuple[object, ...]] = [("expert", "Source", "Algorithm", "rank")]
    for judge, source, *things in places(("a", "b", "c"), ("bart", "t5", "human"))[1:]:
        rows += [(judge, source, thing, n) for n, thing in enumerate(things, 1)]
    assert guess(write_csv(tmp_path / "v.csv", rows)).task_kinds == {"*": "ranking"}
