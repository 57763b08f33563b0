"""An export is whole or not there, in its own folder alone, and says what it lacks."""

import gc
import hashlib
import os
from dataclasses import replace

import pytest

from core.data.dataset import Dataset, Event, Guess, Kind, Record, Status
from core.data.formats import FORMATS, lost, write
from core.data.formats.base import Again
from core.data.scan import Split
from core.errors import Cancelled, InputError, UnknownName

COPYING = [name for name, format in FORMATS.items() if format.copies_images]


@pytest.fixture
def dataset(tmp_path):
    """Three images of two classes, one of them without a label."""
    root = tmp_path / "images"
    (root / "b").mkdir(parents=True)
    for name in ("1.jpg", "2.jpg", "b/1.jpg"):
        (root / name).write_text(name)
    labelled = {"status": Status.LABELLED, "split": Split.POOL}
    records = [Record("1.jpg", label="cat", **labelled), Record("b/1.jpg", label="cat", **labelled), Record("2.jpg")]
    return Dataset(root, ("cat", "dog"), records)


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_folder_that_is_not_ours_is_left_alone(dataset, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write(dataset, "csv", out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for replaced in (False, True):
        with pytest.raises(InputError, match="not empty"):
            write(dataset, "csv", tmp_path / "mine", replace=replaced)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    for folder in (dataset.root, dataset.root.parent, dataset.root / "out"):
        with pytest.raises(InputError, match="images"):
            write(dataset, "imagefolder", folder, replace=True)
    os.symlink(out, tmp_path / "link")
    with pytest.raises(InputError, match="link"):
        write(dataset, "csv", tmp_path / "link", replace=True)
    with pytest.raises(UnknownName, match="imagefolder"):
        write(dataset, "excel", tmp_path / "new")


def test_an_earlier_export_is_replaced_when_asked_and_only_as_it_was_left(dataset, tmp_path):
    out = tmp_path / "out"
    write(dataset, "imagefolder", out)
    with pytest.raises(InputError, match="replaced"):
        write(dataset, "imagefolder", out)
    again = [replace(each, label="dog") if each.label else each for each in dataset.records]
    write(replace(dataset, records=again), "imagefolder", out, replace=True)
    assert not any("cat" in name for name in files(out)), "one file under the new class alone"
    assert sum("dog/" in name for name in files(out)) == 2
    (out / "train" / "dog" / "mine.jpg").write_text("added by hand")
    with pytest.raises(InputError, match="added or removed"):
        write(dataset, "imagefolder", out, replace=True)
    assert (out / "train" / "dog" / "mine.jpg").is_file()


@pytest.mark.parametrize("name", FORMATS)
def test_cancelled_or_failed_nothing_is_left_and_what_was_there_stays(dataset, tmp_path, name):
    out = tmp_path / "out"
    write(dataset, name, out)
    before = files(tmp_path)

    def cancel(done, total, message):
        raise Cancelled("stopped")

    def broken():
        yield from dataset.records
        raise OSError(28, "No space left on device")

    with pytest.raises(Cancelled):
        write(dataset, name, out, replace=True, on_progress=cancel)
    with pytest.raises(InputError, match="No space left"):
        write(replace(dataset, records=Again(broken)), name, out, replace=True)
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", COPYING)
def test_what_cannot_be_copied_is_left_out_and_told(dataset, tmp_path, name):
    (tmp_path / "secret.jpg").write_text("secret")
    (dataset.root / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    (dataset.root / "inside.jpg").symlink_to("1.jpg")
    os.mkfifo(dataset.root / "pipe.jpg")
    (dataset.root / "2.jpg").write_text("another image by now")
    sha = hashlib.sha256(b"2.jpg").hexdigest()
    paths = ("../secret.jpg", "link.jpg", "gone.jpg", "https://x.org/a.jpg", "pipe.jpg", "2.jpg", "inside.jpg")
    records = [Record(path, stated="cat", sha256=sha if path == "2.jpg" else None) for path in paths]
    done = write(replace(dataset, records=records), name, tmp_path / "out")
    told = {each.path: each.reason for each in done.left_out}
    assert told["../secret.jpg"] == told["link.jpg"] == "it leads out of the images' folder"
    assert told["gone.jpg"] == told["pipe.jpg"] == "the file is gone"
    assert "address" in told["https://x.org/a.jpg"]
    assert "changed" in told["2.jpg"]
    assert done.written == 1
    images = [path for path in (tmp_path / "out").rglob("*.jpg")]
    assert [(path.read_text(), path.is_symlink()) for path in images] == [("1.jpg", False)]


def test_images_that_are_kept_elsewhere_are_asked_for(dataset, tmp_path):
    store = tmp_path / "cache"
    store.mkdir()
    (store / "fetched").write_text("from afar")
    far = Dataset(tmp_path / "nowhere", ("cat",), [Record("a.jpg", stated="cat")], local=lambda _: store / "fetched")
    write(far, "imagefolder", tmp_path / "out")
    assert (tmp_path / "out" / "cat" / "a.jpg").read_text() == "from afar"


def test_what_an_export_cannot_hold_is_listed_with_counts():
    events = (Event("Ada", Kind.ANSWER, "cat"), Event("Bo", Kind.ANSWER, "dog"))
    records = [
        Record("1", domain="photo", split=Split.POOL, status=Status.LABELLED, label="cat", stated="dog", events=events),
        Record("2", domain="sketch", split=Split.POOL, status=Status.SKIPPED, guess=Guess("cat")),
        Record("3", split=Split.POOL, status=Status.UNUSABLE),
        Record("https://x.org/4.jpg", split=Split.TEST, stated="cat"),
    ]
    dataset = Dataset(None, ("cat", "dog"), records)
    assert lost(dataset, FORMATS["csv"]) == []
    said = " ".join(lost(dataset, FORMATS["imagefolder"]))
    for part in ("2 images without a label", "1 image known by an address", "1 skipped, 1 unusable", "photo, sketch"):
        assert part in said
    for part in ("2 events of the history", "1 class that the source states", "1 image's scores"):
        assert part in said
    assert "split" not in said
    assert "the split of 4 images" in " ".join(lost(dataset, FORMATS["officehome"]))
    assert "2 labels" in " ".join(lost(dataset, FORMATS["list"]))


@pytest.mark.parametrize("name", FORMATS)
def test_records_pass_one_by_one(tmp_path, name):
    """However many there are: of 400 never more than a few are in memory, writing or reading."""
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_text("a")
    alive = []

    def count(number):
        if number in (150, 350):
            alive.append(sum(type(each) is Record for each in gc.get_objects()))

    def records():
        for number in range(400):
            count(number)
            yield Record("a.jpg", stated="cat", domain="photo", sha256=None)

    before = sum(type(each) is Record for each in gc.get_objects())
    write(Dataset(tmp_path / "images", ("cat",), Again(records)), name, tmp_path / "out")
    for number, _ in enumerate(FORMATS[name].read(tmp_path / "out").records):
        count(number)
    assert len(alive) == 4
    assert max(alive) - before < 20


def test_progress_tells_how_far_it_is(dataset, tmp_path):
    told = []
    many = [replace(dataset.records[0], path="1.jpg") for _ in range(100)]
    write(replace(dataset, records=many), "csv", tmp_path / "out", on_progress=lambda *now: told.append(now))
    assert told[0][:2] == (32, 100)
    assert told[-1][:2] == (100, 100)
