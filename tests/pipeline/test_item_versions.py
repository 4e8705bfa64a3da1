"""Items whose text changes under their id: answers count for the text that they were given to."""

from __future__ import annotations

import json

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.contracts.name_key import is_earlier
from annot_pipeline.errors import ConfigError
from annot_pipeline.runtime.job_sizes import JobSizes
from annot_pipeline.stages.ingest.item_versions import text_digest
from tests.conftest import write_small_campaign
from tests.pipeline.exported import export, fates

HEAD = "item,judge,label,text\n"
FIELDS = {"item": "item", "judge": "judge", "label": "label", "text": "text"}
SOURCE = {"path": "exports/*.csv", "format": "csv", "fields": FIELDS}
JUDGES = ("w0", "w1", "w2")
FIRST, SECOND = text_digest("the moon")[:8], text_digest("the sun")[:8]
EARLIER = f"i0#{FIRST}"


def answers(item, text, label, judges=JUDGES):
    return [f"{item},{judge},{label},{text}" for judge in judges]


NIGHT_1 = export(
    [*answers("i0", "the moon", "no"), *answers("i1", "the sea", "no"),
     *answers("i2", "the rain", "yes")], HEAD,
)  # fmt: skip
NIGHT_2 = export(answers("i0", "the sun", "yes"), HEAD)
NIGHT_3 = export(answers("i0", "the moon", "no", ("w3",)), HEAD)


def labels(built):
    return {row["item"]: (row["label"], row["n_judgments"]) for row in built.rows("labels")}


def texts(built):
    return {row["item"]: (row["text"], row["item_version"]) for row in built.rows("items")}


def ids(built):
    """Published ids of judgments, with who answered what to which text."""
    return {
        row["public_id"]: (row["judge"], row["label"], row["source_file"], row["source_row"])
        for row in built.rows("controlled")
    }


def gate(built, name, stage="settle_judgments"):
    return next(g for g in built.runs[stage].gates if g.name == name)


def test_each_text_has_its_own_votes(stage_campaign):
    """The same judges answer both, and no answer is a repeat or supersedes another."""
    built = stage_campaign({"n1.csv": NIGHT_1, "n2.csv": NIGHT_2}, sources=[SOURCE])
    assert fates(built) == {"used": 12}
    others = {"i1": ("no", 3), "i2": ("yes", 3)}
    assert labels(built) == {"i0": ("yes", 3), EARLIER: ("no", 3)} | others
    assert texts(built) == {
        "i0": ("the sun", SECOND), EARLIER: ("the moon", FIRST),
        "i1": ("the sea", text_digest("the sea")[:8]),
        "i2": ("the rain", text_digest("the rain")[:8]),
    }  # fmt: skip
    changed = gate(built, "changed_items")
    assert (changed.level, changed.value, changed.detail) == ("warn", 1, "small/i0")
    assert not built.metrics("settle_judgments")["repeated_answers"]


def test_a_text_that_changes_back_is_its_first_version(stage_campaign):
    nights = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "n3.csv": NIGHT_3}
    built = stage_campaign(nights, sources=[SOURCE])
    assert labels(built) == {
        "i0": ("no", 4), f"i0#{SECOND}": ("yes", 3), "i1": ("no", 3), "i2": ("yes", 3),
    }  # fmt: skip
    assert texts(built)["i0"] == ("the moon", FIRST)


@pytest.mark.slow
def test_judgments_keep_their_ids_whatever_text_is_current(stage_campaign):
    nights = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "n3.csv": NIGHT_3}
    after = [
        ids(stage_campaign(dict(list(nights.items())[:n]), sources=[SOURCE]).run("controlled"))
        for n in (1, 2, 3)
    ]
    assert after[0].items() < after[1].items() < after[2].items()


def test_one_text_changes_no_byte(stage_campaign):
    """However blanks, line ends and composed letters are written, and where cells are blank."""
    written = ["caf\u00e9 au  lait", "cafe\u0301 au lait ", '" caf\u00e9\u00a0au\r\nlait"', ""]
    rows = [f"i0,w{n},yes,{text}" for n, text in enumerate(written)]
    with_text = stage_campaign({"a.csv": export(rows, HEAD)}, sources=[SOURCE])
    tables = {name: with_text.table(name) for name in ("settled", "controlled", "labels")}
    assert with_text.rows("items")[0]["item_version"] == text_digest("caf\u00e9 au lait")[:8]
    fields = {name: column for name, column in FIELDS.items() if name != "text"}
    without = stage_campaign(
        {"a.csv": export(rows, HEAD)}, sources=[{**SOURCE, "fields": fields}]
    )  # fmt: skip
    assert {name: without.table(name) for name in tables} == tables
    assert without.rows("items")[0]["item_version"] is None


def test_a_blank_text_counts_for_the_current_one(stage_campaign):
    """So it supersedes the judge's answer to that text, and to no other."""
    night_3 = export(["i0,w0,no,  ", "i0,w7,yes,"], HEAD)
    nights = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "n3.csv": night_3}
    built = stage_campaign(nights, sources=[SOURCE])
    assert (labels(built)["i0"][1], labels(built)[EARLIER]) == (4, ("no", 3))
    superseded = [r for r in built.rows("controlled") if r["fate"] == "superseded"]
    assert [row["source_file"] for row in superseded] == ["exports/n2.csv"]


def test_times_say_which_text_is_current_then_files(stage_campaign):
    fields = FIELDS | {"submitted_at": "at"}
    source = {**SOURCE, "fields": fields}
    head = HEAD.strip() + ",at\n"
    late = export([f"i0,w{n},no,the moon,2026-02-0{n + 1}" for n in range(3)], head)
    early = export([f"i0,w{n},yes,the sun,2026-01-0{n + 1}" for n in range(3)], head)
    orders = [{"a.csv": late, "b.csv": early}, {"a.csv": early, "b.csv": late}]
    hashes = []
    for exports in orders:
        built = stage_campaign(exports, sources=[source])
        assert texts(built)["i0"] == ("the moon", FIRST)
        hashes.append([built.table(name) for name in ("labels", "judgments", "items")])
    assert hashes[0] == hashes[1]
    untimed = [{"a.csv": NIGHT_1, "b.csv": NIGHT_2}, {"a.csv": NIGHT_2, "b.csv": NIGHT_1}]
    current = [texts(stage_campaign(exports, sources=[SOURCE]))["i0"][0] for exports in untimed]
    assert current == ["the sun", "the moon"]


@pytest.mark.slow
def test_night_by_night_is_as_at_once(build_campaign, tmp_path, capsys):
    nights = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "n3.csv": NIGHT_3}
    folder = tmp_path / "campaign"
    build_campaign({"n1.csv": NIGHT_1}, sources=[SOURCE])
    for name in ("n2.csv", "n3.csv"):
        (folder / "exports" / name).write_text(nights[name], encoding="utf-8")
        assert main(["build", str(folder)]) == 0
        output = capsys.readouterr()
        assert "1 item changed its text: the answers to an earlier text" in output.err
        assert "vanished" not in output.err
    at_once = build_campaign(
        nights, f"store={tmp_path}/other", f"gold={tmp_path}/g", sources=[SOURCE]
    )
    tables = {t["name"]: t["sha256"] for t in at_once.publication.release.manifest["tables"]}
    manifest = json.loads((folder / "gold" / "v0003" / "manifest.json").read_text())
    names = ("items", "labels")  # ids are pseudonyms of another store
    in_steps = {t["name"]: t["sha256"] for t in manifest["tables"]}
    assert {n: in_steps[n] for n in names} == {n: tables[n] for n in names}
    assert manifest["facts"]["changed_items"] == 1
    assert main(["trace", str(folder), "i0"]) == 0
    assert f"  i0#{SECOND}  {SECOND}  the sun\n" in capsys.readouterr().out
    assert main(["trace", str(folder), f"i0#{SECOND}", "--json"]) == 0
    [document] = json.loads(capsys.readouterr().out)["traces"]
    assert (document["item_version"], len(document["judgments"])) == (SECOND, 3)
    other = {"item": "i0", "item_version": FIRST, "text": "the moon"}
    assert document["other_texts"] == [other]
    assert main(["diff", str(folder), "v0001", "v0003"]) == 0
    assert "judgments: new 4\n" in capsys.readouterr().out


@pytest.mark.slow
def test_a_judgment_of_a_text_that_is_not_current_any_more_is_restated(
    build_campaign, capsys, tmp_path
):
    """Nothing vanishes, neither when the text changes nor when it changes back."""
    nights = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "n3.csv": NIGHT_3}
    for n in (1, 2, 3):
        built = build_campaign(dict(list(nights.items())[:n]), sources=[SOURCE])
        for row in built.metrics("compare_releases")["vanished_judgments"]:
            assert (row["vanished"], row["vanished_items"]) == (0, 0)
    assert main(["diff", str(tmp_path / "campaign"), "v0001", "v0002"]) == 0
    output = capsys.readouterr().out
    assert "judgments: new 3, restated 3" in output
    assert f"restated  small  {EARLIER}" in output


@pytest.mark.slow
def test_slices_of_a_large_task_change_no_byte(stage_campaign):
    """Names such as 10 stand between 1 and 1#DIGEST: no slice ends there."""
    rows = [r for n in range(1, 40) for r in answers(f"{n}", f"text {n}", "no")]
    rows += [f"{n},w1,yes,another text of {n}" for n in ("1", "2")]
    rows += answers("i0", "x", "no") + answers("i0", "y", "yes")
    exports = {"a.csv": export(rows, HEAD)}
    names = ("settled", "labels", "items", "judgments")
    whole = stage_campaign(exports, sources=[SOURCE])
    tables = {name: whole.rows(name) for name in names}
    small = JobSizes(12, least_rows=8, end_one_in=1)
    sliced = stage_campaign(exports, "store=other", sources=[SOURCE], sizes=small)
    assert len(sliced.runs["settle_judgments"].result.tables["settled"].files) > 3
    assert {name: sliced.rows(name) for name in names} == tables
    items = [row["item"] for row in tables["items"]]
    assert items == sorted(items)
    assert sum(map(is_earlier, items, (row["item_version"] for row in tables["items"]))) == 3


@pytest.mark.slow
def test_an_item_that_has_the_name_of_a_version_stays_itself(stage_campaign):
    rows = answers(EARLIER, "an item of its own", "yes")
    exports = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "n3.csv": export(rows, HEAD)}
    built = stage_campaign(exports, sources=[SOURCE])
    version = f"i0#{text_digest('the moon')[:16]}"
    assert (labels(built)[EARLIER], labels(built)[version]) == (("yes", 3), ("no", 3))
    assert texts(built)[EARLIER][0] == "an item of its own"


@pytest.mark.slow
def test_texts_whose_digests_begin_alike_are_two_versions(stage_campaign):
    first, second = "text 859", "text 4460"
    assert text_digest(first)[:8] == text_digest(second)[:8]
    rows = [*answers("i0", first, "no"), *answers("i0", second, "yes"), *answers("i0", "x", "no")]
    built = stage_campaign({"a.csv": export(rows, HEAD)}, sources=[SOURCE])
    names = [f"i0#{text_digest(text)[:16]}" for text in (first, second)]
    assert [labels(built)[name] for name in names] == [("no", 3), ("yes", 3)]


def test_two_sources_with_and_without_text(stage_campaign):
    """What carries no text counts for the current one, as judges' answers always did."""
    plain = {"path": "plain/*.csv", "format": "csv",
             "fields": {name: FIELDS[name] for name in ("item", "judge", "label")}}  # fmt: skip
    exports = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2, "p.csv": export(["i0,w8,yes,"], HEAD)}
    sources = [{**SOURCE, "path": "exports/n*.csv"}, {**plain, "path": "exports/p.csv"}]
    built = stage_campaign(exports, sources=sources)
    assert (labels(built)["i0"], labels(built)[EARLIER]) == (("yes", 4), ("no", 3))


def test_tasks_whose_judges_saw_other_texts(stage_campaign):
    """Versions are of a task's items; where tasks differ, the table of items has no version."""
    fields = FIELDS | {"task": "task"}
    rows = [f"i0,{j},yes,{text},{task}" for j in JUDGES for task, text in (("s", "x"), ("t", "y"))]
    built = stage_campaign(
        {"a.csv": export(rows, HEAD.strip() + ",task\n")}, sources=[{**SOURCE, "fields": fields}]
    )
    assert texts(built) == {"i0": (None, None)}
    assert gate(built, "changed_items").value == 0


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["native_id", "submitted_at"])
@pytest.mark.parametrize("is_judged_anew", [True, False])
def test_exports_that_repeat_judgments_with_the_new_text(stage_campaign, name, is_judged_anew):
    """Each night's export holds all judgments, with the texts of that night."""

    def cell(n):
        return f"2026-01-0{n + 1}" if name == "submitted_at" else f"id{n}"

    first = [f"i0,w{n},no,the moon,{cell(n)}" for n in range(3)]
    second = [row.replace("moon", "sun") for row in first]
    second += [f"i0,w{n},yes,the sun,{cell(n + 3)}" for n in range(2 * is_judged_anew)]
    head = HEAD.strip() + ",more\n"
    built = stage_campaign(
        {"a.csv": export(first, head), "b.csv": export(second, head)},
        sources=[{**SOURCE, "fields": FIELDS | {name: "more"}}],
    )
    assert fates(built) == {"duplicate": 3, "used": 3} | ({"used": 5} if is_judged_anew else {})
    if is_judged_anew:
        assert labels(built) == {"i0": ("yes", 2), EARLIER: ("no", 3)}
        assert texts(built) == {"i0": ("the sun", SECOND), EARLIER: ("the moon", FIRST)}
    else:
        assert labels(built) == {"i0": ("no", 3)}
        assert texts(built) == {"i0": ("the moon", FIRST)}
        assert gate(built, "changed_items").value == 0


def test_votes_and_decisions_are_of_a_text(stage_campaign):
    """An expert who decides on an earlier text makes it current no more."""
    votes = {
        "path": "exports/v*.csv", "format": "csv",
        "fields": {"item": "item", "label": "label", "votes": "n", "text": "text"},
    }  # fmt: skip
    control = {"control": {"value": "adjudication"}}
    experts = {**SOURCE, "path": "exports/z*.csv", "fields": FIELDS | control}
    head = "item,label,n,text\n"
    exports = {
        "v1.csv": export(["i0,no,5,the moon", "i0,yes,1,the moon"], head),
        "v2.csv": export(["i0,yes,4,the sun"], head),
        "z.csv": export(["i0,expert,no,the moon"], HEAD),
    }
    built = stage_campaign(exports, sources=[votes, experts])
    rows = {row["item"]: row for row in built.rows("labels")}
    assert {item: (r["label"], r["n_judgments"]) for item, r in rows.items()} == {
        "i0": ("yes", 4), EARLIER: ("no", 6),
    }  # fmt: skip
    assert (rows["i0"]["adjudicated"], rows[EARLIER]["adjudicated"]) == (False, True)


@pytest.mark.slow
def test_controls_that_show_another_text_make_no_version(stage_campaign):
    fields = {**FIELDS, "score": "label", "control": "kind"}
    del fields["label"]
    head = HEAD.strip() + ",kind\n"
    rows = [f"i{n},w0,{90 - n},text {n},none" for n in range(4)]
    rows += [f"i{n},w0,{10 + n},text text {n},bad_reference" for n in range(4)]
    built = stage_campaign(
        {"a.csv": export(rows, head)}, sources=[{**SOURCE, "fields": fields}],
        tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}],
    )  # fmt: skip
    assert gate(built, "changed_items").value == 0
    pairs = built.rows("control_pairs")
    assert sorted(row["ordinary_score"] for row in pairs) == [87, 88, 89, 90]


def test_rejected_and_filtered_rows_change_no_text(stage_campaign):
    fields = FIELDS | {"status": "status"}
    where = [{"column": "judge", "not": ["test"]}]
    rows = ["i0,w0,no,the moon,Approved", "i0,w1,no,the moon,Approved"]
    late = ["i0,w0,yes,the sun,Rejected", "i0,test,yes,lorem ipsum,Approved"]
    head = HEAD.strip() + ",status\n"
    built = stage_campaign(
        {"a.csv": export(rows, head), "b.csv": export(late, head)},
        sources=[{**SOURCE, "fields": fields, "where": where}],
    )
    assert labels(built) == {"i0": ("no", 2)}
    assert texts(built)["i0"] == ("the moon", FIRST)


def test_an_item_table_with_another_text(stage_campaign, tmp_path):
    """Judges saw what judgments carry; an equal text stays as the table writes it."""
    folder = tmp_path / "campaign"
    folder.mkdir()
    (folder / "items.csv").write_text(
        "id,t,gold\ni0,the  sun ,yes\ni1,THE SEA,no\ni2,,yes\ni9,unjudged,no\n"
    )
    fields = {"item": "id", "text": "t", "truth": "gold"}
    items = [{"path": "items.csv", "format": "csv", "fields": fields}]
    exports = {"n1.csv": NIGHT_1, "n2.csv": NIGHT_2}
    built = stage_campaign(exports, sources=[SOURCE], items=items)
    assert {item: text for item, (text, _) in texts(built).items()} == {
        "i0": "the  sun ", EARLIER: "the moon", "i1": "the sea", "i2": "the rain",
        "i9": "unjudged",
    }  # fmt: skip
    truths = {row["item"]: row["truth"] for row in built.rows("items")}
    assert (truths["i0"], truths[EARLIER]) == ("yes", None)


def test_nothing_is_asked_of_earlier_texts(stage_campaign):
    fields = {**FIELDS, "score": "label"}
    del fields["label"]
    rows = [f"i{n},w{j},{10 * n + j},text {n}" for n in range(6) for j in range(3)]
    rows += [f"i{n},w{j},{8 * n + j},another text of {n}" for n in range(6) for j in range(3)]
    built = stage_campaign(
        {"a.csv": export(rows, HEAD)}, sources=[{**SOURCE, "fields": fields}],
        tasks=[{"name": "*", "kind": "scalar", "scale": [0, 100]}], easl={"hit_size": 3, "hits": 9},
    )  # fmt: skip
    assert len({row["item"] for row in built.rows("scores")}) == 12
    planned = {row["item"] for row in built.rows("next_hits")}
    assert planned
    assert not any("#" in item for item in planned)


@pytest.mark.slow
def test_a_long_text_rejects_no_judgment(stage_campaign):
    built = stage_campaign({"a.csv": export(answers("i0", "x" * 200_000, "yes"), HEAD)},
                           sources=[SOURCE])  # fmt: skip
    assert fates(built) == {"used": 3}
    assert len(built.rows("items")[0]["text"]) == 200_000


@pytest.mark.parametrize(
    "answer",
    [{"item_a": "a", "item_b": "b", "preference": "p"}, {"item": "i", "rank": "r"}],
)
def test_text_is_of_one_item(tmp_path, answer):
    fields = {"judge": "judge", "text": "text"} | answer
    path = write_small_campaign(tmp_path, {}, sources=[{**SOURCE, "fields": fields}])
    with pytest.raises(ConfigError) as error:
        load_campaign(path)
    assert "text cannot be mapped with" in error.value.problems[0].what


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("a b", " a\t b\r\n", True), ("caf\u00e9", "cafe\u0301", True), ("a", "A", False),
        ("ab", "a b", False), ("", "  ", True),
    ],
)  # fmt: skip
def test_digests_of_texts(first, second, is_same):
    assert (text_digest(first) == text_digest(second)) is is_same
    assert text_digest("\u00a0") is None


def test_names_of_earlier_texts():
    assert is_earlier("x#1a2b3c4d", "1a2b3c4d")
    assert is_earlier("x#y#1a2b3c4d5e6f7081", "1a2b3c4d")
    assert not is_earlier("x#1a2b3c4d", "99999999")
    assert not is_earlier("x#1a2b3c4d", None)
    assert not is_earlier("1a2b3c4d", "1a2b3c4d")
