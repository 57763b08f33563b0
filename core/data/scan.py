"""Find and check the images of a folder: which class and domain each belongs to, which cannot be used, which split.

Nothing is written and no database is known here. Paths are relative to the scanned folder, with `/` between the parts.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from core.errors import InputError, UnreadableImage
from core.image_files import printable
from core.images import ImageInfo, probe
from core.values import Progress, silent

EXTENSIONS = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif"})
"""Of the files that are read, in lower case; a file may spell it in any case."""
FOREIGN_EXTENSIONS = frozenset({".svg", ".heic", ".heif", ".avif", ".jp2", ".jxl", ".psd", ".ico", ".dng", ".cr2"})
SYSTEM_NAMES = frozenset({"thumbs.db", "desktop.ini", "__macosx", "@eadir", "$recycle.bin"})
SPLIT_NAMES = frozenset({"train", "training", "val", "valid", "validation", "test", "images", "img"})
"""Folder names that are no class, however often they repeat."""
NO_IMAGE, HIDDEN = "not an image", "hidden"


class Layout(StrEnum):
    """What the levels of folders mean; folders below them belong to the nearest class above."""

    CLASS_FOLDERS = "class/file"
    DOMAIN_CLASS = "domain/class/file"
    FLAT = "flat"


class Split(StrEnum):
    """What an image is for: to be labelled, to choose settings by, or to measure with."""

    POOL = "pool"
    VALIDATION = "validation"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file by its path; class or domain None where no folder names it."""

    path: str
    domain: str | None
    class_name: str | None


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file or folder left out and why; of files that are no images, the first and the `count` of its kind.

    `path` is for reading only: bytes that are no UTF-8 stand there as \\xNN.
    """

    path: str
    reason: str
    count: int = 1

    @property
    def is_image(self) -> bool:
        """Whether a person would miss it: an image, or something that may hold or lead to one."""
        return not self.reason.startswith((NO_IMAGE, HIDDEN))


@dataclass(frozen=True, slots=True)
class Scan:
    """What a folder holds, all in sorted order; `domains` is empty unless the layout has them."""

    layout: Layout
    classes: tuple[str, ...]
    domains: tuple[str, ...]
    files: tuple[FoundFile, ...]
    ignored: tuple[Ignored, ...]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A found file that decodes (`info`) or does not (`reason`)."""

    found: FoundFile
    info: ImageInfo | None
    reason: str | None


def scan_folder(root: Path, *, layout: Layout | None = None) -> Scan:
    """The images under `root`, their classes and domains as `layout` says or as the folders suggest.

    Links to files inside `root` are followed, links to folders and out of `root` never. Opens no file.
    Raises `InputError` if `root` is no folder that can be read.
    """
    return _arrange(*_walk(root), layout)


def scan_names(names: Iterable[str], *, layout: Layout | None = None) -> Scan:
    """The same of paths alone, with / between their parts, as a store of objects lists them."""
    return _arrange(*_told_apart((name, _judge_path(name)) for name in names), layout)


def _arrange(paths: list[str], ignored: tuple[Ignored, ...], layout: Layout | None) -> Scan:
    layout = guess_layout(paths) if layout is None else layout
    files = tuple(_place(path, layout) for path in paths)
    return Scan(
        layout,
        classes=tuple(sorted({file.class_name for file in files if file.class_name is not None})),
        domains=tuple(sorted({file.domain for file in files if file.domain is not None})),
        files=files,
        ignored=ignored,
    )


def guess_layout(paths: Sequence[str]) -> Layout:
    """Domains where most images lie two folders deep or more, in folders that repeat from one top folder to the next.

    A single top folder is taken for the only domain if it holds several folders, as a project needs several classes.
    """
    folders = [path.split("/")[:-1] for path in paths]
    if not any(folders):
        return Layout.FLAT
    deep = {tuple(parts[:2]) for parts in folders if len(parts) >= 2}
    if 2 * sum(len(parts) >= 2 for parts in folders) <= sum(len(parts) >= 1 for parts in folders):
        return Layout.CLASS_FOLDERS
    tops = {parts[0] for parts in folders if parts}
    seconds = Counter(second for _, second in deep)
    repeated = sum(count >= 2 for count in seconds.values())
    named = not all(second.lower() in SPLIT_NAMES for second in seconds)
    alike = 2 * repeated >= len(seconds) or (len(tops) == 1 and len(seconds) >= 2)
    return Layout.DOMAIN_CLASS if named and alike else Layout.CLASS_FOLDERS


def read_files(
    root: Path, files: Sequence[FoundFile], *, on_progress: Progress = silent, workers: int = 2
) -> Iterator[ReadFile]:
    """Hash and decode each file, in order, `workers` at a time and few ahead of the reader: memory stays constant.

    A broken file carries its reason and stops nothing. What `on_progress` raises ends the reading.
    """
    ahead: deque[Future[ReadFile]] = deque()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="read-files")
    try:
        waiting = iter(files)
        for done in range(len(files)):
            while len(ahead) < 4 * workers and (found := next(waiting, None)) is not None:
                ahead.append(pool.submit(_read, root, found))
            yield ahead.popleft().result()
            on_progress(done + 1, len(files), "Reading images")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def assign_splits(sha256s: Sequence[str], *, seed: int, test: float = 0.2, validation: float = 0.1) -> list[Split]:
    """The split of each image from its content alone: u = SHA-256(seed:sha256) / 2²⁵⁶ against the shares.

    Shares hold in expectation. Images added later move none, and exact copies always share a split, so none leaks
    from the pool into the test. Raises `InputError` if the shares leave no pool.
    """
    if min(test, validation) < 0 or test + validation >= 1:
        raise InputError(f"test {test:g} and validation {validation:g} leave no pool: keep their sum below 1")
    return [_split(f"{seed}:{sha256}", test, validation) for sha256 in sha256s]


def _split(key: str, test: float, validation: float) -> Split:
    u = int.from_bytes(hashlib.sha256(key.encode()).digest()) / 2**256
    if u < test:
        return Split.TEST
    return Split.VALIDATION if u < test + validation else Split.POOL


def _read(root: Path, found: FoundFile) -> ReadFile:
    path = root / found.path
    try:
        return ReadFile(found, probe(path), None)
    except UnreadableImage as error:
        return ReadFile(found, None, str(error).removeprefix(f"{printable(path.name)}: "))


def _place(path: str, layout: Layout) -> FoundFile:
    folders = path.split("/")[:-1]
    if layout is Layout.FLAT:
        return FoundFile(path, None, None)
    levels = [*folders, None, None]
    if layout is Layout.CLASS_FOLDERS:
        return FoundFile(path, None, levels[0])
    return FoundFile(path, levels[0], levels[1])


def _walk(root: Path) -> tuple[list[str], tuple[Ignored, ...]]:
    """(paths of images, all else) under `root`, both sorted."""
    try:
        real_root = os.path.realpath(root, strict=True)
        os.scandir(real_root).close()
    except (OSError, ValueError) as error:
        raise InputError(f"{printable(str(root))} is no folder that can be read ({_why(error)})") from error
    return _told_apart(_entries(real_root))


def _told_apart(entries: Iterable[tuple[str, _Verdict]]) -> tuple[list[str], tuple[Ignored, ...]]:
    paths: list[str] = []
    ignored: dict[tuple[str, str], Ignored] = {}
    for path, verdict in sorted(entries):
        if not verdict.reason:
            paths.append(path)
            continue
        key = (verdict.reason, "" if verdict.common else path)
        first = ignored.get(key, Ignored(printable(path), verdict.reason, count=0))
        ignored[key] = replace(first, count=first.count + 1)
    return paths, tuple(ignored.values())


class _Verdict(NamedTuple):
    """Why a file is left out, "" if it is not; of a `common` reason only the first file is named."""

    reason: str = ""
    common: bool = False


def _entries(root: str) -> Iterator[tuple[str, _Verdict]]:
    """Every file under `root`, and every folder that is not entered; links to folders are not followed."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as listing:
                entries = list(listing)
        except OSError as error:
            yield folder, _Verdict(f"the folder cannot be opened ({_why(error)})")
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            verdict = _refusal(entry, root)
            if verdict is None and entry.is_dir(follow_symlinks=False):
                folders.append(path)
            else:
                yield path, verdict or _judge_file(entry)


def _refusal(entry: os.DirEntry[str], root: str) -> _Verdict | None:
    """What rules out a file or folder by its name or by where it leads."""
    if _is_hidden(entry.name):
        return _Verdict(f"{HIDDEN}, or kept by the system", common=True)
    if not _is_utf8(entry.name):
        return _Verdict("its name is not UTF-8: rename it")
    if not entry.is_symlink():
        return None
    target = os.path.realpath(entry.path)
    if not Path(target).is_relative_to(root):
        return _Verdict("a link out of the folder: copy what it leads to")
    if not os.path.exists(target):
        return _Verdict("a link that leads nowhere")
    return _Verdict("a link to a folder, which is scanned where it lies") if os.path.isdir(target) else None


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name.lower() in SYSTEM_NAMES


def _judge_path(path: str) -> _Verdict:
    if any(map(_is_hidden, path.split("/"))):
        return _Verdict(f"{HIDDEN}, or kept by the system", common=True)
    return _judge_name(path) or _Verdict()


def _judge_name(name: str) -> _Verdict | None:
    """What rules out a file by its extension."""
    extension = os.path.splitext(name)[1].lower()
    if extension in FOREIGN_EXTENSIONS:
        return _Verdict(f"{extension} images are not read: save them as JPEG or PNG", common=True)
    if extension not in EXTENSIONS:
        return _Verdict(f"{NO_IMAGE} ({extension[:8] or 'no extension'})", common=True)
    return None


def _judge_file(entry: os.DirEntry[str]) -> _Verdict:
    if verdict := _judge_name(entry.name):
        return verdict
    try:
        regular = stat.S_ISREG(entry.stat().st_mode)
    except OSError as error:
        return _Verdict(f"it cannot be read ({_why(error)})")
    if not regular:
        return _Verdict("not a file but a pipe, a socket or a device")
    return _Verdict() if os.access(entry.path, os.R_OK) else _Verdict("there is no permission to read it")


def _is_utf8(name: str) -> bool:
    return printable(name) == name


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
