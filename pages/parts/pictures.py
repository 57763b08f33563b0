"""Images with their Gaussians, of a project or uploaded, as the ProLIP page shows them.

Axes: N images · D joint embedding size.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import torch
from PIL import Image
from torch import Tensor

from core.encoders import GaussianEncoder
from core.errors import UnreadableImage
from core.gaussians import image_gaussians, image_uncertainties, nothing
from core.image_files import printable
from core.images import read_image
from core.storage import Place, inside, path_in, place
from core.values import Progress, ProlipEmbeddings, silent
from db.repository import ItemRow, ProjectRow
from pages.parts.routes import url

MOST_UPLOADS = 200
MOST_MEGABYTES = 20  # of one uploaded file
SIDE = 1024  # pixels that an image is decoded at
THUMB = 256
KEPT = 2000  # uploaded images in memory; none stays on the disk
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Picture:
    """An image: its hash, its name as it is written, where a browser finds it small and large, and its content."""

    sha256: str
    name: str
    thumb: str
    large: str
    content: Place | bytes


@dataclass(frozen=True, slots=True)
class Pictures:
    """N images with their Gaussians."""

    pictures: tuple[Picture, ...]
    gaussians: ProlipEmbeddings

    def __len__(self) -> int:
        return len(self.pictures)

    @property
    def key(self) -> str:
        """A short name of which images these are, in this order."""
        return hashlib.sha256("".join(each.sha256 for each in self.pictures).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Shelf:
    """N images of one source with Σσ² [N]; their Gaussians are fetched when asked for, as there may be many.

    `root` is the folder of a project; `refused` are (name, reason) of files that could not be read.
    """

    pictures: tuple[Picture, ...]
    uncertainty: Tensor
    fetch: Callable[[Sequence[int]], ProlipEmbeddings]
    root: str | None = None
    refused: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.pictures)

    def least_certain(self) -> list[int]:
        """Positions, the most uncertain first."""
        return self.uncertainty.argsort(descending=True, stable=True).tolist()

    def take(self, positions: Sequence[int]) -> Pictures:
        """The images at the positions, in their order."""
        return Pictures(tuple(self.pictures[i] for i in positions), self.fetch(positions))


def of_project(encoder: GaussianEncoder, project: ProjectRow, items: Sequence[ItemRow]) -> Shelf:
    """Encoded images of a project. Raises NotReady where one is not encoded."""

    def fetch(positions: Sequence[int]) -> ProlipEmbeddings:
        return image_gaussians(encoder, [items[i] for i in positions])

    pictures = tuple(_of_item(project, item) for item in items)
    return Shelf(pictures, image_uncertainties(encoder, items), fetch, project.root)


def _of_item(project: ProjectRow, item: ItemRow) -> Picture:
    where = place(project.root, item.path)
    return Picture(item.sha256, printable(item.path), url(item.sha256, THUMB), url(item.sha256, 1600), where)


def opened(picture: Picture, root: str | None = None) -> Image.Image:
    """The pixels as RGB; a project's file only from inside its folder `root`. Raises UnreadableImage with a reason."""
    if isinstance(picture.content, bytes):
        return decoded(picture.content)
    root = str(Path(picture.content).parent) if root is None else root
    file = inside(root, path_in(root, picture.content), picture.sha256)
    if file is None:
        raise UnreadableImage(f"{picture.name}: the file is gone or lies outside the project's folder")
    return read_image(file, max_side=SIDE)


def decoded(data: bytes) -> Image.Image:
    """An image file's content as RGB; raises UnreadableImage with the reason alone."""
    with tempfile.NamedTemporaryFile(prefix="penumbra-") as file:
        file.write(data)
        file.flush()
        try:
            return read_image(Path(file.name), max_side=SIDE)
        except UnreadableImage as error:
            raise UnreadableImage(str(error).removeprefix(f"{Path(file.name).name}: ")) from error


def of_uploads(encoder: GaussianEncoder, files: Iterable[tuple[str, bytes]], on_progress: Progress = silent) -> Shelf:
    """Uploaded (name, content), each content once; what cannot be read is refused and the others go on."""
    contents: dict[str, tuple[str, bytes]] = {}
    for name, data in files:
        contents.setdefault(hashlib.sha256(data).hexdigest(), (printable(name), data))
    asked = list(contents.items())
    shown, refused = _memory.read(encoder, asked[:MOST_UPLOADS], on_progress)
    refused += [(name, f"only {MOST_UPLOADS} images are read at once") for _, (name, _) in asked[MOST_UPLOADS:]]
    parts = [gaussian for _, gaussian in shown]
    gaussians = ProlipEmbeddings.joined(parts) if parts else nothing(encoder)
    pictures = tuple(picture for picture, _ in shown)
    return Shelf(pictures, gaussians.uncertainty, lambda some: gaussians[list(some)], refused=tuple(refused))


class _Memory:
    """Uploaded images that were read, by (encoder, hash), the longest unused dropped first."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[str, ProlipEmbeddings]] = OrderedDict()

    def read(self, encoder: GaussianEncoder, asked: list[tuple[str, tuple[str, bytes]]], on_progress: Progress):
        """What could be read, in order, and (name, reason) of what could not."""
        self._encode(encoder, asked, on_progress, refused := {})
        shown = []
        for sha256, (name, data) in asked:
            if (known := self._get(encoder, sha256)) is not None:
                thumb, gaussian = known
                shown.append((Picture(sha256, name, thumb, thumb, data), gaussian))
        return shown, [(name, refused[sha256]) for sha256, (name, _) in asked if sha256 in refused]

    def _encode(self, encoder, asked, on_progress: Progress, refused: dict[str, str]) -> None:
        todo = [(sha256, data) for sha256, (_, data) in asked if self._get(encoder, sha256) is None]
        for start in range(0, len(todo), AT_ONCE):
            on_progress(start, len(todo), "Reading images")
            images: dict[str, Image.Image] = {}
            for sha256, data in todo[start : start + AT_ONCE]:
                try:
                    images[sha256] = decoded(data)
                except UnreadableImage as error:
                    refused[sha256] = str(error)
            self._keep(encoder, images)

    def _keep(self, encoder: GaussianEncoder, images: dict[str, Image.Image]) -> None:
        if not images:
            return
        pixels = torch.stack([encoder.preprocess(image) for image in images.values()])
        gaussians = encoder.image_gaussians(encoder.encode_images(pixels)).to("cpu", torch.float32)
        with self._lock:
            for i, (sha256, image) in enumerate(images.items()):
                self._kept[encoder.fingerprint, sha256] = data_uri(image), gaussians[i]
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def _get(self, encoder: GaussianEncoder, sha256: str):
        with self._lock:
            found = self._kept.get((encoder.fingerprint, sha256))
            if found is not None:
                self._kept.move_to_end((encoder.fingerprint, sha256))
            return found


_memory = _Memory()


def data_uri(image: Image.Image, side: int = THUMB) -> str:
    """The image at most `side` pixels long, as a JPEG within a URI."""
    small, out = image.copy(), io.BytesIO()
    small.thumbnail((side, side))
    small.save(out, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()
