"""ProLIP's architectures as frozen settings: the published ones by name, any other from a config.json.

A config.json has the keys of the official code (Chun et al. 2025, Probabilistic Language-Image Pre-Training).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from core.errors import ModelUnavailable

CONFIG, WEIGHTS = "config.json", "model.safetensors"  # a model on the hub or in a folder
CANONICAL = "canonicalize"  # lower case without punctuation, as SigLIP's tokens

# What the official code could vary and no ProLIP does; anything else is another architecture.
FIXED_VISION = {"embed_unc": True, "pool_type": "tok", "pos_embed_type": "learnable"}
FIXED_TEXT = {"embed_cls": True, "embed_unc": True, "no_causal_mask": True, "proj_bias": True}
WITHOUT_EFFECT = {"pool_type"}  # of the text tower: [CLS] is always its last token


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionConfig:
    """The image tower. `eps` of its layer norms; `init_unc_bias` is log σ² before any training."""

    image_size: int = 224
    patch_size: int = 16
    width: int = 768
    layers: int = 12
    head_width: int = 64
    mlp_ratio: float = 4.0
    eps: float = 1e-5
    init_unc_bias: float = -10.0

    @property
    def heads(self) -> int:
        return self.width // self.head_width

    @property
    def patches(self) -> int:
        return (self.image_size // self.patch_size) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConfig:
    """The text tower and its tokens; without `hf_tokenizer_name` they are CLIP's."""

    context_length: int = 64
    vocab_size: int = 32_100
    width: int = 768
    heads: int = 12
    layers: int = 12
    mlp_ratio: float = 4.0
    eps: float = 1e-5
    init_unc_bias: float = -10.0
    hf_tokenizer_name: str | None = None
    clean: str = "whitespace"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlipConfig:
    """One ProLIP; `embed_dim` is D."""

    embed_dim: int
    vision: VisionConfig
    text: TextConfig
    quick_gelu: bool = False
    init_logit_bias: float = -10.0

    @staticmethod
    def read(config: Mapping[str, Any]) -> ProlipConfig:
        """From the keys of a config.json; raises ModelUnavailable for anything that this network is not."""
        extra = config.keys() - {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu", "init_logit_bias"}
        if extra or not {"embed_dim", "vision_cfg", "text_cfg"} <= config.keys():
            raise ModelUnavailable(
                f"this is no ProLIP configuration: embed_dim, vision_cfg and text_cfg are needed, {sorted(config)} came"
            )
        vision = _checked("vision_cfg", config["vision_cfg"], FIXED_VISION)
        text = _checked("text_cfg", config["text_cfg"], FIXED_TEXT, WITHOUT_EFFECT)
        text |= dict(text.pop("tokenizer_kwargs", {}))
        return ProlipConfig(
            embed_dim=config["embed_dim"],
            vision=_made(VisionConfig, "vision_cfg", vision),
            text=_made(TextConfig, "text_cfg", text),
            quick_gelu=bool(config.get("quick_gelu", False)),
            init_logit_bias=config.get("init_logit_bias", -10.0),
        )

    def written(self) -> dict[str, Any]:
        """As a config.json has it; `read` takes it back."""
        vision, text = asdict(self.vision), asdict(self.text)
        text["tokenizer_kwargs"] = {"clean": text.pop("clean")}
        for tower in (vision, text):
            tower["norm_kwargs"] = {"eps": tower.pop("eps")}
        return {
            "embed_dim": self.embed_dim,
            "quick_gelu": self.quick_gelu,
            "init_logit_bias": self.init_logit_bias,
            "vision_cfg": vision | FIXED_VISION,
            "text_cfg": text | FIXED_TEXT,
        }


def _checked(
    where: str, tower: Mapping[str, Any], fixed: Mapping[str, Any], ignored: Set[str] = frozenset()
) -> dict[str, Any]:
    """The settings of a tower without those that are always the same; what is None is left to the default."""
    for key, expected in fixed.items():
        if tower.get(key, expected) != expected:
            raise ModelUnavailable(f"{where}: {key} is {tower[key]!r}, a ProLIP has {expected!r}: use another model")
    kept = {key: value for key, value in tower.items() if value is not None and key not in fixed.keys() | ignored}
    return kept | dict(kept.pop("norm_kwargs", {}))


def _made(cls: type, where: str, settings: Mapping[str, Any]) -> Any:
    unknown = settings.keys() - {field.name for field in fields(cls)}
    if unknown:
        raise ModelUnavailable(f"{where}: {sorted(unknown)} are not known here, so its outputs would be wrong")
    return cls(**settings)


B_16 = ProlipConfig(
    embed_dim=768,
    vision=VisionConfig(),
    text=TextConfig(eps=1e-6, hf_tokenizer_name="timm/ViT-B-16-SigLIP", clean=CANONICAL),
)

PUBLISHED: dict[str, ProlipConfig] = {
    "ViT-B-16-ProLIP": B_16,
    "ViT-B-16-ProLIP-long": replace(B_16, text=replace(B_16.text, context_length=256)),
    "ViT-L-16-ProLIP": ProlipConfig(
        embed_dim=1024,
        vision=VisionConfig(image_size=256, width=1024, layers=24),
        text=replace(B_16.text, width=1024, heads=16, layers=24),
    ),
    "ViT-H-14-ProLIP": ProlipConfig(
        embed_dim=1024,
        quick_gelu=True,
        vision=VisionConfig(patch_size=14, width=1280, layers=32, head_width=80),
        text=TextConfig(context_length=77, vocab_size=49_408, width=1024, heads=16, layers=24),
    ),
    "ViT-SO400M-14-ProLIP": ProlipConfig(
        embed_dim=1152,
        vision=VisionConfig(patch_size=14, width=1152, layers=27, head_width=72, mlp_ratio=3.7362),
        text=replace(
            B_16.text,
            width=1152,
            heads=16,
            layers=27,
            mlp_ratio=3.7362,
            hf_tokenizer_name="timm/ViT-SO400M-14-SigLIP",
        ),
    ),
}
"""The architectures by the names of their official configurations."""

ON_HUB: dict[str, str] = {
    "SanghyukChun/ProLIP-ViT-B-16-DC-1B-12_8B": "ViT-B-16-ProLIP",
    "SanghyukChun/ProLIP-ViT-L-16-FT-DC-1B-1_28B": "ViT-L-16-ProLIP",
    "SanghyukChun/ProLIP-ViT-H-14-FT-DC-1B-1_28B": "ViT-H-14-ProLIP",
    "SanghyukChun/ProLIP-ViT-SO400M-14-FT-DC-1B-1_28B": "ViT-SO400M-14-ProLIP",
    "SanghyukChun/LongProLIP-ViT-B-16-S24M": "ViT-B-16-ProLIP-long",
    "SanghyukChun/LongProLIP-ViT-B-16-S128M": "ViT-B-16-ProLIP-long",
    "SanghyukChun/LongProLIP-ViT-B-16-SHD128M": "ViT-B-16-ProLIP-long",
}
"""The official weights on the Hugging Face hub (config.json and model.safetensors each), and their architecture."""
