"""In and out in a real browser: a folder is uploaded, becomes a project, goes out as a zip; names stay names."""

import csv
import io
import zipfile

import pytest

from core.encoders.mini import HEADS_FILE
from db import repository
from tests.e2e.conftest import press
from tests.e2e.test_hostile import literal
from tests.toy import draw

BOLD = "**Mug** ![](http://127.0.0.1:9/x.png)"
RENAMED = {"mug": "<img src=x onerror=alert(1)> #1", "apple": "=1+1", "chair": "TV∕Monitor 🙂"}


@pytest.fixture
def page(site, chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 1400}, accept_downloads=True)
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": site.server.url}])
    page = context.new_page()
    page.set_default_timeout(60_000)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site.server.url)
    press(page, "New project")
    yield page
    context.close()
    assert not [url for url in asked if not url.startswith((site.server.url, "data:", "blob:", "about:"))]


def export(page, title: str) -> zipfile.ZipFile:
    page.get_by_text(title, exact=True).click()
    press(page, f"Export as {title}")
    link = page.get_by_role("link", name="Download the zip")
    link.wait_for(timeout=90_000)
    with page.expect_download() as coming:
        link.click()
    return zipfile.ZipFile(io.BytesIO(coming.value.path().read_bytes()))


@pytest.mark.skipif(not HEADS_FILE.exists(), reason="needs mini's heads")
def test_an_uploaded_folder_becomes_a_project_and_goes_out_again(site, page, tmp_path):
    for number in range(48):
        draw(tmp_path / "office", number, side=96)
    for old, new in RENAMED.items():
        (tmp_path / "office" / old).rename(tmp_path / "office" / new)
    page.get_by_role("radio", name="Upload a folder").click()
    page.locator("input[type=file]").set_input_files(tmp_path / "office")
    press(page, "Look at 48 files")
    page.wait_for_selector("text=48 images · 12 classes")
    said = literal(page)
    assert all(name in said for name in RENAMED.values())
    page.get_by_role("textbox", name="Name", exact=True).fill(BOLD)
    press(page, "Create and read the images")
    card = page.locator("[data-testid=stColumn]").filter(has_text="Mug")
    card.get_by_text("right on the test split").wait_for(timeout=120_000)
    with site.database.read() as session:
        project = next(each for each in repository.projects(session) if each.name == BOLD)
    assert project.root.startswith(str(site.server.home / "uploads"))
    assert {each.name for each in project.classes} >= set(RENAMED.values())

    page.goto(f"{site.server.url}/?project={project.id}&show=export")
    page.get_by_text("ImageFolder cannot hold").wait_for()
    literal(page)
    with export(page, "CSV") as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("labels.csv").decode())))
        assert {"manifest.json", "labels.csv"} == set(archive.namelist())
        assert len(rows) == 48
    page.goto(f"{site.server.url}/?project={project.id}&show=images")
    page.get_by_text("48 new images").wait_for()
    literal(page)
