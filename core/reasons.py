"""Why an image is worth an answer: EPIG target by target, and the answered images that it is like.

Axes: n images to explain · N others · M target images · p input size of the image head · D joint embedding size.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from core.kernel import ROWS, Answers, Index, Kernel, Pool, slices
from core.logits import posterior_logits, probit, whitened
from core.posterior.laplace import Posterior
from core.values import Features


def target_terms(kernel: Kernel, answers: Answers, index: Index) -> Tensor:
    """EPIG's own terms of pool images, ½ κ'(x, x*)²·tr(J_x S J_* S)/M in nats to second order, [n, M] in float64.

    κ' is conditioned on the answers; the terms of an image sum to its EPIG score given them (MATH.md §5).
    """
    kappa = answers.lower(kernel.whiten(index)) @ kernel.target_rows.double().T  # [n, M]
    return (kappa * kernel.pair_weight(index)).square()


def usable_targets(posterior: Posterior, targets: Features, texts: Features) -> Tensor:
    """Positions of the targets that a kernel keeps, those with nothing but finite numbers in them: its axis M."""
    probs = probit(posterior_logits(posterior, targets, texts))
    return (whitened(posterior, targets).isfinite().all(dim=1) & probs.isfinite().all(dim=1)).nonzero()[:, 0]


def most_alike(posterior: Posterior, image: Features, others: Pool, n: int) -> tuple[Tensor, Tensor]:
    """(cosines, positions) of the n others most like one image, the most alike first; fewer where there are fewer.

    Cosine of the embeddings Pφ under the image head as it is now. What is not finite is like nothing.
    """
    weight = posterior.image.weight
    own = normalize(image.to(weight).embed(weight), dim=1)  # [1, D]
    parts = [normalize(others[part].to(weight).embed(weight), dim=1) @ own[0] for part in slices(len(others), ROWS)]
    cosines = torch.cat([own.new_empty(0), *parts])  # [N]
    cosines[~cosines.isfinite()] = -torch.inf
    found, positions = cosines.topk(min(n, len(cosines)))
    return found[found.isfinite()], positions[found.isfinite()]
