"""Perceptual hashes against imagehash, and the search for near ones against all pairs."""

import imagehash
import numpy as np
import pytest
from PIL import Image, ImageEnhance

from core import fingerprints
from core.fingerprints import fingerprint, near_pairs
from core.images import probe
from tests.folders import picture


def _bits(value: int) -> np.ndarray:
    return np.unpackbits(np.array([value], dtype=">i8").view(np.uint8)).astype(bool)


@pytest.mark.parametrize("seed", range(5))
def test_a_fingerprint_is_imagehashs_phash(tmp_path, seed):
    image = Image.open(picture(tmp_path / "a.png", seed, side=64))
    assert (_bits(fingerprint(image)) == imagehash.phash(image).hash.flatten()).all()


def test_what_has_no_structure_has_no_fingerprint():
    assert fingerprint(Image.new("RGB", (40, 40), (10, 200, 30))) is None


def test_a_file_keeps_its_fingerprint_when_scaled_recompressed_and_brightened(tmp_path):
    image = Image.open(picture(tmp_path / "a.png", 3, side=300)).resize((300, 200))
    image.save(tmp_path / "b.jpg", quality=60)
    image.resize((150, 100)).save(tmp_path / "c.png")
    ImageEnhance.Brightness(image).enhance(1.05).save(tmp_path / "d.jpg", quality=90)
    turned = image.transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "e.jpg", exif=exif, quality=95)
    image.save(tmp_path / "f.png")
    hashes = [_bits(probe(tmp_path / name).phash) for name in ("f.png", "b.jpg", "c.png", "d.jpg", "e.jpg")]
    assert max((hashes[0] != other).sum() for other in hashes[1:]) <= fingerprints.NEAR_BITS
    picture(tmp_path / "other.png", 4, side=300)
    assert (hashes[0] != _bits(probe(tmp_path / "other.png").phash)).sum() > 10


@pytest.mark.parametrize("at_once", [7, 1024])
@pytest.mark.parametrize("most", [0, 3, 4])
def test_near_pairs_are_those_of_all_pairs_each_once(monkeypatch, at_once, most):
    monkeypatch.setattr(fingerprints, "AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    seeds = rng.integers(-(2**63), 2**63 - 1, 40)
    flips = [(1 << int(rng.integers(63))) ^ (1 << int(rng.integers(63))) ^ (1 << int(rng.integers(63))) for _ in seeds]
    hashes = np.concatenate([seeds, seeds ^ np.array(flips), seeds[:9] ^ 1, seeds[:3]])
    bits = np.stack([_bits(int(value)) for value in hashes])
    distance = (bits[:, None] != bits[None]).sum(axis=2)
    expected = {(i, j) for i, j in np.argwhere(distance <= most).tolist() if i < j}
    found = [(int(a), int(b)) for some in near_pairs(hashes, most) for a, b in zip(*some, strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len(expected) > 2


def test_nothing_is_near_nothing():
    assert list(near_pairs(np.empty(0, dtype=np.int64))) == []
