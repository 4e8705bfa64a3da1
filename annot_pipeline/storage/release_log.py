"""What a store saw published, pruned, pinned and given up, of all gold that it feeds: one log.

``release_log.jsonl`` holds an event a line, each with its own digest and that of the line before.
Events are appended; only reasons that name a forgotten person are taken out. A file that was
damaged is written again with the lines that are whole, and an event that says so. Gold is named by
where it lies as seen from the store. Store or gold may be moved: gold with a release in common is
the same, wherever that lay.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from annot_pipeline.bounded_json import parse_bounded_json
from annot_pipeline.config.gold_url import is_url
from annot_pipeline.errors import Problem, StoreError, first_of
from annot_pipeline.storage.files import (
    atomic_write,
    read_document,
    read_regular,
    remove_unfinished,
)
from annot_pipeline.storage.locks import exclusive_lock
from annot_pipeline.storage.pointer import (
    SHA256,
    VERSION,
    Pointer,
    marks,
    number,
    read_pointer,
)

LOG = "release_log.jsonl"
LOG_LOCK = "release_log.lock"
VERSION_IN_TEXT = re.compile(r"\bv\d{4,9}\b")

Event = dict[str, Any]


@dataclass(frozen=True)
class SeenGold:
    """What the log says of gold in one place.

    Parameters
    ----------
    campaign
        Whose releases.
    pointer
        The last latest.json that the store wrote or read; None before the first.
    highest
        The highest number of a version, which never falls.
    is_abandoned
        Whether the user said that it will not come back.
    """

    campaign: str = ""
    pointer: Pointer | None = None
    highest: int = 0
    is_abandoned: bool = False


@dataclass(frozen=True)
class LogContent:
    """The events of a log, and what follows from them.

    Parameters
    ----------
    events
        Events that are as they were written.
    golds
        What they say of gold, by name.
    highest
        A number that no version above had where lines were lost that told; 0 where none was. Of
        numbers up to it the log does not know whether they were published.
    lacks_gold
        Whether lines were lost, which may have named other gold.
    damage
        What is wrong with the file; None where it is whole.
    """

    events: tuple[Event, ...] = ()
    golds: Mapping[str, SeenGold] = field(default_factory=dict)
    highest: int = 0
    lacks_gold: bool = False
    damage: Problem | None = None


def gold_name(store: Path, gold: Path | str) -> str:
    """Return the name of gold in a store: its URL, or its path from the store."""
    return gold if isinstance(gold, str) else os.path.relpath(gold.resolve(), store.resolve())


class ReleaseLog:
    """The log of a store, as it concerns some gold; reading takes no lock.

    Parameters
    ----------
    store
        The store.
    gold
        Where the gold at hand lies.
    campaign
        Whose releases they are; empty where that is not known.
    """

    def __init__(self, store: Path, gold: Path | str, campaign: str = "") -> None:
        self.store, self.path = store, store / LOG
        self.gold, self.campaign = gold_name(store, gold), campaign
        self._whole: tuple[tuple[int, ...], LogContent] | None = None

    def read(self) -> LogContent:
        """Return what the log says; damaged lines say nothing."""
        state = _state(self.path)
        if self._whole and self._whole[0] == state:
            return self._whole[1]
        content = self._read()
        if state and content.damage is None:
            self._whole = state, content
        return content

    def _read(self) -> LogContent:
        data, damage = b"", ""
        try:
            data = read_document(self.path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            damage = f"it cannot be read: {error.strerror or error}"
        events, lost = _parsed(data)
        if lost:
            damage = f"it is damaged at line {first_of(lost)}"
        elif not data and not damage and any((self.store / "settings").glob("*.json")):
            damage = "it is missing or empty"  # settings are kept after gold is noted
        content = _folded(events)
        if not damage:
            return content
        what = f"{damage}: what this store saw published is not known"
        do = (
            "restore it from a backup; or annot build goes on with the lines that are whole, and "
            "gives a number above every known one"
        )
        highest = max(self._numbers_anywhere(content), default=0)
        problem = Problem(str(self.path), what, do=do)
        return replace(content, highest=highest, lacks_gold=True, damage=problem)

    def location(self, name: str) -> str:
        """Return where gold with this name lies."""
        return name if is_url(name) else os.path.normpath(self.store.resolve() / name)

    def locations(self) -> list[str]:
        """Return the gold that the store feeds, also what is away, and not what is given up."""
        golds = self.read().golds
        return sorted(self.location(name) for name in golds if not golds[name].is_abandoned)

    def feed(self) -> None:
        """Remember that the store feeds this gold; before a release is published there."""
        fed, unknown = self._event("fed"), SeenGold(is_abandoned=True)
        self._append(lambda golds: [fed] * golds.get(self.gold, unknown).is_abandoned)

    def point(self, pointer: Pointer) -> None:
        """Remember what latest.json says.

        Raises
        ------
        OSError
            The log cannot be written.
        """

        def events(golds: Mapping[str, SeenGold]) -> list[Event]:
            news = _news(golds.get(self.gold, SeenGold()).pointer, pointer)
            return [self._event("pointed") | news] if news else []

        self._append(events)

    def abandon(self, golds: Collection[str]) -> None:
        """Forget gold that will not come back, by name; an empty one is what lost lines named."""
        self._append(lambda _: [self._event("abandoned") | {"gold": g} for g in sorted(golds)])

    def note_forgotten(self) -> None:
        """Remember that people were forgotten, so that a list of them that is lost is missed."""
        self._append(lambda _: [{"event": "forgot"}] * (not self.has_forgotten()))

    def has_forgotten(self) -> bool:
        """Return whether people were forgotten: the store has a list of them."""
        return any(event["event"] == "forgot" for event in self.read().events)

    def redact(self, names_person: Callable[[str], bool]) -> None:
        """Leave out texts of pins and retractions that name a person; an event says so."""
        events = self.read().events
        if any(_without_texts(event, names_person) != event for event in events):
            self._append(lambda _: [{"event": "redacted"}], names_person)

    def newest(self, at_hand: Pointer | None, lying: Mapping[str, str]) -> Pointer | None:
        """Return the pointer that the log has of the gold at hand.

        What it has of gold elsewhere counts only where that is newer, has a release in common, and
        is not of other gold that is still there.

        Parameters
        ----------
        at_hand
            What latest.json says; None where it is missing.
        lying
            Digests of the manifests in gold, by version, for where latest.json is missing.
        """
        pointers = self._pointers()
        own = pointers.pop(self.gold, None)
        manifests = {**(own.manifests if own else {}), **(at_hand.manifests if at_hand else lying)}
        extent = max((_extent(known) for known in (own, at_hand) if known), default=(0, 0))
        newer = [
            pointer
            for name, pointer in pointers.items()
            if _extent(pointer) > extent
            and manifests.items() & pointer.manifests.items()
            and not self._is_there(name, pointer)
        ]
        return max(newer, key=_extent) if newer else own

    def own(self) -> Pointer | None:
        """Return the pointer that the log has of gold in this place."""
        return self._pointers().get(self.gold)

    def used_numbers(self) -> set[int]:
        """Return numbers that no new release of this gold may get, as far as the store knows.

        Those of other gold that is still there do not count, unless lines of the log were lost:
        then every number that the store names anywhere counts.
        """
        content = self.read()
        used = {content.highest}
        for name, seen in content.golds.items():
            is_ours = not self.campaign or seen.campaign in ("", self.campaign)
            is_elsewhere = name != self.gold and seen.pointer and self._is_there(name, seen.pointer)
            if is_ours and not is_elsewhere:
                used.add(seen.highest)
        return used

    def _event(self, kind: str) -> Event:
        return {"event": kind, "gold": self.gold, "campaign": self.campaign}

    def _pointers(self) -> dict[str, Pointer]:
        golds = self.read().golds.items()
        return {name: s.pointer for name, s in golds if s.pointer and not s.is_abandoned}

    def _is_there(self, name: str, pointer: Pointer) -> bool:
        """Return whether other gold is still where the log names it.

        Gold at another URL is taken to be there: the network is not asked.
        """
        location = self.location(name)
        if is_url(location):
            return True
        try:
            lying = read_pointer(Path(location))
        except StoreError:
            return True  # damaged, but there
        return lying is not None and _origin(lying) == _origin(pointer)

    def _append(
        self,
        events: Callable[[Mapping[str, SeenGold]], Sequence[Event]],
        names_person: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Append the events that some gold gives rise to; others may append at the same time."""
        self.store.mkdir(parents=True, exist_ok=True)
        with exclusive_lock(self.store / LOG_LOCK, lambda: None):
            remove_unfinished(self.store, name=LOG)
            with suppress(FileNotFoundError, NotADirectoryError):
                read_document(self.path)  # what cannot be read now is not written again without it
            content = self.read()
            new = list(events(content.golds))
            if content.damage:
                new.insert(0, {"event": "mended", "highest": content.highest})
            if new:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                with atomic_write(self.path) as temporary:
                    known = [_without_texts(event, names_person) for event in content.events]
                    temporary.write_bytes(_text([*known, *(e | {"at": now} for e in new)]))

    def _numbers_anywhere(self, content: LogContent) -> set[int]:
        """Return numbers of versions that the log, notes of builds and other gold name."""
        found = {number(version) for version in self._versions_anywhere(content)}
        return found | {seen.highest for seen in content.golds.values()} | {content.highest}

    def _versions_anywhere(self, content: LogContent) -> Iterator[str]:
        for pattern in (
            "last_build.json",
            "stages/archive_exports/*/stage.json",
            "stages/compare_releases/*/stage.json",
        ):
            for path in self.store.glob(pattern):
                yield from _versions_in(path)
        for location in map(self.location, content.golds):
            with suppress(OSError, StoreError):
                if not is_url(location):
                    yield from os.listdir(location)
                    pointer = read_pointer(Path(location))
                    yield from pointer.manifests if pointer else ()
        versions = _versions_in(self.path)
        # a changed byte may give a number that nobody gave; it stands there once
        yield from (version for version in versions if versions.count(version) > 1)


def _text(events: Sequence[Event]) -> bytes:
    """Return the lines of events: each has the digest of the line before, and its own."""
    lines, before = [], ""
    for event in events:
        linked = {**event, "before": before}
        before = _digest(linked)
        lines.append(_line(linked | {"sha256": before}))
    return b"".join(lines)


def _parsed(data: bytes) -> tuple[list[Event], list[str]]:
    """Return the events of lines that are whole, and the numbers of lines that are not."""
    events: list[Event] = []
    lost: list[str] = []
    before: str | None = ""  # None: the line before is lost
    for line_number, line in enumerate(data.splitlines(keepends=True), 1):
        try:
            event = parse_bounded_json(line)
            sha256 = event.pop("sha256")
            if sha256 != _digest(event) or _line(event | {"sha256": sha256}) != line:
                raise ValueError("changed")
            is_next = event.pop("before") == before or before is None
            _check(event)
        except (ValueError, KeyError, TypeError, AttributeError):
            lost.append(str(line_number))
            before = None
            continue
        if not is_next:
            lost.append(str(line_number))  # a line before it is missing
        events.append(event)
        before = sha256
    return events, lost


def _check(event: Event) -> None:
    """Make sure that an event is as this version writes it; kinds of newer ones are not looked at.

    Raises
    ------
    ValueError, KeyError, TypeError, AttributeError
        It is not.
    """
    kind = event["event"]
    if kind == "mended" and type(event["highest"]) is not int:
        raise TypeError(event["highest"])
    if kind in ("fed", "pointed", "abandoned"):
        name = event["gold"]
        if not isinstance(name, str) or "\0" in name or not isinstance(event["campaign"], str):
            raise TypeError(name)
    if kind == "pointed":
        marked = (*event["pins"], *event["retracted"])
        versions = (event["version"], *event["manifests"], *event["pruned"], *marked)
        if not all(map(VERSION.fullmatch, versions)):
            raise ValueError(versions)
        if not all(map(SHA256.fullmatch, event["manifests"].values())):
            raise ValueError(event["manifests"])
        marks(event)


def _folded(events: Sequence[Event]) -> LogContent:
    """Return what follows from events, in their order."""
    golds: dict[str, SeenGold] = {}
    highest, lacks_gold = 0, False
    for event in events:
        kind = event["event"]
        if kind == "mended":
            highest, lacks_gold = max(highest, event["highest"]), True
        elif kind == "abandoned" and not event["gold"]:
            lacks_gold = False
        elif kind in ("fed", "pointed", "abandoned"):
            golds[event["gold"]] = _with_event(golds.get(event["gold"], SeenGold()), event)
    seen = {name: replace(gold, pointer=_usable(gold.pointer)) for name, gold in golds.items()}
    return LogContent(tuple(events), seen, highest, lacks_gold)


def _with_event(seen: SeenGold, event: Event) -> SeenGold:
    """Return what the log says of some gold after one more event."""
    kind = event["event"]
    seen = replace(seen, campaign=event["campaign"], is_abandoned=kind == "abandoned")
    if kind != "pointed":
        return replace(seen, pointer=None) if seen.is_abandoned else seen
    version, pointer = event["version"], seen.pointer or Pointer("", {})
    manifests = {**pointer.manifests, **event["manifests"]}
    pointer = Pointer(version, manifests, (*pointer.pruned, *event["pruned"]), **marks(event))
    highest = max(seen.highest, *map(number, (version, *event["manifests"])))
    return replace(seen, pointer=pointer, highest=highest)


def _usable(pointer: Pointer | None) -> Pointer | None:
    """Return a pointer whose newest release is known; None if lines of all releases were lost."""
    if pointer is None or not pointer.manifests:
        return None
    is_known = pointer.version in pointer.manifests
    pruned = tuple({*pointer.pruned})
    return replace(pointer, version=pointer.version if is_known else pointer.last, pruned=pruned)


def _news(before: Pointer | None, after: Pointer) -> Event:
    """Return what an event says of a pointer; empty where it is as before."""
    known = before or Pointer("", {})
    manifests = dict(after.manifests.items() - known.manifests.items())
    pruned = sorted({*after.pruned} - {*known.pruned}, key=number)
    marks = {
        name: {version: asdict(mark) for version, mark in getattr(after, name).items()}
        for name in ("pins", "retracted")
    }
    is_same = all(getattr(after, n) == getattr(known, n) for n in ("version", "pins", "retracted"))
    if is_same and not (manifests or pruned):
        return {}
    return {"version": after.version, "manifests": manifests, "pruned": pruned, **marks}


def pointer_without(pointer: Pointer, names_person: Callable[[str], bool]) -> Pointer:
    """Return a pointer whose pins and retractions have no text that names a person."""
    return replace(pointer, **marks(_without_texts(_news(None, pointer), names_person)))


def _without_texts(event: Event, names_person: Callable[[str], bool]) -> Event:
    """Return an event whose pins and retractions have no text that names a person."""
    marks = {
        name: {
            version: {key: "" if names_person(text) else text for key, text in mark.items()}
            for version, mark in event[name].items()
        }
        for name in ("pins", "retracted") if name in event
    }  # fmt: skip
    return event | marks


def _line(event: Event) -> bytes:
    text = json.dumps(event, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return (text + "\n").encode()


def _digest(event: Event) -> str:
    return hashlib.sha256(_line(event)).hexdigest()


def _state(path: Path) -> tuple[int, ...]:
    """Return what changes where a file is replaced; empty where it cannot be seen."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


def _versions_in(path: Path) -> list[str]:
    try:
        return VERSION_IN_TEXT.findall(read_regular(path).decode(errors="replace"))
    except OSError:
        return []


def _extent(pointer: Pointer) -> tuple[int, int]:
    """Return what grows with each publication and prune: the last number, releases pruned."""
    return number(pointer.last), len(pointer.pruned)


def _origin(pointer: Pointer) -> str:
    """Return the digest of the first release that a pointer knows."""
    return pointer.manifests[min(pointer.manifests, key=number)]
