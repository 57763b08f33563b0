"""A draft says what it amounts to, and what is missing."""

from pages.parts import drafting


def test_classes_come_from_folders_first_and_each_once():
    assert drafting.class_names(["mug", "lamp"], " lamp \n\n desk  fan\nmug") == ["mug", "lamp", "desk fan"]


def test_trouble_is_said():
    assert drafting.trouble(["mug"], "a {class}").endswith("here is 1.")
    assert "{class}" in drafting.trouble(["mug", "lamp"], "a photo")
    assert drafting.trouble(["mug", "lamp"], "a {class}") == ""


def test_names_that_say_nothing_are_vague():
    assert drafting.vague(["mug", "class_1", "7", "x", "other", "newt"]) == {"class_1", "7", "x", "other"}


def test_splits_add_up():
    words = drafting.splits(3021)
    numbers = [int(word.strip("*").replace(",", "")) for word in words.split() if word.startswith("**")]
    assert sum(numbers) == 3021
