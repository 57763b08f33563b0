"""A progress bar for the command line."""

from __future__ import annotations

import sys

from tqdm import tqdm


class Bar:
    """Usable as an `on_progress` callback: one tqdm bar on stderr for each message."""

    def __init__(self) -> None:
        self._bar: tqdm | None = None
        self._message = ""

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_) -> None:
        self._close()

    def __call__(self, done: int, total: int, message: str) -> None:
        if self._bar is None or self._message != message:
            self._close()
            self._message = message
            self._bar = tqdm(total=total, desc=message, file=sys.stderr, unit="", mininterval=0.3)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None
