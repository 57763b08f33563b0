"""open_clip's own configurations by the kind of their heads, and small random-weight members of each.

A small member keeps everything of its configuration but sizes: depth, widths, vocabulary, heads of attention.
"""

import json
from copy import deepcopy

import timm
import torch
from open_clip.coca_model import CoCa
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg, CustomTextCLIP

D, CONTEXT, VOCABULARY = 32, 16, 50
FIRST_BLOCK = {"depth": 1, "embed_dim": 48, "num_heads": 4}
SMALL_TIMM = {
    "eva": FIRST_BLOCK,
    "vision_transformer": FIRST_BLOCK,
    "vision_transformer_relpos": FIRST_BLOCK,
    "vision_transformer_hybrid": {"depth": 1},  # its stem sets the width
    "vitamin": {"depth": 1},  # so does its own
    "fastvit": {"layers": (1, 1, 1, 1), "embed_dims": (8, 16, 32, 64)},
    "convnext": {"depths": (1, 1, 1, 1), "dims": (8, 16, 24, 48)},
    "swin_transformer": {"depths": (1, 1, 1, 1), "embed_dim": 8, "num_heads": (1, 2, 2, 4)},
}  # by timm's module
SMALL_HF = {"vocab_size": VOCABULARY, "num_hidden_layers": 1, "hidden_size": 24, "num_attention_heads": 2}
HF_TYPES = {
    "roberta-base": SMALL_HF | {"model_type": "roberta", "intermediate_size": 32, "pad_token_id": 1},
    "xlm-roberta": SMALL_HF | {"model_type": "xlm-roberta", "intermediate_size": 32, "pad_token_id": 1},
    "google/mt5": {
        "model_type": "mt5",
        "vocab_size": VOCABULARY,
        "d_model": 24,
        "d_kv": 12,
        "d_ff": 32,
        "num_layers": 1,
        "num_decoder_layers": 1,
        "num_heads": 2,
    },
    "facebook/nllb-200": {
        "model_type": "m2m_100",
        "vocab_size": VOCABULARY,
        "d_model": 24,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "max_position_embeddings": 32,
    },
}  # by the beginning of the hub's name


def tokens(n=3):
    """Words, then the end-of-text token in each family's manner: the greatest number, 2 or 1; then padding."""
    return torch.tensor([[7 + i, 11, 5 + i, 49, 2, 1] + [0] * (CONTEXT - 6) for i in range(n)])


def pixels(model, n=2):
    side = model.visual.image_size
    return torch.rand(n, 3, *(side if isinstance(side, tuple) else (side, side)), generator=seeded(1))


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def image_kind(config):
    """What decides where the image head is: the tower, its pool and its projection."""
    vision = CLIPVisionCfg(**config["vision_cfg"])
    if vision.timm_model_name:
        return f"{timm_module(vision)}, pool {vision.timm_pool or 'own'}, projection {vision.timm_proj or 'classifier'}"
    if isinstance(vision.layers, list):
        return "ResNet, attention pool"
    pool = "attention" if vision.attentional_pool else vision.pool_type
    return f"ViT, pool {pool}{', norm after it' if vision.final_ln_after_pool else ''}"


def text_kind(config):
    """What decides where the text head is."""
    text = CLIPTextCfg(**config["text_cfg"])
    if text.hf_model_name:
        pooler = text.hf_pooler_type or "own pooler"
        return f"{hf_type(text.hf_model_name)['model_type']}, {pooler}, projection {text.hf_proj_type}"
    pool = "class token" if text.embed_cls else text.pool_type
    return f"text, pool {pool}, projection {text.proj_type}{' with bias' if text.proj_bias else ''}"


def model_class(config):
    if "multimodal_cfg" in config:
        return CoCa
    custom = config.get("custom_text") or "hf_model_name" in config["text_cfg"]
    return CustomTextCLIP if custom else CLIP


def timm_module(vision):
    return timm.models.model_entrypoint(vision.timm_model_name).__module__.rpartition(".")[2]


def hf_type(name):
    return next(config for start, config in HF_TYPES.items() if name.startswith(start))


def small_member(config, folder, monkeypatch):
    """A model of this configuration, made small, with random weights and biases, on the CPU."""
    config = deepcopy(config)
    vision, text = _small_vision(config["vision_cfg"], monkeypatch), _small_text(config["text_cfg"], folder)
    extra = {key: config[key] for key in ("quick_gelu", "init_logit_bias") if key in config}
    if "multimodal_cfg" in config:
        small = {"width": 32, "heads": 2, "layers": 1, "context_length": CONTEXT, "vocab_size": VOCABULARY}
        extra["multimodal_cfg"] = config["multimodal_cfg"] | small
    width = 48 if vision.get("timm_proj") == "none" else D  # where the tower is not projected, its width is D
    torch.manual_seed(0)
    model = model_class(config)(embed_dim=width, vision_cfg=vision, text_cfg=text, **extra).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False).add_(torch.randn(parameter.shape, generator=seeded(2)) / 50)
    return model


def _small_vision(vision, monkeypatch):
    if "timm_model_name" in vision:
        sizes = SMALL_TIMM[timm_module(CLIPVisionCfg(**vision))]
        create = timm.create_model
        monkeypatch.setattr(timm, "create_model", lambda *args, **kwargs: create(*args, **(sizes | kwargs)))
        return vision | {"timm_model_pretrained": False}
    if isinstance(vision["layers"], list):
        return vision | {"layers": [1, 1, 1, 1], "width": 8, "image_size": 64}
    small = {"layers": 1, "width": 48, "head_width": 24, "patch_size": 16, "image_size": 32}
    pool = {"attn_pooler_queries": 5, "attn_pooler_heads": 2} if vision.get("attentional_pool") else {}
    return vision | small | pool


def _small_text(text, folder):
    text = text | {"vocab_size": VOCABULARY, "context_length": CONTEXT}
    if "hf_model_name" not in text:
        return text | {"width": 24, "heads": 2, "layers": 1}
    (folder / "config.json").write_text(json.dumps(hf_type(text["hf_model_name"])))
    return text | {"hf_model_name": str(folder), "hf_model_pretrained": False}
