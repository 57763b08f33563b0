"""A login stands until it is ended from either side; guessing is stopped, for all processes and over restarts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from core import logins
from core.accounts import Role, add_account, set_disabled
from core.errors import InputError, NotAllowed, TooManyAttempts
from core.logins import LIMITS, change_password, login, sign_in, sign_in_by_email, sign_out, sign_out_everywhere
from core.signing import signed
from db.base import now
from db.session import open_database

PASSWORD, WRONG = "correct horse", "battery staple"
HERE, THERE = "10.0.0.1", "10.0.0.2"


@pytest.fixture
def ada(database):
    add_account(database, "Ada", Role.OWNER, password=PASSWORD)
    return add_account(database, "Bo", Role.ANNOTATOR, password=PASSWORD, email="bo@example.org")


def fail(database, times=1, name="Ada", address=HERE):
    for _ in range(times):
        with pytest.raises(NotAllowed, match="Name or password is wrong"):
            sign_in(database, name, WRONG, address)


def test_the_right_password_signs_in(database, ada):
    assert login(database, sign_in(database, " Ada ", PASSWORD, HERE)).account.name == "Ada"


@pytest.mark.parametrize(
    ("name", "password"), [("Ada", WRONG), ("Nobody", PASSWORD), ("", ""), ("Ada", ""), ("ada", PASSWORD)]
)
def test_what_is_wrong_is_not_told(database, ada, name, password):
    with pytest.raises(NotAllowed, match=r"^Name or password is wrong\.$"):
        sign_in(database, name, password, HERE)


def test_nobody_signs_in_without_a_password_of_their_own(database, ada):
    add_account(database, "Cy", Role.ANNOTATOR, email="cy@example.org")
    with pytest.raises(NotAllowed):
        sign_in(database, "Cy", "", HERE)


def test_a_forged_cookie_is_nobodys(database, ada):
    cookie = sign_in(database, "Ada", PASSWORD, HERE)
    for forged in (None, "", "x", cookie + "x", "x" + cookie, cookie.split(".")[0], signed("invented", logins.COOKIE)):
        assert login(database, forged) is None


@pytest.mark.one_database
def test_the_database_holds_nothing_that_signs_in(database, ada):
    cookie = sign_in(database, "Ada", PASSWORD, HERE)
    token = cookie.split(".")[0]
    folder = Path(database.url.removeprefix("sqlite:///")).parent
    dump = b"".join(file.read_bytes() for file in folder.glob("db.sqlite*"))
    assert token.encode() not in dump
    assert PASSWORD.encode() not in dump


def test_a_login_expires(database, ada, monkeypatch):
    monkeypatch.setattr(logins, "LASTS", timedelta(seconds=-1))
    assert login(database, sign_in(database, "Ada", PASSWORD, HERE)) is None


def test_signing_out_ends_one_login_or_all(database, ada):
    one, two, other = (sign_in(database, name, PASSWORD, HERE) for name in ("Ada", "Ada", "Bo"))
    sign_out(database, one)
    assert login(database, one) is None
    person = login(database, two).account.id
    sign_out_everywhere(database, person)
    assert login(database, two) is None
    assert login(database, other) is not None
    sign_out(database, "nobody's")


def test_a_disabled_account_is_told_so_only_with_the_password(database, ada):
    set_disabled(database, "Bo", True)
    fail(database, name="Bo")
    for way in (lambda: sign_in(database, "Bo", PASSWORD, HERE), lambda: sign_in_by_email(database, "bo@example.org")):
        with pytest.raises(NotAllowed, match="disabled"):
            way()


def test_a_verified_address_signs_its_account_in(database, ada):
    assert login(database, sign_in_by_email(database, "BO@example.org")).account.name == "Bo"
    with pytest.raises(NotAllowed, match="no account for eve@example"):
        sign_in_by_email(database, "eve@example.org")


def test_five_failures_of_a_name_from_a_place_close_it_there(database, ada):
    fail(database, 5)
    with pytest.raises(TooManyAttempts) as refused:
        sign_in(database, "Ada", PASSWORD, HERE)
    assert timedelta(minutes=14) < refused.value.until - now() <= timedelta(minutes=15)
    assert login(database, sign_in(database, "Ada", PASSWORD, THERE))  # Ada herself is not locked out
    assert login(database, sign_in(database, "Bo", PASSWORD, HERE))


def test_capitals_and_spaces_are_no_way_around(database, ada):
    for name in ("Ada", "ADA", " ada", "aDa ", "adA"):
        fail(database, name=name)
    with pytest.raises(TooManyAttempts):
        sign_in(database, "Ada", PASSWORD, HERE)


def test_the_count_survives_a_restart(database, ada):
    fail(database, 5)
    again = open_database(database.url)
    with pytest.raises(TooManyAttempts):
        sign_in(again, "Ada", PASSWORD, HERE)
    again.close()


def test_many_names_from_one_place_close_the_place(database, ada):
    for number in range(LIMITS[1].most):
        fail(database, name=f"guess {number}")
    with pytest.raises(TooManyAttempts):
        sign_in(database, "Ada", PASSWORD, HERE)


def test_one_name_from_many_places_closes_the_name(database, ada):
    for number in range(LIMITS[2].most):
        fail(database, address=f"10.1.0.{number}")
    with pytest.raises(TooManyAttempts):
        sign_in(database, "Ada", PASSWORD, "10.2.0.1")


def test_after_the_window_it_is_open_again(database, ada, monkeypatch):
    fail(database, 5)
    monkeypatch.setattr(logins, "now", lambda: now() + logins.WINDOW)
    assert sign_in(database, "Ada", PASSWORD, HERE)


def test_the_right_password_forgets_the_failures(database, ada):
    for _ in range(3):
        fail(database, 4)
        sign_in(database, "Ada", PASSWORD, HERE)


def test_attempts_at_once_are_counted_too(database, ada):
    """Each is counted before it is tried: else twenty at once would all find the count at zero."""

    def attempt(_):
        try:
            sign_in(database, "Ada", WRONG, HERE)
        except TooManyAttempts:
            return "closed"
        except NotAllowed:
            return "tried"

    with ThreadPoolExecutor(10) as pool:
        said = list(pool.map(attempt, range(20)))
    assert said.count("tried") == 5


def test_another_password_takes_the_present_one_and_ends_all_other_logins(database, ada):
    elsewhere = sign_in(database, "Ada", PASSWORD, HERE)
    account = login(database, elsewhere).account
    with pytest.raises(NotAllowed):
        change_password(database, account, WRONG, "another password", HERE)
    with pytest.raises(InputError, match="10 to 200"):
        change_password(database, account, PASSWORD, "short", HERE)
    assert login(database, elsewhere)
    cookie = change_password(database, account, PASSWORD, "another password", HERE)
    assert login(database, elsewhere) is None
    assert login(database, cookie).account.name == "Ada"
    fail(database, 1)
    assert sign_in(database, "Ada", "another password", HERE)
