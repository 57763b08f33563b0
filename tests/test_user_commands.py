"""`python -m core user …`: a password from stdin or the terminal, never from the arguments."""

import io
import json

import pytest

from core.cli import main
from core.config import database_url
from core.logins import login, sign_in
from db.session import open_database


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENUMBRA_DATABASE_URL", raising=False)


@pytest.fixture
def run(capsys, monkeypatch):
    def command(*arguments, stdin="", status=0):
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        assert main(["user", *arguments, "--json"]) == status
        said = capsys.readouterr()
        return json.loads(said.out) if status == 0 else said.err

    return command


def test_a_life_of_accounts(run):
    shown = run("add", "Ada", "--role", "owner", stdin="correct horse\n")
    assert shown == {"name": "Ada", "role": "owner", "email": None, "password": True, "disabled": False}
    run("add", "Bo", "--email", "bo@example.org", "--no-password")
    run("role", "Bo", "reviewer")
    assert run("disable", "Bo")["disabled"]
    assert not run("enable", "Bo")["disabled"]
    run("passwd", "Bo", stdin="battery staple\r\n")
    listed = run("list")["accounts"]
    assert [(each["name"], each["role"], each["password"]) for each in listed] == [
        ("Ada", "owner", True),
        ("Bo", "reviewer", True),
    ]
    database = open_database(database_url())
    assert login(database, sign_in(database, "Bo", "battery staple", "here"))
    database.close()


def test_what_cannot_be_is_said_on_stderr(run):
    assert "first account is an owner's" in run("add", "Bo", stdin="correct horse\n", status=2)
    assert "10 to 200 characters" in run("add", "Ada", "--role", "owner", stdin="short\n", status=2)
    assert "password or an e-mail" in run("add", "Ada", "--role", "owner", "--no-password", status=2)
    run("add", "Ada", "--role", "owner", stdin="correct horse\n")
    assert "the only owner" in run("disable", "Ada", status=2)
    assert "there are: Ada" in run("passwd", "Eve", stdin="correct horse\n", status=2)


def test_at_a_terminal_it_is_typed_twice(monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    typed = iter(["correct horse", "correct house", "correct horse", "correct horse"])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))
    assert main(["user", "add", "Ada", "--role", "owner"]) == 2
    assert "differ" in capsys.readouterr().err
    assert main(["user", "add", "Ada", "--role", "owner"]) == 0


def test_a_password_is_no_argument():
    with pytest.raises(SystemExit):
        main(["user", "add", "Ada", "--role", "owner", "--password", "correct horse"])
