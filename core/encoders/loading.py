"""open_clip models by name, from the hub, a folder or a file; offline it says so within seconds."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from core.encoders.openclip import OpenClipEncoder
from core.errors import ModelUnavailable

logger = logging.getLogger(__name__)

SCHEMES = ("hf-hub:", "local-dir:")  # names that bring their own weights
ONE_AT_A_TIME = threading.Lock()  # the hub's offline switch and the socket timeout belong to the whole process
PATIENCE = 5.0  # seconds for the hub to answer at all, and for any silence of a plain download


def load_openclip(name: str, checkpoint: str | None = None, device: str = "cpu") -> OpenClipEncoder:
    """An open_clip model by `architecture/pretrained`, `hf-hub:owner/name`, `local-dir:/folder` or local checkpoint.

    A folder holds open_clip_config.json, weights and, where the model has one of Hugging Face's, the tokenizer's files.
    What was downloaded once loads without a network. Raises ModelUnavailable with the reason, NoLinearHead.
    """
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
    return OpenClipEncoder(name, model, _preprocessing(model), tokenizer, device)


def _quick_gelu(open_clip: Any, architecture: str, tag: str) -> bool:
    """Whether published weights were trained with QuickGELU, where open_clip would only warn that they were."""
    return bool(tag and open_clip.get_pretrained_cfg(architecture, tag).get("quick_gelu", False))


def _preprocessing(model: nn.Module):
    from open_clip.transform import PreprocessCfg, image_transform_v2

    return image_transform_v2(PreprocessCfg(**model.visual.preprocess_cfg), is_train=False)


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
