"""Exports as others' code opens them: torchvision, Hugging Face, pandas, and the documented forms of the rest."""

import json
from datetime import UTC, datetime

import jsonschema
import pandas as pd
import pytest
from PIL import Image

from core.data.dataset import Dataset, Event, Guess, Kind, Record, Status
from core.data.formats import FORMATS, preview, recognise, write
from core.data.scan import Split
from tests.data.formats.schemas import COCO, FIFTYONE_LABELS, FIFTYONE_SAMPLES, LABEL_STUDIO

CLASSES = ("TV/Monitor", "Mug", "mug", "=1+1", "null")
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def answered(path, label, **known):
    """An image that Ada gave a class, after she had skipped it."""
    events = (Event("Ada", Kind.LATER, at=NOON), Event("Ada", Kind.ANSWER, label, NOON, 1500, "desk"))
    return Record(path, status=Status.LABELLED, label=label, events=events, split=Split.POOL, **known)


RECORDS = (
    answered("photo/a.1.png", "TV/Monitor", guess=Guess("Mug", 0.75, "mini"), domain="photo", figures={"epig": 0.5}),
    answered("sketch/a.1.png", "TV/Monitor", domain="sketch"),
    answered("sketch/a.2.png", "Mug"),
    answered("=cmd.png", "=1+1"),
    answered("é #?.png", "null"),
    Record("val/x.png", stated="mug", split=Split.VALIDATION),
    Record("test/x.png", stated="Mug", split=Split.TEST),
    Record("hidden.png", stated="Mug", split=Split.POOL),
    Record("skipped.png", status=Status.SKIPPED, events=(Event("Bo", Kind.LATER),), split=Split.POOL),
    Record("bad.png", status=Status.UNUSABLE, events=(Event("Bo", Kind.UNUSABLE),), split=Split.POOL),
)
SHOWN = {record.path: record.label or (record.stated if record.split is not Split.POOL else None) for record in RECORDS}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Real images, one colour each, so that a loader that opens them can tell them apart."""
    root = tmp_path_factory.mktemp("images")
    for number, record in enumerate(RECORDS):
        (root / record.path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number * 20, 0, 0)).save(root / record.path)
    return Dataset(root, CLASSES, RECORDS)


@pytest.fixture(scope="module")
def export(dataset, tmp_path_factory):
    """Makes the export in a format once."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = write(dataset, name, tmp_path_factory.mktemp(name) / "out").folder
        return made[name]

    return of


def number_of(image):
    """Which of the records an opened image is."""
    return round(image.convert("RGB").getpixel((4, 4))[0] / 20)


def test_torchvision_opens_the_folders(export):
    from torchvision.datasets import ImageFolder

    train = ImageFolder(export("imagefolder") / "train")
    assert train.classes == ["=1+1", "Mug", "TV%2FMonitor", "null"], "no folder for what is skipped, unusable or hidden"
    true = json.loads((export("imagefolder") / "manifest.json").read_text())["class_folders"]
    found = {RECORDS[number_of(image)].path: true[train.classes[label]] for image, label in train}
    assert found == {path: name for path, name in SHOWN.items() if name and not path.startswith(("val", "test"))}
    assert len(train) == 5, "two images of one name in one class"
    assert [true[name] for name in ImageFolder(export("imagefolder") / "validation").classes] == ["mug"]


def test_torchvision_opens_domains_and_the_tree(export):
    from torchvision.datasets import ImageFolder

    assert ImageFolder(export("officehome") / "photo").classes == ["TV%2FMonitor"]
    tree = ImageFolder(export("fiftyone-tree"))
    assert "_unlabeled" in tree.classes
    assert len(tree) == len(RECORDS)


def test_hugging_face_loads_the_images_with_all_columns(export, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset("imagefolder", data_dir=str(export("huggingface")), cache_dir=str(tmp_path))
    assert {name: len(split) for name, split in loaded.items()} == {"train": 8, "validation": 1, "test": 1}
    rows = [row for split in loaded.values() for row in split]
    assert {row["path"]: row["label"] for row in rows} == SHOWN
    assert all(RECORDS[number_of(row["image"])].path == row["path"] for row in rows)
    first = next(row for row in rows if row["path"] == "photo/a.1.png")
    assert (first["domain"], first["epig"], first["probability"], first["predicted"]) == ("photo", 0.5, 0.75, "Mug")


def test_pandas_reads_the_table(export):
    table = pd.read_csv(export("csv") / "labels.csv", keep_default_na=False)
    asked = [
        "item_id",
        "path",
        "sha256",
        "domain",
        "split",
        "label",
        "status",
        "annotator",
        "votes",
        "agreement",
        "utc",
    ]
    asked += ["lead_ms", "source", "model_version", "probability", "entropy", "bald", "epig", "round"]
    assert list(table.columns)[: len(asked)] == asked
    first = table.iloc[0]
    assert (first["annotator"], int(first["votes"]), float(first["agreement"])) == ("Ada", 1, 1.0)
    assert (first["utc"], float(first["lead_ms"]), first["source"]) == (NOON.isoformat(), 1500, "desk")
    assert list(table["status"]) == [record.status.value for record in RECORDS]
    assert list(table["label"])[:5] == ["TV/Monitor", "TV/Monitor", "Mug", "'=1+1", "null"], "no cell is a formula"
    assert table["path"][3] == "'=cmd.png"


def test_label_studio_takes_the_tasks(export):
    tasks = json.loads((export("labelstudio") / "tasks.json").read_text())
    jsonschema.validate(tasks, LABEL_STUDIO)
    assert len(tasks) == len(RECORDS)
    (annotation,) = tasks[0]["annotations"]
    assert annotation["result"][0]["value"] == {"choices": ["TV/Monitor"]}
    assert (annotation["lead_time"], annotation["was_cancelled"]) == (1.5, False)
    (prediction,) = tasks[0]["predictions"]
    assert (prediction["score"], prediction["model_version"]) == (0.75, "mini")
    skipped = tasks[8]["annotations"][0]
    assert skipped["was_cancelled"]
    assert skipped["result"] == []
    assert tasks[4]["data"]["image"] == "/data/local-files/?d=%C3%A9%20%23%3F.png"
    config = (export("labelstudio") / "label_config.xml").read_text()
    assert '<Choice value="TV/Monitor"/>' in config


def test_the_interface_for_label_studio_is_xml(dataset, tmp_path):
    from xml.etree import ElementTree

    names = ("<b>", '"', "a&b", "'x", "a\tb")
    made = write(Dataset(dataset.root, names, ()), "labelstudio", tmp_path / "out").folder
    choices = ElementTree.parse(made / "label_config.xml").findall("Choices[@name='class']/Choice")
    assert tuple(choice.get("value") for choice in choices) == names


def test_fiftyone_finds_both_of_its_forms(export):
    folder = export("fiftyone")
    samples = json.loads((folder / "samples.json").read_text())
    labels = json.loads((folder / "labels.json").read_text())
    jsonschema.validate(samples, FIFTYONE_SAMPLES)
    jsonschema.validate(labels, FIFTYONE_LABELS)
    assert "version" not in json.loads((folder / "metadata.json").read_text()), "else it is taken for a database's dump"
    files = {path.stem: path for path in (folder / "data").iterdir()}
    assert set(files) == set(labels["labels"]), "as its importer finds an image: by the name without the extension"
    found = {RECORDS[number_of(Image.open(files[key]))].path: key for key in labels["labels"]}
    targets = {path: labels["labels"][key] for path, key in found.items()}
    assert {p: None if t is None else labels["classes"][t] for p, t in targets.items()} == SHOWN
    assert all((folder / sample["filepath"]).is_file() for sample in samples["samples"])
    assert samples["samples"][0]["prediction"]["confidence"] == 0.75


def test_coco_has_its_members(export):
    found = json.loads((export("coco") / "labels.json").read_text())
    jsonschema.validate(found, COCO)
    names = {each["id"]: each["name"] for each in found["categories"]}
    assert tuple(names.values()) == CLASSES
    paths = {each["id"]: each["file_name"] for each in found["images"]}
    given = {paths[each["image_id"]]: names[each["category_id"]] for each in found["annotations"]}
    assert given == {path: name for path, name in SHOWN.items() if name}


def test_every_export_is_known_again_by_its_manifest(export):
    for name, format in FORMATS.items():
        manifest = json.loads((export(name) / "manifest.json").read_text())
        assert (manifest["format"], manifest["classes"]) == (name, list(CLASSES))
        assert manifest["counts"]["images"] == len(RECORDS)
        assert manifest["counts"]["skipped"] == manifest["counts"]["unusable"] == 1
        assert len(manifest["snapshot"]) == 64
        if format.copies_images:
            assert not any(path.is_symlink() for path in export(name).rglob("*"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_is_recognised_and_shown_before_it_is_taken_in(export, name):
    assert recognise(export(name)) is FORMATS[name]
    shown = preview(export(name), rows=3)
    assert (shown.format, len(shown.rows)) == (name, 3)
    assert all(len(row) == len(shown.columns) == len(shown.roles) for row in shown.rows)
    assert any(row[shown.columns.index("path")] for row in shown.rows)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("csv", "labels.csv"),
        ("huggingface", "train/metadata.parquet"),
        ("labelstudio", "tasks.json"),
        ("fiftyone", "samples.json"),
        ("fiftyone", "labels.json"),
        ("coco", "labels.json"),
        ("list", "images.txt"),
    ],
)
def test_the_file_in_an_export_is_recognised_by_itself(export, name, file):
    assert recognise(export(name) / file) is FORMATS[name]
    assert next(FORMATS[name].first(export(name) / file)).path
