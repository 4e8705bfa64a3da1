"""The local page: what it shows, whom it answers, and what it writes."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pytest

from annot_pipeline.contracts import JUDGES

starlette = pytest.importorskip("starlette", reason="needs the extra serve")

from starlette.testclient import TestClient  # noqa: E402 - only where it is installed

from annot_pipeline.cli import main  # noqa: E402
from annot_pipeline.cli.serve import decisions_path  # noqa: E402
from annot_pipeline.config.campaign_file import load_campaign  # noqa: E402
from annot_pipeline.serve.app import make_app  # noqa: E402
from annot_pipeline.serve.decision_file import SOURCE, DecisionFile  # noqa: E402
from annot_pipeline.serve.pages import MASKED, Pages, without_names  # noqa: E402
from annot_pipeline.storage.releases import Releases  # noqa: E402
from tests.conftest import Built, build_file  # noqa: E402
from tests.report.report_pages import (  # noqa: E402
    HOSTILE,
    LONG,
    QUERIES,
    build_into,
    csv_text,
    label_rows,
    labels_campaign,
)

TOKEN, PORT = "a token", 8017
HERE = f"http://127.0.0.1:{PORT}"


def client_of(campaign: Path, *, decisions: Path | None = None, **options: Any) -> TestClient:
    pages = Pages(load_campaign(campaign), **options)
    file = DecisionFile(decisions or campaign / "decisions.csv")
    client = TestClient(make_app(pages, file, TOKEN, PORT), base_url=HERE)
    assert client.get("/", params={"token": TOKEN}).status_code == 200
    return client


@pytest.fixture(scope="module")
def small(labels_builds: tuple[Built, Built]) -> Built:
    """A second release, in which one label is another."""
    return labels_builds[1]


@pytest.fixture
def client(small: Built, tmp_path: Path) -> TestClient:
    return client_of(folder_of(small), decisions=tmp_path / "decisions.csv")


def folder_of(built: Built) -> Path:
    return built.publication.release.folder.parents[1]


def links(html: str, start: str) -> list[str]:
    every = [unescape(link) for link in re.findall(r'href="([^"]*)"', html)]
    return [link for link in every if link.startswith(start)]


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", html))


# --- what it shows ----------------------------------------------------------------------------


def test_items_are_listed_by_doubt_and_filtered(small, client):
    probabilities = {row["item"]: row["probability"] for row in small.rows("labels")}
    shown = links(client.get("/items").text, "/item?")
    names = [re.search(r"item=([^&]*)$", link)[1].replace("+", " ") for link in shown]
    assert names == sorted(names, key=lambda item: (probabilities[item], item))
    assert len(names) == 12
    for asked, expected in (
        ({"label": "no"}, {r["item"] for r in small.rows("labels") if r["label"] == "no"}),
        ({"words": "ITEM 1"}, {"item 1", "item 10", "item 11"}),
        ({"uncertain": "yes"}, {r["item"] for r in small.rows("labels") if not r["certain"]}),
        ({"judge": "nobody"}, set()),
    ):
        actual = links(client.get("/items", params=asked).text, "/item?")
        assert {re.search(r"item=([^&]*)$", a)[1].replace("+", " ") for a in actual} == expected


def test_from_an_item_to_its_raw_row_in_two_clicks_and_to_all_of_a_judge_in_one(small, client):
    html = client.get(links(client.get("/items").text, "/item?")[0]).text
    row = client.get(links(html, "/row?")[0])
    assert row.status_code == 200
    cells = dict(re.findall(r'row">(.*?)</th><td class="text">(.*?)</td>', row.text))
    assert set(cells) == {"item", "judge", "label"}
    assert cells["judge"] == MASKED
    judge = client.get(links(html, "/judge?")[0]).text
    n = sum(r["n_judgments"] for r in small.rows("judges")[:1])
    assert len(links(judge, "/item?")) == n == 12


def test_every_page_has_a_title_of_its_own_that_names_the_campaign(client):
    """A tab said "Why item 3 changed" of an item that never did, and that of an item its name."""
    item = links(client.get("/items").text, "/item?")[0]
    judge = links(client.get("/judges").text, "/judge?")[0]
    pages = ["/items", "/judges", "/judgments", "/releases", "/diff", item, judge]
    pages += [links(client.get(item).text, start)[0] for start in ("/row?", "/cause?")]
    titles = [re.search("<title>(.*?)</title>", client.get(page).text)[1] for page in pages]
    assert len({*titles}) == len(pages)
    assert all(" small" in title for title in titles), titles
    assert not any("changed" in title for title in titles)


def test_one_judgment_is_listed_without_a_column_of_times_that_nobody_gave(small, client):
    judge = small.rows("judges")[0]["judge"]
    html = client.get("/judgments", params={"judge": judge, "item": "item 3"}).text
    assert html.count('<th scope="row">') == 1
    assert "when, UTC" not in html


def test_names_are_shown_where_the_user_asks_for_them(small):
    client = client_of(folder_of(small), show_names=True)
    html = client.get(links(client.get("/items").text, "/item?")[0]).text
    assert re.search(r"judge \d", client.get(links(html, "/row?")[0]).text)


def test_an_item_says_why_its_label_is_to_doubt(tmp_path):
    split = [
        row | ({"label": "yes" if n % 2 else "no"} if row["item"] == "item 3" else {})
        for n, row in enumerate(label_rows())
    ]
    built = labels_campaign(tmp_path, [*split, {"item": "new", "judge": "judge 1", "label": "no"}])
    client, in_words = client_of(folder_of(built)), {}
    for row in built.rows("labels"):
        page = client.get("/item", params={"task": row["task"], "item": row["item"]}).text
        said = re.search(r"Label .*?(certain)(?:; to doubt: (.*?))?\. Since when", text_of(page))
        in_words[row["item"]] = said[2] or ""
        assert ("split votes" in in_words[row["item"]]) == (row["majority_share"] < 2 / 3)
        against = row["label"] != row["majority_label"]
        assert ("against the votes" in in_words[row["item"]]) == against
    assert (in_words["item 3"], in_words["new"]) == ("split votes", "one judge")


@pytest.mark.slow
def test_a_changed_label_leads_to_its_cause(client):
    html = client.get("/diff").text
    (changed,) = [
        row for row in re.findall("<tr>.*?</tr>", html) if "<td>label</td><td>yes</td>" in row
    ]
    assert "item 7" in changed
    others = [row for row in re.findall("<tr><th.*?</tr>", html) if "<td>label</td>" not in row]
    assert others
    assert not [row for row in others if "/cause" in row], "the cause of a label is told, no other"
    why = text_of(client.get(links(changed, "/cause?")[0]).text)
    assert "since v0002" in why
    assert "In v0001: yes" in why
    assert "Cause: " in why


@pytest.mark.slow
def test_a_cause_is_that_of_the_release_that_is_looked_at(client):
    asked = {"task": "good", "item": "item 7", "release": "v0001"}
    item = client.get("/item", params=asked).text
    html = client.get(links(item, "/cause?")[0]).text
    assert "All releases to v0001 have it." in text_of(html)
    [newest] = [link for link in links(html, "/cause?") if "release=v0002" in link]
    assert "Of the newest release, v0002" in text_of(html)
    why = text_of(client.get(newest).text)
    assert "since v0002" in why
    assert "newest release" not in why


def test_a_cause_names_the_settings_that_changed(small, tmp_path):
    """It said "settings", as annot bisect does, and not which."""
    pages = Pages(load_campaign(folder_of(small)))
    change = {"task": "good", "column": "label", "value": "no", "since": "v0002", "before": "v0001",
              "value_before": "yes", "causes": ["settings"],
              "settings": [["quality.labels", "drop", "<i>"]]}  # fmt: skip
    pages.causes = lambda *_: change
    app = make_app(pages, DecisionFile(tmp_path / "decisions.csv"), TOKEN, PORT)
    client = TestClient(app, base_url=HERE)
    client.get("/", params={"token": TOKEN})
    shown = text_of(client.get("/cause", params={"task": "good", "item": "item 7"}).text)
    assert "quality.labels was drop, is <i>" in shown


def test_judgments_are_filtered_and_paged(small, client):
    html = client.get("/judgments").text
    assert "72 judgments." in html
    rest = client.get(links(html, "/judgments?release=v0002&page=1")[0]).text
    assert len(re.findall('<tr><th scope="row"', rest)) == 72 - 50
    judge = small.rows("judges")[0]["judge"]
    one = client.get("/judgments", params={"judge": judge, "item": "item 7", "answer": "no"}).text
    assert "1 judgment." in one


def test_judges_are_listed_by_concern_and_lead_to_their_judgments(small, client):
    html = client.get("/judges").text
    rows = {row["judge"]: row for row in small.rows("judges")}
    names = re.findall(r'row"><div class="cell"><a [^>]*>(j\w+)</a></div></th>', html)
    assert sorted(names) == sorted(rows)
    order = [
        (not rows[n]["dropped"], rows[n]["verdict"] != "failed", not rows[n]["suspected"],
         not rows[n]["below_chance"], -rows[n]["n_judgments"], n) for n in names
    ]  # fmt: skip
    assert order == sorted(order)
    assert not re.search(r"judge \d", html), "the release has pseudonyms"
    assert links(html, "/judges?release=v0002"), "every page leads here"
    judge = client.get(links(html, "/judge?")[0]).text
    assert len(links(judge, "/item?")) == rows[names[0]]["n_judgments"] == 12
    for asked, expected in (
        ({"judge": names[0][1:9].upper()}, {names[0]}), ({"task": "none"}, set()),
        ({"verdict": "passed"}, {n for n, row in rows.items() if row["verdict"] == "passed"}),
        ({"dropped": "yes"}, {n for n, row in rows.items() if row["dropped"]}),
    ):  # fmt: skip
        shown = client.get("/judges", params=asked).text
        assert {
            *re.findall(r'row"><div class="cell"><a [^>]*>(j\w+)</a></div></th>', shown)
        } == expected


@pytest.mark.slow
def test_judges_of_most_concern_are_first(tmp_path):
    rows = [
        {"item": f"i{item:02}", "judge": judge, "label": label}
        for item in range(60)
        for judge, label in [
            *((f"careful {n}", "ab"[item % 2]) for n in range(5)), ("at random", "aabb"[item % 4]),
        ]
    ]  # fmt: skip
    client = client_of(folder_of(labels_campaign(tmp_path, rows)))
    (first, *_), *_ = re.findall(
        r'row"><div class="cell"><a [^>]*>(j\w+)</a></div></th>(.*?)</tr>',
        client.get("/judges").text,
    )
    shown = client.get("/judgments", params={"judge": first, "answer": "a"}).text
    assert "30 judgments." in shown
    assert client.get("/judge", params={"judge": first}).text.count("other") > 10


def test_a_judge_of_many_tasks_leaves_room_for_others_of_concern():
    judge = dict.fromkeys(JUDGES.schema.names) | {"verdict": "failed", "n_judgments": 9}
    rows = [
        judge | {"task": f"t{n}", "judge": name, "dropped": name == "one", "below_chance": True}
        for name, n_tasks in (("one", 9), ("two", 5)) for n in range(n_tasks)
    ]  # fmt: skip
    rows.append(judge | {"task": "t", "judge": "fine", "verdict": "passed", "dropped": False})
    filters = dict.fromkeys(("task", "judge", "verdict", "dropped"))
    table = pa.Table.from_pylist(rows, JUDGES.schema)
    shown = QUERIES.table("serve/judges", {"judges": table}, filters | {"most": 50, "skipped": 0})
    names = shown["judge"].to_pylist()
    assert names == ["one"] * 3 + ["two"] * 3 + ["one"] * 6 + ["two"] * 2 + ["fine"]


def test_judgments_of_several_tasks_name_the_task(full_build):
    client = client_of(folder_of(full_build))
    assert "In all rows: task " in client.get("/judgments").text
    tasks = defaultdict(set)
    for row in full_build.rows("judges"):
        if row["n_judgments"] > 1:  # one row has nothing in common with others
            tasks[row["judge"]].add(row["task"])
    judge = next(name for name, own in tasks.items() if own == {"quality"})
    table = client.get("/judge", params={"judge": judge}).text.partition("<caption>Judgments")[2]
    assert "In all rows: task quality" in table.partition("</caption>")[0]


def test_a_failed_judge_without_a_reason_has_p_instead(client, monkeypatch):
    row = dict.fromkeys(JUDGES.schema.names) | {
        "task": "t", "judge": "j", "n_judgments": 9, "verdict": "failed", "dropped": True,
        "test": "paired_t", "p_value": 0.4,
    }  # fmt: skip
    monkeypatch.setattr(Pages, "judge", lambda *_: [row])
    assert "paired_t: p = 0.400, not below alpha" in client.get("/judge?judge=j").text
    monkeypatch.setattr(Pages, "listed", lambda *_: [row | {"n_judges": 1}])
    assert "paired_t: p = 0.400, not below alpha" in client.get("/judges").text


def test_what_is_not_there_is_said_so(client):
    for address in ("/item", "/item?task=good&item=none", "/judge?judge=none"):
        assert client.get(address).status_code == 404, address
    lists = ("/items", "/judges", "/judgments")
    asked = ("page=99", "page=abc", "page=-1", "page=9999999999", "task=none")
    for address in (f"{path}?{query}" for path in lists for query in asked):
        answer = client.get(address)
        assert answer.status_code == 404, address
        assert "no such" in answer.text
    for address in ("/items?label=none", "/judges?judge=none", "/judgments?page=0&item=none"):
        assert "0 " in text_of(client.get(address).text), address


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("/items?label=ye", "v0002 has no label ye; names that contain it: yes."),
        ("/items?label=none", "v0002 has no label none; it has: no, yes."),
        ("/judgments?fate=used up", "v0002 has no fate used up; it has: used."),
        ("/judgments?judge=j", "v0002 has no judge j; names that contain it: j"),
        ("/judges?verdict=guilty", "v0002 has no verdict guilty; it has: "),
        ("/items?words=nothing&label=yes", "Nothing in v0002 fits all filters"),
    ],
)
def test_an_empty_list_says_which_filter_names_nothing_and_what_there_is(client, asked, said):
    page = client.get(asked)
    assert "0 " in text_of(page.text)
    assert said in text_of(page.text)
    assert "fits all" not in client.get(asked.partition("?")[0]).text


def test_tasks_with_scores_and_pairs_are_listed_beside_those_with_labels(full_build, tmp_path):
    client = client_of(folder_of(full_build), decisions=tmp_path / "decisions.csv")
    lead = links(client.get("/items").text, "/items?release=v0001&task=")
    assert [link.rpartition("=")[2] for link in lead] == ["quality", "which"]
    scored, compared = (text_of(client.get(link).text) for link in lead)
    n = sum(
        row["task"] == "quality" and row["n_judgments"] > 0 for row in full_build.rows("scores")
    )
    assert f"{n} scored items; those first on which judges differ most." in scored
    assert "is better" in compared


def test_an_item_is_found_by_row_groups_not_by_reading_all_judgments(small):
    """At a million judgments a page of an item took 110 ms longer."""
    import duckdb

    from annot_pipeline.storage.queries import parquet_scan, sql_text

    connection = duckdb.connect()
    connection.execute(sql_text("answer_text"))
    for name in ("judgments", "lineage", "labels"):
        scan = parquet_scan(small.publication.release.stored(name).paths)
        connection.execute(f"CREATE VIEW {name} AS FROM {scan}")
    filters = dict.fromkeys(("task", "judge", "fate", "answer")) | {"most": 50, "skipped": 0}
    plan = "EXPLAIN " + sql_text("serve/judgments")
    ((_, shown),) = connection.execute(plan, filters | {"item": "item 7"}).fetchall()
    scans = re.findall(r"Filters: item ?= ?'item 7'", shown)
    assert len(scans) == 2, shown  # of judgments and of lineage


def test_every_release_and_its_report_can_be_looked_at(client):
    html = client.get("/releases").text
    assert re.findall(r'<th scope="row">(v\d+)</th>', html) == ["v0002", "v0001"]
    assert ">decision<" not in html  # nobody decided about a release: no empty column
    for version in ("v0001", "v0002"):
        report = client.get("/report", params={"release": version})
        assert f"<title>small {version}</title>" in report.text
        assert "style-src" not in report.headers["content-security-policy"]
    assert "<title>small v0002</title>" in client.get("/report").text
    old = client.get("/item", params={"release": "v0001", "task": "good", "item": "item 7"}).text
    assert "Label <strong>yes</strong>" in old


def test_a_free_port_is_said_by_its_number(small, capsys, monkeypatch):
    uvicorn = pytest.importorskip("uvicorn")
    listeners = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: listeners.extend(sockets))
    assert main(["serve", str(folder_of(small)), "--port", "0"]) == 0
    [listener] = listeners
    port = listener.getsockname()[1]
    listener.close()
    assert f"open http://127.0.0.1:{port}/?token=" in capsys.readouterr().out


# --- whom it answers --------------------------------------------------------------------------


def test_only_this_machine_with_the_token_is_answered(small, tmp_path):
    client = client_of(folder_of(small), decisions=tmp_path / "d.csv")
    for host in ("evil.example", "127.0.0.1", f"127.0.0.1.evil.example:{PORT}", ""):
        assert client.get("/items", headers={"host": host}).status_code == 403
    client.cookies.clear()
    assert client.get("/items").status_code == 403
    assert client.get("/static/page.css").status_code == 403
    assert client.get("/items", params={"token": "another"}).status_code == 403
    answer = client.get("/items", params={"token": TOKEN, "label": "no"}, follow_redirects=False)
    assert answer.headers["location"] == "/items?label=no"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("release", ["../../etc", "v9999", "v0001/..", "latest\0", "v1"])
def test_addresses_lead_nowhere_but_to_releases(client, release):
    for page in ("/items", "/report", "/item", "/row", "/diff"):
        assert client.get(page, params={"release": release}).status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    gone = {"release": "v0002", "file": "../../../../etc/passwd", "digest": "0" * 64, "row": "1"}
    assert "root:" not in client.get("/row", params=gone).text


def test_a_release_that_is_pruned_while_its_page_is_open_is_gone(small, tmp_path):
    campaign = shutil.copytree(folder_of(small), tmp_path / "campaign")
    client = client_of(campaign)
    links_to_it = ("/items?release=v0001", "/report?release=v0001", "/diff?release=v0002")
    assert [client.get(link).status_code for link in links_to_it] == [200] * 3
    releases = Releases.for_campaign(load_campaign(campaign))
    releases.remove(["v0001"])
    for link in (*links_to_it, "/diff?release=v0002&old=v0001", "/judges?release=v0001"):
        answer = client.get(link)
        assert answer.status_code == 404, link
        assert "no release v0001" in answer.text
        assert "annot prune or forget removed it; name v0002" in answer.text
        assert str(tmp_path) not in answer.text


def test_hostile_cells_are_texts(hostile_build, tmp_path):
    client = client_of(folder_of(hostile_build), decisions=tmp_path / "decisions.csv")
    lists = ("/items", "/judgments", "/judges", "/releases")
    pages = [client.get(address) for address in lists]
    for link in links(pages[0].text, "/item?"):
        pages.append(client.get(link))
        pages += [client.get(row) for row in links(pages[-1].text, "/row?")[:2]]
        pages += [client.get(judge) for judge in links(pages[-1].text, "/judge?")[:2]]
    assert len(pages) > 30
    for page in pages:
        assert page.status_code == 200
        assert "<img" not in page.text
        assert len(re.findall("<script", page.text)) == 1
        assert "\u202e" not in re.sub("<[^>]*>", "", page.text)
        assert "default-src 'none'" in page.headers["content-security-policy"]
    assert all(
        name in unescape(pages[0].text) for name in HOSTILE if name.isascii() and name != LONG
    )


def test_lines_of_rows_are_those_of_the_file(tmp_path):
    """Cells of one row alone take several lines: the rows after it stand further down."""
    two = "of two\nlines"
    rows = [row | {"remark": two if n == 40 else ""} for n, row in enumerate(label_rows())]
    folder = folder_of(labels_campaign(tmp_path, rows))
    text = (folder / "exports/labels-1.csv").read_text("utf-8")
    client = client_of(folder)
    for item in ("item 1", "item 9", "item 11"):
        shown = client.get("/item", params={"task": "good", "item": item}).text
        first = text[: text.index(f"{item},")].count("\n") + 1
        numbers = re.findall(r"labels-1.csv row (\d+) \(line (\d+)\)", shown)
        assert sorted((int(row), int(line)) for row, line in numbers) == [
            (6 * int(item[5:]) + judge + 1, first + judge) for judge in range(6)
        ]


@pytest.mark.slow
def test_records_that_are_no_judgments_are_counted_with_a_row_of_each_fate(tmp_path):
    """They are in lineage alone: without that, nothing says that a release rejected any."""
    rows = [{**row, "judge": "" if n < 3 else row["judge"]} for n, row in enumerate(label_rows())]
    built = labels_campaign(tmp_path, [*rows, rows[6] | {"item": ""}])
    assert Counter(row["fate"] for row in built.rows("lineage"))["rejected"] == 4
    client = client_of(folder_of(built))
    for asked, expected in (
        ({}, {"4 rejected"}),
        ({"fate": "rejected"}, {"4 rejected"}),
        ({"fate": "rejected", "item": rows[0]["item"]}, {"3 rejected"}),
        ({"fate": "used"}, set()),
        ({"judge": "nobody"}, set()),
    ):
        page = client.get("/judgments", params=asked).text
        named = re.findall(r"<li>(.*), as (.*?)(?:: (.*))?</li>", page)
        assert {number for number, _, _ in named} == expected, asked
    assert "0 judgments." in client.get("/judgments", params={"fate": "rejected"}).text
    page = client.get("/judgments", params={"fate": "rejected"}).text
    assert "the table <code>lineage</code> alone" in page
    assert ": judge is blank</li>" in page
    raw = client.get(links(page, "/row?")[0])
    assert raw.status_code == 200
    assert "row 1" in raw.text


def test_pages_of_one_thing_leave_out_what_is_the_same_in_all_rows(client):
    item = client.get(links(client.get("/items").text, "/item?")[0]).text
    judge = client.get(links(item, "/judge?")[0]).text
    tables = [page.partition("<caption>Judgments")[2] for page in (item, judge)]
    heads = [re.findall(r'<th scope="col"[^>]*>([^<]*)', table) for table in tables]
    assert heads[0] == ["judge", "answer", "file and row"]
    assert heads[1] == ["item", "answer", "label", "file and row"]
    assert all("In all rows: fate used" in table.partition("</caption>")[0] for table in tables)


def test_an_item_with_many_judgments_leads_to_all_of_them(client, monkeypatch):
    address = links(client.get("/items").text, "/item?")[0]
    assert "are shown." not in client.get(address).text
    monkeypatch.setattr("annot_pipeline.serve.pages.ROWS", 2)
    few = client.get(address).text
    [every] = links(few, "/judgments?release=v0002&task=")
    assert re.search(r"2 of (\d+) judgments are shown", text_of(few))[1] in client.get(every).text


def test_items_with_a_label_are_not_asked_for_scores(client, monkeypatch):
    asked, listed = [], Pages.listed
    monkeypatch.setattr(
        Pages,
        "listed",
        lambda pages, query, *rest: asked.append(query) or listed(pages, query, *rest),
    )
    client.get(links(client.get("/items").text, "/item?")[0])
    assert asked == ["items", "judgments"]


def test_an_unknown_address_is_a_page_with_a_way_back(client):
    page = client.get("/nowhere")
    assert page.status_code == 404
    assert "there is no such page" in page.text
    assert links(page.text, "/items") == ["/items"]


@pytest.mark.slow
def test_names_stay_hidden_when_a_source_is_put_before(tmp_path):
    folder = folder_of(labels_campaign(tmp_path))
    file = folder / "campaign.yaml"
    settings = json.loads(file.read_text("utf-8"))
    fields = {"item": "item", "judge": "expert", "label": "decision"}
    settings["sources"].insert(0, {"path": "decisions.csv", "format": "csv", "fields": fields})
    file.write_text(json.dumps(settings), "utf-8")
    client = client_of(folder)
    html = client.get(links(client.get("/items").text, "/item?")[0]).text
    row = client.get(links(html, "/row?")[0]).text
    assert dict(re.findall(r'row">(.*?)</th><td class="text">(.*?)</td>', row))["judge"] == MASKED


def test_a_name_is_nowhere_in_a_row():
    cells = {"who": "Ann Lee", "note": "ann lee: by Ann Lee.", "label": "yes"}
    assert without_names(cells, {"judge": ["who"], "label": ["label"]}) == {
        "who": MASKED, "note": f"ann lee: by {MASKED}.", "label": "yes",
    }  # fmt: skip
    matrix = {"id": "7", "Ann Lee": "yes", "Bo": "no"}
    assert [*without_names(matrix, {"item": ["id"]})] == ["id", "column 2", "column 3"]
    short = {"who": "1", "n": "121 1"}
    assert without_names(short, {"judge": ["who"]})["n"] == "121 1"
    blanks = {"who": " Ann Lee\t", "note": "Ann Lee: yes"}
    assert without_names(blanks, {"judge": ["who"]})["note"] == f"{MASKED}: yes"


# --- what it writes ---------------------------------------------------------------------------


def decide(client: TestClient, **fields: str) -> Any:
    page = client.get("/item", params={"task": "good", "item": "item 3"}).text
    form_token = re.search(r'name="form_token" value="(.*?)"', page)[1]
    named = {"task": "good", "item": "item 3", "expert": "Eve", "decision": "yes", "comment": ""}
    form = named | {"form_token": form_token, "release": "v0002"} | fields
    origin = form.pop("origin", HERE)
    return client.post(
        "/decide", content=urlencode(form),
        headers={"origin": origin, "content-type": "application/x-www-form-urlencoded"},
        follow_redirects=False,
    )  # fmt: skip


def test_decisions_are_what_the_next_build_reads(small, tmp_path):
    folder = shutil.copytree(folder_of(small), tmp_path / "campaign")
    client = client_of(folder)
    hostile = 'said "so",\nthen =1+1'
    goal = "/item?release=v0001&task=good&item=item+5"
    assert (
        decide(client, comment=hostile, next=goal).headers["location"]
        == f"{goal}&decided=item+3&as=yes"
    )
    assert decide(client, item="item 5", decision="no").status_code == 303
    with (folder / "decisions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["item"], r["expert"], r["decision"]) for r in rows] == [
        ("item 3", "Eve", "yes"), ("item 5", "Eve", "no"),
    ]  # fmt: skip
    assert rows[0]["comment"] == hostile
    shown = text_of(client.get(f"{goal}&decided=item+3&as=yes").text)
    assert "Decided: item 3 is yes." in shown
    assert "Decided by Eve" in shown
    document = json.loads((folder / "campaign.yaml").read_text())
    fields = {"task": "task", "item": "item", "judge": "expert", "label": "decision",
              "submitted_at": "decided_at", "why": "comment",
              "control": {"value": "adjudication"}}  # fmt: skip
    document["sources"] += [{"path": "decisions.csv", "format": "csv", "fields": fields}]
    (folder / "campaign.yaml").write_text(json.dumps(document))
    built = build_file(folder)
    labels = {row["item"]: row for row in built.rows("labels")}
    assert (labels["item 3"]["label"], labels["item 3"]["adjudicated"]) == ("yes", True)
    assert labels["item 3"]["adjudication_reason"] == hostile
    assert labels["item 5"]["label"] == "no"
    (expert,) = {labels[item]["adjudicator"] for item in ("item 3", "item 5")}
    changed = client.get("/diff").text
    assert "<td>adjudicated</td><td>false</td><td>true</td>" in changed
    assert f"<td>adjudicator</td><td></td><td>{expert}</td>" in changed


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"origin": "http://evil.example"}, 403), ({"form_token": "another"}, 403),
        ({"expert": " "}, 400), ({"decision": ""}, 400), ({"comment": "x" * 10_001}, 400),
        ({"next": "//evil.example/item?"}, 303), ({"next": "javascript:alert(1)"}, 303),
    ],
)  # fmt: skip
def test_forms_of_others_and_empty_ones_decide_nothing(client, fields, status):
    answer = decide(client, **fields)
    assert answer.status_code == status
    if status == 303:
        assert answer.headers["location"].startswith("/item?release=v0002")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"task": "bad"}, "v0002 has no such task"), ({"item": "item 99"}, "no such item"),
        ({"decision": "maybe"}, "maybe: is no class of good: go back, press one"),
        ({"release": "v0009"}, "v0009"),
    ],
)  # fmt: skip
def test_what_the_release_does_not_have_is_not_decided(small, tmp_path, fields, says):
    path = tmp_path / "decisions.csv"
    client = client_of(folder_of(small), decisions=path)
    answer = decide(client, **fields)
    assert answer.status_code == 400
    assert says in text_of(answer.text)
    assert not path.exists()
    assert decide(client).status_code == 303
    assert path.exists()


def test_a_file_that_cannot_be_written_keeps_what_it_had(tmp_path):
    path = tmp_path / "decisions.csv"
    decisions = DecisionFile(path)
    decisions.add("t", "i", "e", "yes", "")
    before = path.read_bytes()
    path.chmod(0o444)
    if os.getuid():  # root writes everywhere
        with pytest.raises(OSError, match="Permission"):
            decisions.add("t", "j", "e", "no", "")
    assert path.read_bytes() == before
    path.chmod(0o644)
    decisions.add("t", "j", "e", "no", "")
    assert [*decisions.read()] == [("t", "i"), ("t", "j")]


@pytest.mark.slow
def test_a_campaign_of_scores_lists_items_by_how_far_judges_are_apart(tmp_path):
    rows = [
        {"item": item, "judge": judge, "score": 50 + apart * n}
        for item, apart in (("near", 1), ("far", 20))
        for n, judge in enumerate(("a", "b", "c"))
    ]
    fields = {name: name for name in ("item", "judge", "score")}
    document = {"campaign": "points", "sources": [
        {"path": "exports/*.csv", "format": "csv", "fields": fields}],
        "tasks": [{"name": "*", "kind": "scalar", "scale": [0, 100]}]}  # fmt: skip
    folder = folder_of(build_into(tmp_path, {"a.csv": csv_text(rows)}, document))
    client = client_of(folder)
    listed = links(client.get("/items").text, "/item?")
    assert [link.rpartition("item=")[2] for link in listed] == ["far", "near"]
    shown = text_of(client.get(listed[0]).text)
    assert "Score 70.00, mean of 3 judgments" in shown
    assert "judges lie 40.00 apart" in shown
    assert "Decide" not in shown


def test_a_first_release_of_comparisons_lists_judgments_and_no_changes(tmp_path, client):
    names = ("item_a", "item_b", "judge", "preference")
    shown = [("x", "y", "ann", "a"), ("y", "x", "bob", "b")]  # in either order
    rows = [dict(zip(names, row, strict=True)) for row in shown]
    document = {"campaign": "pairs", "sources": [
        {"path": "exports/*.csv", "format": "csv", "fields": {name: name for name in names}}],
        "tasks": [{"name": "*", "kind": "pairwise"}]}  # fmt: skip
    first = client_of(folder_of(build_into(tmp_path, {"a.csv": csv_text(rows)}, document)))
    page = first.get("/items").text
    assert "2 judgments" in text_of(page)
    assert links(page, "/diff") == []
    (item,) = {*links(page, "/item?")}
    assert len(links(first.get(item).text, "/row?")) == 2
    assert len(links(client.get("/items").text, "/diff")) == 1


def test_campaigns_of_one_folder_have_decisions_of_their_own(tmp_path):
    text = "campaign: a\nstore: store\ngold: gold\nsources: [{path: '*.csv', format: csv, fields: {"
    names = ("campaign", "rte")
    for name in names:
        fields = "item: item, judge: judge, label: label}}]\n"
        (tmp_path / f"{name}.yaml").write_text(text + fields)
    paths = [decisions_path(load_campaign(tmp_path / f"{name}.yaml")).name for name in names]
    assert paths == ["decisions.csv", "rte_decisions.csv"]


def test_the_source_of_decisions_is_one_more_element_of_the_list(tmp_path):
    """As `annot init` writes the list: appended to it, nothing is given twice."""
    text = "campaign: a\nsources:\n  - path: a.csv\n    format: csv\n"
    text += "    fields: {item: item, judge: judge, label: label}\n"
    (tmp_path / "campaign.yaml").write_text(text + SOURCE.format(path="decisions.csv"))
    sources = load_campaign(tmp_path).settings.sources
    assert [source.path for source in sources] == ["a.csv", "decisions.csv"]
