"""The Explore page as Streamlit runs it on a real small project."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import atlas, audit, jobs
from core.acquisition.table import Acquisition
from core.queue import SELECTION
from db import repository
from pages.parts import explore_map
from tests.pages import test_explore
from tests.pages.test_explore import IMAGES, answer, pool, pool_items
from tests.pages.test_pages import MAIN, open_page, strong, words  # noqa: F401 (a fixture)

project = test_explore.project  # the fixture


@pytest.fixture
def explore(database, project):
    def run(**query) -> AppTest:
        app = AppTest.from_file(MAIN, default_timeout=30)
        with database.write() as s:
            app.session_state["person"] = (repository.person(s, "Ada"), "Ada")
        app.query_params["project"] = str(project)
        app = app.run().switch_page("explore.py")
        for name, value in query.items():
            app.query_params[name] = value
        app = app.run()
        assert not app.exception
        return app

    return run


def press(app, label):
    next(each for each in app.button if each.label.startswith(label)).click()
    app.run()
    assert not app.exception
    return app


def everything(app) -> str:
    """All Markdown of the page: names in it must be escaped."""
    kinds = (app.markdown, app.caption, app.title, app.error, app.warning)
    return "\n".join(str(each.value) for kind in kinds for each in kind)


def test_all_images_can_be_put_into_a_queue(database, project, explore):
    app = explore()
    open_ = len(pool_items(database, project))
    assert f"**{IMAGES} images** · {open_} can be asked" in words(app)
    assert strong(app) == [f"Label these {open_}"]
    app = press(app, "Label these")
    order = "".join(app.query_params["order"])
    assert order.startswith(SELECTION)
    with database.read() as s:
        kept = repository.selection(s, project, order.removeprefix(SELECTION))
    scores = pool(database, project).atlas
    best = int(np.nanargmax(scores.scores[Acquisition.EPIG]))
    assert kept[0] == scores.ids[best], "in the order of the grid"
    assert sorted(kept) == pool_items(database, project)
    shown = next(each for each in app.selectbox if each.label == "Order of the queue")
    assert shown.value == order


def test_an_outline_on_the_map_is_the_choice(database, project, explore):
    app = explore()
    seen = pool(database, project)
    laid = explore_map.places(seen, "neighbours")
    key = f"map-{project}-0-neighbours"
    outline = [[-1, -1], [0.5, -1], [0.5, 2], [-1, 2]]
    app.session_state[key] = {"polygon": outline}
    app.run()
    assert f"**{int((laid[:, 0] < 0.5).sum())} images**" in words(app)


def test_words_keep_the_nearest_in_their_order(explore):
    app = explore(q="a red cup")
    assert next(each for each in app.text_input if each.label == "Search by words").value == "a red cup"
    near = next(each for each in app.selectbox if each.label == "Keep the nearest")
    near.set_value(60).run()
    assert "**60 images**" in words(app)
    assert next(each for each in app.selectbox if each.label == "Order").value == "similarity"


def test_an_image_has_its_page_without_its_path_before_the_answer(database, project, explore):
    item = pool_items(database, project)[0]
    with database.read() as s:
        path = repository.item(s, item).path
    said = everything(explore(image=str(item)))
    assert f"image {item}" in said
    assert "Its path is not shown" in said
    assert "Nobody has answered it yet" in said
    assert path.split("/")[0] not in said
    answer(database, project, item, 1)
    app = explore(image=str(item))
    said = everything(app)
    assert r"Known class: **\*\*bold\*\***" in said
    history = next(each.value for each in app.dataframe if "who" in each.value)
    assert history.iloc[0][["who", "what", "class"]].tolist() == ["Ada", "answer", "**bold**"]


def test_an_answer_is_corrected_where_the_image_is_looked_at(database, project, explore):
    item = pool_items(database, project)[0]
    answer(database, project, item, 1)
    app = explore(image=str(item))
    next(each for each in app.selectbox if each.label == "Correct the class").set_value(4).run()
    press(app, "Save answer")
    with database.read() as s:
        history = repository.history(s, item)
        classes = repository.project(s, project).classes
    assert [row.class_id for row in history] == [classes[1].id, classes[4].id], "both stay in the log"
    assert (history[1].source, history[1].suggestion_seen, history[1].person) == ("explore", True, "Ada")
    assert pool(database, project).known.max() >= 4


def test_an_image_of_another_project_is_not_shown(explore):
    assert "has no image 999999" in everything(explore(image="999999"))


def test_hostile_names_are_literal_everywhere(database, project, explore):
    for number, item in enumerate(pool_items(database, project)[:12]):
        answer(database, project, item, number % 3)
    audit.build(database, project)
    item = pool_items(database, project)[0]
    for query in ({"image": str(item)}, {"view": "duplicates"}, {"view": "doubts"}, {"view": "problems"}):
        said = everything(explore(**query))
        assert "<img src=x" not in said
        assert "![](" not in said
        assert "****bold" not in said


def test_no_duplicates_say_so(explore):
    said = words(explore(view="duplicates"))
    assert "group" in said or "No two images" in said


def test_doubts_are_asked_for_then_listed(database, project, explore):
    answer(database, project, pool_items(database, project)[0], 1)
    press(explore(view="doubts"), "Judge the answers")
    assert jobs.active(database, project)[0].kind == "audit"
    audit.build(database, project)
    said = words(explore(view="doubts"))
    assert "the pre-trained model judges them: it has learned from none" in said


def test_problem_files_are_listed_with_the_way_out(database, project, explore):
    assert "could be read" in words(explore(view="problems"))
    with database.write() as s:
        repository.add_problems(s, project, [("a/broken.jpg", "the file ends early")])
    app = explore(view="problems")
    assert "**1 file** could not be taken in" in words(app)
    assert app.dataframe[0].value["why"].tolist() == ["the file ends early"]


def test_a_map_that_is_not_drawn_yet_is_asked_of_the_worker(database, project, explore):
    atlas.path_of(database, project).unlink()
    app = explore()
    assert [each.kind for each in jobs.active(database, project)] == ["atlas"]
    assert "is being drawn" in words(app)


def test_without_a_project_the_next_step_is_the_projects_page(open_page, site):  # noqa: F811
    with site.database.write() as session:
        repository.delete_project(session, site.project)
    assert strong(open_page("explore", project=None)) == ["See the projects"]
