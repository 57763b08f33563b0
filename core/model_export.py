"""A round's model as a folder: its posterior, what its classes say, a card; and as plain open_clip loads it.

    posterior.safetensors   both heads' posteriors (core/posterior/laplace.py)
    texts.safetensors       what enters the text head for each class [C, p]
    open_clip/              the base model with the learned heads, for open_clip.create_model("local-dir:…")
    card.json, CARD.md      what it is, how it was made and measured

Axes: N images · C classes · p input size of a head.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor

from core.choice import predict
from core.class_texts import KEY, as_in, prompts, templates
from core.config import VERSION, home
from core.data.shelf import staging
from core.encoders.merging import write_merged
from core.errors import FactorMismatch, InputError, ModelError, NotReady, UnknownName
from core.history import origin
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.tensorfile import write_atomically
from core.values import Features, Progress, silent
from core.workspace import class_texts, rounds_of
from db import repository
from db.repository import ProjectRow, RoundRow
from db.session import Database

POSTERIOR, TEXTS, MERGED, CARD, SHEET = (
    "posterior.safetensors",
    "texts.safetensors",
    "open_clip",
    "card.json",
    "CARD.md",
)
FORMAT = 1


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """A model that was exported, as it is served."""

    posterior: Posterior
    texts: Features  # [C, p]
    card: dict

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.card["classes"])

    def predict(self, images: Features) -> Tensor:
        """Probabilities [N, C] of encoded images, by the predictive that the round served."""
        return predict(self.posterior, images, self.texts, self.card["served"])


def export_model(
    database: Database, project_id: int, folder: Path, *, number: int | None = None, on_progress: Progress = silent
) -> dict:
    """Write a round's model, the newest or that of `number`, into a new folder, whole or not at all; its card.

    Where the base model cannot be had, or is none of open_clip's, that part is left out and the card says why.
    Raises NotReady before the first round, UnknownName for no such round, InputError for a folder that holds something.
    """
    project, rounds = get_project(database, project_id), rounds_of(database, project_id)
    row = _round(rounds, number)
    if not (home() / row.checkpoint).is_file():
        raise NotReady(f"the file of model {row.number} is gone ({row.checkpoint}): start a round to learn it again")
    posterior = Posterior.load(home() / row.checkpoint, row.fingerprint)
    project = as_in(project, row)
    with staging(folder) as shelf:
        on_progress(0, 2, "writing the model")
        card = _card(database, project, row, rounds, posterior)
        posterior.save(shelf.folder / POSTERIOR, {key: card[key] for key in ("project", "round", "classes", "served")})
        write_atomically(shelf.folder / TEXTS, class_texts(project, row.fingerprint).parts())
        on_progress(1, 2, "writing the model")
        card["open_clip"] = _merge(project.model, posterior, shelf.folder / MERGED)
        card["files"] = {str(file.relative_to(shelf.folder)): _sha256(file) for file in _files(shelf.folder)}
        (shelf.folder / CARD).write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (shelf.folder / SHEET).write_text(_sheet(card), encoding="utf-8")
        on_progress(2, 2, "writing the model")
    return card


def load_model(folder: str | Path) -> ExportedModel:
    """The model that `export_model` wrote. Raises InputError for a folder that holds none, or a changed one."""
    folder = Path(folder)
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        for name in (POSTERIOR, TEXTS):
            if _sha256(folder / name) != card["files"][name]:
                raise InputError(f"{folder / name} is not the file that the card names: export the model again")
        posterior = Posterior.load(folder / POSTERIOR, card["base_model"]["fingerprint"])
        return ExportedModel(posterior, Features(**load_file(folder / TEXTS)), card)
    except (OSError, ValueError, KeyError, TypeError, FactorMismatch) as error:
        raise InputError(f"{folder} holds no exported model ({type(error).__name__}: {error})") from error


def _round(rounds: Sequence[RoundRow], number: int | None) -> RoundRow:
    found = next((row for row in rounds if number in (None, row.number)), None) if number is not None else rounds[-1]
    if found is None:
        raise UnknownName(f"there is no round {number}: there are {len(rounds)}, from 0")
    return found


def _card(
    database: Database, project: ProjectRow, row: RoundRow, rounds: Sequence[RoundRow], posterior: Posterior
) -> dict:
    with database.read() as s:
        people = len({each.person for each in repository.given(s, project.id, 0, row.label_watermark)})
    made = origin(row, rounds)
    return {
        "format": FORMAT,
        "program": f"Penumbra {VERSION}",
        "project": project.name,
        "round": row.number,
        "made_at": made.created_at.isoformat() + "Z",
        "classes": [each.name for each in project.classes],
        "prompts": {
            "templates": list(templates(project)),
            "texts": prompts(project),
            "weights": project.prompt_weights,
        },
        "base_model": {"name": project.model, "fingerprint": row.fingerprint, "scale": posterior.scale},
        "served": row.metrics["served"],
        "learned_from": {"answers": row.labels, "people": people, "label_watermark": row.label_watermark},
        "seed": row.seed,
        "settings": {key: value for key, value in row.settings.items() if key != KEY},
        "metrics": row.metrics,
        "versions": row.versions,
    }


def _merge(name: str, posterior: Posterior, folder: Path) -> dict:
    folder.mkdir()
    try:
        note = write_merged(name, posterior.heads, posterior.fingerprint, folder)
    except ModelError as error:
        folder.rmdir()
        return {"folder": None, "why": str(error)}
    call = f'open_clip.create_model("local-dir:{MERGED}", require_pretrained=True)'
    return {"folder": MERGED, "load": call, "note": note}


def _sheet(card: dict) -> str:
    """The card for a person."""
    metrics, base = card["metrics"], card["base_model"]
    served = metrics.get(metrics["served"]) or {}
    rows = [f"| {key} | {value:.4f} |" for key, value in served.items() if isinstance(value, int | float)]
    measured = f"{metrics['n']} images of the {metrics['split']} split, {metrics['bins']} bins, seed {card['seed']}"
    figures = ["| figure | value |", "| --- | --- |", *rows] if rows else ["No labelled test image: nothing measured."]
    plain = card["open_clip"]
    loads = f"`{plain['load']}` from this folder. {plain['note']}" if plain["folder"] else f"left out: {plain['why']}"
    lines = [
        f"# {_text(card['project'])}, model {card['round']}",
        "",
        f"{_text(base['name'])} (fingerprint {base['fingerprint']}) with heads learned from "
        f"{card['learned_from']['answers']} answers of {card['learned_from']['people']} people, {card['made_at']}, "
        f"{card['program']}.",
        "",
        f"Classes: {', '.join(map(_text, card['classes']))}",
        "",
        f"Prompts: {', '.join(map(_text, card['prompts']['templates']))}",
        "",
        f"Measured on {measured}; served: {metrics['served']}, τ {metrics['tau']:g}.",
        "",
        *figures,
        "",
        f"Load the posterior: `core.model_export.load_model`. Plain open_clip: {loads}",
    ]
    return "\n".join(lines) + "\n"


def _text(name: str) -> str:
    """A name as Markdown shows it, whatever is in it."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|~&$" else " " if c.isspace() else c for c in name)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
