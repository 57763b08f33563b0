"""Files below a folder, and nothing outside it, whatever a path or a link says."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from core.errors import UnreadableImage
from core.images import sha256_file
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
