"""Evidence and its maximum against the dense computation."""

import math

import pytest
import torch
from torch.testing import assert_close

from core.posterior.kron import eigen
from core.posterior.prior import log_evidence, optimal_prior_precision
from tests.small import D, generator, normal, random_factors

P = 4


def dense_evidence(prior_precision, factors, weight, tau):
    """½ log|λI| − ½ λ‖P‖² − ½ log|Ã ⊗ B̃|, with the Kronecker product formed."""
    A, B = (
        tau**0.5 * part + prior_precision**0.5 * torch.eye(len(part), dtype=torch.float64)
        for part in (factors.A, factors.B)
    )
    fit = weight.numel() * math.log(prior_precision) - prior_precision * weight.square().sum()
    return float(fit - torch.logdet(torch.kron(A, B))) / 2


@pytest.fixture(params=[0.01, 1.0, 300.0])
def problem(request):
    rng = generator(2)
    return random_factors(P, rng), 0.3 * normal(D, P, rng=rng), request.param


def test_evidence_is_the_dense_one(problem):
    factors, weight, tau = problem
    for prior_precision in (0.1, 1.0, 50.0):
        ours = log_evidence(prior_precision, factors, weight, tau)
        assert ours == pytest.approx(dense_evidence(prior_precision, factors, weight, tau), rel=1e-10)


def test_optimum_beats_a_grid_of_the_dense_evidence(problem):
    factors, weight, tau = problem
    best = optimal_prior_precision(factors, weight, tau)
    grid = [best * math.exp(step / 50) for step in range(-300, 301)]
    values = [dense_evidence(value, factors, weight, tau) for value in grid]
    assert abs(values.index(max(values)) - 300) <= 1


def test_optimum_is_where_the_evidence_is_flat(problem):
    factors, weight, tau = problem
    best = optimal_prior_precision(factors, weight, tau)
    slope = log_evidence(best * 1.001, factors, weight, tau) - log_evidence(best / 1.001, factors, weight, tau)
    assert abs(slope) < 1e-6


def test_evidence_is_concave_in_log_precision(problem):
    factors, weight, tau = problem
    values = torch.tensor([log_evidence(math.exp(u / 4), factors, weight, tau) for u in range(-60, 40)])
    assert (values.diff().diff() <= 1e-6 * values.abs().max()).all()


def test_eigendecomposition_made_before_serves(problem):
    factors, weight, tau = problem
    assert_close(optimal_prior_precision(eigen(factors), weight, tau), optimal_prior_precision(factors, weight, tau))


def test_a_head_of_zeros_is_refused():
    with pytest.raises(ValueError, match="all zero"):
        optimal_prior_precision(random_factors(P, generator()), torch.zeros(D, P))
