"""Where things are kept: one data folder and one database, named by environment variables."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The data folder: $PENUMBRA_HOME, else ./data."""
    return Path(os.environ.get("PENUMBRA_HOME") or "data").absolute()


def database_url() -> str:
    """The database: $PENUMBRA_DATABASE_URL, else an SQLite file in the data folder."""
    return os.environ.get("PENUMBRA_DATABASE_URL") or f"sqlite:///{home() / 'penumbra.sqlite'}"
