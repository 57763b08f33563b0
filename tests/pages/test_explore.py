"""Explore: what the facets keep and the map is told, and the page as Streamlit runs it on a real small project."""

import base64
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import atlas, audit, jobs
from core.acquisition.table import Acquisition
from core.queue import SELECTION
from db import repository
from db.repository import LabelKind, NewLabel
from pages.parts import explore_grid, explore_map
from pages.parts.explore_pool import Facets, asked, bounds, highest, inside, pool_of, sound_polygon
from tests.pages.test_pages import MAIN, open_page, strong, words  # noqa: F401 (a fixture)
from tests.toy import CLASSES, make_project

HOSTILE = ('<img src=x onerror=alert(1)> & "q"', "**bold**", "![](http://127.0.0.1:9/x.png)")
IMAGES = 96


@pytest.fixture
def project(database, tmp_path, monkeypatch) -> int:
    """A toy project three of whose classes have hostile names, with a map, served to the pages."""
    monkeypatch.setattr("pages.parts.working.ensure_worker", lambda **_: None)
    monkeypatch.setenv("PENUMBRA_DATABASE_URL", database.url)
    names = (*HOSTILE, *CLASSES[3:])
    made = make_project(database, tmp_path / "images", IMAGES, "Toy <b>", monkeypatch, names)
    atlas.build(database, made)
    return made


@pytest.fixture
def row(database, project):
    with database.read() as s:
        return repository.project(s, project)


def answer(database, project, item, position, kind=LabelKind.ANSWER):
    with database.write() as s:
        ada = repository.person(s, "Ada")
        class_id = repository.project(s, project).classes[position].id if kind == LabelKind.ANSWER else None
        repository.record(s, project, ada, [NewLabel(f"{kind}:{item}", item, kind, class_id, source="epig")])


def pool(database, project):
    return pool_of(database, project, atlas.load(atlas.path_of(database, project)))


def pool_items(database, project):
    with database.read() as s:
        return [item.id for item in repository.items(s, project, "pool")]


# --- what is kept ------------------------------------------------------------------------------------------------


def test_states_are_those_of_the_log_and_hidden_classes_are_unknown(database, project):
    items = pool_items(database, project)
    answer(database, project, items[0], 4)
    answer(database, project, items[1], 0, LabelKind.SKIP)
    seen = pool(database, project)
    place = {item: int(each) for item, each in zip(items, seen.atlas.positions(items), strict=True)}
    assert seen.answered[place[items[0]]] == seen.known[place[items[0]]] == 4
    assert np.flatnonzero(seen.aside).tolist() == [place[items[1]]]
    assert seen.open().sum() == len(items) - 2
    unanswered = [place[item] for item in items[1:]]
    assert (seen.known[unanswered] == -1).all(), "the class a folder states for the pool is hidden"


def test_facets_keep_what_all_of_them_let_through(database, project):
    answer(database, project, pool_items(database, project)[0], 4)
    seen = pool(database, project)
    assert asked(seen, Facets()).all()
    assert (asked(seen, Facets(splits=(0,))) == (seen.atlas.split == 0)).all()
    assert (asked(seen, Facets(states=("answered", "set aside"))) == (seen.answered >= 0)).all()
    assert (asked(seen, Facets(known=(4,))) == (seen.known == 4)).all()
    both = asked(seen, Facets(predicted=(5, 6), errors=True))
    obvious = [
        each in (5, 6) and known >= 0 and known != each
        for each, known in zip(seen.atlas.predicted, seen.known, strict=True)
    ]
    assert both.tolist() == obvious


def test_a_window_of_a_score_keeps_its_share_and_drops_what_has_none(database, project):
    seen = pool(database, project)
    values = seen.atlas.scores[Acquisition.EPIG]
    kept = asked(seen, Facets(scores={Acquisition.EPIG: (90, 100)}))
    low, high = bounds(values, (90, 100))
    assert kept.tolist() == [bool(low <= each <= high) for each in values]
    assert 0 < kept.sum() <= 0.12 * np.isfinite(values).sum() + 1
    assert asked(seen, Facets(scores={Acquisition.EPIG: (0, 100)})).all(), "the whole window is no limit"


def test_inside_is_the_even_odd_rule():
    square = [[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8]]
    star = [[0.5, 1.0], [0.8, 0.0], [0.0, 0.6], [1.0, 0.6], [0.2, 0.0]]
    places = np.array([[0.5, 0.5], [0.1, 0.5], [0.79, 0.21], [np.nan, 0.5], [0.5, 0.85]])
    assert inside(places, square).tolist() == [True, False, True, False, False]
    assert inside(places, star).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize(
    "sent", [None, "x", [], [[0, 0], [1, 1]], [[0, 0], [1, 1], [0]], [[0, 0], [1, "a"], [0, 1]], [[0, 1]] * 1001]
)
def test_what_is_no_outline_is_none(sent):
    assert sound_polygon(sent) is None


def test_images_without_a_value_come_last():
    values = np.array([1.0, np.nan, 3.0, 3.0, -np.inf])
    assert highest(values, np.array([True, True, True, True, False])).tolist() == [2, 3, 0, 1]


# --- what the browser is told ------------------------------------------------------------------------------------


def test_the_map_is_sent_as_packed_numbers_without_paths(database, project, row):
    seen = pool(database, project)
    laid = explore_map.places(seen, "neighbours")
    some = np.array([3, 5, 8])
    sent = explore_map.payload(seen, laid, some, explore_map.marks(seen, row, "predicted"), None)
    x = np.frombuffer(base64.b64decode(sent["x"]), "<u2")
    np.testing.assert_allclose(x / 65535, laid[some, 0], atol=1e-9)
    assert np.frombuffer(base64.b64decode(sent["ids"]), "<u4").tolist() == seen.atlas.ids[some].tolist()
    assert np.frombuffer(base64.b64decode(sent["marks"]), "<u2").tolist() == seen.atlas.predicted[some].tolist()
    assert ".jpg" not in json.dumps(sent)


@pytest.mark.parametrize("name", explore_map.colourings())
def test_every_colour_has_a_mark_for_every_image_and_a_meaning(database, project, row, name):
    seen = explore_map.marks(pool(database, project), row, name)
    assert len(seen.values) == IMAGES
    assert explore_map.meaning(name).endswith(".")
    marked = seen.values[seen.values != explore_map.NONE]
    assert marked.max(initial=0) < (explore_map.LEVELS if seen.scale else len(seen.names))


def test_known_classes_colour_no_unanswered_pool_image(database, project, row):
    seen = pool(database, project)
    for name in ("known", "error"):
        marks = explore_map.marks(seen, row, name)
        assert (marks.values[seen.open()] == explore_map.NONE).all()


def test_a_map_of_ten_thousand_images_is_under_two_hundred_kilobytes():
    N = 10_000
    fake = type("A", (), {"ids": np.arange(N)})
    marks = explore_map.Marks(np.zeros(N, np.uint16), ("a",), "none")
    sent = explore_map.payload(type("P", (), {"atlas": fake}), np.zeros((N, 2)), np.arange(N), marks, None)
    assert len(json.dumps(sent)) < 200_000


def test_a_large_pool_is_drawn_in_part():
    rng = np.random.default_rng(0)
    laid = np.zeros((50_000, 2))
    laid[::2] = np.nan
    some = explore_map.drawn(laid, np.ones(50_000, bool), rng)
    assert len(np.unique(some)) == len(some) == explore_map.MOST
    assert (np.diff(some) > 0).all()
    assert (some % 2 == 1).all(), "an image without a place is not drawn"


def test_a_tile_never_says_a_hidden_class_or_a_path(database, project, row):
    seen = pool(database, project)
    position = int(np.flatnonzero(seen.open())[0])
    shown = explore_grid.tile(row, seen, position)
    assert shown["note"] == ""
    assert shown["tone"] == ""
    answer(database, project, int(seen.atlas.ids[position]), 1)
    after = explore_grid.tile(row, pool(database, project), position)
    assert after["note"] == "**bold**", "as text: the component puts it into textContent"


# --- the page ----------------------------------------------------------------------------------------------------


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
