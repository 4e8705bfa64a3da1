"""Ranking XML, written and read: what its tests share.

The form is that of Appraise's templates (legacy/templates/wmt13 and wmt15): skipped rankings,
an export without tasks, durations of whole seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from annot_pipeline.exports import READERS, Export, Opening

Record = dict[str, Any]
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def output(system: str, rank: object) -> str:
    return f'    <translation system="{system}" rank="{rank}" />\n'


FIVE = "".join(output(s, r) for s, r in [("a", 3), ("b,c", 1), ("d", 2), ("e", 2), ("f", 5)])


def result(outputs: str = FIVE, user: str = "u1", duration: str = "00:00:35.337000") -> str:
    return f'  <ranking-result duration="{duration}" user="{user}">\n{outputs}  </ranking-result>\n'


def task(*results: str, segment: str = "581") -> str:
    return f'<ranking-task id="{segment}">\n{"".join(results)}</ranking-task>\n'


def hit(*tasks: str, id_: str = "32872282", languages: tuple[str, str] = ("deu", "eng")) -> str:
    source, target = languages
    return (
        f'<HIT hit-id="{id_}" source-language="{source}" block-id="-1" '
        f'target-language="{target}">\n{"".join(tasks)}</HIT>\n'
    )


def document(*hits: str) -> str:
    return f"{HEAD}<WMT15-results>\n\n{''.join(hits)}</WMT15-results>\n"


def opened(path: Path, content: str | bytes, **options: Any) -> Export:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return READERS["wmt_ranking"](Opening(path, path.name, **options))


def read(export: Export) -> list[Record]:
    """Every record; every row must have one."""
    actual: list[Record] = []
    for chunk in export.chunks:
        columns = {name: column.to_pylist() for name, column in chunk.columns.items()}
        assert chunk.cell is not None
        for n, row in enumerate(chunk.row.tolist()):
            told = {"row": row, "cell": chunk.cell[n].as_py(), "problem": chunk.problem[n].as_py()}
            actual.append(told | {name: column[n] for name, column in columns.items()})
    assert {r["row"] for r in actual} == set(range(1, export.n_rows + 1)), "a row is lost"
    return actual
