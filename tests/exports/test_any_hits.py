"""Results of planned HITs: anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annot_pipeline.errors import InputError
from annot_pipeline.exports.hit_bookkeeping import DamagedError, parse_hit
from tests.exports.hit_files import ANYTHING, HIT, NUMBERS, TWO, line, records, studio

EDITED = st.fixed_dictionaries(
    {},
    optional={
        "annot": ANYTHING | st.just(1),
        "task": ANYTHING | st.just("t"),
        "hit": ANYTHING | st.just("00000000000000a1"),
        "scale": ANYTHING | st.just([0, 1]),
        "criteria": ANYTHING | st.just([]),
        "slots": ANYTHING | st.lists(st.fixed_dictionaries({"item": ANYTHING | st.text()})),
        "more": ANYTHING,
    },
)


@settings(max_examples=300, deadline=None)
@given(document=EDITED | ANYTHING)
def test_any_bookkeeping_is_read_or_rejected(document: Any) -> None:
    try:
        hit = parse_hit(json.dumps(document))
    except DamagedError:
        return
    assert parse_hit(json.dumps(hit.document())) == hit


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    lines=st.lists(
        st.fixed_dictionaries(
            {"annot_hit": st.just(HIT) | st.just(TWO) | EDITED},
            optional={
                "scores": ANYTHING | st.lists(ANYTHING, min_size=2, max_size=3),
                "judge": ANYTHING,
                "seconds": ANYTHING,
                "item": ANYTHING,
                "task": ANYTHING,
            },
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_lines_have_records(lines: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    text = "\n".join([*map(json.dumps, lines), line([1, 2, 3])])  # one, at least, is whole
    actual = records(tmp_path_factory.mktemp("any") / "r.jsonl", text)
    assert len({r["row"] for r in actual}) == len(lines) + 1


@settings(max_examples=100, deadline=None)
@given(
    results=ANYTHING | st.lists(st.sampled_from(NUMBERS) | ANYTHING),
    annotation=st.fixed_dictionaries(
        {}, optional={"completed_by": ANYTHING, "lead_time": ANYTHING, "was_cancelled": ANYTHING}
    ),
    data=st.fixed_dictionaries({"annot_hit": st.just(HIT) | EDITED}, optional={"text_1": ANYTHING}),
)
def test_any_annotation_has_records(
    results: Any, annotation: Any, data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (task,) = json.loads(studio(HIT, []))
    task["data"] = data
    task["annotations"][0] |= {"result": results, **annotation}
    try:
        text = json.dumps([task], allow_nan=False)
    except ValueError:  # no JSON at all
        return
    try:
        actual = records(tmp_path_factory.mktemp("any") / "r.json", text)
    except InputError as error:
        assert "not a list of tasks" in str(error) or "half of a surrogate" in str(error)  # noqa: PT017
        return
    assert {r["row"] for r in actual} == {1}
