"""The image tower: patches behind [CLS] and [UNC], all or a part of them.

Axes: n images · G patches of an image · K patches kept · D joint embedding size.
"""

from __future__ import annotations

from functools import partial

import torch
from open_clip.transformer import LayerNorm, QuickGELU, Transformer
from torch import Tensor, nn

from core.prolip.model.configs import VisionConfig

TOKENS = 2  # [CLS], [UNC]


class VisionTower(nn.Module):
    """Pixels → what enters the two heads; the names of its tensors are the official ones."""

    def __init__(self, config: VisionConfig, embed_dim: int, quick_gelu: bool = False):
        super().__init__()
        self.config = config
        width, scale = config.width, config.width**-0.5
        norm = partial(LayerNorm, eps=config.eps)
        self.conv1 = nn.Conv2d(3, width, config.patch_size, config.patch_size, bias=False)
        self.class_embedding = nn.Parameter(scale * torch.randn(width))
        self.unc_embedding = nn.Parameter(0.01 * torch.randn(width))
        self.positional_embedding = nn.Parameter(scale * torch.randn(TOKENS + config.patches, width))
        self.ln_pre = norm(width)
        self.transformer = Transformer(
            width,
            config.layers,
            config.heads,
            config.mlp_ratio,
            act_layer=QuickGELU if quick_gelu else nn.GELU,
            norm_layer=norm,
        )
        self.ln_post = norm(width)
        self.proj = nn.Parameter(scale * torch.randn(width, embed_dim))
        self.uncertainty_proj = nn.Linear(width, embed_dim)
        nn.init.normal_(self.uncertainty_proj.weight, std=scale)
        nn.init.constant_(self.uncertainty_proj.bias, config.init_unc_bias)

    def forward(self, pixels: Tensor, patches: Tensor | None = None) -> Tensor:
        """Pixels [n, 3, h, w] → inputs of the mean and the log-variance head [n, 2, width].

        `patches` [K] or [n, K] are the positions of those that are seen, row by row from the top; None: all.
        """
        x = self.conv1(pixels).flatten(2).transpose(1, 2)  # [n, G, width]
        positions = self.positional_embedding[TOKENS:].expand(len(x), -1, -1)
        if patches is not None:
            index = patches.expand(len(x), -1)[..., None].expand(-1, -1, x.shape[2])
            x, positions = x.gather(1, index), positions.gather(1, index)  # [n, K, width]
        front = torch.stack([self.class_embedding, self.unc_embedding]) + self.positional_embedding[:TOKENS]
        x = torch.cat([front.expand(len(x), -1, -1), x + positions], dim=1)
        x = self.ln_post(self.transformer(self.ln_pre(x))[:, :TOKENS])
        mean, doubt = x.unbind(dim=1)
        # The official weights were trained with this norm applied twice to [CLS], and once to [UNC].
        return torch.stack([self.ln_post(mean), doubt], dim=1)

    def heads(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, not normalised, and log σ², both [n, D], of what `forward` gave."""
        mean, doubt = hidden.unbind(dim=1)
        return mean @ self.proj, self.uncertainty_proj(doubt)

    def draw_patches(self, n: int, keep: float, generator: torch.Generator | None = None) -> Tensor:
        """Positions [n, K] of ⌊keep·G⌋ patches, 1 or more, drawn for each image without replacement.

        From one state of the generator a smaller share is a part of a larger one. Raises ValueError for keep ∉ (0, 1].
        """
        if not 0 < keep <= 1:
            raise ValueError(f"a share of the patches in (0, 1] can be kept, not {keep}")
        kept = max(1, int(keep * self.config.patches))
        order = torch.rand(n, self.config.patches, generator=generator).argsort(dim=1)
        return order[:, :kept].sort(dim=1).values
