"""Where a model's last linear maps are, and how to catch what enters them: one table of specs (MATH.md §1).

Axes: n batch · p input of a head, bias column included · D joint embedding size.

What open_clip applies after a head, and what becomes of it here:
- CoCa normalises its embeddings unless told not to: it is told (`normalize=False`); the cosine is the same.
- SigLIP's attention pool adds the head's output to what entered its MLP: kept as the residual, g = P[φ; 1] + r.
- Attention pools with a projection choose the first token after it: chosen before, which is the same for a linear map.
- The logit scale and bias follow the cosine: `Heads.scale` and `Heads.bias`.
Anything else after the head is found on the first batch and refused (`NoLinearHead`). Layer scales, final norms and the
patch and class tokens' norms of every family come before the head and need nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from core.errors import NoLinearHead
from core.values import Features

TOLERANCE = 0.02  # of the largest embedding entry: half precision stays below, a norm or a second layer does not


@dataclass(frozen=True, slots=True)
class HeadSpec:
    """The path of a tower's last linear map, a layer or a bare matrix [p, D].

    `read`: the layer is never called, its owner reads its weights. `inside`: the module whose output is the head's
    plus a residual, and is the embedding.
    """

    path: str
    read: bool = False
    inside: str | None = None


IMAGE_HEADS = (
    HeadSpec("visual.proj"),  # ViT, CLIPA, CoCa
    HeadSpec("visual.attnpool.c_proj", read=True),  # ModifiedResNet: given to F.multi_head_attention_forward
    HeadSpec("visual.head.proj"),  # timm_proj "linear": ConvNeXt, ViTamin, Swin
    HeadSpec("visual.head.mlp.fc2"),  # timm_proj "mlp"
    HeadSpec("visual.head.pool.proj"),  # timm_pool "abs_attn" and "rot_attn", which end in a projection
    HeadSpec("visual.trunk.head"),  # no timm_proj: the trunk's own classifier (EVA, MobileCLIP-B and -L, PE)
    HeadSpec("visual.trunk.head.fc"),  # the same in FastViT (MobileCLIP-S) and ConvNeXt
    HeadSpec("visual.trunk.classifier"),  # the same in EfficientNet and MobileNet
    HeadSpec("visual.trunk.fc"),  # the same in ResNet
    HeadSpec("visual.trunk.attn_pool.mlp.fc2", inside="visual.trunk.attn_pool"),  # SigLIP
)
TEXT_HEADS = (
    HeadSpec("text_projection"),  # CLIP
    HeadSpec("text.text_projection"),  # CustomTextCLIP, CoCa, SigLIP
    HeadSpec("text.proj"),  # Hugging Face tower, "linear"
    HeadSpec("text.proj.2"),  # Hugging Face tower, "mlp": its last layer
)


class Tower:
    """Runs one tower and catches what enters its head.

    A head that is no called layer is taken out of the model here, so that the tower ends in what would enter it.
    Raises NoLinearHead, naming the model, here or on the first batch.
    """

    def __init__(self, name: str, model: nn.Module, run: Callable[[Tensor], Tensor], specs: Sequence[HeadSpec]):
        self.name, self.run = name, run
        self.spec, head = find_head(name, model, specs)
        self.weight, self.has_bias = head_weight(head)
        self.detached = self.spec.read or not isinstance(head, nn.Linear)
        self.proven = self.detached
        self._seen: dict[str, Tensor] = {}
        if self.detached:
            _take_out(model, self.spec, head)
        else:
            head.register_forward_pre_hook(lambda module, args: self._see("input", args[0]))
        if self.spec.inside:
            pool = _at(model, self.spec.inside)
            pool.register_forward_hook(lambda module, args, output: self._see("pooled", output))

    def __call__(self, x: Tensor) -> Features:
        """Token or pixel batch → features of n rows, float32, on the device of the tower."""
        try:
            return self._features(self.run(x))
        finally:
            self._seen.clear()

    def _features(self, output: Tensor) -> Features:
        entered = output if self.detached else self._caught()
        activations = (entered if entered.ndim == 2 else entered[:, 0]).float()  # [n, p]
        if self.has_bias:
            activations = torch.cat([activations, torch.ones_like(activations[:, :1])], dim=1)
        features = Features(activations)
        if not self.proven:
            self._prove(features, output)
        if self.spec.inside:
            features = Features(activations, output.float() - features.embed(self.weight))
        return features

    def _see(self, what: str, tensor: Tensor) -> None:
        self._seen[what] = tensor

    def _caught(self) -> Tensor:
        if "input" not in self._seen:
            raise NoLinearHead(f"{self.name}: {self.spec.path} is never called, so it is not what ends this tower")
        return self._seen["input"]

    def _prove(self, features: Features, output: Tensor) -> None:
        """That nothing follows the head, or the module around it; once, as it holds for every batch."""
        expected = self._seen["pooled"] if self.spec.inside else features.embed(self.weight)
        same = expected.shape == output.shape and _close(expected.float(), output.float())
        if not same:
            raise NoLinearHead(
                f"{self.name}: something is applied after {self.spec.inside or self.spec.path}, so the embedding is "
                "not linear in its weights and the model cannot be made probabilistic: use another model"
            )
        self.proven = bool(torch.isfinite(output).all())


def find_head(name: str, model: nn.Module, specs: Sequence[HeadSpec]) -> tuple[HeadSpec, nn.Linear | nn.Parameter]:
    """The first of `specs` that is a linear map in `model`; raises NoLinearHead, naming the model and the places."""
    for spec in specs:
        head = _at(model, spec.path)
        if isinstance(head, (nn.Linear, nn.Parameter)):
            return spec, head
    looked = ", ".join(spec.path for spec in specs)
    raise NoLinearHead(
        f"{name} ({type(model).__name__}) has no linear head at any of {looked}: it cannot be made probabilistic, "
        "use another model"
    )


def head_weight(head: nn.Linear | nn.Parameter) -> tuple[Tensor, bool]:
    """(weight [D, p] in float32, with the bias as its last column where there is one; whether there is one)."""
    if not isinstance(head, nn.Linear):
        return head.detach().T.float().contiguous(), False
    weight = head.weight.detach().float()
    if head.bias is None:
        return weight.clone(), False
    return torch.cat([weight, head.bias.detach().float()[:, None]], dim=1), True


def put_heads(name: str, model: nn.Module, image: Tensor, text: Tensor) -> None:
    """Other heads in place of the model's own: [D, p] each, a bias as the last column where the own head has one.

    Raises NoLinearHead.
    """
    for weight, specs in ((image, IMAGE_HEADS), (text, TEXT_HEADS)):
        _, head = find_head(name, model, specs)
        with torch.no_grad():
            if not isinstance(head, nn.Linear):
                head.copy_(weight.T)
                continue
            head.weight.copy_(weight[:, : head.in_features])
            if head.bias is not None:
                head.bias.copy_(weight[:, -1])


def _take_out(model: nn.Module, spec: HeadSpec, head: nn.Linear | nn.Parameter) -> None:
    """Without its head the tower gives what would have entered it, to the last bit."""
    owner, _, name = spec.path.rpartition(".")
    through = _identity(head) if isinstance(head, nn.Linear) else None
    setattr(_at(model, owner) if owner else model, name, through)


def _identity(head: nn.Linear) -> nn.Linear:
    """A layer [p, p] that changes nothing, for an owner that reads weights and biases."""
    like = {"device": head.weight.device, "dtype": head.weight.dtype}
    layer = nn.Linear(head.in_features, head.in_features, **like).requires_grad_(False)
    layer.weight.copy_(torch.eye(head.in_features, **like))
    layer.bias.zero_()
    return layer


def _at(model: nn.Module, path: str):
    """What is at a dotted path of `model`, or None."""
    found = model
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _close(expected: Tensor, output: Tensor) -> bool:
    """Also true where both overflowed: that batch is run again in full precision."""
    if not (torch.isfinite(expected).all() and torch.isfinite(output).all()):
        return True
    return bool((expected - output).abs().max() <= TOLERANCE * output.abs().max())
