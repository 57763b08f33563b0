"""The Images and the Hierarchy tab as Streamlit runs them, with an encoder of colours."""

import json

import pytest

from core.gaussians import encode_project
from db import repository
from db.repository import NewItem
from pages.parts import pictures, prolip_hierarchy, prolip_masking
from tests.pages.test_pages import buttons, open_page, words  # noqa: F401 (a fixture)
from tests.pages.test_pictures import square
from tests.pages.test_prolip import encoder  # noqa: F401 (a fixture)


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    monkeypatch.setattr(pictures, "_memory", pictures._Memory())
    monkeypatch.setattr(prolip_hierarchy, "_background", prolip_hierarchy.Background())
    prolip_masking._masked.clear()


@pytest.fixture
def images(open_page, encoder, site):  # noqa: F811
    """The Images tab of a project whose images are encoded."""
    encode_project(site.database, site.project, "toy")
    return lambda **state: open_page("prolip", tab="Images", **state)


@pytest.fixture
def hierarchy(open_page, encoder, site):  # noqa: F811
    encode_project(site.database, site.project, "toy")
    return lambda **state: open_page("prolip", tab="Hierarchy", **state)


def upload(app, key: str, *files: tuple[str, bytes]):
    app.file_uploader(key=key).set_value([(name, data, "image/png") for name, data in files]).run()
    assert not app.exception
    return app


def curve(app, key: str):
    """The first curve of a chart."""
    (chart,) = [each for each in app.get("plotly_chart") if key in each.proto.id]
    return json.loads(chart.proto.spec)["data"][0]


def test_before_the_images_are_read_there_is_the_button_that_reads_them(open_page, encoder):  # noqa: F811
    for tab in ("Images", "Hierarchy"):
        app = open_page("prolip", tab=tab)
        assert "Read the images" in buttons(app)
        assert not app.get("plotly_chart")


def test_the_ends_of_the_ranking_stand_side_by_side(images, site):
    app = images()
    said = words(app)
    assert "Most certain" in said
    assert "Least certain" in said
    tiles = [each for each in app.button if each.key and each.key.startswith(("sure-", "unsure-"))]
    assert len(tiles) == 8  # of nine in the pool: four each
    assert tiles[0].label.startswith("Σσ² ")


def test_a_tile_opens_its_image(images):
    app = images()
    first, last = app.selectbox(key="images-chosen").options[0], app.selectbox(key="images-chosen").options[-1]
    assert app.selectbox(key="images-chosen").value in {
        each.key.partition("-")[2] for each in app.button if each.key and each.key.startswith("sure-")
    }
    assert first != last
    [tile, *_] = [each for each in app.button if each.key and each.key.startswith("unsure-")]
    tile.click().run()
    assert not app.exception
    assert app.selectbox(key="images-chosen").value == tile.key.partition("-")[2]


def test_the_mask_grows_from_nothing_and_says_its_seed(images):
    app = images()
    assert curve(app, "mask-uncertainty")["x"] == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert curve(app, "mask-inclusion")["y"][0] == 0
    assert "Seed 0" in words(app)
    app.number_input(key="mask-seed").set_value(3).run()
    assert not app.exception
    assert "Seed 3" in words(app)


def test_the_walk_ends_at_either_root(images):
    app = images()
    assert r"\[ROOT\] empty text" in words(app)
    app.segmented_control(key="walk-root").set_value("Most inclusive caption").run()
    assert not app.exception
    assert r"\[ROOT\] empty text" not in words(app)
    assert sum(app.dataframe[-1].value["nearest for, of 50 steps"]) == 50


def test_hostile_class_names_stay_letters(images):
    app = images()
    app.text_area(key="images-captions").set_value("").run()
    assert not app.exception
    said = words(app)
    assert "![spy](http" not in said
    assert "*bold*" not in said.replace(r"\*bold\*", "")


def test_no_caption_says_what_to_write(open_page, encoder, site):  # noqa: F811
    with site.database.write() as session:
        repository.delete_project(session, site.project)
    app = open_page("prolip", project=None, tab="Images")
    assert "Drop one image or more" in app.info[0].value
    upload(app, "images-files", ("a.png", square(5)))
    app.text_area(key="images-captions").set_value(" ").run()
    assert "There is no caption to pass" in app.info[0].value


@pytest.mark.parametrize("number", [1, 2])
def test_one_and_two_images_work(images, number):
    app = images(**{"images-source": "Upload"})
    upload(app, "images-files", *[(f"{i}.png", square(40 * i)) for i in range(number)])
    assert ("there is nothing to rank" in words(app)) == (number == 1)
    assert "Seed 0" in words(app)
    assert len(app.selectbox(key="images-chosen").options) == number


def test_a_broken_upload_is_named_and_the_others_are_used(images):
    app = images(**{"images-source": "Upload"})
    upload(app, "images-files", ("a.png", square(1)), ("[x](http://spy.invalid).png", b"\x89PNG\r\n\x1a\nno"))
    said = app.warning[0].value
    assert "**1 file could not be read.** The other 1 image can be used." in said
    assert r"\[x\]\(http" in said
    upload(app, "images-files", ("b.png", b"nothing"))
    assert "Choose others" in app.warning[0].value


def test_a_file_that_went_away_says_so(images, site):
    for path in site.root.iterdir():
        path.unlink()
    app = images()
    assert "gone or lies outside" in app.error[0].value
    assert "Most certain" in words(app)


def test_the_tree_of_the_pool(hierarchy):
    app = hierarchy()
    assert "**9 images · " in words(app)
    (tree,) = app.get("bidi_component")[-1:]
    assert tree.proto.component_name.endswith("penumbra_tree")


@pytest.mark.parametrize("chosen", ["A domain", "A predicted class", "The least certain"])
def test_other_sets(hierarchy, chosen, site):
    app = hierarchy()
    app.segmented_control(key="hierarchy-set").set_value(chosen).run()
    assert not app.exception
    said = words(app) + "".join(each.value for each in app.info)
    assert "at the top" in said or "No image is among these" in said


def test_the_least_certain_are_as_many_as_asked(hierarchy):
    app = hierarchy(**{"hierarchy-set": "The least certain"})
    app.number_input(key="hierarchy-number").set_value(2).run()
    assert "**2 images · " in words(app)


def test_every_class_is_a_set_and_together_they_are_the_pool(hierarchy):
    app, total = hierarchy(**{"hierarchy-set": "A predicted class"}), 0
    for number in range(3):
        app.selectbox(key="hierarchy-class").set_value(number).run()
        assert not app.exception
        said = [each.value for each in app.markdown if "at the top" in each.value]
        total += int(said[0].split()[0].strip("*")) if said else 0
    assert total == 9


def test_the_rule_changes_the_tree(hierarchy):
    app = hierarchy()
    app.number_input(key="hierarchy-threshold").set_value(1e5).run()
    assert not app.exception
    assert "9 at the top, included by none (9 include none either)" in words(app)
    app.toggle(key="hierarchy-official").set_value(True).run()
    app.segmented_control(key="hierarchy-parent").set_value("includes").run()
    assert not app.exception


def test_one_upload_alone_says_what_is_missing(hierarchy):
    app = hierarchy(**{"hierarchy-set": "Upload"})
    upload(app, "hierarchy-files", ("<img src=x>.png", square(3)))
    assert "One image alone includes nothing" in words(app)


def test_a_pool_of_more_is_drawn_from_and_said_so(hierarchy, monkeypatch):
    monkeypatch.setattr(prolip_hierarchy, "MOST", 5)
    app = hierarchy()
    assert "5 of 9 images, drawn by seed 0" in words(app)
    assert "**5 images · " in words(app)


def test_an_empty_pool_says_where_images_come_from(open_page, encoder, site):  # noqa: F811
    with site.database.write() as session:
        other = repository.create_project(
            session, name="none", root=str(site.root), model="mini", prompt="{class}", classes=["a", "b"]
        )
        repository.add_items(session, other, [NewItem("t.png", "1" * 64, None, 9, 9, "test", "a")])
    app = open_page("prolip", project=other, tab="Hierarchy")
    assert "no image in its pool" in words(app)


def test_a_long_computation_shows_its_progress_and_can_be_stopped(hierarchy, monkeypatch):
    from threading import Event

    go = Event()

    def slow(images, rule, report):
        report(1, 4, "Comparing images")
        go.wait(10)
        report(2, 4, "Comparing images")

    monkeypatch.setattr("pages.parts.hierarchies.draw", slow)
    app = hierarchy()
    assert "Cancel" in buttons(app)
    assert "goes on when this page is left" in words(app)
    app.button(key="hierarchy-cancel").click().run()
    go.set()
    app.run()
    assert "This was stopped." in app.info[0].value
    assert "Compare the images" in buttons(app)
