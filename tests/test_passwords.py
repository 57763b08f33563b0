"""Passwords are kept as scrypt, each with a salt of its own, and told apart from all others."""

import base64
import hashlib

import pytest

from core import passwords
from core.errors import InputError
from core.passwords import Cost, checked, hashed, matches


def test_what_is_kept_is_scrypt_of_the_salt_and_the_password():
    kind, n, r, p, salt, digest = hashed("correct horse").split("$")
    assert (kind, int(n), int(r), int(p)) == ("scrypt", 2, 1, 1)
    by_hand = hashlib.scrypt(b"correct horse", salt=base64.b64decode(salt), n=2, r=1, p=1, dklen=32)
    assert base64.b64decode(digest) == by_hand


def test_only_the_password_matches():
    kept = hashed("correct horse")
    assert matches("correct horse", kept)
    for other in ("correct Horse", "correct horse ", "", "x" * 5000):
        assert not matches(other, kept)
    assert not matches("correct horse", None)


def test_the_same_password_is_never_kept_the_same():
    assert hashed("correct horse") != hashed("correct horse")


def test_an_accent_is_the_same_in_one_character_and_in_two():
    assert matches("re\u0301sume\u0301 ok", hashed("r\u00e9sum\u00e9 ok"))


def test_a_later_cost_stands_beside_an_earlier_one(monkeypatch):
    kept = hashed("correct horse")
    monkeypatch.setattr(passwords, "COST", Cost(n=4, r=1, p=1))
    assert matches("correct horse", kept)


def test_the_real_cost_is_owasps():
    assert Cost() == Cost(n=2**15, r=8, p=3)
    assert matches("correct horse", hashed("correct horse", Cost()))


@pytest.mark.parametrize("password", ["short", "x" * 201, "aaaaaaaaaaaa", "abababababab"])
def test_what_is_guessed_at_once_is_refused(password):
    with pytest.raises(InputError):
        checked(password, "Ada")


def test_the_name_is_no_password():
    with pytest.raises(InputError):
        checked("Ada Lovelace", "ada lovelace")
