"""A provider's word, in the cookie that Streamlit signs for it, is exchanged once for a login of this server."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from starlette.responses import Response
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette import starlette_auth_routes

from core.accounts import Role, add_account, set_disabled
from core.logins import COOKIE, login
from pages.login import oidc
from pages.login.oidc import providers, verified_email
from tests.pages.test_login_routes import SITE, browser
from tests.pages.test_pages import MAIN

SECRET = "a secret of secrets.toml"
CLIENT = {"client_id": "x", "client_secret": "y", "server_metadata_url": "https://idp.example/.well-known"}
SAID = {"email": "bo@example.org", "email_verified": True, "is_logged_in": True, "origin": SITE}


@pytest.fixture(autouse=True)
def any_host(monkeypatch):
    from streamlit import config

    asked = config.get_option
    monkeypatch.setattr(
        "streamlit.config.get_option", lambda name: [] if name == "server.allowedHosts" else asked(name)
    )


@pytest.fixture
def secrets(monkeypatch):
    """secrets.toml's [auth]."""
    auth = {"redirect_uri": f"{SITE}/oauth2callback", "cookie_secret": SECRET, "google": CLIENT}
    monkeypatch.setattr(oidc, "get_secrets_auth_section", lambda: auth)
    monkeypatch.setattr(oidc, "get_signing_secret", lambda: SECRET)
    return auth


@pytest.fixture
def bo(site, secrets):
    add_account(site.database, "Ada", Role.OWNER, password="correct horse")
    return add_account(site.database, "Bo", Role.REVIEWER, email="bo@example.org")


@pytest.fixture
def back_from_provider(monkeypatch):
    """A browser with the cookies that Streamlit itself sets after its callback."""

    def come(secret: str = SECRET, **said):
        monkeypatch.setattr(starlette_auth_routes, "get_cookie_secret", lambda: secret)
        response = Response()
        asyncio.run(starlette_auth_routes._set_auth_cookie(response, SAID | said, {"id_token": "t"}))
        client = browser()
        for header in response.headers.getlist("set-cookie"):
            client.cookies.set(*header.split(";")[0].split("=", 1), domain="127.0.0.1")
        return client

    return come


def test_providers_are_those_of_secrets_toml(secrets):
    assert providers() == ["google"]
    secrets.update(CLIENT)
    assert providers() == ["default", "google"]
    secrets.clear()
    assert providers() == []


def test_the_form_leads_to_each_provider(bo):
    page = browser().get("/login").text
    assert 'href="/?sign-in=google"' in page
    assert "Sign in with Google" in page


@pytest.mark.parametrize("picture", [10, 9000], ids=["one cookie", "in parts"])
def test_a_verified_address_signs_its_account_in_once(site, bo, back_from_provider, picture):
    client = back_from_provider(picture="x" * picture)
    reply = client.get("/login?next=/rounds")
    assert (reply.status_code, reply.headers["location"]) == (303, "/rounds")
    assert login(site.database, client.cookies[COOKIE]).account.name == "Bo"
    assert not [name for name in client.cookies if name.startswith("_streamlit")]  # else signing out signed in again


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"email": "eve@example.org"}, "no account for eve@example.org"),
        ({"email_verified": False}, "did not vouch"),
        ({"email_verified": None}, "did not vouch"),
        ({"email": None}, "did not vouch"),
    ],
)
def test_without_an_account_or_a_verified_address_it_is_said(bo, back_from_provider, said, why):
    client = back_from_provider(**said)
    reply = client.get("/login")
    assert reply.status_code == 403
    assert why in reply.text
    assert COOKIE not in client.cookies
    assert oidc.USER_COOKIE not in client.cookies  # another try may be another address


def test_a_disabled_account_stays_out(site, bo, back_from_provider):
    set_disabled(site.database, "Bo", True)
    assert "disabled" in back_from_provider().get("/login").text


def test_what_another_server_said_or_nobody_signed_counts_nothing(bo, back_from_provider):
    for client in (
        back_from_provider(secret="guessed"),
        back_from_provider(origin="https://elsewhere.example"),
        back_from_provider(is_logged_in=False),
    ):
        assert client.get("/login").status_code == 200
    client = browser()
    client.cookies.set(oidc.USER_COOKIE, json.dumps(SAID))
    assert client.get("/login").status_code == 200


def test_an_old_word_counts_nothing(bo, back_from_provider, monkeypatch):
    monkeypatch.setattr(oidc, "FRESH_DAYS", -1)
    assert back_from_provider().get("/login").status_code == 200


def test_without_a_provider_no_cookie_counts(bo, secrets, back_from_provider):
    secrets.clear()
    assert back_from_provider().get("/login").status_code == 200


def test_the_claims_of_st_user_are_read():
    user = SimpleNamespace(email=" Bo@Example.org ", email_verified=True)  # as st.user holds them
    assert verified_email(vars(user)) == "bo@example.org"
    assert verified_email({"email": "bo@example.org", "email_verified": "true"}) == "bo@example.org"
    assert verified_email({"email": "bo@example.org", "email_verified": "false"}) is None
    assert verified_email({"email": "bo@example.org"}) is None


def test_streamlit_is_asked_to_go_to_the_provider_that_is_known(bo, monkeypatch):
    asked = []
    monkeypatch.setattr("streamlit.login", asked.append)
    for name in ("google", "unknown"):
        app = AppTest.from_file(MAIN)
        app.query_params["sign-in"] = name
        assert not app.run().exception
    assert asked == ["google"]


def test_that_authlib_is_missing_is_said(bo, monkeypatch):
    monkeypatch.setattr("streamlit.user_info.is_authlib_installed", lambda: False)
    app = AppTest.from_file(MAIN)
    app.query_params["sign-in"] = "google"
    assert "Authlib" in app.run().error[0].value
