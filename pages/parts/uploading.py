"""What comes from a browser, kept in the data folder until a project is made of it or the draft is dropped.

    uploads/<key>/files    what came: the root of the project's images from then on
    uploads/<key>/.draft   there until a project is on the files: a draft older than a day is swept away

No Streamlit here.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from core.config import home
from core.data.buckets import is_bucket
from core.data.remote import is_remote
from core.data.scan import Ignored
from core.data.shelf import TABLES
from core.data.unpack import Unpacked, save_uploads, unpack
from core.errors import InputError

MARK = ".draft"
DAY = 24 * 3600.0  # seconds that a draft is kept
PIECE = 1 << 20  # bytes
MOST_ADDRESSES = 100_000


@dataclass(frozen=True, slots=True)
class Place:
    """What a new project is made of: `where` is a folder, a file or a bucket's address.

    `draft` is the folder of an upload, `left_out` what of it was not saved.
    """

    where: str
    name: str
    draft: Path | None = None
    left_out: tuple[Ignored, ...] = ()

    @property
    def path(self) -> Path:
        return Path(self.where)


def on_server(typed: str) -> Place:
    """A folder, a file or a bucket's address; of a zip what is in it. Raises InputError."""
    if is_bucket(typed):
        return Place(typed.rstrip("/"), typed.rstrip("/").rpartition("/")[2])
    if is_remote(typed):
        raise InputError("an address of an image belongs under Addresses; here goes a folder, a file or a bucket")
    try:
        path = Path(typed).expanduser().absolute()
        is_zip = path.suffix.lower() == ".zip" and path.is_file()
        if not path.exists():
            raise InputError(f"there is no {path} on this computer: look at how it is written")
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(f"{typed[:200]} cannot be a path on this computer ({error})") from error
    return _unpacked(path) if is_zip else Place(str(path), path.stem if path.is_file() else path.name)


def from_browser(files: Sequence[tuple[str, IO[bytes]]]) -> Place:
    """Files that were sent, a zip alone unpacked. A name may have folders in it; one that all lie in names the source.

    Raises InputError with nothing kept.
    """
    if len(files) == 1 and files[0][0].lower().endswith(".zip"):
        return _zip(*files[0])
    name, files = _unwrapped(files)
    with _draft() as folder:
        saved = save_uploads(files, folder / "files")
        there = _some_files(saved)
        is_table = len(there) == 1 and there[0].suffix.lower() in TABLES
        where = there[0] if is_table else saved.folder
        return Place(str(where), name or (where.stem if is_table else "uploaded images"), folder, saved.left_out)


def from_lines(text: str) -> Place:
    """Addresses, one a line, kept as a list. Raises InputError for a line that is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = [line for line in lines if not is_remote(line) or not line.isprintable()]
    if not lines or wrong:
        came = f"this line is none: {wrong[0][:200]}" if wrong else "there is none"
        raise InputError(f"one address a line, each with https:// or s3:// before it; {came}")
    if len(lines) > MOST_ADDRESSES:
        raise InputError(f"{len(lines):,} addresses came; put more than {MOST_ADDRESSES:,} into a .txt or .csv file")
    with _draft() as folder:
        (folder / "files").mkdir()
        file = folder / "files" / "addresses.txt"
        file.write_text("\n".join(dict.fromkeys(lines)) + "\n", encoding="utf-8")
        return Place(str(file), "addresses", folder)


def drop(place: Place | None) -> None:
    """Delete an upload that no project was made of."""
    if place is not None and place.draft is not None and (place.draft / MARK).exists():
        shutil.rmtree(place.draft, ignore_errors=True)


@contextmanager
def settled(place: Place) -> Iterator[None]:
    """Keep an upload for good, unless what is done inside fails."""
    mark = None if place.draft is None else place.draft / MARK
    if mark is not None:
        mark.unlink(missing_ok=True)  # before: a crash may leave files behind, never a project without them
    try:
        yield
    except BaseException:
        if mark is not None:
            mark.touch()
        raise


def sweep(older: float = DAY) -> None:
    """Delete drafts that nobody came back to."""
    with suppress(OSError):
        for mark in _uploads().glob(f"*/{MARK}"):
            if time.time() - mark.stat().st_mtime > older:
                shutil.rmtree(mark.parent, ignore_errors=True)


def _uploads() -> Path:
    return home() / "uploads"


def _unwrapped(files: Sequence[tuple[str, IO[bytes]]]) -> tuple[str, list[tuple[str, IO[bytes]]]]:
    """A chosen folder's name, and the files as they lie in it; "" where they have no folder in common."""
    tops = {name.partition("/")[0] if "/" in name else "" for name, _ in files}
    top = tops.pop() if len(tops) == 1 else ""
    top = "" if top in (".", "..") else top
    return top, [(name.removeprefix(f"{top}/") if top else name, content) for name, content in files]


@contextmanager
def _draft() -> Iterator[Path]:
    """A new folder, gone again where what is done inside fails."""
    sweep()
    folder = _uploads() / uuid.uuid4().hex[:16]
    folder.mkdir(parents=True)
    (folder / MARK).touch()
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _zip(name: str, content: IO[bytes]) -> Place:
    with _draft() as folder:
        archive = folder / "archive.zip"
        with archive.open("wb") as file:
            shutil.copyfileobj(content, file, PIECE)
        place = _unpack(archive, Path(name).stem, folder)
        archive.unlink()
        return place


def _unpacked(archive: Path) -> Place:
    with _draft() as folder:
        return _unpack(archive, archive.stem, folder)


def _unpack(archive: Path, name: str, folder: Path) -> Place:
    found = unpack(archive, folder / "files")
    _some_files(found)
    return Place(str(found.folder), name, folder, found.left_out)


def _some_files(found: Unpacked) -> list[Path]:
    """One or two of the files that were taken. Raises InputError where there is none."""
    there = list(islice((path for path in found.folder.rglob("*") if path.is_file()), 2))
    if not there:
        why = f": {found.left_out[0].path}: {found.left_out[0].reason}" if found.left_out else ""
        raise InputError(f"nothing in it could be taken{why}")
    return there
