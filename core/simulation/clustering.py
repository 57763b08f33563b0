"""Batches that spread over the pool, as the field's baselines do: BADGE, core-set and TypiClust.

Axes: N pool images · C classes · D embedding size · n asked for. Embeddings have unit length.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sklearn.cluster import KMeans
from torch import Tensor

TYPICAL = 20  # neighbours that an image's typicality is measured by
MOST_CLUSTERS = 500  # of TypiClust, however many images are answered


def badge(embeddings: Tensor, probs: Tensor, n: int, taken: Sequence[int], rng: torch.Generator) -> list[int]:
    """n images by k-means++ on the gradients that their likeliest class as label would give (Ash et al. 2020).

    The gradient (p − e_ŷ) ⊗ g is never written out: its products are those of its two factors. embeddings [N, D],
    probs [N, C].
    """
    residual = probs.clone()
    residual[torch.arange(len(probs)), probs.argmax(dim=1)] -= 1
    norms = residual.square().sum(dim=1) * embeddings.square().sum(dim=1)
    free = _free(len(probs), taken)
    nearest = norms.clone()  # to the origin: the first is drawn by its length
    picked: list[int] = []
    while len(picked) < n and free.any():
        weights = nearest.clamp_min(0).where(free, 0.0).nan_to_num(0.0).double()
        if not weights.sum() > 0:
            weights = free.double()
        best = int(torch.multinomial(weights, 1, generator=rng))
        picked.append(best)
        free[best] = False
        products = (residual @ residual[best]) * (embeddings @ embeddings[best])
        distance = norms + norms[best] - 2 * products
        nearest = distance if len(picked) == 1 else torch.minimum(nearest, distance)
    return picked


def coreset(embeddings: Tensor, n: int, taken: Sequence[int], rng: torch.Generator) -> list[int]:
    """n images, each the farthest from all that are answered or picked (k-centre greedy; Sener & Savarese 2018).

    Where nothing is answered the first is drawn by chance. embeddings [N, D].
    """
    free = _free(len(embeddings), taken)
    similarity = embeddings.new_full((len(embeddings),), -torch.inf)
    for start in range(0, len(taken), 256):
        rows = embeddings[list(taken[start : start + 256])]
        similarity = torch.maximum(similarity, (embeddings @ rows.T).amax(dim=1))
    picked: list[int] = []
    while len(picked) < n and free.any():
        if not taken and not picked:
            best = int(torch.multinomial(free.double(), 1, generator=rng))
        else:
            best = int(similarity.masked_fill(~free, torch.inf).nan_to_num(torch.inf).argmin())
        picked.append(best)
        free[best] = False
        similarity = torch.maximum(similarity, embeddings @ embeddings[best])
    return picked


def typiclust(embeddings: Tensor, n: int, taken: Sequence[int], rng: torch.Generator) -> list[int]:
    """The most typical image of each of the n largest clusters without an answer (Hacohen et al. 2022).

    As many clusters as answers and images asked for; typical is who lies nearest to its 20 neighbours within the
    cluster. embeddings [N, D].
    """
    free = _free(len(embeddings), taken)
    count = min(len(taken) + n, MOST_CLUSTERS, len(embeddings))
    seed = int(torch.randint(2**31, (), generator=rng))
    clusters = torch.from_numpy(KMeans(count, random_state=seed, n_init=1).fit_predict(embeddings.numpy())).long()
    answered = torch.bincount(clusters[list(taken)], minlength=count) if taken else torch.zeros(count).long()
    picked: list[int] = []
    while len(picked) < n and free.any():
        left = torch.bincount(clusters[free], minlength=count)
        fewest = answered[left > 0].min()
        wanted = ((answered == fewest) * left).argmax()
        members = ((clusters == wanted) & free).nonzero()[:, 0]
        best = int(members[_typicality(embeddings[members]).argmax()])
        picked.append(best)
        free[best] = False
        answered[wanted] += 1
    return picked


def _typicality(rows: Tensor) -> Tensor:
    """1 / mean distance to the nearest rows [k]; all alike where there are fewer than 2."""
    if len(rows) < 2:
        return rows.new_zeros(len(rows))
    near = torch.cdist(rows, rows).topk(min(TYPICAL + 1, len(rows)), largest=False).values[:, 1:]
    return 1 / near.mean(dim=1).clamp_min(1e-12)


def _free(size: int, taken: Sequence[int]) -> Tensor:
    free = torch.ones(size, dtype=torch.bool)
    free[list(taken)] = False
    return free
