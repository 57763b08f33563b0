"""Images in a store of objects: the same project as on the disk, through a bounded cache whose content is checked."""

import hashlib
import os

import pytest
import torch
from PIL import Image

from core import projects, rounds, storage
from core.data import buckets
from core.data.buckets import filesystem
from core.errors import InputError, NotReady, UnreadableImage
from core.projects import get_project
from core.storage import inside, local, path_in, place, scan_root
from core.why import why
from core.workspace import feature_store, rank
from db import repository
from tests import toy
from tests.s3 import put

pytestmark = pytest.mark.one_database


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def store_image(address, colour, name):
    """An object that is an image; its hash."""
    store, key = filesystem(address)
    with store.open(f"{key}/{name}", "wb") as file:
        Image.new("RGB", (4, 4), colour).save(file, "PNG")
    return hashlib.sha256(store.cat_file(f"{key}/{name}")).hexdigest()


def cached(home):
    return sorted(path.name for path in (home / "cache").rglob("*") if path.is_file())


@pytest.fixture
def never(monkeypatch):
    """From now on nothing may be fetched."""

    def forbid():
        monkeypatch.setattr(buckets, "copy", lambda *_: pytest.fail("it was fetched"))

    return forbid


def test_a_project_in_a_bucket_is_the_same_as_on_the_disk(bucket, database, project, tmp_path, monkeypatch):
    put(tmp_path / "images", f"{bucket}/pets")
    there = projects.create_from_folder(database, name="far", folder=f"{bucket}/pets", classes=toy.CLASSES)
    before = toy.ToyEncoder.fingerprint
    monkeypatch.setattr(toy.ToyEncoder, "fingerprint", "far")  # so that nothing is taken from the other's features
    rounds.prepare(database, there)
    with database.read() as s:
        near, far = (repository.items(s, each) for each in (project, there))
        assert not repository.problems(s, there)
    assert [(item.path, item.sha256, item.split) for item in near] == [
        (item.path, item.sha256, item.split) for item in far
    ]
    shas = [item.sha256 for item in near]
    both = [feature_store(fingerprint).load(shas).activations for fingerprint in (before, "far")]
    assert torch.equal(*both)
    assert [item.path for item in rank(database, there)] == [item.path for item in rank(database, project)]
    root = get_project(database, there).root
    assert root == f"{bucket}/pets"
    first = rank(database, there).items[0].path
    assert why(database, there, f"{root}/{first}")[0] == why(database, there, first)[0]


def test_an_image_is_fetched_once_and_then_kept(bucket, home, never):
    sha256 = store_image(bucket, "red", "a/ü #1?.png")
    path = local(bucket, "a/ü #1?.png", sha256)
    assert Image.open(path).getpixel((0, 0)) == (255, 0, 0)
    assert cached(home) == [sha256]
    never()
    assert local(bucket, "a/ü #1?.png", sha256) == path
    assert inside(bucket, "a/ü #1?.png", sha256) == path
    assert local("/some/folder", "x.png", sha256) == storage.Path("/some/folder/x.png")


def test_another_content_is_never_taken_for_the_image(bucket, home):
    sha256 = store_image(bucket, "red", "x.png")
    changed = store_image(bucket, "blue", "x.png")
    with pytest.raises(UnreadableImage, match=r"x\.png: its content has changed"):
        local(bucket, "x.png", sha256)
    assert cached(home) == [changed]


def test_what_is_gone_or_cannot_be_reached_is_said(bucket, home):
    with pytest.raises(UnreadableImage, match=r"x\.png: is not there"):
        local(bucket, "x.png", "0" * 64)
    with pytest.raises(InputError, match=r"holds nothing|could not be listed"):
        scan_root(f"{bucket}/nothing")
    with pytest.raises(NotReady, match="pip install gcsfs"):
        local("gs://bucket", "x.png", "0" * 64)
    assert cached(home) == []


def test_an_image_over_the_limit_is_not_kept(bucket, home, monkeypatch):
    sha256 = store_image(bucket, "red", "x.png")
    monkeypatch.setattr(storage, "LARGEST", 10)
    with pytest.raises(UnreadableImage, match="more than 10 bytes"):
        local(bucket, "x.png", sha256)
    assert cached(home) == []


def test_the_cache_is_bounded_and_keeps_what_was_used_last(bucket, home, monkeypatch):
    shas = [store_image(bucket, (number, 0, 0), f"{number}.png") for number in range(12)]
    size = local(bucket, "0.png", shas[0]).stat().st_size
    monkeypatch.setenv("PENUMBRA_CACHE_GB", f"{5.5 * size / 1e9:.12f}")
    copy, asked = buckets.copy, []
    monkeypatch.setattr(buckets, "copy", lambda address, *rest: asked.append(address) or copy(address, *rest))
    for number, sha256 in enumerate(shas):
        path = local(bucket, f"{number}.png", sha256)
        os.utime(path, ns=(number, number))  # clocks of file systems are coarse
        assert path.exists()
        local(bucket, "0.png", shas[0])  # used again and again: it stays
        assert len(cached(home)) <= 5
    assert cached(home) == sorted([shas[0], *shas[-4:]])
    assert f"{bucket}/0.png" not in asked


def test_what_other_processes_left_counts(bucket, home, monkeypatch):
    monkeypatch.setenv("PENUMBRA_CACHE_GB", "0.00001")
    (home / "cache" / "ab").mkdir(parents=True)
    (home / "cache" / "ab" / "left").write_bytes(bytes(20_000))
    os.utime(home / "cache" / "ab" / "left", ns=(1, 1))
    local(bucket, "x.png", sha256 := store_image(bucket, "red", "x.png"))
    assert cached(home) == [sha256]


def test_objects_that_no_folder_could_hold_are_left_alone(bucket):
    store, key = filesystem(bucket)
    for name in ("cat/1.png", "dog/2.png", "cat/", "a//b.png", "../x.png", "notes.txt", ".hidden/x.png", "x.svg"):
        store.pipe(f"{key}/set/{name}", b"x")
    scan = scan_root(f"{bucket}/set/")
    assert [file.path for file in scan.files] == ["cat/1.png", "dog/2.png"]
    assert scan.classes == ("cat", "dog")
    assert {each.path for each in scan.ignored} == {"notes.txt", ".hidden/x.png", "x.svg"}
    assert inside(bucket, "../x.png", "0" * 64) is None


def test_what_is_no_image_has_its_reason(bucket, home):
    store_image(bucket, "red", "cat/1.png")
    store, key = filesystem(bucket)
    store.pipe(f"{key}/cat/2.png", b"<html>")
    said = []
    found = scan_root(bucket).files
    read = list(storage.read_files(bucket, found, on_progress=lambda *each: said.append(each)))
    assert [(each.info is None, each.reason) for each in read] == [
        (False, None),
        (True, "not an image: it is a web page"),
    ]
    assert said[-1] == (2, 2, "Reading images")


def test_paths_below_a_root():
    for root in ("s3://bucket/prefix", "s3://bucket/prefix/", "/some/folder", "/"):
        assert path_in(root, place(root, "a/b c#.png")) == "a/b c#.png"
        assert path_in(root, str(place(root, "a/b.png"))) == path_in(root, "a/b.png") == "a/b.png"
