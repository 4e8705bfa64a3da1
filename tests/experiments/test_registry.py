"""Experiments as a whole: files, page, sentences, refusals; the same bytes every time."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from annot_pipeline.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.experiments import progress as progress_module
from annot_pipeline.experiments.findings import findings, verdict
from annot_pipeline.experiments.item_experiment import run_item_experiment
from annot_pipeline.experiments.params import ItemExperiment, SurprisalCurves
from annot_pipeline.experiments.progress import Steps, progress_bar
from annot_pipeline.experiments.registry import EXPERIMENTS, NAMES, run_experiment
from annot_pipeline.experiments.surprisal_curves import surprisal_curves
from annot_pipeline.experiments.tables import (
    Table,
    example_items,
    examples_table,
    measured,
    percent,
)
from annot_pipeline.methods.bounded_ra import outcome_probabilities
from annot_pipeline.methods.trueskill import surprisal_of_tie, surprisal_of_win

SMALL = {"n_items": 20, "iterations": 4, "repeats": 3, "rounds": 10, "n_judges": 12}
SMALL_SYSTEMS = {"repeats": 2, "rounds": 10, "per_system": 60, "points": 6, "n_segments": 40}
HOSTILE = '<script>alert("x")</script> & \u202ename\x00'


def silent(_: str) -> None:
    pass


def run(name: str, folder: Path, oracle: Path | None = None, **settings: Any) -> dict[str, Any]:
    return run_experiment(name, settings, None, oracle, folder, silent)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# --- files ---------------------------------------------------------------------------------


def test_items(tmp_path: Path) -> None:
    document = run("lexical", tmp_path, **SMALL)
    assert sorted(contents(tmp_path)) == [
        "curves.csv", "examples.csv", "experiment.html", "gains.csv", "reaches.csv", "scores.csv",
    ]  # fmt: skip
    assert sorted(document) == [
        "experiment", "files", "folder", "found", "next", "notes", "numbers", "parameters",
    ]  # fmt: skip
    assert document["next"] == f"open {tmp_path / 'experiment.html'}"
    assert document["parameters"]["n_items"] == 20
    assert document["parameters"]["reach"] == [3, 6]
    assert sorted(map(Path, document["files"])) == sorted(tmp_path.iterdir())
    json.dumps(document, allow_nan=False)
    curves = rows(tmp_path / "curves.csv")
    assert list(curves[0]) == [
        "task", "measure", "method", "judgments_per_item", "mean", "low", "high",
        "undefined_repetitions", "undefined_rounds",
    ]  # fmt: skip
    assert len(curves) == 2 * 6 * 4
    assert [row["judgments_per_item"] for row in curves[:4]] == ["1", "2", "3", "4"]
    gains = rows(tmp_path / "gains.csv")
    # five methods against DA, and EASL against the control
    assert len(gains) == 2 * 6 * 4
    assert {(row["method"], row["compared_with"]) for row in gains} == {
        ("EASL", "DA"), ("random", "DA"), ("RA", "DA"), ("TrueSkill", "DA"), ("Thurstone", "DA"),
        ("EASL", "random"),
    }  # fmt: skip
    by_name = {(r["measure"], r["method"], r["judgments_per_item"]): r for r in curves}
    for row in gains:
        ours, theirs = (
            float(by_name[row["measure"], row[key], row["judgments_per_item"]]["mean"])
            for key in ("method", "compared_with")
        )
        assert float(row["difference"]) == pytest.approx(ours - theirs, abs=2e-6)
        assert row["interval_over"] == "repetitions"
        assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
    reaches = rows(tmp_path / "reaches.csv")
    assert len(reaches) == 2 * 2 * 6
    assert {row["judgments_per_item"] for row in reaches if row["da_judgments"] == "6"} == {""}
    scores = rows(tmp_path / "scores.csv")
    assert list(scores[0]) == [
        "task", "item", "oracle", "DA", "EASL", "random", "RA", "TrueSkill", "Thurstone",
    ]  # fmt: skip
    assert [row["item"] for row in scores] == [f"item-{n:02d}" for n in range(1, 21)]
    examples = rows(tmp_path / "examples.csv")
    assert list(examples[0]) == ["task", "item", "gold", "DA", "RA", "EASL"]
    by_item = {row["item"]: row for row in scores}
    for row in examples:
        for column, name in (("gold", "oracle"), ("DA", "DA"), ("RA", "RA"), ("EASL", "EASL")):
            assert float(row[column]) == pytest.approx(
                100 * float(by_item[row["item"]][name]), abs=0.0501
            )


def test_systems(tmp_path: Path) -> None:
    document = run("systems", tmp_path, **SMALL_SYSTEMS)
    assert sorted(contents(tmp_path)) == [
        "curves.csv", "experiment.html", "gains.csv", "reaches.csv", "scores.csv",
    ]  # fmt: skip
    curves = rows(tmp_path / "curves.csv")
    assert {row["judgments_per_system"] for row in curves} == {"10", "20", "30", "40", "50", "60"}
    assert {row["method"] for row in curves} == {"DA", "EASL", "random"}
    assert (
        "DA has no correlation at 100 judgments per system or 300 judgments per system"
        in (document["found"][1])
    )
    assert (
        "Intervals over fewer than 10 repetitions are too narrow: ask for more."
        in (document["notes"])
    )


def test_surprisal(tmp_path: Path) -> None:
    document = run("surprisal", tmp_path, points=5, limit=2)
    table = rows(tmp_path / "surprisal.csv")
    assert [float(row["t"]) for row in table] == [-2, -1, 0, 1, 2]
    for row in table:
        t = float(row["t"])
        v, w = surprisal_of_win(t, 0.5)
        v_tie, w_tie = surprisal_of_tie(t, 0.5)
        expected = {"v_win": v, "w_win": w, "v_tie": v_tie, "w_tie": w_tie}
        for name, value in expected.items():
            assert float(row[name]) == pytest.approx(float(value), rel=1e-5, abs=1e-9)
    bounded = rows(tmp_path / "surprisal_bounded.csv")
    assert [float(row["difference"]) for row in bounded] == [-1, -0.5, 0, 0.5, 1]
    p_win, _, p_tie = outcome_probabilities(np.array([-0.5]), np.zeros(1), 0.5)
    assert float(bounded[1]["win"]) == pytest.approx(1 - p_win[0], rel=1e-5)
    assert float(bounded[1]["tie"]) == pytest.approx(1 - p_tie[0], rel=1e-5)
    assert len(document["found"]) == 2
    assert (tmp_path / "experiment.html").read_text().count("<svg") == 2
    even = surprisal_curves(SurprisalCurves())
    np.testing.assert_allclose(even.v_tie, -even.v_tie[::-1], atol=1e-12)


def test_files_are_written_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("lexical", tmp_path, **SMALL)
    before = contents(tmp_path)
    written = []
    real = Path.write_bytes

    def full_disk(path: Path, data: bytes) -> int:
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        run("lexical", tmp_path, **SMALL | {"seed": 4})
    assert contents(tmp_path) == before


# --- determinism ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings"),
    [("lexical", SMALL), ("political", SMALL), ("systems", SMALL_SYSTEMS), ("surprisal", {})],
)
def test_twice_the_same_bytes(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    run(name, tmp_path / "a", **settings)
    first = contents(tmp_path / "a")
    run(name, tmp_path / "a", **settings)
    run(name, tmp_path / "b" / "deeper", **settings)
    assert contents(tmp_path / "a") == first == contents(tmp_path / "b" / "deeper")
    if name != "surprisal":
        run(name, tmp_path / "c", **settings | {"seed": 18})
        assert contents(tmp_path / "c")["curves.csv"] != first["curves.csv"]


def test_threads_change_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from annot_pipeline.experiments.registry import run_experiment; "
        f"run_experiment('lexical', {SMALL!r}, None, None, Path(sys.argv[1]), lambda _: None)"
    )
    for threads in ("1", "2"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, threads)
        command = [sys.executable, "-c", code, str(tmp_path / threads)]
        subprocess.run(command, check=True, env=environment)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_more_repetitions_leave_the_first_ones_as_they_are() -> None:
    few, more = (
        run_item_experiment("lexical", ItemExperiment(**SMALL | {"repeats": n}), None, silent)
        for n in (2, 3)
    )
    assert (few.correlations.value == more.correlations.value[:, :2]).all()
    assert (few.correlations.rounds == more.correlations.rounds[:, :2]).all()
    once = run_item_experiment("lexical", ItemExperiment(**SMALL | {"repeats": 1}), None, silent)
    for method, scores in once.final().items():
        assert (scores == more.final()[method]).all()
        rho = spearmanr(scores.round(9), once.truth).statistic
        place = more.correlations.methods.index(method)
        assert more.correlations.value[0, 0, place, -1] == pytest.approx(rho)


# --- judges and truth ----------------------------------------------------------------------


def test_perfect_judges_are_perfect_from_the_first_round() -> None:
    params = ItemExperiment(
        noise=0, bias=0, stretch=0, whole_points=False, repeats=2, iterations=3, rounds=5
    )
    for name in ("lexical", "political"):
        found = run_item_experiment(name, params, None, silent).correlations
        for method in ("DA", "EASL", "random"):
            place = found.methods.index(method)
            assert (found.value[:, :, place] > 1 - 1e-12).all()
            assert (found.rounds[:, :, place] > 1 - 1e-9).all()


def test_spammers_know_nothing() -> None:
    params = ItemExperiment(spam=1, repeats=5, iterations=3, rounds=20)
    found = measured(run_item_experiment("lexical", params, None, silent), (3,), 17)
    assert (found.bands.low < 0).all()
    assert (found.bands.high > 0).all()
    assert np.abs(found.bands.value).max() < 0.2


def test_the_truth_is_skewed_or_has_the_shape_of_a_u() -> None:
    params = ItemExperiment(**SMALL | {"n_items": 150, "repeats": 1, "iterations": 1})
    lexical, political = (
        np.histogram(run_item_experiment(name, params, None, silent).truth, 5, (0, 1))[0]
        for name in ("lexical", "political")
    )
    assert lexical.argmax() == 1
    assert (np.diff(lexical[1:]) < 0).all()
    assert (np.diff(political[:3]) < 0).all()
    assert political[4] > political[3]


def test_an_oracle_gives_items_and_truth(tmp_path: Path) -> None:
    lines = [f"{'cab'[n % 3]}{n},{n / 10 - 1}" for n in range(20)]
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("\n".join(["sent,label", *lines]))
    other.write_text("\n".join(["sent,label", *lines[::-1]]))
    params = ItemExperiment(iterations=2, repeats=2, rounds=5, scale=(-1, 1))
    found, again = (run_item_experiment("political", params, p, silent) for p in (one, other))
    assert list(found.items) == sorted(line.split(",")[0] for line in lines)
    np.testing.assert_allclose(np.sort(found.truth), np.arange(20) / 20)
    assert (found.correlations.value == again.correlations.value).all()
    fewer = run_item_experiment("political", replace(params, n_items=6), one, silent)
    assert len(fewer.items) == 6
    assert set(fewer.items) < set(found.items)


def test_an_oracle_that_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"

    def refusal(text: str, **settings: Any) -> str:
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            run("political", tmp_path / "out", path, **settings)
        assert not (tmp_path / "out").exists()
        return str(caught.value).replace(str(path), "FILE")

    title = "an experiment that cannot be\n  "
    six = "item,truth\n" + "".join(f"i{n},{n}\n" for n in range(6))
    assert refusal(six) == (
        f"{title}FILE: the truth lies outside of the scale, 0 to 1\n"
        "    found:   'i2: 2', 'i3: 3', 'i4: 4', 'i5: 5'\n"
        "    do:      set scale=lowest,highest, as scale=-2,2"
    )
    assert refusal(six, scale="0,5", n_items=7) == (
        f"{title}n_items: is 7, and the oracle has 6\n    allowed: up to 6"
    )
    assert refusal("item,truth\na,1\nb,0\n") == (
        f"{title}FILE: holds 2 items\n    allowed: 5 or more, as a HIT has"
    )
    assert refusal("task,item,truth\nt,a,1\ns,a,0\n") == (
        f"{title}FILE: holds several tasks\n    found:   's', 't'\n    allowed: one"
    )
    with pytest.raises(ConfigError) as caught:
        run("lexical", tmp_path / "out", hit_size=151)
    assert str(caught.value) == (
        f"{title}n_items: is 150 by default\n    allowed: 151 or more, as a HIT has"
    )


def test_a_constant_truth_is_undefined_and_said_so(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("item,truth\n" + "".join(f"i{n},.5\n" for n in range(10)))
    document = run("political", tmp_path / "out", path, iterations=3, repeats=2, rounds=5)
    assert document["found"] == [
        "At 3 judgments per item EASL and DA cannot be compared: a correlation is undefined where "
        "all scores are equal, or a method could not ask so much.",
        "DA has no correlation at 3 judgments per item or 6 judgments per item: it is undefined, "
        "or was not asked so many.",
    ]
    curves = rows(tmp_path / "out" / "curves.csv")
    assert {row["mean"] for row in curves} == {""}
    assert {row["undefined_repetitions"] for row in curves} == {"2"}
    json.dumps(document, allow_nan=False)


# --- tables --------------------------------------------------------------------------------


def test_percent_is_rounded_half_up() -> None:
    # 100 x .2855 is 28.549999999999997
    shares = (1, 0.9285, 0.3215, 0.2855, 0.1249, 0.00049, 0.0005, 0, 0.78575)
    assert [percent(share) for share in shares] == [
        "100.0", "92.9", "32.2", "28.6", "12.5", "0.0", "0.1", "0.0", "78.6",
    ]  # fmt: skip


def test_examples_are_the_ends_of_each_fifth() -> None:
    truth = np.array([0.0, 0.1, 0.19, 0.2, 0.59, 0.6, 0.8, 0.95, 1.0, 1.0])
    assert example_items(truth) == [8, 6, 5, 4, 3, 2, 0]
    assert example_items(np.array([0.3])) == [0]


def test_examples_do_not_depend_on_noise_beyond_the_ninth_decimal() -> None:
    assert example_items(np.array([0.6 - 1e-12, 0.6, 0.7])) == [2, 0]  # all of the fourth fifth


def test_a_table_as_csv() -> None:
    table = Table("t", ("a", "b"), (("x,\n", 0.123456789), (1, float("nan")), (None, -0.0)))
    assert table.csv() == b'a,b\n"x,\n",0.123457\n1,\n,0\n'
    assert list(csv.reader(io.StringIO(table.csv().decode())))[1][0] == "x,\n"


# --- page ----------------------------------------------------------------------------------


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]


def page(folder: Path) -> tuple[str, Tags]:
    text = (folder / "experiment.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    return text, tags


def test_the_page_holds_all_figures_and_needs_no_network(tmp_path: Path) -> None:
    document = run("lexical", tmp_path, **SMALL)
    text, tags = page(tmp_path)
    assert tags.tags.count("figure") == tags.tags.count("svg") == 5
    for part in (
        "Spearman&#x27;s rho with",
        "Pearson&#x27;s r with",
        "minus that of DA",
        "Final scores",
        "Match quality of EASL",
    ):
        assert part in text
    for panel in ("iteration 0", "iteration 3"):
        assert panel in text
    assert "iteration 6" not in text  # there are four
    assert not [link for link in tags.links if not link.startswith(("#", "data:"))]
    assert "script" not in tags.tags
    for sentence in document["found"]:
        assert sentence.replace("'", "&#x27;") in text
    for name, _, _ in EXPERIMENTS["lexical"].settings():
        assert f"<td>{name}</td>" in text


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "truth"])
        writer.writerows([f"{HOSTILE}{n}".replace("\x00", ""), n / 9] for n in range(10))
    run("political", tmp_path / "out", path, iterations=2, repeats=2, rounds=5)
    text, tags = page(tmp_path / "out")
    assert "script" not in tags.tags
    assert "&lt;script&gt;alert(&quot;x&quot;)" in text
    assert "\u202e" not in text
    names = {row["item"] for row in rows(tmp_path / "out" / "examples.csv")}
    assert all(name.startswith("<script>") for name in names)  # verbatim in tables


# --- sentences -----------------------------------------------------------------------------


def test_verdicts() -> None:
    assert verdict((0.1, 0.05, 0.2)) == "EASL is better"
    assert verdict((-0.1, -0.2, -0.05)) == "EASL is worse"
    assert verdict((0.1, -0.05, 0.2)) == "no difference can be told"
    assert verdict((float("nan"),) * 3) == "none"


def test_sentences_say_what_the_tables_say(tmp_path: Path) -> None:
    found = run("lexical", tmp_path, **SMALL | {"context": 0.5})["found"]
    curves, gains, reaches = (rows(tmp_path / f"{n}.csv") for n in ("curves", "gains", "reaches"))
    here = {"measure": "spearman", "judgments_per_item": "3"}

    def of(table: list[dict[str, str]], **cells: str) -> dict[str, str]:
        (row,) = [row for row in table if all(row[k] == v for k, v in cells.items())]
        return row

    easl, da = (float(of(curves, **here, method=m)["mean"]) for m in ("EASL", "DA"))
    gain = of(gains, **here, method="EASL", compared_with="DA")
    ends = [f"{float(gain[key]):+.3f}" for key in ("difference", "low", "high")]
    assert f"is {easl:.3f} for EASL and {da:.3f} for DA: EASL is better, {ends[0]}" in found[0]
    assert f"({ends[1]} to {ends[2]})" in found[0]
    needs = of(reaches, measure="spearman", method="EASL", da_judgments="3")
    assert f"EASL needs {float(needs['judgments_per_item']):.3g} (" in found[1]
    assert found[1].startswith("For what DA has at 3 judgments per item EASL needs")
    assert "at 6 judgments" not in found[1]  # beyond four rounds


def test_sentences_on_many_tasks_count() -> None:
    tasks = [
        replace(
            run_item_experiment("lexical", ItemExperiment(**SMALL | {"context": c}), None, silent),
            task=str(c),
        )
        for c in (0.0, 0.9)
    ]
    every = [measured(task, (3,), 17) for task in tasks]
    at, needs = findings(every, (3,), "item")
    better = [verdict(one_gain) for one in every for one_gain in [_gain(one)]].count(
        "EASL is better"
    )
    assert f"than DA in {better} of 2 tasks" in at
    assert better >= 1
    assert needs.startswith("For what DA has at 3 judgments per item EASL needs fewer in ")


def _gain(one: Any) -> tuple[float, float, float]:
    value, low, high = (
        float(part[0, one.task.correlations.methods.index("EASL"), 2])
        for part in vars(one.gains[0].difference).values()
    )
    return value, low, high


def test_the_agreement_of_two_answers_is_a_fact() -> None:
    exact = ItemExperiment(**SMALL, noise=0, bias=0, stretch=0, whole_points=False)
    assert run_item_experiment("lexical", exact, None, silent).facts == {
        "items": 20, "iterations": 4, "spearman_of_two_answers": pytest.approx(1),
    }  # fmt: skip
    once = replace(exact, iterations=1)
    facts = run_item_experiment("lexical", once, None, silent).facts
    assert facts["spearman_of_two_answers"] is None


# --- refusals ------------------------------------------------------------------------------


def refusal(name: str, folder: Path, **given: Any) -> str:
    arguments: dict[str, Any] = {"settings": {}, "campaign": None, "oracle": None} | given
    with pytest.raises(ConfigError) as caught:
        run_experiment(name, **arguments, folder=folder, progress=silent)
    return str(caught.value)


def test_experiments_that_cannot_be(tmp_path: Path) -> None:
    assert refusal("lexicl", tmp_path) == (
        "no such experiment\n  lexicl: unknown\n"
        "    allowed: lexical, political, systems, replay, replay_systems, surprisal, "
        "topology\n"
        "    do:      did you mean lexical?"
    )
    title = "an experiment that cannot be\n  "
    assert refusal("replay", tmp_path) == (
        f"{title}replay: draws recorded judgments: name their campaign\n"
        "    do:      annot simulate replay CAMPAIGN"
    )
    assert refusal("surprisal", tmp_path, oracle=Path("x")) == (
        f"{title}surprisal: takes no oracle"
    )
    (tmp_path / "file").write_text("")
    assert refusal("lexical", tmp_path / "file") == (
        f"{title}{tmp_path / 'file'}: is a file\n    do:      name a folder with -o"
    )


def test_a_campaign_must_be_asked_for_and_must_not_read_the_experiment(tmp_path: Path) -> None:
    source = {
        "path": "*/*.csv", "format": "csv",
        "fields": {"item": "item", "judge": "judge", "score": "score"},
    }  # fmt: skip
    (tmp_path / "campaign.yaml").write_text(json.dumps({"campaign": "c", "sources": [source]}))
    campaign = load_campaign(tmp_path)
    assert refusal("lexical", tmp_path / "out", campaign=campaign) == (
        "an experiment that cannot be\n  lexical: takes no campaign: its judges are simulated"
    )
    said = refusal("replay", tmp_path / "out", campaign=campaign)
    assert said.startswith("the next build would read it as an export")
    assert not (tmp_path / "out").exists()


def test_names() -> None:
    assert NAMES == (
        "lexical", "political", "systems", "replay", "replay_systems", "surprisal", "topology",
    )  # fmt: skip


# --- progress ------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_told_every_half_second_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(0, 100, 0.2))
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: next(clock))
    told: list[str] = []
    steps = Steps(told.append, "lexical", 7)
    for _ in range(7):
        steps.step()
    assert told == ["lexical: 3/7", "lexical: 6/7", "lexical: 7/7"]


def test_an_experiment_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[str] = []
    run_experiment("lexical", SMALL, None, None, tmp_path, told.append)
    assert told[-1] == "lexical: 12/12"


def test_a_bar_on_a_terminal_and_lines_elsewhere() -> None:
    messages = ["reading \x1b[2J", "replay: 1/4", "replay: 4/4"]
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with progress_bar(stream) as tell:
            for message in messages:
                tell(message)
    assert terminal.getvalue() == (
        "  reading \ufffd[2J\n"
        f"\r\x1b[K  [{'#' * 8}{'.' * 22}] replay: 1/4"
        f"\r\x1b[K  [{'#' * 30}] replay: 4/4\n"
    )
    assert file.getvalue() == "  reading \ufffd[2J\n  replay: 1/4\n  replay: 4/4\n"


def test_a_line_after_a_bar_begins_anew() -> None:
    terminal = Terminal()
    with progress_bar(terminal) as tell:
        tell("a: 1/2")
        tell("gate 0/0")
    assert terminal.getvalue().endswith("a: 1/2\n  gate 0/0\n")


def test_examples_of_an_experiment() -> None:
    task = run_item_experiment("lexical", ItemExperiment(**SMALL), None, silent)
    table = examples_table([task])
    assert [row[1] for row in table.rows] == [task.items[n] for n in example_items(task.truth)]
    gold = [float(str(row[2])) for row in table.rows]
    assert gold == sorted(gold, reverse=True)


# --- documentation -------------------------------------------------------------------------


def test_every_experiment_and_setting_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text()

    def written(default: Any) -> str:
        if default is None or isinstance(default, bool):
            return {None: "null", True: "true", False: "false"}[default]
        if isinstance(default, tuple):
            return ",".join(map(written, default))
        return f"{default:g}" if isinstance(default, int | float) else str(default)

    for experiment in EXPERIMENTS.values():
        assert f"| `{experiment.name}` |" in text
        for name, default, says in experiment.settings():
            rows = re.findall(rf"\| `{name}` \| (.*) \| (.*) \| (.*) \|\n", text)
            mine = [row for row in rows if experiment.name in row[0].split(", ")]
            assert [row[1:] for row in mine] == [(written(default), says)], name
