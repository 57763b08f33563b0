"""Files below a project's root, a folder or a place in a store; nothing outside it, whatever a path or a link says."""

from __future__ import annotations

import os
import stat
from datetime import datetime
from pathlib import Path

from core.data import buckets
from core.errors import InputError, UnreadableImage
from core.images import ImageInfo, sha256_file
from core.storage import is_remote
from db.repository import KnownFile

OUTSIDE = "it leads out of the folder of images"


class Confined:
    """The files below a folder; nothing outside it is looked at, whatever a path says."""

    def __init__(self, root: Path) -> None:
        self.root, self._real = root, os.path.realpath(root)
        self._inside: dict[str, bool] = {}

    def found(self, path: str) -> tuple[int, int] | str:
        """(size, time in ns) of a file, or why it cannot be taken in."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            return OUTSIDE
        folder = os.path.dirname(path)
        if folder not in self._inside:
            self._inside[folder] = self._is_inside(folder)
        if not self._inside[folder]:
            return OUTSIDE
        try:
            state = os.lstat(self.root / path)
            if stat.S_ISLNK(state.st_mode):
                state = os.stat(self.root / path)
                if not self._is_inside(path):
                    return OUTSIDE
        except (OSError, ValueError) as error:
            return f"the file is not there ({getattr(error, 'strerror', None) or error})"
        return state.st_size, state.st_mtime_ns

    def state(self, path: str, info: ImageInfo) -> tuple[int, int]:
        """(size, time in ns) of the content that was read."""
        return info.size, info.mtime_ns

    def has(self, file: KnownFile) -> bool:
        """Whether the content is where it was."""
        found = self.found(file.path)
        if isinstance(found, str) or found == (file.size, file.mtime_ns):
            return not isinstance(found, str)
        try:
            return sha256_file(self.root / file.path) == file.sha256
        except UnreadableImage:
            return False

    def _is_inside(self, path: str) -> bool:
        return Path(os.path.realpath(self.root / path)).is_relative_to(self._real)


class Stored:
    """The objects below a place in a store, listed once: a changed content is told by its size and time there."""

    def __init__(self, root: str) -> None:
        store, key = buckets.filesystem(root)
        start = key.rstrip("/") + "/"
        try:
            listed = store.find(key, detail=True).items()
        except Exception as error:  # whatever the store's client raises: it has no common root
            raise InputError(f"{root} could not be listed ({buckets.reason(error)})") from error
        self._files = {name.removeprefix(start): (about.get("size") or 0, _time(about)) for name, about in listed}

    def found(self, path: str) -> tuple[int, int] | str:
        """(size, time in ns) of an object, or why it cannot be taken in."""
        return self._files.get(path, "the file is not there") if buckets.is_safe(path) else OUTSIDE

    def state(self, path: str, info: ImageInfo) -> tuple[int, int]:
        """(size, time in ns) of the object that was read."""
        found = self.found(path)
        return (info.size, 0) if isinstance(found, str) else found

    def has(self, file: KnownFile) -> bool:
        """Whether the content is where it was, as far as the listing tells."""
        return self.found(file.path) == (file.size, file.mtime_ns)


def files_of(root: str) -> Confined | Stored:
    return Stored(root) if is_remote(root) else Confined(Path(root))


def _time(about: dict) -> int:
    at = next((about[name] for name in ("LastModified", "updated", "mtime") if about.get(name)), None)
    return int(at.timestamp() * 1e9) if isinstance(at, datetime) else 0
