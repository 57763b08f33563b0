"""The gate before everything that is served: pages, images, uploads, and the socket that Streamlit's pages live on.

    no account   this machine alone is served, everybody on it; from elsewhere nothing
    accounts     whoever is signed in; all others get the sign-in page, and a socket that shows nothing else

A socket is asked again at each of its messages: what was signed out, disabled or expired is cut off at once.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from anyio import to_thread
from google.protobuf.message import DecodeError
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from core.accounts import has_accounts
from core.errors import PenumbraError
from core.logins import COOKIE, login
from pages.login.visitor import ANYBODY, CLOSED, GUEST, UNSURE, Visitor, belongs
from pages.parts.state import database

HEALTH = "/_stcore/health"
PUBLIC = {"/login", "/login/style.css", "/login/mark.svg", "/auth/login", "/auth/logout", "/oauth2callback"}
PUBLIC |= {"/_stcore/host-config", "/favicon.png"}
FRONT_END = "/static/"  # Streamlit's own scripts, the same for everybody
OPEN = "This server has no accounts: from other machines than its own, anybody could use it. "
OPEN += "Add the first account where it runs: python -m core user add NAME --role owner"
REFUSED = {CLOSED: (OPEN, 403), UNSURE: ("the database does not answer: try again", 503)}
_CLOSE = {"type": "websocket.close", "code": 1008}  # policy violation
FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")

logger = logging.getLogger(__name__)


def reason_not_to_serve(address: str | None) -> str | None:
    """Why nothing may listen on this address (`server.address`; None: on all); None where it may."""
    if is_loopback(address) or has_accounts(database()):
        return None
    return f"Not started: it would listen on {address or 'all addresses'}. {OPEN}"


class Gate:
    """ASGI middleware around the whole server."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = None if scope["path"] == HEALTH else await _refusal(HTTPConnection(scope))
        await (answer or self.app)(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        came = await _visitor(connection)
        if came in REFUSED:
            await send(_CLOSE)
            return
        is_cut = False

        async def checked() -> Message:
            nonlocal is_cut
            message = await receive()
            if message["type"] == "websocket.receive" and (await _visitor(connection)).key != came.key:
                is_cut = True
                await send({"type": "websocket.send", "bytes": _away(message.get("bytes") or b"")})
                await send(_CLOSE)
                return {"type": "websocket.disconnect", "code": 1008}
            return message

        async def unless_cut(message: Message) -> None:
            if not is_cut:
                await send(message)

        await self.app(_without_foreign_session(scope, came), checked, unless_cut)


def _away(asked: bytes) -> bytes:
    """Streamlit's message that leads the browser to the sign-in, and from there back to the page that it was on."""
    message = ForwardMsg()
    message.auth_redirect.url = "/login"
    with suppress(DecodeError):
        run = BackMsg.FromString(asked).rerun_script
        message.auth_redirect.url = sign_in_address(urlsplit(run.context_info.url).path or "/", run.query_string)
    return message.SerializeToString()


async def _refusal(connection: HTTPConnection) -> Response | None:
    """What is answered instead of what was asked for; None where it may be had."""
    if not is_host_allowed(connection.headers.get("host")):
        return PlainTextResponse("this host name is not served: start the server with it in --server.allowedHosts", 403)
    visitor = await _visitor(connection)
    connection.scope["visitor"] = visitor
    if visitor in REFUSED:
        return PlainTextResponse(*REFUSED[visitor])
    if visitor is GUEST and not _is_public(connection):
        return _to_sign_in(connection)
    return None


def _is_public(connection: HTTPConnection) -> bool:
    path = connection.url.path
    asks_provider = path == "/" and "sign-in" in connection.query_params
    return path in PUBLIC or path.startswith(FRONT_END) or asks_provider


def _to_sign_in(connection: HTTPConnection) -> Response:
    is_page = connection.scope["method"] == "GET" and "text/html" in connection.headers.get("accept", "")
    if not is_page:
        return PlainTextResponse("sign in first", 401, {"Cache-Control": "no-store"})
    url = sign_in_address(connection.url.path, connection.url.query)
    return RedirectResponse(url, 303, {"Cache-Control": "no-store"})


def sign_in_address(path: str, query: str) -> str:
    """Of the sign-in page that leads back here."""
    return "/login?next=" + quote(path + (f"?{query}" if query else ""), safe="")


async def _visitor(connection: HTTPConnection) -> Visitor:
    """Who this is at this moment; where the database cannot tell, nobody who may have anything."""
    try:
        return await to_thread.run_sync(_ask, connection)
    except (SQLAlchemyError, PenumbraError) as error:
        logger.error("nobody can be let in: %s", error)
        return UNSURE


def _ask(connection: HTTPConnection) -> Visitor:
    if has_accounts(database()):
        return Visitor.of(login(database(), connection.cookies.get(COOKIE)))
    return ANYBODY if _is_from_here(connection.scope) else CLOSED


def _is_from_here(scope: Scope) -> bool:
    """Whether it came in on this machine's own address, and not by way of a proxy."""
    came_in = (scope.get("server") or ("", 0))[0]
    return is_loopback(came_in) and not any(name in Headers(scope=scope) for name in FORWARDED)


def is_loopback(address: str | None) -> bool:
    """Whether nothing but this machine reaches the address; none stands for all addresses."""
    if address == "localhost":
        return True
    try:
        ip = ip_address(address or "::")
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def _without_foreign_session(scope: Scope, visitor: Visitor) -> Scope:
    """A browser that reconnects names the session it had: it gets it back if the same login opened it."""
    key = b"sec-websocket-protocol"
    headers = []
    for name, value in scope["headers"]:
        if name == key:
            parts = [part.strip() for part in value.decode("latin-1").split(",")]
            if len(parts) > 2 and not belongs(parts[2], visitor):
                value = ", ".join(parts[:2]).encode("latin-1")
        headers.append((name, value))
    return {**scope, "headers": headers}
