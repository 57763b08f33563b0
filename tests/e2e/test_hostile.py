"""Class names that are markup: on every page, chart, hover and toast as they are, and nothing is run or fetched."""

import re
import shutil
from collections.abc import Callable

import pytest

from core import atlas, audit
from core.gaussians import encode_project
from core.projects import create_from_folder
from core.rounds import prepare
from db import repository
from tests.conftest import ROOT
from tests.e2e.conftest import choose, wait_until
from tests.encoders.words import write_tokenizer
from tests.test_history import learn_twice
from tests.toy import CLASSES, ToyEncoder, draw, toy_factors

HOSTILE = ('<img src=x onerror=alert(1)> & "q"', "**bold**", "![](http://127.0.0.1:9/x.png)")
PERSON = "Eve ![](http://127.0.0.1:9/p.png) <b>"
IMAGES = 120
PAGES = re.findall(r'st\.Page\("(\w+)\.py"', (ROOT / "pages" / "main.py").read_text())
NAMING = {"annotate", "explore", "rounds", "prolip"}  # pages that show the names of classes as they come

TEXT = """() => {
  const said = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) said.push(node.textContent);
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (['SCRIPT', 'STYLE'].includes(node.tagName)) return;
      for (const name of ['value', 'title', 'alt', 'placeholder', 'aria-label']) {
        const held = name === 'value' ? node.value : node.getAttribute(name);
        if (typeof held === 'string') said.push(held);
      }
      if (node.shadowRoot) walk(node.shadowRoot);
    }
    node.childNodes.forEach(walk);
  };
  walk(document.body);
  return said.join('\\n');
}"""
MADE = """() => {
  const found = [];
  const walk = (root) => root.querySelectorAll('*').forEach((each) => {
    if (each.shadowRoot) walk(each.shadowRoot);
    const source = each.getAttribute('src') ?? each.getAttribute('href') ?? '';
    const isBold = ['B', 'STRONG', 'EM', 'I'].includes(each.tagName) || Number(each.style.fontWeight) > 600
      || each.style.fontWeight === 'bold';
    if (each.hasAttribute('onerror') || source === 'x' || source.includes('127.0.0.1:9/')) {
      found.push(each.parentElement.outerHTML);
    }
    if (isBold && each.textContent.trim() === 'bold') found.push(each.outerHTML);
  });
  walk(document);
  return found;
}"""
TWICE = (r"\*\*bold", r"\<img", "&lt;img", "&amp;", r"\!\[", "%3Cimg")  # escaped once too often


@pytest.fixture(scope="module")
def project(site, tmp_path_factory) -> int:
    """Two rounds, a map, judged answers, and Gaussians of the images; three of twelve classes are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "tiny").mkdir()
    reference = ROOT / "tests" / "reference"
    shutil.copy(reference / "prolip_tiny_config.json", folder / "tiny" / "config.json")
    shutil.copy(reference / "prolip_tiny_weights.safetensors", folder / "tiny" / "model.safetensors")
    write_tokenizer(folder / "tiny")
    for number in range(IMAGES):
        draw(folder / "images", number, side=96)
    model, classes = f"local-dir:{folder / 'tiny'}", (*HOSTILE, *CLASSES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(site.server.home))
        patch.setattr("core.rounds.encoder_for", lambda name: ToyEncoder())
        patch.setattr("core.rounds.factors_for", toy_factors)
        made = create_from_folder(
            site.database, name=f"Names {HOSTILE[1]}", folder=folder / "images", classes=classes, model=model
        )
        prepare(site.database, made)
        learn_twice(site.database, made)
        for build in (atlas.build, audit.build):
            build(site.database, made)
        encode_project(site.database, made, model)
    return made


@pytest.fixture
def visitor(site, project, chromium):
    """Open a page and look on: what it asked for, what it said."""
    context = chromium.new_context(viewport={"width": 1366, "height": 1000})
    context.add_cookies([{"name": "penumbra_person", "value": "Eve", "url": site.server.url}])
    page = context.new_page()
    page.set_default_timeout(90_000)
    asked, alerts = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))

    def open_(name: str, **query: str):
        more = "".join(f"&{key}={value}" for key, value in query.items())
        page.goto(f"{site.server.url}/{name if name != 'projects' else ''}?project={project}{more}")
        page.wait_for_selector("[data-testid=stMainBlockContainer] :is(h1, h2, h3, .stMarkdown)")
        return page

    yield open_
    context.close()
    assert not alerts
    elsewhere = [url for url in asked if not url.startswith((site.server.url, "data:", "blob:", "about:"))]
    assert not elsewhere


def settled(page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(300)


def literal(page) -> str:
    """Everything that the page says; nothing of it is markup, nothing is escaped twice."""
    settled(page)
    assert page.evaluate(MADE) == []
    said = page.evaluate(TEXT).replace("\u2060", "")  # what breaks a link is not seen
    assert [each for each in TWICE if each in said] == []
    assert not page.locator("[data-testid=stException]").count(), said
    return said


def walk(page) -> str:
    """What a page says with every tab opened, every folded part unfolded, and every chart pointed at."""
    said = [literal(page)]
    tabs = page.get_by_role("tab")
    for number in range(tabs.count()):
        tabs.nth(number).click()
        said.append(literal(page))
        unfold(page)
        point(page)
        said.append(literal(page))
    unfold(page)
    point(page)
    return "\n".join([*said, literal(page)])


def unfold(page) -> None:
    for each in page.locator("details:not([open]) > summary >> visible=true").all():
        each.click()


def point(page, most: int = 4) -> None:
    """Hover some marks of each chart."""
    for chart in page.locator(".js-plotly-plot >> visible=true").all():
        marks = chart.locator(".point path, .points path, .heatmaplayer image")
        seen = [mark for mark in marks.all()[: 10 * most] if (mark.bounding_box() or {"height": 0})["height"] > 1]
        for mark in seen[:most]:
            mark.hover(force=True)
            page.wait_for_timeout(80)
            assert page.evaluate(MADE) == []


def annotate(page) -> str:
    page.wait_for_selector(".frame img")
    said = page.evaluate(TEXT)
    for key in ("w", "1", "2", "3"):
        page.keyboard.press(key)
        page.wait_for_timeout(700)
        said += literal(page)
    page.wait_for_selector('.saved[data-state="saved"]')
    for key in ("/", "b", "o", "Escape", "h"):
        page.keyboard.press(key)
        said += literal(page)
    page.keyboard.press("Escape")
    return said


def explore(page) -> str:
    page.wait_for_selector(".legend b")
    said = page.evaluate(TEXT)
    canvas = page.locator(".field canvas").bounding_box()
    for share in range(1, 30):
        page.mouse.move(canvas["x"] + share * canvas["width"] / 30, canvas["y"] + share * canvas["height"] / 30)
    choose(page.get_by_role("combobox", name="Predicted class"), HOSTILE[2])
    said += literal(page)
    for view in ("Duplicates", "Label errors", "Problem files", "Images"):
        page.get_by_text(view, exact=True).first.click()
        said += literal(page)
    page.wait_for_selector(".grid button")
    page.locator(".grid button").first.click()
    page.wait_for_selector("text=Most like it")
    said += literal(page)
    choose(page.get_by_role("combobox", name=re.compile("Answer|Correct the class")), HOSTILE[0])
    settled(page)
    page.get_by_role("button", name="Save answer").click()
    page.wait_for_selector("text=Known class:")
    said += literal(page)
    page.keyboard.press("Escape")
    return said


def rounds(page) -> str:
    marks = page.locator(".st-key-confusion .barlayer .point path")
    wait_until(lambda: marks.count() > 100, 60, "the confusion matrix is missing")
    counts = page.locator(".st-key-confusion .barlayer .point").all_text_contents()
    marks.nth(next(i for i, each in enumerate(counts) if each.strip().isdecimal())).click(force=True)
    page.locator(".st-key-confusion img").first.wait_for()
    said = literal(page)
    page.reload()  # at its top again: a list that opens while the page scrolls closes at once
    wait_until(lambda: marks.count() > 100, 60, "the confusion matrix is missing")
    page.get_by_role("combobox", name="True class").click()
    chosen = page.get_by_role("option", name=HOSTILE[2], exact=True)
    chosen.wait_for()
    said += page.evaluate(TEXT)  # on a chart's axis a long name is cut
    chosen.click()
    return said + literal(page)


def scores(page) -> str:
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("text=Noise floor", timeout=120_000)
    return page.evaluate(TEXT)


VISITS: dict[str, Callable] = {"annotate": annotate, "explore": explore, "rounds": rounds, "scores": scores}


@pytest.mark.parametrize("name", PAGES)
def test_names_are_shown_as_they_are(visitor, name):
    page = visitor(name)
    settled(page)
    said = VISITS.get(name, lambda page: "")(page) + walk(page)
    if name in NAMING:
        assert [each for each in HOSTILE if each not in said] == []


def test_a_new_projects_preview_shows_names_as_they_are(visitor, tmp_path):
    draw(tmp_path, 0)
    (tmp_path / CLASSES[0]).rename(tmp_path / "flat")
    page = visitor("projects")
    page.get_by_role("button", name="New project").first.click()
    page.get_by_role("textbox", name="Folder or file on the server").fill(str(tmp_path / "flat"))
    page.get_by_role("button", name="Look", exact=True).click()
    names = page.get_by_role("textbox", name="Classes, one on a line")
    names.fill("\n".join(HOSTILE))
    names.blur()
    page.wait_for_selector("text=The model will read")
    said = literal(page)
    assert all(f"a photo of a {each}" in said for each in HOSTILE)


def test_a_hostile_person_is_shown_as_written(site, project, chromium):
    with site.database.write() as session:
        repository.person(session, PERSON)
    context = chromium.new_context()
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site.server.url}/annotate?project={project}")
    page.wait_for_selector("text=Who")
    settled(page)
    assert page.evaluate(MADE) == []
    context.close()
    assert all(url.startswith((site.server.url, "data:", "blob:", "about:")) for url in asked)
