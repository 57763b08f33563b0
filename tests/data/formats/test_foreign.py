"""Files and folders that others made, and our own as others gave them back."""

import json

import pytest

from core.data.dataset import Dataset, Event, Guess, Kind, Record, Status
from core.data.formats import FORMATS, preview, recognise, write
from core.data.scan import Split
from core.errors import InputError


def made(tmp_path, content, name="export.json"):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def taken(name, source, **options):
    return list(FORMATS[name].read(source, **options).records)


def choice(*names, control="choice"):
    value = {"choices": list(names)}
    return {"id": "x1", "from_name": control, "to_name": "image", "type": "choices", "value": value}


# ── Label Studio ─────────────────────────────────────────────────────────────────────────────────────────────────────

BOX = {"id": "b", "from_name": "tag", "to_name": "img", "type": "rectanglelabels", "value": {"rectanglelabels": ["x"]}}
TASKS = [
    {
        "id": 7,
        "data": {"image": "/data/local-files/?d=photo/a%20%231.jpg"},
        "annotations": [
            {
                "id": 1,
                "completed_by": {"id": 3, "email": "ada@x.org"},
                "result": [choice("cat")],
                "was_cancelled": False,
                "created_at": "2021-03-09T22:16:08.728353Z",
                "lead_time": 4.288,
            },
            {"id": 2, "completed_by": 10, "result": [], "was_cancelled": True},
        ],
        "predictions": [{"model_version": "model 1", "score": 0.5, "result": [choice("dog")]}],
    },
    {"id": 8, "data": {"photo": "https://x.org/1.jpg"}, "annotations": [{"result": [choice("cat", "dog")]}]},
    {"id": 9, "data": {"image": "/data/upload/1/ab-c.jpg"}, "annotations": [{"result": [BOX]}]},
    {"id": 10, "data": {"text": "no image"}},
    {"id": 11, "data": {"image": "../../etc/passwd.jpg"}},
    "no task",
]


def test_tasks_of_label_studio_are_answers_of_those_who_gave_them(tmp_path):
    file = made(tmp_path, TASKS)
    assert recognise(file) is FORMATS["labelstudio"]
    found = FORMATS["labelstudio"].read(file)
    first, second, third = found.records
    ada, ten = first.events
    assert (first.path, first.label, first.guess) == ("photo/a #1.jpg", "cat", Guess("dog", 0.5, "model 1"))
    assert (ada.annotator, ada.kind, ada.label, ada.lead_ms) == ("ada@x.org", Kind.ANSWER, "cat", 4288)
    assert ada.at.isoformat() == "2021-03-09T22:16:08.728353+00:00"
    assert (ten.annotator, ten.kind) == ("annotator 10", Kind.LATER)
    assert (second.path, second.events, third.path, third.events) == (
        "https://x.org/1.jpg",
        (),
        "upload/1/ab-c.jpg",
        (),
    )
    told = {each.path: each.reason for each in found.left_out}
    assert "several classes" in told["export.json, task 8"]
    assert told["export.json, task 10"] == "it names no image"
    assert "leads out" in told["export.json, task 11"]
    assert found.classes == ("cat",)


def test_the_short_form_of_label_studio_is_read_too(tmp_path):
    file = made(tmp_path, [{"image": "a.jpg", "choice": "cat", "annotator": "Ada", "id": 1}])
    assert taken("labelstudio", file)[0].events[0].label == "cat"


def test_what_was_answered_in_label_studio_since_comes_behind_our_history(tmp_path):
    history = (Event("Ada", Kind.ANSWER, "dog"), Event("Ada", Kind.ANSWER, "cat"), Event("Bo", Kind.LATER))
    record = Record("a.jpg", status=Status.LABELLED, label="cat", events=history)
    folder = write(Dataset(tmp_path, ("cat", "dog"), [record]), "labelstudio", tmp_path / "out").folder
    (task,) = json.loads((folder / "tasks.json").read_text())
    for annotation in task["annotations"]:
        annotation |= {"completed_by": 1, "id": 5}
    assert taken("labelstudio", made(tmp_path, [task])) == [record], "given back as it was, nothing is new"
    task["annotations"][0]["result"][0]["value"]["choices"] = ["dog"]
    task["annotations"].append({"result": [choice("dog")], "completed_by": {"email": "eve@x.org"}})
    (back,) = taken("labelstudio", made(tmp_path, [task]))
    assert back.events[:3] == history
    assert [(event.annotator, event.label) for event in back.events[3:]] == [("Ada", "dog"), ("eve@x.org", "dog")]
    assert (back.status, back.label) == (Status.LABELLED, "dog")


# ── FiftyOne ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ({"1": 1, "sub/2": None}, ["dog", "cat"]),
        ({"1": "cat", "sub/2": None}, None),
        ({"1": {"label": 1, "confidence": 0.5}, "sub/2": []}, ["dog", "cat"]),
        ({"1": ["cat"], "sub/2": None}, None),
    ],
)
def test_labels_of_fiftyone_in_all_their_forms(tmp_path, labels, classes):
    for path in ("1.jpg", "sub/2.png"):
        made(tmp_path, "image", f"data/{path}")
    content = {"labels": {**labels, "9": "cat", "1 ": 0}} | ({} if classes is None else {"classes": classes})
    file = made(tmp_path, content, "labels.json")
    assert recognise(tmp_path) is recognise(file) is FORMATS["fiftyone"]
    found = FORMATS["fiftyone"].read(tmp_path)
    assert list(found.records) == [Record("data/1.jpg", stated="cat"), Record("data/sub/2.png")]
    assert found.classes == tuple(classes or ["cat"])
    assert [each.count for each in found.left_out if "no image" in each.reason] == [1, 1]


def test_samples_of_fiftyone_under_any_name_of_their_label(tmp_path):
    animal = {"_cls": "Classification", "label": "cat"}
    samples = [
        {
            "filepath": "data/1.jpg",
            "tags": ["validation"],
            "animal": animal,
            "predictions": animal | {"confidence": 0.25},
        },
        {"filepath": str(tmp_path / "data/2.jpg"), "tags": [], "_id": {"$oid": "1"}},
        {"filepath": "/elsewhere/3.jpg"},
    ]
    found = FORMATS["fiftyone"].read(made(tmp_path, {"samples": samples}, "samples.json"))
    assert list(found.records) == [
        Record("data/1.jpg", split=Split.VALIDATION, stated="cat", guess=Guess("cat", 0.25)),
        Record("data/2.jpg"),
    ]
    assert "lies outside" in found.left_out[0].reason


@pytest.mark.parametrize("name", ["fiftyone", "huggingface", "coco", "csv"])
def test_a_label_given_to_an_image_without_one_elsewhere_is_a_label(tmp_path, name):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_text("a")
    record = Record("a.jpg", split=Split.TEST, stated="dog")
    folder = write(Dataset(tmp_path / "images", ("cat", "dog"), [record]), name, tmp_path / "out").folder
    assert taken(name, folder)[0].label is None, "what the source states is no answer"
    if name == "fiftyone":
        text = (folder / "samples.json").read_text().replace('"label":"dog"', '"label":"cat"')
        (folder / "samples.json").write_text(text)
    elif name == "coco":
        text = (folder / "labels.json").read_text().replace('"category_id":2', '"category_id":1')
        (folder / "labels.json").write_text(text)
    else:
        return
    (back,) = taken(name, folder)
    assert (back.status, back.label, back.stated) == (Status.LABELLED, "cat", "dog")


# ── COCO ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_boxes_of_one_class_are_that_class_and_of_several_none(tmp_path):
    content = {
        "info": {},
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]},
            {"id": 2, "image_id": 1, "category_id": 3, "bbox": [1, 1, 2, 2]},
            {"id": 3, "image_id": 2, "category_id": 3},
            {"id": 4, "image_id": 2, "category_id": 1},
        ],
        "images": [
            {"id": 1, "file_name": "a.jpg"},
            {"id": 2, "file_name": "b.jpg"},
            {"id": 3, "file_name": "c.jpg"},
            {},
        ],
        "categories": [{"id": 3, "name": "cat"}, {"id": 1, "name": "dog"}],
    }
    file = made(tmp_path, content)
    assert recognise(file) is FORMATS["coco"]
    found = FORMATS["coco"].read(file)
    assert list(found.records) == [Record("a.jpg", stated="cat"), Record("b.jpg"), Record("c.jpg")]
    assert found.classes == ("dog", "cat"), "by their ids"
    assert {"image 2" in each.path for each in found.left_out} == {True, False}


# ── folders and lists ────────────────────────────────────────────────────────────────────────────────────────────────


def touched(root, *paths):
    for path in paths:
        made(root, "image", path)
    return root


def test_folders_are_known_by_what_they_are_called(tmp_path):
    cases = {
        "imagefolder": ("train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg", "test/dog/x/3.jpg"),
        "officehome": ("photo/cat/1.jpg", "photo/dog/1.jpg", "sketch/cat/2.jpg", "sketch/dog/3.jpg"),
        "fiftyone-tree": ("cat/1.jpg", "dog/2.jpg", "_unlabeled/3.jpg"),
    }
    for name, paths in cases.items():
        assert recognise(touched(tmp_path / name, *paths)).name == name
    assert [(r.path, r.split, r.stated) for r in taken("imagefolder", tmp_path / "imagefolder")] == [
        ("test/dog/x/3.jpg", Split.TEST, "dog"),
        ("train/cat/1.jpg", Split.POOL, "cat"),
        ("train/dog/1.jpg", Split.POOL, "dog"),
        ("val/cat/2.jpg", Split.VALIDATION, "cat"),
    ]
    assert {(r.domain, r.stated) for r in taken("officehome", tmp_path / "officehome")} > {("sketch", "dog")}
    assert [r.stated for r in taken("fiftyone-tree", tmp_path / "fiftyone-tree")] == [None, "cat", "dog"]
    assert recognise(touched(tmp_path / "flat", "a/1.jpg", "b/2.jpg")).name == "imagefolder"
    assert preview(tmp_path / "officehome").rows[0] == ("photo/cat/1.jpg", "photo", "", "cat", "")


def test_a_list_has_paths_addresses_and_remarks(tmp_path):
    text = '# my images\n\na.jpg\r\n  b/2.png  \nhttps://x.org/1.jpg?w=1\ns3://bucket/k.jpg\n"q\\nr.jpg"\n../no.jpg\n'
    file = made(tmp_path, text, "list.txt")
    assert recognise(file) is FORMATS["list"]
    found = FORMATS["list"].read(file)
    paths = ["a.jpg", "b/2.png", "https://x.org/1.jpg?w=1", "s3://bucket/k.jpg", "q\nr.jpg"]
    assert [record.path for record in found.records] == paths
    assert "leads out" in found.left_out[0].reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"what": "is this"}'),
        ("a.json", "{"),
        ("a.json", "17"),
        ("a.json", ""),
        ("a.txt", "Dear all,\nthe images are attached.\n"),
        ("a.txt", ""),
        ("a.docx", "PK"),
        ("a.svg", "<svg/>"),
    ],
)
def test_what_is_in_no_format_is_refused_with_those_that_are(tmp_path, name, content):
    with pytest.raises(InputError, match=r"These are: ImageFolder, OfficeHome layout, CSV.*COCO"):
        recognise(made(tmp_path, content, name))


def test_what_is_not_there_or_not_unpacked_is_said(tmp_path):
    import zipfile

    with pytest.raises(InputError, match="does not exist"):
        recognise(tmp_path / "nowhere")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("cat/1.jpg", "x")
    with pytest.raises(InputError, match="unpacked"):
        recognise(tmp_path / "a.zip")


@pytest.mark.parametrize("name", ["labelstudio", "fiftyone", "coco"])
@pytest.mark.parametrize(
    "text", ['[{"data": {', '{"samples": [{"filepath": "a.jpg"}', '{"images": [1, 2}', "[" * 100_000]
)
def test_json_that_breaks_off_is_named(tmp_path, name, text):
    with pytest.raises(InputError, match=r"export\.json"):
        FORMATS[name].read(made(tmp_path, text))
