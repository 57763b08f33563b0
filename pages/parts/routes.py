"""Images by the hash of their content: only those in the database, only from inside their project's folder.

Who may ask at all is decided before (pages/login/gate.py).
"""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from core.config import home
from core.errors import NotReady, UnreadableImage
from core.image_files import identify, reading
from core.images import sha256_file, thumbnail
from core.storage import inside, is_remote
from db import repository
from db.repository import path_of
from pages.parts.state import database

SIDES = {"256", "1600"}  # a thumbnail, and what fills a screen
FULL = "full"  # all there is, for a look from near
EVERY_PIXEL = 65535  # no JPEG is longer
SHOWN_AS_THEY_ARE = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}  # by every browser
HEADERS = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def image(request: Request) -> Response:
    """`/img/{sha256}/{side}`: at most `side` pixels long, as JPEG; `/img/{sha256}/full`: every pixel of the original.

    Cached for good, as content never changes.
    """
    sha256, side = request.path_params["sha256"], request.path_params["side"]
    if not re.fullmatch(r"[0-9a-f]{64}", sha256) or side not in {*SIDES, FULL}:
        return _missing()
    try:
        with database().read() as session:
            places = path_of(session, sha256)
    except SQLAlchemyError:
        return PlainTextResponse("the database is busy", 503)
    return _first_readable(places, sha256, side)


def image_of_item(request: Request) -> Response:
    """`/img/item/{item}`: to the thumbnail of an image that is known by its number only; asked for again each time."""
    try:
        with database().read() as session:
            sha256 = repository.item(session, request.path_params["item"]).sha256
    except (LookupError, OverflowError, DataError):
        return _missing()
    except SQLAlchemyError:
        return PlainTextResponse("the database is busy", 503)
    return RedirectResponse(url(sha256, 256), 302, {"Cache-Control": "no-store"})


def _first_readable(places: list[tuple[str, str]], sha256: str, side: str) -> Response:
    for root, path in places:
        try:
            if is_remote(root) and side != FULL and _is_cached(sha256, side):  # without asking the store
                return FileResponse(_cached(sha256, side), 200, HEADERS, "image/jpeg")
            source = inside(root, path, sha256)
            if source and side != FULL and (_is_cached(sha256, side) or sha256_file(source) == sha256):
                return FileResponse(thumbnail(source, sha256, thumbs(), int(side)), 200, HEADERS, "image/jpeg")
            if source and side == FULL and sha256_file(source) == sha256:
                return _original(source, sha256)
        except (UnreadableImage, NotReady):
            continue
    return _missing()


def _original(source: Path, sha256: str) -> Response:
    """The file itself where every browser shows it, else all its pixels as JPEG; never as a type that it is not."""
    with reading(source) as handle:
        kind = SHOWN_AS_THEY_ARE.get(identify(handle).format or "")
    if kind:
        return FileResponse(source, 200, HEADERS, kind)
    return FileResponse(thumbnail(source, sha256, thumbs(), EVERY_PIXEL), 200, HEADERS, "image/jpeg")


def thumbs() -> Path:
    return home() / "thumbs"


def url(sha256: str, side: int | str) -> str:
    """Where the browser finds an image; raises ValueError for what is no hash, as it goes into HTML."""
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ValueError(f"a SHA-256 has 64 hexadecimal digits, not {sha256!r}")
    return f"/img/{sha256}/{side}"


def _is_cached(sha256: str, side: str) -> bool:
    return _cached(sha256, side).exists()


def _cached(sha256: str, side: str) -> Path:
    return thumbs() / side / sha256[:2] / f"{sha256}.jpg"


def _missing() -> Response:
    return PlainTextResponse("there is no such image", 404, {"X-Content-Type-Options": "nosniff"})


def routes() -> list[Route]:
    return [
        Route("/img/item/{item:int}", image_of_item, methods=["GET"]),
        Route("/img/{sha256}/{side}", image, methods=["GET"]),
    ]
