"""open_clip models and ProLIP by name, from the hub, a folder or a file; offline it says so within seconds."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from torch import Tensor

from core.encoders.openclip import OpenClipEncoder
from core.errors import ModelUnavailable
from core.prolip.model.configs import CONFIG, ON_HUB, PUBLISHED, WEIGHTS, ProlipConfig

if TYPE_CHECKING:
    from torch import nn

    from core.encoders.prolip import ProlipEncoder
    from core.prolip.model.model import Prolip

    OpenClipParts = tuple[nn.Module, Callable[[Image.Image], Tensor], Any]
    ProlipParts = tuple[Prolip, Callable[[Image.Image], Tensor], Any]

logger = logging.getLogger(__name__)

HUB, FOLDER = SCHEMES = ("hf-hub:", "local-dir:")  # names that bring their own weights
ONE_AT_A_TIME = threading.Lock()  # the hub's offline switch and the socket timeout belong to the whole process
PATIENCE = 5.0  # seconds for the hub to answer at all, and for any silence of a plain download


def load_openclip(name: str, checkpoint: str | None = None, device: str = "cpu") -> OpenClipEncoder:
    """An open_clip model by `architecture/pretrained`, `hf-hub:owner/name`, `local-dir:/folder` or local checkpoint.

    A folder holds open_clip_config.json, weights and, where the model has one of Hugging Face's, the tokenizer's files.
    What was downloaded once loads without a network. Raises ModelUnavailable with the reason, NoLinearHead.
    """
    return OpenClipEncoder(name, *openclip_parts(name, checkpoint), device)


def openclip_parts(name: str, checkpoint: str | None = None) -> OpenClipParts:
    """Network, preprocessing and tokenizer of an open_clip model, named as in `load_openclip`."""
    import open_clip

    architecture, _, tag = (name, "", "") if name.startswith(SCHEMES) else name.partition("/")
    _check_name(open_clip, name, architecture, tag, checkpoint)
    with _hub():
        with _saying(name, architecture, "weights"):
            model = open_clip.create_model(
                architecture,
                pretrained=checkpoint or tag or None,
                force_quick_gelu=_quick_gelu(open_clip, architecture, tag),
                require_pretrained=True,
                weights_only=True,
            )
        with _saying(name, architecture, "tokenizer"):
            tokenizer = open_clip.get_tokenizer(architecture)
    return model, _preprocessing(model.visual.preprocess_cfg), tokenizer


def openclip_config(name: str) -> dict[str, Any]:
    """The architecture of an open_clip model as its own configuration files describe it."""
    import open_clip

    architecture, _, tag = (name, "", "") if name.startswith(SCHEMES) else name.partition("/")
    with _hub(), _saying(name, architecture, "configuration"):
        config = open_clip.get_model_config(architecture)
    return config | ({"quick_gelu": True} if _quick_gelu(open_clip, architecture, tag) else {})


def is_prolip(name: str) -> bool:
    """Whether a name, without its "@checkpoint", is of a ProLIP; open_clip knows none of them."""
    if name.startswith(HUB):
        return "prolip" in name.lower()
    if name.startswith(FOLDER):
        folder = Path(name.removeprefix(FOLDER))
        return (folder / CONFIG).is_file() and not (folder / "open_clip_config.json").is_file()
    return name in PUBLISHED


def load_prolip(name: str, checkpoint: str | None = None, device: str = "cpu") -> ProlipEncoder:
    """A ProLIP by `hf-hub:owner/name`, `local-dir:/folder`, or an architecture of PUBLISHED with a local checkpoint.

    A folder holds config.json, model.safetensors and, where there are any, its tokenizer's files; the hub's tokenizer
    is taken where not. What was downloaded once loads without a network. Raises ModelUnavailable with the reason.
    """
    from core.encoders.prolip import ProlipEncoder

    return ProlipEncoder(name, *prolip_parts(name, checkpoint), device)


def prolip_parts(name: str, checkpoint: str | None = None) -> ProlipParts:
    """Network, preprocessing and tokenizer of a ProLIP, named as in `load_prolip`."""
    from core.prolip.model.files import read_model

    with _hub():
        with _saying(name, name, "weights"):
            config, weights = _prolip_files(name, checkpoint)
            model = read_model(config, weights)
        return model, *_around(name, config, weights.parent)


def new_prolip(architecture: str, seed: int = 0) -> ProlipParts:
    """The same with random weights: an architecture of PUBLISHED, a config.json, or a folder with one and a tokenizer.

    Raises ModelUnavailable with the reason.
    """
    import torch

    from core.prolip.model.files import read_config
    from core.prolip.model.model import Prolip

    path = Path(architecture)
    file = path / CONFIG if path.is_dir() else path
    published = PUBLISHED.get(architecture)
    config = published or read_config(file)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # torch's initialisers know no generator of their own
        model = Prolip(config)
    with _hub():
        return model, *_around(architecture, config, None if published else file.parent)


def _around(name: str, config: ProlipConfig, folder: Path | None) -> tuple[Callable[[Image.Image], Tensor], Any]:
    from core.encoders.tokens import tokenizer_for

    with _saying(name, name, "tokenizer"):
        tokenizer = tokenizer_for(config.text, folder)
    return _preprocessing({"size": config.vision.image_size}), tokenizer


def _prolip_files(name: str, checkpoint: str | None) -> tuple[ProlipConfig, Path]:
    """The settings and the file of the weights."""
    from huggingface_hub import hf_hub_download

    from core.prolip.model.files import read_config

    if name.startswith(HUB):
        config, weights = (Path(hf_hub_download(name.removeprefix(HUB), file)) for file in (CONFIG, WEIGHTS))
        return read_config(config), weights
    if name.startswith(FOLDER):
        folder = Path(name.removeprefix(FOLDER))
        return read_config(folder / CONFIG), folder / WEIGHTS
    if not checkpoint:
        published = ", ".join(HUB + repository for repository, known in ON_HUB.items() if known == name)
        raise ModelUnavailable(f"{name} names no weights: write {name}@/path/to/checkpoint, or one of {published}")
    return PUBLISHED[name], Path(checkpoint)


def _quick_gelu(open_clip: Any, architecture: str, tag: str) -> bool:
    """Whether published weights were trained with QuickGELU, where open_clip would only warn that they were."""
    return bool(tag and open_clip.get_pretrained_cfg(architecture, tag).get("quick_gelu", False))


def _preprocessing(settings: dict[str, Any]):
    """open_clip's evaluation transform; by default CLIP's own: bicubic, centre crop, CLIP's mean and deviation."""
    from open_clip.transform import PreprocessCfg, image_transform_v2

    return image_transform_v2(PreprocessCfg(**settings), is_train=False)


def _check_name(open_clip: Any, name: str, architecture: str, tag: str, checkpoint: str | None) -> None:
    """Everything that can be told of a name before anything is loaded."""
    if architecture.startswith(SCHEMES):
        return
    if architecture not in open_clip.list_models():
        raise ModelUnavailable(
            f"{name!r} is no model known here: use 'mini', or architecture/pretrained such as "
            "ViT-B-32/laion2b_s34b_b79k (python -m open_clip lists them)"
        )
    if checkpoint and not Path(checkpoint).is_file():
        raise ModelUnavailable(f"{name}@{checkpoint}: its weights could not be loaded, there is no such file")
    if checkpoint or open_clip.get_pretrained_cfg(architecture, tag):
        return
    published = ", ".join(open_clip.list_pretrained_tags_by_model(architecture)) or "no published tags"
    what = f"names weights that are not published, {tag!r}" if tag else "names no weights"
    raise ModelUnavailable(
        f"{name!r} {what}: write {architecture}/TAG with one of {published}, or {architecture}@/path/to/checkpoint"
    )


@contextmanager
def _saying(name: str, architecture: str, what: str) -> Iterator[None]:
    """Any failure as ModelUnavailable: what the hub's client and torch raise has no common root."""
    local = f"local-dir:/folder with {'the weights and ' if what == 'weights' else ''}the files of its tokenizer"
    file = "" if architecture.startswith(SCHEMES) else f"a local file as {architecture}@/path/to/checkpoint, or "
    try:
        yield
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"{name}: its {what} could not be loaded ({type(error).__name__}: {_short(error)}). Go online once so that "
            f"they are kept in the hub's cache, or give {file}{local}, or use the model 'mini', which needs no download"
        ) from error


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}…"


@contextmanager
def _hub() -> Iterator[None]:
    """The hub's client, told at once when there is no network: left alone it tries each file for half a minute."""
    from huggingface_hub import constants

    with ONE_AT_A_TIME:
        before, timeout = constants.HF_HUB_OFFLINE, socket.getdefaulttimeout()
        constants.HF_HUB_OFFLINE = before or not _reachable(constants.ENDPOINT)
        socket.setdefaulttimeout(PATIENCE)  # for weights that open_clip fetches by urllib, which waits for ever
        try:
            yield
        finally:
            constants.HF_HUB_OFFLINE = before
            socket.setdefaulttimeout(timeout)


def _reachable(endpoint: str) -> bool:
    """Whether the hub answers anything, through whatever proxy its client would use."""
    from huggingface_hub.utils import get_session

    try:
        get_session().head(endpoint, timeout=PATIENCE)
    except Exception as error:  # DNS, refused, timed out, no certificate: all mean "not now"
        logger.info("%s does not answer (%s): only what is in the hub's cache can be loaded", endpoint, error)
        return False
    return True
