"""Images by the hash of their content: only those in the database, only from inside their project's folder.

Who may ask at all is decided before (pages/login/gate.py).
"""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from core.config import home
from core.errors import UnreadableImage
from core.images import sha256_file, thumbnail
from db import repository
from db.repository import path_of
from pages.parts.state import database

SIDES = {"256", "1600"}  # a thumbnail, and what fills a screen
HEADERS = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def image(request: Request) -> Response:
    """`/img/{sha256}/{side}`: at most `side` pixels long, as JPEG; cached for good, as content never changes."""
    sha256, side = request.path_params["sha256"], request.path_params["side"]
    if not re.fullmatch(r"[0-9a-f]{64}", sha256) or side not in SIDES:
        return _missing()
    try:
        with database().read() as session:
            places = path_of(session, sha256)
    except SQLAlchemyError:
        return PlainTextResponse("the database is busy", 503)
    return _first_readable(places, sha256, int(side))


def image_of_item(request: Request) -> Response:
    """`/img/item/{item}`: to the thumbnail of an image that is known by its number only; asked for again each time."""
    try:
        with database().read() as session:
            sha256 = repository.item(session, request.path_params["item"]).sha256
    except (LookupError, OverflowError):
        return _missing()
    except SQLAlchemyError:
        return PlainTextResponse("the database is busy", 503)
    return RedirectResponse(url(sha256, 256), 302, {"Cache-Control": "no-store"})


def _first_readable(places: list[tuple[str, str]], sha256: str, side: int) -> Response:
    for root, path in places:
        source = inside(root, path)
        try:
            if source and (_is_cached(sha256, side) or sha256_file(source) == sha256):
                return FileResponse(thumbnail(source, sha256, thumbs(), side), 200, HEADERS, "image/jpeg")
        except UnreadableImage:
            continue
    return _missing()


def inside(root: str, path: str) -> Path | None:
    """The file, links followed, unless that leads out of the project's folder."""
    folder = Path(root).resolve()
    file = (folder / path).resolve()
    return file if file.is_relative_to(folder) and file.is_file() else None


def thumbs() -> Path:
    return home() / "thumbs"


def url(sha256: str, side: int) -> str:
    """Where the browser finds an image; raises ValueError for what is no hash, as it goes into HTML."""
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise ValueError(f"a SHA-256 has 64 hexadecimal digits, not {sha256!r}")
    return f"/img/{sha256}/{side}"


def _is_cached(sha256: str, side: int) -> bool:
    return (thumbs() / str(side) / sha256[:2] / f"{sha256}.jpg").exists()


def _missing() -> Response:
    return PlainTextResponse("there is no such image", 404, {"X-Content-Type-Options": "nosniff"})


def routes() -> list[Route]:
    return [
        Route("/img/item/{item:int}", image_of_item, methods=["GET"]),
        Route("/img/{sha256}/{side}", image, methods=["GET"]),
    ]
