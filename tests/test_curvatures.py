"""Curvature of any encoder from pairs on disk, kept by its fingerprint."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core.curvatures import curvature_file, estimate_curvature, factors_for
from core.errors import FactorMismatch, InputError, NotReady
from core.images import read_image
from core.posterior.curvature import Likelihood, kfac_b
from tests.toy import CLASSES, ToyEncoder, draw


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    rows = ["file_name,general,specific"]
    for number in range(10):
        draw(tmp_path / "pairs", number, side=64)
        rows.append(f"{CLASSES[number]}/{number:05d}.jpg,thing,{CLASSES[number]} number {number}")
    (tmp_path / "pairs" / "captions.csv").write_text("\n".join(rows))
    return tmp_path / "pairs"


def encoded(encoder, folder, n=10):
    paths = [folder / CLASSES[i] / f"{i:05d}.jpg" for i in range(n)]
    images = encoder.encode_images(torch.stack([encoder.preprocess(read_image(path)) for path in paths]))
    texts = encoder.encode_texts([f"{CLASSES[i]} number {i}" for i in range(n)])
    return images.activations.double(), texts.activations.double()


@pytest.mark.parametrize("bias", [0.0, -10.0])
def test_the_factors_are_those_of_the_pairs(pairs, bias):
    encoder = ToyEncoder()
    encoder.heads = replace(encoder.heads, bias=bias)
    estimate_curvature("toy/x", encoder, [pairs])
    image, text = factors_for("toy/x", encoder)
    phi, psi = encoded(encoder, pairs)
    g, h = phi @ encoder.heads.image.double().T, psi @ encoder.heads.text.double().T
    likelihood = Likelihood.SIGLIP if bias else Likelihood.INFONCE
    assert_close(image.A.double(), phi.T @ phi / 10**0.5, rtol=1e-5, atol=1e-5)
    expected = [kfac_b(g, h, 10.0, bias, likelihood), kfac_b(h, g, 10.0, bias, likelihood)]
    assert_close(image.B.double(), expected[0] / 10**0.5, rtol=1e-4, atol=1e-5)
    assert_close(text.B.double(), expected[1] / 10**0.5, rtol=1e-4, atol=1e-5)
    assert image.n == text.n == 10


def test_rows_held_out_are_not_read(pairs):
    encoder = ToyEncoder()
    estimate_curvature("toy/x", encoder, [pairs], hold_out=4)
    assert factors_for("toy/x", encoder)[0].n == 6


def test_a_model_without_curvature_says_how_to_get_it(pairs):
    with pytest.raises(NotReady, match="curvature DIR --model toy/x"):
        factors_for("toy/x", ToyEncoder())


def test_factors_of_another_encoder_are_refused(pairs):
    encoder = ToyEncoder()
    file = estimate_curvature("toy/x", encoder, [pairs])
    other = ToyEncoder()
    other.fingerprint = "other"
    curvature_file("toy/x", "other").write_bytes(file.read_bytes())
    with pytest.raises(FactorMismatch, match=r"encoder toy.*other"):
        factors_for("toy/x", other)


def test_a_folder_without_pairs_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"captions\.csv"):
        estimate_curvature("toy/x", ToyEncoder(), [tmp_path])
