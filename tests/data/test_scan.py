"""Claims about core/data/scan.py, on folders made here; where `shared` is present also on real images."""

import os
import random
from collections import Counter

import pytest
from PIL import Image

from core.data import scan as scan_module
from core.data.scan import FoundFile, Ignored, Layout, Split, assign_splits, read_files, scan_folder
from core.errors import Cancelled, InputError
from core.images import sha256_file
from tests.pictures import huge_jpeg, huge_png, noise, quarters


def touch(root, *paths):
    """Empty files: a scan opens none."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def reasons(scan):
    return {item.path: item.reason for item in scan.ignored}


# ── layouts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_images_without_folders_are_flat(tmp_path):
    touch(tmp_path, "b.JPG", "a.png")
    scan = scan_folder(tmp_path)
    assert (scan.layout, scan.classes, scan.domains) == (Layout.FLAT, (), ())
    assert scan.files == (FoundFile("a.png", None, None), FoundFile("b.JPG", None, None))


def test_one_level_of_folders_names_classes(tmp_path):
    touch(tmp_path, "dog/1.jpg", "cat/1.jpg", "cat/2.tiff")
    scan = scan_folder(tmp_path)
    assert (scan.layout, scan.classes, scan.domains) == (Layout.CLASS_FOLDERS, ("cat", "dog"), ())
    assert scan.files[0] == FoundFile("cat/1.jpg", None, "cat")


def test_second_folders_that_repeat_name_classes_within_domains(tmp_path):
    touch(tmp_path, "photo/dog/1.jpg", "photo/cat/1.jpg", "sketch/dog/1.jpg", "sketch/cat/deep/er/1.jpg")
    scan = scan_folder(tmp_path)
    assert (scan.layout, scan.classes, scan.domains) == (Layout.DOMAIN_CLASS, ("cat", "dog"), ("photo", "sketch"))
    assert FoundFile("sketch/cat/deep/er/1.jpg", "sketch", "cat") in scan.files


def test_second_folders_that_differ_belong_to_the_class_above(tmp_path):
    touch(tmp_path, "dog/terrier/1.jpg", "dog/poodle/1.jpg", "cat/siamese/1.jpg", "cat/2.jpg")
    scan = scan_folder(tmp_path)
    assert (scan.layout, scan.classes) == (Layout.CLASS_FOLDERS, ("cat", "dog"))
    assert FoundFile("dog/terrier/1.jpg", None, "dog") in scan.files


def test_splits_below_classes_are_no_classes(tmp_path):
    touch(tmp_path, "dog/train/1.jpg", "dog/test/2.jpg", "cat/train/1.jpg", "cat/test/2.jpg")
    assert scan_folder(tmp_path).classes == ("cat", "dog")


def test_the_only_top_folder_is_the_only_domain(tmp_path):
    touch(tmp_path, "photo/dog/1.jpg", "photo/cat/1.jpg")
    scan = scan_folder(tmp_path)
    assert (scan.classes, scan.domains) == (("cat", "dog"), ("photo",))


def test_images_beside_class_folders_have_no_class(tmp_path):
    touch(tmp_path, "loose.png", "dog/1.jpg", "cat/1.jpg")
    scan = scan_folder(tmp_path)
    assert scan.classes == ("cat", "dog")
    assert FoundFile("loose.png", None, None) in scan.files


def test_a_layout_can_be_given(tmp_path):
    touch(tmp_path, "dog/terrier/1.jpg", "cat/2.jpg", "3.jpg")
    files = {
        layout: [(f.domain, f.class_name) for f in scan_folder(tmp_path, layout=layout).files] for layout in Layout
    }
    assert files == {
        Layout.FLAT: [(None, None)] * 3,
        Layout.CLASS_FOLDERS: [(None, None), (None, "cat"), (None, "dog")],
        Layout.DOMAIN_CLASS: [(None, None), ("cat", None), ("dog", "terrier")],
    }


def test_an_empty_folder_is_an_empty_scan_and_a_missing_one_an_error(tmp_path):
    assert scan_folder(tmp_path).files == ()
    for missing in (tmp_path / "nowhere", __file__):
        with pytest.raises(InputError, match="is no folder that can be read"):
            scan_folder(missing)


def test_the_order_does_not_depend_on_the_file_system(tmp_path, monkeypatch):
    touch(tmp_path, *(f"{name}/{number}.jpg" for name in "cab" for number in range(20)))
    first, scandir = scan_folder(tmp_path), os.scandir

    class Shuffled(list):
        __enter__, __exit__, close = list.copy, lambda *_: None, lambda _: None

    def shuffled(path):
        with scandir(path) as entries:
            return Shuffled(random.Random(1).sample(found := list(entries), len(found)))

    monkeypatch.setattr(os, "scandir", shuffled)
    assert scan_folder(tmp_path) == first


# ── what is left out ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_other_files_are_counted_with_the_first_named(tmp_path):
    touch(tmp_path, "dog/1.jpg", *(f"dog/{number}.xml" for number in range(500)))
    touch(tmp_path, "dog/._1.jpg", ".git/x.jpg", "Thumbs.db", "__MACOSX/dog/1.jpg", "dog/2.heic", "README")
    scan = scan_folder(tmp_path)
    assert [file.path for file in scan.files] == ["dog/1.jpg"]
    assert scan.ignored == (
        Ignored(".git", "hidden, or kept by the system", 4),
        Ignored("README", "not an image (no extension)"),
        Ignored("dog/0.xml", "not an image (.xml)", 500),
        Ignored("dog/2.heic", ".heic images are not read: save them as JPEG or PNG"),
    )


def test_links_neither_loop_nor_lead_out(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    touch(root, "dog/1.jpg")
    touch(outside, "secret.jpg")
    (root / "dog" / "loop").symlink_to(root)
    (root / "dog" / "self.jpg").symlink_to(root / "dog" / "self.jpg")
    (root / "dog" / "gone.jpg").symlink_to(root / "gone.jpg")
    (root / "dog" / "out.jpg").symlink_to(outside / "secret.jpg")
    (root / "cat").symlink_to(outside)
    (root / "sibling").symlink_to(tmp_path / "root2")  # shares the prefix of root's name, and leads out
    (root / "dog" / "same.jpg").symlink_to(root / "dog" / "1.jpg")
    scan = scan_folder(root)
    assert [file.path for file in scan.files] == ["dog/1.jpg", "dog/same.jpg"]
    assert reasons(scan) == {
        "cat": "a link out of the folder: copy what it leads to",
        "dog/gone.jpg": "a link that leads nowhere",
        "dog/loop": "a link to a folder, which is scanned where it lies",
        "dog/out.jpg": "a link out of the folder: copy what it leads to",
        "dog/self.jpg": "a link that leads nowhere",
        "sibling": "a link out of the folder: copy what it leads to",
    }


def test_a_root_that_is_a_link_is_scanned(tmp_path):
    touch(tmp_path, "real/dog/1.jpg")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert [file.path for file in scan_folder(tmp_path / "link").files] == ["dog/1.jpg"]


def test_hostile_names_are_scanned_and_read(tmp_path):
    names = ["🐕 & co", "#1?", " spaced  ", "new\nline", "100%", "a'b\"c", "-rf", "ünïcödé"]
    for name in names:
        (tmp_path / name).mkdir()
        quarters().save(tmp_path / name / f"{name}.png")
    scan = scan_folder(tmp_path)
    assert set(scan.classes) == set(names)
    assert all(read.info for read in read_files(tmp_path, scan.files))


def test_names_that_are_no_utf8_are_refused_readably(tmp_path):
    touch(tmp_path, "dog/1.jpg")
    try:
        os.mkdir(os.fsencode(tmp_path) + b"/caf\xe9")
        open(os.fsencode(tmp_path) + b"/dog/\xff.jpg", "wb").close()
    except OSError:
        pytest.skip("this file system takes no names that are not UTF-8")
    scan = scan_folder(tmp_path)
    assert [file.path for file in scan.files] == ["dog/1.jpg"]
    assert reasons(scan) == dict.fromkeys([r"caf\xe9", r"dog/\xff.jpg"], "its name is not UTF-8: rename it")
    str(scan).encode()


def test_folders_and_files_that_cannot_be_opened_are_listed(tmp_path, monkeypatch):
    touch(tmp_path, "dog/1.jpg", "cat/1.jpg", "dog/2.jpg")
    scandir, access = os.scandir, os.access  # root may open anything, so chmod would prove nothing

    def guarded(path):
        if str(path).endswith("cat"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith("2.jpg") and access(path, mode))
    scan = scan_folder(tmp_path)
    assert [file.path for file in scan.files] == ["dog/1.jpg"]
    assert reasons(scan) == {
        "cat": "the folder cannot be opened (permission denied)",
        "dog/2.jpg": "there is no permission to read it",
    }


def test_a_pipe_named_as_an_image_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert reasons(scan_folder(tmp_path)) == {"pipe.jpg": "not a file but a pipe, a socket or a device"}


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_broken_files_carry_their_reason_beside_twenty_good_ones(tmp_path):
    for number in range(20):
        noise((60 + number, 40)).save(tmp_path / f"good{number:02}.jpg")
    whole = (tmp_path / "good00.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.jpg").write_text("not a photo")
    huge_png(tmp_path / "huge.png")
    huge_jpeg(tmp_path / "huge.jpg")
    turned = Image.Exif()
    turned[0x0112] = 6
    quarters((40, 20)).save(tmp_path / "turned.jpg", exif=turned)
    quarters().convert("CMYK").save(tmp_path / "print.jpg")
    Image.new("I;16", (30, 20), 40_000).save(tmp_path / "sixteen.png")
    quarters().quantize(4).save(tmp_path / "palette.png", transparency=0)
    scan, said = scan_folder(tmp_path), []
    read = list(read_files(tmp_path, scan.files, on_progress=lambda *step: said.append(step)))
    assert [item.found for item in read] == list(scan.files)
    refused = {item.found.path: item.reason for item in read if item.info is None}
    assert set(refused) == {"cut.jpg", "empty.png", "text.jpg", "huge.png"}
    assert refused["cut.jpg"] == "the file ends early"
    assert refused["huge.png"].startswith("20,000 x 20,000 pixels is over the limit")
    by_name = {item.found.path: item.info for item in read}
    assert (by_name["turned.jpg"].width, by_name["turned.jpg"].height) == (20, 40)
    assert by_name["huge.jpg"].width == 20_000
    assert by_name["good07.jpg"].sha256 == sha256_file(tmp_path / "good07.jpg")
    assert said == [(done, len(read), "Reading images") for done in range(1, len(read) + 1)]


def test_reading_runs_only_a_few_files_ahead(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(scan_module, "probe", lambda path: started.append(path))
    files = [FoundFile(f"{number}.jpg", None, None) for number in range(1000)]
    reading = read_files(tmp_path, files, workers=2)
    next(reading)
    reading.close()
    assert len(started) <= 8


def test_cancelling_ends_the_reading(tmp_path):
    quarters().save(tmp_path / "a.png")

    def cancel(*_):
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        list(read_files(tmp_path, [FoundFile("a.png", None, None)] * 50, on_progress=cancel))


def test_pacs_is_seven_classes_in_four_domains_all_readable(shared):
    scan = scan_folder(shared / "data" / "pacs")
    assert (scan.layout, len(scan.classes), len(scan.domains)) == (Layout.DOMAIN_CLASS, 7, 4)
    some = scan.files[::60]
    assert all(read.info for read in read_files(shared / "data" / "pacs", some))


# ── splits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

KEYS = [f"{number:064x}" for number in range(20_000)]


def test_splits_hold_their_shares():
    shares = Counter(assign_splits(KEYS, seed=0, test=0.2, validation=0.1))
    assert abs(shares[Split.TEST] / len(KEYS) - 0.2) < 0.01  # 3.5 standard errors
    assert abs(shares[Split.VALIDATION] / len(KEYS) - 0.1) < 0.01


def test_additions_and_order_move_no_image_and_copies_share_a_split():
    before = dict(zip(KEYS[:100], assign_splits(KEYS[:100], seed=3), strict=True))
    shuffled = random.Random(0).sample(KEYS, len(KEYS)) + KEYS[:100]
    after = list(zip(shuffled, assign_splits(shuffled, seed=3), strict=True))
    assert all(before.get(key, split) == split for key, split in after)


def test_another_seed_splits_otherwise():
    assert assign_splits(KEYS, seed=0) != assign_splits(KEYS, seed=1)


def test_shares_that_leave_no_pool_are_refused():
    assert set(assign_splits(KEYS, seed=0, test=0, validation=0)) == {Split.POOL}
    for test, validation in ((0.7, 0.3), (-0.1, 0.1)):
        with pytest.raises(InputError, match="leave no pool"):
            assign_splits(KEYS, seed=0, test=test, validation=validation)
