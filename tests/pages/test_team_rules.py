"""The Team page where the rules change: settings with their preview, classes with theirs, and what is stale after."""

import pytest

from core import classes, jobs, rounds
from core.classes import Effect
from core.team import Overlap, TeamSettings
from db import repository
from pages.parts import team_settings
from pages.parts.team_classes import _lost
from pages.parts.team_settings import Now, preview
from pages.parts.text import escape
from tests.pages.team_toy import HOSTILE, errors, press
from tests.pages.test_pages import buttons, words
from tests.toy import CLASSES, ToyEncoder

HOSTILE_LINK = "![](http://127.0.0.1:9/x.png)"
NOW = Now(unanswered=1000, gold=20, newer=12, model=7)


def setting(app, toy, name, kind):
    return getattr(app, kind)(key=f"setting-{name}-{toy.id}")


def test_settings_are_saved_as_previewed(open_team, toy):
    app = open_team("settings")
    assert [each.disabled for each in app.button if each.label == "Save settings"] == [True]
    setting(app, toy, "overlap", "slider").set_value(30).run()
    setting(app, toy, "votes", "number_input").set_value(3).run()
    setting(app, toy, "blind", "toggle").set_value(True).run()
    setting(app, toy, "gold", "slider").set_value(10).run()
    setting(app, toy, "every", "number_input").set_value(50).run()
    shared = round(0.3 * len(toy.items))
    assert f"≈ {shared} images are asked of 3 people: **{2 * shared} more answers** in all" in words(app)
    assert toy.settings() == TeamSettings()  # nothing before the press
    assert "Not saved yet." in words(app)
    press(app, "Save settings")
    assert toy.settings() == TeamSettings(overlap=0.3, votes=3, blind=True, gold=0.1, retrain_every=50)
    assert "Not saved yet." not in words(app)
    with toy.database.read() as s:
        assert set(repository.shared(s, toy.id).values()) == {3}


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({}, "Every image is asked of one person"),
        ({"overlap": 0.3}, "≈ 300 images are asked of 2 people: **300 more answers** in all."),
        ({"overlap": 0.3, "by": Overlap.UNCERTAIN}, "in all, chosen anew after every round"),
        ({"blind": True}, "Nobody sees the model's guess"),
        ({"retrain_every": 50}, "12 are newer than model 7, so the next in 38 answers"),
        ({"retrain_every": 5}, "so the next with the next answer"),
        ({"gold": 0.1}, "One of 10 images that a person gets is a gold item. The 20 gold items, each asked"),
        ({"gold": 0.1}, "last for 200 answers of each person"),
    ],
)
def test_a_preview_says_what_settings_do(chosen, said):
    assert said in " ".join(preview(TeamSettings(**chosen), NOW))


def test_a_share_that_the_slider_cannot_show_stays_as_it_was(open_team, toy):
    toy.share()
    with toy.database.write() as s:
        repository.set_team(s, toy.id, {"overlap": 0.333, "gold": 0.125})
    app = open_team("settings")
    assert "Not saved yet." not in words(app)
    assert team_settings._share(33, 0.333) == 0.333


def test_who_is_no_owner_sees_the_settings_and_the_classes_and_changes_none(open_team, toy, monkeypatch):
    toy.accounts()
    toy.sign_in("Cy", monkeypatch)
    app = open_team("settings", "Cy")
    assert "Owners change this" in words(app)
    assert "Save settings" not in buttons(app)
    assert all(each.disabled for each in (*app.slider, *app.number_input, *app.toggle, *app.radio))
    app = open_team("classes", "Cy")
    assert "Owners change this" in words(app)
    assert "Put on the list" not in buttons(app)
    assert app.dataframe[0].value["class"].iloc[0] == HOSTILE


def test_an_owner_who_is_none_any_more_saves_nothing(open_team, toy, monkeypatch):
    toy.accounts()
    toy.sign_in("Ada", monkeypatch)
    app = open_team("settings")
    setting(app, toy, "overlap", "slider").set_value(30).run()
    toy.sign_in("Bo", monkeypatch)
    press(app, "Save settings")
    assert toy.settings() == TeamSettings()


def put(app, toy, kind, class_=None, name="", heir=None):
    """Put one change on the list."""
    key = f"class-changes-{toy.id}-{toy.row.class_version}"
    number = len(app.session_state[key]) if key in app.session_state else 0
    app.segmented_control(key=f"change-kind-{toy.id}").set_value(kind).run()
    if class_ is not None:
        app.selectbox(key=f"change-class-{key}-{number}").set_value(toy.classes[class_]).run()
    if heir is not None:
        app.selectbox(key=f"change-heir-{key}-{number}").set_value(toy.classes[heir]).run()
    if name:
        app.text_input(key=f"change-name-{key}-{number}").set_value(name).run()
    press(app, "Put on the list")


def test_classes_change_in_one_press_after_a_preview(open_team, toy):
    for i, item in enumerate(toy.items[:9]):
        toy.say("Bo", item, i % 3)
    app = open_team("classes")
    assert "Nothing is changed before you have seen what it does." in words(app)
    put(app, toy, "rename", 0, HOSTILE_LINK)
    put(app, toy, "merge", 1, heir=3)
    put(app, toy, "delete", 2)
    put(app, toy, "add", name="**bold**")
    said = words(app)
    assert "##### 4 changes, not made yet" in said
    assert f"Rename **{escape(HOSTILE)}** to **{escape(HOSTILE_LINK)}**" in said
    assert "Merge **bottle** into **desk**" in said
    assert "Of **9 answers**, 3 stay, **3** become another class, **3** are asked again." in said
    assert "12 classes → 11:" in said
    assert f"Your keys afterwards: **1** {escape(HOSTILE_LINK)} · **4** desk · **5** eraser" in said  # none moves
    assert "Figures and scores of 1 round are of the classes of before" in said
    assert toy.row.class_version == 0  # nothing is kept before the press
    press(app, "Make these 4 changes")
    assert [each.name for each in toy.row.classes] == [HOSTILE_LINK, *CLASSES[3:], "**bold**"]
    assert toy.row.class_version == 4
    assert jobs.latest(toy.database, toy.id, "prepare").state == "queued"
    history = app.dataframe[-1].value
    assert list(history["what"]) == ["added", "deleted", "merged into", "renamed"]
    assert list(history["class"]) == ["**bold**", "chair", "bottle", HOSTILE]
    assert "not made yet" not in words(app)


def test_a_change_is_taken_off_the_list(open_team, toy):
    app = open_team("classes")
    put(app, toy, "delete", 1)
    put(app, toy, "delete", 2)
    app.button(key="drop-0").click().run()
    assert "Delete **chair**" in words(app)
    assert "Delete **bottle**" not in words(app)
    assert "Make this change" in buttons(app)


def test_a_change_that_cannot_be_is_said_and_cannot_be_made(open_team, toy):
    app = open_team("classes")
    put(app, toy, "rename", 0, "bottle")
    assert "This cannot be done" in errors(app)
    assert "already" in errors(app)
    assert not any(each.startswith("Make") for each in buttons(app))


def test_the_list_is_gone_after_somebody_elses_change(open_team, toy):
    app = open_team("classes")
    put(app, toy, "delete", 1)
    with toy.database.write() as s:
        repository.add_class(s, toy.id, toy.people["Ada"], "new")
    app.run()
    assert "not made yet" not in words(app)


def test_what_is_stale_is_said_with_the_button_that_renews_it(open_team, toy, monkeypatch):
    assert not open_team("classes").warning
    with toy.database.write() as s:
        repository.rename_class(s, toy.id, toy.people["Ada"], toy.classes[1], "flask")
    app = open_team("classes")
    assert "has not read what flask is called" in app.warning[0].value
    press(app, "Read the texts")
    assert jobs.latest(toy.database, toy.id, "prepare").state == "queued"
    monkeypatch.setattr(rounds, "encoder_for", lambda model: ToyEncoder())
    rounds.prepare(toy.database, toy.id)
    jobs.ask_cancel(toy.database, jobs.latest(toy.database, toy.id, "prepare").id)
    assert classes.texts_missing(toy.database, toy.id) == []
    app = open_team("classes")
    assert "Model 0 learned the classes of before" in app.warning[0].value
    press(app, "Start round")
    assert jobs.latest(toy.database, toy.id, "round").state == "queued"


def test_the_table_counts_the_answers_of_each_class(open_team, toy):
    toy.say("Bo", toy.items[0], 1)
    toy.say("Bo", toy.items[1], 1)
    table = open_team("classes").dataframe[0].value
    assert list(table["key"])[:10] == [*"1234567890"]
    assert all(table["key"])
    assert table.set_index("class")["answers"].to_dict() == dict.fromkeys((HOSTILE, *CLASSES[1:]), 0) | {"bottle": 2}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"settled": 1}, "1 disagreement ends: their classes are one."),
        ({"settled": 2}, "2 disagreements end: their classes are one."),
        ({"gold_lost": 1}, "1 gold item checks nobody any more."),
        ({"references_lost": 1}, "1 validation or test image measures nothing any more."),
    ],
)
def test_what_a_change_of_classes_costs_is_said_of_one_as_of_many(changed, words):
    zero = dict.fromkeys(("answers", "moved", "lost", "gold_lost", "references_lost", "settled", "stale_rounds"), 0)
    assert _lost(Effect(before=(), after=(), new_texts=(), names={}, ever=(), **zero | changed)) == [words]
