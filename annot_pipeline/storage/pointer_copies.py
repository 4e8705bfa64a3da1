"""The store's copies of ``latest.json``, and the highest version numbers that were given.

``pointers/`` holds a copy for each gold that the store feeds, named by where that gold lies as seen
from the store. A copy holds its own digest, as ``latest.json`` does. Store or gold may be moved, so
all copies are read: one with a release in common is of the same gold, wherever that lay.
``version_numbers/`` holds the highest number of each gold, which never falls, with a digest.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from annot_pipeline.config.gold_url import is_url
from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.fed_gold import (
    COPIES,
    NUMBERS,
    damaged_note,
    fed_places,
    gold_name,
    gold_stem,
)
from annot_pipeline.storage.files import (
    canonical_json,
    read_json,
    read_regular,
    remove_unfinished,
    write_json,
)
from annot_pipeline.storage.pointer import (
    POINTER,
    SHA256,
    Pointer,
    number,
    parse_pointer,
    read_pointer,
)

VERSION_IN_TEXT = re.compile(r"\bv\d{4,9}\b")
UNKNOWN = "unknown"
"""The origin of numbers of which nobody knows to which gold they were given."""


@dataclass(frozen=True)
class HighestNumbers:
    """The highest version numbers of gold in one place.

    Parameters
    ----------
    campaign
        Whose releases; empty where that is not known.
    numbers
        The highest number by origin: the digest of the first release that the gold knew.
    gold
        The name of the gold in this store; empty where that is not known.
    """

    campaign: str
    numbers: Mapping[str, int]
    gold: str = ""

    def document(self) -> dict[str, object]:
        """Return the JSON document, with its digest."""
        content: dict[str, object] = {"campaign": self.campaign, "numbers": dict(self.numbers)}
        content |= {"gold": self.gold} if self.gold else {}
        return content | {"sha256": hashlib.sha256(canonical_json(content)).hexdigest()}


class PointerCopies:
    """What a store keeps of the pointers of the gold that it feeds.

    Parameters
    ----------
    path
        The copy for the gold at hand; others lie beside it.
    campaign
        Whose releases they are; empty where that is not known.
    gold
        Where the gold lies, which the version numbers note, so that ``gold.json`` can be lost.
    """

    def __init__(self, path: Path, campaign: str = "", gold: Path | str | None = None) -> None:
        self.path, self.campaign = path, campaign
        self.store = path.parent.parent
        self.numbers_path = self.store / NUMBERS / path.name
        name = gold_name(self.store, gold) if gold is not None else ""
        self.gold = name if gold_stem(name) == path.stem else ""

    @classmethod
    def of_gold(cls, store: Path, gold: Path | str, campaign: str = "") -> PointerCopies:
        """Return the copies in a store as they concern a gold folder, or URL."""
        stem = gold_stem(gold_name(store, gold))
        return cls(store / COPIES / f"{stem}.json", campaign, gold)

    def newest(
        self, pointer: Pointer | None, manifests: Mapping[str, str]
    ) -> tuple[Path, Pointer] | None:
        """Return the copy that knows most of the gold at hand, and where it lies.

        A copy of gold elsewhere counts only where it is newer, has a release in common, and is not
        of other gold that is still there.

        Parameters
        ----------
        pointer
            The content of latest.json; None where it is missing.
        manifests
            Digests of the manifests in gold, by version, for where latest.json is missing.
        """
        copies = self._intact()
        own = copies.pop(self.path, None)
        manifests_at_hand = dict(pointer.manifests if pointer else manifests)
        manifests_at_hand = {**own.manifests, **manifests_at_hand} if own else manifests_at_hand
        extents = [_extent(known_copy) for known_copy in (own, pointer) if known_copy]
        newer = {
            path: copy
            for path, copy in copies.items()
            if _extent(copy) > max(extents, default=(0, 0))
            and manifests_at_hand.items() & copy.manifests.items()
            and not self._is_of_other_gold(path, _origin(copy))
        }
        if newer:
            return max(newer.items(), key=lambda item: _extent(item[1]))
        return (self.path, own) if own else None

    def own(self) -> Pointer | None:
        """Return the copy for the gold at hand, if it is as it was written."""
        return self._intact().get(self.path)

    def damaged(self) -> list[Problem]:
        """Return what is wrong with copies, numbers and the list of gold; ``where`` is the file."""
        intact = {*self._intact(), *self._numbers()}
        problems = [note] if (note := damaged_note(self.store)) else []
        for path in self._paths():
            if path in intact:
                continue
            is_copy = path.parent == self.path.parent
            kind = f"copy of {POINTER}" if is_copy else "file of version numbers"
            do = "a build that publishes to its gold writes it again; or restore it from a backup"
            if path in (self.path, self.numbers_path):
                do = "annot build writes it again, and gives a number above every known one"
            what = f"this {kind} in the store is damaged: {POINTER} is not compared with it"
            problems.append(Problem(str(path), what, do=do))
        return problems

    def lost_number(self, pointer: Pointer | None) -> int:
        """Return the highest number that was given in this gold, where latest.json is older.

        It is 0 where latest.json is not.
        """
        origin = _origin(pointer)
        if pointer is None or not origin:
            return 0
        numbers = [
            record.numbers.get(origin, 0)
            for path, record in self._numbers().items()
            if not self._is_of_other_gold(path, origin)
        ]
        highest = max(numbers, default=0)
        return highest if highest > number(pointer.last) else 0

    def used_numbers(self) -> set[int]:
        """Return numbers that no new release of this gold may get, as far as the store knows.

        Those of other gold that is still there do not count, unless a file is damaged: then every
        number that the store names anywhere counts.
        """
        is_damaged = bool(self.damaged())
        used = self._numbers_anywhere() if is_damaged else set()
        for path, copy in self._intact().items():
            if is_damaged or not self._is_of_other_gold(path, _origin(copy)):
                used |= {number(version) for version in copy.manifests}
        for path, record in self._numbers().items():
            is_ours = not self.campaign or record.campaign in ("", self.campaign)
            for origin, highest in record.numbers.items():
                if is_damaged or (is_ours and not self._is_of_other_gold(path, origin)):
                    used.add(highest)
        return used

    def write(self, pointer: Pointer) -> None:
        """Write the copy, and raise the highest number.

        Raises
        ------
        OSError
            They cannot be written.
        """
        for path in (self.path, self.numbers_path):
            remove_unfinished(path.parent, name=path.name)  # others are of other gold
        before = self._numbers().get(self.numbers_path, HighestNumbers("", {}))
        highest_numbers = {_origin(pointer): number(pointer.last)}
        if any(problem.where in self._own_names() for problem in self.damaged()):
            highest_numbers[UNKNOWN] = max(
                self.used_numbers(), default=0
            )  # what is damaged may have held it
        numbers = dict(before.numbers)
        for origin, highest in highest_numbers.items():
            numbers[origin] = max(highest, numbers.get(origin, 0))
        after = HighestNumbers(self.campaign or before.campaign, numbers, self.gold or before.gold)
        if after != before:
            write_json(self.numbers_path, after.document())
        if self._intact().get(self.path) != pointer:
            write_json(self.path, pointer.document())

    def _own_names(self) -> tuple[str, str]:
        return str(self.path), str(self.numbers_path)

    def _paths(self) -> list[Path]:
        folders = self.path.parent, self.numbers_path.parent
        return sorted(path for folder in folders for path in folder.glob("*.json"))

    def _intact(self) -> dict[Path, Pointer]:
        """Return the copies that are as they were written, read anew: other builds write too."""
        copies = {}
        for path in sorted(self.path.parent.glob("*.json")):
            with suppress(StoreError, OSError):
                copies[path] = parse_pointer(read_regular(path), path)
        return copies

    def _numbers(self) -> dict[Path, HighestNumbers]:
        """Return the numbers that are as they were written."""
        numbers = {}
        for path in sorted(self.numbers_path.parent.glob("*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                document = read_json(path)
                record = HighestNumbers(
                    document["campaign"], document["numbers"], document.get("gold", "")
                )
                if record.document() == document and all(map(_is_given, record.numbers.items())):
                    numbers[path] = record
        return numbers

    def _is_of_other_gold(self, path: Path, origin: str) -> bool:
        """Return whether a copy, or numbers, are of other gold that is still there.

        Gold at another URL is taken to be there: the network is not asked.
        """
        if path.stem == self.path.stem:
            return False
        places = [
            location for name, location in self._fed().items() if gold_stem(name) == path.stem
        ]
        for location in places:
            if is_url(location):
                return True
            try:
                pointer = read_pointer(Path(location))
            except StoreError:
                return True  # damaged, but there
            if pointer is not None and _origin(pointer) in ("", origin):
                return True
        return False

    def _fed(self) -> dict[str, str]:
        try:
            return fed_places(self.store)
        except (StoreError, OSError):
            return {}

    def _numbers_anywhere(self) -> set[int]:
        """Return numbers of versions that notes of builds, other gold and damaged files name."""
        return {number(version) for version in self._versions_anywhere()}

    def _versions_anywhere(self) -> Iterator[str]:
        for pattern in (
            "last_build.json",
            "stages/archive_exports/*/stage.json",
            "stages/compare_releases/*/stage.json",
        ):
            for path in self.store.glob(pattern):
                yield from _versions_in(path)
        for location in self._fed().values():
            with suppress(OSError, StoreError):
                if not is_url(location):
                    yield from os.listdir(location)
                    pointer = read_pointer(Path(location))
                    yield from pointer.manifests if pointer else ()
        for problem in self.damaged():
            versions = _versions_in(Path(problem.where))
            # a changed byte may give a number that nobody gave; it stands there once
            yield from (version for version in versions if versions.count(version) > 1)


def _versions_in(path: Path) -> list[str]:
    try:
        return VERSION_IN_TEXT.findall(read_regular(path).decode(errors="replace"))
    except OSError:
        return []


def _is_given(entry: tuple[object, object]) -> bool:
    origin, highest = entry
    is_origin = isinstance(origin, str) and (origin == UNKNOWN or SHA256.fullmatch(origin))
    return bool(is_origin) and isinstance(highest, int) and not isinstance(highest, bool)


def _extent(pointer: Pointer) -> tuple[int, int]:
    """Return what grows with each publication and prune: the last number, releases pruned."""
    return number(pointer.last), len(pointer.pruned)


def _origin(pointer: Pointer | None) -> str:
    """Return the digest of the first release that a pointer knows; empty without one."""
    if pointer is None:
        return ""
    return pointer.manifests[min(pointer.manifests, key=number)]
