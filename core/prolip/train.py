"""Train a ProLIP on image–text pairs, from scratch or from a checkpoint, in one process or in several.

AdamW, linear warm-up and a cosine to 0; a part of each batch is encoded once more with most of it masked. Each process
encodes its share of a batch; the objective is of the whole batch everywhere, so it does not depend on their number.
Axes: n pairs of this process's share · N of the batch · k, K of them masked · D embedding size.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import normalize

from core.data.pairs import PairStream
from core.errors import Cancelled, InputError, ModelError
from core.prolip import checkpoint
from core.prolip.checkpoint import Standing
from core.prolip.losses import TERMS, LossWeights, ProlipLoss, prolip_loss
from core.prolip.model.files import write_model
from core.prolip.model.model import Prolip
from core.prolip.team import ALONE, Team
from core.prolip.training_data import PUBLISHED_MASKING, Batch, Masking, Reader, Tokenizer, plan
from core.values import Progress, ProlipEmbeddings, silent

logger = logging.getLogger(__name__)

LARGEST_SCALE = math.log(100)
LOG = "log.jsonl"  # a line of figures every LOGGED steps
LOGGED = 10
PUBLISHED_WEIGHTS = LossWeights()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """How a ProLIP is trained. Raises InputError for what cannot be."""

    steps: int
    batch: int = 512  # pairs of all processes
    learning_rate: float = 5e-4
    warmup: int = 0  # steps
    weight_decay: float = 0.2
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0  # largest norm of the gradient
    masking: Masking = PUBLISHED_MASKING
    weights: LossWeights = PUBLISHED_WEIGHTS
    smallest_crop: float = 0.9  # share of an image's area
    amp: bool = True  # half precision on a GPU
    seed: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 2 or not 0 <= self.warmup <= self.steps:
            raise InputError(
                f"training needs 1 step or more, 2 pairs or more a batch and a warm-up within the steps: "
                f"{self.steps}, {self.batch} and {self.warmup} came"
            )
        if not (self.learning_rate > 0 and self.clip > 0 and self.weight_decay >= 0):
            raise InputError("learning rate and clipping norm are above 0, weight decay is not below")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0: a line up to the warm-up's end, then half a cosine."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainee:
    """A model with what makes its inputs."""

    model: Prolip
    tokenizer: Tokenizer
    preprocess: Callable[[Image.Image], Tensor]


@dataclass(frozen=True, slots=True)
class Trained:
    """Where the weights are, how many steps were taken in all, and the last batch's loss."""

    folder: Path
    steps: int
    loss: float


def train(
    trainee: Trainee,
    stream: PairStream,
    out: Path,
    config: TrainConfig,
    *,
    team: Team = ALONE,
    resume: bool = False,
    save_every: int = 1000,
    threads: int = 2,
    on_progress: Progress = silent,
) -> Trained:
    """Train, and leave in `out` what `local-dir:` loads, a checkpoint every `save_every` steps, and a log.

    With `resume` the run goes on from the checkpoint in `out` and takes the way of one that was not stopped. When
    `on_progress` raises Cancelled, where it stands is kept first. Raises InputError for data, settings or a checkpoint
    that cannot be used, ModelError where the loss is no number any more.
    """
    file, settings = out / checkpoint.FILE, json.dumps(asdict(config) | {"data": stream.identity})
    if file.exists() and not resume:
        raise InputError(f"{file} is there already: go on from it with --resume, or name a new folder")
    model = trainee.model.to(team.device).train()
    optimizer = torch.optim.AdamW(groups(model, config.weight_decay), lr=config.learning_rate, betas=config.betas)
    stand = checkpoint.restore(file, model, optimizer, settings) if resume else Standing(settings=settings)
    run = Run(model, optimizer, config, team)
    if stand.scaler:
        run.scaler.load_state_dict(stand.scaler)
    planned = plan(stream, config.batch, config.seed, stand.place)
    loss = math.nan
    with closing(reader(trainee, config, threads).batches(planned, team.share)) as batches:
        for step, batch in zip(range(stand.step, config.steps), batches, strict=False):
            terms = run.step(step, batch)
            loss = terms.total.item()
            stand = Standing(step + 1, batch.after, settings, run.scaler.state_dict())
            if team.leads:
                _after_step(out, file, run, stand, terms, save_every, on_progress)
    if team.leads:
        write_model(out, model)
        _write_tokenizer(out, trainee.tokenizer)
    return Trained(out, stand.step, loss)


class Run:
    """One step of the optimiser at a time."""

    def __init__(self, model: Prolip, optimizer: torch.optim.AdamW, config: TrainConfig, team: Team):
        self.model, self.optimizer, self.config, self.team = model, optimizer, config, team
        cuda = config.amp and team.device.type == "cuda"
        self.half = torch.bfloat16 if cuda and torch.cuda.is_bf16_supported() else torch.float16
        self.amp = cuda
        self.scaler = torch.amp.GradScaler("cuda", enabled=cuda and self.half is torch.float16)

    def step(self, step: int, batch: Batch) -> ProlipLoss:
        """Learn from one batch; gradients are summed over the team before they are clipped."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.rate(step)
        self.optimizer.zero_grad()
        terms = self.loss(batch)
        if not terms.total.isfinite():
            raise ModelError(
                f"the loss is no number any more at step {step + 1}: go on from the last checkpoint in a new folder "
                "with a smaller learning rate"
            )
        self.differentiate(self.scaler.scale(terms.total))
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        with torch.no_grad():
            self.model.logit_scale.clamp_(0, LARGEST_SCALE)
        return terms

    def differentiate(self, total: Tensor) -> None:
        """The gradient of the whole batch's loss, in every process: each has a share of the rows to go through."""
        total.backward()
        for whole in (self.model.logit_scale, self.model.logit_bias):  # every process has all of their gradient
            if whole.grad is not None:
                whole.grad /= self.team.size
        self.team.add_up(self.model.parameters())

    def loss(self, batch: Batch) -> ProlipLoss:
        """The objective of the whole batch; gradients reach this process's share of it."""
        device, masked = self.team.device, batch.masked
        self._check(batch.tokens)
        pixels, tokens = batch.pixels.to(device), batch.tokens.to(device)
        images, texts = self._encode(pixels, tokens)
        twins = images[:0], texts[:0]
        if len(masked):
            masked = masked.to(device)
            twins = self._encode(pixels[masked], batch.masked_tokens.to(device), batch.patches.to(device))
        rows = self.team.joined(batch.rows.to(device))
        own = self.team.joined(batch.rows[batch.masked].to(device))  # rows of the masked
        position = {row: place for place, row in enumerate(rows.tolist())}
        images, texts, masked_images, masked_texts = (self._joined(side) for side in (images, texts, *twins))
        return prolip_loss(
            images,
            texts,
            masked_images,
            masked_texts,
            masked_index=torch.tensor([position[row] for row in own.tolist()], dtype=torch.int64, device=device),
            scale=self.model.logit_scale.exp(),
            bias=self.model.logit_bias,
            weights=self.config.weights,
        )

    def _check(self, tokens: Tensor) -> None:
        """Raises ModelError for tokens of another vocabulary than the model's."""
        known, largest = self.model.text.token_embedding.num_embeddings, int(tokens.max())
        if largest >= known:
            raise ModelError(
                f"the tokenizer counts up to {largest:,} and this model knows {known:,} tokens: name a tokenizer "
                "that fits in its config.json, or make its vocabulary larger"
            )

    def _encode(
        self, pixels: Tensor, tokens: Tensor, patches: Tensor | None = None
    ) -> tuple[ProlipEmbeddings, ProlipEmbeddings]:
        """Images and texts: the towers in half precision on a GPU, the heads never, log σ² would be too coarse."""
        towers, full = (self.model.visual, self.model.text), self.model.logit_scale.dtype
        with torch.autocast(self.team.device.type, self.half, enabled=self.amp):
            hidden = towers[0](pixels, patches), towers[1](tokens)
        images, texts = (tower.heads(each.to(full)) for tower, each in zip(towers, hidden, strict=True))
        return _gaussians(*images), _gaussians(*texts)

    def _joined(self, side: ProlipEmbeddings) -> ProlipEmbeddings:
        """The Gaussians of all processes."""
        both = self.team.joined(torch.cat([side.mean, side.log_variance], dim=1))
        return ProlipEmbeddings(*both.chunk(2, dim=1))


def _gaussians(mean: Tensor, log_variance: Tensor) -> ProlipEmbeddings:
    return ProlipEmbeddings(normalize(mean, dim=1), log_variance)


def groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Parameters for the optimiser: matrices decay; gains, biases, single tokens and the logit map do not."""
    parameters = list(model.parameters())
    return [
        {"params": [each for each in parameters if each.ndim > 1], "weight_decay": weight_decay},
        {"params": [each for each in parameters if each.ndim < 2], "weight_decay": 0.0},
    ]


def steps_of(stream: PairStream, epochs: int, batch: int) -> int:
    """How many steps about so many epochs take."""
    return max(1, epochs * max(1, stream.expected() // batch))


def reader(trainee: Trainee, config: TrainConfig, threads: int) -> Reader:
    """What makes the batches of a run."""
    return Reader(
        preprocess=trainee.preprocess,
        tokenizer=trainee.tokenizer,
        draw_patches=trainee.model.visual.draw_patches,
        masking=config.masking,
        smallest_crop=config.smallest_crop,
        seed=config.seed,
        threads=threads,
    )


def _after_step(
    out: Path, file: Path, run: Run, stand: Standing, terms: ProlipLoss, save_every: int, on_progress: Progress
) -> None:
    steps = run.config.steps
    if stand.step % LOGGED == 0 or stand.step == steps:
        _log(out, stand.step, run.config.rate(stand.step - 1), terms)
    if stand.step % save_every == 0 or stand.step == steps:
        checkpoint.save(file, run.model, run.optimizer, stand)
    try:
        on_progress(stand.step, steps, "training")
    except Cancelled:
        checkpoint.save(file, run.model, run.optimizer, stand)
        raise


def _log(out: Path, step: int, rate: float, terms: ProlipLoss) -> None:
    figures = {name: getattr(terms, name).item() for name in ("total", *TERMS)}
    line = {"step": step, "learning_rate": rate, **figures, "ignored": list(terms.ignored)}
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def _write_tokenizer(out: Path, tokenizer: Tokenizer) -> None:
    """Beside the weights, so that they load without a network; CLIP's comes with open_clip."""
    if inner := getattr(tokenizer, "tokenizer", None):
        inner.save_pretrained(out)
