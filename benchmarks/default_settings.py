"""The app's default, EPIG with ρ = 10, against other settings and forms of it, on a labelled folder.

    python -m benchmarks.default_settings ~/pacs --targets sketch,cartoon,art_painting,photo --seeds 5

Each line: a variant's test accuracy averaged over the rounds, targets and seeds, and its paired difference to the
default with the standard error. The figures of docs/default.md come from here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from core.acquisition.bald import label_information
from core.acquisition.table import Acquisition
from core.finetune import FinetuneConfig, Trained
from core.kernel import Kernel, slices
from core.selection import GreedyRanker
from core.simulation.curve import SimulationConfig, curve
from core.simulation.images import Images, load_images
from core.simulation.strategies import STRATEGIES, Pick, Setting, Strategy, strategy


class VarianceReduction(GreedyRanker):
    """Σ over targets of tr(J_* S)·κ'(x, x*)²/(κ'(x, x) + noise): what a label takes off their variance (Cohn 1996)."""

    def scores(self) -> torch.Tensor:
        assert self._targeted is not None
        return self._targeted / (self.variances() + 1 / self.base.precision.clamp_min(1e-30))


def by_reduction(s: Setting, n: int) -> list[int]:
    kernel = Kernel.before_answers(s.posterior, s.features, s.targets, s.texts, s.rho)
    weight = label_information(kernel.target_probs, kernel.S).div(len(kernel.target_rows)).sqrt()
    weight = weight.expand(len(kernel), -1).contiguous()
    gain, directions = torch.empty_like(weight), kernel.unwhiten(kernel.target_rows)
    for part in slices(len(kernel), kernel.rows):
        torch.mul(kernel.covariance(part, directions), weight[part], out=gain[part])
    ranker = VarianceReduction(kernel, Acquisition.EPIG, pairs=(weight, gain))
    ranker.condition(s.taken)
    return ranker.pick(n, s.taken)


def changed(change: Callable[[torch.Tensor], torch.Tensor]) -> Pick:
    """EPIG with other predictive probabilities in J."""

    def pick(s: Setting, n: int) -> list[int]:
        kernel = Kernel.before_answers(s.posterior, s.features, s.targets, s.texts, s.rho)
        probs, target_probs = change(kernel.probs), change(kernel.target_probs)
        told = label_information(probs, kernel.S) / label_information(kernel.probs, kernel.S).clamp_min(1e-30)
        kernel = replace(kernel, probs=probs, target_probs=target_probs, precision=kernel.precision * told)
        ranker = GreedyRanker.of(kernel, Acquisition.EPIG)
        ranker.condition(s.taken)
        return ranker.pick(n, s.taken)

    return pick


def tempered(T: float) -> Pick:
    return changed(lambda probs: (probs.clamp_min(1e-9).log() / T).softmax(dim=1))


def at_tau(tau: float) -> Pick:
    return lambda s, n: strategy("epig").pick(replace(s, posterior=s.posterior.with_tau(tau)), n)


PICKS: dict[str, Pick] = {
    "variance reduction instead of EPIG": by_reduction,
    "J at p sharpened (T = ½)": tempered(0.5),
    "J at p softened (T = 2)": tempered(2.0),
    "J at 0.7 p + 0.3/C": changed(lambda probs: 0.7 * probs + 0.3 / probs.shape[1]),
    "κ at τ = 1": at_tau(1.0),
    "κ at τ = 10": at_tau(10.0),
    "κ at τ = 100": at_tau(100.0),
}
FINETUNES: dict[str, dict] = {
    "prior τ 0.001": {"prior_tau": 0.001},
    "prior τ 0.1": {"prior_tau": 0.1},
    "class balance ½": {"class_balance": 0.5},
    "class balance 1": {"class_balance": 1.0},
    "learning rate 3e-4": {"learning_rate": 3e-4},
    "learning rate 3e-3": {"learning_rate": 3e-3},
    "both heads learn": {"head": Trained.BOTH},
}


def variants() -> dict[str, tuple[Pick | None, SimulationConfig]]:
    """What is compared, the default first."""
    default = SimulationConfig()
    found: dict[str, tuple[Pick | None, SimulationConfig]] = {"default": (None, default)}
    found |= {f"ρ = {rho:g}": (None, replace(default, rho=rho)) for rho in (3.0, 30.0)}
    found |= {name: (pick, default) for name, pick in PICKS.items()}
    for name, change in FINETUNES.items():
        learning = replace(default.learning, finetune=replace(FinetuneConfig(), **change))
        found[name] = (None, replace(default, learning=learning))
    found["validation labels unused"] = (None, replace(default, validation="unused"))
    return found


def average(images: Images, target: str | None, seed: int, pick: Pick | None, config: SimulationConfig) -> float:
    tried = Strategy("tried", "", "", "", pick or strategy("epig").pick)
    with patch.dict(STRATEGIES, tried=tried):
        points = list(curve(images, target, "tried", seed, config))
    return float(np.mean([point.figures["accuracy"] for point in points if point.round]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--targets", default="", help="domains, with commas between; default: all images")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    images = load_images(args.folder, target=None)
    cases = [(target or None, seed) for target in args.targets.split(",") for seed in range(args.seeds)]
    default: np.ndarray | None = None
    for name, (pick, config) in variants().items():
        found = np.array([average(images, *case, pick, config) for case in cases])
        default = found if default is None else default
        apart = found - default
        error = apart.std(ddof=1) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")
        print(f"{name:36s} {found.mean():.3f}  {apart.mean():+.3f} ± {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
