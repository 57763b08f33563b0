"""Uploaded images: each content read once, broken ones named, nothing of them kept on the disk."""

import base64
import io

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from core.errors import UnreadableImage
from pages.parts import pictures
from pages.parts.pictures import MOST_UPLOADS, Picture, data_uri, decoded, of_uploads, opened
from tests.gaussian import ToyGaussians
from tests.pictures import noise


def png(image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def square(value: int) -> bytes:
    return png(Image.new("RGB", (8, 8), (value, 90, 120)))


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    monkeypatch.setattr(pictures, "_memory", pictures._Memory())


def test_a_broken_file_is_named_and_the_others_go_on():
    shelf = of_uploads(ToyGaussians(), [("a.png", square(1)), ("<b>.png", square(2)[:40]), ("c.txt", b"hello")])
    assert [each.name for each in shelf.pictures] == ["a.png"]
    assert shelf.refused == (("<b>.png", "the file ends early"), ("c.txt", "not an image: it is text"))
    assert len(shelf.uncertainty) == 1


def test_only_broken_files_leave_nothing():
    shelf = of_uploads(ToyGaussians(), [("a.png", b"")])
    assert len(shelf) == 0
    assert shelf.least_certain() == []
    assert shelf.refused == (("a.png", "the file is empty"),)


def test_gaussians_are_those_of_the_image_in_the_order_given():
    encoder, values = ToyGaussians(), list(range(0, 200, 5))
    shelf = of_uploads(encoder, [(f"{value}.png", square(value)) for value in values])
    one_by_one = torch.cat(
        [encoder.encode_gaussians(encoder.preprocess(decoded(square(v)))[None]).uncertainty for v in values]
    )
    assert_close(shelf.uncertainty, one_by_one)
    assert_close(shelf.take([3, 1]).gaussians.uncertainty, one_by_one[[3, 1]])
    assert [shelf.uncertainty[i] for i in shelf.least_certain()] == sorted(one_by_one.tolist(), reverse=True)


def test_each_content_is_shown_and_read_once(monkeypatch):
    encoder = ToyGaussians()
    files = [("a.png", square(1)), ("again.png", square(1)), ("b.png", square(2))]
    first = of_uploads(encoder, files)
    assert [each.name for each in first.pictures] == ["a.png", "b.png"]
    monkeypatch.setattr(encoder, "encode_images", lambda pixels: pytest.fail("read twice"))
    assert of_uploads(encoder, files).take([0, 1]).key == first.take([0, 1]).key


def test_too_many_are_named():
    shelf = of_uploads(ToyGaussians(), [(f"{v}.png", square(v)) for v in range(MOST_UPLOADS + 2)])
    assert len(shelf) == MOST_UPLOADS
    assert [name for name, _ in shelf.refused] == [f"{MOST_UPLOADS}.png", f"{MOST_UPLOADS + 1}.png"]


def test_no_file_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    of_uploads(ToyGaussians(), [("a.png", square(1)), ("b.png", b"broken")])
    assert not list(tmp_path.iterdir())


def test_a_data_uri_holds_a_small_jpeg_and_nothing_else():
    uri = data_uri(noise((600, 300)))
    assert Image.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/jpeg;base64,")))).size == (256, 128)


def test_a_file_outside_the_project_is_not_opened(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out.png").write_bytes(square(1))
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "out.png")
    (tmp_path / "in" / "a.png").write_bytes(square(2))
    assert opened(of_file(tmp_path / "in" / "a.png"), str(tmp_path / "in")).size == (8, 8)
    for name in ("link.png", "gone.png"):
        with pytest.raises(UnreadableImage, match="gone or lies outside"):
            opened(of_file(tmp_path / "in" / name), str(tmp_path / "in"))


def of_file(path) -> Picture:
    return Picture("0" * 64, path.name, "", "", path)
