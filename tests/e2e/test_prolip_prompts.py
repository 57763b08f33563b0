"""The Prompts tab in a browser: the filter, weights from answers, what they do, adopting in one click, the way back."""

import json
import re

import pytest

from core import class_texts, prompting
from core.projects import get_project
from db import repository
from db.repository import NewLabel, Split
from tests.e2e.conftest import Server, wait_until
from tests.e2e.tiny import tiny_project

TEMPLATES = ("a photo of the {class}", "a {class} in the room", "red {class} on a table", "small blue {class}")


@pytest.fixture(scope="module")
def server(tmp_path_factory, chromium):
    """A server on a project whose pool has an answer for every image."""
    folder = tmp_path_factory.mktemp("prompts")
    database, project = tiny_project(folder, 72)
    with database.write() as session:
        person = repository.person(session, "Ada")
        classes = {each.name: each.id for each in repository.project(session, project).classes}
        items = repository.items(session, project, Split.POOL)
        events = [NewLabel(f"t:{i.id}", i.id, "answer", classes[i.path.split("/")[0]], source="csv") for i in items]
        repository.record(session, project, person, events)
    started = Server(folder / "home")
    started.start()
    started.database, started.project, started.answers = database, project, len(items)
    yield started
    started.stop()
    database.close()


@pytest.fixture
def page(server, chromium):
    prompting.back_to_single(server.database, server.project)
    context = chromium.new_context(viewport={"width": 1366, "height": 2400}, accept_downloads=True)
    context.add_cookies([{"name": "penumbra_person", "value": "Ada", "url": server.url}])
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    opened.trouble = []
    opened.on("dialog", lambda dialog: opened.trouble.append(dialog.message) or dialog.dismiss())
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.goto(f"{server.url}/prolip?project={server.project}&tab=Prompts")
    opened.get_by_text("What does it do?").wait_for(timeout=90_000)
    give(opened, *TEMPLATES)
    yield opened
    context.close()


def still(page) -> None:
    """A control drawn anew loses a press: wait until nothing runs."""
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()


def give(page, *templates: str) -> None:
    still(page)
    box = page.get_by_role("textbox", name="Prompts")
    box.fill("\n".join(templates))
    box.press("Control+Enter")
    page.get_by_text(templates[-1].replace("{class}", "apple")).wait_for()
    still(page)


def everything(page) -> dict:
    """What the tab shows, by its own export."""
    still(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    return json.loads(download.value.path().read_text(encoding="utf-8"))


def adopted(server):
    return class_texts.adopted(get_project(server.database, server.project))


def choose(page, label: str, option: str) -> None:
    wanted = page.get_by_role("option", name=option, exact=True)

    def is_open() -> bool:  # a list that is drawn anew closes
        still(page)
        if not wanted.is_visible():
            page.get_by_role("combobox", name=label, exact=True).click()
            page.wait_for_timeout(1000)
        return wanted.is_visible()

    wait_until(is_open, 60, f"{label} does not offer {option}")
    wanted.click()
    still(page)


def test_the_filter_crosses_what_is_vague_and_what_it_does_is_measured(page):
    page.get_by_text("24 of 48 prompts stay").wait_for()
    crosses = page.locator(".st-key-prompts-vague .js-plotly-plot").last.locator(".scatterlayer .point")
    wait_until(lambda: crosses.count() == 24, 20, "a prompt that the filter leaves out has no cross")
    amount = page.get_by_role("spinbutton", name="Amount")
    amount.fill("1")
    amount.press("Enter")
    page.get_by_text("12 of 48 prompts stay").wait_for()
    found = everything(page)
    assert found["filter"] == {"keep": "most certain", "amount": 1}
    for doubts, weights in zip(found["uncertainty"], found["ways"]["Filtered"]["weights"], strict=True):
        assert weights.index(1) == doubts.index(min(doubts)), "the least uncertain prompt is the one that stays"
    assert found["ways"]["Filtered"]["nlpd"] != found["ways"]["Plain average"]["nlpd"]
    choose(page, "Keep", "up to deviations above its class's mean")
    assert everything(page)["filter"] == {"keep": "deviations", "amount": 1.0}
    assert page.trouble == []


def test_weights_come_from_the_answers_and_their_effect_stands_beside(page, server):
    page.get_by_text(f"From {server.answers} answered images: apple").wait_for()
    found = everything(page)
    assert list(found["ways"]) == ["One prompt", "Plain average", "Filtered", "BPRW"]
    weights = found["ways"]["BPRW"]["weights"]
    assert all(sum(each) == pytest.approx(1) for each in weights)
    assert max(map(max, weights)) > 0.4, "answers make some prompt weigh more than a fourth"
    for way in found["ways"].values():
        assert 0 <= way["accuracy"] <= 1 < way["nlpd"]
        assert way["images"] > 0
    assert found["measured_on"] == "test split"
    page.get_by_text("validation split", exact=True).click()
    page.get_by_text(re.compile(r"^validation split, \d+ image")).wait_for()
    assert everything(page)["measured_on"] == "validation split"
    assert page.trouble == []


def test_one_click_adopts_says_so_on_the_spot_and_another_takes_it_back(page, server):
    page.get_by_text(re.compile(r"its accuracy is \d\.\d{3}, \d\.\d{3} now")).wait_for()
    offered = everything(page)["ways"]["BPRW"]
    page.get_by_role("button", name="Use these for the project").click()
    page.locator(".st-key-prompts-in-use button").wait_for()
    assert page.locator(".st-key-prompts-in-use button").is_disabled()
    chosen = adopted(server)
    assert chosen.templates == TEMPLATES
    assert chosen.weights.tolist() == offered["weights"]
    page.get_by_text("4 prompts, weighed by BPRW").wait_for()
    page.get_by_text("Texts changed since model 0").wait_for()

    choose(page, "Use", "Filtered")
    page.get_by_role("button", name="Use these for the project").wait_for()
    still(page)
    page.reload()
    page.get_by_text("4 prompts, weighed by BPRW").wait_for(timeout=90_000)
    still(page)
    page.get_by_role("button", name="Back to the single prompt").click()
    page.get_by_text("are read by one prompt").wait_for()
    assert adopted(server) is None
    assert page.get_by_text("Texts changed since model 0").count() == 0
    assert page.trouble == []


def test_two_people_adopt_and_the_later_one_stands(page, server, chromium):
    other = chromium.new_context(viewport={"width": 1366, "height": 2400})
    second = other.new_page()
    second.set_default_timeout(60_000)
    second.goto(f"{server.url}/prolip?project={server.project}&tab=Prompts")
    second.get_by_text("What does it do?").wait_for(timeout=90_000)
    give(second, "a {class}", "one {class}")
    page.get_by_role("button", name="Use these for the project").click()
    page.locator(".st-key-prompts-in-use button").wait_for()
    still(second)
    second.get_by_role("button", name="Use these for the project").click()
    second.get_by_text("2 prompts, weighed by BPRW").wait_for()
    assert adopted(server).templates == ("a {class}", "one {class}")
    give(page, *TEMPLATES, "green {class}")
    assert "In use" in everything(page)["ways"], "what stands by another's choice is measured beside mine"
    still(page)
    page.get_by_role("button", name="Back to the single prompt").click()
    page.get_by_text("are read by one prompt").wait_for()
    other.close()


def test_a_prompt_without_its_class_is_refused_and_one_that_is_cut_is_named(page):
    box = page.get_by_role("textbox", name="Prompts")
    box.fill("<img src=x onerror=alert(1)>")
    box.press("Control+Enter")
    page.get_by_text("has no {class} in it").wait_for()
    give(page, "a {class}", "very " * 80 + "{class}", "<b>one</b> {class}")
    page.get_by_text("the class name is not among them: all classes look alike").wait_for()
    assert page.trouble == []
