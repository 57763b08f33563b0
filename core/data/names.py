"""Names as folders and files on any system: reversible, never two that a system takes for one.

What Windows, macOS or a web server would not keep is written as in a web address (%2F), so that `urllib.parse.unquote`
gives the name back. Of names that are one to a system that folds case or accents the later ones have their first letter
or all of them written so. What is too long ends in %~ and a hash: its true name is in the export's manifest alone.
"""

from __future__ import annotations

import hashlib
import itertools
import os.path
import unicodedata

UNSAFE = frozenset('<>:"/\\|?*%')
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters that show nothing
SYSTEM = frozenset({"thumbs", "desktop", "__macosx", "@eadir", "$recycle", "con", "prn", "aux", "nul"})
SYSTEM |= {"conin$", "conout$", *(f"{port}{n}" for port in ("com", "lpt") for n in (*range(10), "¹", "²", "³"))}
FOLDER_BYTES, FILE_BYTES = 180, 255
_HASH, _ENDING = 10, 24


def folded(name: str) -> str:
    """What two names have in common where a file system takes them for one: case and the way of writing accents."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def escaped(name: str, first: int = 0) -> str:
    """`name` with every character that some system would not keep as %XX, and its `first` ones in any case."""
    if name.split(".")[0].strip().casefold() in SYSTEM:
        first = max(first, 1)
    last = len(name) - 1
    ends = {0: " .", last: " ."} if name else {}
    return "".join(
        _percent(letter) if at < first or letter in ends.get(at, "") or _is_unsafe(letter) else letter
        for at, letter in enumerate(name)
    )


def shortened(name: str, whole: str, limit: int) -> str:
    """An escaped name cut to `limit` bytes of UTF-8, marked by a hash of the `whole` name."""
    mark = f"%~{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:_HASH]}"
    kept = name.encode()[: limit - len(mark.encode())].decode(errors="ignore")
    broken = kept.rfind("%", max(0, len(kept) - 2))
    return (kept if broken < 0 else kept[:broken]) + mark


class FolderNames:
    """Gives each name a folder of its own, the same one whenever it is asked; `reserved` names are never given."""

    def __init__(self, names: tuple[str, ...] = (), reserved: frozenset[str] = frozenset()) -> None:
        self._taken = {folded(name) for name in reserved}
        self.folders: dict[str, str] = {}
        for name in names:
            self.of(name)

    def of(self, name: str) -> str:
        """The folder of this name."""
        if name not in self.folders:
            self.folders[name] = next(each for each in _candidates(name) if folded(each) not in self._taken)
            self._taken.add(folded(self.folders[name]))
        return self.folders[name]


class FileNames:
    """Gives every path a file name that is free in its folder: its own where it can, else with a hash of the path.

    Eight bytes are kept for each name that was given. `by_stem`: the names differ without their extensions too.
    """

    def __init__(self, by_stem: bool = False) -> None:
        self._by_stem = by_stem
        self._taken: set[int] = set()

    def of(self, folder: str, path: str) -> str:
        """A free name in `folder` for the file of `path`, taken from now on."""
        stem, ending = os.path.splitext(path.rsplit("/", 1)[-1])
        ending = ending[:1] + escaped(ending[1:])[:_ENDING]
        plain = escaped(stem)
        long = len(f"{plain}{ending}".encode()) > FILE_BYTES or not ending[1:]
        for tried in itertools.count():
            free = (
                plain
                if not (long or tried)
                else shortened(plain, f"{path}\0{tried}", FILE_BYTES - len(ending.encode()))
            )
            if self._take(f"{folder}/{free}" if self._by_stem else f"{folder}/{free}{ending}"):
                return free + ending
        raise AssertionError("there is always another hash")

    def _take(self, key: str) -> bool:
        number = int.from_bytes(hashlib.blake2b(folded(key).encode(), digest_size=8).digest())
        free = number not in self._taken
        self._taken.add(number)
        return free


def _candidates(name: str):
    """Folder names for `name`, the plainest first; the last one is always free."""
    for first in (0, 1, len(name)):
        folder = escaped(name, first)
        if folder and len(folder.encode()) <= FOLDER_BYTES:
            yield folder
    yield shortened(escaped(name), name, FOLDER_BYTES)


def _is_unsafe(letter: str) -> bool:
    kind = unicodedata.category(letter)
    return letter in UNSAFE or letter in BLANK or kind in {"Cc", "Cf", "Zl", "Zp"} or (kind == "Zs" and letter != " ")


def _percent(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
