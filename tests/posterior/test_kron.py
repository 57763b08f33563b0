"""Kronecker algebra against the dense product."""

import pytest
import torch
from torch.testing import assert_close

from core.posterior import kron
from core.values import KroneckerFactors
from tests.small import generator, positive_definite


@pytest.fixture
def pair():
    rng = generator()
    return positive_definite(3, rng), positive_definite(5, rng)  # not square on purpose


def test_eigenvalues_serve_every_damping(pair):
    spectrum = kron.eigen(KroneckerFactors(*pair, n=4))
    damped = 3.0**0.5 * pair[0] + 7.0**0.5 * torch.eye(3, dtype=torch.float64)
    assert_close(kron.damped(spectrum.A_values, 3.0, 7.0).log().sum(), torch.logdet(damped))


def test_eigen_of_eigen_is_itself(pair):
    spectrum = kron.eigen(KroneckerFactors(*pair, n=4))
    assert kron.eigen(spectrum) is spectrum


def test_equal_factors_share_one_decomposition_and_others_do_not(pair):
    first = kron.eigen(KroneckerFactors(*pair, n=4))
    again = kron.eigen(KroneckerFactors(*(part.clone() for part in pair), n=4))
    assert again.A_vectors is first.A_vectors
    changed = pair[0].clone()
    changed[0, 0] += 1e-12
    other = kron.eigen(KroneckerFactors(changed, pair[1], n=4))
    assert other.A_vectors is not first.A_vectors
    assert_close(other.A_vectors * other.A_values @ other.A_vectors.T, changed)


def test_eigen_clamps_rounding_below_zero():
    rank_one = torch.ones(4, 4)
    assert (kron.eigen(KroneckerFactors(rank_one, rank_one, n=1)).A_values >= 0).all()


def test_the_root_squares_to_the_inverse(pair):
    for matrix in pair:
        root = kron.inverse_root(*torch.linalg.eigh(matrix))
        assert_close(root @ root.T, matrix.inverse())


@pytest.mark.parametrize("size", [1, 2, 5, 64, 513])
def test_packing_keeps_a_symmetric_matrix(size):
    matrix = positive_definite(size, generator())
    packed = kron.pack_symmetric(matrix)
    assert packed.shape == (size * (size + 1) // 2,)
    assert torch.equal(kron.unpack_symmetric(packed), matrix)
