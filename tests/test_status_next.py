"""`annot status` says what is left to do."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from annot_pipeline.cli import main
from annot_pipeline.cli.status import status_lines
from tests.conftest import build_file

JUDGES: dict[str, Any] = {
    "verdicts": {}, "label_verdicts": {}, "failed": {}, "random": [], "suspected": [],
}  # fmt: skip


def document(*levels: str, **more: Any) -> dict[str, Any]:
    checks = [
        {
            "level": level,
            "name": f"gate{n}",
            "value": 2,
            "question": "number of things",
            "detail": "",
            "do": "x",
        }
        for n, level in enumerate(levels)
    ]
    release = {"version": "v0001", "created_at": "2024", "path": "gold/v0001", "checks": checks}
    release |= {"damaged": [], "decisions": {"decided": 0, "overridden": 0}}
    release |= {"anonymous_votes": {}, "judges": JUDGES}
    return {
        "campaign": "c", "release": release, "unpointed": [], "arrived": {},
        "exports_not_compared": [], "unread": [],
        "settings_changed": False, "changed_settings": [], "not_compared": None, "last_build": None,
        "unended_build": None, "unfinished_forgets": [], "build_due": False, "failing": [],
        "rolled_back": None, "failed_build": None, "damaged_note": None, "refused_folders": None,
        "exposed_secrets": [],
        "candidate": None, "dropped": {}, "exclude": {}, "unused_exclusions": [],
    } | more  # fmt: skip


@pytest.mark.parametrize(
    ("actual", "step"),
    [
        (document("pass"), "nothing to do"),
        (document("pass", "warn"), "1 warning to resolve (see above)"),
        (document("warn", "pass", "warn"), "2 warnings to resolve (see above)"),
        (document("pass", unread=["b.txt"]), "1 unread file to resolve (see above)"),
        (
            document("warn", "warn", unread=["b.txt", "c.txt"]),
            "2 warnings and 2 unread files to resolve (see above)",
        ),
        (document("warn", build_due=True), "annot build CAMPAIGN"),
        (
            document(failing=[{"what": "g", "do": "x"}]),
            "resolve the failed gate (x), then annot build CAMPAIGN",
        ),
        (
            document(failing=[{"what": "g", "do": "x"}], candidate={"do": ["diff", "publish"]}),
            "diff; then publish; or resolve the failed gate (x), then annot build CAMPAIGN",
        ),
        (document() | {"release": None}, "nothing to do"),
        (
            document(build_due=True, failed_build={"do": ["free space"]}),
            "resolve the error of the last build (free space), then annot build CAMPAIGN",
        ),
        (
            document(build_due=True, refused_folders={"what": "store", "do": "set store"}),
            "set store",
        ),
    ],
)
def test_the_next_step_does_not_pass_over_warnings(actual, step):
    told = " ".join(" ".join(status_lines(actual, "CAMPAIGN")).split())
    assert told.endswith(f"next: {step}")


VOTES = "item,judge,label\n" + "".join(
    f"i{n},w{judge},{'no' if n % 2 else 'yes'}\n" for n in range(6) for judge in "abc"
)
FIELDS = {"item": "item", "judge": "judge", "label": "label"}
STRONG = "a key of the tests, long enough to be one"


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of one export that nobody has built."""
    monkeypatch.delenv("ANNOT_KEY", raising=False)
    folder = tmp_path / "campaign"
    (folder / "exports").mkdir(parents=True)
    (folder / "exports" / "a.csv").write_text(VOTES)
    write(folder)
    return folder


@pytest.mark.slow
def test_a_file_that_a_gate_warns_of_counts_once(capsys, campaign):
    build_file(campaign)
    (campaign / "exports" / "b.csv").write_text(VOTES)
    write(campaign, sources=[{"path": "exports/a*.csv", "format": "csv", "fields": FIELDS}])
    build_file(campaign)
    checks = arrived(campaign, capsys)["release"]["checks"]
    warned = [check["name"] for check in checks if check["level"] == "warn"]
    assert "unread_files" in warned
    plural = f"{len(warned)} warning{'s' * (len(warned) > 1)}"
    assert next_step(capsys, "status", campaign) == f"{plural} to resolve (see above)"
    assert main(["status", str(campaign)]) == 0
    assert capsys.readouterr().out.count("b.csv") == 1, "the warning lists it"
    (campaign / "exports" / "c.csv").write_text(VOTES)
    assert main(["status", str(campaign)]) == 0
    assert "not read, no source matches: exports/b.csv, exports/c.csv\n" in capsys.readouterr().out


def write(folder: Path, **settings: Any) -> None:
    source = {"path": "exports/*.csv*", "format": "csv", "fields": FIELDS}
    (folder / "campaign.yaml").write_text(
        json.dumps({"campaign": "small", "sources": [source], **settings})
    )


def run(capsys: Any, *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main([str(word) for word in words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def next_step(capsys: Any, *words: object) -> str:
    _, step = ("\n" + run(capsys, *words)[1]).split("\nnext: ")
    return " ".join(step.split())


@pytest.mark.slow
def test_after_a_refused_export_status_gives_the_advice_of_the_error(capsys, campaign):
    bomb = campaign / "exports" / "b.csv.gz"
    bomb.write_bytes(gzip.compress(b"item,judge,label\n" + b"i1,w1,yes\n" * 3_000_000))
    limited = ("--set", "limits.unpacked_bytes=1000000")
    assert run(capsys, "build", campaign, *limited)[0] == 1
    step = next_step(capsys, "status", campaign, *limited)
    assert "limits.unpacked_bytes" in step
    assert step.endswith(f"then annot build {campaign} {' '.join(limited)}")
    bomb.unlink()
    step = next_step(capsys, "status", campaign, *limited)
    assert step == f"annot build {campaign} {' '.join(limited)}"


@pytest.mark.slow
def test_after_the_gate_published_names_status_and_validate_give_its_advice(capsys, campaign):
    text = VOTES.replace("wa,yes", "worker-anna,yes").replace("wb,yes", "wb,worker-anna said so")
    (campaign / "exports" / "a.csv").write_text(text)
    (campaign / "exports" / "worker-anna.csv").write_text(VOTES)
    status, _, error = run(capsys, "build", campaign)
    assert status == 1
    assert "raw names" in error
    assert "nothing was published; there is no release yet" in error
    for command in ("status", "validate"):
        step = next_step(capsys, command, campaign)
        assert "remove them from other columns" in step


def test_after_a_failed_gate_status_names_the_commands_for_the_candidate(capsys, campaign):
    (campaign / "exports" / "a.csv").write_text(VOTES + "i0,,yes\n" * 10)
    assert run(capsys, "build", campaign)[0] == 1
    step = next_step(capsys, "status", campaign)
    [run_id] = [path.name[:8] for path in (campaign / "store" / "candidates").iterdir()]
    publish = f"annot publish {campaign} --candidate {run_id} --accept rejected_share"
    assert step.startswith(f'{publish} --because "..."; or resolve the failed gate (')
    assert step.endswith(f"then annot build {campaign}")
    shutil.rmtree(campaign / "store" / "candidates")
    assert next_step(capsys, "status", campaign).startswith("resolve the failed gate (")


def test_refused_folders_are_the_next_step(capsys, campaign):
    write(campaign, store=".")
    status, out, _ = run(capsys, "status", campaign)
    assert status == 0
    assert "a build would be refused: " in out
    assert "next: set store to an empty or new folder" in out


def test_a_weak_key_is_in_last_build_and_warned_of(capsys, campaign, monkeypatch):
    monkeypatch.setenv("ANNOT_KEY", "x")
    assert run(capsys, "build", campaign)[0] == 1
    status, out, _ = run(capsys, "status", campaign)
    assert status == 0
    assert "warning: the key of the judges' names can be guessed: $ANNOT_KEY: 1 byte" in out
    assert "next: make one: python" in out
    assert "a build has not ended" not in out
    monkeypatch.delenv("ANNOT_KEY")
    _, out, _ = run(capsys, "status", campaign)
    assert "last build, " in out
    assert "$ANNOT_KEY: 1 byte; at least 32 are needed" in out
    assert "a build has not ended" not in out
    assert out.splitlines()[-1] == f"next: annot build {campaign}"


@pytest.mark.slow
def test_with_another_key_the_advice_is_to_unset_it(capsys, campaign, monkeypatch):
    build_file(campaign)
    unset = f"unset ANNOT_KEY: {campaign / 'store' / 'judge.key'} is the key of v0001"
    monkeypatch.setenv("ANNOT_KEY", STRONG)
    assert next_step(capsys, "status", campaign).startswith(unset)
    _, out, _ = run(capsys, "validate", campaign)
    assert "a build would publish nothing: $ANNOT_KEY is another key" in out
    assert out.splitlines()[-1].startswith(f"next: {unset}")
    monkeypatch.setenv("ANNOT_KEY", "x")
    status, out, _ = run(capsys, "status", campaign)
    assert status == 0
    assert "settings cannot be compared: the key of the judges' names can be guessed" in out
    advice = f"next: unset ANNOT_KEY: the key is in {campaign / 'store' / 'judge.key'}"
    assert advice in " ".join(out.split())


@pytest.mark.slow
def test_an_exposed_key_is_warned_of_though_nothing_is_new(capsys, campaign):
    """Modes are no part of a release: what opened the key since then is looked at anew."""
    build_file(campaign)
    assert next_step(capsys, "status", campaign) == "nothing to do"
    key = campaign / "store" / "judge.key"
    key.chmod(0o644)
    build_file(campaign)
    _, out, _ = run(capsys, "status", campaign)
    assert "warn: exposed_secrets: store/judge.key has mode 644: other users can open it" in out
    assert "do: chmod 700 the store and 600 its judge.key" in out
    assert out.splitlines()[-1] == "next: 1 warning to resolve (see above)"
    key.chmod(0o600)
    assert next_step(capsys, "status", campaign) == "nothing to do"


@pytest.mark.slow
def test_without_store_and_key_exports_are_not_said_to_be_changed(campaign, monkeypatch, capsys):
    """Digests in a release are keyed: nothing tells what export they are of."""
    monkeypatch.setenv("ANNOT_KEY", STRONG)
    build_file(campaign)
    capsys.readouterr()
    (campaign / "store").rename(campaign / "elsewhere")
    for name in ("b.csv", "c.csv"):
        (campaign / "exports" / name).write_text(VOTES.replace("i0", name))
    assert arrived(campaign, capsys)["arrived"] == {
        "new": ["exports/b.csv", "exports/c.csv"], "changed": [], "gone": [],
    }  # fmt: skip
    for name in ("b.csv", "c.csv"):
        (campaign / "exports" / name).unlink()
    told = arrived(campaign, capsys)
    assert not any(told["arrived"].values())
    assert (told["exports_not_compared"], told["build_due"]) == ([], False)
    (campaign / "exports" / "a.csv").write_text(VOTES.replace("yes", "no"))
    assert arrived(campaign, capsys)["arrived"]["changed"] == ["exports/a.csv"]
    monkeypatch.delenv("ANNOT_KEY")
    for text in (VOTES, VOTES.replace("yes", "no")):
        (campaign / "exports" / "a.csv").write_text(text)
        told = arrived(campaign, capsys)
        assert not any(told["arrived"].values())
        assert (told["exports_not_compared"], told["build_due"]) == (["exports/a.csv"], None)
    assert main(["status", str(campaign)]) == 0
    out = capsys.readouterr().out
    assert "need the store's key: exports/a.csv\n" in out
    assert "since then" not in out


def arrived(campaign: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["status", str(campaign), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_each_step_has_a_line_and_relative_paths(capsys, campaign, monkeypatch):
    """Commands are not divided; paths start in the current folder."""
    monkeypatch.chdir(campaign.parent)
    build_file(campaign)
    waiting = document("pass")
    advice = f"look at {campaign}/exports; correct a.csv"
    waiting["failing"] = [{"what": "gate", "do": advice}, {"what": "other", "do": "do this"}]
    lines = list(status_lines(waiting, campaign.name))
    start = next(n for n, line in enumerate(lines) if line.startswith("next: "))
    assert lines[-1] == f"      then annot build {campaign.name}"
    assert lines[start + 1 : start + 3] == ["      correct a.csv;", "      do this),"]
    shown = run(capsys, "status", campaign.name)[1]
    assert str(campaign.parent) not in shown
    assert "gold/v0001" in shown
