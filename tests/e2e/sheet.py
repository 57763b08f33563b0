"""The grid as a person uses it: tiles and keys in, what the screen says out."""

from __future__ import annotations

from db import repository

TILES = ".sheet .tile[data-item]"


class Sheet:
    def __init__(self, page, url: str):
        self.page, self.url = page, url

    def load(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector(f"{TILES}, .sheet .end h3", timeout=30_000)
        self.page.wait_for_timeout(100)
        if self.items():
            self.ready()

    def ready(self) -> None:
        """Wait until a page can be confirmed."""
        self.page.wait_for_selector(".sheet .confirm:not([disabled])", timeout=20_000)

    def items(self) -> list[int]:
        """The images of the page, in their order."""
        return self.page.locator(TILES).evaluate_all("all => all.map(each => Number(each.dataset.item))")

    def out(self) -> list[int]:
        """Those that are not to be confirmed as they stand."""
        chosen = self.page.locator(f"{TILES}[aria-selected=true]")
        return chosen.evaluate_all("all => all.map(each => Number(each.dataset.item))")

    def click(self, item: int) -> None:
        self.page.locator(f'.sheet .tile[data-item="{item}"]').click()

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def show(self, pile: str) -> None:
        """Choose a pile and wait for its page."""
        self.page.locator(".sheet select").select_option(pile)
        self.ready()

    def button(self) -> str:
        return self.page.locator(".sheet .confirm span").inner_text()

    def pile(self) -> str:
        """The words of the chosen pile."""
        return self.page.locator(".sheet select").evaluate("each => each.selectedOptions[0]?.textContent ?? ''")

    def saved(self, seconds: float = 10) -> str:
        """Wait until the screen says that the last page is saved; what it says of it."""
        self.page.wait_for_selector('.sheet .saved[data-state="saved"]', timeout=1000 * seconds)
        return self.page.locator(".sheet .saved .name").inner_text()

    def turned(self, before: list[int]) -> None:
        """Wait for another page than this one."""
        self.page.wait_for_function(
            """first => { const tile = [...document.querySelectorAll('[data-testid=stBidiComponentIsolated]')]
            .map(host => host.shadowRoot?.querySelector('.tile[data-item]')).find(Boolean);
            return tile && Number(tile.dataset.item) !== first }""",
            arg=before[0],
            timeout=15_000,
        )
        self.ready()


def sheets(site, chromium):
    """For a fixture: open the grid of a project as a person, in a profile of its own or a tab beside another."""
    contexts = []

    def open_(project: int, person: str = "Ada", more: str = "", beside: Sheet | None = None) -> Sheet:
        context = beside.page.context if beside else chromium.new_context(viewport={"width": 1366, "height": 860})
        contexts.append(context)
        context.add_cookies([{"name": "penumbra_person", "value": person, "url": site.server.url}])
        sheet = Sheet(context.new_page(), f"{site.server.url}/annotate?project={project}&view=grid{more}")
        sheet.load()
        return sheet

    yield open_
    for context in contexts:
        context.close()


def standing(site, project: int) -> dict[int, str]:
    """Class name by item, as it stands."""
    names = site.class_names(project)
    with site.database.read() as s:
        return {each.item_id: names[each.class_id] for each in repository.standing(s, project) if each.class_id}


def leases(site, project: int) -> dict[str, set[int]]:
    """Items by the name of who holds them."""
    with site.database.read() as s:
        people = repository.people(s)
        held = repository.leases(s, project)
    return {name: {item for item, who in held if who == person} for person, name in people.items()}
