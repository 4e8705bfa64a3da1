"""A campaign whose judges could be known by their names, in every format that exports come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CSV = ("alice.liddell@example.org", "203.0.113.77", "2001:db8::dead:beef", "Bob_Smith.1987")
LOOK_ALIKE = "ALICE.LIDDELL@example.org"
WIDE = ("erin.wide@example.org", "frank.wide@example.org")
WORKERS = ("A2XYZQ8KJ3LM0P", "A1PLMNB0V6TRE9", "A3QWERTY77UIOP")
EMAILS = ("carol@label-studio.example", "dave@label-studio.example")
MAPPED = "grace.mapped@example.org"
EXPERT = "dana.expert@example.org"
MISPLACED = "heidi.ragged@example.org"
LINES = "ivan.lines@example.org"
HIT_JUDGE = "AH1TJUDGE00XYZ"
ASSIGNMENT = "3ASSIGNMENT0F0WORKER"

NAMES = (
    *CSV, LOOK_ALIKE, *WIDE, *WORKERS, *EMAILS, MAPPED, EXPERT, MISPLACED, LINES, HIT_JUDGE,
    "malice.truncated@example.org", "mallory.cancelled@example.org", "rita.r1",
)  # fmt: skip
"""None of these may be told anywhere but in the store and the exports."""

ITEMS = [f"item{n}" for n in range(6)]
REJECTED = "Rejected"


def write_private_campaign(folder: Path, **settings: Any) -> Path:
    """Write the campaign and its exports."""
    exports = folder / "exports"
    exports.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("votes.csv", _votes()), ("wide.csv", _wide()), ("batch.csv", _batch()),
        ("studio.json", _studio()), ("lines.jsonl", _lines()), ("expert.csv", _expert()),
        ("mapped.csv", _mapped()), ("scores.csv", _scores()), ("pairs.csv", _pairs()),
    ):  # fmt: skip
        (exports / name).write_text(text, encoding="utf-8")
    document = {
        "campaign": "private",
        "sources": _sources(),
        "tasks": [
            {"name": "scored", "kind": "scalar", "scale": [0, 100]},
            {"name": "pairs", "kind": "pairwise"},
            {"name": "*", "kind": "categorical", "labels": ["no", "yes"]},
        ],
        "gates": {"rejected_share": {"error": 1}},
        "ranking": {"bootstrap": 10, "online_rounds": 2},
        "agreement": {"bootstrap": 10},
        "easl": {"hit_size": 2},
    } | settings
    (folder / "campaign.yaml").write_text(json.dumps(document), encoding="utf-8")
    return folder


def _sources() -> list[dict[str, Any]]:
    plain = {"item": "item", "judge": "judge", "label": "label"}

    def source(name: str, format_: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"path": f"exports/{name}", "format": format_, "fields": fields} | more

    mapped = {"column": "rater", "map": {"rita.r1": MAPPED}}
    studio = {"item": "data.item", "judge": "completed_by.email", "label": "choice"}
    batch = {"item": "Input.item", "judge": "WorkerId", "label": "Answer.label",
             "hit": "HITId", "native_id": "AssignmentId", "status": "AssignmentStatus"}  # fmt: skip
    scored = {n: n for n in ("judge", "hit", "system", "segment", "control", "score")}
    pairs = {n: n for n in ("judge", "segment", "system_a", "system_b", "preference")}
    task = {"task": {"value": "scored"}}
    return [
        source("votes.csv", "csv", plain | {"seconds": "seconds"}),
        source(
            "wide.csv", "csv",
            {"item": "item", "judge": {"value": "{who}"}, "label": "{who}"},
            each={"who": list(WIDE)},
        ),
        source("batch.csv", "mturk", batch),
        source("studio.json", "label_studio", studio),
        source("lines.jsonl", "jsonl", plain),
        source("mapped.csv", "csv", {"item": "item", "judge": mapped, "label": "label"}),
        source("expert.csv", "csv", plain | {"control": {"value": "adjudication"}, "why": "why"}),
        source("scores.csv", "csv", task | scored),
        source("pairs.csv", "csv", {"task": {"value": "pairs"}} | pairs),
    ]  # fmt: skip


def _votes() -> str:
    """One judge always disagrees; rows that are ragged, blank, or of an unknown label too."""
    lines = ["item,judge,label,seconds"]
    for n, item in enumerate(ITEMS):
        for judge in (*CSV, LOOK_ALIKE):
            right = judge != CSV[3]
            lines.append(f"{item},{judge},{'yes' if (n % 2 == 0) == right else 'no'},{n}.5")
    lines += [
        f"item0,{CSV[0]},perhaps,1", f",{CSV[1]},yes,1", f"item1,{CSV[2]},yes,soon",
        f"item2,{MISPLACED}", f"item2,{MISPLACED},yes,1,{MISPLACED}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _wide() -> str:
    rows = [",".join((item, "yes", "no" if n == 3 else "yes")) for n, item in enumerate(ITEMS)]
    return "\n".join(["item," + ",".join(WIDE), *rows, "item9,perhaps,yes"]) + "\n"


def _batch() -> str:
    head = "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.item,Answer.label"
    rows = [
        f"3HIT{n},{ASSIGNMENT}{n}{w},{worker},{REJECTED if n == w == 1 else 'Approved'},{item},yes"
        for n, item in enumerate(ITEMS)
        for w, worker in enumerate(WORKERS)
    ]
    return "\n".join([head, *rows]) + "\n"


def _studio() -> str:
    def annotation(number: int, email: str, choice: str, **more: Any) -> dict[str, Any]:
        result = {"from_name": "mood", "type": "choices", "value": {"choices": [choice]}}
        person = {"id": number, "email": email, "first_name": email.split("@")[0]}
        return {"id": number, "completed_by": person, "result": [result]} | more

    tasks = []
    for n, item in enumerate(ITEMS):
        made = [annotation(10 * n + k, email, "yes") for k, email in enumerate(EMAILS)]
        made.append(
            annotation(10 * n + 9, "mallory.cancelled@example.org", "no", was_cancelled=True)
        )
        tasks.append({"id": n, "data": {"item": item}, "annotations": made})
    return json.dumps(tasks)


def _lines() -> str:
    lines = [json.dumps({"item": item, "judge": LINES, "label": "yes"}) for item in ITEMS]
    cut = '{"item": "item1", "judge": "malice.truncated@example.org", "lab'
    return "\n".join([*lines, cut, json.dumps([LINES]), json.dumps(LINES)]) + "\n"


def _mapped() -> str:
    return "item,rater,label\n" + "".join(f"{i},rita.r1,yes\n" for i in ITEMS) + "item0,rita.r1,x\n"


def _expert() -> str:
    return f"item,judge,label,why\nitem1,{EXPERT},no,the guideline says so\n"


def _scores() -> str:
    """A judge who fails judge control, one who passes, and one without variance."""
    lines = ["judge,hit,system,segment,control,score"]
    for n in range(6):
        for system in ("A", "B"):
            for judge, worse in ((CSV[0], -30 - n), (HIT_JUDGE, n % 3), (WORKERS[0], 0)):
                score = 50 if judge == WORKERS[0] else 60 + n
                lines.append(f"{judge},h-{judge},{system},s{n},none,{score}")
                lines.append(f"{judge},h-{judge},{system},s{n},bad_reference,{score + worse}")
    lines.append(f"{CSV[1]},h1,A,s1,none,900")
    return "\n".join(lines) + "\n"


def _pairs() -> str:
    rows = [f"{judge},s{n},A,B,{'ab'[n % 2]}" for n in range(4) for judge in (HIT_JUDGE, LINES)]
    return "\n".join(["judge,segment,system_a,system_b,preference", *rows]) + "\n"
