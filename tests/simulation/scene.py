"""A labelled set of random features, half of it in the domain "here", and a short simulation."""

import torch

from core.finetune import FinetuneConfig
from core.learning import LearningConfig
from core.simulation.curve import SimulationConfig
from core.simulation.images import Images
from tests.small import P_TEXT, generator, random_features, random_posterior

LEARNING = LearningConfig(finetune=FinetuneConfig(max_steps=3), taus=(3.0, 30.0), folds=2)
CONFIG = SimulationConfig(batch=4, rounds=3, learning=LEARNING)


def images_of(n: int = 120) -> Images:
    posterior, texts = random_posterior(), random_features(3, P_TEXT, seed=5)
    features = random_features(n, seed=9)
    truth = torch.randn(posterior.image.weight.shape, generator=generator(4), dtype=torch.float64)
    labels = (features.embed(truth) @ texts.embed(posterior.text.weight).T).argmax(dim=1)
    return Images(
        tuple(f"{i}.jpg" for i in range(n)),
        tuple(f"{i:064x}" for i in range(n)),
        tuple("here" if i % 2 else "there" for i in range(n)),
        features,
        labels,
        ("a", "b", "c"),
        texts,
        posterior,
    )
