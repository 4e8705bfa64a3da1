"""Nobody learns who judged: not from gold, reports, logs, Dagster, or names of files."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import stat
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annot_pipeline.cli import main
from annot_pipeline.config.campaign_file import kept_settings
from annot_pipeline.errors import GateError
from annot_pipeline.storage.keys import KEY_FILE
from annot_pipeline.storage.published_settings import names_in_path, published_settings
from tests.private_campaign import (
    ASSIGNMENT,
    EXPERT,
    HIT_JUDGE,
    NAMES,
    WIDE,
    write_private_campaign,
)

COMMANDS = (
    ("validate",), ("validate", "--json"), ("build", "--dagster"), ("build", "--json"), ("status",),
    ("status", "--json"), ("releases", "--json"), ("trace", "item1"), ("trace", "item1", "--json"),
    ("trace", "s1/A", "--json"), ("trace", "s0/A | s0/B", "--json"), ("hits",), ("verify",),
)  # fmt: skip


def traces_of(name: str) -> set[str]:
    """A name, and what anybody who guesses it can work out and look for."""
    raw = name.encode()
    hashes = {hashlib.new(kind, raw).hexdigest() for kind in ("md5", "sha1", "sha256")}
    hashes |= {hashlib.sha256(json.dumps(form).encode()).hexdigest() for form in ({"value": name},)}
    return {name, base64.b64encode(raw).decode().rstrip("="), *hashes}


NEEDLES = {needle: name for name in NAMES for needle in traces_of(name)}
CODED = {needle.encode(encoding): name for needle, name in NEEDLES.items()
         for encoding in ("utf-8", "utf-16-le")}  # fmt: skip


def told(content: bytes) -> set[str]:
    """Judges that some bytes tell of."""
    lower = content.lower()
    return {n for needle, n in CODED.items() if needle in content or needle.lower() in lower}


def values_of(path: Path) -> bytes:
    """All that a Parquet file says once it is unpacked: values, and metadata of the schema."""
    table = pq.read_table(path)
    texts = [
        value
        for column in table.columns
        if pa.types.is_string(column.type)
        for value in column.to_pylist()
        if value is not None
    ]
    return "\n".join([*texts, repr(table.schema.metadata), str(table.schema)]).encode()


@dataclass(frozen=True)
class Session:
    """A campaign that was built and asked about: its folder, Dagster's, and what was printed."""

    folder: Path
    dagster_home: Path
    printed: dict[str, str]

    @property
    def gold(self) -> Path:
        return self.folder / "gold"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = write_private_campaign(tmp_path_factory.mktemp("private"))
    home = tmp_path_factory.mktemp("dagster_home")
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    printed = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ANNOT_KEY", raising=False)
        patch.setenv("DAGSTER_HOME", str(home))
        for command, *rest in COMMANDS:
            out, err = io.StringIO(), io.StringIO()
            more = ["-o", str(folder / "hits")] if command == "hits" else []
            with redirect_stdout(out), redirect_stderr(err):
                status = main([command, str(folder), *rest, *more])
            assert status == 0, (command, err.getvalue())
            printed[" ".join([command, *rest])] = out.getvalue() + err.getvalue()
        yield Session(folder, home, printed)


def test_the_campaign_holds_what_is_looked_for(session):
    """Else nothing could be found: every name is in an export, and was read as a judge."""
    exports = b"".join(p.read_bytes() for p in (session.folder / "exports").iterdir())
    settings = (session.folder / "campaign.yaml").read_bytes()
    assert told(exports + settings) == {*NAMES}
    stages = list((session.folder / "store").rglob("settled-*.parquet"))
    assert len(told(b"".join(map(values_of, stages)))) >= len(NAMES) - 3  # of broken rows


def test_no_byte_of_gold_tells(session):
    files = [p for p in session.gold.rglob("*") if p.is_file()]
    assert {"manifest.json", "report.html", "README.md", "croissant.json", "latest.json"} <= {
        p.name for p in files
    }
    for path in files:
        assert not told(path.read_bytes()), path.name
        assert ASSIGNMENT.encode() not in path.read_bytes()  # MTurk tells who did it
        if path.suffix == ".parquet":
            assert not told(values_of(path)), path.name
            assert ASSIGNMENT.encode() not in values_of(path)


def test_no_name_of_a_file_or_folder_tells(session):
    for path in session.folder.rglob("*"):
        assert not told(str(path.relative_to(session.folder)).encode()), path


def test_no_command_prints_who_judged(session):
    assert len(session.printed) == len(COMMANDS)
    assert all(session.printed.values())
    for command, text in session.printed.items():
        assert not told(text.encode()), command


def test_neither_hits_nor_the_catalog_tell(session):
    actual = [*session.folder.glob("hits/**/*"), *session.folder.glob("store/*.duckdb")]
    assert actual
    for path in actual:
        if path.is_file():
            assert not told(path.read_bytes()), path


def test_what_was_said_of_last_builds_does_not_tell(session):
    """The store is working state and holds names; what it says of builds is shown by status."""
    for path in (session.folder / "store").rglob("*.json"):
        if path.parent.name not in ("settings", "records"):
            assert not told(path.read_bytes()), path


def test_the_key_is_readable_by_its_owner_alone(session):
    key = session.folder / "store" / KEY_FILE
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secret = key.read_bytes()
    for path in session.gold.rglob("*"):
        if path.is_file():
            assert secret not in path.read_bytes()


def test_experts_are_pseudonyms_too_and_their_words_are_theirs(session):
    labels = pq.read_table(next(session.gold.glob("v*/labels.parquet"))).to_pylist()
    (decided,) = [row for row in labels if row["adjudicated"]]
    assert decided["adjudicator"].startswith("j")
    assert decided["adjudicator"] != EXPERT
    assert decided["adjudication_reason"] == "the guideline says so"


def test_gates_found_what_they_would_tell_of(session):
    """Judges who fail, who look alike, who do worse than chance: told of by pseudonyms."""
    manifest = json.loads(next(session.gold.glob("v*/manifest.json")).read_bytes())
    judges = pq.read_table(next(session.gold.glob("v*/judges.parquet"))).to_pylist()
    assert {row["verdict"] for row in judges} >= {"passed", "failed"}
    assert any(row["no_z_reason"] for row in judges)
    warned = {check["name"] for check in manifest["checks"] if check["level"] != "pass"}
    assert {"look_alikes", "rejected_share"} <= warned


def test_dagster_learns_nothing(session, monkeypatch):
    """Events, metadata, logs and run records, as Dagster keeps them."""
    monkeypatch.setenv("DAGSTER_HOME", str(session.dagster_home))
    with dg.DagsterInstance.get() as instance:
        runs = instance.get_run_ids()
        assert runs
        records = [record for run in runs for record in instance.all_logs(run)]
        assert len(records) > 50
        for record in records:
            assert not told(record.to_json().encode()), record.message
    for path in session.dagster_home.rglob("*"):
        if path.is_file():
            assert not told(path.read_bytes()), path


# --- settings, cells and paths -------------------------------------------------------------


Source = dict[str, Any]


def published(fields: dict[str, Any], key: str = "a key", **more: Any) -> Source:
    """A source of campaign.yaml as a manifest has it."""
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields} | more
    settings = kept_settings(json.dumps({"campaign": "c", "sources": [source]}), "c")
    (actual,) = published_settings(settings, key.encode())["sources"]
    return dict(actual)


@pytest.mark.slow
def test_a_column_for_each_judge_is_told_by_its_place(build_campaign):
    """`each` names judges: neither cells nor settings repeat them."""
    fields = {"item": "item", "judge": {"value": "{who}"}, "label": "{who}"}
    each = {"who": list(WIDE), "k": ["only"]}
    source = {"path": "exports/*.csv", "format": "csv", "fields": fields, "each": each}
    text = f"item,{','.join(WIDE)}\ni1,x,y\n"
    built = build_campaign({"a.csv": text}, sources=[source])
    assert {row["cell"] for row in built.rows("lineage")} == {
        "who.index=0,k=only", "who.index=1,k=only",
    }  # fmt: skip
    (source,) = built.publication.release.manifest["settings"]["sources"]
    assert set(source["each"]["who"]) == {"sha256"}
    assert source["each"]["k"] == ["only"]
    assert source["fields"]["label"]["column"] == "{who}"
    assert set(source["fields"]["judge"]) == {"sha256"}


@pytest.mark.parametrize(
    "judge",
    [
        {"value": HIT_JUDGE},
        {"column": "who", "map": {"x": HIT_JUDGE}},
        {"column": "who", "match": f"({HIT_JUDGE}|x)"},
        {"column": "who", "map": {"nobody": "x"}, "else": HIT_JUDGE},
        {"join": [{"value": HIT_JUDGE}, "who"], "sep": ":"},
    ],
)
def test_an_expression_that_names_a_judge_is_a_salted_hash(judge):
    fields = {"item": "item", "judge": judge, "label": {"column": HIT_JUDGE, "map": {"1": "2"}}}
    options = {"columns": ["item", "who", HIT_JUDGE]}
    actual = published(fields, options=options)
    assert set(actual["fields"]["judge"]) == {"sha256"}
    assert published(fields, options=options) == actual
    assert (
        published(fields, "another key", options=options)["fields"]["judge"]
        != (actual["fields"]["judge"])
    )
    if "match" not in judge:  # what a regex fits cannot be looked for
        assert not told(json.dumps(actual).encode())
        assert actual["fields"]["label"]["column"].startswith("sha256:")
        assert actual["options"]["columns"][:2] == ["item", "who"]
    assert actual["fields"]["label"]["map"] == {"1": "2"}


def test_plain_columns_stay_readable():
    fields = {"item": "item", "judge": {"column": "who", "json": "id"}, "label": "label"}
    actual = published(fields)
    assert actual["fields"]["judge"]["column"] == "who"
    assert actual["fields"]["judge"]["json"] == "id"
    assert actual["path"] == "exports/*.csv"


@pytest.mark.parametrize(
    ("path", "judge", "tells"),
    [
        ("exports/alice@example.org.csv", "alice@example.org", True),
        ("from-alice_1.csv", "alice", True),
        ("malice.csv", "alice", False),
        ("alices.csv", "alice", False),
        ("batch-20240501.csv", "20240501", False),
        ("2024/203.0.113.77.csv", "203.0.113.77", True),
        ("w1.csv", "w1", False),
    ],
)
def test_names_of_judges_are_looked_for_in_paths_as_words(path, judge, tells):
    assert names_in_path(path, judge) is tells


@pytest.mark.slow
def test_a_path_that_names_a_judge_is_warned_of(build_campaign):
    exports = {"alice@example.org.csv": "item,judge,label\ni1,alice@example.org,x\n"}
    with pytest.raises(GateError, match="published_names"):
        build_campaign(exports)
    built = build_campaign(exports, "gates.published_names.error=null")
    gates = {gate.name: gate for gate in built.runs["read_records"].gates}
    assert gates["judges_in_paths"].level == "warn"
    assert "alice" not in gates["judges_in_paths"].detail
