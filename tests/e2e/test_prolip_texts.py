"""Texts on the ProLIP page in the browser: bars as one types, hostile letters, a file, what is taken away."""

import json

import pytest

from tests.conftest import ROOT

HEADS = ROOT / "core" / "encoders" / "mini_prolip" / "heads.safetensors"
HOSTILE = "zebra <img src=x onerror=alert(1)> **bold** &lt;i&gt;"

pytestmark = pytest.mark.skipif(not HEADS.exists(), reason="needs mini-prolip's heads")


@pytest.fixture
def page(site, chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 2000}, accept_downloads=True)
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": site.server.url}])
    opened = context.new_page()
    opened.trouble = []
    opened.on("dialog", lambda dialog: opened.trouble.append(dialog.message) or dialog.dismiss())
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.goto(f"{site.server.url}/prolip")
    opened.get_by_text("How unsure is the model of each?").wait_for(timeout=90_000)
    yield opened
    context.close()


def bars(page):
    return page.locator(".st-key-text-bars .js-plotly-plot")


def test_a_bar_appears_while_typing_and_shows_letters_only(page):
    box = page.get_by_role("textbox", name="One text a line")
    box.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(f"\n{HOSTILE}", delay=5)
    bars(page).get_by_text("zebra <img src=x onerror=alert(1)").wait_for(timeout=30_000)
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA", "typing goes on where it was"
    page.get_by_role("tab", name="Hierarchy").click()
    page.get_by_role("tab", name="Texts").click()
    bars(page).get_by_text("zebra <img src=x onerror=alert(1)").wait_for(timeout=30_000)
    assert HOSTILE in box.input_value(), "what was typed outlives a look at another tab"
    assert page.trouble == []


def test_nothing_typed_says_so_and_texts_come_back(page):
    box = page.get_by_role("textbox", name="One text a line")
    box.fill("")
    page.get_by_text("Type or paste a text on the left").wait_for(timeout=30_000)
    box.fill("a dog\na dog\n🐶")
    page.get_by_text("1 line said again what another says").wait_for(timeout=30_000)
    assert page.trouble == []


def test_the_official_value_can_be_shown_and_everything_is_taken_away(page):
    page.get_by_text("H(row ⊂ column), exact").wait_for()
    page.get_by_text("Official value").click()
    page.get_by_text("H(row ⊂ column), as published").wait_for(timeout=30_000)
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()  # a button drawn anew loses a press
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    kept = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert kept["model"] == "mini-prolip"
    assert len(kept["inclusion_exact"]) == len(kept["compared"]) == len(kept["texts"]) == 10
    assert page.trouble == []


def test_a_file_brings_its_texts(page, tmp_path):
    file = tmp_path / "captions.csv"
    file.write_text("id,caption\n1,a red bus\n2,a bus\n", encoding="utf-8")
    page.get_by_role("radio", name="File").or_(page.get_by_text("File", exact=True)).first.click()
    page.locator("input[type=file]").set_input_files(file)
    bars(page).get_by_text("a red bus").wait_for(timeout=30_000)
    assert page.trouble == []
