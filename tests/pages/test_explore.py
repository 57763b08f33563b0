"""Explore: what the facets keep, and what the map is told."""

import base64
import json

import numpy as np
import pytest

from core import atlas
from core.acquisition.table import Acquisition
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
