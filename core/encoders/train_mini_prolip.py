"""Train mini-prolip's heads on ProLIP's own objective, with mini's towers frozen.

Pairs: an image with one of its captions, mostly the most specific; an ImageNet photo with its class name. Masked
images are crops of a quarter, masked texts the more general captions of the same image or a quarter of the words.
One term is added, for images and captions of different images: without it H(image ⊂ text) comes out as high for a
foreign caption as for the own one, since distance only adds to |H| (core/prolip/inclusion.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Generator, Tensor, nn
from torch.nn.functional import normalize

from core.data.pairs import Captioned, read_pairs
from core.encoders.mini import EMBEDDING_SIZE, IMAGE_HEAD_KEY, LOGIT_SCALE_KEY, TEXT_HEAD_KEY, build_mini
from core.encoders.mini import HEADS_FILE as MINI_HEADS_FILE
from core.encoders.mini_prolip import (
    CURVATURE_FILE,
    HEADS_FILE,
    LOGIT_BIAS_KEY,
    NAME,
    SPREADS,
    MiniProlip,
    Spread,
    load_mini_prolip,
)
from core.encoders.mini_prolip_data import KEPT, LEVELS, Batch, Material, batches, draw, gather
from core.encoders.openclip import OpenClipEncoder
from core.encoders.train_mini import curvature, encode_pairs
from core.errors import InputError
from core.images import read_image
from core.posterior.curvature import save_factors
from core.prolip.figures import Figures, caption_figures
from core.prolip.inclusion import log_inclusion
from core.prolip.losses import LossWeights, ProlipLoss, inclusion_loss, prolip_loss
from core.tensorfile import write_atomically
from core.values import Heads, Progress, ProlipEmbeddings, silent

LARGEST_SCALE = 100.0
WEIGHTS = LossWeights(masked=1e-2, variational=0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniProlipConfig:
    """How the heads are trained; the towers never are."""

    steps: int = 500
    captioned: int = 160  # pairs of a batch
    named: int = 40
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    dropout: float = 0.5  # of image activations, half as much of texts'
    hidden: int = 64
    start: float = -6.0  # log σ² before training
    level_shares: tuple[float, ...] = (0.1, 0.1, 0.1, 0.7)  # how often each level is an image's caption
    weights: LossWeights = WEIGHTS
    contrast: float = 2.0  # weight of the own and the foreign caption's exact inclusion
    contrast_scale: float = 0.02
    hold_out: int = 200  # last rows of captions.csv, never seen
    seed: int = 0


class MiniHeads(nn.Module):
    """What is trained: mean heads and log σ² of both sides, and the logit map."""

    def __init__(self, config: MiniProlipConfig, material: Material, rng: Generator):
        super().__init__()
        mini = load_file(MINI_HEADS_FILE)
        self.means = nn.ParameterList([mini[IMAGE_HEAD_KEY], mini[TEXT_HEAD_KEY]])
        sides = (material.images, material.captions)
        self.spreads = nn.ModuleList(
            [_new_spread(config, float(side.square().mean().sqrt()), side.shape[-1], rng) for side in sides]
        )
        self.log_scale = nn.Parameter(mini[LOGIT_SCALE_KEY].clone())
        self.bias = nn.Parameter(torch.tensor(-10.0))
        self._drops, self._rng = (config.dropout, config.dropout / 2), rng

    def forward(self, activations: Tensor, side: int) -> ProlipEmbeddings:
        """Activations of side 0, images, or 1, texts → Gaussians; with dropout while training."""
        seen = _dropped(activations, self._drops[side], self._rng) if self.training else activations
        return ProlipEmbeddings(normalize(seen @ self.means[side].T, dim=1), self.spreads[side](seen))

    @property
    def scale(self) -> Tensor:
        return self.log_scale.exp().clamp(max=LARGEST_SCALE)

    def as_heads(self) -> Heads:
        image, text = (mean.detach().clone() for mean in self.means)
        return Heads(image, text, float(self.scale.detach()), float(self.bias.detach()))

    def tensors(self) -> dict[str, Tensor]:
        """As the shipped file has them, in half precision: the figures do not change, the size does."""
        named = {IMAGE_HEAD_KEY: self.means[0], TEXT_HEAD_KEY: self.means[1]}
        for prefix, spread in zip(SPREADS, self.spreads, strict=True):
            named |= {prefix + name: tensor for name, tensor in spread.state_dict().items()}
        exact = {LOGIT_SCALE_KEY: self.scale.log(), LOGIT_BIAS_KEY: self.bias}
        return {name: tensor.detach().half() for name, tensor in named.items()} | {
            name: tensor.detach() for name, tensor in exact.items()
        }


def train_mini_prolip(
    folders: Sequence[Path],
    *,
    heads_file: Path = HEADS_FILE,
    curvature_file: Path = CURVATURE_FILE,
    config: MiniProlipConfig = MiniProlipConfig(),
    on_progress: Progress = silent,
) -> Figures:
    """Train, save heads, curvature and the card beside them; returns the figures of the rows held out."""
    captioned, named = read_pairs(folders, config.hold_out)
    if len(named) < 2 or not captioned or {len(entry.texts) for entry in captioned} != {LEVELS}:
        raise InputError(
            f"training mini-prolip needs a folder with labels.csv (ImageNet names) and one with captions.csv, "
            f"{LEVELS} captions a row from general to specific"
        )
    encoder = OpenClipEncoder(NAME, *build_mini())
    pairs = encode_pairs(encoder, captioned, named, on_progress)
    material = gather(encoder, pairs, captioned, named, config.seed, on_progress)
    heads = train(material, config, on_progress)
    write_atomically(heads_file, heads.tensors())
    trained = load_mini_prolip(heads=heads_file)
    factors = curvature(pairs, trained.heads)
    save_factors(curvature_file, *factors, {"fingerprint": trained.fingerprint, "model": NAME})
    everything, _ = read_pairs(folders)
    figures = held_out_figures(trained, everything[len(captioned) :]) if config.hold_out else {}
    write_card(heads_file.parent / "CARD.md", config, figures, len(named), len(captioned))
    return figures


def train(
    material: Material, config: MiniProlipConfig = MiniProlipConfig(), on_progress: Progress = silent
) -> MiniHeads:
    """The heads after `config.steps` of AdamW on a one-cycle schedule."""
    rng = torch.Generator().manual_seed(config.seed)
    heads = MiniHeads(config, material, rng)
    groups = [
        {"params": [*heads.means, *heads.spreads.parameters()]},
        {"params": [heads.log_scale, heads.bias], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, config.learning_rate, config.steps, pct_start=0.1)
    for step in range(config.steps):
        optimizer.zero_grad()
        batch = draw(material, config.captioned, config.named, config.level_shares, rng)
        objective(heads, batch, config, rng).backward()
        optimizer.step()
        schedule.step()
        if step % 25 == 24:
            on_progress(step + 1, config.steps, "training the heads")
    return heads.eval()


def objective(heads: MiniHeads, batch: Batch, config: MiniProlipConfig, rng: Generator) -> Tensor:
    """ProLIP's objective, and the exact inclusion of images in their own caption and not in another image's."""
    images, texts = heads(batch.images, 0), heads(batch.texts, 1)
    masked = heads(batch.crops, 0), heads(batch.vaguer, 1)
    logits = {"scale": heads.scale, "bias": heads.bias}
    loss: ProlipLoss = prolip_loss(images, texts, *masked, batch.where, **logits, weights=config.weights)
    images, own = images[: batch.captioned], texts[: batch.captioned]
    shift = int(torch.randint(1, batch.captioned, (), generator=rng))
    foreign = own[torch.arange(batch.captioned).roll(shift)]
    contrast = [
        inclusion_loss(inner, outer, scale=config.contrast_scale, exact=True)
        for inner, outer in ((images, own), (foreign, images))  # H(a ⊂ b) = −H(b ⊂ a)
    ]
    return loss.total + config.contrast * torch.stack(contrast).sum()


def held_out_figures(encoder: MiniProlip, captioned: Sequence[Captioned]) -> Figures:
    """What `caption_figures` says of images with captions, and how often an image lies in a crop of a quarter."""
    rng = torch.Generator().manual_seed(0)
    whole, crops = [], []
    for batch in batches(captioned):
        pixels = torch.stack([encoder.preprocess(read_image(entry.path)) for entry in batch])
        whole.append(encoder.encode_gaussians(pixels))
        crops.append(encoder.encode_gaussians(pixels, KEPT, rng))
    images = ProlipEmbeddings.joined(whole)
    levels = [encoder.text_gaussians([entry.texts[k] for entry in captioned]) for k in range(LEVELS)]
    chains = [entry.texts for entry in captioned]
    figures = caption_figures(images, levels, chains, encoder.text_gaussians([""]))
    inside = log_inclusion(images, ProlipEmbeddings.joined(crops)) > 0
    return figures | {"in_own_crop": float(inside.double().mean())}


def write_card(path: Path, config: MiniProlipConfig, figures: Figures, named: int, captioned: int) -> None:
    """What the shipped heads are made of, for whoever wonders."""
    lines = [
        "# mini-prolip: an offline ProLIP",
        "",
        "- Towers, frozen: mini's, timm `tf_efficientnet_lite0` (ImageNet-1k) and `all-MiniLM-L6-v2`.",
        f"- Mean heads: linear, no bias, D = {EMBEDDING_SIZE}, from mini's. log σ²: one "
        f"hidden layer of {config.hidden}.",
        f"- Data: {captioned} COCO photos with their HierarCaps captions, general to specific; {named} ImageNet "
        "photos, one a class, with their class names.",
        f"- The last {config.hold_out} captioned rows were held out. PACS was not used.",
        "- Loss: ProLIP's objective (contrastive, inclusion, variational), and −log σ(±c·H) of the exact inclusion of "
        "an image in its own caption (+) and in another image's (−), which the published objective does not have.",
        "- Masked images: crops of a quarter. Masked texts: a more general caption of the image, or a quarter of the "
        "words.",
        "- Curvature (A, B, n) of the mean heads: the same images, each with its name or most specific caption, one "
        "block.",
        f"- Settings: {asdict(config)}.",
        "",
        "| figure, on the rows held out | value |",
        "|---|---|",
        *(f"| {name.replace('_', ' ')} | {value:.3f} |" for name, value in figures.items()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _dropped(x: Tensor, share: float, rng: Generator) -> Tensor:
    """Dropout that draws from a generator of its own."""
    return x * (torch.rand(x.shape, generator=rng) >= share) / (1 - share)


def _new_spread(config: MiniProlipConfig, size: float, inputs: int, rng: Generator) -> Spread:
    """One that gives log σ² = `config.start` and little else."""
    spread = Spread(inputs, config.hidden, size)
    nn.init.normal_(spread.hidden.weight, std=(3 * inputs) ** -0.5, generator=rng)
    nn.init.zeros_(spread.hidden.bias)
    nn.init.normal_(spread.output.weight, std=0.01, generator=rng)
    nn.init.constant_(spread.output.bias, config.start)
    return spread
