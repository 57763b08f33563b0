"""Factors from an address or the hub: what comes over, and where no address may lead."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import huggingface_hub
import pytest

from core import fetch as module
from core.errors import FactorMismatch, InputError
from core.fetch import download, fetch
from core.official import FILES, load_official
from tests.test_official import publish


@pytest.fixture
def server(tmp_path):
    """An http server of tmp_path/site on 127.0.0.1; /to?URL redirects, /loop for ever, /short breaks off."""
    site = publish(tmp_path / "site" / "factors").parent

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path, _, query = self.path.partition("?")
            if path in ("/to", "/loop"):
                self.send_response(302)
                self.send_header("Location", query or "/loop")
                self.end_headers()
            elif (site / path[1:]).is_file() or path == "/short":
                content = b"" if path == "/short" else (site / path[1:]).read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(content) or 10))
                self.end_headers()
                self.wfile.write(content)
            else:
                self.send_error(404)

        def log_message(self, *_):
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    thread.join()
    running.server_close()


def test_factors_come_from_an_address(server, tmp_path):
    said = []
    folder = fetch(f"{server}/factors/", tmp_path, allow_local=True, on_progress=lambda *each: said.append(each))
    assert sorted(path.name for path in folder.glob("*_analytic.*")) == sorted(FILES)
    assert load_official(folder)[0].A.shape == (3, 3)
    assert len(said) == len(FILES)


def test_this_machine_is_named_by_nobody_without_the_flag(server, tmp_path):
    with pytest.raises(InputError, match="no https address"):
        fetch(f"{server}/factors", tmp_path)
    with pytest.raises(InputError, match="no public address"):
        fetch(f"{server.replace('http:', 'https:')}/factors", tmp_path)


PRIVATE = "10.0.0.1 127.0.0.1 169.254.169.254 192.168.1.1 0.0.0.0 100.64.0.1 224.0.0.1 ::1 fd00::1 fe80::1%1"
IN_DISGUISE = "::ffff:10.0.0.1 2002:a00:1:: 64:ff9b::10.0.0.1"


@pytest.mark.parametrize("address", [*PRIVATE.split(), *IN_DISGUISE.split()])
def test_names_of_private_addresses_are_refused(address, tmp_path, monkeypatch):
    found = [(0, 0, 0, "", ("93.184.215.14", 443)), (0, 0, 0, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("it was connected to"))
    with pytest.raises(InputError, match="no public address"):
        download("https://factors.example/x", tmp_path / "x", allow_local=True)


def test_the_connection_goes_to_the_address_that_was_checked(tmp_path, monkeypatch):
    answers = iter([[(0, 0, 0, "", ("93.184.215.14", 443))], [(0, 0, 0, "", ("10.0.0.1", 443))]])
    reached = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: next(answers))

    def connect(address, *_):
        reached.append(address)
        raise OSError("stop here")

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(InputError, match="stop here"):
        download("https://factors.example/x", tmp_path / "x")
    assert reached == [("93.184.215.14", 443)]


@pytest.mark.parametrize(
    "target", ["https://10.0.0.1/x", "file:///etc/passwd", "http://localhost/x", "ftp://127.0.0.1/x", "https://[::1]/x"]
)
def test_a_redirect_leads_nowhere_that_an_address_may_not(server, tmp_path, target):
    with pytest.raises(InputError, match=r"no (public|https) address"):
        download(f"{server}/to?{target}", tmp_path / "x", allow_local=True)
    assert not (tmp_path / "x").exists()


def test_a_redirect_within_bounds_is_followed(server, tmp_path):
    download(f"{server}/to?/factors/{FILES[0]}", tmp_path / "x", allow_local=True)
    assert (tmp_path / "x").read_bytes() == (tmp_path / "site" / "factors" / FILES[0]).read_bytes()


@pytest.mark.parametrize(
    ("path", "said"),
    [("gone", "404"), ("loop", "more than 5 redirects"), ("short", "Incomplete|ended after"), ("to?http://[", "http")],
)
def test_what_does_not_come_whole_is_said(server, tmp_path, path, said):
    with pytest.raises(InputError, match=said):
        download(f"{server}/{path}", tmp_path / "x", allow_local=True)


def test_more_than_the_limit_is_not_taken(server, tmp_path):
    with pytest.raises(InputError, match="more than 100 bytes"):
        download(f"{server}/factors/{FILES[0]}", tmp_path / "x", limit=100, allow_local=True)


@pytest.mark.parametrize(
    "source", ["http://example.org/x", "https://user:secret@example.org", "https://", "https://a:b"]
)
def test_other_addresses_are_refused(source, tmp_path):
    with pytest.raises(InputError):
        fetch(source, tmp_path)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub whose repository "owner/name" has the factors in hessians/x; what it was asked is recorded."""
    folder = publish(tmp_path / "hub" / "hessians" / "x")
    fake = SimpleNamespace(asked=[], size=1000)

    def take(repository, file, revision=None):
        fake.asked.append((repository, file, revision))
        if not (folder.parent.parent / file).exists():
            raise RuntimeError("404: no such entry")
        return str(folder.parent.parent / file)

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_, **__: None)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url: SimpleNamespace(size=fake.size))
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", take)
    return fake


def test_factors_come_from_a_repository(hub, tmp_path):
    folder = fetch("hf-hub:owner/name/hessians/x@v1", tmp_path)
    assert load_official(folder)[1].A.shape == (4, 4)
    assert hub.asked[0] == ("owner/name", "hessians/x/A_img_analytic.pt", "v1")
    assert [asked[1].split("/")[-1] for asked in hub.asked] == list(FILES)


def test_what_the_hub_has_not_or_is_too_large_is_said(hub, tmp_path):
    with pytest.raises(InputError, match=r"hf-hub:owner/name: A_img_analytic\.pt could not be fetched .*no such entry"):
        fetch("hf-hub:owner/name", tmp_path)
    with pytest.raises(InputError, match="names no repository"):
        fetch("hf-hub:owner", tmp_path)
    hub.size = module.LARGEST_FILE + 1
    with pytest.raises(InputError, match="over the limit"):
        fetch("hf-hub:owner/name/hessians/x", tmp_path)


def test_a_folder_is_read_where_it_is(tmp_path):
    publish(tmp_path / "factors")
    assert fetch(str(tmp_path / "factors"), tmp_path) == tmp_path / "factors"
    (tmp_path / "factors" / FILES[1]).unlink()
    with pytest.raises(FactorMismatch, match="B_img"):
        load_official(tmp_path / "factors")
