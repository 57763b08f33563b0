"""Which Gaussian includes which: H(a ⊂ b) = log∫pa²pb − log∫pa pb², above 0 where b includes a.

Axes: N, M Gaussians · D embedding size. Both terms are the same function of (a, b) and (b, a), here the *overlap*:
    log∫pa²pb = Σ_d −½ log(4πσa²) − ½ log(2πs) − ½ (μa − μb)²/s,   s = σa²/2 + σb².
What the published code computes is, after its squares are multiplied out, of the same form with other coefficients:
    Σ_d −3/2 log σa² − ½ log σb² − ½ε − ½ log s − ½ e^ε (μa − μb)²/s.
It doubles the log-variances of the densities, and ε = −10 all but takes the distance out. `official=True` gives it.

H(a ⊂ b) = −H(b ⊂ a), and in each dimension its sign is that of σb² − σa², whatever the means: they only make it larger,
the more so the farther they are apart. So H alone does not say that two things have to do with each other; a similarity
beside it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from core.values import ProlipEmbeddings

EPSILON = -10.0  # of the published training; its HierarCaps evaluation has 0
BUDGET = (
    200_000  # numbers of [n, m, D] in flight: what stays in a core's cache is three times as quick as what does not
)


@dataclass(frozen=True, slots=True)
class Form:
    """Coefficients of an overlap per dimension: own·log σa² + other·log σb² + constant − ½ log s − ½ distance·d²/s."""

    own: float
    other: float
    constant: float
    distance: float


EXACT = Form(own=-0.5, other=0.0, constant=-0.5 * math.log(8 * math.pi**2), distance=1.0)


def form_of(official: bool, epsilon: float = EPSILON) -> Form:
    """The exact form, or the published one."""
    if not official:
        return EXACT
    return Form(own=-1.5, other=-0.5, constant=-epsilon / 2, distance=math.exp(epsilon))


def overlap_by_dimension(a: ProlipEmbeddings, b: ProlipEmbeddings, form: Form = EXACT) -> Tensor:
    """log∫pa²pb of pairs in each dimension, [N, D]; one row may stand for all of the other's."""
    log_s = torch.logaddexp(a.log_variance - math.log(2), b.log_variance)
    squared = (a.mean - b.mean).square() * (-log_s).exp()
    own = form.own * a.log_variance + form.other * b.log_variance + form.constant
    return own - (log_s + form.distance * squared) / 2


def inclusion_by_dimension(
    inner: ProlipEmbeddings, outer: ProlipEmbeddings, *, official: bool = False, epsilon: float = EPSILON
) -> Tensor:
    """H(inner ⊂ outer) of pairs in each dimension, [N, D]."""
    form = form_of(official, epsilon)
    return overlap_by_dimension(inner, outer, form) - overlap_by_dimension(outer, inner, form)


def log_overlap(
    a: ProlipEmbeddings, b: ProlipEmbeddings, *, official: bool = False, epsilon: float = EPSILON
) -> Tensor:
    """log∫pa²pb of pairs, [N]: how well b covers a, the higher the nearer; with `official` the published value."""
    return overlap_by_dimension(a, b, form_of(official, epsilon)).sum(dim=1)


def log_inclusion(
    inner: ProlipEmbeddings, outer: ProlipEmbeddings, *, official: bool = False, epsilon: float = EPSILON
) -> Tensor:
    """H(inner ⊂ outer) of pairs, [N], in nats: above 0 where `outer` includes `inner`."""
    return inclusion_by_dimension(inner, outer, official=official, epsilon=epsilon).sum(dim=1)


@dataclass(frozen=True, slots=True)
class _Rows:
    """What a tile needs of some Gaussians."""

    mean: Tensor
    variance: Tensor
    half: Tensor  # σ²/2
    logs: Tensor  # Σ log σ² [N]

    @staticmethod
    def of(gaussians: ProlipEmbeddings) -> _Rows:
        variance = gaussians.variance
        return _Rows(gaussians.mean, variance, variance / 2, gaussians.log_variance.sum(dim=1))

    def __getitem__(self, rows: slice | Tensor) -> _Rows:
        return _Rows(self.mean[rows], self.variance[rows], self.half[rows], self.logs[rows])

    def column(self) -> _Rows:
        """The same against every row of another."""
        return _Rows(self.mean[:, None], self.variance[:, None], self.half[:, None], self.logs[:, None])


def _overlap(a: _Rows, b: _Rows, form: Form) -> Tensor:
    """The overlap of rows that fit each other, [...]; only what mixes a and b is computed for every dimension."""
    s = a.half + b.variance  # [..., D]
    squared = (a.mean - b.mean).square_().div_(s)
    mixed = s.log_().add_(squared, alpha=form.distance).sum(dim=-1)
    return form.own * a.logs + form.other * b.logs + form.constant * a.mean.shape[-1] - mixed / 2


def tiles(rows: int, columns: int, dimension: int, budget: int) -> Iterator[tuple[slice, slice]]:
    """Tiles of [rows, columns], row by row, of at most `budget` numbers with `dimension` numbers for each entry."""
    side = max(1, math.isqrt(max(1, budget // max(1, dimension))))
    height = min(side, max(1, rows))
    width = max(1, budget // (height * max(1, dimension)))
    for top in range(0, rows, height):
        for left in range(0, columns, width):
            yield slice(top, min(top + height, rows)), slice(left, min(left + width, columns))


class Pairs:
    """Overlap and inclusion of all pairs of two sets of Gaussians, a tile at a time."""

    def __init__(self, a: ProlipEmbeddings, b: ProlipEmbeddings, form: Form = EXACT):
        if a.dimension != b.dimension:
            raise ValueError(f"Gaussians of {a.dimension} and of {b.dimension} dimensions cannot be compared")
        self._a, self._b, self._form = _Rows.of(a), _Rows.of(b), form

    def empty(self, *shape: int) -> Tensor:
        """Room for values of pairs."""
        return self._a.logs.new_empty(shape)

    def overlap(self, rows: slice, columns: slice) -> Tensor:
        """log∫pa²pb [n, m]."""
        return _overlap(self._a[rows].column(), self._b[columns], self._form)

    def both(self, rows: slice, columns: slice) -> tuple[Tensor, Tensor]:
        """log∫pa²pb and log∫pa pb², both [n, m]."""
        return self.overlap(rows, columns), _overlap(self._b[columns], self._a[rows].column(), self._form)

    def both_at(self, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """The same of some pairs, positions [P] each, both [P]."""
        a, b = self._a[rows], self._b[columns]
        return _overlap(a, b, self._form), _overlap(b, a, self._form)

    def inclusion(self, rows: slice, columns: slice) -> Tensor:
        """H(a ⊂ b) [n, m]."""
        there, back = self.both(rows, columns)
        return there - back


def overlap_matrix(
    a: ProlipEmbeddings,
    b: ProlipEmbeddings,
    *,
    official: bool = False,
    epsilon: float = EPSILON,
    budget: int = BUDGET,
) -> Tensor:
    """log∫p_i²p_j of every a_i with every b_j, [N, M]; `budget` numbers in flight besides the result."""
    pairs = Pairs(a, b, form_of(official, epsilon))
    result = a.mean.new_empty(len(a), len(b))
    for rows, columns in tiles(len(a), len(b), a.dimension, budget):
        result[rows, columns] = pairs.overlap(rows, columns)
    return result


def inclusion_matrix(
    inner: ProlipEmbeddings,
    outer: ProlipEmbeddings,
    *,
    official: bool = False,
    epsilon: float = EPSILON,
    budget: int = BUDGET,
) -> Tensor:
    """H(inner_i ⊂ outer_j) of every pair, [N, M]; `budget` numbers in flight besides the result.

    σa²/2 + σb² mixes a pair in every dimension, so no matrix product computes it; what does not mix is summed once.
    """
    pairs = Pairs(inner, outer, form_of(official, epsilon))
    result = inner.mean.new_empty(len(inner), len(outer))
    for rows, columns in tiles(len(inner), len(outer), inner.dimension, budget):
        result[rows, columns] = pairs.inclusion(rows, columns)
    return result
