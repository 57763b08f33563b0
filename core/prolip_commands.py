"""The commands that train ProLIPs: what each does with its parsed arguments, and the document it gives back."""

from __future__ import annotations

from pathlib import Path

from core.progress import Bar

Result = dict | None


def train_mini_prolip(args) -> Result:
    """Train the offline ProLIP's heads, and estimate their curvature, from folders of image–text pairs."""
    from core.encoders.train_mini_prolip import train_mini_prolip

    with Bar() as bar:
        return train_mini_prolip([Path(folder) for folder in args.data], on_progress=bar)
