"""Files in a store of objects (S3 and its like, Google Cloud Storage) by fsspec, whose packages are optional."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from core.errors import InputError, NotReady

PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs"}
PIECE = 1 << 20  # bytes


def is_bucket(address: str) -> bool:
    """Whether an address names a place in a store of objects: s3://…, gs://…, gcs://…"""
    scheme, found, rest = address.partition("://")
    return bool(found) and scheme in PACKAGES and bool(rest) and "::" not in address


def filesystem(address: str) -> tuple[Any, str]:
    """(fsspec's file system, the key without its scheme) of an address; keys and endpoints come from the environment.

    Raises InputError for what is no such address, NotReady where the package is missing.
    """
    if not is_bucket(address):
        raise InputError(
            f"{address} is no place in a store of objects: write {', '.join(f'{s}://' for s in PACKAGES)}…"
        )
    scheme, _, key = address.partition("://")
    try:
        import fsspec

        return fsspec.filesystem(scheme, use_listings_cache=False), key
    except ImportError as error:
        raise NotReady(
            f"{scheme}:// needs a package that is not installed: pip install {PACKAGES[scheme]} "
            "(or -r requirements-far.txt)"
        ) from error


def copy(address: str, path: Path, limit: int) -> None:
    """The object at `address`, at most `limit` bytes, as the file `path`. Raises InputError with the reason."""
    store, key = filesystem(address)
    try:
        size = 0
        with store.open(key, "rb", cache_type="readahead") as source, path.open("wb") as file:
            while piece := source.read(PIECE):
                size += len(piece)
                if size > limit:
                    raise InputError(f"{address} has more than {limit:,} bytes: that is over the limit")
                file.write(piece)
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{address} is not there") from error
    except Exception as error:  # whatever the store's client raises: it has no common root
        raise InputError(f"{address} could not be fetched ({reason(error)})") from error


def listing(address: str) -> dict[str, int]:
    """Sizes in bytes of all objects below `address`, by their names relative to it. Raises InputError."""
    store, key = filesystem(address)
    try:
        found = store.find(key, detail=True)
    except Exception as error:
        raise InputError(f"{address} could not be listed ({reason(error)})") from error
    start = key.rstrip("/") + "/"
    if not found:
        raise InputError(f"{address} holds nothing, or does not exist")
    named = {name.removeprefix(start): about.get("size") or 0 for name, about in found.items()}
    return {name: size for name, size in named.items() if is_safe(name)}


def is_safe(name: str) -> bool:
    """Whether an object's name stays below a folder that it is put into."""
    parts = PurePosixPath(name).parts
    return str(PurePosixPath(*parts)) == name and not name.startswith("/") and ".." not in parts and "\0" not in name


def reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"
