"""Gold in an object store, with copies in a folder: what readers on this machine open.

The object store is the truth. A release is uploaded file by file, then its manifest, then the
pointer: before that no reader sees it. Every object is created, never overwritten, so that what
two machines upload cannot mix; the pointer alone is replaced, if it is still the one that the build
went on from. A version without a manifest does not exist: an upload that was killed left it, or
one that is under way. Its number is not used again, since nobody can tell which of the two it is;
a later build removes it once the pointer has gone past it, when it can be published no more. So it
does with a whole version that the pointer went past without naming it: another build was faster.
Only what an upload has announced (an object below ``.annot-uploads/``) is removed: folders with the
name of a version may have been there before gold was.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import (
    atomic_write,
    canonical_json,
    file_sha256,
    make_private,
    read_regular,
    remove_unfinished,
)
from annot_pipeline.storage.gold_folder import Fill, GoldFolder
from annot_pipeline.storage.manifest import COPY_AGAIN, MANIFEST, verified_manifest, written_in
from annot_pipeline.storage.pointer import POINTER, VERSION, Pointer, number, parse_pointer
from annot_pipeline.storage.release import DamagedError, Release, has_digest

PIECE = 1 << 22
EXTRAS = {
    "s3": "annot-pipeline[s3]",
    "gs": "gcsfs",
    "az": "adlfs",
}
"""What to install for each kind of object store."""
STANDS = "the last release stands"
OVERTAKEN = ("PreconditionFailed", "ConditionalRequestConflict")
OF_THIS_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


class Bucket:
    """The objects below a URL.

    Parameters
    ----------
    url
        As ``s3://bucket/gold``. Credentials and endpoint come from the environment.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.scheme, _, self._root = url.partition("://")

    def location(self, name: str) -> str:
        """Return an object's URL."""
        return f"{self.url}/{name}"

    def read(self, name: str) -> bytes | None:
        """Return an object's bytes; None where there is none."""
        try:
            with self._asking(name):
                data: bytes = self._files.cat_file(self._at(name))
        except FileNotFoundError:
            return None
        return data

    def has(self, name: str) -> bool:
        """Return whether there is such an object."""
        with self._asking(name):
            return bool(self._files.isfile(self._at(name)))

    def fetch(self, name: str, target: Path) -> str | None:
        """Copy an object to a file; its SHA-256, or None where there is no such object."""
        try:
            with self._asking(name):
                self._files.get_file(self._at(name), str(target))
        except FileNotFoundError:
            return None
        return file_sha256(target)

    def create(self, name: str, source: Path) -> bool:
        """Upload a file unless the object is there; whether it is there with these bytes.

        Of two who create the same object one has it, and the other sees that, where the object
        store knows conditions.
        """
        try:
            with self._asking(name):
                self._files.put_file(str(source), self._at(name), mode="create")
            return True
        except FileExistsError:
            return self._sha256(name) == file_sha256(source)  # an answer that got lost was a yes
        except FileNotFoundError as error:
            raise self._no_bucket(self.location(name)) from error

    def write(self, name: str, data: bytes) -> None:
        """Write a small object, whether it is there or not."""
        try:
            with self._asking(name):
                self._files.pipe_file(self._at(name), data)
        except FileNotFoundError as error:
            raise self._no_bucket(self.location(name)) from error

    def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a small object if it holds ``old`` (None: if it is not there); whether it did."""
        try:
            with self._asking(name):
                condition: dict[str, Any] = {"mode": "create"} if old is None else {}
                if old is not None and self.scheme == "s3":
                    condition = {"IfMatch": self._files.info(self._at(name))["ETag"]}
                if self.read(name) != old:
                    return False
                self._files.pipe_file(self._at(name), new, **condition)
            return True
        except FileExistsError:
            return self.read(name) == new  # an answer that got lost was a yes
        except FileNotFoundError:
            return False

    def entries(self) -> dict[str, bool]:
        """Return the names directly below the URL, and whether each is a folder of objects."""
        try:
            with self._asking():
                entries = self._files.ls(self._root, detail=True)
        except FileNotFoundError:
            return {}
        named = {_last(entry["name"]): entry["type"] == "directory" for entry in entries}
        return {name: is_folder for name, is_folder in sorted(named.items()) if name}

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the size in bytes of every object in a folder and below, by name within it."""
        above = f"{self._at(folder)}/"
        with self._asking(folder):
            entries = self._files.find(above, detail=True)  # of what is not there: nothing
        size_by_name = {path.removeprefix(above): entry["size"] for path, entry in entries.items()}
        return {name: size for name, size in sorted(size_by_name.items()) if name}

    def remove(self, names: Sequence[str]) -> None:
        """Remove objects; one that is gone is no error."""
        for name in names:
            with suppress(FileNotFoundError), self._asking(name):
                self._files.rm_file(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _sha256(self, name: str) -> str:
        digest = hashlib.sha256()
        with self._asking(name), self._files.open(self._at(name), "rb", block_size=PIECE) as file:
            while piece := file.read(PIECE):
                digest.update(piece)
        return digest.hexdigest()

    @cached_property
    def _files(self) -> Any:
        from fsspec.core import url_to_fs  # a reader of local gold does without

        try:
            files, self._root = url_to_fs(self.url, use_listings_cache=False)
        except ImportError:
            what = f"reading and writing {self.scheme}:// needs a package that is not installed"
            do = f"pip install '{EXTRAS[self.scheme]}'"
            raise StoreError(f"{self.url}: out of reach", [Problem("", what, do=do)]) from None
        return files

    @contextmanager
    def _asking(self, name: str = "") -> Iterator[None]:
        """Translate errors into three kinds: OSError for what callers handle, or the disk's.

        FileNotFoundError: no such object. FileExistsError: a condition was not met. Else what went
        wrong, in words for users.
        """
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            location = self.location(name) if name else self.url
            code = _code(error)
            if code == "NoSuchBucket":
                raise self._no_bucket(location) from error
            if code in OVERTAKEN:
                raise FileExistsError(errno.EEXIST, "another was faster", location) from error
            if isinstance(error, FileNotFoundError | FileExistsError):
                raise
            if isinstance(error, OSError) and error.errno in OF_THIS_DISK:
                raise
            title = f"{location}: cannot be reached"
            refused = isinstance(error, PermissionError) or "Credentials" in type(error).__name__
            problem = _refused(error) if refused else _unreachable(error)
            raise StoreError(title, [problem], may_pass=not refused) from error

    def _no_bucket(self, location: str) -> StoreError:
        what = f"there is no bucket {self._root.partition('/')[0]}"
        do = f"make it, or correct gold, or the endpoint in the environment; {STANDS}"
        return StoreError(f"{location}: cannot be reached", [Problem("", what, do=do)])


def _refused(error: Exception) -> Problem:
    what = f"access is refused: {first_line(error)}"
    do = (
        "set credentials in the environment (as AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
        f"AWS_SECRET_ACCESS_KEY) that may list, read, write and delete there; {STANDS}"
    )
    return Problem("", what, do=do)


def _unreachable(error: Exception) -> Problem:
    what = f"{type(error).__name__}: {first_line(error)}"
    return Problem("", what, do=f"check the network and the endpoint, then try again; {STANDS}")


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def first_line(error: Exception) -> str:
    """Return the first line of a message, without a password that an endpoint may hold."""
    line = (str(error).strip() or "no message").split("\n")[0]
    return re.sub(r"//[^/\s]+@", "//***@", line)


def _code(error: BaseException) -> str:
    """Return what the object store called an error; nothing where it said nothing."""
    response = getattr(error.__cause__ or error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


UPLOADS = ".annot-uploads"
"""Folder of objects that announce uploads, by version."""
ABANDONED_AFTER = 86_400.0
"""Seconds after which nobody copies any more what is half copied."""


class GoldBucket(GoldFolder):
    """Releases below a URL.

    Parameters
    ----------
    url
        As ``s3://bucket/gold``.
    folder
        For copies of the files that are read; it can be deleted at any time.
    """

    setting = "store"

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(folder)
        self.bucket = Bucket(url)
        self._held: bytes | None = None  # the pointer as it was when the right to write was got
        self._uploaded: str | None = None  # the version that this process made last
        self._announced: str | None = None  # the version that it says it uploads

    def location(self, name: str = "") -> str:
        """Return where something is, for messages."""
        return self.bucket.location(name) if name else self.bucket.url

    def is_file(self) -> bool:
        """Return an object store has no folders that could be files."""
        return False

    def pointer_bytes(self) -> bytes | None:
        """Return the bytes of latest.json; None where there is none."""
        return self.bucket.read(POINTER)

    def point(self, pointer: Pointer) -> None:
        """Write latest.json, unless another build has.

        Raises
        ------
        StoreError
            Another machine has published, pinned or pruned meanwhile: nothing is written.
        """
        data = canonical_json(pointer.document())
        if not self.bucket.swap(POINTER, self._held, data):
            now, uploaded = self.pointer(), self._uploaded
            if now and uploaded in now.manifests:
                self._forget_upload()
                return  # a build found it whole, and took this one for killed
            if now and uploaded and now.version != self._held_version():
                self._remove_objects(uploaded)  # it follows another: it can be published no more
                self._forget_upload()
            raise self._overtaken()
        self._held = data
        self._forget_upload()

    def versions(self) -> list[str]:
        """Return versions that have a manifest, oldest first, also what is not published."""
        return self._whole(self.pointer())

    def published(self, pointer: Pointer | None) -> list[str]:
        """Return versions that lie there and are published, oldest first."""
        return [v for v in self._whole(pointer) if pointer.names(v)] if pointer else []

    def used(self) -> list[str]:
        """Return versions that no new release may get, also uploads that are not finished."""
        entries = self.bucket.entries().items()
        return sorted((n for n, is_ in entries if is_ and VERSION.fullmatch(n)), key=number)

    def manifest(self, version: str, sha256: str | None) -> dict[str, Any]:
        """Return the manifest of a version; see `read_manifest`."""
        name, path = f"{version}/{MANIFEST}", self.folder / version / MANIFEST
        has_copy = sha256 is not None and has_digest(path, sha256)
        data = read_regular(path) if has_copy else self.bucket.read(name)
        if data is None:
            problem = Problem("", f"{MANIFEST} is missing", do=COPY_AGAIN)
            raise StoreError(f"{self.location(version)}: half a release", [problem])
        manifest = verified_manifest(data, version, sha256, self.location(name))
        if not has_copy:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.write_bytes(data)
        return manifest

    def manifest_sha256(self, version: str) -> str | None:
        """Return the digest of a version's manifest as it lies there; None where there is none."""
        data = self.bucket.read(f"{version}/{MANIFEST}")
        return None if data is None else hashlib.sha256(data).hexdigest()

    def release(self, version: str, manifest: dict[str, Any], typed: str) -> Release:
        """Return the release of a manifest; its files are copied when they are read."""
        return BucketRelease(version, self.folder / version, manifest, typed, bucket=self.bucket)

    @contextmanager
    def write_lock(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the right to write among the builds of this store; of others `point` knows."""
        make_private(self.folder.parent.parent)
        with super().write_lock(waiting):
            self._held = self.pointer_bytes()
            yield

    def tidy(self) -> None:
        """Remove what can be published no more, and copies of what is gone."""
        super().tidy()
        pointer = self.pointer()
        releases = self.may_be_releases(pointer)
        announced = {*self.bucket.sizes(UPLOADS)}
        for version in self.used() if pointer else ():
            is_past = pointer and number(version) < number(pointer.version)
            is_ours = version in announced or (pointer and version in pointer.manifests)
            if version not in releases and is_past and is_ours:
                self._remove_objects(version)
        self._forget([v for v in announced if pointer and number(v) <= number(pointer.version)])
        old = time.time() - ABANDONED_AFTER
        for version in super().versions():
            folder = self.folder / version
            if version not in releases:
                shutil.rmtree(folder)
            elif folder.stat().st_mtime < old:
                for parent in (folder, *(path for path in folder.iterdir() if path.is_dir())):
                    remove_unfinished(parent)

    def add(self, version: str, fill: Fill) -> dict[str, Any]:
        """Let ``fill`` make a release, and upload it, its manifest last.

        Raises
        ------
        StoreError
            Another machine uploads this version: theirs stays as it is.
        """
        shutil.rmtree(self.folder / version, ignore_errors=True)

        def upload(folder: Path) -> dict[str, Any]:
            manifest = fill(folder)
            (folder / MANIFEST).write_bytes(canonical_json(manifest))
            names = sorted({*written_in(folder)} - {MANIFEST})
            self.bucket.write(f"{UPLOADS}/{version}", b"")
            self._announced = version
            for name in (*names, MANIFEST):
                if not self.bucket.create(f"{version}/{name}", folder / name):
                    raise self._overtaken()
            return manifest

        manifest = super().add(version, upload)
        self._uploaded = version
        return manifest

    def remove(self, versions: Sequence[str]) -> None:
        """Remove releases; killed half way, each is whole or has no manifest."""
        for version in versions:
            self._remove_objects(version)
            shutil.rmtree(self.folder / version, ignore_errors=True)

    def size(self, version: str) -> int:
        """Return bytes of a release."""
        return sum(self.bucket.sizes(version).values())

    def strangers(self, pointer: Pointer | None) -> dict[str, str]:
        """Return the names of what is neither a release nor the pointer, and what each is."""
        expected = (POINTER, UPLOADS, *self.may_be_releases(pointer))
        half = f"no {MANIFEST}, or overtaken: an upload killed, or under way; builds remove it"
        return {
            name: half if is_folder and VERSION.fullmatch(name) else "no release, nor the pointer"
            for name, is_folder in self.bucket.entries().items()
            if name not in expected
        }

    @contextmanager
    def as_stored(self, version: str) -> Iterator[Path]:
        """Yield a folder with the very bytes of a release that readers get, downloaded now."""
        with tempfile.TemporaryDirectory(prefix="annot-verify-") as name:
            folder = Path(name) / version
            folder.mkdir()
            for stored in self.bucket.sizes(version):
                parts = stored.split("/")
                # names that a folder may hold
                plain = [repr(p) if p in ("", ".", "..") or "\0" in p else p for p in parts]
                if len(parts) == 2 and not (folder / plain[0]).exists():
                    (folder / plain[0]).mkdir()
                if plain == parts[:2] and folder.joinpath(*plain[:-1]).is_dir():
                    self.bucket.fetch(f"{version}/{stored}", folder.joinpath(*plain))
                else:  # no file of a release, whatever it is
                    taken = (folder / plain[0]).is_file()
                    (folder / (repr(stored).replace("/", "|") if taken else plain[0])).mkdir(
                        exist_ok=True
                    )
            yield folder

    def near(self) -> list[Path]:
        """Return an object store is not searched."""
        return []

    def _held_version(self) -> str | None:
        """Return the newest release when the right to write was got."""
        content = self._held
        return None if content is None else parse_pointer(content, self.location(POINTER)).version

    def _whole(self, pointer: Pointer | None) -> list[str]:
        """Return versions that have a manifest; all that were published and not pruned have one."""
        published = {*pointer.manifests} - {*pointer.pruned} if pointer else set()
        return [v for v in self.used() if v in published or self.bucket.has(f"{v}/{MANIFEST}")]

    def _remove_objects(self, version: str) -> None:
        """Remove the manifest first: without it there is no release."""
        names = [name for name in self.bucket.sizes(version) if name != MANIFEST]
        self.bucket.remove([f"{version}/{name}" for name in (MANIFEST, *names)])

    def _forget_upload(self) -> None:
        """Remove what announced the upload, now that it is published or removed."""
        if self._announced:
            self._forget([self._announced])
            self._announced = None

    def _forget(self, versions: Sequence[str]) -> None:
        """Remove announcements; who may not delete leaves them, and they harm nobody."""
        with suppress(StoreError):
            self.bucket.remove([f"{UPLOADS}/{version}" for version in versions])

    def _overtaken(self) -> StoreError:
        what = "another build writes here, or has since this one began; this one wrote no release"
        do = "build again: it continues from what the other has published"
        return StoreError(f"{self.location()}: not published", [Problem("", what, do=do)])


@dataclass(frozen=True)
class BucketRelease(Release):
    """A release in an object store; a file of it is copied when it is asked for, and verified."""

    bucket: Bucket = field(kw_only=True)

    @property
    def location(self) -> str:
        """Return where it is, for messages."""
        return self.bucket.location(self.version)

    def file(self, name: str) -> Path:
        """Return the local path of a file of the release; fetch and verify it if necessary."""
        path, sha256 = self.folder / name, self.manifest["files"].get(name)
        if sha256 is None or has_digest(path, sha256):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            digest = self.bucket.fetch(f"{self.version}/{name}", temporary)
            if digest is None:
                raise self._half(name)
            if digest != sha256:
                raise self._changed(f"{self.location}/{name}")
        return path

    def damaged(self) -> list[str]:
        """Return files that are missing, or not of the size that was published.

        Copies all that are not.

        What other bytes of the same size are, once a file has been copied, `annot verify` finds.
        """
        sizes = self.bucket.sizes(self.version)
        return [name for name in self.manifest["files"] if not self._is_whole(name, sizes)]

    def _is_there(self, name: str) -> bool:
        return self.bucket.has(f"{self.version}/{name}")

    def _lying(self) -> set[str]:
        return set(self.bucket.sizes(self.version))

    def _is_whole(self, name: str, sizes: dict[str, int]) -> bool:
        if name not in sizes:
            return False
        try:
            return self.file(name).stat().st_size == sizes[name]
        except DamagedError:
            return False
