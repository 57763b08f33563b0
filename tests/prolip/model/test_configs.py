"""The published architectures: their sizes are the official files' sizes, their tensors the official names."""

import json

import pytest
import torch

from core.errors import ModelUnavailable
from core.prolip.model.configs import ON_HUB, PUBLISHED, ProlipConfig
from core.prolip.model.model import Prolip
from tests.conftest import REFERENCE

TINY = json.loads((REFERENCE / "prolip_tiny_config.json").read_text())

# What the hub says of the official files: 792 MB and "198M params"; 3.95 GB. The others follow from the same parts.
PARAMETERS = {
    "ViT-B-16-ProLIP": 197_923_586,
    "ViT-B-16-ProLIP-long": 197_923_586 + (256 - 64) * 768,
    "ViT-L-16-ProLIP": 642_814_978,
    "ViT-H-14-ProLIP": 988_478_466,
    "ViT-SO400M-14-ProLIP": 866_286_434,
}

# Of the official configurations, as far as it differs between them.
OFFICIAL_B_16 = {
    "embed_dim": 768,
    "init_logit_bias": -10,
    "vision_cfg": {
        "image_size": 224,
        "layers": 12,
        "width": 768,
        "patch_size": 16,
        "embed_unc": True,
        "init_unc_bias": -10,
    },
    "text_cfg": {
        "context_length": 64,
        "vocab_size": 32100,
        "hf_tokenizer_name": "timm/ViT-B-16-SigLIP",
        "tokenizer_kwargs": {"clean": "canonicalize"},
        "width": 768,
        "heads": 12,
        "layers": 12,
        "no_causal_mask": True,
        "proj_bias": True,
        "pool_type": "last",
        "embed_cls": True,
        "embed_unc": True,
        "norm_kwargs": {"eps": 1e-6},
        "init_unc_bias": -10,
    },
}


def block(width, mlp):
    """Parameters of one block: attention, two norms and the MLP."""
    return 4 * width**2 + 4 * width + 4 * width + 2 * width * mlp + mlp + width


def counted(config):
    """Parameters added up by hand."""
    v, t, d = config.vision, config.text, config.embed_dim
    vision = 3 * v.patch_size**2 * v.width + (2 + v.patches + 2) * v.width + 4 * v.width + 2 * v.width * d + d
    text = (t.vocab_size + t.context_length + 2 + 2) * t.width + 2 * t.width + t.width * d + d + d * d + d
    blocks = v.layers * block(v.width, int(v.width * v.mlp_ratio)) + t.layers * block(
        t.width, int(t.width * t.mlp_ratio)
    )
    return vision + text + blocks + 2


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_architecture_has_the_official_size_and_names(name):
    config = PUBLISHED[name]
    with torch.device("meta"):
        model = Prolip(config)
    assert sum(parameter.numel() for parameter in model.parameters()) == PARAMETERS[name] == counted(config)
    blocks = {"visual": config.vision.layers, "text": config.text.layers}
    expected = names_of_the_tiny(layers=blocks)
    assert set(model.state_dict()) == expected


def names_of_the_tiny(layers):
    """The names of the official tiny weights, with as many blocks."""
    from safetensors import safe_open

    with safe_open(REFERENCE / "prolip_tiny_weights.safetensors", framework="pt") as file:
        tiny = set(file.keys())
    found = {name for name in tiny if ".resblocks." not in name}
    for name in tiny:
        tower, _, rest = name.partition(".transformer.resblocks.0.")
        if rest:
            found |= {f"{tower}.transformer.resblocks.{i}.{rest}" for i in range(layers[tower])}
    return found


def test_the_official_configuration_is_the_table_s():
    assert ProlipConfig.read(OFFICIAL_B_16) == PUBLISHED["ViT-B-16-ProLIP"]
    assert set(ON_HUB.values()) == set(PUBLISHED)


@pytest.mark.parametrize("config", [*PUBLISHED.values(), ProlipConfig.read(TINY)])
def test_a_configuration_reads_back_what_it_wrote(config):
    assert ProlipConfig.read(json.loads(json.dumps(config.written()))) == config


@pytest.mark.parametrize(
    ("where", "change", "said"),
    [
        ("vision_cfg", {"pool_type": "avg"}, "pool_type"),
        ("vision_cfg", {"timm_model_name": "vit"}, "timm_model_name"),
        ("text_cfg", {"no_causal_mask": False}, "no_causal_mask"),
        ("text_cfg", {"act_kwargs": {"approximate": "tanh"}}, "act_kwargs"),
        (None, {"custom_text": "CLIP"}, "custom_text"),
    ],
)
def test_another_architecture_is_refused_by_name(where, change, said):
    config = json.loads(json.dumps(TINY))
    (config[where] if where else config).update(change)
    with pytest.raises(ModelUnavailable, match=said):
        ProlipConfig.read(config)


def test_what_is_no_configuration_is_said_to_be_none():
    with pytest.raises(ModelUnavailable, match="vision_cfg"):
        ProlipConfig.read({"model_cfg": {}})
