"""Digests of exports as releases publish them, and which archived bytes each stands for.

Where judges are pseudonyms, a release publishes a keyed digest of each export (`keys`): whoever
guesses names could confirm the guess by a plain one. The plain SHA-256, by which the archive keeps
the bytes, stays in the store, in ``digests/``; what is lost there follows from the archive and key.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

from annot_pipeline.config import Campaign
from annot_pipeline.config.signature import digest
from annot_pipeline.errors import StoreError
from annot_pipeline.storage.files import atomic_write, canonical_json, make_private, read_json
from annot_pipeline.storage.keys import present_key, published_digest
from annot_pipeline.storage.pointer import SHA256
from annot_pipeline.storage.store import Store


class SourceDigests:
    """SHA-256 of exports by the digest that a release publishes.

    Parameters
    ----------
    store
        Whose archive holds the bytes.
    settings
        Of the campaign: whether judges are pseudonyms, and where the secret is.
    """

    def __init__(self, store: Store, settings: Campaign) -> None:
        self._store, self._settings = store, settings
        self._folder = store.root / "digests"

    def sha256(self, published: str) -> str | None:
        """Return the SHA-256 of the bytes, None where neither store nor key tells it."""
        return self._recorded.get(published) or self._archived.get(published)

    def record(self, digests: Mapping[str, str], *, only: bool = False) -> None:
        """Keep the SHA-256 of exports by published digest, in a file that the owner alone opens.

        ``only``: and nothing else.
        """
        known = {} if only else self._recorded
        new = {d: sha256 for d, sha256 in sorted(digests.items()) if known.get(d) != sha256}
        if not new:
            return
        make_private(self._folder)
        with atomic_write(file := self._folder / f"{digest(new)}.json") as temporary:
            temporary.touch(mode=0o600)
            temporary.write_bytes(canonical_json(new))
        for other in {*self._folder.glob("*.json")} - {file} if only else ():
            other.unlink()
        self.__dict__.pop("_recorded", None)

    @cached_property
    def _recorded(self) -> dict[str, str]:
        recorded: dict[str, str] = {}
        for path in sorted(self._folder.glob("*.json")):
            with suppress(OSError, ValueError, TypeError):  # damaged: it follows from the archive
                entries = read_json(path)
                if digest(entries) == path.stem:  # canonical JSON: keys in order
                    recorded |= entries
        return recorded

    @cached_property
    def _archived(self) -> dict[str, str]:
        """Return what follows from the names of the archived files.

        A plain digest stands for itself.
        """
        names = [p.name for p in self._store.archive.glob("??/*") if SHA256.fullmatch(p.name)]
        archived = {name: name for name in names}
        try:
            key = present_key(self._settings, self._store.root)
        except StoreError:
            key = None
        if key is not None:
            archived |= {published_digest(self._settings, key, name): name for name in names}
        return archived
