"""The labelling desk as a person uses it: keys in, what is on the screen out."""

from __future__ import annotations

import time

SAVED = '.saved[data-state="saved"][data-item="{}"]'


class Desk:
    def __init__(self, page, url: str):
        self.page, self.url = page, url

    def load(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector(".frame img, .end h3", timeout=30_000)

    def item(self) -> int | None:
        """The image that is on the screen; None where there is none."""
        shown = self.page.evaluate(
            f"() => {{ const frame = {FRAME}; return frame?.querySelector('img') ? frame.dataset.item : null }}"
        )
        return None if shown is None else int(shown)

    def press(self, key: str, times: int = 1, pause: float = 0.0) -> list[int]:
        """Press a key; the images it was pressed on."""
        seen = []
        for _ in range(times):
            started = time.monotonic()
            seen.append(self.item())
            self.page.keyboard.press(key)
            time.sleep(max(0.0, pause - (time.monotonic() - started)))
        return seen

    def type(self, text: str) -> None:
        """Key after key, without a look at what they do."""
        self.page.keyboard.type(text)

    def ready(self, images: int) -> None:
        """Wait until the image on screen and those behind it are decoded: `images` in all."""
        self.page.wait_for_function(
            "n => performance.getEntriesByType('resource').filter(one => one.name.endsWith('/1600')).length >= n",
            arg=images,
            timeout=60_000,
        )
        self.page.wait_for_timeout(300)

    def saved(self, item: int, seconds: float = 10) -> None:
        """Wait until the screen says that the answer on this image is saved."""
        self.page.wait_for_selector(SAVED.format(item), timeout=1000 * seconds)

    def moved_on(self, item: int, seconds: float = 10) -> None:
        self.page.wait_for_function(
            f"item => {{ const frame = {FRAME}; return frame?.querySelector('img') && frame.dataset.item !== item }}",
            arg=str(item),
            timeout=1000 * seconds,
        )

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def sees(self, selector: str) -> bool:
        return self.page.locator(selector).is_visible()


FRAME = (
    "[...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]"
    ".map(host => host.shadowRoot?.querySelector('.frame')).find(Boolean)"
)
