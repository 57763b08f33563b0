"""The text tower: tokens, then [UNC] and [CLS]; every token sees every other.

Axes: n texts · L tokens of a text · D joint embedding size.
"""

from __future__ import annotations

from functools import partial

import torch
from open_clip.transformer import LayerNorm, QuickGELU, Transformer
from torch import Tensor, nn

from core.prolip.model.configs import TextConfig

TOKENS = 2  # [UNC], [CLS]


class TextTower(nn.Module):
    """Tokens → what enters the mean head; the names of its tensors are the official ones."""

    def __init__(self, config: TextConfig, embed_dim: int, quick_gelu: bool = False):
        super().__init__()
        self.config = config
        width = config.width
        norm = partial(LayerNorm, eps=config.eps)
        self.token_embedding = nn.Embedding(config.vocab_size, width)
        self.cls_emb = nn.Parameter(0.01 * torch.randn(width))
        self.unc_emb = nn.Parameter(0.01 * torch.randn(width))
        self.positional_embedding = nn.Parameter(0.01 * torch.randn(config.context_length + TOKENS, width))
        self.transformer = Transformer(
            width,
            config.layers,
            config.heads,
            config.mlp_ratio,
            act_layer=QuickGELU if quick_gelu else nn.GELU,
            norm_layer=norm,
        )
        self.ln_final = norm(width)
        self.text_projection = nn.Linear(width, embed_dim)
        self.text_uncertainty_projection = nn.Linear(embed_dim, embed_dim)
        self._initialise()

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [n, L] → inputs of the mean head [n, width]."""
        x = self.token_embedding(tokens)
        behind = torch.stack([self.unc_emb, self.cls_emb]).expand(len(x), -1, -1)
        x = torch.cat([x, behind], dim=1)
        x = self.transformer(x + self.positional_embedding[: x.shape[1]])
        return self.ln_final(x[:, -1])

    def heads(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, not normalised, and log σ², both [n, D], of what `forward` gave.

        The official weights were trained to read log σ² from the projected mean: [UNC]'s own output goes unused.
        """
        mean = self.text_projection(hidden)
        return mean, self.text_uncertainty_projection(mean)

    def _initialise(self) -> None:
        scale, depth = self.config.width**-0.5, (2 * self.config.layers) ** -0.5
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        for block in self.transformer.resblocks:
            nn.init.normal_(block.attn.in_proj_weight, std=scale)
            nn.init.normal_(block.attn.out_proj.weight, std=scale * depth)
            nn.init.normal_(block.mlp.c_fc.weight, std=(2 * self.config.width) ** -0.5)
            nn.init.normal_(block.mlp.c_proj.weight, std=scale * depth)
        for head, bias in ((self.text_projection, 0.0), (self.text_uncertainty_projection, self.config.init_unc_bias)):
            nn.init.normal_(head.weight, std=scale)
            nn.init.constant_(head.bias, bias)
