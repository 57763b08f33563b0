"""The whole circle in a browser: label, start a round, see what it changed, and the images behind it."""

import pytest

from db import repository
from tests.e2e.conftest import choose, wait_until


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("circle", 150)


def rounds(site, project):
    with site.database.read() as session:
        return repository.rounds(session, project)


def test_label_start_a_round_and_see_it(site, project, open_desk):
    desk = open_desk(project)
    for _ in range(12):
        item = desk.item()
        with site.database.read() as session:
            path = repository.item(session, item).path
        name = path.split("/")[0]
        desk.page.locator(".classes button", has_text=name).click()
        desk.moved_on(item)
    desk.saved(item)
    page = desk.page
    page.get_by_role("button", name="Retrain").click()
    wait_until(lambda: len(rounds(site, project)) == 2, 90, "the round did not end")
    wait_until(lambda: "model 1" in desk.text(".model"), 20, "the desk stays with the old model")
    desk.moved_on(desk.press("1")[0])  # this one was served by the old model
    desk.press("1")
    wait_until(lambda: site.labels(project)[-1].round_number == 1, 10, "the queue is not the new model's")

    page.get_by_role("link", name="Rounds").click()
    page.wait_for_selector("text=Model 1 is right on")
    wait_until(lambda: page.locator("[data-testid=stMetric]").count() == 3, 10, "three figures are missing")
    points = page.locator(".js-plotly-plot").first.locator(".points path")
    wait_until(lambda: points.count() == 2, 10, "the curve has not two points")
    page.wait_for_selector(".barlayer .point path", state="attached")
    page.locator(".barlayer .point path >> visible=true").first.click(force=True)
    page.wait_for_selector("text=where it says")
    page.wait_for_selector("img[src^='/img/']")


def test_the_menu_keeps_the_project(site, project, open_desk):
    other = site.new_project("another", 24)
    desk = open_desk(project)
    desk.page.get_by_role("link", name="Rounds").click()
    desk.page.wait_for_url(f"**/rounds?project={project}")
    desk.page.goto(f"{site.server.url}/rounds?project={other}")
    desk.page.get_by_role("link", name="Annotate").click()
    desk.page.wait_for_url(f"**/annotate?project={other}")


def test_a_forged_host_gets_neither_pages_nor_images(site, project, chromium):
    with site.database.read() as session:
        sha256 = repository.items(session, project)[0].sha256
    context = chromium.new_context()
    reply = context.request.get(f"{site.server.url}/img/{sha256}/256")
    assert reply.status == 200
    forged = context.request.get(f"{site.server.url}/img/{sha256}/256", headers={"Host": "evil.example"})
    assert forged.status == 403
    context.close()


def test_what_people_wrote_is_shown_and_nothing_is_fetched_from_elsewhere(site, chromium):
    name = "![spy](http://spy.invalid/p.png)"
    hostile = site.new_project(name, 40)
    with site.database.write() as session:
        repository.add_problems(session, hostile, [("<img src=http://spy.invalid/f.png>.jpg", "the file ends early")])
    context = chromium.new_context()
    context.add_cookies(
        [{"name": "penumbra_person", "value": "%21%5Bx%5D(http%3A%2F%2Fspy.invalid%2Fw.png)", "url": site.server.url}]
    )
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("", f"annotate?project={hostile}", f"rounds?project={hostile}"):
        page.goto(f"{site.server.url}/{path}")
        page.get_by_text("![spy](").first.wait_for()
        page.wait_for_timeout(800)
    context.close()
    outside = [url for url in asked if not url.startswith((site.server.url, "data:", "blob:"))]
    assert outside == []


def test_a_round_that_another_person_started_is_said_on_the_next_answer(site, open_desk):
    project = site.new_project("company", 120)
    ada, bo = open_desk(project, "Ada"), open_desk(project, "Bo")
    ada.saved(ada.press("1")[0])
    ada.page.get_by_role("button", name="Retrain").click()
    ada.page.get_by_text("waiting for the worker").or_(ada.page.get_by_text("learning from the answers")).wait_for()
    bo.saved(bo.press("2")[0])
    start = bo.page.get_by_role("button", name="Retrain")
    wait_until(lambda: not start.is_visible() or len(rounds(site, project)) == 2, 10, "Bo could start it again")
    wait_until(lambda: len(rounds(site, project)) == 2, 90, "the round did not end")
    start.wait_for()


def test_a_reload_keeps_the_order(site, project, open_desk):
    desk = open_desk(project)
    choose(desk.page.get_by_role("combobox").first, "order: Entropy")
    desk.page.wait_for_url("**order=entropy*")
    desk.page.reload()
    order = desk.page.get_by_role("combobox").first
    wait_until(lambda: order.count() and order.input_value() == "order: Entropy", 20, "the order is another one")
