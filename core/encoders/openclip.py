"""Any open_clip model as an `Encoder`: one class, and a table of where the linear heads are (MATH.md §1).

Axes: n batch · p input of a head, bias column included · D joint embedding size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from PIL import Image
from torch import Tensor, nn

from core.errors import ModelUnavailable, NoLinearHead
from core.values import Features, Heads

TEXT_BATCH = 256


@dataclass(frozen=True, slots=True)
class HeadSpec:
    """Where a tower keeps its last linear map; `residual`: something is added to what the head gives."""

    path: str
    residual: bool = False


IMAGE_HEADS = (
    HeadSpec("visual.proj"),
    HeadSpec("visual.head.proj"),
    HeadSpec("visual.trunk.attn_pool.mlp.fc2", residual=True),
)
TEXT_HEADS = (HeadSpec("text_projection"), HeadSpec("text.text_projection"), HeadSpec("text.proj"))


class _Tower:
    """Runs one tower and catches what enters its head. Parameter heads are detached from the model here."""

    def __init__(self, model: nn.Module, run: Callable[[Tensor], Tensor], specs: Sequence[HeadSpec]):
        self.run = run
        self.spec, owner, name = _find_head(model, specs)
        head = getattr(owner, name)
        if isinstance(head, nn.Linear):
            self.weight = _with_bias(head)
            self.has_bias = head.bias is not None
            head.register_forward_pre_hook(self._catch)
        else:
            self.weight = head.detach().T.float().contiguous()
            self.has_bias = False
            setattr(owner, name, None)
            self.run = lambda x: self._keep(run(x))
        self.caught: Tensor | None = None

    def _catch(self, module: nn.Module, args: tuple[Tensor, ...]) -> None:
        self.caught = args[0]

    def _keep(self, activations: Tensor) -> Tensor:
        self.caught = activations
        return activations

    def __call__(self, x: Tensor) -> Features:
        output = self.run(x)
        activations = self.caught.reshape(len(x), -1).float()  # [n, p]
        self.caught = None
        if self.has_bias:
            activations = torch.cat([activations, activations.new_ones(len(x), 1)], dim=1)
        features = Features(activations.cpu())
        if self.spec.residual:
            features = Features(features.activations, output.float().cpu() - features.embed(self.weight.cpu()))
        return features


class OpenClipEncoder:
    """An open_clip model (CLIP, SigLIP, CustomTextCLIP with timm and Hugging Face towers) as an `Encoder`."""

    def __init__(
        self,
        name: str,
        model: nn.Module,
        preprocess: Callable[[Image.Image], Tensor],
        tokenizer: Callable[[list[str]], Tensor],
        device: str | torch.device = "cpu",
        made_of: str | None = None,
    ):
        """`made_of` names weights and preprocessing for good; without it the fingerprint is taken of the tensors."""
        self.name = name
        self.fingerprint = digest(made_of) if made_of else fingerprint(model, repr(preprocess))
        self.device = torch.device(device)
        model = model.eval().requires_grad_(False).to(self.device, memory_format=torch.channels_last)
        bias = getattr(model, "logit_bias", None)
        self._preprocess, self._tokenizer = preprocess, tokenizer
        self._image = _Tower(model, model.encode_image, IMAGE_HEADS)
        self._text = _Tower(model, model.encode_text, TEXT_HEADS)
        self.heads = Heads(
            image=self._image.weight.cpu(),
            text=self._text.weight.cpu(),
            scale=float(model.logit_scale.detach().exp()),
            bias=0.0 if bias is None else float(bias),
        )

    def preprocess(self, image: Image.Image) -> Tensor:
        return self._preprocess(image)

    @torch.inference_mode()
    def encode_images(self, pixels: Tensor) -> Features:
        with self._autocast():
            return self._image(pixels.to(self.device, memory_format=torch.channels_last))

    @torch.inference_mode()
    def encode_texts(self, texts: Sequence[str]) -> Features:
        parts = []
        for start in range(0, len(texts), TEXT_BATCH):
            tokens = self._tokenizer(list(texts[start : start + TEXT_BATCH])).to(self.device)
            with self._autocast():
                parts.append(self._text(tokens))
        return Features.cat(parts)

    def _autocast(self):
        return torch.autocast("cuda", torch.float16) if self.device.type == "cuda" else nullcontext()


def load_openclip(name: str, checkpoint: str | None = None, device: str = "cpu") -> OpenClipEncoder:
    """An open_clip model by `architecture/pretrained` or `hf-hub:owner/name`, from the hub or a local checkpoint.

    Raises ModelUnavailable with the reason when the name is unknown or its weights cannot be had.
    """
    import open_clip

    architecture, _, pretrained = (name, "", "") if name.startswith("hf-hub:") else name.partition("/")
    _check_name(open_clip, architecture, checkpoint or pretrained, name)
    try:
        model, _, preprocess = open_clip.create_model_and_transforms(
            architecture, pretrained=checkpoint or pretrained or None, weights_only=True
        )
        tokenizer = open_clip.get_tokenizer(architecture)
    except Exception as error:  # whatever the hub's client raises: it has no common root
        raise ModelUnavailable(
            f"{name}: its weights could not be loaded ({type(error).__name__}: {str(error)[:200]}). Go online once so "
            f"that they are kept in the hub's cache, or give a local file as {architecture}@/path/to/checkpoint, "
            "or use the model 'mini', which needs no download"
        ) from error
    return OpenClipEncoder(name, model, preprocess, tokenizer, device)


def fingerprint(model: nn.Module, preprocessing: str) -> str:
    """Sixteen hex digits that stand for weights and preprocessing."""
    hashed = hashlib.sha256(preprocessing.encode())
    for key, tensor in sorted(model.state_dict().items()):
        hashed.update(key.encode())
        hashed.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return hashed.hexdigest()[:16]


def digest(text: str) -> str:
    """Sixteen hex digits that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_name(open_clip, architecture: str, source: str, name: str) -> None:
    if architecture.startswith("hf-hub:"):
        return
    if architecture not in open_clip.list_models():
        raise ModelUnavailable(
            f"{name!r} is no model known here: use 'mini', or architecture/pretrained such as "
            "ViT-B-32/laion2b_s34b_b79k (python -m open_clip lists them)"
        )
    if not source:
        raise ModelUnavailable(
            f"{name!r} names no weights: write {architecture}/TAG with one of "
            f"{', '.join(open_clip.list_pretrained_tags_by_model(architecture)) or 'no published tags'}, "
            f"or {architecture}@/path/to/checkpoint"
        )


def _find_head(model: nn.Module, specs: Sequence[HeadSpec]) -> tuple[HeadSpec, nn.Module, str]:
    for spec in specs:
        *parents, name = spec.path.split(".")
        owner = model
        for parent in parents:
            owner = getattr(owner, parent, None)
        if isinstance(getattr(owner, name, None), (nn.Linear, nn.Parameter)):
            return spec, owner, name
    looked = ", ".join(spec.path for spec in specs)
    raise NoLinearHead(f"{type(model).__name__} has no linear head at any of {looked}: it cannot be made probabilistic")


def _with_bias(head: nn.Linear) -> Tensor:
    weight = head.weight.detach().float()
    if head.bias is None:
        return weight.clone()
    return torch.cat([weight, head.bias.detach().float()[:, None]], dim=1)
