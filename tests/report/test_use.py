"""The first screen: who won, whom to doubt, what makes labels certain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from shlex import split
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from annot_pipeline.cli import build_parser, main
from annot_pipeline.contracts import GOLD, SYSTEM_RANKINGS
from annot_pipeline.report.contents import Contents, Labelled, looks_random
from annot_pipeline.report.render import number
from annot_pipeline.report.report import section_html
from annot_pipeline.report.sections.changes import changes as changes_section
from annot_pipeline.report.sections.use import (
    Look,
    Tile,
    changes_tile,
    judges_tile,
    labels_tile,
    next_commands,
    open_gates,
    use,
    verdict,
    winner_tile,
    worst_first,
)
from annot_pipeline.report.sections.warned_judges import fate, warned_judges
from tests.conftest import build_file
from tests.report.report_pages import (
    LABEL_CHANGE,
    build_into,
    contents_of,
    csv_text,
    html_of,
    labels_campaign,
)

OPEN = {"privacy": {"pseudonymize": False}}


def ranked(task: str, *systems: tuple[str, int, int]) -> list[dict[str, Any]]:
    """Systems by rank, with the lowest rank that the tests do not exclude."""
    return [
        {"task": task, "method": "adjusted", "system": name, "headline": True, "rank": rank,
         "rank_low": low, "rank_high": 9, "score": 90.0 - rank, "cluster": 1, "n_judgments": 9,
         "wins": 0}
        for name, rank, low in systems
    ]  # fmt: skip


def pair(task: str, a: str, b: str, difference: float, *, beats: bool) -> dict[str, Any]:
    return {"task": task, "method": "adjusted", "system_a": a, "system_b": b, "headline": True,
            "difference": difference, "ci_low": difference - 1, "ci_high": difference + 1,
            "a_beats_b": beats}  # fmt: skip


def contents(
    rankings: list[dict[str, Any]],
    pairs: Sequence[dict[str, Any]] = (),
    **settings: Any,
) -> Contents:
    kinds = {row["task"]: "scalar" for row in rankings}
    tables = {
        "system_rankings": pa.Table.from_pylist(rankings, SYSTEM_RANKINGS.schema),
        "system_comparisons": pa.Table.from_pylist([*pairs], GOLD["system_comparisons"].schema),
        "agreement": GOLD["agreement"].empty(),
    }
    return Contents({"facts": {"kinds": kinds}, "settings": settings}, tables, {})


def test_the_first_is_named_with_its_lead_and_whoever_is_not_shown_to_be_worse():
    three = ranked("t", ("a", 1, 1), ("b", 2, 1), ("c", 3, 3))
    third = pair("t", "c", "a", -9, beats=False)
    tile = winner_tile(contents(three, [pair("t", "b", "a", -2.5, beats=False), third]))
    assert (tile.value, tile.anchor) == ("No clear winner", "rankings")
    ahead = "first: a, 2.500 points (1.500 to 3.500) ahead of b"
    assert tile.words == f"{ahead}; b is not shown to be worse"
    assert tile.sentence == "no clear winner, a is first"
    these = {"reason": "intervals speak of these judges only"}
    tile = winner_tile(contents(three, [pair("t", "b", "a", -2.5, beats=False) | these, third]))
    assert tile.words.endswith("; intervals speak of these judges only")
    tile = winner_tile(contents(three, [pair("t", "b", "a", -0.5, beats=False), third]))
    assert "perhaps by chance" in tile.words


@pytest.mark.parametrize("n", [4, 5])
def test_of_many_that_are_not_shown_to_be_worse_the_number_is_told(n):
    names = [f"s{k}" for k in range(n)]
    rows = ranked("t", ("command", 1, 1), *((name, 2, 1) for name in names), ("z", 9, 9))
    pairs = [pair("t", name, "command", -2.5, beats=False) for name in [*names, "z"]]
    tile = winner_tile(contents(rows, pairs))
    assert tile.words.endswith(f"; {n} of {n + 1} others are not shown to be worse")
    assert tile.words.startswith('first: "command", 2.500 points')
    assert tile.sentence == 'no clear winner, "command" is first'


def test_a_lead_in_log_odds_is_told_as_a_share_of_comparisons():
    """Worked by hand: 1 / (1 + exp(-0.4)) is 59.9%."""
    rows = [row | {"method": "bradley_terry"} for row in ranked("t", ("a", 1, 1), ("b", 2, 1))]
    behind = pair("t", "b", "a", -0.4, beats=False) | {"method": "bradley_terry"}
    tile = winner_tile(contents(rows, [behind | {"ci_low": -0.8, "ci_high": 0.1}]))
    ahead = "first: a, wins 59.9% (47.5% to 69.0%) of comparisons with b, ties aside"
    assert tile.words == f"{ahead}, perhaps by chance; b is not shown to be worse"
    tile = winner_tile(contents([row | {"reason": "no clusters: they need 10"} for row in rows],
                                [behind]))  # fmt: skip
    few = "the tests rest on few judges or segments, too few to group systems"
    assert tile.words.endswith(f"; b is not shown to be worse; {few}")


def agreed(**row: Any) -> Contents:
    """Return a release of one task without systems, whose judges agree so."""
    row = {"task": "t", "statistic": "alpha_nominal", "value": 0.5, "n_items": 9, "n_judges": 3,
           "ci_low": None, "ci_high": None, "reason": None} | row  # fmt: skip
    release = contents(ranked("t"))
    release.facts["kinds"] = {"t": "categorical"}
    agreement = pa.Table.from_pylist([row], GOLD["agreement"].schema)
    return replace(release, tables=release.tables | {"agreement": agreement})


def test_agreement_says_what_it_is_and_why_its_interval_is_wide_or_missing():
    scale = "1 is full, 0 is by chance; Krippendorff's alpha, "
    tile = winner_tile(agreed(ci_low=0.3, ci_high=0.6))
    assert (tile.value, tile.words) == ("0.500", f"{scale}95% interval 0.300 to 0.600")
    wide = winner_tile(agreed(ci_low=0.1, ci_high=0.7)).words
    assert wide.endswith("0.700: wide, as it depends on which judges and items are drawn")
    assert winner_tile(agreed(reason="fewer than 3 judges")).words == f"{scale}fewer than 3 judges"
    tile = winner_tile(agreed(value=None, reason="no item has labels by two judges"))
    assert (tile.value, tile.words) == ("unknown", "no item has labels by two judges")


def test_pairs_that_were_not_tested_are_told_apart():
    """No interval is no verdict: neither by chance nor not worse."""
    four = ranked("t", ("a", 1, 1), ("b", 2, 1), ("c", 3, 1), ("d", 4, 4))
    untested = {"ci_low": None, "ci_high": None, "reason": "too few judges"}
    pairs = [pair("t", name, "a", -2.5, beats=False) for name in "bcd"]
    tile = winner_tile(contents(four, [pairs[0] | untested, *pairs[1:]]))
    assert tile.words.split("; ") == [
        "first: a, 2.500 points ahead of b, not tested (too few judges)",
        "c is not shown to be worse", "1 not tested (too few judges)",
    ]  # fmt: skip
    tile = winner_tile(contents(four, [pairs[0], pairs[1] | untested, pairs[2]]))
    assert tile.words.startswith("first: a, 2.500 points (1.500 to 3.500) ahead of b; b is not")
    tile = winner_tile(contents(four, [row | untested for row in pairs]))
    assert "by chance" not in tile.words
    assert tile.value == "No clear winner"
    three = ranked("t", ("a", 1, 1), ("b", 2, 2), ("d", 4, 4))
    tile = winner_tile(contents(three, [pairs[0], pairs[2] | untested]))
    assert "better than all others tested; 1 not tested (too few judges)" in tile.words
    assert (tile.value, tile.sentence) == ("a", "a is better than all others tested")


def test_nobody_wins_where_no_system_is_shown_to_be_worse():
    """Of the first, by one of three methods, nothing is known but that it is first."""
    rows = ranked("t", ("a", 1, 1), ("b", 2, 1), ("c", 3, 1))
    pairs = [pair("t", "b", "a", -110.0, beats=False), pair("t", "c", "a", -500.0, beats=False)]
    others = [
        row | {"method": method, "headline": False}
        for method in ("z_mean", "wins")
        for row in ranked("t", ("c", 1, None), ("b", 2, None), ("a", 3, None))
    ]
    tile = winner_tile(contents([*rows, *others], pairs))
    assert tile.value == "No clear winner"
    assert tile.words == (
        "first: a, 110.0 points (109.0 to 111.0) ahead of b; no other system is shown to be worse; "
        "a is first by 1 of 3 methods, c by 2"
    )
    first = "no clear winner, a is first, a is first by 1 of 3 methods, c by 2"
    assert tile.sentence == first


def test_a_first_without_tests_has_not_won():
    tile = winner_tile(contents(ranked("t", ("a", 1, None), ("b", 2, None))))
    assert (tile.value, tile.words) == ("No clear winner", "first: a; without tests")
    several = [*ranked("t", ("a", 1, None), ("b", 2, None)), *ranked("u", ("a", 1, 1), ("b", 2, 2))]
    tile = winner_tile(contents(several))
    assert [(one.name, one.why) for one in tile.first] == [
        ("a in u", ""), ("a in t", "first, without tests")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "has_labels", "value", "words", "sentence"),
    [
        ({"changed_labels": 1, "corrected_judgments": 66}, True, "1 label changed",
         "66 corrected judgments", "1 label changed"),
        ({"new_judgments": 135, "withdrawn_judgments": 1}, True, "no label changed",
         "135 new judgments, 1 withdrawn judgment", ""),
        ({"new_judgments": 2}, False, "2 new judgments", "", ""),
        ({}, False, "something else changed", "", ""),
        ({"settings_changed": True}, False, "other settings changed", "", ""),
    ],
)  # fmt: skip
def test_changes_say_what_became_of_the_labels(changes, has_labels, value, words, sentence):
    contents: Any = SimpleNamespace(
        manifest={"parent": {"version": "v0001"}, "changes": changes}, previous=None,
        previous_manifest=None, labelled={"t": Labelled(5)} if has_labels else {},
    )  # fmt: skip
    tile = changes_tile(contents)
    assert (tile.value, tile.words, tile.sentence) == (value, words, sentence)


def test_settings_that_changed_are_named_with_their_values(labels_builds):
    """Of more than three, the number of the others."""
    contents = contents_of(labels_builds[1])
    settings = contents.settings | {"seed": 18, "labels": {"certain_at": 0.9}}
    old = contents.manifest | {"settings": settings}
    manifest = contents.manifest | {"parent": {"version": "v0001"}}
    since = replace(
        contents, previous_manifest=old,
        manifest=manifest | {"changes": {"changed_labels": 0, "settings_changed": True}},
    )  # fmt: skip
    tile = changes_tile(since)
    assert tile.value == "no label changed"
    assert tile.words == "settings: labels.certain_at was 0.9, is 0.95; seed was 18, is 17"
    commands = next_commands(since)
    assert (
        f"annot verify campaign.yaml {manifest['version']}    # that nothing was altered"
        in commands
    )
    assert not any("annot diff" in line for line in commands), "that is a command of the changes"


def test_the_labels_that_changed_are_named_with_what_can_have_changed_them(labels_builds):
    """Before and after, the cause, and a link to their rows; of many the first."""
    contents = contents_of(labels_builds[1])
    row = dict.fromkeys(LABEL_CHANGE) | {"task": "good", "adjudicated": False}
    row |= {"adjudicated_old": False, "n_changed": 5, "label_old": "yes", "label": "no"}
    rows = [row | {"item": f"item {n}"} for n in range(5)]
    rows[1] |= {"label": "yes", "adjudicated": True, "adjudicator": "eve"}
    previous = {name: contents.tables[name] for name in ("judges", "system_rankings")}
    parent = {"parent": {"version": "v0000"}}
    changes = {"changed_labels": 5, "corrected_judgments": 6}
    since = replace(
        contents, manifest=contents.manifest | parent | {"changes": changes},
        previous=previous | {"label_changes": pa.Table.from_pylist(rows)},
    )  # fmt: skip
    tile = changes_tile(since)
    assert [one.name for one in tile.first] == ["item 0", "item 1", "item 2"]
    assert tile.first[0].why == "yes to no, corrected judgments"
    assert tile.first[1].why == "the model to expert eve, corrected judgments"
    shown = html_of(use, since)
    link = '<a href="#changed-labels" title="item 0">item 0</a>: yes to no, corrected judgments'
    assert link in shown
    assert 'and <a href="#changed-labels">2 more</a>' in shown
    assert 'id="changed-labels"' in html_of(changes_section, since)


def test_a_long_name_is_cut_in_its_middle_not_where_it_differs():
    page = {"level": "pass", "start": "Usable", "reasons": "r", "n_labels": 1, "n_scores": 0,
            "n_systems": 0, "n_open": 0, "n_votes": 0, "n_used": 1, "n_judges": 1, "n_measured": 0,
            "note": "", "warnings": [], "fates": {}, "commands": []}  # fmt: skip
    name = "good_enough/segment-104/of a long document/system-1"
    tile = Tile("Labels", "1", "", "doubt", "", [Look(name, "a", "votes 2 to 2")])
    shown = section_html("use", page | {"tiles": [tile]})
    cut = "<bdi>good_enough/se…ment/system-1</bdi>"
    assert f'title="{name}">{cut}</a>: votes 2 to 2' in shown


def test_failures_come_first_then_results_judges_rows_and_files():
    checks = [
        {"name": name, "level": level, "value": value, "error": error, "table": table}
        for name, level, value, error, table in (
            ("quotes", "warn", 2, 10, "record_files"), ("failed", "error", 0.9, 0.5, "settled"),
            ("rejected", "warn", 0.2, 0.5, "settled"), ("fine", "pass", 0, 1, "labels"),
            ("random", "warn", 0.4, 0.5, "judge_tests"), ("labels", "warn", 1, None, "labels"),
            ("flips", "warn", 0.4, 0.5, "label_changes"),
            ("undeclared_models", "warn", 1, None, "settled"),
        )
    ]  # fmt: skip
    ordered = [check["name"] for check in worst_first(checks)]
    results = ["flips", "undeclared_models", "labels"]
    assert ordered == ["failed", *results, "random", "rejected", "quotes"]


def test_failed_gates_and_warnings_are_counted_apart():
    checks = [
        {"name": name, "level": level, "value": 1, "error": 0, "table": "labels", "question": "q",
         "detail": "", "unchecked": ""}
        for name, level in (("a", "warn"), ("b", "error"), ("c", "pass"), ("d", "warn"))
    ]  # fmt: skip
    assert open_gates(checks)["counts"] == "1 failed gate, 2 warnings"


def test_a_reference_does_not_win():
    three = ranked("t", ("human", 1, 1), ("a", 2, 2), ("b", 3, 3))
    pairs = [
        pair("t", "human", "a", 5.0, beats=True), pair("t", "human", "b", 9.0, beats=True),
        pair("t", "a", "b", 4.0, beats=True), pair("t", "b", "a", -4.0, beats=False),
    ]  # fmt: skip
    tasks = [{"name": "t", "references": ["human"]}]
    tile = winner_tile(contents(three, pairs, tasks=tasks))
    assert tile.value == "a"
    ahead = "4.000 points (3.000 to 5.000) ahead of b; better than all others"
    assert tile.words == f"{ahead}; references (human) do not compete"


@pytest.mark.parametrize(
    ("name", "is_said"),
    [("news.ref.A", True), ("human-2", True), ("Reference", True), ("refiner", False)],
)
def test_a_system_named_as_a_reference_does_not_win_without_a_word(name, is_said):
    two = ranked("t", (name, 1, 1), ("b", 2, 2))
    pairs = [pair("t", "b", name, -4.0, beats=False), pair("t", name, "b", 4.0, beats=True)]
    one = winner_tile(contents(two, pairs))
    of_two = [*two, *ranked("u", ("a", 1, 1), ("b", 2, 2))]
    several = winner_tile(contents(of_two, pairs))
    for tile in (one, several):
        words = [tile.words, *(one.why for one in tile.first)]
        assert any("by its name a reference" in text for text in words) is is_said
    assert ("by its name a reference" in one.sentence) is is_said
    assert one.value == name, "a note would be cut there"


def test_of_several_tasks_only_clear_winners_are_told():
    t, u = ranked("t", ("a", 1, 1), ("b", 2, 1)), ranked("u", ("b", 1, 1), ("a", 2, 2))
    tile = winner_tile(contents([*t, *u]))
    only = "better than all others; 1 other task without a clear winner"
    assert (tile.value, tile.words) == ("b in u", only)
    firsts = [("b in u", ""), ("a in t", "b is not shown to be worse")]
    assert [(one.name, one.why) for one in tile.first] == firsts
    assert tile.sentence == "a clear winner in 1 of 2 ranked tasks"
    s = ranked("s", ("a", 1, 1), ("b", 2, 2))
    tile = winner_tile(contents([*s, *t, *u, *ranked("v", ("a", 1, 1), ("b", 2, 1), ("c", 3, 1))]))
    better = "have a system better than all others"
    assert (tile.value, tile.words, tile.n_more) == ("2 of 4 tasks", better, 1)
    assert [one.name for one in tile.first] == ["a in s", "b in u", "a in t"]


def test_no_clear_winner_in_any_task_is_the_headline():
    many = ranked("v", ("a", 1, 1), ("b", 2, 1), ("c", 3, 1))
    tile = winner_tile(contents([*ranked("t", ("a", 1, 1), ("b", 2, 1)), *many]))
    assert (tile.value, tile.words) == ("No clear winner", "in any of 2 tasks")
    assert [one.why for one in tile.first] == [
        "b is not shown to be worse", "2 others are not shown to be worse"
    ]  # fmt: skip
    assert tile.sentence == "no clear winner in any of 2 tasks"
    release = contents([*ranked("t", ("a", 1, 1), ("b", 2, 1)), *many])
    release.manifest["facts"]["kinds"]["w"] = "categorical"
    says = "in any of 2 ranked tasks; 1 further task without a ranking of all"
    assert winner_tile(release).words == says


@pytest.mark.parametrize(
    ("certificates", "says"),
    [
        ({}, "of 10 labels, probability 0.95 or more, by votes weighed by judges' accuracy"),
        ({"t": {"certified": True, "n": 60}},
         "of 10 labels, certified by an audit of 60 of them: at least 0.95 are right"),
        ({"t": {"certified": False, "n": 60}},
         "of 10 labels, probability 0.95 or more, by votes weighed by judges' accuracy; "
         "an audit certified none"),
    ],
)  # fmt: skip
def test_what_makes_labels_certain(certificates, says):
    counts = [{"task": "t", "n": 10, "certain": True, "adjudicated": False, "as_model": True,
               "right": None}]  # fmt: skip
    facts = {"certificates": certificates, "anonymous_votes": {}, "kinds": {"t": "categorical"}}
    settings = {"labels": {"certain_at": 0.95}}
    tables = {
        "label_counts": pa.Table.from_pylist(counts),
        "doubtful_items": pa.table({"item": pa.array([], pa.string())}),
        "judges": GOLD["judges"].empty(),
    }
    tile = labels_tile(Contents({"facts": facts, "settings": settings}, tables, {}))
    assert (tile.value, tile.words, tile.anchor) == ("100.0%", says, "certainty")
    tables["label_counts"] = pa.Table.from_pylist([*counts, counts[0] | {"n": 3, "certain": False}])
    tile = labels_tile(Contents({"facts": facts, "settings": settings}, tables, {}))
    assert (tile.value, tile.words) == ("76.9%", f"{says.replace('10', '13')}; 3 not certain")


def test_the_first_screen_says_how_many_known_answers_the_labels_give():
    labels = {"task": "t", "certain": True, "adjudicated": False, "as_model": True}
    counts = [labels | {"n": n, "right": right} for n, right in ((6, True), (2, False), (9, None))]
    facts = {"certificates": {}, "anonymous_votes": {}, "kinds": {"t": "categorical"}}
    tables = {
        "label_counts": pa.Table.from_pylist(counts), "judges": GOLD["judges"].empty(),
        "doubtful_items": pa.table({"item": pa.array([], pa.string())}),
    }  # fmt: skip
    settings = {"labels": {"certain_at": 0.95}}
    tile = labels_tile(Contents({"facts": facts, "settings": settings}, tables, {}))
    assert tile.words.startswith("of 17 labels, probability 0.95 or more, by votes weighed by ")
    assert tile.words.endswith("; 75.0% right of 8 known answers")
    assert tile.sentence == "100.0% of 17 labels certain, 75.0% right of 8 known answers"


@pytest.mark.parametrize(
    ("accuracy", "n", "expected"), [(0.3, 100, True), (0.3, 4, False), (0.6, 100, False)]
)
def test_a_judge_near_chance_looks_random_where_there_are_answers_enough(accuracy, n, expected):
    """Worked by hand: Wilson's 95% interval of 30 of 100 is .219 to .396, chance .25."""
    row = {"below_chance": False, "accuracy": accuracy, "chance_accuracy": 0.25, "n_judgments": n}
    assert looks_random(row) is expected


def test_who_looks_random_is_whom_the_gates_name():
    """A verdict is of a test: only where there is none do accuracies tell."""
    near_chance = {"accuracy": 0.52, "chance_accuracy": 0.5, "below_chance": False,
                   "n_judgments": 400}  # fmt: skip
    verdicts = {"passing": "passed", "named": "undetermined", "of_a_task": "undetermined",
                "unnamed": "undetermined", "nobody_tests": "untested"}  # fmt: skip
    rows = [
        {"task": "t", "judge": judge, "verdict": verdict_, "dropped": False, **near_chance}
        for judge, verdict_ in verdicts.items()
    ]
    tables = {"judges": pa.Table.from_pylist(rows, GOLD["judges"].schema),
              "preference_agreement": pa.table({"task": [], "judge": []})}  # fmt: skip
    facts = {"careless_judges": {"chance": ["named", "t of_a_task"], "copies": ["other"]}}
    contents = Contents({"checks": [], "facts": facts}, tables, {})
    random = [row["judge"] for row in contents.judges if row["random"]]
    assert random == ["named", "of_a_task", "nobody_tests"]


@pytest.mark.parametrize(
    ("agreement", "n", "expected"), [(0.45, 100, True), (0.5, 20, False), (0.7, 100, False)]
)
def test_who_prefers_nothing_in_common_with_others_looks_random(agreement, n, expected):
    """Worked by hand: Wilson's 95% interval of 45 of 100 is .356 to .548, halfway is .6."""
    row = {"below_chance": None, "accuracy": None, "chance_accuracy": None, "n_compared": n,
           "preference_agreement": agreement, "typical_agreement": 0.7}  # fmt: skip
    assert looks_random(row) is expected


@pytest.mark.parametrize(
    ("votes", "start", "first"),
    [
        ({}, "Few labels are certain", "0.0% of 3 labels certain"),
        ({"t": 16}, "Usable", "all 1 gates pass"),  # the label model has nothing to do with them
        ({"other": 16}, "Few labels are certain", "0.0% of 3 labels certain"),
    ],
)
def test_the_verdict_tells_of_certainty_where_there_is_a_label_model(votes, start, first):
    """However many votes another task has."""
    contents: Any = SimpleNamespace(
        manifest={"checks": [{"level": "pass"}], "changes": None, "parent": None},
        facts={"kinds": {}}, labelled={"t": Labelled(3)}, labelled_in_all=Labelled(3),
        used_judges=[], anonymous_votes=votes,
        tables={"judge_bias": GOLD["judge_bias"].empty()},
    )  # fmt: skip
    certain = [Tile("", "", "", "", first)] if "certain" in first else []
    actual = verdict(contents, certain)
    assert (actual["start"], actual["reasons"].split("; ")[0]) == (start, first)


def test_an_item_is_named_with_its_task_where_there_are_several():
    rows = [
        {"task": "verbs", "item": "254", "told": "votes 2 to 2", "reasons": "split votes"},
        {"task": "nouns", "item": "829", "told": None, "reasons": "uncertain, one judge"},
    ]
    doubtful = pa.Table.from_pylist(rows)
    manifest = {"version": "v0001", "parent": None, "checks": []}
    for kinds, names, item in (
        ({"verbs": "categorical"}, ["254", "829"], "254"),
        ({"verbs": "categorical", "nouns": "categorical"}, ["verbs/254", "nouns/829"],
         "254 --task verbs"),
    ):  # fmt: skip
        of_release: Any = SimpleNamespace(
            manifest=manifest, facts={"kinds": kinds}, labelled_in_all=Labelled(0), used_judges=[],
            judges=[], campaign="c.yaml",
            tables={"doubtful_items": doubtful, "estimates": doubtful.slice(0, 0),
                    "judge_validation": doubtful.slice(0, 0),
                    "agreement": doubtful.slice(0, 0)},
        )  # fmt: skip
        of_release.headline = lambda _: None
        of_release.labelled, of_release.anonymous_votes, of_release.n_scores = {}, {}, 2
        of_release.facts["fates"] = {"used": 4}
        first = labels_tile(of_release).first
        assert [one.name for one in first] == names
        assert [one.why for one in first] == ["votes 2 to 2", "uncertain, one judge"]
        assert f"annot trace c.yaml {item} " in next_commands(of_release)[0]


def test_no_judge_is_cleared_of_answers_at_random_where_none_could_be_tested():
    row = {"judge": "a", "dropped": False, "accuracy": 0.6, "chance_accuracy": 0.5,
           "random": False, "n_judgments": 900}  # fmt: skip
    for verdict_, words in (
        ("undetermined", "none was left out"), ("passed", "none was left out; none looks random")
    ):  # fmt: skip
        rows = [row | {"judge": judge, "verdict": verdict_} for judge in "ab"]
        assert judges_tile(judges_alone(rows)).words == words


def judges_alone(rows: list[dict[str, Any]], *models: tuple[str, str, float | None]) -> Any:
    """Return a release of judges, and of models with what they are compared with, and kappa."""
    validated = [dict(zip(("judge", "reference", "kappa"), model, strict=True)) for model in models]
    table = pa.Table.from_pylist(validated, GOLD["judge_validation"].schema)
    rows = [{"task": "t"} | row for row in rows]
    return SimpleNamespace(
        used_judges=rows, judges=rows, tables={"judge_validation": table}, facts={},
        manifest={"checks": []},
    )  # fmt: skip


def gate(name: str, question: str, value: float, detail: str = "") -> dict[str, Any]:
    return {"name": name, "level": "warn", "value": value, "error": None, "table": "judge_tests",
            "question": question, "detail": detail, "unchecked": ""}  # fmt: skip


def warned_release(checks: list[dict[str, Any]], facts: dict[str, Any], *dropped: str) -> Any:
    """Return a release of judges a to e, of whom some were left out."""
    row = {"accuracy": 0.6, "chance_accuracy": 0.5, "n_judgments": 900, "random": False}
    rows = [
        row | {"judge": judge, "dropped": judge in dropped,
               "hurried_share": {"a": 0.6, "b": 0.7}.get(judge),
               "verdict": "failed" if judge in dropped else "passed"}
        for judge in "abcde"
    ]  # fmt: skip
    release = judges_alone(rows)
    release.facts, release.manifest = facts, {"checks": checks}
    return release


@pytest.mark.parametrize(
    ("dropped", "says"),
    [("", "all 3 still counted"), ("abc", "all 3 left out"), ("ab", "2 left out, 1 still counted")],
)
def test_a_warning_says_whether_its_judges_count(dropped, says):
    """By the column of the table of judges, whatever the gate's words are."""
    checks = [gate("careless_judges", "number of judges who were left out", 3)]
    careless = {"chance": ["a", "b"], "constant": ["c"]}
    release = warned_release(checks, {"careless_judges": careless}, *dropped)
    names = warned_judges(release, checks)["careless_judges"]
    assert names == {"a": "looks random", "b": "looks random", "c": "one answer only"}
    assert fate(release, names) == says.replace("all 3", "all")


def test_who_is_warned_of_is_known_from_counts_or_one_by_one():
    checks = [
        gate("hurried_judges", "number of judges with", 2, "t a (60% below 3 s), t x and 7 more"),
        gate("undeclared_models", "number of judges", 1, "d (family openai, 26.6% of all records)"),
        gate(
            "one_sided_judges",
            "number of judges",
            9,
            "t a (item_a in all 21 answers), t b and 7 more",
        ),
        gate("failed_labels", "share of answers", 0.3, "2 judges"),
        gate("rejected", "number of records", 2, "a, b"),
    ]
    release = warned_release(checks, {"failed_judges": {"chance": ["a", "b"]}}, "a", "b")
    by_gate = warned_judges(release, checks)
    assert [*by_gate["hurried_judges"]] == ["t b", "t a"], "the fastest first, as the gate has them"
    assert by_gate == {
        "hurried_judges": {"t a": "answers fast", "t b": "answers fast"},
        "undeclared_models": {"d": "named like a model"},
        "failed_labels": {"a": "failed a test", "b": "failed a test"},
    }
    assert {name: fate(release, names) for name, names in by_gate.items()} == {
        "hurried_judges": "all left out", "undeclared_models": "still counted",
        "failed_labels": "all left out",
    }  # fmt: skip
    first = judges_tile(release).first
    assert [(one.name, one.why) for one in first] == [
        ("d", "named like a model, counted"), ("a", "failed a test, left out"),
        ("b", "failed a test, left out"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("system", "own"),
    [("GPT 4", "a model may judge its own outputs: by their names, a judge who counts and GPT 4, "
               "which is first, are of one family; "), ("other", "")],
)  # fmt: skip
def test_a_model_that_counts_as_people_is_in_the_verdict(system, own):
    """With its family, and whether the first system is of it."""
    question = "number of judges with the name of a language model, counted as people"
    check = gate("undeclared_models", question, 1, "j1 (family openai, 26.6% of all records)")
    release = contents(ranked("t", (system, 1, 1), ("b", 2, 1)))
    release.manifest["checks"], release.manifest["changes"] = [check], None
    tables = {**release.tables, "label_counts": pa.table({}), "judges": GOLD["judges"].empty(),
              "preference_agreement": pa.table({"task": [], "judge": []}),
              "judge_bias": GOLD["judge_bias"].empty()}  # fmt: skip
    release.facts.update({"anonymous_votes": {}, "careless_judges": {}, "used_judges": {}})
    says = verdict(replace(release, tables=tables), [winner_tile(release)])
    named = "1 judge with the name of a language model, counted as people"
    assert says["start"] == "Usable with care"
    assert says["reasons"].startswith(f"{own}{named} (family openai, 26.6% of all records); no ")


def test_a_model_that_judges_its_own_family_is_said_first():
    """Of several the one with most comparisons; those of no family of a system say nothing."""
    bias = [{"task": "t", "judge": judge, "n_own_family": n, "own_family_share": 0.625}
            for judge, n in (("m1", 8), ("m2", 80), ("m3", 0))]  # fmt: skip
    release = contents(ranked("t", ("a", 1, 1), ("b", 2, 1)))
    release.manifest["checks"] = [gate("failed_labels", "share of answers", 0.3)]
    release.facts.update({"anonymous_votes": {}, "careless_judges": {}, "used_judges": {}})
    tables = {
        **release.tables, "label_counts": pa.table({}), "judges": GOLD["judges"].empty(),
        "preference_agreement": pa.table({"task": [], "judge": []}),
    }  # fmt: skip
    for rows in (bias, bias[2:]):
        own = pa.Table.from_pylist(rows, pa.schema(
            [("task", pa.string()), ("judge", pa.string()), ("n_own_family", pa.int64()),
             ("own_family_share", pa.float64())]))  # fmt: skip
        says = verdict(
            replace(release, tables=tables | {"judge_bias": own}), [winner_tile(release)]
        )
        first = "model m2 judges its own family: outputs of that win 62.5% of 80 comparisons; "
        assert says["reasons"].startswith(f"{first}no clear winner") is (len(rows) > 1)


def test_the_first_command_shows_a_judge_who_is_warned_of_and_counts():
    check = gate("undeclared_models", "number of judges", 1, "d (family openai, 2% of all)")
    for dropped in ((), ("d",)):
        release = warned_release([check], {"kinds": {}}, *dropped)
        release.labelled_in_all, release.campaign = Labelled(0), "c.yaml"
        release.manifest |= {"version": "v0001", "parent": None}
        release.tables |= {"doubtful_items": pa.table({}), "estimates": pa.table({})}
        shown = "annot items c.yaml --judge d    # items that this judge judged"
        assert (next_commands(release)[0] == shown) is (not dropped)


def test_files_in_warnings_have_no_folders_and_items_stay_whole():
    detail = "ru-en: '18/Online-A.9': 2 answers, first in ../wmt22/raw.tsv.gz row 2; ../../x.csv"
    [shown] = open_gates([gate("repeated", "number of pairs", 1, detail)])["warnings"]
    says = "ru-en: '18/Online-A.9': 2 answers, first in raw.tsv.gz row 2; x.csv"
    assert shown["detail"] == says


def test_whoever_looks_random_and_counts_is_looked_at_before_those_dropped():
    row = {"accuracy": 0.6, "chance_accuracy": 0.5, "n_judgments": 900, "verdict": "failed"}
    rows = [
        row | {"judge": "a", "dropped": True, "random": True},
        row | {"judge": "b", "dropped": False, "random": True},
    ]
    assert [one.name for one in judges_tile(judges_alone(rows)).first] == ["b", "a"]


def test_the_model_that_agrees_least_with_people_is_named():
    """People whom nobody tests count; whom to doubt are the models that are compared with them."""
    row = {"judge": "a", "verdict": "untested", "accuracy": None, "dropped": False,
           "random": False, "n_judgments": 900}  # fmt: skip
    models = ("m1", "people", 0.4), ("m2", "people", 0.076), ("m3", "people", None)
    tile = judges_tile(judges_alone([row], *models))
    words = "model m2 agrees least with people: kappa 0.076"
    assert tile.sentence == words
    assert tile.words == f"none was tested; {words}"
    assert judges_tile(judges_alone([row])).words == "none was tested"


@pytest.mark.parametrize(
    ("value", "written"), [(0.999814, ">0.999"), (-0.9996, "<\u22120.999"), (0.9994, "0.999"),
                           (1.0, "1.000"), (1 - 1e-15, "1.000")],
)  # fmt: skip
def test_what_is_less_than_1_is_not_written_as_1(value, written):
    assert number(value) == written


@pytest.mark.slow
def test_the_commands_of_a_report_work_in_the_folder_of_the_campaign(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "here"
    labels_campaign(folder)
    (folder / "exports/labels-2.csv").write_text("item,judge,label\nitem 3,judge 7,yes\n")
    (folder / "campaign.yaml").rename(folder / "my campaign.yaml")
    release = build_file(folder / "my campaign.yaml").publication.release
    report = release.file("report.html").read_text()
    blocks = re.findall(r'<pre class="command"><code>(.*?)</code>', report, re.DOTALL)
    lines = [unescape(line) for block in blocks for line in block.splitlines()]
    assert {line.split()[1] for line in lines} >= {"items", "diff", "trace"}
    assert str(tmp_path) not in report
    monkeypatch.chdir(folder)
    for line in [*lines, "annot verify 'my campaign.yaml' --rebuild"]:
        words = ["item 3" if word == "ITEM" else word for word in split(line, comments=True)]
        assert words[1] == "verify" or words[2] == "my campaign.yaml"
        if words[1] == "serve":  # until it is stopped: build_parser takes it
            build_parser().parse_args(words[1:])
            continue
        assert main(words[1:]) == 0, line
    capsys.readouterr()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "exports").rename(elsewhere / "exports")
    (folder / "my campaign.yaml").rename(elsewhere / "other.yaml")
    again = build_file(elsewhere / "other.yaml").publication.release
    tables = [{t["name"]: t["sha256"] for t in r.manifest["tables"]} for r in (release, again)]
    assert tables[0] == tables[1]
    assert "annot items other.yaml" in again.file("report.html").read_text()


def test_scores_without_controls_name_who_agrees_no_better_than_chance(tmp_path):
    """The number is that of the warning, and the judges are those whom it means."""
    rows = [
        {"judge": judge, "segment": f"s{n}", "system": "x",
         "score": (n * 37 + 11 * len(judge)) % 60 if judge == "odd" else n + len(judge)}
        for n in range(60) for judge in ("a", "bb", "cccc", "odd")
    ]  # fmt: skip
    fields = {name: name for name in ("judge", "segment", "system", "score")}
    document = {"campaign": "small", **OPEN, "sources": [
        {"path": "exports/*.csv", "format": "csv", "fields": fields}]}  # fmt: skip
    built = build_into(tmp_path, {"a.csv": csv_text(rows)}, document)
    contents = contents_of(built)
    gate = {check["name"]: check for check in contents.manifest["checks"]}["inconsistent_judges"]
    assert gate["value"] == 1
    assert [one.name for one in judges_tile(contents).first] == ["odd"]
    tiles = [judges_tile(contents)]
    assert "1 of 4 judges looks random" in verdict(contents, tiles)["reasons"]
    gate["value"] = 0  # the gate asks for more items than they share
    again = contents_of(built)
    again.manifest["checks"][:] = [gate]
    assert judges_tile(again).first == []
