"""Signing in with a provider (OpenID Connect): `st.login` goes there, and what it left in a cookie is read here once.

The server needs to know who asks for an image too, where no page runs; so the word of the provider, which Streamlit
has checked and signed, is exchanged for this server's own login, and Streamlit's cookie goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response
from streamlit.auth_util import get_cookie_with_chunks, get_secrets_auth_section, get_signing_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

USER_COOKIE, TOKENS_COOKIE = "_streamlit_user", "_streamlit_user_tokens"
FRESH_DAYS = 10 / (24 * 60)  # Streamlit keeps the cookie for 30 days: here it counts for ten minutes
DEFAULT = "default"


def providers() -> list[str]:
    """Names of the providers in secrets.toml's [auth]; "default" is one without a name of its own."""
    auth = get_secrets_auth_section()
    named = [name for name, each in auth.items() if isinstance(each, Mapping) and "client_id" in each]
    return ([DEFAULT] if "client_id" in auth else []) + named


def user(connection: HTTPConnection) -> dict[str, Any]:
    """What the provider said of who just came from it, as `st.user` holds it; empty where nobody did."""
    if not providers():
        return {}
    secret = get_signing_secret()

    def part(name: str) -> bytes | None:
        value = connection.cookies.get(name)
        return decode_signed_value(secret, name, value, max_age_days=FRESH_DAYS) if value else None

    try:
        said = json.loads(get_cookie_with_chunks(part, USER_COOKIE) or b"{}")
    except ValueError:
        return {}
    here = f"{connection.url.scheme}://{connection.url.netloc}"
    return said if isinstance(said, dict) and said.get("origin") == here and said.get("is_logged_in") is True else {}


def verified_email(said: Mapping[str, Any]) -> str | None:
    """The address that the provider vouches for; None where it does not."""
    email, verified = said.get("email"), said.get("email_verified")
    return email.strip().lower() if isinstance(email, str) and email.strip() and verified in (True, "true") else None


def forget(connection: HTTPConnection, response: Response) -> None:
    """Delete Streamlit's cookies, in all their parts: else signing out would sign in again."""
    for name in connection.cookies:
        if name.startswith(USER_COOKIE):
            response.delete_cookie(name, path="/")
