"""The pages of import and export, without a browser: what is said before anything is written, and what is written."""

import csv
import io
import json

import pytest
from PIL import Image

from core import jobs, sources
from core.changes import Changes
from core.data.formats import Preview
from core.handlers import HANDLERS
from core.projects import get_project
from db import repository
from pages.parts import export_page, import_report, import_words, uploading
from pages.parts.export_place import finished
from pages.parts.import_look import table
from tests.pages.test_pages import open_page, words  # noqa: F401 (fixture)

NAMES = ("TV/Monitor", "=1+1", "<b>Mug</b> ![](http://127.0.0.1:9/x.png)", "Taße 🙂")


@pytest.fixture
def labels(tmp_path):
    """A table as people have them: semicolons, Windows' encoding, a file that is gone."""
    rows = [["Bild", "label", "split"]]
    for number in range(8):
        path = tmp_path / "pix" / f"{number} #?.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (40, 30), (20 * number, 90, 120)).save(path)
        rows.append([f"pix/{path.name}", ("Tasse", "Müll")[number % 2], "test" if number < 2 else ""])
    rows.append(["pix/gone.png", "Tasse", ""])
    file = tmp_path / "labels.csv"
    rows[0][0] = "path"
    with file.open("w", encoding="cp1252", newline="") as handle:
        csv.writer(handle, delimiter=";").writerows(rows)
    return file


@pytest.fixture
def begun(open_page, labels):  # noqa: F811
    app = open_page(**{"new-project": True})
    app.text_input[0].set_value(str(labels))
    next(each for each in app.button if each.label == "Look").click().run()
    assert not app.exception
    return app


def button(app, label):
    return next(each for each in app.button if each.label.startswith(label))


def test_a_table_is_shown_as_it_is_understood_and_nothing_is_written(begun, site):
    said = words(begun)
    assert "9 images · 2 classes" in said
    assert "semicolon" in said
    assert "Windows" in said
    assert "1 of 9 images named in it are not there" in begun.warning[0].value
    assert "2 images for test" in said
    assert begun.dataframe[0].value.shape == (5, 3)
    with site.database.read() as session:
        assert len(repository.projects(session)) == 1


@pytest.mark.parametrize(("kind", "annotator"), [("known", ""), ("answers", "Eve <b>")])
def test_a_project_is_made_with_labels_as_a_person_says(begun, site, labels, kind, annotator):
    if annotator:
        begun.radio(key=f"new-labels-{labels.resolve()}").set_value("answers").run()
        begun.text_input(key="new-annotator").set_value(annotator).run()
    button(begun, "Create and read").click().run()
    assert not begun.exception
    with site.database.read() as session:
        (made,) = [each for each in repository.projects(session) if each.id != site.project]
    assert [each.name for each in made.classes] == ["Müll", "Tasse"]
    assert (made.source["labels"], made.source["annotator"], made.source["format"]) == (kind, annotator, "csv")
    assert jobs.latest(site.database, made.id, "prepare").state == "queued"


def test_another_source_can_be_chosen(begun):
    button(begun, "Choose another").click().run()
    assert not begun.exception
    assert [each.label for each in begun.text_input] == ["Folder or file on the server"]


@pytest.mark.parametrize(("typed", "said"), [("/no/such", "there is no"), ("https://a.org/x.jpg", "under Addresses")])
def test_what_is_no_place_is_said(open_page, typed, said):  # noqa: F811
    app = open_page(**{"new-project": True})
    app.text_input[0].set_value(typed)
    button(app, "Look").click().run()
    assert said in app.error[0].value


def export(app, site, name):
    app.radio(key="export-format").set_value(name).run()
    button(app, "Export as").click().run()
    job = jobs.take(site.database, jobs.latest(site.database, site.project, "export").id)
    HANDLERS["export"](site.database, job, lambda *_: None)
    jobs.finish(site.database, job.id, "done")
    return app.run()


def test_an_export_says_what_is_lost_before_and_where_it_is_after(open_page, site):  # noqa: F811
    app = open_page()
    app.query_params["show"] = export_page.SHOW
    app.run()
    assert not app.exception
    assert "cannot hold" in words(app)
    assert "9 images without a label" in words(app)
    assert jobs.latest(site.database, site.project, "export") is None
    app = export(app, site, "csv")
    assert not app.exception
    made = finished(get_project(site.database, site.project), "csv")
    assert str(made.folder) in [each.value for each in app.code]
    assert json.loads(app.json[0].value)["classes"] == [
        each.name for each in get_project(site.database, site.project).classes
    ]
    with (made.folder / "labels.csv").open(encoding="utf-8", newline="") as handle:
        assert len(list(csv.DictReader(handle))) == 12


def test_the_last_import_is_told_with_what_matters(open_page, site):  # noqa: F811
    changes = Changes(
        at="2026-12-01T00:00:00+00:00",
        files=12,
        new=1,
        vanished=2,
        kept=1,
        unknown_classes={"![](http://x/y.png)": 3},
        examples={"vanished": ["a<b>.png"]},
        complete=False,
    )
    with site.database.write() as session:
        repository.set_taken_in(session, site.project, {name: getattr(changes, name) for name in Changes.__slots__})
    app = open_page()
    app.query_params["show"] = import_report.SHOW
    app.run()
    assert not app.exception
    said = words(app)
    assert "1 new image · 2 vanished files" in said.replace("\\", "")
    assert "goes on when it is started again" in said
    assert not any("![](" in each for each in [said, *(each.value for each in app.warning)])
    assert any("answers are kept" in each.value for each in app.warning)


def test_nothing_new_is_said_too():
    assert import_words.line(Changes(at="")) == "nothing is different"
    assert import_words.warnings(Changes(at="")) == []


def test_two_columns_of_one_name_stay_two():
    first = Preview("csv", (), ("label", "label", "label"), ("class", "", ""), (("x", "y", "z"),))
    assert table(first) == {"label → class": ["x"], "label": ["y"], "label (3)": ["z"]}


def test_labels_come_from_one_more_file_as_answers_of_those_it_names(open_page, site):  # noqa: F811
    table = b"path,label,annotator\n0.png,cat,Eve <b>\n1.png,cat,Eve <b>\ngone.png,cat,Eve <b>\n"
    place = uploading.from_browser([("more.csv", io.BytesIO(table))])
    app = open_page(**{import_report.DRAFT: place})
    app.query_params["show"] = import_report.SHOW
    app.run()
    assert "1 of 3 images named in it are not there" in app.warning[0].value
    assert "Eve \\<b\\>" in words(app)
    button(app, "Take them in").click().run()
    assert not app.exception
    job = jobs.latest(site.database, site.project, "prepare")
    taken = sources.Source(**job.payload["source"])
    assert (taken.root, taken.format, taken.labels) == (str(site.root), "csv", sources.Labels.AS_FOUND)
    assert place.path.exists()
    assert not (place.draft / uploading.MARK).exists()
