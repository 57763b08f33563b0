"""Published factors: their layout, what is refused, and the model they were made for."""

import json
import pickle
import zipfile

import pytest
import torch
from torch.testing import assert_close

from core.errors import FactorMismatch
from core.official import FILES, PUBLISHED_PAIRS, load_official, load_prior
from core.posterior.curvature import check_fit
from core.posterior.laplace import fit
from core.values import Heads, KroneckerFactors
from tests.small import generator, positive_definite

PRIOR = {"lambda_img": 1700.0, "n_img": 1.0, "lambda_txt": 1250.0, "n_txt": 1.0}


def publish(folder, p=3, q=4, D=2):
    """A folder as the authors publish it, with random factors."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {"A_img": p, "B_img": D, "A_txt": q, "B_txt": D}
    for seed, (name, size) in enumerate(sizes.items()):
        torch.save(positive_definite(size, generator(seed)).float(), folder / f"{name}_analytic.pt")
    (folder / "prior_precision_analytic.json").write_text(json.dumps(PRIOR))
    return folder


def test_the_published_layout_loads(tmp_path):
    publish(tmp_path)
    image, text = load_official(tmp_path, n=5)
    assert image.n == text.n == 5
    assert load_official(tmp_path)[0].n == PUBLISHED_PAIRS
    assert torch.equal(image.A, positive_definite(3, generator(0)).float())
    assert torch.equal(text.B, positive_definite(2, generator(3)).float())
    assert load_prior(tmp_path).lambda_img == 1700.0


def test_rounding_is_evened_out(tmp_path):
    publish(tmp_path)
    odd = torch.tensor([[4.0, 1.0], [1.00001, 0.25]]) - 1e-6 * torch.eye(2)  # and an eigenvalue of about -1e-6
    torch.save(odd, tmp_path / "B_img_analytic.pt")
    image, _ = load_official(tmp_path)
    assert torch.equal(image.B, image.B.T)
    assert_close(image.B, odd, atol=1e-5, rtol=0)


class Evil:
    def __reduce__(self):
        return print, ("executed",)


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x", "w") as file:
        for _ in range(600):
            file.write(b"\0" * 2**20)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b"half a file"),
        lambda path: path.write_bytes(pickle.dumps(Evil())),
        lambda path: torch.save(Evil(), path),
        lambda path: torch.save({"A": torch.eye(3)}, path),
        lambda path: torch.save(torch.ones(3), path),
        lambda path: torch.save(torch.ones(3, 2), path),
        lambda path: torch.save(torch.ones(0, 0), path),
        lambda path: torch.save(torch.eye(3, dtype=torch.int64), path),
        lambda path: torch.save(torch.tensor([[1.0, float("nan")], [0.0, 1.0]]), path),
        lambda path: torch.save(torch.tensor([[1.0, 0.5], [0.0, 1.0]]), path),
        lambda path: torch.save(torch.tensor([[1.0, 2.0], [2.0, 1.0]]), path),
        lambda path: torch.save(-torch.eye(2), path),
        bomb,
    ],
)
def test_what_is_no_factor_is_refused_and_never_run(tmp_path, capsys, spoil):
    publish(tmp_path)
    spoil(tmp_path / "A_img_analytic.pt")
    with pytest.raises(FactorMismatch, match=r"A_img_analytic\.pt"):
        load_official(tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "said", ["", "[]", "{}", '{"lambda_img": "x"}', json.dumps(PRIOR | {"n_img": -1}), "[" * 99999]
)
def test_a_prior_that_says_something_else_is_refused(tmp_path, said):
    publish(tmp_path)
    (tmp_path / "prior_precision_analytic.json").write_text(said)
    with pytest.raises(FactorMismatch, match="prior"):
        load_prior(tmp_path)


def test_a_file_over_the_limit_is_not_read(tmp_path, monkeypatch):
    publish(tmp_path)
    monkeypatch.setattr("core.official.LARGEST_FILE", 100)
    with pytest.raises(FactorMismatch, match="over the limit of 100"):
        load_official(tmp_path)


# --- the authors' own --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(shared):
    return shared / "reference" / "hessian_CLIP-ViT-B-32-laion2B-s34B-b79K"


@pytest.fixture(scope="module")
def vit_heads() -> Heads:
    """The heads of a ViT-B/32 of open_clip with random weights."""
    import open_clip

    torch.manual_seed(0)
    model = open_clip.create_model("ViT-B-32")
    return Heads(model.visual.proj.detach().T.clone(), model.text_projection.detach().T.clone(), 100.0)


def test_the_published_factors_are_all_there(published):
    assert {path.name for path in published.iterdir()} == set(FILES)
    prior = load_prior(published)
    assert (prior.n_img, prior.n_txt) == (1.0, 1.0)  # τ, not a number of pairs


def test_n_is_the_number_that_makes_the_activations_plausible(published):
    image, _ = load_official(published)
    mean_square = float(image.A.trace()) / image.n**0.5 / 768  # of one input, after a layer norm
    assert 0.5 < mean_square < 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tau", [1.0, 10.0, 1000.0])
def test_the_posterior_of_vit_b_32_is_positive_definite(published, vit_heads, dtype, tau):
    image, text = (KroneckerFactors(f.A.to(dtype), f.B.to(dtype), f.n) for f in load_official(published))
    check_fit(image, text, vit_heads, "published", "ViT-B-32")
    heads = Heads(vit_heads.image.to(dtype), vit_heads.text.to(dtype), vit_heads.scale)
    assert torch.linalg.eigvalsh(image.B.double())[0] < 0  # the authors' rounding, which the posterior must survive
    posterior = fit(heads, image, text, tau=tau, fingerprint="x")
    for head in (posterior.image, posterior.text):
        for inverse in (head.A_root @ head.A_root.T, head.B_inverse):
            values = torch.linalg.eigvalsh((inverse + inverse.T) / 2)
            assert values.dtype == dtype
            assert values[0] > 0
        phi = torch.randn(5, head.weight.shape[1], generator=generator()).to(dtype)
        assert (head.B_inverse.diagonal() > 0).all()
        assert ((phi @ head.A_root).square().sum(dim=1) > 0).all()


def test_factors_of_another_architecture_are_refused(published, vit_heads):
    image, text = load_official(published)
    with pytest.raises(FactorMismatch, match=r"published has text .*, but RN50 has the text head \[1024, 512\]"):
        check_fit(image, text, Heads(vit_heads.image, torch.ones(1024, 512), 100.0), "published", "RN50")
