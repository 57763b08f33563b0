"""The reasons' route: what the desk may show of them, for images of a queue and nothing else."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.queue import queue_for
from db import repository
from db.repository import LabelKind, NewLabel
from pages.parts import reasons


@pytest.fixture
def client(database, monkeypatch):
    monkeypatch.setattr(reasons, "database", lambda: database)
    return TestClient(Starlette(routes=reasons.routes()), base_url="http://127.0.0.1")


@pytest.fixture
def cards(database, project):
    """Four cards, of which the last three are answered."""
    with database.write() as s:
        person = repository.person(s, "Ada")
    queue = queue_for(database, project, "epig")
    served = queue.serve(person, 4)
    for card in served[1:]:
        event = NewLabel(f"a:{card.item_id}", card.item_id, LabelKind.ANSWER, card.guesses[0].class_id, source="epig")
        queue.apply(person, [event])
    return served


def test_five_targets_without_a_class_and_three_answered_with_theirs(client, project, cards):
    reply = client.get(f"/why/{project}/epig/{cards[0].item_id}")
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in reply.headers
    told = reply.json()
    assert told["item"] == cards[0].item_id
    assert [set(each) for each in told["sharpens"]] == [{"view", "share"}] * 5
    answered = {f"/img/{card.sha256}/256": card.guesses[0].name for card in cards[1:]}
    assert {each["view"]: each["name"] for each in told["nearest"]} == answered


@pytest.mark.parametrize(
    "path",
    [
        "/why/{project}/epig/999999",
        "/why/999999/epig/{item}",
        "/why/{project}/epig-draws/{item}",
        "/why/{project}/measure/{item}",
        "/why/{project}/epig/{item}x",
        "/why/{project}/epig/99999999999999999999999",
        "/why/99999999999999999999999/epig/{item}",
    ],
)
def test_all_else_is_missing(client, project, cards, path):
    assert client.get(path.format(project=project, item=cards[0].item_id)).status_code == 404


def test_a_forged_host_is_refused(client, project, cards, monkeypatch):
    monkeypatch.setattr("streamlit.config.get_option", lambda name: ["127.0.0.1"])
    path = f"/why/{project}/epig/{cards[0].item_id}"
    assert client.get(path).status_code == 200
    assert client.get(path, headers={"host": "evil.example"}).status_code == 403


def test_a_blind_team_is_told_no_reasons(client, database, project, cards):
    with database.write() as s:
        repository.set_team(s, project, {"blind": True})
    assert client.get(f"/why/{project}/epig/{cards[0].item_id}").status_code == 403
