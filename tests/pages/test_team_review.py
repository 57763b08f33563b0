"""The Team page where something is decided: review, flags, gold. What people said stays as it is."""

import pytest

from core import people, team
from core.errors import InputError, NotAllowed
from core.orders import DISAGREEMENTS
from db import repository
from pages.parts import team_review
from pages.parts.text import escape
from tests.pages.team_toy import HOSTILE, errors, press, tiles
from tests.pages.test_pages import buttons, strong, words


@pytest.fixture
def tied(toy):
    """Three ties: Bo says the hostile class, Cy the bottle."""
    toy.share()
    for item in toy.items[:3]:
        toy.tie(item)
    return toy


def history(toy, item):
    with toy.database.read() as s:
        return [(row.person, row.kind, row.class_id, row.source) for row in repository.history(s, item)]


def test_without_shared_images_the_settings_are_the_next_step(open_team, toy):
    toy.say("Ada", toy.items[0])
    assert strong(open_team("review")) == ["Ask some images of several"]
    toy.share()
    assert strong(open_team("review")) == ["Label images"]


def test_a_tie_shows_who_said_what_and_one_press_decides(open_team, tied):
    app = open_team("review")
    assert "A tie: nothing stands before you decide" in words(app)
    assert f"Bo: **{escape(HOSTILE)}**" in words(app)
    assert "Cy: **bottle**" in words(app)
    assert strong(app) == []  # nothing is chosen before
    first, before = tied.items[0], history(tied, tied.items[0])
    assert f"{escape(HOSTILE)} :gray[1]" in buttons(app)
    press(app, "chair")
    found = tied.verdict(first)
    assert (found.state, found.class_id) == ("reviewed", tied.classes[2])
    assert history(tied, first)[:2] == before
    assert f"Image {first} is **chair**" in words(app)
    assert f"image {tied.items[1]} · 2 people are asked" in words(app)  # the next one is there
    with tied.database.read() as s:
        assert repository.answers(s, tied.id)[first] == 2


def test_a_decision_is_taken_back_and_the_image_waits_again(open_team, tied):
    app = press(open_team("review"), "unusable")
    first = tied.items[0]
    assert tied.verdict(first).state == "reviewed"
    press(app, "Undo")
    assert tied.verdict(first).state == "tied"
    assert f"image {first} · 2 people are asked" in words(app)
    assert [kind for _, kind, *_ in history(tied, first)] == ["answer", "answer", "unusable", "undo"]


def test_what_was_decided_is_shown_on_request(open_team, tied):
    team.review(tied.database, tied.id, tied.people["Ada"], tied.items[1], tied.classes[0])
    app = open_team("review", **{f"review-which-{tied.id}": team_review.DECIDED})
    assert f"Decided: **{escape(HOSTILE)}**" in words(app)
    assert "Ada: " in words(app)
    assert "**review**" in words(app)
    assert tiles(app)[0]["id"] == tied.items[1]


def test_the_queue_comes_in_pages_ties_first(open_team, toy):
    toy.share(votes=3)
    for item in toy.items[:14]:
        toy.tie(item)
        toy.say("Ada", item, 1)
    for item in toy.items[14:16]:
        toy.tie(item)
        toy.say("Ada", item, 2)
    app = open_team("review")
    assert [each["id"] for each in tiles(app)] == [*toy.items[14:16], *toy.items[:10]]
    assert "**16 images** to decide" in words(app)


def test_the_keys_of_the_desk_decide_the_same_images(open_team, tied):
    app = press(open_team("review"), "Decide with keys")
    assert app.query_params["order"] in (DISAGREEMENTS, [DISAGREEMENTS])


def test_an_image_that_is_not_the_projects_is_never_shown(open_team, tied):
    app = open_team("review", **{f"review-item-{tied.id}": 10**6})
    assert f"image {tied.items[0]} ·" in words(app)


def test_what_came_beyond_the_people_asked_is_said_to_be_kept_and_not_counted(open_team, tied):
    tied.say("Ada", tied.items[0], 1)
    assert "kept, not counted" in words(open_team("review"))


def test_classes_that_people_confuse_are_counted_and_open_their_images(open_team, tied):
    tied.tie(tied.items[3], 2, 3)
    app = open_team("review")
    pair = next(each for each in buttons(app) if " / " in each)
    assert pair == f"{escape(HOSTILE)} / bottle :gray[3]"
    press(app, "chair / desk")
    assert "**1 image** between chair / desk" in words(app)
    assert tiles(app)[-1]["id"] == tied.items[3]


def test_many_classes_have_a_list_and_buttons_for_what_was_said(open_team, tied, monkeypatch):
    monkeypatch.setattr(team_review, "MOST_BUTTONS", 5)
    app = open_team("review")
    assert "chair" not in buttons(app)
    app.selectbox(key=f"other-{tied.items[0]}").set_value(tied.classes[9]).run()
    assert not app.exception
    assert tied.verdict(tied.items[0]).class_id == tied.classes[9]


def test_a_role_lost_meanwhile_decides_nothing(open_team, tied, monkeypatch):
    tied.accounts()
    tied.sign_in("Cy", monkeypatch)
    app = open_team("review", "Cy")
    people.change_role(tied.database, tied.people["Ada"], "Cy", "annotator")
    press(app, "chair")
    assert tied.verdict(tied.items[0]).state == "tied"


@pytest.fixture
def flagged(toy) -> int:
    with toy.database.write() as s:
        return repository.add_flag(
            s, toy.id, toy.people["Bo"], toy.items[0], "**two** things ![](http://127.0.0.1:9/x.png)"
        )


def test_a_flag_is_settled_with_a_note_and_then_shown_on_request(open_team, toy, flagged):
    app = open_team("flags")
    assert "**1 flag** open" in words(app)
    assert escape("**two** things ![](http://127.0.0.1:9/x.png)") in words(app)
    app.text_input[0].set_value("the larger one")
    press(app, "Settle")
    assert "No flag is open." in words(app)
    app.toggle(key=f"settled-{toy.id}").set_value(True).run()
    assert "Settled by **Ada**" in words(app)
    assert "the larger one" in words(app)


def test_a_flag_is_settled_once_and_by_reviewers(toy, flagged):
    toy.accounts()
    with pytest.raises(NotAllowed, match="takes the role reviewer"):
        people.settle_flag(toy.database, toy.id, toy.people["Bo"], flagged)
    people.settle_flag(toy.database, toy.id, toy.people["Cy"], flagged, "seen")
    with pytest.raises(InputError, match="settled this flag already"):
        people.settle_flag(toy.database, toy.id, toy.people["Ada"], flagged)


def test_gold_is_marked_from_answers_and_taken_off(open_team, toy):
    toy.say("Bo", toy.items[0], 0)
    toy.say("Bo", toy.items[1], 1)
    app = open_team("gold")
    assert "none is asked: the share of gold is 0" in words(app)
    assert [each.label for each in app.checkbox] == ["bottle", escape(HOSTILE)]
    app.checkbox(key=f"mark-{toy.items[1]}").check().run()
    press(app, "Mark as gold: the 1 ticked")
    assert _gold(toy) == {toy.items[1]: toy.classes[1]}
    assert "**1 gold item**" in words(app)
    press(app, "Mark as gold: all 1 on this page")
    assert _gold(toy) == {toy.items[0]: toy.classes[0], toy.items[1]: toy.classes[1]}
    app = open_team("gold")
    app.checkbox(key=f"gold-{toy.items[0]}").check().run()
    press(app, "Take off: the 1 ticked")
    assert _gold(toy) == {toy.items[1]: toy.classes[1]}
    press(app, "Share of gold")
    assert "Save settings" in buttons(app)


def test_gold_says_how_much_is_asked(open_team, toy):
    toy.share(gold=0.1)
    assert "10 % of everybody's answers" in words(open_team("gold"))
    assert not errors(open_team("gold"))


def _gold(toy):
    with toy.database.read() as s:
        return {row.item_id: row.class_id for row in repository.gold(s, toy.id)}
