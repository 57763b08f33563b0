"""Train mini's two heads and logit scale on image–text pairs, and estimate their curvature from the same pairs.

Loss: KL to the image tower's own ImageNet classifier, read through the class names' texts, plus InfoNCE on captions.
Axes: n images of a batch · V views of an image · T texts or templates · D embedding size · p, p' inputs of the heads.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, kl_div, normalize

from core.data.pairs import Captioned, Named, read_pairs
from core.encoders.mini import (
    CURVATURE_FILE,
    EMBEDDING_SIZE,
    HEADS_FILE,
    IMAGE_HEAD_KEY,
    LOGIT_SCALE_KEY,
    TEXT_HEAD_KEY,
    build_mini,
    imagenet_classifier,
    load_mini,
)
from core.encoders.openclip import OpenClipEncoder
from core.errors import InputError
from core.images import read_image
from core.posterior.curvature import add_pairs, halved, no_pairs, save_factors
from core.tensorfile import write_atomically
from core.values import Features, Heads, KroneckerFactors, Progress, silent

logger = logging.getLogger(__name__)

TEMPLATES = ("{}", "a photo of a {}", "a drawing of a {}", "a picture of the {}", "an image of one {} in a scene")
ENCODE_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniConfig:
    """How the heads are trained."""

    steps: int = 1500
    batch: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    dropout: float = 0.2  # of the image activations
    temperature: float = 1.0  # of the teacher; above 1 the model grows too shy to need a posterior
    hold_out: int = 200  # last rows of captions.csv, never seen
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Pairs:
    """Everything training reads: activations, encoded once."""

    images: Tensor  # [V, n, p] plain and mirrored, named images first, then captioned ones
    teacher: Tensor  # [V, n, 1000] the classifier's logits
    names: Tensor  # [T, 1000, p'] class names under every template, in ImageNet's order
    captions: list[Tensor]  # per captioned image: [its captions, p']
    matching: Tensor  # [n, p'] one text per image: its name or its most specific caption

    @property
    def named(self) -> int:
        return self.images.shape[1] - len(self.captions)


def train_mini(
    folders: Sequence[Path],
    *,
    heads_file: Path = HEADS_FILE,
    curvature_file: Path = CURVATURE_FILE,
    config: MiniConfig = MiniConfig(),
    on_progress: Progress = silent,
) -> dict[str, float]:
    """Train, save heads, curvature and the card beside them; returns the figures written on the card."""
    captioned, named = read_pairs(folders, config.hold_out)
    if len(named) < 2 or not captioned:
        raise InputError("training mini needs a folder with labels.csv (ImageNet names) and one with captions.csv")
    encoder = OpenClipEncoder("mini", *build_mini())
    pairs = encode_pairs(encoder, captioned, named, on_progress)
    heads, figures = train_heads(pairs, config, on_progress)
    write_atomically(
        heads_file,
        {
            IMAGE_HEAD_KEY: heads.image,
            TEXT_HEAD_KEY: heads.text,
            LOGIT_SCALE_KEY: torch.tensor(heads.scale).log(),
        },
    )
    image, text = curvature(pairs, heads)
    fingerprint = load_mini(heads=heads_file).fingerprint
    save_factors(curvature_file, image, text, {"fingerprint": fingerprint, "model": "mini"})
    figures |= _held_out(encoder, folders, captioned, config, heads)
    write_card(heads_file.parent / "CARD.md", config, figures, len(named), len(captioned))
    return figures


def encode_pairs(
    encoder: OpenClipEncoder, captioned: list[Captioned], named: list[Named], on_progress: Progress = silent
) -> Pairs:
    """Towers run once over every image, plain and mirrored, and every text."""
    images = _encode_images(encoder, [entry.path for entry in [*named, *captioned]], on_progress)
    weight, bias = imagenet_classifier()
    classes = _class_names(named)
    names = torch.stack([encoder.encode_texts([t.format(name) for name in classes]).activations for t in TEMPLATES])
    texts = [text for entry in captioned for text in entry.texts]
    captions = list(encoder.encode_texts(texts).activations.split([len(entry.texts) for entry in captioned]))
    of_named = encoder.encode_texts([TEMPLATES[1].format(entry.class_name) for entry in named]).activations
    matching = torch.cat([of_named, torch.stack([levels[-1] for levels in captions])])
    return Pairs(images, images @ weight.T + bias, names, captions, matching)


def train_heads(
    pairs: Pairs, config: MiniConfig = MiniConfig(), on_progress: Progress = silent
) -> tuple[Heads, dict[str, float]]:
    """The heads after `config.steps` of AdamW on a one-cycle schedule, and the mean of the last 50 losses."""
    rng = torch.Generator().manual_seed(config.seed)
    torch.manual_seed(config.seed)  # dropout knows no generator
    image = nn.Parameter(_start(pairs.images.shape[-1], rng))
    text = nn.Parameter(_start(pairs.names.shape[-1], rng) * 5)
    log_scale = nn.Parameter(torch.tensor(1 / 0.07).log())
    groups = [{"params": [image, text]}, {"params": [log_scale], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, config.learning_rate, config.steps, pct_start=0.1)
    history = []
    for step in range(config.steps):
        scale = log_scale.exp().clamp(max=100)
        parts = (
            _distillation(pairs, image, text, scale, config, rng),
            _contrast(pairs, image, text, scale, config, rng),
        )
        optimizer.zero_grad()
        sum(parts).backward()
        optimizer.step()
        schedule.step()
        history.append([part.item() for part in parts])
        if step % 50 == 49:
            on_progress(step + 1, config.steps, "training the heads")
    last = torch.tensor(history[-50:]).mean(dim=0)
    heads = Heads(image.detach(), text.detach(), float(log_scale.detach().exp().clamp(max=100)))
    return heads, {"distillation_kl": float(last[0]), "contrastive_loss": float(last[1]), "logit_scale": heads.scale}


def curvature(pairs: Pairs, heads: Heads) -> tuple[KroneckerFactors, KroneckerFactors]:
    """(image, text) factors from every training image with its text, one softmax block over all of them."""
    sums = add_pairs(no_pairs(heads), Features(pairs.images[0]), Features(pairs.matching), heads)
    image, text = (halved(side.factors()) for side in sums)
    return image, text


def _start(size: int, rng: torch.Generator) -> Tensor:
    return torch.randn(EMBEDDING_SIZE, size, generator=rng) / size**0.5


def _distillation(pairs: Pairs, image: Tensor, text: Tensor, scale: Tensor, config: MiniConfig, rng) -> Tensor:
    """KL from the classifier to the model on activations mixed by pairs: the classifier is linear, so it can tell."""
    views, n, _ = pairs.images.shape
    pick = torch.randint(views * n, (2, config.batch), generator=rng)
    share = torch.rand(config.batch, 1, generator=rng)
    share = torch.where(torch.rand(config.batch, 1, generator=rng) < 0.5, 1.0, share)
    x, logits = pairs.images.flatten(0, 1), pairs.teacher.flatten(0, 1)
    mixed, taught = (share * part[pick[0]] + (1 - share) * part[pick[1]] for part in (x, logits))
    names = pairs.names[int(torch.randint(len(pairs.names), (), generator=rng))]
    own = scale * _cosines(dropout(mixed, config.dropout), image, names, text)
    teacher = (taught / config.temperature).log_softmax(dim=1)
    return kl_div(own.log_softmax(dim=1), teacher, log_target=True, reduction="batchmean")


def _contrast(pairs: Pairs, image: Tensor, text: Tensor, scale: Tensor, config: MiniConfig, rng) -> Tensor:
    """InfoNCE both ways between captioned images, a random view each, and one random caption of each."""
    pick = torch.randperm(len(pairs.captions), generator=rng)[: config.batch]
    view = torch.randint(len(pairs.images), (len(pick),), generator=rng)
    phi = dropout(pairs.images[view, pairs.named + pick], config.dropout)
    levels = [pairs.captions[i] for i in pick.tolist()]
    psi = torch.stack([rows[int(torch.randint(len(rows), (), generator=rng))] for rows in levels])
    logits, own = scale * _cosines(phi, image, psi, text), torch.arange(len(pick))
    return (cross_entropy(logits, own) + cross_entropy(logits.T, own)) / 2


def _cosines(phi: Tensor, image: Tensor, psi: Tensor, text: Tensor) -> Tensor:
    return normalize(phi @ image.T, dim=1) @ normalize(psi @ text.T, dim=1).T


def _class_names(named: list[Named]) -> list[str]:
    names = {entry.class_index: entry.class_name for entry in named}
    if missing := sorted(set(range(1000)) - names.keys()):
        raise InputError(f"labels.csv names {1000 - len(missing)} of ImageNet's 1,000 classes; missing: {missing[:5]}…")
    return [names[index] for index in range(1000)]


def _encode_images(encoder: OpenClipEncoder, paths: list[Path], on_progress: Progress) -> Tensor:
    views: tuple[list[Tensor], list[Tensor]] = ([], [])
    for start in range(0, len(paths), ENCODE_BATCH):
        pixels = torch.stack([encoder.preprocess(read_image(path)) for path in paths[start : start + ENCODE_BATCH]])
        for view, turned in zip(views, (pixels, pixels.flip(-1)), strict=True):
            view.append(encoder.encode_images(turned).activations)
        on_progress(min(start + ENCODE_BATCH, len(paths)), len(paths), "encoding training images")
    return torch.stack([torch.cat(view) for view in views])


def _held_out(encoder, folders, captioned, config: MiniConfig, heads: Heads) -> dict[str, float]:
    """Recall@1 among the captions held out: image → its most specific caption."""
    everything, _ = read_pairs(folders)
    unseen = everything[len(captioned) :]
    if not config.hold_out or not unseen:
        return {}
    images = _encode_images(encoder, [entry.path for entry in unseen], silent)[0]
    texts = encoder.encode_texts([entry.texts[-1] for entry in unseen]).activations
    best = _cosines(images, heads.image, texts, heads.text).argmax(dim=1)
    return {f"recall_at_1_of_{len(unseen)}_held_out": float((best == torch.arange(len(unseen))).float().mean())}


def write_card(path: Path, config: MiniConfig, figures: dict[str, float], named: int, captioned: int) -> None:
    """What the shipped heads are made of, for whoever wonders."""
    lines = [
        "# mini: Penumbra's offline vision–language model",
        "",
        "- Towers, frozen: timm `tf_efficientnet_lite0` (ImageNet-1k) and `all-MiniLM-L6-v2`; heads: linear, no bias, "
        f"D = {EMBEDDING_SIZE}.",
        f"- Data: {named} ImageNet photos, one a class, with their class names; {captioned} COCO photos with their "
        "HierarCaps captions, general to specific.",
        f"- The last {config.hold_out} captioned rows were held out. PACS was not used.",
        "- Loss: KL to the image tower's own ImageNet classifier over the 1,000 class names + InfoNCE on captions.",
        "- Curvature (A, B, n) of both heads: the same images, each with its name or most specific caption, one block.",
        f"- Settings: {asdict(config)}.",
        "",
        "| figure | value |",
        "|---|---|",
        *(f"| {name.replace('_', ' ')} | {value:.3f} |" for name, value in figures.items()),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
