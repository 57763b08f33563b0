"""`/login`, `/logout` and `/account`: what their forms do, and what they refuse.

A form is taken from this site alone (Origin), with the signature that this server put into it for this browser.
"""

from __future__ import annotations

import hmac
import math
import secrets
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from core import logins
from core.errors import InputError, NotAllowed, TooManyAttempts
from core.signing import signed, unsigned
from pages.login import oidc
from pages.login.gate import is_loopback
from pages.login.html import account_page, sign_in_page
from pages.login.visitor import ANYBODY, Visitor
from pages.parts.state import database

FORM_COOKIE = "penumbra_form"
LARGEST_FORM = 8192  # bytes
TOO_OLD = "This page had been open for too long, or came from elsewhere. Nothing was done: try again."
FILES = {"style.css": Path(__file__).parent / "style.css", "mark.svg": Path(__file__).parent.parent / "parts/mark.svg"}

_two_at_once: list[CapacityLimiter] = []  # scrypt takes memory and a core: more would wait for the same cores


async def show_sign_in(request: Request) -> Response:
    """The form; or straight on, for who is signed in, needs not be, or comes back from a provider."""
    wanted = own_path(request.query_params.get("next"))
    visitor = _visitor(request)
    if visitor.login or visitor is ANYBODY:
        return RedirectResponse(wanted, 303)
    if said := oidc.user(request):
        return await _from_provider(request, said, wanted)
    return _form(request, wanted)


async def _from_provider(request: Request, said: dict, wanted: str) -> Response:
    email = oidc.verified_email(said)
    try:
        if email is None:
            raise NotAllowed("The provider did not vouch for an e-mail address, so no account can be found.")
        cookie = await to_thread.run_sync(logins.sign_in_by_email, database(), email)
    except NotAllowed as refused:
        response = _form(request, wanted, error=str(refused), status=403)
    else:
        response = _signed_in(request, cookie, wanted)
    oidc.forget(request, response)
    return response


async def sign_in(request: Request) -> Response:
    """A name and a password: a login, or the form again with the reason."""
    fields = await _fields(request)
    name, wanted = fields.get("name", ""), own_path(fields.get("next"))
    if not _is_ours(request, fields, "sign-in", request.cookies.get(FORM_COOKIE, "")):
        return _form(request, wanted, name, TOO_OLD, 403)
    asked = (logins.sign_in, database(), name, fields.get("password", ""), _address(request))
    try:
        cookie = await to_thread.run_sync(*asked, limiter=_limiter())
    except TooManyAttempts as refused:
        return _wait(_form(request, wanted, name, f"{refused} {_when(refused.until)}", 429), refused.until)
    except NotAllowed as refused:
        return _form(request, wanted, name, str(refused), 401)
    return _signed_in(request, cookie, wanted)


async def show_account(request: Request) -> Response:
    visitor = _visitor(request)
    done = "The password was changed." if request.query_params.get("done") == "password" else ""
    return _account(visitor, done=done) if visitor.login else RedirectResponse("/", 303)


async def change_password(request: Request) -> Response:
    """Another password for the one at present; all other devices are signed out."""
    visitor, fields = _visitor(request), await _fields(request)
    if visitor.login is None:
        return RedirectResponse("/", 303)
    if not _is_ours(request, fields, "account", visitor.key):
        return _account(visitor, error=TOO_OLD, status=403)
    if fields.get("new") != fields.get("again"):
        return _account(visitor, error="The new password was not twice the same.", status=400)
    change = (logins.change_password, database(), visitor.login.account, fields.get("old", ""), fields.get("new", ""))
    try:
        cookie = await to_thread.run_sync(*change, _address(request), limiter=_limiter())
    except TooManyAttempts as refused:
        return _wait(_account(visitor, error=f"{refused} {_when(refused.until)}", status=429), refused.until)
    except (NotAllowed, InputError) as refused:
        return _account(visitor, error=str(refused), status=400)
    return _signed_in(request, cookie, "/account?done=password")


async def sign_out(request: Request) -> Response:
    """End this login, or all of this person's."""
    visitor, fields = _visitor(request), await _fields(request)
    if visitor.login is None:
        return RedirectResponse("/login", 303)
    if not _is_ours(request, fields, "account", visitor.key):
        return _account(visitor, error=TOO_OLD, status=403)
    if fields.get("everywhere"):
        await to_thread.run_sync(logins.sign_out_everywhere, database(), visitor.login.account.id)
    else:
        await to_thread.run_sync(logins.sign_out, database(), request.cookies.get(logins.COOKIE))
    response = RedirectResponse(
        "/login", 303, {"Clear-Site-Data": '"cache"'}
    )  # images of this login, kept by the browser
    response.delete_cookie(logins.COOKIE, path="/")
    return response


async def file(request: Request) -> Response:
    return FileResponse(FILES[request.url.path.rsplit("/", 1)[1]], headers={"Cache-Control": "max-age=3600"})


def routes() -> list[Route]:
    return [
        Route("/login", show_sign_in, methods=["GET"]),
        Route("/login", sign_in, methods=["POST"]),
        Route("/logout", sign_out, methods=["POST"]),
        Route("/account", show_account, methods=["GET"]),
        Route("/account", change_password, methods=["POST"]),
        *(Route(f"/login/{name}", file, methods=["GET"]) for name in FILES),
    ]


def own_path(text: str | None) -> str:
    """A path on this server; its front page for what leads, or could be read as leading, elsewhere."""
    text = text or "/"
    parts = urlsplit(text)
    is_ours = text.startswith("/") and not text.startswith("//") and not parts.scheme and not parts.netloc
    return text if is_ours and text.isprintable() and "\\" not in text else "/"


def _visitor(request: Request) -> Visitor:
    return request.scope.get("visitor", ANYBODY)  # the gate's word


def _form(request: Request, wanted: str, name: str = "", error: str = "", status: int = 200) -> Response:
    """The sign-in form, signed for this browser."""
    browser = request.cookies.get(FORM_COOKIE) or secrets.token_urlsafe(16)
    here = is_loopback(request.client.host if request.client else "")
    clear = request.url.scheme != "https" and not here
    about = {"name": name, "error": error, "status": status, "clear": clear, "providers": oidc.providers()}
    response = sign_in_page(signed(browser, "form.sign-in"), next_=wanted, **about)
    response.set_cookie(
        FORM_COOKIE, browser, path="/login", httponly=True, samesite="strict", secure=_is_secure(request)
    )
    return response


def _account(visitor: Visitor, **notes) -> Response:
    return account_page(visitor.login, signed(visitor.key, "form.account"), **notes)


def _signed_in(request: Request, cookie: str, wanted: str) -> Response:
    response = RedirectResponse(wanted, 303)
    lasts = int(logins.LASTS.total_seconds())
    secure = _is_secure(request)
    response.set_cookie(logins.COOKIE, cookie, max_age=lasts, path="/", httponly=True, samesite="lax", secure=secure)
    return response


def _is_ours(request: Request, fields: dict[str, str], form: str, whose: str) -> bool:
    """Whether the form came from a page of this server, and from the browser that got it."""
    origin = request.headers.get("origin")
    if origin is None or urlsplit(origin).netloc != request.headers.get("host"):
        return False
    return bool(whose) and hmac.compare_digest(unsigned(fields.get("form"), f"form.{form}") or "", whose)


async def _fields(request: Request) -> dict[str, str]:
    """The form's fields; none for a body that is no form of ours."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace"), True).items()}


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def _is_secure(connection: HTTPConnection) -> bool:
    return connection.url.scheme == "https"


def _limiter() -> CapacityLimiter:
    if not _two_at_once:
        _two_at_once.append(CapacityLimiter(2))  # made inside the event loop
    return _two_at_once[0]


def _when(until: datetime) -> str:
    minutes = max(1, math.ceil((until - datetime.now(UTC)).total_seconds() / 60))
    return f"Try again in {minutes} minute{'' if minutes == 1 else 's'}."


def _wait(response: Response, until: datetime) -> Response:
    response.headers["Retry-After"] = str(max(1, math.ceil((until - datetime.now(UTC)).total_seconds())))
    return response
