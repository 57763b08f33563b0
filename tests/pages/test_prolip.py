"""The frame of the ProLIP page and its Texts tab as Streamlit runs them, with an encoder of letters."""

import pytest

from core import jobs
from core.errors import ModelUnavailable
from db import repository
from pages.parts import reading
from pages.parts.prolip_texts import SAMPLES
from tests.gaussian import LIMIT, ToyGaussians
from tests.pages.test_pages import open_page, strong, words  # noqa: F401 (a fixture)

HOSTILE = ["<img src=x onerror=alert(1)>", "**bold** ![spy](http://spy.invalid/x.png)", "%{x} &lt;b&gt; $a$ :red[b]"]


@pytest.fixture
def encoder(monkeypatch) -> ToyGaussians:
    made = ToyGaussians()
    monkeypatch.setattr("core.gaussians._loaded", lambda name: made)
    monkeypatch.setattr(reading, "_memory", reading._Memory())
    return made


@pytest.fixture
def typed(open_page, encoder):  # noqa: F811
    """The page with these texts typed."""

    def run(*lines: str):
        app = open_page("prolip")
        app.text_area(key="texts-typed").set_value("\n".join(lines)).run()
        assert not app.exception
        return app

    return run


def table(app):
    return app.dataframe[0].value


def test_samples_are_read_at_once(open_page, encoder):  # noqa: F811
    app = open_page("prolip")
    assert "animal" in list(table(app)["text"])
    assert {"What the model reads", "Which text includes which?", "Are longer texts surer?"} <= {
        each.value for each in app.subheader
    }


def test_it_works_without_a_project(open_page, encoder, site):  # noqa: F811
    with site.database.write() as session:
        repository.delete_project(session, site.project)
    app = open_page("prolip", project=None)
    assert "animal" in list(table(app)["text"])


@pytest.mark.parametrize("lines", [(), ("   ", "\t")])
def test_nothing_typed_says_what_to_do(typed, lines):
    app = typed(*lines)
    assert "Type or paste a text" in app.info[0].value
    assert not app.dataframe


def test_one_text_is_enough_for_a_bar_and_says_what_is_missing(typed):
    app = typed("a dog")
    assert len(table(app)) == 1
    assert "add another line" in words(app)
    assert "from three texts on" in words(app)


def test_an_emoji_of_which_nothing_is_kept_is_said(typed):
    app = typed("🐶")
    assert "knows nothing of “🐶”" in app.warning[0].value
    assert list(table(app)["seen by the model"]) == ["nothing it knows"]


def test_three_hundred_words_are_cut_and_it_is_said_where(typed):
    app = typed(" ".join(f"word{i}" for i in range(300)))
    assert f"of 300 tokens the model sees {LIMIT}" in app.warning[0].value
    assert "word9”" in app.warning[0].value
    assert list(table(app)["seen by the model"]) == [f"the first {LIMIT} of 300 tokens"]


def test_duplicates_are_shown_once_with_their_count(typed):
    app = typed("a dog", "a  dog ", "a cat")
    assert "1 line said again" in words(app)
    assert list(table(app)["times given"]) == [2, 1]


def test_two_thousand_lines_are_read_and_more_are_said_to_be_left_out(typed, encoder):
    app = typed(*(f"text {i}" for i in range(2100)))
    assert len(table(app)) == 2000
    assert "100 more are left out" in words(app)
    assert "The first 25 of 2,000 are compared" in words(app)
    assert "The 40 most uncertain of 2,000 texts" in words(app)
    before = encoder.read
    app.toggle(key="texts-official").set_value(True).run()
    assert encoder.read == before, "each text is read once"


def test_hostile_texts_stay_letters(typed):
    app = typed(*HOSTILE, " ".join(HOSTILE * 9))
    assert list(table(app)["text"])[:3] == HOSTILE
    said = words(app) + "".join(each.value for each in app.warning)
    assert "<img" not in said.replace("\\<img", "")
    assert "![spy](http" not in said


def test_a_model_that_cannot_be_had_is_said_and_nothing_breaks(open_page, monkeypatch):  # noqa: F811
    def refuse(name):
        raise ModelUnavailable(f"{name}: its weights could not be loaded")

    monkeypatch.setattr("core.gaussians._loaded", refuse)
    app = open_page("prolip")
    assert "could not be loaded" in app.error[0].value
    assert not app.tabs


def test_only_the_open_tab_is_computed(open_page, encoder, monkeypatch):  # noqa: F811
    app = open_page("prolip", tab="Images")
    assert encoder.read == 0
    assert not app.text_area


def test_images_not_read_yet_are_queued_under_the_name_in_use(open_page, encoder, site):  # noqa: F811
    from streamlit.testing.v1 import AppTest

    def script(project):
        from db import repository
        from pages.parts import prolip
        from pages.parts.state import database
        from tests.gaussian import ToyGaussians

        with database().read() as session:
            row = repository.project(session, project)
        prolip.needs_images(row, ToyGaussians(), 12)

    app = AppTest.from_function(script, kwargs={"project": site.project}).run()
    assert "**12 images** not read by toy" in app.markdown[0].value
    app.button[0].click().run()
    assert not app.exception
    (job,) = jobs.active(site.database, site.project)
    assert (job.kind, job.payload) == ("gaussians", {"encoder": "mini-prolip"})


def test_what_was_stopped_goes_on_only_when_asked(open_page, encoder):  # noqa: F811
    about = (encoder.fingerprint, tuple(SAMPLES.splitlines()))
    app = open_page("prolip", **{"stopped-texts": about})
    assert "This was stopped" in app.info[0].value
    assert encoder.read == 0
    next(each for each in app.button if each.label == "Go on").click().run()
    assert not app.exception
    assert encoder.read > 0
    assert len(table(app)) == len(SAMPLES.splitlines())


def test_a_long_reading_shows_a_bar_and_can_be_cancelled(open_page, encoder, monkeypatch):  # noqa: F811
    monkeypatch.setattr("pages.parts.prolip.UNSEEN", -1.0)
    app = open_page("prolip")
    assert encoder.read == len(SAMPLES.splitlines())
    assert not [each for each in app.button if each.label == "Cancel"], "gone once all is read"
