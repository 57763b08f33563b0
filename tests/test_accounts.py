"""Accounts: the first is an owner's, one owner stays, and an account that is cut off is cut off at once."""

import pytest

from core.accounts import (
    Role,
    accounts,
    add_account,
    allows,
    check,
    has_accounts,
    set_disabled,
    set_password,
    set_role,
)
from core.errors import InputError, NotAllowed, UnknownName
from core.logins import login, sign_in
from db import repository
from db.repository.accounts import set_account

PASSWORD = "correct horse"


@pytest.fixture
def ada(database):
    return add_account(database, "Ada", Role.OWNER, password=PASSWORD)


def test_names_that_were_picked_are_no_accounts(database):
    with database.write() as s:
        repository.person(s, "Ada")
    assert not has_accounts(database)
    assert accounts(database) == []


def test_the_first_account_is_an_owners(database):
    with pytest.raises(InputError, match="--role owner"):
        add_account(database, "Bo", Role.ANNOTATOR, password=PASSWORD)
    assert not has_accounts(database)
    add_account(database, "Bo", Role.OWNER, password=PASSWORD)
    assert has_accounts(database)


def test_whoever_labelled_before_keeps_their_answers(database):
    with database.write() as s:
        person = repository.person(s, "Ada")
    assert add_account(database, " Ada ", Role.OWNER, password=PASSWORD).id == person


def test_an_account_needs_a_way_in_and_a_name_of_its_own(database, ada):
    with pytest.raises(InputError, match="password or an e-mail"):
        add_account(database, "Bo", Role.ANNOTATOR)
    with pytest.raises(InputError, match="already"):
        add_account(database, "Ada", Role.ANNOTATOR, password=PASSWORD)
    with pytest.raises(InputError, match="visible characters"):
        add_account(database, " ", Role.ANNOTATOR, password=PASSWORD)


def test_an_address_is_of_one_account(database, ada):
    bo = add_account(database, "Bo", Role.REVIEWER, email=" Bo@Example.org ")
    assert (bo.email, bo.has_password) == ("bo@example.org", False)
    with pytest.raises(InputError, match="another account"):
        add_account(database, "Cy", Role.ANNOTATOR, email="BO@example.org")
    with pytest.raises(InputError, match="no e-mail address"):
        add_account(database, "Cy", Role.ANNOTATOR, email="nowhere")
    assert [each.name for each in accounts(database)] == ["Ada", "Bo"]


def test_one_owner_stays(database, ada):
    for change in (lambda: set_role(database, "Ada", Role.REVIEWER), lambda: set_disabled(database, "Ada", True)):
        with pytest.raises(InputError, match="only owner"):
            change()
    add_account(database, "Bo", Role.OWNER, password=PASSWORD)
    assert set_role(database, "Ada", Role.REVIEWER).role is Role.REVIEWER


def test_an_owner_without_a_way_in_does_not_count(database, ada):
    with database.write() as s:
        set_account(s, repository.person(s, "Bo"), {"role": Role.OWNER})
    with pytest.raises(InputError, match="only owner"):
        set_disabled(database, "Ada", True)


def test_disabling_the_last_account_opens_no_door(database, ada):
    add_account(database, "Bo", Role.OWNER, password=PASSWORD)
    set_disabled(database, "Ada", True)
    with database.read() as s:
        assert repository.people(s)
    assert has_accounts(database)


def test_disabling_and_a_new_password_end_all_logins(database, ada):
    add_account(database, "Bo", Role.OWNER, password=PASSWORD)
    for change in (lambda: set_disabled(database, "Bo", True), lambda: set_password(database, "Bo", "battery staple")):
        cookie = sign_in(database, "Bo", PASSWORD, "10.0.0.1")
        assert login(database, cookie).account.name == "Bo"
        change()
        assert login(database, cookie) is None
        set_disabled(database, "Bo", False)
        assert login(database, cookie) is None


def test_an_unknown_name_is_said_with_those_there_are(database, ada):
    with pytest.raises(UnknownName, match="there are: Ada"):
        set_role(database, "Nobody", Role.REVIEWER)


def test_a_role_may_what_those_before_it_may():
    order = [Role.ANNOTATOR, Role.REVIEWER, Role.OWNER]
    for mine in order:
        for needed in order:
            assert allows(mine, needed) == (order.index(mine) >= order.index(needed))
    with pytest.raises(NotAllowed, match="takes the role owner, yours is reviewer"):
        check(Role.REVIEWER, Role.OWNER)
