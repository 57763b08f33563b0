"""Why this image, for the desk: fetched only while its panel is open, beside the pages, so that no key waits for it."""

from __future__ import annotations

from sqlalchemy.exc import DataError, SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from core.acquisition.table import QUICK, Acquisition
from core.errors import PenumbraError
from core.projects import get_project
from core.queue import queue_for
from core.team import TeamSettings
from core.why import Reasons
from pages.parts.routes import url
from pages.parts.state import database

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}  # the next answer may change them


def why(request: Request) -> Response:
    """`/why/{project}/{order}/{item}`: the reasons for an image of a project's queue as JSON."""
    if not is_host_allowed(request.headers.get("host")):
        return PlainTextResponse("this host name is not served", 403)
    order, item = request.path_params["order"], request.path_params["item"]
    if order not in (*QUICK, Acquisition.OWN_UNCERTAINTY):
        return PlainTextResponse("there is no such order", 404, HEADERS)
    project_id = request.path_params["project"]
    try:
        if TeamSettings.of(get_project(database(), project_id).team).blind:
            return PlainTextResponse("this team labels blind: reasons are not shown", 403, HEADERS)
        found = queue_for(database(), project_id, order).why(item)
    except (PenumbraError, LookupError, OverflowError, DataError):
        return PlainTextResponse("there is no such image to label", 404, HEADERS)
    except SQLAlchemyError:
        return PlainTextResponse("the database is busy", 503, HEADERS)
    return JSONResponse(told(found), headers=HEADERS)


def told(reasons: Reasons) -> dict:
    """What the desk shows of them: of a target image nothing but itself, of an answered one its class."""
    return {
        "item": reasons.item_id,
        "of": reasons.targets,
        "sharpens": [{"view": url(each.sha256, 256), "share": each.share} for each in reasons.sharpens],
        "nearest": [
            {"view": url(each.sha256, 256), "name": each.class_name, "cosine": each.cosine} for each in reasons.nearest
        ],
    }


def routes() -> list[Route]:
    return [Route("/why/{project:int}/{order}/{item:int}", why, methods=["GET"])]
