"""The Team page on a small real project: figures and what is behind them, agreement, and who may see what."""

from datetime import UTC, datetime

import pytest

from core import people
from core.accounts import Role
from core.agreement import Agreement
from db import repository
from db.repository import LabelKind
from db.repository.behind import Behind
from pages.parts import team_people
from pages.parts.team_charts import kappas
from pages.parts.text import escape
from tests.pages.team_toy import HOSTILE, errors, press, tiles
from tests.pages.test_pages import buttons, strong, words

FIGURE = {each.which: each for each in team_people.FIGURES}


def test_without_a_project_the_page_leads_to_the_projects(open_team, toy):
    with toy.database.write() as s:
        repository.delete_project(s, toy.id)
    assert strong(open_team()) == ["See the projects"]


def test_without_answers_there_is_a_next_step(database, toy, open_team):
    app = open_team()
    assert "Has not answered in this project yet." in words(app)
    assert "Nobody signs in here" in words(app)
    assert not app.selectbox(key=f"team-person-{toy.id}").disabled


def test_every_figure_is_said_with_its_meaning_and_opens_the_images_behind_it(open_team, toy):
    other = toy.classes[1]
    toy.say("Ada", toy.items[0], 0, suggested_class_id=other)
    toy.say("Ada", toy.items[1], 1, suggested_class_id=other)
    toy.say("Ada", toy.items[2], 1, suggested_class_id=other, suggestion_seen=True)
    toy.say("Ada", toy.items[3], kind=LabelKind.LATER)
    app = open_team()
    (found,) = people.figures(toy.database, toy.id)
    for each in team_people.FIGURES:
        button = app.button(key=f"behind-{toy.id}-{toy.people['Ada']}-{each.which}")
        assert button.label == each.value(found)
        assert button.disabled == (each.events(found) == 0)
        assert each.meaning in words(app)
    assert FIGURE[Behind.BLIND].value(found) == "50 % of 2"
    assert FIGURE[Behind.GOLD].value(found) == "none yet"
    assert tiles(app) == []
    app.button(key=f"behind-{toy.id}-{toy.people['Ada']}-blind").click().run()
    assert [(each["text"], each["tone"]) for each in tiles(app)] == [(HOSTILE, "wrong"), ("bottle", "right")]
    assert [each["id"] for each in tiles(app)] == toy.items[:2]
    app.button(key=f"behind-{toy.id}-{toy.people['Ada']}-later").click().run()
    assert [(each["id"], each["text"]) for each in tiles(app)] == [(toy.items[3], "later")]


def test_the_table_has_everybody_and_says_who_is_active(open_team, toy):
    toy.say("Bo", toy.items[0])
    with toy.database.write() as s:
        repository.claim(s, toy.id, toy.people["Cy"], toy.items[5:6], 1, datetime.now(UTC) + repository.LEASE)
    table = open_team().dataframe[0].value.set_index("name")
    assert list(table.index) == ["Ada", "Bo", "Cy"]
    assert table["active now"].to_dict() == {"Ada": False, "Bo": False, "Cy": True}
    assert table["answers"].to_dict() == {"Ada": 0, "Bo": 1, "Cy": 0}
    assert "role" not in table.columns  # nobody signs in


def test_images_behind_a_figure_come_in_pages(open_team, toy):
    for item in toy.items[:15]:
        toy.say("Ada", item)
    app = open_team(**{f"behind-{toy.id}-{toy.people['Ada']}": Behind.ANSWERS})
    assert [each["id"] for each in tiles(app)] == toy.items[14:2:-1]
    assert "15 events" in words(app)


@pytest.mark.parametrize("view", ["agreement", "review", "flags", "gold"])
def test_an_annotator_is_told_why_a_view_is_not_theirs(toy, open_team, monkeypatch, view):
    toy.share()
    toy.tie(toy.items[0])
    toy.accounts()
    toy.sign_in("Bo", monkeypatch)
    app = open_team(view, "Bo")
    assert "eviewers" in app.info[0].value
    assert tiles(app) == []
    assert not any("Cy" in each.value for each in (*app.markdown, *app.caption))
    toy.sign_in("Cy", monkeypatch)
    assert not open_team(view, "Cy").info


def test_an_annotator_sees_their_own_figures_alone(toy, open_team, monkeypatch):
    toy.say("Bo", toy.items[0])
    toy.say("Cy", toy.items[1])
    toy.accounts()
    toy.sign_in("Bo", monkeypatch)
    app = open_team("people", "Bo")
    assert "These are your own figures" in words(app)
    assert "#### Bo" in words(app)
    assert not app.dataframe
    assert "Cy" not in words(app)
    assert "Change role" not in buttons(app)
    assert not app.selectbox
    toy.sign_in("Cy", monkeypatch)
    app = open_team("people", "Cy")
    assert list(app.dataframe[0].value["name"]) == ["Ada", "Bo", "Cy"]
    assert "Change role" not in buttons(app)


def test_an_owner_gives_roles_and_the_last_owner_keeps_theirs(toy, open_team, monkeypatch):
    toy.accounts()
    toy.sign_in("Ada", monkeypatch)
    app = open_team()
    app.selectbox(key=f"team-person-{toy.id}").set_value(toy.people["Bo"]).run()
    app.selectbox(key=f"role-{toy.people['Bo']}-annotator").set_value(Role.REVIEWER).run()
    press(app, "Change role")
    assert _role(toy, "Bo") == Role.REVIEWER
    app = open_team()
    app.selectbox(key=f"role-{toy.people['Ada']}-owner").set_value(Role.ANNOTATOR).run()
    press(app, "Change role")
    assert "only owner" in errors(app)
    assert _role(toy, "Ada") == Role.OWNER


def test_a_role_that_was_taken_meanwhile_changes_nothing(toy, open_team, monkeypatch):
    """The page still shows the button; the server asks again who it is."""
    toy.accounts()
    people.change_role(toy.database, toy.people["Ada"], "Cy", Role.OWNER)
    toy.sign_in("Ada", monkeypatch)
    app = open_team()
    app.selectbox(key=f"team-person-{toy.id}").set_value(toy.people["Bo"]).run()
    app.selectbox(key=f"role-{toy.people['Bo']}-annotator").set_value(Role.OWNER).run()
    monkeypatch.setattr(team_people, "may", lambda needed: True)
    people.change_role(toy.database, toy.people["Cy"], "Ada", Role.REVIEWER)
    press(app, "Change role")
    assert "takes the role owner" in errors(app)
    assert _role(toy, "Bo") == Role.ANNOTATOR


def _role(toy, name):
    with toy.database.read() as s:
        return repository.person_row(s, toy.people[name]).role


def test_agreement_without_shared_images_says_what_to_do(open_team, toy):
    toy.say("Ada", toy.items[0])
    app = open_team("agreement")
    assert [each.value for each in app.metric] == ["–"] * 3
    assert words(app).count("Not defined: no image has answers of two people yet") == 3
    press(app, "Ask some images of several")
    assert app.session_state["team-view"] == "settings"
    assert "Save settings" in buttons(app)


def test_agreement_shows_its_statistics_the_pairs_and_the_images_that_differ(open_team, toy):
    toy.share()
    for item in toy.items[:6]:
        toy.tie(item, 0, 0)
    toy.tie(toy.items[6], 1, 0)
    toy.tie(toy.items[7], 1, 1)
    toy.say("Ada", toy.items[20])
    app = open_team("agreement")
    found = people.agreement(toy.database, toy.id)
    assert [each.value for each in app.metric] == [
        f"{each.value:.3f}" for each in (found.raw, found.fleiss, found.krippendorff)
    ]
    assert "8 images · Share of the pairs" in words(app)
    table = app.dataframe[0].value
    assert list(zip(table["one"] + table["other"], table["images"], strict=True)) == [
        ("AdaBo", 0),
        ("AdaCy", 0),
        ("BoCy", 8),
    ]
    assert "No figure for Ada and Bo, Ada and Cy: they answered no image in common yet" in words(app)
    assert [each["id"] for each in tiles(app)] == [toy.items[6]]
    assert tiles(app)[0]["text"] == f"{HOSTILE} / bottle"
    app.selectbox(key="differ-None").set_value(("Ada", "Bo")).run()
    assert "**0 images** on which **Ada** and **Bo** differ" in words(app)


def test_the_chart_of_pairs_is_below_the_diagonal_and_by_row():
    found = {
        ("a", "<b>"): Agreement(0.5, 4),
        ("a", "c"): Agreement(None, 0, "none in common"),
        ("<b>", "c"): Agreement(-1, 2),
    }
    bars = kappas(["a", "<b>", "c"], found, chosen=6).data[0]
    assert list(bars.text) == ["0.50", "–", "-1.00"]
    assert [cell[0] for cell in bars.customdata] == [3, 6, 7]
    assert bars.customdata[0][1:] == ["&lt;b&gt;", "a", "κ 0.500 on 4 images both answered"]
    assert bars.customdata[1][3] == "none in common"
    assert list(bars.marker.line.width) == [0, 3, 0]


def test_names_are_shown_letter_by_letter(open_team, toy):
    with toy.database.write() as s:
        toy.people["**x**"] = repository.person(s, "**x**")
    toy.say("**x**", toy.items[0])
    app = open_team(**{f"team-person-{toy.id}": toy.people["**x**"]})
    assert f"#### {escape('**x**')}" in words(app)
