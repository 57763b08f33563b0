"""The key is drawn once, for this user alone; what it signed for one purpose is good for no other."""

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import InputError
from core.signing import key, signed, unsigned
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_what_was_signed_is_known_again():
    assert unsigned(signed("token", "cookie"), "cookie") == "token"


@pytest.mark.parametrize(
    "forge", [lambda t: t + "x", lambda t: "x" + t, lambda t: t[:-1], lambda t: "token", lambda t: ""]
)
def test_anything_else_is_not(forge):
    assert unsigned(forge(signed("token", "cookie")), "cookie") is None
    assert unsigned("é", "cookie") is None
    assert unsigned(None, "cookie") is None


def test_a_signature_is_for_one_purpose():
    assert unsigned(signed("token", "cookie"), "form") is None


def test_another_key_signs_otherwise(tmp_path, monkeypatch):
    token = signed("token", "cookie")
    monkeypatch.setenv("PENUMBRA_HOME", str(tmp_path / "other"))
    assert unsigned(token, "cookie") is None


def test_the_key_is_for_this_user_alone(home):
    assert len(key()) == 32
    assert stat.S_IMODE((home / "secret.key").stat().st_mode) == 0o600
    (home / "secret.key").chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        key()


def test_processes_that_start_at_once_share_one_key(home):
    command = [sys.executable, "-c", "from core.signing import key; print(key().hex())"]

    def run(_):
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(run, range(6)))) == 1
    assert [file.name for file in home.iterdir()] == ["secret.key"]
