"""The sign-in page and the account's page: their forms are taken from this site and this browser alone."""

import re
from html import unescape

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from core.accounts import Role, add_account
from core.logins import COOKIE, LIMITS, login, sign_in, sign_in_by_email
from pages.login.gate import Gate
from pages.login.routes import own_path, routes

PASSWORD, OTHER = "correct horse", "battery staple"
SITE = "http://127.0.0.1"


@pytest.fixture(autouse=True)
def any_host(monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", lambda name: [])


@pytest.fixture
def ada(site):
    return add_account(site.database, "Ada <b>", Role.OWNER, password=PASSWORD)


def browser(base: str = SITE, client: str = "127.0.0.1") -> TestClient:
    app = Gate(Starlette(routes=[*routes(), Route("/{path:path}", lambda request: PlainTextResponse("the page"))]))
    return TestClient(app, base_url=base, follow_redirects=False, client=(client, 5))


def form_of(page) -> str:
    return unescape(re.search(r'name="form" value="([^"]+)"', page.text)[1])


def send(client: TestClient, path: str = "/login", page: str = "/login", origin: str | None = SITE, **fields: str):
    """The form as a browser sends it."""
    headers = {"origin": origin} if origin else {}
    return client.post(path, data={"form": form_of(client.get(page)), **fields}, headers=headers)


def signed_in(site) -> TestClient:
    client = browser()
    client.cookies.set(COOKIE, sign_in(site.database, "Ada <b>", PASSWORD, "here"))
    return client


def test_the_right_password_leads_to_the_page_that_was_asked_for(ada):
    client = browser()
    page = client.get("/login?next=%2Fannotate%3Fproject%3D3")
    assert 'name="next" value="/annotate?project=3"' in page.text
    reply = send(client, name="Ada <b>", password=PASSWORD, next="/annotate?project=3")
    assert (reply.status_code, reply.headers["location"]) == (303, "/annotate?project=3")
    assert client.get("/annotate?project=3").text == "the page"


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(ada):
    reply = send(browser(), name="Ada <b>", password=PASSWORD)
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Max-Age=43200" in cookie
    assert "Secure" not in cookie
    secure = send(browser("https://127.0.0.1"), origin="https://127.0.0.1", name="Ada <b>", password=PASSWORD)
    assert "Secure" in secure.headers["set-cookie"]


def test_a_wrong_password_shows_the_form_again_with_the_name(ada):
    client = browser()
    reply = send(client, name='Ada <b>"', password=OTHER)
    assert reply.status_code == 401
    assert "Name or password is wrong." in reply.text
    assert 'value="Ada &lt;b&gt;&quot;"' in reply.text
    assert COOKIE not in reply.headers.get("set-cookie", "")
    assert OTHER not in reply.text


def test_too_many_attempts_are_told_for_how_long(ada):
    client = browser()
    for _ in range(LIMITS[0].most):
        assert send(client, name="Ada <b>", password=OTHER).status_code == 401
    reply = send(client, name="Ada <b>", password=PASSWORD)
    assert reply.status_code == 429
    assert 840 < int(reply.headers["retry-after"]) <= 900
    assert "Try again in 15 minutes." in reply.text
    assert send(browser(client="10.0.0.7"), name="Ada <b>", password=PASSWORD).status_code == 303


@pytest.mark.parametrize(
    "origin", [None, "null", "https://evil.example", "http://127.0.0.1.evil.example", "http://127.0.0.1:81"]
)
def test_a_form_of_another_site_is_refused(ada, origin):
    reply = send(browser(), origin=origin, name="Ada <b>", password=PASSWORD)
    assert reply.status_code == 403
    assert COOKIE not in reply.headers.get("set-cookie", "")


def test_a_form_that_another_browser_got_is_refused(ada):
    stolen = form_of(browser().get("/login"))
    client = browser()
    client.get("/login")
    fields = {"form": stolen, "name": "Ada <b>", "password": PASSWORD}
    assert client.post("/login", data=fields, headers={"origin": SITE}).status_code == 403
    assert browser().post("/login", data=fields, headers={"origin": SITE}).status_code == 403
    assert client.post("/login", data={"name": "Ada <b>"}, headers={"origin": SITE}).status_code == 403


def test_a_body_that_is_no_form_is_refused(ada):
    client = browser()
    for body in (b"\xff" * 20, b"x" * 100_000, b"{}"):
        assert client.post("/login", content=body, headers={"origin": SITE}).status_code == 403


def test_the_pages_run_no_script_and_are_in_no_frame(site, ada):
    for page in (browser().get("/login"), signed_in(site).get("/account")):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["cache-control"] == "no-store"
        assert "<script" not in page.text
        assert "Ada <b>" not in page.text


@pytest.mark.parametrize(
    "next_",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/\t/evil",
        "x",
    ],
)
def test_the_way_back_leads_to_no_other_site(next_):
    assert own_path(next_) == "/"


def test_the_way_back_keeps_path_and_query():
    assert own_path("/annotate?project=3&order=bald") == "/annotate?project=3&order=bald"
    assert own_path(None) == own_path("") == "/"


def test_signing_out_takes_a_form_of_this_login(site, ada):
    client, other = signed_in(site), signed_in(site)
    assert client.get("/logout").text == "the page"  # a link signs nobody out
    foreign = form_of(other.get("/account"))
    assert client.post("/logout", data={"form": foreign}, headers={"origin": SITE}).status_code == 403
    assert send(client, "/logout", "/account", origin="https://evil.example").status_code == 403
    cookie = client.cookies[COOKIE]
    reply = send(client, "/logout", "/account")
    assert (reply.status_code, reply.headers["location"]) == (303, "/login")
    assert login(site.database, cookie) is None
    assert client.get("/account").status_code == 401
    assert other.get("/account").status_code == 200


def test_signing_out_everywhere_ends_all(site, ada):
    client, other = signed_in(site), signed_in(site)
    send(client, "/logout", "/account", everywhere="1")
    assert other.get("/account").status_code == 401


def test_a_new_password_takes_the_present_one(site, ada):
    client, other = signed_in(site), signed_in(site)
    new = "another password"
    for old, again, said in ((OTHER, new, "password is wrong"), (PASSWORD, "typo", "not twice the same")):
        reply = send(client, "/account", "/account", old=old, new=new, again=again)
        assert reply.status_code == 400
        assert said in reply.text
    reply = send(client, "/account", "/account", old=PASSWORD, new="short", again="short")
    assert "10 to 200 characters" in reply.text
    reply = send(client, "/account", "/account", old=PASSWORD, new=new, again=new)
    assert reply.headers["location"] == "/account?done=password"
    assert "The password was changed." in client.get("/account?done=password").text
    assert other.get("/account").status_code == 401
    assert send(browser(), name="Ada <b>", password=new).status_code == 303


def test_guessing_the_present_password_is_limited_too(site, ada):
    client = signed_in(site)
    fields = {"old": OTHER, "new": "another password", "again": "another password"}
    said = [send(client, "/account", "/account", **fields).status_code for _ in range(6)]
    assert said == [400] * 5 + [429]


def test_who_is_signed_in_sees_no_form(site, ada):
    reply = signed_in(site).get("/login?next=/rounds")
    assert (reply.status_code, reply.headers["location"]) == (303, "/rounds")


def test_without_accounts_there_is_nothing_to_sign_in_to(site):
    assert browser().get("/login").headers["location"] == "/"
    assert browser().get("/account").headers["location"] == "/"


def test_a_password_over_an_open_line_is_warned_of(ada):
    warning = "not encrypted"
    assert warning not in browser().get("/login").text
    assert warning in browser("http://192.168.1.5", client="192.168.1.9").get("/login").text
    assert warning not in browser("https://192.168.1.5", client="192.168.1.9").get("/login").text


def test_an_account_that_a_provider_vouches_for_has_no_password_to_change(site, ada):
    add_account(site.database, "Bo", Role.ANNOTATOR, email="bo@example.org")
    client = browser()
    client.cookies.set(COOKIE, sign_in_by_email(site.database, "bo@example.org"))
    assert "Sign out" in client.get("/account").text
    assert "Change the password" not in client.get("/account").text
