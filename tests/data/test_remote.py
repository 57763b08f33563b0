"""Images that a list names by address: each once, limited, checked, and fetched again only where it is missing."""

import pytest
from PIL import Image

from core.data.remote import fetch_all, is_remote, name_of
from core.errors import Cancelled
from tests.site import serving


@pytest.fixture
def site(tmp_path):
    """Ten images, a page and a text; the server's address and what it was asked for."""
    folder = tmp_path / "site"
    folder.mkdir()
    for number in range(10):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"{number}.png")
    (folder / "a page").write_text("<!doctype html><html></html>")
    with serving(folder) as server:
        yield server


def test_each_address_becomes_one_file_and_is_asked_for_once(site, tmp_path):
    address, asked = site
    urls = [f"{address}/{i}.png?size={i}" for i in range(10)] * 2
    said = []
    found = fetch_all(urls, tmp_path / "in", True, lambda *each: said.append(each), workers=3)
    assert list(found) == urls[:10]
    for number, url in enumerate(urls[:10]):
        assert found[url] == tmp_path / "in" / f"{name_of(url)}.png"
        assert Image.open(found[url]).getpixel((0, 0)) == (number, 0, 0)
    assert said == [(done, 10, "fetching images") for done in range(11)]
    assert fetch_all(urls, tmp_path / "in", True) == found
    assert len(asked) == 10


def test_what_cannot_be_had_is_a_reason_and_stops_nothing(site, tmp_path):
    address, _ = site
    urls = [f"{address}/{path}" for path in ("gone.png", "a page", "short", "to?file:///etc/passwd", "1.png")]
    urls += ["ftp://x/y.png", "file:///etc/passwd", "s3://b::file:///etc/passwd", "https://", "no address", ""]
    found = fetch_all(urls, tmp_path / "in", True)
    good = found.pop(f"{address}/1.png")
    assert good.exists()
    assert all(isinstance(reason, str) for reason in found.values())
    assert "404" in found[urls[0]]
    assert found[urls[1]] == "what came is no image that is read: not an image: it is a web page"
    assert [path.name for path in (tmp_path / "in").iterdir()] == [good.name]


def test_private_addresses_are_refused_unless_allowed(site, tmp_path):
    address, asked = site
    secure = address.replace("http:", "https:")
    found = fetch_all([f"{address}/1.png", f"{secure}/1.png"], tmp_path / "in")
    assert "no https address" in found[f"{address}/1.png"]
    assert "no public address" in found[f"{secure}/1.png"]
    assert not asked


def test_a_file_over_the_limit_is_not_kept(site, tmp_path):
    address, _ = site
    found = fetch_all([f"{address}/1.png"], tmp_path / "in", True, limit=20)
    assert "more than 20 bytes" in found[f"{address}/1.png"]
    assert not list((tmp_path / "in").iterdir())


def test_a_stop_keeps_what_is_complete_and_goes_on_from_there(site, tmp_path):
    address, asked = site
    urls = [f"{address}/{i}.png" for i in range(10)]

    def stop(done, *_):
        if done == 2:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        fetch_all(urls, tmp_path / "in", True, stop, workers=1)
    kept = list((tmp_path / "in").iterdir())
    assert 2 <= len(kept) < 10
    assert all(path.suffix == ".png" for path in kept)
    assert all(path.exists() for path in fetch_all(urls, tmp_path / "in", True).values())
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("name", ["../../x.png", "x.php?.png", "x" * 3000, "é#?\\.svg"])
def test_no_name_of_an_address_reaches_the_disk(name, tmp_path):
    assert len(name_of(f"https://x/{name}")) == 32


def test_what_is_an_address():
    assert all(map(is_remote, ["https://x/y", "HTTP://x", "s3://b/k", "gs://b/k", "gcs://b/k"]))
    assert not any(
        map(is_remote, ["a/b.png", "ftp://x", "file:///x", "memory://x", "s3://", "s3://b::file:///x", "C:\\x"])
    )
