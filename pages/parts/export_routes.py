"""Exports as zips, made while they are sent: an owner's, of projects that were not deleted, and of nothing else."""

from __future__ import annotations

from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from core.accounts import allows
from core.data.formats import FORMATS
from core.data.pack import packed
from core.errors import PenumbraError
from core.projects import get_project
from db.repository import ProjectRow, Role
from pages.login.visitor import ANYBODY
from pages.parts.export_place import file_name, finished
from pages.parts.state import database

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def address(project: ProjectRow, format_name: str) -> str:
    """Where the browser finds an export; nothing in it was written by a person."""
    return f"/export/{int(project.id)}/{FORMATS[format_name].name}.zip"


def export(request: Request) -> Response:
    """`/export/{project}/{format}.zip`: the last export of a project in a format."""
    if not _may(request):
        return PlainTextResponse("exports are for owners", 403, HEADERS)
    name = request.path_params["name"].removesuffix(".zip")
    try:
        project = get_project(database(), request.path_params["project"])
    except (PenumbraError, OverflowError, DataError):
        return _missing()
    except SQLAlchemyError:
        return PlainTextResponse("the database is busy", 503, HEADERS)
    found = finished(project, name) if name in FORMATS else None
    if found is None:
        return _missing()
    about = {"Content-Disposition": f'attachment; filename="{file_name(project)}-{name}.zip"'}
    return StreamingResponse(packed(found.folder), 200, HEADERS | about, "application/zip")


def _may(request: Request) -> bool:
    """The gate has said who asks."""
    visitor = request.scope.get("visitor")
    if visitor is None or visitor.login is None:
        return visitor is ANYBODY
    return allows(visitor.login.account.role, Role.OWNER)


def _missing() -> Response:
    return PlainTextResponse("there is no such export", 404, HEADERS)


def routes() -> list[Route]:
    return [Route("/export/{project:int}/{name}", export, methods=["GET"])]
