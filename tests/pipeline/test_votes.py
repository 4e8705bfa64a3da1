"""Counts of votes without judges: majorities and shares, and nobody is invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.runtime.job_sizes import JobSizes
from tests.conftest import KEY, Built, build_file, stage_file

WIDE = "clip,owl,gull,crow\nc1,4,1,0\nc2,0,2,2\nc3,,,7\nc4,0,0,0\n"
"""Votes by columns: c2 is tied, c3 has blanks, nobody voted on c4."""
EACH = {
    "path": "wide.csv", "format": "csv", "each": {"k": ["owl", "gull", "crow"]},
    "fields": {"item": "clip", "label": {"value": "{k}"}, "votes": "{k}"},
}  # fmt: skip
LONG = {
    "path": "long*.csv", "format": "csv", "fields": {"item": "clip", "label": "bird", "votes": "n"},
}  # fmt: skip
JUDGED = {
    "path": "judged.csv", "format": "csv",
    "fields": {"task": "task", "item": "clip", "judge": "who", "label": "bird"},
}  # fmt: skip
OF_JUDGES = (
    "judges", "judgments", "judge_confusion", "prevalence", "label_calibration", "variance",
)  # fmt: skip
PROBABILITIES = ("probability", "model_probability", "dawid_skene_probability", "entropy")
HEAD = "clip,bird,n\n"


def write(folder: Path, files: dict[str, str], *sources: dict[str, Any], **settings: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    document = {"campaign": "birds", "sources": list(sources), **settings}
    (folder / "campaign.yaml").write_text(json.dumps(document))
    return folder


def fates(built: Any) -> list[tuple[Any, ...]]:
    rows = built.rows("lineage")
    return sorted((r["source_row"], r["cell"] or "", r["fate"], r["reason"] or "") for r in rows)


def distribution(built: Any, task: str = "birds") -> list[tuple[str, str, int]]:
    rows = built.rows("label_distributions")
    return [(r["item"], r["label"], r["votes"]) for r in rows if r["task"] == task]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Built:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANNOT_KEY", KEY)
        return build_file(write(tmp_path_factory.mktemp("wide"), {"wide.csv": WIDE}, EACH))


def test_labels_are_majorities_with_votes_and_no_judges(wide: Built) -> None:
    built = wide
    labels = {row["item"]: row for row in built.rows("labels")}
    assert {item: (row["label"], row["n_judgments"]) for item, row in labels.items()} == {
        "c1": ("owl", 5), "c2": ("crow", 4), "c3": ("crow", 7),
    }  # fmt: skip
    assert [row["majority_share"] for row in labels.values()] == [4 / 5, 2 / 4, 1]
    for row in labels.values():
        assert row["n_judges"] == 0
        assert row["model_label"] is row["dawid_skene_label"] is None
        assert [row[name] for name in PROBABILITIES] == [None] * 4
        assert (row["certain"], row["dawid_skene_certain"]) == (False, False)
    assert distribution(built) == [
        ("c1", "gull", 1), ("c1", "owl", 4), ("c2", "crow", 2), ("c2", "gull", 2),
        ("c3", "crow", 7),
    ]  # fmt: skip
    for table in OF_JUDGES:
        assert built.table(table).num_rows == 0, table
    agreement = built.rows("agreement")
    assert {(row["value"], row["n_judges"], row["reason"]) for row in agreement} == {
        (None, 0, "votes are counts: no judge is named")
    }
    assert [row["item"] for row in built.rows("items")] == ["c1", "c2", "c3"]
    assert built.publication.release.manifest["facts"]["anonymous_votes"] == {"birds": 16}


def test_every_count_has_a_fate(wide: Built) -> None:
    built = wide
    assert fates(built) == [
        (1, "k=crow", "not_asked", "votes is 0"),
        (1, "k=gull", "used", "1 vote for 'gull'"),
        (1, "k=owl", "used", "4 votes for 'owl'"),
        (2, "k=crow", "used", "2 votes for 'crow'"),
        (2, "k=gull", "used", "2 votes for 'gull'"),
        (2, "k=owl", "not_asked", "votes is 0"),
        (3, "k=crow", "used", "7 votes for 'crow'"),
        (3, "k=gull", "not_asked", "votes is blank"),
        (3, "k=owl", "not_asked", "votes is blank"),
        *[(4, f"k={bird}", "not_asked", "votes is 0") for bird in ("crow", "gull", "owl")],
    ]
    rows = built.rows("lineage")
    assert {row["judge"] for row in rows} == {None}
    assert all((row["judgment_id"] is None) == (row["fate"] == "not_asked") for row in rows)
    assert [f["adds_up"] for f in built.metrics("control_judges")["files"]] == [True]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("-1", "votes is negative: '-1'"),
        ("-2", "votes is negative: '-2'"),
        ("1.5", "votes is not a whole number: '1.5'"),
        ("many", "votes is not a number: 'many'"),
        ("nan", "votes is not a number: 'nan'"),
        ("2147483648", "votes is too large: '2147483648'"),
        ("1e999", "votes is not a whole number: '1e999'"),
        ("", "votes is blank"),
    ],
)
def test_bad_counts_are_rejected(tmp_path: Path, cell: str, reason: str) -> None:
    export = f"{HEAD}c1,owl,3\nc1,gull,{cell}\n"
    built = stage_file(write(tmp_path, {"long.csv": export}, LONG))
    assert fates(built) == [(1, "", "used", "3 votes for 'owl'"), (2, "", "rejected", reason)]
    assert distribution(built) == [("c1", "owl", 3)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "n"), [("3.0", 3), (" 3 ", 3), ("1e2", 100), ("2147483647", 2147483647)]
)
def test_whole_counts_may_be_written_as_numbers_are(tmp_path: Path, cell: str, n: int) -> None:
    built = stage_file(write(tmp_path, {"long.csv": f"{HEAD}c1,owl,{cell}\n"}, LONG))
    assert distribution(built) == [("c1", "owl", n)]


def test_an_item_and_label_count_once_in_a_file(tmp_path: Path) -> None:
    export = f"{HEAD}c1,owl,3\nc1,owl,3\nc1,gull,1\nc2,owl,2\nc2,owl,5\nc2,gull,1\n"
    built = stage_file(write(tmp_path, {"long.csv": export}, LONG))
    other = "another row of the file counts other votes of this item and label"
    assert fates(built) == [
        (1, "", "used", "3 votes for 'owl'"),
        (2, "", "duplicate", "the same answer is in another row or file that takes precedence"),
        (3, "", "used", "1 vote for 'gull'"),
        (4, "", "rejected", f"{other}: 2"),
        (5, "", "rejected", f"{other}: 5"),
        (6, "", "used", "1 vote for 'gull'"),
    ]
    assert distribution(built) == [("c1", "gull", 1), ("c1", "owl", 3), ("c2", "gull", 1)]


@pytest.mark.slow
def test_rows_that_native_id_tells_apart_add_up(tmp_path: Path) -> None:
    export = "clip,bird,n,batch\nc1,owl,3,a\nc1,owl,3,b\nc1,owl,4,c\n"
    source = LONG | {"fields": LONG["fields"] | {"native_id": "batch"}}
    built = stage_file(write(tmp_path, {"long.csv": export}, source))
    assert distribution(built) == [("c1", "owl", 10)]


@pytest.mark.slow
def test_a_later_file_supersedes_counts_also_by_zero(tmp_path: Path) -> None:
    first, second = (
        f"{HEAD}c1,owl,1\nc1,gull,2\nc2,owl,4\n",
        f"{HEAD}c1,owl,0\nc1,gull,3\nc2,owl,4\n",
    )
    built = stage_file(write(tmp_path, {"long-1.csv": first, "long-2.csv": second}, LONG))
    assert distribution(built) == [("c1", "gull", 3), ("c2", "owl", 4)]
    rows = {(r["source_file"], r["source_row"]): r["fate"] for r in built.rows("lineage")}
    assert [rows["long-1.csv", n] for n in (1, 2, 3)] == ["superseded", "superseded", "duplicate"]
    assert [rows["long-2.csv", n] for n in (1, 2, 3)] == ["not_asked", "used", "used"]


@pytest.mark.slow
def test_repeats_of_judges_say_nothing_of_votes(tmp_path: Path) -> None:
    tasks = [{"name": "*", "kind": "categorical", "repeats": "reject"}]
    built = stage_file(write(tmp_path, {"wide.csv": WIDE}, EACH, tasks=tasks))
    assert len(distribution(built)) == 5
    undeclared = stage_file(write(tmp_path / "two", {"wide.csv": WIDE}, EACH))
    assert undeclared.metrics("settle_judgments")["repeated_answers"] == []


@pytest.mark.parametrize("kind", ["scalar", "pairwise", "ranking"])
def test_only_categorical_tasks_have_votes(tmp_path: Path, kind: str) -> None:
    tasks = [{"name": "*", "kind": kind}]
    built = stage_file(write(tmp_path, {"long.csv": f"{HEAD}c1,owl,3\n"}, LONG, tasks=tasks))
    assert fates(built) == [(1, "", "rejected", f"votes count labels: the task is {kind}")]
    assert built.rows("tasks")[0]["by_votes"] is False


def test_declared_classes_hold_for_votes(tmp_path: Path) -> None:
    tasks = [{"name": "*", "kind": "categorical", "labels": ["owl", "gull"]}]
    built = stage_file(write(tmp_path, {"wide.csv": WIDE}, EACH, tasks=tasks))
    assert {r["fate"] for r in built.rows("lineage") if r["cell"] == "k=crow"} == {"rejected"}
    assert {row["item"]: row["label"] for row in built.rows("labels")} == {
        "c1": "owl",
        "c2": "gull",
    }


def mixed(folder: Path) -> Path:
    """Votes in one task, judges in another, and both in a third."""
    judged = ["task,clip,who,bird"]
    judged += [
        f"songs,s{i},j{j},{'owl' if (i + j) % 4 else 'gull'}" for i in range(9) for j in range(3)
    ]
    judged += [f"both,b{i},j{j},owl" for i in range(2) for j in range(2)]
    votes = "task,clip,bird,n\nbirds,c1,owl,3\nboth,b0,gull,5\nboth,b0,owl,1\nboth,b9,gull,2\n"
    long = LONG | {"fields": LONG["fields"] | {"task": "task"}}
    files = {"judged.csv": "\n".join([*judged, ""]), "long.csv": votes}
    return write(folder, files, JUDGED, long, privacy={"pseudonymize": False})


def test_a_task_with_any_votes_is_labelled_by_votes_alone(tmp_path: Path) -> None:
    built = stage_file(mixed(tmp_path))
    assert distribution(built, "both") == [
        ("b0", "gull", 5), ("b0", "owl", 3), ("b1", "owl", 2), ("b9", "gull", 2),
    ]  # fmt: skip
    labels = {(row["task"], row["item"]): row for row in built.rows("labels")}
    assert [labels["both", i]["n_judges"] for i in ("b0", "b1", "b9")] == [2, 2, 0]
    assert [labels["both", i]["label"] for i in ("b0", "b1", "b9")] == ["gull", "owl", "gull"]
    assert {row["probability"] for (task, _), row in labels.items() if task != "songs"} == {None}
    assert all(row["probability"] for (task, _), row in labels.items() if task == "songs")
    for table in ("prevalence", "judge_confusion"):
        assert {row["task"] for row in built.rows(table)} == {"songs"}, table
    judges = {(row["task"], row["judge"]): row["n_judgments"] for row in built.rows("judges")}
    assert judges == {("songs", f"j{j}"): 9 for j in range(3)} | {
        ("both", f"j{j}"): 2 for j in (0, 1)
    }
    assert {row["judge"] for row in built.rows("judgments")} == {"j0", "j1", "j2"}
    agreement = {row["statistic"]: row for row in built.rows("agreement") if row["task"] == "both"}
    assert (
        agreement["percent_agreement"]["value"],
        agreement["percent_agreement"]["n_judges"],
    ) == (1, 2)
    assert built.metrics("infer_labels")["anonymous_votes"] == {"birds": 3, "both": 8}


@pytest.mark.slow
def test_votes_beside_a_judged_task_leave_its_bytes(tmp_path: Path) -> None:
    """The judged task alone, and beside votes: the same rows."""
    both, alone = mixed(tmp_path / "mixed"), tmp_path / "alone"
    write(
        alone,
        {"judged.csv": (both / "judged.csv").read_text()},
        JUDGED,
        privacy={"pseudonymize": False},
    )
    together, apart = stage_file(both), stage_file(alone)
    for name in (
        "labels",
        "label_distributions",
        "prevalence",
        "judge_confusion",
        "agreement",
        "judges",
    ):
        rows = [
            [r for r in built.rows(name) if r["task"] == "songs"] for built in (together, apart)
        ]
        assert rows[0] == rows[1] != [], name


def test_experts_decide_votes_too(tmp_path: Path) -> None:
    expert = "clip,who,bird\nc1,erin,gull\n"
    fields = {"item": "clip", "judge": "who", "label": "bird", "control": {"value": "adjudication"}}
    source = {"path": "expert.csv", "format": "csv", "fields": fields}
    built = stage_file(write(tmp_path, {"wide.csv": WIDE, "expert.csv": expert}, EACH, source))
    row = built.rows("labels")[0]
    assert (row["item"], row["label"], row["adjudicated"], row["support"]) == (
        "c1",
        "gull",
        True,
        1 / 5,
    )


@pytest.mark.slow
def test_a_task_in_blocks_gives_the_same_bytes(tmp_path: Path) -> None:
    rows = [
        f"c{i:02},{bird},{(i * 7 + n * 3) % 5}" for i in range(12) for n, bird in enumerate("xyz")
    ]
    folder = write(tmp_path, {"long.csv": HEAD + "\n".join([*rows, ""])}, LONG)
    whole = build_file(folder)
    locations = (f"store={tmp_path}/store2", f"gold={tmp_path}/gold2")
    blocks = build_file(folder, *locations, sizes=JobSizes(6, 4, task_judgments=8))
    assert len(blocks.runs["infer_labels"].result.tables["labels"].files) > 2
    for name in ("labels", "label_distributions", "lineage", "items", "agreement", "judges"):
        assert blocks.rows(name) == whole.rows(name), name
    for name in ("items", "anonymous_votes", "not_fitted"):
        assert blocks.metrics("infer_labels")[name] == whole.metrics("infer_labels")[name], name


@pytest.mark.slow
def test_order_of_rows_moves_nothing(tmp_path: Path) -> None:
    head, *rows = WIDE.splitlines(keepends=True)
    first = build_file(write(tmp_path / "a", {"wide.csv": WIDE}, EACH)).hashes()
    turned = head + "".join(reversed(rows))
    second = build_file(write(tmp_path / "b", {"wide.csv": turned}, EACH)).hashes()
    del first["lineage"], second["lineage"]  # it names rows
    assert first == second


HOSTILE = [
    "<script>alert(1)</script>",
    "{k}",
    "a'b\"c",
    "x | y",
    "''; DROP TABLE labels",
    "\u202eowl",
]


@pytest.mark.slow
def test_hostile_texts_are_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import csv

    with (tmp_path / "long.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["clip", "bird", "n"])
        writer.writerows([[text, text, n + 1] for n, text in enumerate(HOSTILE)])
    folder = write(tmp_path, {}, LONG)
    built = build_file(folder)
    assert sorted(distribution(built)) == sorted((t, t, n + 1) for n, t in enumerate(HOSTILE))
    for page in ("report.html", "README.md"):
        assert "<script>alert(1)" not in (built.publication.release.folder / page).read_text()
    assert main(["trace", str(folder), HOSTILE[-1]]) == 0
    assert "\u202e" not in capsys.readouterr().out


@pytest.mark.slow
def test_people_are_told_that_labels_are_majorities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path, {"wide.csv": WIDE}, EACH)
    assert main(["validate", str(folder)]) == 0
    assert "by majority of anonymous votes" in capsys.readouterr().out
    built = build_file(folder)
    pages = built.publication.release.folder
    report, card = (pages / "report.html").read_text(), (pages / "README.md").read_text()
    assert "16 anonymous votes became 3 labels." in report
    assert "majority of votes that come as counts: birds (16 anonymous votes)" in report
    assert "majorities of anonymous votes: birds (16 anonymous votes)" in card
    assert 'counts["share"] = counts["votes"] / totals' in card
    assert main(["status", str(folder)]) == 0
    votes = "labels by majority of anonymous votes, without probabilities: birds 16\n"
    assert votes in capsys.readouterr().out
    assert main(["trace", str(folder), "c1"]) == 0
    trace = capsys.readouterr().out
    assert "by majority vote, without a model: votes are counts\n" in trace
    assert "label owl: certain no, n judgments 5, majority label owl, majority share 0.8," in trace
    assert "wide.csv row 1 (line 2), k=owl   4 votes for 'owl'" in trace
    assert "None" not in trace


@pytest.mark.slow
def test_votes_are_rebuilt_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path, {"wide.csv": WIDE}, EACH)
    build_file(folder)
    (folder / "wide.csv").write_text(WIDE.replace("c1,4,1,0", "c1,1,4,0"))
    built = build_file(folder)
    changes = built.publication.release.manifest["changes"]
    assert changes["changed_labels"] == 1
    assert main(["verify", str(folder), "--rebuild"]) == 0
    capsys.readouterr()
    assert main(["diff", str(folder), "v0001", "v0002"]) == 0
    assert "c1" in capsys.readouterr().out


FIELDS = {"item": "clip", "label": "bird", "votes": "n"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (FIELDS | {"judge": "who"}, "fields maps judge and votes; map judge where a row is"),
        ({"item": "clip", "score": "s", "votes": "n"}, "votes counts labels: fields needs label"),
        (
            FIELDS | {"score": "s"},
            "votes cannot be mapped with score; with votes, fields may map",
        ),
        (FIELDS | {"control": "c", "reward": "r"}, "votes cannot be mapped with control, reward;"),
        (
            FIELDS | {"preference": "p", "item_a": "a", "item_b": "b"},
            "with item_a, item_b, preference",
        ),
        (FIELDS | {"rank": "r", "ranking": "g"}, "votes cannot be mapped with rank, ranking;"),
        (
            {"item": "clip", "label": "bird"},
            "fields needs judge: who judged; or, where a row is a count",
        ),
        ({"label": "bird", "votes": "n"}, "fields needs what was judged"),
    ],
)
def test_what_votes_go_with(tmp_path: Path, fields: dict[str, str], message: str) -> None:
    write(tmp_path, {"long.csv": HEAD}, LONG | {"fields": fields})
    with pytest.raises(ConfigError) as raised:
        load_campaign(tmp_path)
    assert message in str(raised.value)


@pytest.mark.slow
def test_other_numbers_of_votes_are_corrections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path, {"wide.csv": WIDE}, EACH)
    build_file(folder)
    (folder / "wide.csv").write_text(WIDE.replace("c1,4,1,0", "c1,4,3,0"))
    changes = build_file(folder).publication.release.manifest["changes"]
    assert (changes["corrected_judgments"], changes["changed_labels"]) == (1, 0)
    assert main(["diff", str(folder), "v0001", "v0002"]) == 0
    diff = capsys.readouterr().out
    assert "gull (votes: 1)" in diff
    assert "gull (votes: 3)" in diff


@pytest.mark.slow
def test_items_of_votes_do_not_vanish_unseen(tmp_path: Path) -> None:
    rows = [f"c{i:02},{i % 3 + 1},1,0\n" for i in range(40)]
    folder = write(tmp_path, {"wide.csv": WIDE.splitlines()[0] + "\n" + "".join(rows)}, EACH)
    first = build_file(folder)
    assert first.metrics("compare_releases")["vanished_judgments"] == []
    (folder / "wide.csv").write_text(WIDE.splitlines()[0] + "\n" + "".join(rows[:10]))
    staged = stage_file(folder)
    gates = {gate.name: gate for gate in staged.runs["compare_releases"].gates}
    assert (gates["vanished_items"].level, gates["vanished_items"].value) == ("error", 0.75)
    assert gates["vanished_judgments"].level == "pass"


@pytest.mark.slow
def test_known_answers_of_items_with_votes_are_told(tmp_path: Path) -> None:
    """Items of tasks by votes may have a truth: probabilities are held against it elsewhere."""
    folder = mixed(tmp_path)
    (folder / "items.csv").write_text("clip,truth\nb0,owl\nb1,owl\nb9,gull\nc1,owl\ns1,owl\n")
    document = json.loads((folder / "campaign.yaml").read_text())
    fields = {"item": "clip", "truth": "truth"}
    document["items"] = [{"path": "items.csv", "format": "csv", "fields": fields}]
    (folder / "campaign.yaml").write_text(json.dumps(document))
    built = build_file(folder)
    assert {row["task"] for row in built.rows("label_calibration")} == {"songs"}
    card = (built.publication.release.folder / "README.md").read_text()
    assert "| both | all | 3 | 2 |" in card
