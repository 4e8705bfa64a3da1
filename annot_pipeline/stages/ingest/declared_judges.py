"""Judges that a campaign declares, compared with those that its exports name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from annot_pipeline.config.judges import JudgeSettings, entry_for, model_families


@dataclass(frozen=True)
class DeclaredJudges:
    """What entries of ``judges`` come to.

    Parameters
    ----------
    families
        Number of judges of each family.
    unused
        Entries that change nothing, with the reason. Patterns are not quoted: they may name a
        judge.
    ambiguous
        Pairs of entries that match the same judges and say different things of them, unless the
        first matches no others: then it is the exception to the second.
    """

    families: dict[str, int]
    unused: list[str]
    ambiguous: list[str]


def declared_judges(
    names: Iterable[str],
    settings: Sequence[JudgeSettings],
    systems: Callable[[], Iterable[str]] = tuple,
) -> DeclaredJudges:
    """Compare entries with judges.

    An entry with ``kind: model`` is of use with one judge, for models have order effects of their
    own, and with a family for systems, whose family it tells.

    Parameters
    ----------
    names
        Of judges, as records have them.
    settings
        The first entry that matches a name counts.
    systems
        Returns the names of systems; called only where an entry of a model matches no judge.
    """
    names = list(names)
    matched: list[set[str]] = [set() for _ in settings]
    members: Counter[int] = Counter()
    overlaps: Counter[tuple[int, int]] = Counter()
    for name in names:
        entries = [n for n, entry in enumerate(settings) if entry.matches(name)]
        for n in entries:
            matched[n].add(name)
        members.update(entries[:1])
        narrow = [n for n in entries[1:] if settings[n].name != "*"]  # what is left
        overlaps.update((entries[0], n) for n in narrow)
    ambiguous = {
        pair: n for pair, n in overlaps.items()
        if _contradict(settings, matched, *pair)
    }  # fmt: skip
    families: Counter[str] = Counter()
    for entry_number, entry in enumerate(settings):
        if entry.family is not None:
            families[entry.family] += members[entry_number]
    return DeclaredJudges(
        dict(families),
        _unused(settings, matched, members, families, systems),
        [
            f"judges.{first} and judges.{second} ({n:,} judge{'s' * (n != 1)})"
            for (first, second), n in sorted(ambiguous.items())
        ],
    )


def _contradict(
    settings: Sequence[JudgeSettings], matched: Sequence[set[str]], first: int, second: int
) -> bool:
    """Return whether two entries that match the same judges say different things of them."""
    one, other = settings[first], settings[second]
    if one.kind != other.kind:
        return True
    is_same = one.model_dump(exclude={"name"}) == other.model_dump(exclude={"name"})
    return one.kind == "model" and not is_same and not matched[first] < matched[second]


def undeclared_models(names: Iterable[str], settings: Sequence[JudgeSettings]) -> dict[str, str]:
    """Return judges who are named like language models and count as people, with the family.

    Those whom an entry other than ``*`` calls people are people.
    """
    names = list(names)
    entries = {name: entry_for(name, settings) for name in names}
    has_models = any(entry is not None and entry.kind == "model" for entry in entries.values())
    return {
        name: family for name, family in model_families(names, has_models=has_models).items()
        if (entry := entries[name]) is None or (entry.kind != "model" and entry.name == "*")
    }  # fmt: skip


def _unused(
    settings: Sequence[JudgeSettings],
    matched: Sequence[set[str]],
    members: Counter[int],
    families: Counter[str],
    systems: Callable[[], Iterable[str]],
) -> list[str]:
    unused = []
    of_systems: list[str] | None = None
    for entry_number, entry in enumerate(settings):
        if not matched[entry_number]:
            if entry.kind == "model" and entry.family is not None:
                of_systems = list(systems()) if of_systems is None else of_systems
                if any(map(entry.matches, of_systems)):
                    continue
            reason = "matches no judge"
        elif not members[entry_number]:
            reason = "earlier entries match all its judges"
        elif entry.kind != "model" and entry.family is not None and families[entry.family] == 1:
            reason = "its family has one judge"
        else:
            continue
        family = "" if entry.family is None else f" (family {entry.family})"
        unused.append(f"judges.{entry_number}{family}: {reason}")
    return unused
