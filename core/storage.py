"""Where a project's images are: below a folder, or in a store of objects with a bounded copy of what was last used.

A project's `root` is a folder or an address such as s3://bucket/prefix; an image's `path` is below it. A copy is kept
under the hash of its content, which is checked when it comes: it can be no other image and never grows stale.
"""

from __future__ import annotations

import hashlib
import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath

from core.ahead import in_order
from core.config import cache_bytes, home
from core.data import buckets, scan
from core.data.scan import FoundFile, ReadFile, Scan
from core.errors import InputError, UnreadableImage
from core.image_files import printable
from core.images import probe
from core.values import Progress, silent

Place = Path | str
"""A file of this machine, or the address of an object."""

LARGEST = 2 * 2**30  # bytes of one image
WORKERS = 8  # that fetch at once: a store answers slowly, but many at a time
CHANGED = "its content has changed since it was taken in: put the old file back"
_trimming = threading.Lock()
_added: dict[Path, int] = {}  # bytes put into a cache by this process since it was last trimmed


def is_remote(root: str) -> bool:
    """Whether a project's images are in a store of objects."""
    return buckets.is_bucket(root)


def place(root: str, path: str) -> Place:
    """Where an image is; nothing is looked up."""
    return f"{root.rstrip('/')}/{path}" if is_remote(root) else Path(root) / path


def path_in(root: str, where: Place) -> str:
    """The path below `root` of what `place` gave, or of what a person wrote, with the root or without."""
    return PurePosixPath(str(where).removeprefix(root.rstrip("/") + "/")).as_posix()


def local(root: str, path: str, sha256: str) -> Path:
    """A file of this machine with an image's content; an object is fetched unless its copy is still here.

    Of a folder the file is given as it is. Raises UnreadableImage where an object is gone or has another content.
    """
    return fetched(place(root, path), sha256)


def fetched(where: Place, sha256: str) -> Path:
    """`local` of what `place` gave."""
    if isinstance(where, Path):
        return where
    kept = _kept(sha256)
    try:
        os.utime(kept)  # used now: others go first
        return kept
    except FileNotFoundError:
        pass
    file, found = _take(where)
    if found != sha256:
        raise UnreadableImage(f"{_name(where)}: {CHANGED}")
    return file


def inside(root: str, path: str, sha256: str) -> Path | None:
    """The file of an image, links followed, unless it is gone or leads out of the project's folder.

    Raises UnreadableImage as `local` does.
    """
    if is_remote(root):
        return local(root, path, sha256) if buckets.is_safe(path) else None
    folder = Path(root).resolve()
    file = (folder / path).resolve()
    return file if file.is_relative_to(folder) and file.is_file() else None


def scan_root(root: str) -> Scan:
    """What lies below a project's root, of a store by the names of its objects alone. Raises InputError."""
    return scan.scan_names(buckets.listing(root)) if is_remote(root) else scan.scan_folder(Path(root))


def read_files(root: str, files: Sequence[FoundFile], *, on_progress: Progress = silent) -> Iterator[ReadFile]:
    """Hash and decode each file, in order, as `core.data.scan.read_files` does; of a store, by way of the cache."""
    if not is_remote(root):
        yield from scan.read_files(Path(root), files, on_progress=on_progress)
        return

    def read(found: FoundFile) -> ReadFile:
        try:
            return ReadFile(found, probe(_take(str(place(root, found.path)))[0]), None)
        except UnreadableImage as error:
            return ReadFile(found, None, str(error).partition(": ")[2])

    with closing(in_order(read, files, workers=WORKERS, ahead=2 * WORKERS)) as results:
        for done, (_, result) in enumerate(results, start=1):
            yield result
            on_progress(done, len(files), "Reading images")


def _take(address: str) -> tuple[Path, str]:
    """The copy of an object, and the hash of its content that it is kept under."""
    cache = home() / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = cache / f".{uuid.uuid4().hex}.part"
    try:
        buckets.copy(address, unfinished, LARGEST)
        with unfinished.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        size, kept = unfinished.stat().st_size, _kept(sha256)
        kept.parent.mkdir(exist_ok=True)
        os.replace(unfinished, kept)
    except (InputError, OSError) as error:
        reason = str(error).removeprefix(f"{address} ")
        raise UnreadableImage(f"{_name(address)}: {reason}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    _trim(cache, size)
    return kept, sha256


def _kept(sha256: str) -> Path:
    return home() / "cache" / sha256[:2] / sha256


def _name(address: str) -> str:
    return printable(address.rpartition("/")[2]).replace(": ", ":")


def _trim(cache: Path, more: int) -> None:
    """Delete what was used longest ago once the cache is over its limit; looked at after each 1/16 of that."""
    limit = cache_bytes()
    with _trimming:
        _added[cache] = _added.get(cache, limit) + more  # the first time, what others left is counted
        if _added[cache] <= limit / 16:
            return
        _added[cache] = 0
        files = sorted(_files(cache))
        total = sum(size for _, size, _ in files)
        for _, size, path in files:
            if total <= limit:
                return
            path.unlink(missing_ok=True)
            total -= size


def _files(cache: Path) -> Iterator[tuple[int, int, Path]]:
    """(last used, bytes, path) of all that is kept."""
    for folder in cache.iterdir():
        if folder.is_dir():
            for path in folder.iterdir():
                try:
                    about = path.stat()
                except FileNotFoundError:  # another process was faster
                    continue
                yield about.st_mtime_ns, about.st_size, path
