"""Images that a list names by address come here: many at once, each limited, what is here is not asked again."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from core.ahead import in_order
from core.data import buckets
from core.data.scan import EXTENSIONS
from core.errors import PenumbraError, UnreadableImage
from core.image_files import identify, reading
from core.values import Progress, silent
from core.web import Reach, download

LARGEST = 512 * 2**20  # bytes of one image
WORKERS = 8
NAMES = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "TIFF": ".tif", "BMP": ".bmp"}


def is_remote(address: str) -> bool:
    """Whether a path of a list is an address to fetch from: https, http, or a store of objects."""
    return address.lower().startswith(("https://", "http://")) or buckets.is_bucket(address)


def fetch_all(
    urls: Iterable[str],
    folder: Path,
    allow_private: bool = False,
    on_progress: Progress = silent,
    *,
    limit: int = LARGEST,
    workers: int = WORKERS,
) -> Mapping[str, Path | str]:
    """Each of `urls` as a file in `folder`, or the reason why not. Only what is not there yet is fetched.

    https and, with `allow_private`, http and addresses of private networks; s3, gs and gcs by the environment's keys.
    `workers` are at it at once; each file has `limit` bytes at most and is an image by its first bytes, complete or
    not there at all. What `on_progress` raises ends the fetching; started again it goes on with what is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(dict.fromkeys(urls))
    there = {path.stem: path for path in folder.iterdir() if not path.name.startswith(".")}
    found: dict[str, Path | str] = {url: there[name_of(url)] for url in wanted if name_of(url) in there}
    missing = [url for url in wanted if url not in found]
    reach = Reach.PRIVATE if allow_private else Reach.PUBLIC
    on_progress(0, len(missing), "fetching images")
    fetching = in_order(lambda url: _fetch(url, folder, reach, limit), missing, workers=workers, ahead=4 * workers)
    with closing(fetching) as fetched:
        for done, (url, result) in enumerate(fetched, start=1):
            found[url] = result
            on_progress(done, len(missing), "fetching images")
    return {url: found[url] for url in wanted}


def name_of(url: str) -> str:
    """What a fetched file is called, without its extension: nothing of the address itself, which may be hostile."""
    return hashlib.sha256(url.encode(errors="surrogateescape")).hexdigest()[:32]


def _fetch(url: str, folder: Path, reach: Reach, limit: int) -> Path | str:
    unfinished = folder / f".{uuid.uuid4().hex}.part"
    try:
        if buckets.is_bucket(url):
            buckets.copy(url, unfinished, limit)
        else:
            download(url, unfinished, limit=limit, reach=reach)
        target = folder / (name_of(url) + _extension(url, unfinished))
        os.replace(unfinished, target)
        return target
    except UnreadableImage as error:
        return f"what came is no image that is read: {str(error).partition(': ')[2]}"
    except PenumbraError as error:
        return str(error).removeprefix(f"{url} ")
    except OSError as error:
        return f"it could not be written ({error.strerror or error})"
    finally:
        unfinished.unlink(missing_ok=True)


def _extension(url: str, file: Path) -> str:
    """The address's own where it is an image's, else that of the content. Raises UnreadableImage for no image."""
    with reading(file) as handle:
        kind = identify(handle).format or "JPEG"
    said = PurePosixPath(urlsplit(url).path).suffix.lower()
    return said if said in EXTENSIONS else NAMES[kind]
