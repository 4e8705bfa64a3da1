"""Objects below one URL, by their names; errors of the network and of access in words for users.

What does not belong here: what the objects mean (gold_bucket). fsspec knows the object stores; its
errors are those of many libraries, so all that reach this module are translated.
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from annot_pipeline.errors import Problem, StoreError
from annot_pipeline.storage.files import file_sha256

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
            title, refused = f"{location}: cannot be reached", _is_refused(error)
            problem = _refused(error) if refused else _unreachable(error)
            raise StoreError(title, [problem], may_pass=not refused) from error

    def _no_bucket(self, location: str) -> StoreError:
        what = f"there is no bucket {self._root.partition('/')[0]}"
        do = f"make it, or correct gold, or the endpoint in the environment; {STANDS}"
        return StoreError(f"{location}: cannot be reached", [Problem("", what, do=do)])


def _is_refused(error: Exception) -> bool:
    return isinstance(error, PermissionError) or "Credentials" in type(error).__name__


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
