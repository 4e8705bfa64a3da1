"""Families of judges that a campaign declares, compared with the judges that it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from annot_pipeline.config.judges import JudgeSettings


def declared_families(
    names: Iterable[str], settings: Sequence[JudgeSettings]
) -> tuple[dict[str, int], list[str]]:
    """Return the number of judges of each family, and the entries that change nothing.

    An entry with ``kind: model`` is of use with one judge: models have order effects of their own.

    Patterns are not quoted: they may name a judge.

    Parameters
    ----------
    names
        Of judges, as records have them.
    settings
        The first whose pattern matches a name says its family.
    """
    matched: Counter[int] = Counter()
    members: Counter[int] = Counter()
    for name in names:
        entries = [n for n, judges in enumerate(settings) if fnmatchcase(name, judges.name)]
        matched.update(entries)
        members.update(entries[:1])
    families: Counter[str] = Counter()
    for entry_number, judges in enumerate(settings):
        if judges.family is not None:
            families[judges.family] += members[entry_number]
    unused = []
    for entry_number, judges in enumerate(settings):
        if not matched[entry_number]:
            reason = "matches no judge"
        elif not members[entry_number]:
            reason = "earlier entries match all its judges"
        elif judges.kind != "model" and judges.family is not None and families[judges.family] == 1:
            reason = "its family has one judge"
        else:
            continue
        family = "" if judges.family is None else f" (family {judges.family})"
        unused.append(f"judges.{entry_number}{family}: {reason}")
    return dict(families), unused
