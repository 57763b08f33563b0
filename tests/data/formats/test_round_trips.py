"""Whatever is written is read back equal, in all that a format says it holds, under any name that people give."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from core.data.dataset import Holds
from core.data.formats import FORMATS, lost, recognise, write
from core.data.formats.answers import shown
from tests.data.formats.made import bare, classed, datasets, with_files

WHOLE = [name for name, format in FORMATS.items() if format.holds >= set(Holds)]
TREES = [name for name, format in FORMATS.items() if format.copies_images and name not in WHOLE]


def outside(folder):
    """All that lies beside the export, by name."""
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if "out" not in each.parts)


def there_and_back(dataset, name, folder):
    """The dataset written and read again; what lies beside the export is as it was."""
    before = outside(folder)
    done = write(dataset, name, folder / "out")
    assert outside(folder) == before, "nothing is written outside the export"
    assert not done.left_out
    assert recognise(folder / "out").name == name
    return FORMATS[name].read(folder / "out")


@pytest.mark.parametrize("name", WHOLE)
@given(dataset=datasets())
def test_formats_that_hold_all_give_all_back(name, dataset):
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "images").mkdir()
        dataset = with_files(dataset, folder / "images")
        back = there_and_back(dataset, name, folder)
        order = (lambda each: each.path) if name == "huggingface" else (lambda each: 0)  # it goes by splits
        for _ in ("once", "and again"):
            assert sorted(map(bare, back.records), key=order) == sorted(dataset.records, key=order)
        assert back.classes[: len(dataset.classes)] == dataset.classes
        assert not back.left_out
        assert not lost(dataset, FORMATS[name])
        for record in back.records if FORMATS[name].copies_images else ():
            assert (back.root / record.path).read_bytes() == (dataset.root / record.original).read_bytes()


@pytest.mark.parametrize("name", TREES)
@given(dataset=datasets())
def test_folders_give_back_every_class_and_file(name, dataset):
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "images").mkdir()
        dataset = with_files(dataset, folder / "images")
        holds = FORMATS[name].holds
        kept = [each for each in dataset.records if Holds.UNLABELLED in holds or shown(each) is not None]
        back = there_and_back(dataset, name, folder)
        assert sorted(map(classed, back.records)) == sorted(map(classed, kept))
        assert back.classes[: len(dataset.classes)] == dataset.classes
        found = {record.original: record for record in back.records}
        for record in kept:
            again = found[record.path]
            assert again.split == record.split or Holds.SPLIT not in holds
            assert again.domain == record.domain or Holds.DOMAIN not in holds
            assert (back.root / again.path).read_bytes() == (dataset.root / record.path).read_bytes()


@given(dataset=datasets())
def test_a_list_gives_every_path_back(dataset):
    with tempfile.TemporaryDirectory() as made:
        back = there_and_back(dataset.__class__(Path(made), dataset.classes, dataset.records), "list", Path(made))
        assert [each.path for each in back.records] == [each.path for each in dataset.records]


@given(dataset=datasets())
def test_the_snapshot_is_of_the_content(dataset):
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        first, again = (write(at(dataset, folder), name, folder / name).snapshot for name in ("csv", "coco"))
        assert first == again
        more = dataset.__class__(folder, (*dataset.classes, "another"), dataset.records)
        assert write(more, "csv", folder / "more").snapshot != first


def at(dataset, folder):
    return dataset.__class__(folder, dataset.classes, dataset.records)


def test_every_format_goes_both_ways():
    assert set(WHOLE) | set(TREES) | {"list"} == set(FORMATS)
    assert all(format.read and format.write for format in FORMATS.values())
