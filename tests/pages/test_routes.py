"""The image route serves what is in the database, from inside the project's folder, and nothing else."""

import io

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.data.buckets import filesystem
from core.images import sha256_file
from core.storage import inside
from db import repository
from db.repository import NewItem
from pages.login.gate import Gate
from pages.parts.routes import routes, url
from tests.s3 import put


@pytest.fixture
def client(site):
    return TestClient(Gate(Starlette(routes=routes())), base_url="http://127.0.0.1")


def test_an_image_comes_as_a_jpeg_to_be_kept_for_good(client, site):
    reply = client.get(url(site.hashes[0], 256))
    assert reply.status_code == 200
    assert Image.open(io.BytesIO(reply.content)).size == (60, 40)
    assert reply.headers["content-type"] == "image/jpeg"
    assert reply.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_in_full_the_file_itself_comes_as_what_it_is(client, site):
    reply = client.get(url(site.hashes[0], "full"))
    assert reply.status_code == 200
    assert reply.content == (site.root / "0.png").read_bytes()
    assert reply.headers["content-type"] == "image/png"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_in_full_what_no_browser_shows_comes_with_every_pixel_as_jpeg(client, site):
    path = site.root / "large.tif"
    Image.new("RGB", (2400, 300), "teal").save(path)
    sha256 = sha256_file(path)
    with site.database.write() as session:
        repository.add_items(session, site.project, [NewItem(path.name, sha256, None, 2400, 300, "pool")])
    reply = client.get(url(sha256, "full"))
    assert reply.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(reply.content)).size == (2400, 300)


@pytest.mark.parametrize(
    "path",
    ["/img/" + "0" * 64 + "/256", "/img/{}/257", "/img/{}x/256", "/img/..%2f..%2fetc%2fpasswd/256", "/img/x/256"],
)
def test_all_else_is_missing(client, site, path):
    assert client.get(path.format(site.hashes[0])).status_code == 404


def test_an_image_known_by_its_number_leads_to_its_thumbnail(client, site):
    with site.database.read() as session:
        item = repository.items(session, site.project)[2]
    reply = client.get(f"/img/item/{item.id}", follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (302, url(item.sha256, 256))
    assert reply.headers["cache-control"] == "no-store", "another file may come under this number"
    assert client.get(f"/img/item/{item.id}").headers["content-type"] == "image/jpeg"
    for none in ("999999", "9" * 30, "-1", "x"):
        assert client.get(f"/img/item/{none}").status_code == 404


def test_a_forged_host_is_refused(client, site, monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", lambda name: ["127.0.0.1"])
    assert client.get(url(site.hashes[0], 256)).status_code == 200
    assert client.get(url(site.hashes[0], 256), headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("kind", ["up", "link"])
def test_a_path_that_leads_out_of_the_folder_is_missing(client, site, tmp_path, kind):
    secret = tmp_path / "secret.png"
    Image.new("RGB", (9, 9)).save(secret)
    (site.root / "link.png").symlink_to(secret)
    path = {"up": "../secret.png", "link": "link.png"}[kind]
    with site.database.write() as session:
        repository.add_items(session, site.project, [NewItem(path, "a" * 64, None, 9, 9, "pool")])
    assert inside(str(site.root), path, "a" * 64) is None
    for side in (256, "full"):
        assert client.get(url("a" * 64, side)).status_code == 404


def test_a_file_that_changed_is_not_shown_under_the_old_hash(client, site):
    Image.new("RGB", (5, 5)).save(site.root / "0.png")
    for side in (256, "full"):
        assert client.get(url(site.hashes[0], side)).status_code == 404


@pytest.fixture
def in_bucket(site, bucket):
    """The site's images as objects, and a project of them."""
    put(site.root, f"{bucket}/x")
    with site.database.write() as s:
        row = repository.project(s, site.project)
        far = repository.create_project(
            s, name="far", root=f"{bucket}/x", model="mini", prompt=row.prompt, classes=("a", "b")
        )
        items = [NewItem(f"{i}.png", sha256, None, 60, 40, "pool") for i, sha256 in enumerate(site.hashes)]
        repository.add_items(s, far, items)
    for path in site.root.iterdir():
        path.unlink()
    return bucket


def test_images_of_a_bucket_are_shown_and_their_thumbnails_need_it_no_more(client, site, in_bucket, monkeypatch):
    small, full = (client.get(url(site.hashes[3], side)) for side in (256, "full"))
    assert Image.open(io.BytesIO(small.content)).size == (63, 40)
    assert full.headers["content-type"] == "image/png"
    monkeypatch.setattr("core.storage.fetched", lambda *_: pytest.fail("it was asked for"))
    assert client.get(url(site.hashes[3], 256)).content == small.content


def test_an_object_that_changed_or_is_gone_is_not_shown(client, site, in_bucket, tmp_path):
    (tmp_path / "other").mkdir()
    Image.new("RGB", (5, 5)).save(tmp_path / "other" / "0.png")
    put(tmp_path / "other", f"{in_bucket}/x")
    store, key = filesystem(in_bucket)
    store.rm(f"{key}/x/1.png")
    for number in (0, 1):
        for side in (256, "full"):
            assert client.get(url(site.hashes[number], side)).status_code == 404
    assert client.get(url(site.hashes[2], 256)).status_code == 200


def test_only_hashes_become_addresses():
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        url('"><script>', 256)
