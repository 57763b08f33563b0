"""Where a record's image is: paths that a source names, made relative to a root and never out of it."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from core.errors import InputError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")
_LOCAL = ("file://", "local://")


def is_address(path: str) -> bool:
    """Whether it is a URL or the key of a store, rather than a path."""
    return _ADDRESS.match(path) is not None


def placed(text: object, root: Path, *, exactly: bool = False) -> str:
    """The path a source names, relative to `root` with / between the parts; an address stays as it is.

    `exactly`: it is one of ours, and a \\ in it is part of a name. Raises InputError, with the reason alone, for what
    is no path or leads out of the root. No file is opened.
    """
    path = "" if text is None else str(text)
    if not path.strip() or "\0" in path:
        raise InputError("it names no image")
    if not _is_utf8(path):
        raise InputError("its path is not UTF-8")
    if is_address(path):
        if path.lower().startswith(_LOCAL):
            raise InputError("an address of this machine's own files: give the path")
        return path
    path = path if exactly else _with_slashes(path, root)
    if path.startswith("/"):
        path = _within(path, root)
    found = posixpath.normpath(path)
    if found == ".." or found.startswith("../") or found == ".":
        raise InputError("its path leads out of the folder")
    return found


def _within(path: str, root: Path) -> str:
    for start in (root, Path(os.path.realpath(root))):
        if posixpath.normpath(path).startswith(f"{posixpath.normpath(start.as_posix())}/"):
            return posixpath.relpath(path, start.as_posix())
    raise InputError(f"its path starts at / and lies outside {root}: give the folder that the images are in")


def _with_slashes(path: str, root: Path) -> str:
    """A path of Windows with / instead of \\, where that leads to a file and the path as it stands does not."""
    if "\\" not in path or os.path.lexists(root / path):
        return path
    turned = path.replace("\\", "/")
    return turned if "/" not in path or os.path.lexists(root / turned) else path


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
