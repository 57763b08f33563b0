"""Views for test-time augmentation: what they show, and that each is encoded once."""

import numpy as np
import pytest
import torch
from PIL import Image

from core.errors import NotReady
from core.features import FeatureStore, encode_files
from core.images import sha256_file
from core.views import VIEWS, encode_views, load_views, view_key
from tests.toy import ToyEncoder, draw


def picture(width: int = 16, height: int = 8) -> Image.Image:
    across, down = np.meshgrid(np.arange(width), np.arange(height))
    return Image.fromarray(np.stack([across, down, 0 * down], axis=2).astype(np.uint8))


@pytest.mark.parametrize(
    ("view", "corner"),
    [
        ("flipped", (15, 0)),
        ("crop 7/8 top left", (0, 0)),
        ("crop 7/8 top right", (2, 0)),
        ("crop 7/8 bottom left", (0, 1)),
        ("crop 7/8 bottom right", (2, 1)),
        ("crop 7/8 centre", (1, 0)),
    ],
)
def test_a_view_starts_where_its_name_says(view, corner):
    seen = VIEWS[view](picture())
    assert seen.getpixel((0, 0))[:2] == corner
    assert seen.size == ((16, 8) if view == "flipped" else (14, 7))


def test_an_image_of_one_pixel_has_every_view():
    assert {view(Image.new("RGB", (1, 1))).size for view in VIEWS.values()} == {(1, 1)}


def test_keys_differ_for_every_image_and_view():
    keys = {view_key(sha, view) for sha in ("a" * 64, "b" * 64) for view in VIEWS}
    assert len(keys) == 2 * len(VIEWS)
    assert all(len(bytes.fromhex(key)) == 32 for key in keys)


class CountingEncoder(ToyEncoder):
    encoded = 0

    def encode_images(self, pixels):
        self.encoded += len(pixels)
        return super().encode_images(pixels)


def test_each_view_is_encoded_once_and_is_the_encoders_own_of_that_view(tmp_path):
    for number in range(3):
        draw(tmp_path, number, side=64)
    files = [(sha256_file(path), path) for path in sorted(tmp_path.rglob("*.jpg"))]
    store, encoder = FeatureStore(tmp_path / "features", "toy"), CountingEncoder()
    with pytest.raises(NotReady):
        load_views(store, [sha for sha, _ in files])
    assert encode_views(store, encoder, files) == []
    assert encoder.encoded == 3 * len(VIEWS)
    encode_views(FeatureStore(tmp_path / "features", "toy"), encoder, files)
    assert encoder.encoded == 3 * len(VIEWS)
    views = dict(zip(VIEWS, load_views(store, [sha for sha, _ in files]), strict=True))
    for i, (_, path) in enumerate(files):
        with Image.open(path) as image:
            pixels = encoder.preprocess(VIEWS["flipped"](image.convert("RGB")))
        assert torch.equal(views["flipped"].activations[i], encoder.encode_images(pixels[None]).activations[0])


def test_views_never_stand_for_the_image_itself(tmp_path):
    draw(tmp_path, 0, side=64)
    (path,) = tmp_path.rglob("*.jpg")
    store = FeatureStore(tmp_path / "features", "toy")
    encode_views(store, ToyEncoder(), [(sha256_file(path), path)])
    assert store.missing([sha256_file(path)]) == [sha256_file(path)]
    encode_files(store, ToyEncoder(), [(sha256_file(path), path)])
    assert store.missing([sha256_file(path)]) == []


def test_a_file_that_is_gone_is_named(tmp_path):
    (tmp_path / "gone.jpg").write_bytes(b"")
    problems = encode_views(FeatureStore(tmp_path, "toy"), ToyEncoder(), [("a" * 64, tmp_path / "gone.jpg")])
    assert {path.name for path, _ in problems} == {"gone.jpg"}
