"""What is served and shown: blind teams, filters, orders for reviewers, ends that say why, and rounds."""

import pytest

from db import repository
from db.repository import LabelKind, NewLabel
from tests.e2e.conftest import choose, wait_until
from tests.toy import CLASSES


@pytest.fixture(scope="module")
def project(site) -> int:
    return site.new_project("views", 90)


def team(site, project, **settings) -> None:
    with site.database.write() as s:
        repository.set_team(s, project, settings)


def test_a_blind_team_sees_no_guess_and_no_reason(site, open_desk):
    project = site.new_project("blind", 40)
    team(site, project, blind=True)
    desk = open_desk(project)
    item = desk.item()
    desk.press("w")
    assert not desk.sees(".why")
    assert not desk.sees(".tools [data-act=why]")
    assert not desk.sees(".tools [data-act=grid]")
    reply = desk.page.request.get(f"{site.server.url}/why/{project}/epig/{item}")
    assert reply.status == 403
    desk.press("1")
    desk.saved(item)
    (label,) = site.labels(project)
    assert (label.suggested_class_id, label.suggestion_seen) == (None, False)
    desk.page.get_by_role("button", name="Filter").click()
    desk.page.get_by_text("there is nothing to filter by").wait_for()


def test_nothing_is_chosen_before_a_person_chooses(site, project, open_desk):
    desk, before = open_desk(project), len(site.labels(project))
    chosen = desk.page.locator(".classes [aria-pressed=true], .classes [aria-selected=true], .classes :checked")
    assert chosen.count() == 0
    assert desk.page.locator(".matches button").count() == 0
    item = desk.item()
    for key in ("Enter", " ", "Tab", "Enter"):
        desk.press(key)
    desk.press("Escape")
    desk.page.wait_for_timeout(400)
    assert desk.item() == item
    assert len(site.labels(project)) == before


def test_a_filter_holds_and_is_in_the_address(site, project, open_desk):
    desk = open_desk(project)
    desk.press("w")
    guess = desk.page.locator(".guess > :first-child").first.inner_text()
    desk.page.get_by_role("button", name="Filter").click()
    choose(desk.page.get_by_role("combobox", name="Likeliest class"), guess)
    desk.page.wait_for_url("**guess=*")
    desk.page.locator(".stage").click()
    with site.database.read() as s:
        wanted = next(each for each, name in repository.class_names(s, project).items() if name == guess)
    assert f"guess={wanted}" in desk.page.url
    before = len(site.labels(project))
    for _ in range(3):
        item = desk.item()
        desk.press("1")
        desk.saved(item)
        desk.page.wait_for_timeout(200)
    assert {label.suggested_class_id for label in site.labels(project)[before + 1 :]} == {wanted}
    desk.page.reload()
    desk.page.wait_for_selector(".frame img")
    desk.page.get_by_role("button", name=guess).first.wait_for()


def test_an_end_says_that_the_filter_hides_the_rest(site, open_desk):
    project = site.new_project("filtered", 30)
    desk = open_desk(project)
    with site.database.read() as s:
        classes = {name: each for each, name in repository.class_names(s, project).items()}
    seen = set()
    for name in CLASSES:
        desk.url = f"{site.server.url}/annotate?project={project}&guess={classes[name]}"
        desk.load()
        if desk.item() is None:
            seen.add(desk.text(".end h3"))
            assert "Your filter hides" in desk.text(".end p")
            break
    else:
        while desk.item() is not None:
            desk.press("1")
            desk.page.wait_for_timeout(300)
        wait_until(lambda: desk.sees(".end"), 10, "no end")
        seen.add(desk.text(".end h3"))
    assert seen == {"Filtered out"}


def test_reviewers_see_who_said_what_and_decide(site, open_desk):
    project = site.new_project("review", 40)
    with site.database.write() as s:
        item = repository.items(s, project, "pool")[0].id
        repository.want(s, project, [item], 2)
        ids = list(repository.class_names(s, project))
        for name, class_id in (("Bo", ids[0]), ("Cy", ids[1])):
            vote = NewLabel(f"{name}:1", item, LabelKind.ANSWER, class_id, source="epig")
            repository.record(s, project, repository.person(s, name), [vote])
    desk = open_desk(project)
    choose(desk.page.get_by_role("combobox", name="Order of the queue"), "order: disagreements")
    wait_until(lambda: desk.item() == item, 15, "what is in dispute does not come")
    votes = desk.page.locator(".votes li").all_inner_texts()
    assert [vote.split("\n") for vote in votes] == [["Bo", "apple"], ["Cy", "bottle"]]
    desk.press("2")
    desk.saved(item)
    with site.database.read() as s:
        assert repository.answers(s, project)[item] == 1
        assert "review" in [label.source for label in repository.history(s, item)]
    wait_until(lambda: desk.sees(".end") and desk.text(".end h3") == "Nothing left to review", 10, "no end is said")


def test_g_leads_to_the_grid_and_back(site, project, open_desk):
    desk = open_desk(project)
    desk.press("g")
    desk.page.wait_for_url("**view=grid*")
    desk.page.wait_for_selector(".tile img", timeout=20_000)
    desk.press("g")
    desk.page.wait_for_selector(".frame img", timeout=20_000)
    assert "view=grid" not in desk.page.url
    before = len(site.labels(project))
    item = desk.item()
    desk.press("1")
    desk.saved(item, 30)
    assert [label.item_id for label in site.labels(project)[before:]] == [item]


def test_the_line_says_how_far_it_is_and_retrains(site, open_desk):
    project = site.new_project("line", 60)
    desk = open_desk(project)
    assert desk.text(".count").endswith("answered")
    assert desk.text(".model") == "model 0"
    desk.saved(desk.press("1")[0])
    wait_until(lambda: desk.text(".model") == "model 0 · 1 label newer than model 0", 10, "the line is another")
    desk.page.get_by_role("button", name="Retrain").click()
    wait_until(lambda: desk.sees(".round"), 10, "it is not shown that a round runs")
    wait_until(lambda: desk.text(".model").startswith("model 1"), 90, "the round did not end")
    assert desk.sees(".retrain")


def test_a_round_comes_by_itself_where_the_team_wants_it(site, open_desk):
    project = site.new_project("automatic", 60)
    team(site, project, retrain_every=3)
    desk = open_desk(project)
    assert desk.text(".every") == "by itself every 3 labels"
    for _ in range(3):
        item = desk.item()
        desk.press("1")
        desk.saved(item)
    wait_until(lambda: desk.sees(".round") or desk.text(".model").startswith("model 1"), 20, "no round came")
    wait_until(lambda: desk.text(".model").startswith("model 1"), 90, "the round did not end")
