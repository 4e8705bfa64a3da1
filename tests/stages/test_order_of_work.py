"""The longest run of equal scores of a judge, where something tells the order of work."""

from __future__ import annotations

SCORES = [50, 50, 50, 20, 80]


def rows(task, *, timed):
    lines = [
        f"{task},i{n},w{judge},{score},{n},{f'2026-01-01T00:0{n}:00Z' if timed else ''}"
        for judge in range(2)
        for n, score in enumerate(SCORES)
    ]
    return "\n".join(lines) + "\n"


def test_a_task_without_an_order_has_no_runs(stage_campaign):
    """What other tasks tell does not matter: each may be made by itself."""
    fields = {"task": "task", "item": "item", "judge": "judge", "score": "score",
              "native_id": "n", "submitted_at": "at"}  # fmt: skip
    sources = [{"path": "exports/*.csv", "format": "csv", "fields": fields}]
    text = "task,item,judge,score,n,at\n" + rows("plain", timed=False) + rows("timed", timed=True)
    judges = stage_campaign({"a.csv": text}, sources=sources).table("judges").to_pylist()
    runs = {(row["task"], row["longest_constant_run"]) for row in judges}
    assert runs == {("plain", None), ("timed", 3)}
