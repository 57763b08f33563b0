"""What comes from an address, and where no address may lead."""

import socket

import pytest

from core.errors import InputError
from core.web import Reach, download
from tests.site import serving


@pytest.fixture
def server(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "file").write_bytes(b"content" * 100)
    with serving(tmp_path / "site") as (address, _):
        yield address


PRIVATE = "10.0.0.1 127.0.0.1 169.254.169.254 192.168.1.1 0.0.0.0 100.64.0.1 224.0.0.1 ::1 fd00::1 fe80::1%1"
IN_DISGUISE = "::ffff:10.0.0.1 2002:a00:1:: 64:ff9b::10.0.0.1"


SECRET = "169.254.169.254 fe80::1%1 0.0.0.0 224.0.0.1 64:ff9b::10.0.0.1"
REFUSED = [(each, reach) for each in (PRIVATE + " " + IN_DISGUISE).split() for reach in (Reach.PUBLIC, Reach.LOCAL)]


@pytest.mark.parametrize(("address", "reach"), [*REFUSED, *((each, Reach.PRIVATE) for each in SECRET.split())])
def test_names_of_private_addresses_are_refused(address, reach, tmp_path, monkeypatch):
    found = [(0, 0, 0, "", ("93.184.215.14", 443)), (0, 0, 0, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("it was connected to"))
    with pytest.raises(InputError, match="no public address"):
        download("https://files.example/x", tmp_path / "x", limit=9, reach=reach)


def test_the_connection_goes_to_the_address_that_was_checked(tmp_path, monkeypatch):
    answers = iter([[(0, 0, 0, "", ("93.184.215.14", 443))], [(0, 0, 0, "", ("10.0.0.1", 443))]])
    reached = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: next(answers))

    def connect(address, *_):
        reached.append(address)
        raise OSError("stop here")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(InputError, match="stop here"):
        download("https://files.example/x", tmp_path / "x", limit=9)
    assert reached == [("93.184.215.14", 443)]


@pytest.mark.parametrize(
    "target", ["https://10.0.0.1/x", "file:///etc/passwd", "http://localhost/x", "ftp://127.0.0.1/x", "https://[::1]/x"]
)
def test_a_redirect_leads_nowhere_that_an_address_may_not(server, tmp_path, target):
    with pytest.raises(InputError, match=r"no (public|https) address"):
        download(f"{server}/to?{target}", tmp_path / "x", limit=10**6, reach=Reach.LOCAL)
    assert not (tmp_path / "x").exists()


def test_a_redirect_within_bounds_is_followed(server, tmp_path):
    download(f"{server}/to?/file", tmp_path / "x", limit=10**6, reach=Reach.LOCAL)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "site" / "file").read_bytes()


@pytest.mark.parametrize(
    ("path", "said"),
    [("gone", "404"), ("loop", "more than 5 redirects"), ("short", "Incomplete|ended after"), ("to?http://[", "http")],
)
def test_what_does_not_come_whole_is_said(server, tmp_path, path, said):
    with pytest.raises(InputError, match=said):
        download(f"{server}/{path}", tmp_path / "x", limit=10**6, reach=Reach.LOCAL)


def test_more_than_the_limit_is_not_taken(server, tmp_path):
    with pytest.raises(InputError, match="more than 100 bytes"):
        download(f"{server}/file", tmp_path / "x", limit=100, reach=Reach.LOCAL)


@pytest.mark.parametrize("address", ["10.1.2.3", "192.168.1.1", "172.31.0.1", "127.0.0.1", "::1", "fd00::1"])
def test_private_networks_are_reached_where_that_is_allowed(address, tmp_path, monkeypatch):
    reached = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (address, 80))])
    monkeypatch.setattr(socket, "create_connection", lambda to, *_: reached.append(to) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        download("http://intranet.example/x", tmp_path / "x", limit=9, reach=Reach.PRIVATE)
    assert reached == [(address, 80)]


def test_an_address_as_people_write_it_is_quoted(tmp_path):
    (tmp_path / "Übung 1.txt").write_bytes(b"x")
    with serving(tmp_path) as (address, asked):
        download(f"{address}/Übung 1.txt?a=b c#part", tmp_path / "out", limit=9, reach=Reach.LOCAL)
        assert asked == ["/%C3%9Cbung%201.txt?a=b%20c"]


def test_a_file_that_drips_for_ever_ends(server, tmp_path, monkeypatch):
    monkeypatch.setattr("core.web.LONGEST", -1)
    with pytest.raises(InputError, match="did not end within"):
        download(f"{server}/file", tmp_path / "x", limit=10**6, reach=Reach.LOCAL)
