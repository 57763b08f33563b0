"""Type-ahead over many classes, generated keys, and keys that a person changes."""

import pytest

from db import repository
from tests.e2e.conftest import wait_until
from tests.e2e.test_desk import answers, stored

NAMES = (
    "Alarm Clock,Backpack,Batteries,Bed,Bike,Bottle,Bucket,Calculator,Calendar,Candles,Chair,Clipboards,Computer,Couch,"
    "Curtains,Desk Lamp,Drill,Eraser,Exit Sign,Fan,File Cabinet,Flipflops,Flowers,Folder,Fork,Glasses,Hammer,Helmet,"
    "Kettle,Keyboard,Knives,Lamp Shade,Laptop,Marker,Monitor,Mop,Mouse,Mug,Notebook,Oven,Pan,Paper Clip,Pen,Pencil,"
    "Postit Notes,Printer,Push Pin,Radio,Refrigerator,Ruler,Scissors,Screwdriver,Shelf,Sink,Sneakers,Soda,Speaker,"
    "Spoon,TV,Table,Telephone,ToothBrush,Toys,Trash Can,Webcam"
)
HOME = tuple(NAMES.split(","))


@pytest.fixture(scope="module")
def many(site) -> int:
    return site.new_project("sixty-five", 60, HOME)


@pytest.fixture(scope="module")
def forty(site) -> int:
    return site.new_project("forty", 40, tuple(f"kind {n:02d}" for n in range(40)))


@pytest.fixture(scope="module")
def few(site) -> int:
    return site.new_project("few", 110)


@pytest.mark.parametrize(("typed", "name"), [("mu", "Mug"), ("sp", "Speaker"), ("/ash", "Trash Can"), ("pen", "Pen")])
def test_two_letters_and_enter_label_one_of_sixty_five(site, many, open_desk, typed, name):
    assert len(HOME) == 65
    desk, before = open_desk(many), len(site.labels(many))
    item = desk.item()
    desk.type(typed)
    assert desk.item() == item
    assert site.labels(many)[before:] == []
    desk.press("Enter")
    desk.saved(item)
    assert answers(site, many, stored(site, many, before + 1)[before:]) == [(item, name)]


def test_a_word_typed_with_its_capital_never_answers_the_image_after(site, many, open_desk):
    desk, before = open_desk(many), len(site.labels(many))
    item = desk.item()
    desk.press("Shift+S")
    desk.type("poon")
    desk.press("Enter")
    desk.saved(item)
    desk.page.wait_for_timeout(500)
    assert [str(label.kind) for label in site.labels(many)[before:]] == ["later"]
    assert "press / first" in desk.text(".trouble")


def test_the_arrows_choose_and_escape_leaves(site, many, open_desk):
    desk, before = open_desk(many), len(site.labels(many))
    item = desk.item()
    desk.type("ca")
    names = desk.page.locator(".matches button").all_inner_texts()
    assert [name.split("\n")[0] for name in names[:3]] == ["Calculator", "Calendar", "Candles"]
    desk.press("Escape")
    desk.press("Enter")
    assert not desk.sees(".matches")
    desk.type("ca")
    desk.press("ArrowDown")
    desk.press("Enter")
    desk.saved(item)
    assert answers(site, many, stored(site, many, before + 1)[before:]) == [(item, "Calendar")]


def test_forty_classes_have_forty_keys_and_each_answers_with_its_class(site, forty, open_desk):
    desk = open_desk(forty)
    buttons = desk.page.locator(".classes button")
    keys = buttons.locator("kbd").all_inner_texts()
    acts = desk.page.locator(".tools > button kbd").all_inner_texts()
    assert len(keys) == len(set(keys)) == 40
    assert not {key.lower().removeprefix("⇧") for key in keys} & {*acts, "/", "z"}
    for place in (10, 39):
        item, before = desk.item(), len(site.labels(forty))
        key = keys[place]
        desk.press(f"Shift+{key[1]}" if key.startswith("⇧") else key)
        desk.saved(item)
        assert answers(site, forty, stored(site, forty, before + 1)[before:]) == [(item, f"kind {place:02d}")]


def test_a_person_changes_a_key_and_what_cannot_be_is_said_in_words(site, few, open_desk):
    desk = open_desk(few, "Keyla")
    settings(desk)
    for row, key, said in (
        ("undo", "s", "“s” is for “later”"),
        ("undo", "/", "“/” finds a class"),
        ("apple", "u", "“u” is for “unusable”"),
        ("apple", "2", "“2” answers with “bottle”"),
        ("undo", "x", "Changed."),
        ("apple", "q", "Changed."),
    ):
        desk.page.locator(".settings .rows button", has_text=row).first.click()
        desk.press(key)
        wait_until(lambda s=said: desk.text(".settings .said").startswith(s), 10, f"{key} for {row} was not answered")
    desk.press("Escape")
    item, before = desk.item(), len(site.labels(few))
    desk.press("1")
    desk.press("q")
    desk.saved(item)
    assert answers(site, few, stored(site, few, before + 1)[before:]) == [(item, "apple")]
    desk.press("z")
    desk.press("x")
    wait_until(lambda: site.labels(few)[-1].kind == "undo", 10, "the new key takes nothing back")
    desk.press("h")
    listed = desk.page.locator(".help dt").all_inner_texts()
    assert "x" in listed
    assert "z" not in listed
    assert desk.page.locator(".classes button kbd").first.inner_text() == "q"
    assert open_desk(few, "Lou").page.locator(".classes button kbd").first.inner_text() == "1"
    desk.load()
    assert desk.page.locator(".classes button kbd").first.inner_text() == "q"
    settings(desk)
    desk.page.get_by_text("Back to the usual keys").click()
    wait_until(lambda: desk.page.locator(".classes button kbd").first.inner_text() == "1", 10, "q stayed")


def settings(desk) -> None:
    desk.press("h")
    desk.page.locator(".help .change").click()


def test_no_key_moves_when_a_class_is_deleted(site, few, open_desk):
    before = open_desk(few).page.locator(".classes button").all_inner_texts()
    with site.database.write() as s:
        person = repository.person(s, "Ada")
        gone = next(each for each, name in repository.class_names(s, few).items() if name == "bottle")
        repository.delete_class(s, few, person, gone)
    after = open_desk(few).page.locator(".classes button").all_inner_texts()
    assert after == [each for each in before if "bottle" not in each]


def test_letters_type_names_where_a_person_wants_it(site, few, open_desk):
    desk = open_desk(few, "Tipp")
    settings(desk)
    desk.page.locator(".settings .typing input").click()
    wait_until(lambda: desk.page.locator(".tools > button kbd").first.inner_text() == "⇧S", 10, "nothing changed")
    desk.press("Escape")
    item, before = desk.item(), len(site.labels(few))
    desk.type("ke")
    desk.press("Enter")
    desk.saved(item)
    assert answers(site, few, stored(site, few, before + 1)[before:]) == [(item, "kettle")]
