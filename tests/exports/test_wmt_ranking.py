"""Ranking XML: every ranking a row, every system a record, nothing lost, nothing trusted.

The form is that of Appraise's templates (legacy/templates/wmt13 and wmt15): skipped rankings,
an export without tasks, durations of whole seconds.
"""

from __future__ import annotations

import gzip
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.errors import InputError
from annot_pipeline.exports import READERS, Export, Opening, wmt_ranking, xml_events

Record = dict[str, Any]

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def output(system: str, rank: object) -> str:
    return f'    <translation system="{system}" rank="{rank}" />\n'


FIVE = "".join(output(s, r) for s, r in [("a", 3), ("b,c", 1), ("d", 2), ("e", 2), ("f", 5)])


def result(outputs: str = FIVE, user: str = "u1", duration: str = "00:00:35.337000") -> str:
    return f'  <ranking-result duration="{duration}" user="{user}">\n{outputs}  </ranking-result>\n'


def task(*results: str, segment: str = "581") -> str:
    return f'<ranking-task id="{segment}">\n{"".join(results)}</ranking-task>\n'


def hit(*tasks: str, id_: str = "32872282", languages: tuple[str, str] = ("deu", "eng")) -> str:
    source, target = languages
    return (
        f'<HIT hit-id="{id_}" source-language="{source}" block-id="-1" '
        f'target-language="{target}">\n{"".join(tasks)}</HIT>\n'
    )


def document(*hits: str) -> str:
    return f"{HEAD}<WMT15-results>\n\n{''.join(hits)}</WMT15-results>\n"


def opened(path: Path, content: str | bytes, **options: Any) -> Export:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return READERS["wmt_ranking"](Opening(path, path.name, **options))


def read(export: Export) -> list[Record]:
    """Every record; every row must have one."""
    found: list[Record] = []
    for chunk in export.chunks:
        columns = {name: column.to_pylist() for name, column in chunk.columns.items()}
        assert chunk.cell is not None
        for n, row in enumerate(chunk.row.tolist()):
            told = {"row": row, "cell": chunk.cell[n].as_py(), "problem": chunk.problem[n].as_py()}
            found.append(told | {name: column[n] for name, column in columns.items()})
    assert {r["row"] for r in found} == set(range(1, export.n_rows + 1)), "a row is lost"
    return found


@pytest.fixture
def records(tmp_path: Path) -> Callable[..., list[Record]]:
    return lambda content, **options: read(opened(tmp_path / "w.xml", content, **options))


@pytest.fixture
def error(tmp_path: Path) -> Callable[..., str]:
    """The message about a file that cannot be read."""

    def error(content: str | bytes, name: str = "w.xml", **options: Any) -> str:
        with pytest.raises(InputError) as raised:
            read(opened(tmp_path / name, content, **options))
        return str(raised.value)

    return error


# --- records -------------------------------------------------------------------------------


def test_a_record_is_a_system_of_a_ranking(records: Callable[..., list[Record]]) -> None:
    found = records(document(hit(task(result()))))
    assert [(r["row"], r["cell"], r["position"], r["system"], r["rank"]) for r in found] == [
        (1, "1.a", "1", "a", "3"),
        (1, "2.b", "2", "b", "1"),
        (1, "2.c", "2", "c", "1"),
        (1, "3.d", "3", "d", "2"),
        (1, "4.e", "4", "e", "2"),
        (1, "5.f", "5", "f", "5"),
    ]
    assert {r["problem"] for r in found} == {None}
    shared = {
        "source_language": "deu", "target_language": "eng", "hit_id": "32872282", "block_id": "-1",
        "segment": "581", "user": "u1", "duration": "35.337", "duration_text": "00:00:35.337000",
    }  # fmt: skip
    assert all(r | shared == r for r in found)
    [ranking] = {r["ranking"] for r in found}
    assert re.fullmatch("[0-9a-f]{16}", ranking)


def test_rows_are_counted_over_the_file_and_attributes_end_with_their_element(
    records: Callable[..., list[Record]],
) -> None:
    two = output("a", 1) + output("b", 2)
    found = records(
        document(
            hit(task(result(two), result(two, "u2")), task(result(two), segment="7")),
            hit(task(result(two)), id_="h2", languages=("eng", "ces")),
            task(result(two), segment="9"),
            result(two),
        )
    )
    places = [(r["row"], r["hit_id"], r["target_language"], r["segment"], r["user"]) for r in found]
    assert places[::2] == [
        (1, "32872282", "eng", "581", "u1"),
        (2, "32872282", "eng", "581", "u2"),
        (3, "32872282", "eng", "7", "u1"),
        (4, "h2", "ces", "581", "u1"),
        (5, None, None, "9", "u1"),
        (6, None, None, None, "u1"),
    ]
    assert len({r["ranking"] for r in found}) == 6


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("00:00:35.337000", "35.337"),
        ("00:02:10", "130"),
        ("0:00:10", "10"),
        ("00:00:00.000001", "0.000001"),
        ("00:00:30.000000", "30"),
        ("23:59:59.999999", "86399.999999"),
        ("1 day, 2:03:04.5", "93784.5"),
        ("12 days, 0:00:00", "1036800"),
        ("", None),
        ("-1 day, 23:59:59", None),
        ("00:61:00", None),
        ("35.337", None),
        ("soon", None),
    ],
)
def test_durations_are_seconds(
    written: str, seconds: str | None, records: Callable[..., list[Record]]
) -> None:
    found = records(document(hit(task(result(duration=written)))))
    assert {(r["duration"], r["duration_text"]) for r in found} == {(seconds, written)}


def test_rankings_without_outputs_are_a_record(records: Callable[..., list[Record]]) -> None:
    skipped = '<ranking-result duration="00:00:01" user="u1" skipped="true" />'
    found = records(
        document(
            hit(
                task(result("")),
                task(skipped),
                task(skipped.replace("/>", f">{FIVE}</ranking-result>")),
                task(result(output("a", 1))),
            )
        )
    )
    assert [(r["row"], r["cell"], r["system"], r["problem"]) for r in found] == [
        (1, None, None, "the ranking holds no output"),
        (2, None, None, "the ranking holds no output (skipped)"),
        (3, None, None, "the ranking is marked as skipped, but holds outputs"),
        (4, "1.a", "a", None),
    ]
    assert {r["user"] for r in found} == {"u1"}


@pytest.mark.parametrize("outputs", ['<translation rank="1" />', output("", 1), output(" ", 1)])
def test_an_output_without_a_name_leaves_the_others(
    outputs: str, records: Callable[..., list[Record]]
) -> None:
    found = records(document(hit(task(result(outputs + output("z", 2))))))
    assert [(r["cell"], r["problem"]) for r in found] == [
        ("1.", "a translation without the name of a system"),
        ("2.z", None),
    ]


@pytest.mark.parametrize("rank", ["-1", "", "best", "1.5", "0", " 2 "])
def test_ranks_stay_as_written(rank: str, records: Callable[..., list[Record]]) -> None:
    """What is no rank is rejected where those of all formats are (read_records)."""
    found = records(document(hit(task(result(output("a", rank) + '<translation system="b"/>')))))
    assert [(r["rank"], r["problem"]) for r in found] == [(rank, None), (None, None)]


def test_names_of_systems_in_one_output(records: Callable[..., list[Record]]) -> None:
    found = records(document(hit(task(result(output(" a , b,a,,", 1))))))
    assert [(r["cell"], r["system"], r["problem"]) for r in found] == [
        ("1.a", "a", None),
        ("1.b", "b", None),
        ("1.a#2", "a", "a translation names a system twice"),
        ("1.", None, "a translation without the name of a system"),
        ("1.#2", None, "a translation without the name of a system"),
    ]


def test_an_output_of_too_many_systems_is_one_record(records: Callable[..., list[Record]]) -> None:
    [found, other] = records(document(hit(task(result(output("x," * 9_999, 1) + output("b", 2))))))
    assert (found["cell"], found["system"]) == ("1", None)
    assert found["problem"] == "a translation names more than 1,000 systems"
    assert other["problem"] is None


def test_missing_attributes_are_nulls(records: Callable[..., list[Record]]) -> None:
    bare = f"<r><ranking-task><ranking-result>{FIVE}</ranking-result></ranking-task></r>"
    found = records(bare)
    assert len(found) == 6
    names = {n for n, value in found[0].items() if value is None}
    assert names == {*wmt_ranking.OF_RANKING, "problem"} - {"ranking"}


def test_an_older_export_has_one_system_an_output(records: Callable[..., list[Record]]) -> None:
    older = document(
        hit(task(result(output("cu-bojar", 2) + output("onlineB", 1)), segment="27"))
    ).replace("WMT15", "WMT13")
    assert [(r["system"], r["rank"]) for r in records(older)] == [
        ("cu-bojar", "2"),
        ("onlineB", "1"),
    ]


def test_what_is_no_ranking_is_counted(tmp_path: Path) -> None:
    content = document(
        hit(
            task(result(FIVE + "<note>hm</note>")),
            output("a", 1),
            task("<!-- nothing -->", segment="8"),
        ),
        "<HIT hit-id='1' colour='red'><source>Wort</source></HIT>",
    )
    export = opened(tmp_path / "w.xml", content)
    assert len(read(export)) == 6
    assert export.ignored == {
        "'note' elements": 1,
        "'source' elements": 1,
        "'colour' attributes of HIT": 1,
        "texts between elements": 2,
        "translation elements outside of a ranking-result": 1,
        "ranking-task elements without a ranking-result": 1,
    }


def test_kinds_of_what_is_ignored_are_bounded(tmp_path: Path) -> None:
    many = "".join(f"<n{n} />" for n in range(1_000))
    export = opened(tmp_path / "w.xml", document(hit(task(result() + many))))
    assert len(export.ignored) == wmt_ranking.MOST_KINDS + 1
    assert sum(export.ignored.values()) == 1_000


def test_only_wanted_columns_are_made(tmp_path: Path) -> None:
    content = document(hit(task(result())))
    export = opened(tmp_path / "w.xml", content, wanted=frozenset({"rank", "user"}))
    assert export.columns == list(wmt_ranking.COLUMNS)
    [chunk] = export.chunks
    assert sorted(chunk.columns) == ["rank", "user"]


# --- the id of a ranking -------------------------------------------------------------------

TIMES = [f"00:00:{n:02}" for n in range(1, 10)]


def identified(path: Path, content: str) -> dict[tuple[str, ...], str]:
    """What identifies a ranking to people, and its id."""
    found = {}
    for r in read(opened(path, content)):
        told = (r["hit_id"], r["segment"], r["user"], r["duration"])
        assert found.setdefault(told, r["ranking"]) == r["ranking"]
    assert len({*found.values()}) == len(found)
    return found


@settings(max_examples=30, deadline=None)
@given(order=st.permutations(range(12)), cut=st.integers(0, 12))
def test_ids_stay_when_files_are_split_or_put_in_another_order(
    order: list[int], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("w")
    hits = []
    for n in range(12):
        twice = [result(user=f"u{n % 2}", duration=t) for t in (TIMES[n % 9], TIMES[(n + 4) % 9])]
        hits.append((hit(task(*twice), id_=f"h{n}"), hit(task(*twice[::-1]), id_=f"h{n}")))
    whole = identified(folder / "w.xml", document(*(forward for forward, _ in hits)))
    assert len(whole) == 24
    moved = [hits[n][n % 2] for n in order]
    parts = [document(*part) for part in (moved[:cut], moved[cut:])]
    found = [identified(folder / f"{n}.xml", part) for n, part in enumerate(parts)]
    assert found[0] | found[1] == whole


def shown(path: Path, *contents: str) -> dict[str, str]:
    """Id of a ranking to the systems that were shown in it, over several files."""
    found: dict[str, set[str]] = defaultdict(set)
    for content in contents:
        for r in read(opened(path, content)):
            found[r["ranking"]].add(r["system"])
    return {ranking: "".join(sorted(systems)) for ranking, systems in found.items()}


def test_a_ranking_moved_to_another_file_keeps_its_id(tmp_path: Path) -> None:
    """One judge, one HIT, one segment, and other systems: never one ranking of all."""
    path = tmp_path / "w.xml"
    abc = result("".join(output(s, n) for n, s in enumerate("abc", 1)), duration="00:00:09")
    bde = result(output("b,e", 2) + output("d", 1), duration="00:00:05")
    turned = result(output("d", 2) + output("e, b", 1), duration="00:00:05")
    whole = shown(path, document(hit(task(abc, bde))))
    assert sorted(whole.values()) == ["abc", "bde"]
    assert shown(path, document(hit(task(abc))), document(hit(task(bde)))) == whole
    assert shown(path, document(hit(task(bde))), document(hit(task(abc)))) == whole
    assert shown(path, document(hit(task(turned, abc)))) == whole, "the order of outputs is no part"


def test_a_changed_rank_keeps_the_id(records: Callable[..., list[Record]]) -> None:
    before, after = (
        {r["ranking"] for r in records(document(hit(task(result(output("a", rank))))))}
        for rank in (1, 2)
    )
    assert before == after


def test_equal_rankings_are_told_apart(records: Callable[..., list[Record]]) -> None:
    found = records(document(hit(task(result(), result(), result()))))
    ids = list(dict.fromkeys(r["ranking"] for r in found))
    assert [i.partition("-")[2] for i in ids] == ["", "2", "3"]
    assert len({i.partition("-")[0] for i in ids}) == 1


# --- reading -------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("chunk", [1, 5, 50_000])
def test_blocks_and_chunks_change_nothing(
    block: int, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = document(hit(task(result(), result(user="ü")), task(result(""), segment="é")))
    whole = read(opened(tmp_path / "w.xml", content))
    monkeypatch.setattr(xml_events, "BLOCK", block)
    monkeypatch.setattr(wmt_ranking, "CHUNK", chunk)
    assert read(opened(tmp_path / "w.xml", content)) == whole
    zipped = gzip.compress(content.encode())
    assert read(opened(tmp_path / "w.xml.gz", zipped)) == whole


def test_records_come_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking is not cut in two."""
    monkeypatch.setattr(wmt_ranking, "CHUNK", 10)
    export = opened(
        tmp_path / "w.xml", document(hit(task(*(result(user=f"u{n}") for n in "1234"))))
    )
    assert [len(chunk) for chunk in export.chunks] == [12, 12]


def test_encodings(records: Callable[..., list[Record]]) -> None:
    text = document(hit(task(result(user="zoë"))))
    latin = text.replace("UTF-8", "ISO-8859-1")
    ways: list[tuple[bytes, dict[str, str]]] = [
        (text.encode(), {}),
        (b"\xef\xbb\xbf" + text.encode(), {}),
        (latin.encode("latin-1"), {}),
        (text.encode("latin-1"), {"encoding": "latin-1"}),
        (text.encode("utf-16"), {"encoding": "utf-16"}),
        (text.replace("UTF-8", "UTF-16").encode("utf-16"), {"encoding": "utf-16"}),
        (text.replace(HEAD, "").encode("cp037"), {"encoding": "cp037"}),
    ]
    for content, options in ways:
        assert {r["user"] for r in records(content, **options)} == {"zoë"}, options


@pytest.mark.parametrize("content", ["", " \n", "<WMT14-results />", f"{HEAD}<wmt16-results/>"])
def test_an_export_of_nothing_has_no_rows(tmp_path: Path, content: str) -> None:
    export = opened(tmp_path / "w.xml", content)
    assert (read(export), export.n_rows, export.ignored) == ([], 0, {})


LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)
FILE = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
GOOD = document(hit(task(result())))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD[: len(GOOD) // 2], r"cut short .unclosed token, line \d"),
        (GOOD.replace("</HIT>", ""), "mismatched tag, line 15"),
        (GOOD.replace("</WMT15-results>", ""), "cut short .no element found, line 16"),
        (GOOD + "<more/>", "junk after document element, line 16"),
        (GOOD.replace('rank="2"', 'rank="2" rank="3"', 1), "duplicate attribute, line 9"),
        (GOOD.replace("u1", "&who;"), "undefined entity, line 6"),
        (GOOD.replace("u1", "\0"), "not well-formed .invalid token., line 6"),
        (GOOD.replace("u1", "zoë").encode("latin-1"), "invalid token., line 6.*options.encoding"),
        (GOOD.replace("UTF-8", "klingon"), "declares an encoding that cannot be read .*klingon"),
        (HEAD + LAUGHS + "<r>&c;</r>", r"has a document type \(<!DOCTYPE>\), line 2"),
        (HEAD + FILE + "<r>&a;</r>", r"has a document type \(<!DOCTYPE>\), line 2"),
        ("<!DOCTYPE html><html></html>", r"has a document type \(<!DOCTYPE>\), line 1"),
        ("<html><body/></html>", "no ranking-task stands in it: its first element is 'html'"),
        ("<set><seg id='1'/></set>", "no ranking-task .*do: +check format: wmt_ranking is HIT >"),
        (
            GOOD.replace(FIVE, f"{FIVE}<ranking-result />"),
            "a ranking-result stands within another, line 12",
        ),
        ('{"a": 1}', "not well-formed .invalid token., line 1"),
    ],
)
def test_files_that_cannot_be_read(
    content: str | bytes, says: str, error: Callable[..., str]
) -> None:
    assert re.search(says, error(content), re.DOTALL)


def test_the_encoding_given_must_fit(error: Callable[..., str]) -> None:
    assert "w.xml: cannot be read" in error(GOOD.replace("u1", "zoë"), encoding="ascii")
    assert "is not text in ascii" in error(GOOD.replace("u1", "zoë"), encoding="ascii")
    assert "options.encoding: utf-16" in error(GOOD.encode("utf-16"))


def test_a_gzip_cut_short(error: Callable[..., str]) -> None:
    zipped = gzip.compress(GOOD.encode(), mtime=0)
    assert "gzip is damaged or cut short" in error(zipped[:-20], "w.xml.gz")


@pytest.mark.parametrize("start", ['<r><a b="', "<r><!-- ", "<r><?a "])
def test_a_huge_tag_is_refused_before_it_is_held(
    start: str, error: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def endless(_: Opening, __: object) -> Iterator[bytes]:
        yield start.encode()
        for n in range(100):
            asked.append(n)
            yield b"x" * (1 << 16)

    monkeypatch.setattr(xml_events, "_blocks", endless)
    assert "a tag or comment is longer than 1,048,576 bytes, line 1" in error("")
    assert len(asked) < 20


def test_a_long_text_or_many_elements_are_no_huge_tag(tmp_path: Path) -> None:
    long = "<note>" + "word " * 500_000 + "</note>"
    deep = "<n>" * 20_000 + "</n>" * 20_000
    export = opened(tmp_path / "w.xml", document(hit(task(result() + long + deep))))
    assert len(read(export)) == 6


def test_a_long_name_is_read_whole(records: Callable[..., list[Record]]) -> None:
    name = "x" * 500_000
    assert [r["system"] for r in records(document(hit(task(result(output(name, 1))))))] == [name]


# --- WMT15 ---------------------------------------------------------------------------------

PUBLISHED = {
    "ces-eng": (2_568, 24_473, 85_877, 60, 16),
    "deu-eng": (2_091, 19_468, 40_535, 53, 13),
    "eng-ces": (5_973, 58_956, 136_890, 22, 15),
    "eng-deu": (3_092, 29_752, 54_447, 15, 16),
    "eng-fin": (2_520, 24_399, 32_694, 5, 10),
    "eng-fre": (2_592, 22_858, 34_512, 15, 7),
    "eng-rus": (3_561, 34_546, 49_302, 15, 10),
    "fin-eng": (1_863, 17_309, 31_577, 47, 14),
    "fre-eng": (2_229, 19_375, 29_770, 49, 7),
    "rus-eng": (2_528, 23_614, 44_539, 45, 13),
}
"""Rankings, pairs of outputs, pairs of systems, judges, systems: NOTE.md of the data."""

CSV_FILES = ("eng-fin", "fin-eng", "fre-eng")


@pytest.fixture(scope="module")
def wmt15(shared_data: Path) -> list[Record]:
    path = shared_data / "wmt15-ranking/data/wmt15.users-hashed.xml.gz"
    export = READERS["wmt_ranking"](Opening(path, path.name))
    assert (export.n_rows, export.ignored) == (29_017, {})
    return read(export)


def pairs(records: list[Record]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Rankings, pairs of positions and pairs of systems of each language pair."""
    rankings: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for r in records:
        languages = f"{r['source_language']}-{r['target_language']}"
        rankings[languages, r["ranking"]].append(r)
    found, collapsed, expanded = Counter[str](), Counter[str](), Counter[str]()
    for (languages, _), outputs in rankings.items():
        ranked = [r for r in outputs if r["system"]]
        found[languages] += 1
        n_positions = len({r["position"] for r in ranked})
        collapsed[languages] += n_positions * (n_positions - 1) // 2
        expanded[languages] += len(ranked) * (len(ranked) - 1) // 2
    return found, collapsed, expanded


def test_wmt15_counts_as_published(wmt15: list[Record]) -> None:
    found, collapsed, expanded = pairs(wmt15)
    judges, systems = defaultdict(set), defaultdict(set)
    for r in wmt15:
        languages = f"{r['source_language']}-{r['target_language']}"
        judges[languages].add(r["user"])  # also who skipped all
        systems[languages] |= {r["system"]} - {None}
    assert {
        name: (
            found[name], collapsed[name], expanded[name], len(judges[name]), len(systems[name])
        )
        for name in found
    } == PUBLISHED  # fmt: skip
    assert sum(expanded.values()) == 540_143
    assert Counter(r["problem"] for r in wmt15 if r["problem"]) == {
        "the ranking holds no output (skipped)": 757
    }


def test_wmt15_without_what_nobody_ranked(wmt15: list[Record]) -> None:
    """mjpost/wmt15 gives 136,855 for eng-ces: a ranking that is not whole counts in part."""
    _, _, expanded = pairs([r for r in wmt15 if r["rank"] != "-1"])
    assert expanded == {n: told[2] for n, told in PUBLISHED.items()} | {"eng-ces": 136_855}


@pytest.mark.parametrize("languages", CSV_FILES)
def test_wmt15_comparisons_are_those_of_the_published_table(
    languages: str, wmt15: list[Record], shared_data: Path
) -> None:
    """Judges and rankings have other names there: compared as multisets of what was judged."""
    path = shared_data / f"wmt15-ranking/data/wmt15.{languages}.csv"
    published: Counter[tuple[str, ...]] = Counter()
    lines = itertools.islice(path.read_text(encoding="utf-8").splitlines(), 1, None)
    for line in filter(str.strip, lines):
        _, _, _, segment, _, a, rank_a, b, rank_b, _ = line.split(",")
        published[segment, *sorted([f"{a} {rank_a}", f"{b} {rank_b}"])] += 1
    rankings = defaultdict(list)
    for r in wmt15:
        if f"{r['source_language']}-{r['target_language']}" == languages and not r["problem"]:
            rankings[r["ranking"], r["segment"]].append(f"{r['system']} {r['rank']}")
    found: Counter[tuple[str, ...]] = Counter()
    for (_, segment), outputs in rankings.items():
        for a, b in itertools.combinations(outputs, 2):
            found[segment, *sorted([a, b])] += 1
    assert found == published
