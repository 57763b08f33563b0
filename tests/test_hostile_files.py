"""Names, links and files that are no accident or a strange one: all are data, nothing outside the folder is touched."""

import os
import unicodedata
from pathlib import Path

import pytest
from PIL import Image

from core import importing
from core.data.dataset import Dataset, Record
from core.data.formats import FORMATS
from core.export import dataset_of, export
from core.projects import create, get_project
from core.sources import Labels, Source
from db import repository
from tests.folders import folder_of, items, picture, problems, project_on, stands, take_in

pytestmark = pytest.mark.one_database
LONG = "ü" * 125 + "x.png"  # 255 bytes
NAMES = ["🦊.png", "a#b.png", "a?b.png", "a.1.png", "a.2.png", "100%.png", "=1+1.png", "<b>.png", "a b .png", LONG]
NAMES += [unicodedata.normalize(form, "café.png") for form in ("NFC", "NFD")]
CLASSES = ("TV/Monitor", "..", "CON", "=1+1", "<b>x</b>", "Mug ", "mug", "x" * 120, "@cmd", "a\\b", ".hidden", "日本")


def test_every_strange_name_is_an_image_of_its_own(database, tmp_path):
    root = tmp_path / "images"
    for number, name in enumerate(NAMES):
        picture(root / "cat" / name, number), picture(root / "dog" / name, 100 + number)
    project = project_on(database, root)
    assert set(items(database, project)) == {f"{folder}/{name}" for folder in ("cat", "dog") for name in NAMES}
    assert problems(database, project) == {}
    assert not take_in(database, project).anything


def test_links_pipes_and_files_of_the_system_are_left_out_and_nothing_waits(database, tmp_path):
    root, outside = folder_of(tmp_path / "images"), picture(tmp_path / "outside" / "secret.png", 90)
    picture(root / "cat" / "._0.png", 91), picture(root / "@eaDir" / "x.png", 92)
    (root / "cat" / "loop").symlink_to(root)
    (root / "cat" / "self.png").symlink_to("self.png")
    (root / "cat" / "out.png").symlink_to(outside)
    (root / "cat" / "folder").symlink_to(outside.parent)
    (root / "cat" / "inside.png").symlink_to(root / "dog" / "1.png")
    os.mkfifo(root / "cat" / "pipe.png")
    project = project_on(database, root)
    assert set(items(database, project)) == {
        *(f"{'cat' if n % 2 == 0 else 'dog'}/{n}.png" for n in range(6)),
        "cat/inside.png",
    }
    said = problems(database, project)
    assert {"cat/self.png", "cat/out.png", "cat/pipe.png"} <= set(said)
    assert "out of the folder" in said["cat/out.png"]


def test_paths_that_lead_out_are_refused_before_anything_is_opened(database, tmp_path, monkeypatch):
    root = folder_of(tmp_path / "images")
    picture(tmp_path / "outside" / "secret.png", 90)
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "file.png").symlink_to(tmp_path / "outside" / "secret.png")
    project = project_on(database, root)
    bad = ["../outside/secret.png", str(tmp_path / "outside" / "secret.png"), "link/secret.png", "file.png"]
    bad += ["cat/../../outside/secret.png", "a\0b.png", "nowhere.png", "x" * 5000]
    hostile = Dataset(root, (), [Record(path, stated="cat") for path in bad])
    monkeypatch.setattr(importing.sources, "open_source", lambda source: hostile)
    opened = []
    monkeypatch.setattr(importing, "read_files", lambda root, files, **_: opened.extend(files) or [])
    changes = take_in(database, project, source=Source(str(tmp_path / "list.csv"), "csv", root=str(root)))
    assert (changes.new, opened, len(items(database, project))) == (0, [], 6)
    said = problems(database, project)
    assert len([path for path in said if path.replace("\\x00", "\0") in bad]) == len(bad)


def test_what_is_no_image_is_named_and_stops_nothing(database, tmp_path):
    root = folder_of(tmp_path / "images")
    whole = (root / "cat" / "0.png").read_bytes()
    (root / "cat" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (root / "cat" / "empty.png").write_bytes(b"")
    (root / "cat" / "text.jpg").write_text("hello")
    (root / "cat" / "drawing.png").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    (root / "cat" / "real.svg").write_text("<svg/>")
    for mode in ("1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F"):
        file = root / "dog" / f"m{mode.replace(';', '')}.{'tif' if mode in ('CMYK', 'F', 'I;16') else 'png'}"
        Image.new(mode, (20, 20)).save(file)
    project = project_on(database, root)
    assert len(items(database, project)) == 6 + 8
    names = {path.split("/")[-1] for path in problems(database, project)}
    assert names == {"cut.png", "empty.png", "text.jpg", "drawing.png", "real.svg"}


@pytest.fixture
def strange(database, tmp_path):
    """A project whose classes have the strangest names, by a table, each answered."""
    root, lines = tmp_path / "images", []
    for number, name in enumerate(CLASSES):
        picture(root / f"{number}.png", number)
        lines.append(f'{number}.png,"{name}"')
    (tmp_path / "labels.csv").write_text("\n".join(["path,label", *lines]), encoding="utf-8")
    source = Source(str(tmp_path / "labels.csv"), "csv", Labels.ANSWERS, "Ada", str(root))
    return project_on(database, source)


def test_strange_class_names_are_classes(database, strange):
    names = {each.name for each in get_project(database, strange).classes}
    assert names == {name.strip() for name in CLASSES}
    assert set(stands(database, strange).values()) == names


@pytest.mark.parametrize("name", [each.name for each in FORMATS.values() if each.write])
def test_strange_class_names_go_out_inside_the_folder_and_come_back(database, strange, tmp_path, name):
    home = tmp_path / "exports"
    home.mkdir()
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(home)}
    made = export(database, strange, name, home / "out")
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(home)} - before <= {home / "out"}
    assert all(path.resolve().is_relative_to(home) for path in home.rglob("*"))
    if not FORMATS[name].copies_images and name != "list":
        root = str(tmp_path / "images")
        back = FORMATS[name].read(made.folder, root=Path(root))
        assert {r.path: r.label for r in back.records} == {
            r.path: r.label for r in dataset_of(database, strange).records
        }
    elif name != "list":
        back = FORMATS[name].read(made.folder)
        wanted = {r.label for r in dataset_of(database, strange).records}
        assert {r.label or r.stated for r in back.records} == wanted


def test_two_classes_that_nobody_can_tell_apart_are_one(database, tmp_path):
    root = folder_of(tmp_path / "images", 6, ("Mug", "Mug ", unicodedata.normalize("NFD", "café")))
    project = project_on(database, root)
    assert [each.name for each in get_project(database, project).classes] == ["Mug", "café"]
    with database.read() as s:
        assert len(repository.reference(s, project)) == 6
    assert take_in(database, project).restated == 0


def test_a_file_that_changes_while_it_is_being_exported_is_left_out(database, tmp_path):
    root = folder_of(tmp_path / "images")
    project = create(database, name="p", source=Source(str(root)))
    take_in(database, project)
    picture(root / "cat" / "0.png", 90)
    (root / "dog" / "1.png").unlink()
    made = export(database, project, "fiftyone-tree", tmp_path / "out")
    assert {each.path for each in made.left_out} == {"cat/0.png", "dog/1.png"}
    assert made.written == 4
