"""What the gate lets through: without accounts this machine alone, with accounts whoever is signed in."""

from contextlib import suppress

import pytest
from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.accounts import Role, add_account, set_disabled
from core.logins import COOKIE, login, sign_in, sign_out
from core.signing import signed
from pages.login.gate import Gate, is_loopback, reason_not_to_serve
from pages.login.visitor import Visitor, belongs, bind
from pages.parts.routes import routes, url

PASSWORD = "correct horse"
PAGE = {"accept": "text/html,*/*"}


async def page(request):
    return PlainTextResponse("the page")


async def echo(socket):
    """As Streamlit's: the first of the subprotocols is taken, and the offered ones tell the session."""
    await socket.accept(subprotocol="streamlit" if "sec-websocket-protocol" in socket.headers else None)
    await socket.send_text(socket.headers.get("sec-websocket-protocol", ""))
    with suppress(WebSocketDisconnect):
        while True:
            await socket.send_bytes(await socket.receive_bytes())


APP = [Route("/{path:path}", page), WebSocketRoute("/_stcore/stream", echo)]


def client_at(host: str = "127.0.0.1", cookie: str | None = None) -> TestClient:
    app = Gate(Starlette(routes=[*routes(), *APP]))
    cookies = {COOKIE: cookie} if cookie else None
    return TestClient(app, base_url=f"http://{host}", cookies=cookies, follow_redirects=False)


@pytest.fixture(autouse=True)
def any_host(monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", lambda name: [])


@pytest.fixture
def ada(site):
    return add_account(site.database, "Ada", Role.OWNER, password=PASSWORD)


@pytest.fixture
def cookie(site, ada):
    return sign_in(site.database, "Ada", PASSWORD, "here")


def test_without_accounts_this_machine_is_served(site):
    assert client_at().get("/", headers=PAGE).text == "the page"
    assert client_at().get(url(site.hashes[0], 256)).status_code == 200


@pytest.mark.parametrize("host", ["192.168.1.5", "penumbra.example", "[2001:db8::1]"])
def test_without_accounts_no_other_address_is_served(site, host):
    for path in ("/", "/login", "/static/index.js", url(site.hashes[0], 256)):
        refused = client_at(host).get(path, headers=PAGE)
        assert refused.status_code == 403
        assert "python -m core user add NAME --role owner" in refused.text
    with pytest.raises(WebSocketDisconnect), client_at(host).websocket_connect(f"ws://{host}/_stcore/stream"):
        pass


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"])
def test_without_accounts_a_proxy_is_somebody_elses_way_in(site, header):
    assert client_at().get("/", headers={header: "10.0.0.9"}).status_code == 403


def test_a_name_that_is_not_served_is_told_how_it_would_be(ada, monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", lambda name: ["lab.example"])
    refused = client_at("192.168.1.5").get("/", headers=PAGE)
    assert refused.status_code == 403
    assert "start the server with it in --server.allowedHosts" in refused.text


def test_a_server_starts_on_loopback_or_with_accounts(site):
    for address in ("127.0.0.1", "localhost", "::1", "127.0.0.2"):
        assert reason_not_to_serve(address) is None
    for address in (None, "", "0.0.0.0", "::", "192.168.1.5", "penumbra.example"):
        assert "python -m core user add NAME --role owner" in reason_not_to_serve(address)
    add_account(site.database, "Ada", Role.OWNER, password=PASSWORD)
    assert reason_not_to_serve("0.0.0.0") is None


def test_a_mapped_address_is_the_address_that_it_maps():
    assert is_loopback("::ffff:127.0.0.1")
    assert not is_loopback("::ffff:10.0.0.1")


def test_with_accounts_a_page_leads_to_the_sign_in_and_back(ada):
    for host in ("127.0.0.1", "192.168.1.5"):
        reply = client_at(host).get("/annotate?project=3&order=bald", headers=PAGE)
        assert reply.status_code == 303
        assert reply.headers["location"] == "/login?next=%2Fannotate%3Fproject%3D3%26order%3Dbald"


@pytest.mark.parametrize("path", ["/_stcore/upload_file/a/b", "/media/x.png", "/component/x", "/_stcore/metrics", "/x"])
def test_with_accounts_all_else_needs_a_login(ada, path):
    for method in ("GET", "PUT", "POST", "DELETE"):
        assert client_at().request(method, path).status_code == 401


def test_an_image_needs_a_login(site, cookie):
    image = url(site.hashes[0], 256)
    assert client_at().get(image).status_code == 401
    assert client_at(cookie=cookie).get(image).status_code == 200
    for forged in (cookie + "x", signed("invented", COOKIE), "x"):
        assert client_at(cookie=forged).get(image).status_code == 401


def test_an_image_is_not_had_by_another_spelling_of_its_path(site, ada):
    for path in ("//img/{}/256", "/static/../img/{}/256", "/login/../img/{}/256", "/static/%2e%2e/img/{}/256"):
        reply = client_at().get(path.format(site.hashes[0]))
        assert reply.headers["content-type"] != "image/jpeg"


def test_the_front_end_and_the_pulse_are_for_everybody(ada):
    for path in ("/static/index.js", "/_stcore/health", "/?sign-in=google"):
        assert client_at().get(path, headers=PAGE).status_code == 200


def test_a_name_in_the_old_cookie_is_no_login(ada):
    client = client_at()
    client.cookies.set("penumbra_person", "Ada")
    assert client.get("/", headers=PAGE).status_code == 303


def test_who_is_signed_out_or_disabled_is_cut_off_at_once(site, cookie):
    client = client_at(cookie=cookie)
    assert client.get("/", headers=PAGE).status_code == 200
    sign_out(site.database, cookie)
    assert client.get("/", headers=PAGE).status_code == 303


@pytest.mark.parametrize(
    ("page", "leads_to"), [("http://x/rounds", "/login?next=%2Frounds%3Fproject%3D3"), (None, "/login")]
)
def test_a_socket_is_asked_again_at_each_message(site, cookie, page, leads_to):
    ask = BackMsg()
    ask.rerun_script.context_info.url, ask.rerun_script.query_string = page or "", "project=3"
    asked = ask.SerializeToString() if page else b"\xff"
    add_account(site.database, "Bo", Role.OWNER, password=PASSWORD)
    with client_at(cookie=cookie).websocket_connect("ws://127.0.0.1/_stcore/stream") as socket:
        socket.receive_text()
        socket.send_bytes(b"one")
        assert socket.receive_bytes() == b"one"
        set_disabled(site.database, "Ada", True)
        socket.send_bytes(asked)
        assert ForwardMsg.FromString(socket.receive_bytes()).auth_redirect.url == leads_to
        with pytest.raises(WebSocketDisconnect):
            socket.receive_bytes()


def test_a_socket_that_was_open_to_anybody_ends_with_the_first_account(site):
    with client_at().websocket_connect("ws://127.0.0.1/_stcore/stream") as socket:
        socket.receive_text()
        socket.send_bytes(b"one")
        assert socket.receive_bytes() == b"one"
        add_account(site.database, "Ada", Role.OWNER, password=PASSWORD)
        socket.send_bytes(b"\xff")
        assert ForwardMsg.FromString(socket.receive_bytes()).auth_redirect.url == "/login"


def offered(cookie: str | None, session: str) -> list[str]:
    """What Streamlit reads of a browser that reconnects to a session."""
    client = client_at(cookie=cookie)
    with client.websocket_connect(
        "ws://127.0.0.1/_stcore/stream", subprotocols=["streamlit", "xsrf", session]
    ) as socket:
        return [part.strip() for part in socket.receive_text().split(",")]


def test_a_session_is_given_back_to_the_login_that_opened_it_alone(site, cookie):
    add_account(site.database, "Bo", Role.ANNOTATOR, password=PASSWORD)
    bind("adas", Visitor.of(login(site.database, cookie)))
    assert belongs("adas", Visitor.of(login(site.database, cookie)))
    assert offered(cookie, "adas") == ["streamlit", "xsrf", "adas"]
    assert offered(sign_in(site.database, "Bo", PASSWORD, "here"), "adas") == ["streamlit", "xsrf"]
    assert offered(None, "adas") == ["streamlit", "xsrf"]
    assert offered(None, "unknown") == ["streamlit", "xsrf"]


def test_without_accounts_every_session_is_given_back(site):
    assert offered(None, "anybodys") == ["streamlit", "xsrf", "anybodys"]


def test_a_host_that_is_not_served_gets_nothing(site, monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", lambda name: ["127.0.0.1"])
    for path in ("/", "/login", "/static/index.js"):
        assert client_at().get(path).status_code == 200
        assert client_at().get(path, headers={"host": "evil.example"}).status_code == 403


def test_while_the_database_is_silent_nobody_is_let_in(site, cookie, monkeypatch):
    def fail(database):
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr("pages.login.gate.has_accounts", fail)
    assert client_at(cookie=cookie).get("/", headers=PAGE).status_code == 503
    assert client_at().get("/_stcore/health").status_code == 200
