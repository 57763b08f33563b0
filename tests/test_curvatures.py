"""Curvature of any encoder from pairs on disk, kept by its fingerprint; a stopped run ends where a whole one does."""

import io
import json
import tarfile
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from core import cli, curvatures, estimation, rounds
from core.curvatures import curvature_file, estimate_curvature, factors_for, import_official
from core.data.pairs import open_pairs
from core.encoders.mini import CURVATURE_FILE
from core.encoding import DECODED_SIDE
from core.errors import Cancelled, FactorMismatch, InputError, NotReady
from core.images import read_image
from core.posterior.curvature import Likelihood, estimate_factors, kfac_b, load_factors
from tests.test_official import publish
from tests.toy import CLASSES, D, ToyEncoder, draw


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    rows = ["file_name,general,specific"]
    for number in range(10):
        draw(tmp_path / "pairs", number, side=64)
        rows.append(f"{CLASSES[number]}/{number:05d}.jpg,thing,{CLASSES[number]} number {number}")
    (tmp_path / "pairs" / "captions.csv").write_text("\n".join(rows))
    return tmp_path / "pairs"


@pytest.fixture
def tar(pairs):
    """The same pairs in a tar, with a broken image and a text without one between them."""
    with tarfile.open(pairs / "shard-000000.tar", "w") as archive:

        def add(name, content):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))

        for i in range(10):
            add(f"{i:05d}.jpg", (pairs / CLASSES[i] / f"{i:05d}.jpg").read_bytes())
            add(f"{i:05d}.json", json.dumps({"caption": f"{CLASSES[i]} number {i}"}).encode())
            if i == 4:
                add("broken.jpg", (pairs / CLASSES[0] / "00000.jpg").read_bytes()[:300])
                add("broken.txt", b"text")
                add("lonely.txt", b"text")
    return pairs / "shard-{000000..000000}.tar"


def encoded(encoder, folder, n=10):
    paths = [folder / CLASSES[i] / f"{i:05d}.jpg" for i in range(n)]
    images = [encoder.preprocess(read_image(path, max_side=DECODED_SIDE)) for path in paths]
    texts = encoder.encode_texts([f"{CLASSES[i]} number {i}" for i in range(n)])
    return encoder.encode_images(torch.stack(images)).activations.double(), texts.activations.double()


def tensors(encoder):
    return [matrix for side in factors_for("toy/x", encoder) for matrix in (side.A, side.B)]


@pytest.mark.parametrize("bias", [0.0, -10.0])
def test_the_factors_are_those_of_the_pairs(pairs, bias):
    encoder = ToyEncoder()
    encoder.heads = replace(encoder.heads, bias=bias)
    found = estimate_curvature("toy/x", encoder, [pairs])
    image, text = factors_for("toy/x", encoder)
    phi, psi = encoded(encoder, pairs)
    g, h = phi @ encoder.heads.image.double().T, psi @ encoder.heads.text.double().T
    likelihood = Likelihood.SIGLIP if bias else Likelihood.INFONCE
    assert_close(image.A.double(), phi.T @ phi / 10**0.5, rtol=1e-6, atol=1e-6)
    expected = [kfac_b(g, h, 10.0, bias, likelihood), kfac_b(h, g, 10.0, bias, likelihood)]
    assert_close(image.B.double(), expected[0] / 10**0.5, rtol=1e-6, atol=1e-6)
    assert_close(text.B.double(), expected[1] / 10**0.5, rtol=1e-6, atol=1e-6)
    assert image.n == text.n == found.pairs == 10
    assert load_factors(found.file)[2]["likelihood"] == likelihood


def test_each_block_is_a_softmax_of_its_own(pairs):
    encoder = ToyEncoder()
    found = estimate_curvature("toy/x", encoder, [pairs], block=4)
    phi, psi = encoded(encoder, pairs)
    g, h = phi @ encoder.heads.image.double().T, psi @ encoder.heads.text.double().T
    parts = [slice(0, 4), slice(4, 8), slice(8, 10)]
    expected = estimate_factors([(phi[some], g[some], h[some]) for some in parts], 10.0)
    assert_close(tensors(encoder)[1].double(), expected.B, rtol=1e-6, atol=1e-6)
    assert (found.blocks, found.pairs) == (3, 10)


def test_a_tar_gives_what_the_folder_gives_and_says_what_is_broken(pairs, tar):
    encoder = ToyEncoder()
    estimate_curvature("toy/x", encoder, [pairs / "captions.csv"], block=4)
    of_folder = tensors(encoder)
    found = estimate_curvature("toy/x", encoder, [tar], block=4)
    assert all(map(torch.equal, tensors(encoder), of_folder))
    assert (found.pairs, found.skipped) == (10, 2)
    said = [(problem.name, problem.reason) for problem in found.problems]
    assert said == [
        ("shard-000000.tar:/broken", "the file ends early"),
        ("shard-000000.tar:/lonely", "it has no image"),
    ]


@pytest.mark.parametrize("stop", range(1, 14))
def test_a_stopped_run_goes_on_and_ends_at_the_same_bits(pairs, tar, stop, monkeypatch):
    monkeypatch.setattr(estimation, "ENCODED_AT_ONCE", 2)
    encoder = ToyEncoder()
    whole = estimate_curvature("toy/x", encoder, [tar, pairs], block=3)
    expected = tensors(encoder)
    whole.file.unlink()
    calls, encoded_images = [], []

    def cancel(done, total, message):
        calls.append(done)
        assert done <= total
        if len(calls) == stop:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        estimate_curvature("toy/x", encoder, [tar, pairs], block=3, on_progress=cancel)
    encode = encoder.encode_images
    encoder.encode_images = lambda pixels: encoded_images.append(len(pixels)) or encode(pixels)
    again = estimate_curvature("toy/x", encoder, [tar, pairs], block=3)
    assert all(map(torch.equal, tensors(encoder), expected))
    assert (again.pairs, again.blocks, again.skipped, again.problems) == (20, 7, 2, whole.problems)
    assert sum(encoded_images) <= 20 - max(0, calls[-1] - 2 - 3)  # what finished blocks hold is not encoded again
    assert not list((again.file.parent / "unfinished").iterdir())


def test_a_run_with_other_settings_does_not_go_on_from_this_one(pairs):
    def stop(done, total, message):
        if done > 4:
            raise Cancelled("stopped")

    encoder = ToyEncoder()
    with pytest.raises(Cancelled):
        estimate_curvature("toy/x", encoder, [pairs], block=2, on_progress=stop)
    assert estimate_curvature("toy/x", encoder, [pairs], block=5).blocks == 2
    assert estimate_curvature("toy/x", encoder, [pairs], block=2, likelihood=Likelihood.SIGLIP).pairs == 10


def test_a_state_that_is_damaged_is_not_used(pairs, tmp_path, monkeypatch):
    encoder = ToyEncoder()
    stream, state = open_pairs([pairs]), tmp_path / "state.safetensors"
    whole = estimation.estimate(encoder, stream, state, block=4)
    state.write_bytes(state.read_bytes()[:1000])
    again = estimation.estimate(encoder, stream, state, block=4)
    assert torch.equal(again.image.B, whole.image.B)
    assert again.pairs == 10


def test_pairs_without_a_finite_embedding_spoil_nothing(pairs):
    class Odd(ToyEncoder):
        def encode_texts(self, texts):
            features = super().encode_texts(texts)
            features.activations[[text.endswith("3") for text in texts]] = float("nan")
            features.activations[[text.endswith("5") for text in texts]] = 0
            return features

    found = estimate_curvature("toy/x", Odd(), [pairs])
    assert (found.pairs, found.skipped) == (8, 2)
    assert all(matrix.isfinite().all() for matrix in tensors(ToyEncoder()))


def test_rows_held_out_are_not_read(pairs):
    encoder = ToyEncoder()
    estimate_curvature("toy/x", encoder, [pairs], hold_out=4)
    assert factors_for("toy/x", encoder)[0].n == 6


def test_where_no_image_can_be_read_the_first_reason_is_said(pairs):
    (pairs / "none.csv").write_text("file_name,caption\ngone.jpg,text\n")
    with pytest.raises(InputError, match=r"gone\.jpg, the file is gone"):
        estimate_curvature("toy/x", ToyEncoder(), [pairs / "none.csv"])
    with pytest.raises(InputError, match="1 to 32,768 pairs"):
        estimate_curvature("toy/x", ToyEncoder(), [pairs], block=32_769)


def test_a_model_without_curvature_says_how_to_get_it(pairs):
    with pytest.raises(NotReady, match="curvature --pairs DIR --model toy/x"):
        factors_for("toy/x", ToyEncoder())


def test_factors_of_another_encoder_are_refused(pairs):
    encoder = ToyEncoder()
    file = estimate_curvature("toy/x", encoder, [pairs]).file
    other = ToyEncoder()
    other.fingerprint = "other"
    curvature_file("toy/x", "other").write_bytes(file.read_bytes())
    with pytest.raises(FactorMismatch, match=r"encoder toy/x \(toy\), not for toy/y \(other\)"):
        factors_for("toy/y", other)


def test_factors_of_another_size_are_refused_with_both_named(pairs):
    encoder = ToyEncoder()
    estimate_curvature("toy/x", encoder, [pairs])
    encoder.heads = replace(encoder.heads, text=torch.ones(D, 9))
    with pytest.raises(FactorMismatch, match=r"toy\.safetensors has text factors A \[8, 8\].*toy/y has the text head"):
        factors_for("toy/y", encoder)


def test_minis_own_factors_stay_as_they_ship(pairs):
    encoder = ToyEncoder()
    assert curvature_file("mini", encoder.fingerprint) == CURVATURE_FILE
    file = estimate_curvature("mini", encoder, [pairs]).file
    assert file == curvature_file("mini", encoder.fingerprint) != CURVATURE_FILE


def test_a_folder_without_pairs_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"captions\.csv"):
        estimate_curvature("toy/x", ToyEncoder(), [tmp_path])


def test_published_factors_are_kept_for_the_model(pairs, tmp_path):
    encoder = ToyEncoder()
    (p, q) = encoder.heads.image.shape[1], encoder.heads.text.shape[1]
    publish(tmp_path / "official", p, q, D)
    file = import_official("toy/x", encoder, str(tmp_path / "official"))
    image, text = factors_for("toy/x", encoder)
    assert image.n == text.n == 327_680
    assert json.loads(load_factors(file)[2]["published_prior"])["n_img"] == 1.0
    publish(tmp_path / "larger", p + 1, q, D)
    with pytest.raises(FactorMismatch, match=r"larger has image factors A \[109, 109\].*toy/x has"):
        import_official("toy/x", encoder, str(tmp_path / "larger"))


def test_the_command_takes_pairs_or_published_factors(pairs, tar, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())

    def run(*arguments, status=0):
        assert cli.main(["curvature", *map(str, arguments), "--model", "toy/x", "--json"]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err

    found = run("--pairs", tar, pairs / "captions.csv", "--block", 8)
    assert (found["pairs"], found["blocks"], found["skipped"]) == (20, 3, 2)
    assert found["problem_files"][0] == {"name": "shard-000000.tar:/broken", "reason": "the file ends early"}
    assert run(pairs)["pairs"] == 10
    heads = ToyEncoder().heads
    publish(tmp_path / "official", heads.image.shape[1], heads.text.shape[1], D)
    assert run("--official", tmp_path / "official", "--n", 7)["pairs"] == 7
    assert factors_for("toy/x", ToyEncoder())[0].n == 7
    assert "either" in run(status=2)
    assert "either" in run("--pairs", pairs, "--official", tmp_path, status=2)
    assert "no folder" in run("--official", tmp_path / "nowhere", status=2)
    assert curvatures.LARGEST_BLOCK == 32_768
