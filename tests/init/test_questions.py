"""What the cells do not say: questions, options, drafts, the conversation on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import load_campaign
from annot_pipeline.errors import ConfigError
from annot_pipeline.init import OpenError, guess_campaign
from annot_pipeline.init.conversation import converse, preview
from annot_pipeline.init.roles import shape_of
from annot_pipeline.init.sniff import read_sample
from annot_pipeline.init.table import Sheet
from tests.conftest import build_file
from tests.init.conftest import Guess, write_csv

Guesses = Callable[..., Guess]
ROWS = [("Input.id", "Answer.acceptable"), *((f"x{n * 2 // 3}", (1, -1)[n % 2]) for n in range(12))]


def anonymous(folder: Path) -> Path:
    return write_csv(folder / "answers.csv", ROWS)


def test_a_refusal_ends_with_the_command_that_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = anonymous(tmp_path), tmp_path / "c"
    assert main(["init", str(path), "-o", str(folder)]) == 2
    printed = capsys.readouterr().err
    assert f"do:      annot init {path} -o {folder} --judge anonymous" in printed
    assert "by hand" not in printed
    assert 'judge: "?"' in (folder / "campaign.yaml").read_text()
    assert main(["validate", str(folder)]) == 2
    assert "sources.0.fields.judge: is open (?)" in capsys.readouterr().err
    assert main(["init", str(path), "-o", str(folder), "--judge", "anonymous"]) == 0
    assert main(["validate", str(folder)]) == 0, "the draft is replaced"


def test_questions_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["init", str(anonymous(tmp_path)), "-o", str(tmp_path / "c"), "--json"])
    printed = capsys.readouterr()
    document = json.loads(printed.out or printed.err)
    [question] = document.get("error", document)["questions"]
    assert question["open"] == "judge"
    [first, *_] = question["options"]
    assert first.pop("command").endswith("answers.csv -o " + str(tmp_path / "c --judge anonymous"))
    assert first == {"option": "--judge anonymous", "evidence": "every row is another person's"}
    [believed] = document.get("error", document)["beliefs"]
    assert {role["role"]: role["expression"] for role in believed["roles"]} == {
        "judge": "?", "item": "Input.id", "label": "Answer.acceptable"
    }  # fmt: skip


def test_beliefs_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Worker and batch both recur over items; the batch meets an item more than once."""
    rows = [("worker", "batch", "item", "label", "length")]
    rows += [(f"w{j}", (i + j) // 9, f"i{i}", "ab"[(i + j) % 3 % 2], len(str(i)))
             for i in range(18) for j in range(4)]  # type: ignore[misc]  # fmt: skip
    path = write_csv(tmp_path / "v.csv", rows)
    assert main(["init", str(path), "-o", str(tmp_path / "c"), "--json"]) == 0
    [believed] = json.loads(capsys.readouterr().out)["beliefs"]
    by_role = {role["role"]: role for role in believed["roles"]}
    assert by_role["judge"]["expression"] == "worker"
    assert by_role["judge"]["why"] == "4 different, 18 rows each on average"
    assert by_role["judge"]["evidence"]["at most one answer"] == 1
    assert by_role["judge"]["evidence"]["things meet several judges"] == 1
    assert by_role["item"]["expression"] == "item"
    assert by_role["label"]["evidence"]["differs within things"] == 1
    for role in by_role.values():
        assert all(other["score"] <= role["score"] for other in role["alternatives"])


@pytest.mark.slow
def test_every_row_of_a_label_is_another_persons_vote(tmp_path: Path) -> None:
    rows = [(f"x{n // 3}", (1, 1, -1)[n % 3]) for n in range(12)]
    path = write_csv(tmp_path / "answers.csv", [ROWS[0], *rows])
    text = guess_campaign([path], tmp_path, by_role={"judge": ("anonymous",)})
    (tmp_path / "campaign.yaml").write_text(text)
    labels = {row["item"]: row for row in build_file(tmp_path).rows("labels")}
    assert [labels[f"x{n}"]["label"] for n in range(4)] == ["1"] * 4
    assert {row["n_judgments"] for row in labels.values()} == {3}


def test_every_row_of_a_score_is_another_persons(tmp_path: Path, guess: Guesses) -> None:
    rows = [("text_id", "valence"), *((f"t{n // 4}", n % 5 + 0.5) for n in range(24))]
    actual = guess(write_csv(tmp_path / "v.csv", rows), judge="anonymous")
    assert actual.facts["fates"]["used"] == 24
    assert len(actual.used("judge")) == 24


@pytest.mark.parametrize(
    ("by_role", "says"),
    [
        ({"judge": "nobody"}, "no such column"),
        ({"judge": "who", "score": "note"}, "0% of its cells are numbers"),
        ({"judge": "who", "item": "same"}, "it is the same in all rows"),
        ({"judge": "empty"}, "it is blank in all rows"),
    ],
)
def test_answers_are_checked_against_the_data(
    tmp_path: Path, by_role: dict[str, str], says: str
) -> None:
    rows = [("who", "thing", "note", "same", "empty")]
    rows += [(f"w{n % 3}", f"t{n // 3}", "good" if n % 2 else "bad", "x", "") for n in range(30)]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(ConfigError, match=says):
        guess_campaign([path], tmp_path, by_role={r: (c,) for r, c in by_role.items()})


def test_labels_and_scores_by_option(tmp_path: Path, guess: Guesses) -> None:
    rows = [("a", "b", "c", "d", "e")]
    rows += [(f"{n % 4}", f"{n // 4}", "xy"[n % 3 % 2], "xy"[n % 5 % 2], n % 7) for n in range(40)]  # type: ignore[misc]
    actual = guess(write_csv(tmp_path / "v.csv", rows), judge="a", item="b", label="c,d")
    assert actual.used("task") == {("c",), ("d",)}


def test_columns_that_are_judges_by_option(tmp_path: Path, guess: Guesses) -> None:
    rows = [("tweet", "toxic", "rude"), *((f"t{n}", n % 2, n % 3 % 2) for n in range(12))]
    actual = guess(write_csv(tmp_path / "v.csv", rows), each="toxic,rude", judge="each")
    assert actual.used("judge") == {("toxic",), ("rude",)}


def test_a_judge_without_second_opinions_is_asked_about(tmp_path: Path, guess: Guesses) -> None:
    rows = [("worker", "item", "label"), *((f"w{n % 3}", f"i{n}", "ab"[n % 2]) for n in range(30))]
    path = write_csv(tmp_path / "v.csv", rows)
    with pytest.raises(OpenError, match="no item has two judges"):
        guess_campaign([path], tmp_path)
    assert guess(path, judge="worker", item="item").facts["fates"]["used"] == 30


def test_a_blank_judge_column_is_called_blank(tmp_path: Path) -> None:
    rows = [("annotator", "item", "label"), *(("", f"i{n // 3}", "ab"[n % 2]) for n in range(30))]
    with pytest.raises(OpenError, match="annotator, which may be meant for it, is blank in all"):
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)


def test_tables_of_means_and_of_final_labels_are_called_so(tmp_path: Path) -> None:
    means = [("item", "score_mean", "score_std"), *((f"i{n}", n / 7, 0.5 + n) for n in range(20))]
    with pytest.raises(OpenError, match="looks like a table of means"):
        guess_campaign([write_csv(tmp_path / "m.csv", means)], tmp_path)
    final = [("item", "label"), *((f"i{n}", "ab"[n % 2]) for n in range(20))]
    with pytest.raises(OpenError, match="these may be final labels"):
        guess_campaign([write_csv(tmp_path / "f.csv", final)], tmp_path)


# --- the conversation ----------------------------------------------------------------------------


def test_numbers_and_names_answer(tmp_path: Path) -> None:
    said: list[str] = []
    typed = iter(["9", "nobody", "1"])
    text = converse(
        lambda by_role: guess_campaign([anonymous(tmp_path)], tmp_path, by_role=by_role),
        {}, said.append, lambda _: next(typed),
    )  # fmt: skip
    assert "judge: anonymous" in text
    assert "there is no answer 9" in said
    assert "no such column" in said


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_a_terminal_that_closes_leaves_the_question(
    tmp_path: Path, end: type[BaseException]
) -> None:
    def close(_: str) -> str:
        raise end

    with pytest.raises(OpenError):
        converse(
            lambda by_role: guess_campaign([anonymous(tmp_path)], tmp_path, by_role=by_role),
            {}, lambda _: None, close,
        )  # fmt: skip


def test_names_are_shown_by_their_shape(tmp_path: Path) -> None:
    rows = [("who", "name", "mark"), ("Ann Smith", "Bob7", 5), ("Cy", "Di", 3)]
    sheet = Sheet([read_sample(write_csv(tmp_path / "v.csv", rows)).table])
    shown = "\n".join(preview(sheet.table))
    assert "Aa Aa | Aa" in shown
    assert "5 | 3" in shown
    assert not any(name in shown for name in ("Ann", "Smith", "Bob", "Cy", "Di"))
    assert shape_of("Ann-123x") == "Aa-9a"


def test_a_question_shows_no_names(tmp_path: Path) -> None:
    rows = [("who", "track", "val")]
    rows += [(f"Smith{n % 5}", f"t{n // 5}", n % 9) for n in range(50)]  # type: ignore[misc]
    path = write_csv(tmp_path / "v.csv", rows)
    try:
        text = guess_campaign([path], tmp_path)
    except OpenError as error:
        text = f"{error}{error.draft}{error.document()}"
    assert "Smith" not in text


def on_terminal(command: Sequence[str], answers: list[str]) -> tuple[str, int]:
    """Run a command on a terminal of its own; returns what it printed, and its status."""
    ours, theirs = pty.openpty()
    code = "import sys; from annot_pipeline.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *command], stdin=theirs, stdout=theirs, stderr=theirs,
        close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    printed, start = b"", time.monotonic()
    while time.monotonic() - start < 60:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                printed += os.read(ours, 65536)
            except OSError:
                break
            if printed.endswith(b"nothing to stop: ") and answers:
                os.write(ours, answers.pop(0).encode() + b"\n")
        elif process.poll() is not None:
            break
    os.close(ours)
    return printed.decode(), process.wait(10)


def test_a_terminal_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    printed, status = on_terminal(["init", str(anonymous(tmp_path)), "-o", str(folder)], ["1"])
    assert status == 0
    assert "1  --judge anonymous  (every row is another person's)" in printed
    assert load_campaign(folder).settings.sources[0].fields["votes"]


# --- sizes ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_thousand_columns(tmp_path: Path) -> None:
    rows = [[f"col{n}" for n in range(10_000)], *([n % 4 for n in range(10_000)] for _ in range(9))]
    with pytest.raises(OpenError, match="the file has 10,000 columns") as caught:
        guess_campaign([write_csv(tmp_path / "v.csv", rows)], tmp_path)
    assert len(str(caught.value)) < 3_000


DIGITS = "[0-9]"


def test_the_folder_that_is_given_names_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [("judge", "item", "label")]
    rows += [(f"j{j}", i, "ab"[(i + j) % 2]) for i in range(9) for j in range(3)]
    write_csv(tmp_path / "tone/in/night-01.csv", rows)
    monkeypatch.chdir(tmp_path / "tone")
    for options, name in ((["-o", "."], "tone"), (["--force"], "night_01")):
        assert main(["init", "in/night-01.csv", *options]) == 0
        assert load_campaign(tmp_path / "tone").settings.campaign == name


def test_copies_of_rows_are_one_judgment(tmp_path: Path, guess: Guesses) -> None:
    rows = [(f"j{j}", f"i{i}", "ab"[(i + j) % 2]) for i in range(9) for j in range(3)]
    path = write_csv(tmp_path / "v.csv", [("judge", "item", "label"), *rows * 5])
    with pytest.raises(OpenError) as error:
        guess_campaign([path], tmp_path)
    assert str(error.value.questions[0].options[0]) == "--item item"
    fates = guess(path, item="item").facts["fates"]
    assert (fates["used"], fates["duplicate"]) == (27, 108)
    again = write_csv(tmp_path / "w.csv", [("judge", "item", "label"), *rows, ("j0", "i0", "b")])
    assert "native_id" not in guess_campaign([again], tmp_path)


def test_a_folder_is_a_glob_of_it(tmp_path: Path) -> None:
    rows = [("judge", "item", "label")]
    rows += [(f"j{j}", i, "ab"[(i + j) % 2]) for i in range(9) for j in range(3)]
    path = write_csv(tmp_path / "in/night-01.csv", rows)
    text = guess_campaign([tmp_path / "in"], tmp_path)
    assert "path: in/*.csv" in text
    assert "only this file" not in text
    text = guess_campaign([path], tmp_path)
    assert "path: in/night-01.csv" in text
    assert "only this file" in text


@pytest.mark.parametrize(
    ("days", "beside", "path"),
    [
        ((29, 30), "", "in/*.csv"),
        ((29, 30), "notes.csv", f"in/{DIGITS * 4}-{DIGITS * 2}-*.csv"),
        ((30,), "", "in/*.csv"),
        ((30,), "notes.csv", f"in/{DIGITS * 4}-{DIGITS * 2}-{DIGITS * 2}.csv"),
    ],
)
def test_files_that_go_on_are_a_glob_that_goes_on(
    tmp_path: Path, days: tuple[int, ...], beside: str, path: str
) -> None:
    for day in days:
        rows = [("judge", "item", "label")]
        rows += [(f"j{j}", f"{day}-{i}", "ab"[(i + j) % 2]) for i in range(9) for j in range(3)]
        write_csv(tmp_path / f"in/2026-11-{day}.csv", rows)
    if beside:
        write_csv(tmp_path / "in" / beside, [("topic", "remark"), ("x", "y")])
    text = guess_campaign([tmp_path / "in"], tmp_path)
    [written] = re.findall("path: (.+?)(?:  #|$)", text, re.MULTILINE)
    assert written.strip('"') == path
    write_csv(tmp_path / "in/2026-12-01.csv", rows)
    assert tmp_path / "in/2026-12-01.csv" in tmp_path.glob(path)
