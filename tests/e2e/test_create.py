"""A folder becomes a project in the browser: looked at, created, read by the worker, what is broken listed."""

import pytest

from core.encoders.mini import HEADS_FILE
from tests.toy import draw


@pytest.mark.skipif(not HEADS_FILE.exists(), reason="needs mini's heads")
def test_a_folder_becomes_a_ranked_project(site, chromium, tmp_path):
    for number in range(48):
        draw(tmp_path, number)
    (tmp_path / "mug" / "broken.jpg").write_bytes((tmp_path / "mug" / "00011.jpg").read_bytes()[:600])
    (tmp_path / "notes.txt").write_text("no image")
    context = chromium.new_context(viewport={"width": 1366, "height": 1400})
    page = context.new_page()
    page.goto(site.server.url)
    page.get_by_role("button", name="New project").click()
    page.get_by_role("textbox", name="Folder or file on the server").fill(str(tmp_path))
    page.get_by_role("button", name="Look").click()
    page.wait_for_selector("text=49 images · 12 classes")
    page.wait_for_selector("text=1 file left out, and why")
    page.wait_for_selector("text=a photo of a apple")
    page.get_by_role("textbox", name="Name", exact=True).fill("From a folder")
    page.get_by_role("button", name="Create and read the images").click()
    card = page.locator("[data-testid=stColumn]").filter(has_text="From a folder")
    card.get_by_text("right on the test split").wait_for(timeout=120_000)
    card.get_by_role("button", name="1 problem file").click()
    page.wait_for_selector("text=1 file could not be taken in")
    context.close()
