"""The line above the desk: what is chosen there is in the address, and nobody is offered what they may not have."""

import pytest

from core.queue import Narrow
from db import repository
from db.repository import NewItem
from tests.pages.fakes import FakeQueue
from tests.pages.test_pages import open_page  # noqa: F401 (a fixture)


@pytest.fixture
def asked(monkeypatch) -> list[Narrow]:
    """The filters that the queue was asked with."""
    found: list[Narrow] = []
    serve = FakeQueue.serve

    def remember(self, person_id, n, narrow=None):
        found.append(narrow)
        return serve(self, person_id, n, narrow)

    monkeypatch.setattr(FakeQueue, "serve", remember)
    return found


@pytest.fixture
def two_domains(site):
    with site.database.write() as s:
        rows = [NewItem(f"{n}.png", f"{n:064x}", f"domain {n % 2}", 9, 9, "pool") for n in range(100, 104)]
        repository.add_items(s, site.project, rows)


def class_id(site, place: int) -> int:
    with site.database.read() as s:
        return repository.project(s, site.project).classes[place].id


def test_a_filter_is_kept_in_the_address_and_taken_off_again(open_page, site, two_domains, asked):  # noqa: F811
    app = open_page("annotate")
    assert asked[-1] == Narrow()
    app.selectbox(key=f"domain-{site.project}").set_value("domain 1").run()
    app.selectbox(key=f"guess-{site.project}").set_value(str(class_id(site, 1))).run()
    assert asked[-1] == Narrow("domain 1", class_id(site, 1))
    assert app.query_params["domain"] in ("domain 1", ["domain 1"])
    app.selectbox(key=f"domain-{site.project}").set_value("all").run()
    assert asked[-1] == Narrow(None, class_id(site, 1))
    assert "domain" not in app.query_params


def test_what_is_held_goes_back_before_another_filter_serves(open_page, site, two_domains, monkeypatch):  # noqa: F811
    app = open_page("annotate")
    with site.database.read() as s:
        (person,) = set(repository.leased(s, site.project).values())
    released = []
    monkeypatch.setattr(repository, "release", lambda s, *where: released.append(where))
    app.selectbox(key=f"domain-{site.project}").set_value("domain 1").run()
    assert released == [(site.project, person)]


@pytest.mark.parametrize("value", ["999", "x", "1 or 1=1"])
def test_an_address_that_names_no_class_filters_nothing(open_page, site, asked, value):  # noqa: F811
    app = open_page("annotate")
    app.query_params["guess"] = value
    app.run()
    assert not app.exception
    assert asked[-1] == Narrow()


def test_a_blind_team_cannot_filter_by_the_guess(open_page, site, asked):  # noqa: F811
    with site.database.write() as s:
        repository.set_team(s, site.project, {"blind": True})
    app = open_page("annotate")
    app.query_params["guess"] = str(class_id(site, 1))
    app.run()
    assert asked[-1] == Narrow()
    assert f"guess-{site.project}" not in [each.key for each in app.selectbox]


def test_without_accounts_everybody_is_offered_the_reviews(open_page, site):  # noqa: F811
    options = open_page("annotate").selectbox(key=f"source-{site.project}").options
    assert "order: disagreements" in options
    assert "order: likely errors" in options
