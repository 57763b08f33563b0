"""Where the exports that were asked for on the page lie, and what is known of each. No Streamlit here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from core.config import home
from core.data.formats import FORMATS
from db.repository import ProjectRow

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Export:
    """A finished export; `manifest` is what it says of itself."""

    folder: Path
    made_at: datetime
    manifest: dict = field(hash=False)


def folder_of(project: ProjectRow, format_name: str) -> Path:
    """The folder for exports of a project in a format. Raises LookupError for no such format."""
    return home() / "exports" / file_name(project) / FORMATS[format_name].name


def file_name(project: ProjectRow) -> str:
    """A name for files that tells people which project it was: its number, then letters and digits of its name."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", project.name)[:40].strip("-")
    return f"{project.id}-{words}" if words else str(project.id)


def finished(project: ProjectRow, format_name: str) -> Export | None:
    """The project's last export in a format; None where there is none that is whole."""
    folder = folder_of(project, format_name)
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        made_at = datetime.fromtimestamp((folder / MANIFEST).stat().st_mtime, UTC)
    except (OSError, ValueError):
        return None
    return Export(folder, made_at, manifest) if isinstance(manifest, dict) else None
