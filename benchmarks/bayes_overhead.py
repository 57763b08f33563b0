"""What the posterior adds to plain CLIP inference, in one run: `python -m benchmarks.bayes_overhead [--factors DIR]`.

A ViT-B/32 of open_clip with random weights encodes a batch of images on the CPU and classifies it into 65 classes:
once as CLIP does (softmax of scaled cosines), once with both heads' posteriors (Gaussian embeddings, ProbCosine,
probit). The class texts are encoded once, before both. `--factors` names a folder of published factors; without it,
factors are estimated from random activations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.machine import product_rate
from core.encoders.openclip import OpenClipEncoder
from core.logits import map_logits, posterior_logits, probit
from core.official import load_official
from core.posterior.curvature import add_pairs, check_fit, no_pairs
from core.posterior.laplace import Posterior, fit
from core.values import Features, Heads, KroneckerFactors

PUBLISHED = Path("../shared/reference/hessian_CLIP-ViT-B-32-laion2B-s34B-b79K")


def random_factors(heads: Heads, rng: torch.Generator) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors of 2,000 random pairs."""
    images, texts = (Features(torch.randn(2000, head.shape[1], generator=rng)) for head in (heads.image, heads.text))
    image, text = add_pairs(no_pairs(heads), images, texts, heads)
    return image.factors(), text.factors()


def vit_b_32() -> OpenClipEncoder:
    """ViT-B/32 with random weights."""
    import open_clip

    torch.manual_seed(0)
    model, _, preprocess = open_clip.create_model_and_transforms("ViT-B-32")
    return OpenClipEncoder("ViT-B-32", model, preprocess, open_clip.get_tokenizer("ViT-B-32"), made_of="random")


def times(steps: dict[str, Callable[[], Tensor]], rounds: int) -> dict[str, float]:
    """Fewest seconds of each step, taken in turns so that a quiet moment serves all of them."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            started = time.perf_counter()
            step()
            if number:  # the first warms up
                taken[name].append(time.perf_counter() - started)
    return {name: min(each) for name, each in taken.items()}


def measure(encoder: OpenClipEncoder, posterior: Posterior, images: int, classes: int, rounds: int) -> list[str]:
    """Lines: both ways from pixels to probabilities, then the steps alone, which a busy machine blurs less."""
    pixels = torch.randn(images, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    texts = encoder.encode_texts([f"a photo of a thing of kind {number}" for number in range(classes)])
    heads, encoded = encoder.heads, encoder.encode_images(pixels)
    class_embeddings = texts.embed(heads.text)

    def plain(features: Features) -> Tensor:
        return map_logits(features.embed(heads.image), class_embeddings, heads.scale).softmax(dim=1)

    def bayes(features: Features) -> Tensor:
        return probit(posterior_logits(posterior, features, texts))

    whole = times(
        {
            "plain": lambda: plain(encoder.encode_images(pixels)),
            "bayes": lambda: bayes(encoder.encode_images(pixels)),
        },
        rounds,
    )
    steps = times({"plain": lambda: plain(encoded), "bayes": lambda: bayes(encoded)}, 20 * rounds)
    added = steps["bayes"] - steps["plain"]
    p, D = heads.image.shape[1], heads.image.shape[0]
    count = 2 * (images + classes) * p * p + 2 * images * D * (p + 2 * classes)
    floor = count / product_rate(torch.float32)
    return [
        f"whole   plain {whole['plain'] * 1e3:8.2f} ms   BayesVLM {whole['bayes'] * 1e3:8.2f} ms   "
        f"overhead {100 * (whole['bayes'] / whole['plain'] - 1):+.2f} %",
        f"classifying alone   plain {steps['plain'] * 1e3:.2f} ms   BayesVLM {steps['bayes'] * 1e3:.2f} ms "
        f"(floor {floor * 1e3:.2f} ms)   overhead {100 * added / whole['plain']:.2f} % of the whole",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="overhead of BayesVLM over plain CLIP inference")
    parser.add_argument("--factors", type=Path, default=PUBLISHED if PUBLISHED.is_dir() else None)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--classes", type=int, default=65)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    encoder = vit_b_32()
    if options.factors:
        image, text = load_official(options.factors)
        check_fit(image, text, encoder.heads, str(options.factors), encoder.name)
    else:
        image, text = random_factors(encoder.heads, torch.Generator().manual_seed(0))
    posterior = fit(encoder.heads, image, text, tau=10.0, fingerprint=encoder.fingerprint)
    whose = f"published factors, n = {image.n:,}" if options.factors else "random factors"
    print(f"{options.images} images, {options.classes} classes, float32, {options.threads} threads, {whose}")
    print(*measure(encoder, posterior, options.images, options.classes, options.rounds), sep="\n")


if __name__ == "__main__":
    main()
