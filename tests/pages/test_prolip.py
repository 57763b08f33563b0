"""The frame of the ProLIP page and its Texts tab as Streamlit runs them, with an encoder of letters."""

import pytest

from core import jobs
from core.encoders.base import TextReading
from core.errors import ModelUnavailable
from db import repository
from pages.parts import prolip_texts, reading
from pages.parts.prolip_texts import SAMPLES
from pages.parts.typed import listed
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


@pytest.mark.parametrize(
    ("text", "kept", "said"),
    [
        ("🐶 family", "family", "all but 🐶"),
        ("Élan, vital!", "elan vital", "all"),
        ("東京 x", "x", "all but 東 京"),
        ("a1b2c3d4e5f6", "a", "all but 1 b 2 c 3 …"),
    ],
)
def test_what_the_tokenizer_does_not_know_is_named(text, kept, said):
    assert prolip_texts._seen(TextReading(text, kept, 2, LIMIT, False)) == said


def test_texts_that_are_read_alike_are_a_pair_too(typed, encoder, monkeypatch):
    monkeypatch.setattr(encoder, "_mean", lambda text: ToyGaussians._mean(encoder, text.lower()))
    app = typed("a dog", "A dog")
    pairs = app.dataframe[1].value
    assert list(zip(pairs["text"], pairs["is included by"], pairs["H"], strict=True)) == [("a dog", "A dog", 0)]


def test_what_is_taken_away_is_what_is_compared(encoder):
    found = reading.read(encoder, listed(["a", "b c", "d e f", "g"]), lambda *_: None)
    kept = prolip_texts._whole(encoder, found, [1, 3])
    assert kept["compared"] == ["b c", "g"]
    assert len(kept["texts"]) == 4
    assert kept["inclusion_exact"] == reading.compare(found, [1, 3], False).inclusion
    assert kept["inclusion_published"] == reading.compare(found, [1, 3], True).inclusion


def test_without_a_file_it_says_to_choose_one(open_page, encoder):  # noqa: F811
    assert "Choose a file" in open_page("prolip", **{"texts-source": "File"}).info[0].value


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
