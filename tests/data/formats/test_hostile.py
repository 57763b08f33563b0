"""Whatever a file says, it becomes records, a line that was left out, or an error of ours; nothing else."""

import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data.formats import FORMATS, preview
from core.errors import InputError

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5) | st.just("cat")
ANY = st.recursive(SCALARS, lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=3), v, max_size=2))


def thing(keys, values=ANY):
    """An object with some of these keys, and anything under each."""
    return st.dictionaries(st.sampled_from(keys.split()), values, max_size=8) | ANY


RESULT = thing("id from_name to_name type value", ANY | st.sampled_from(["choices", "class", "penumbra-1"]))
RESULT |= st.builds(lambda v: {"type": "choices", "value": v}, thing("choices", ANY | st.lists(ANY, max_size=2)))
ANNOTATION = thing("result completed_by created_username was_cancelled lead_time created_at", ANY | st.lists(RESULT))
EVENT = thing("annotator kind label utc lead_ms source", ANY | st.sampled_from(["answer", "undo"]))
OURS = st.fixed_dictionaries(
    dict.fromkeys(("path", "status", "stated", "history", "more", "label", "split", "epig"), ANY)
    | {"history": ANY | st.lists(EVENT, max_size=3), "path": ANY | st.just("a.jpg")}
)
TASK = thing("data annotations predictions meta", ANY | st.lists(ANNOTATION, max_size=2))
TASK |= st.builds(
    lambda d, m, a: {"data": d, "meta": {"penumbra": m}, "annotations": a}, ANY, OURS, st.lists(ANNOTATION)
)
SAMPLE = thing("filepath tags ground_truth prediction", ANY | thing("_cls label confidence") | st.just("data/a.jpg"))
SAMPLE |= st.builds(lambda a, b: {**a, **b, "filepath": "a.jpg"}, OURS, st.just({}))
IMAGE = thing("id file_name split domain") | OURS
FILES = {
    "labelstudio": st.lists(TASK, max_size=3),
    "fiftyone": st.fixed_dictionaries({"samples": st.lists(SAMPLE, max_size=3) | ANY})
    | st.fixed_dictionaries({"classes": ANY, "labels": st.dictionaries(st.just("a"), ANY) | ANY}),
    "coco": st.fixed_dictionaries(
        {
            "images": st.lists(IMAGE, max_size=3) | ANY,
            "annotations": st.lists(thing("id image_id category_id"), max_size=3) | ANY,
            "categories": st.lists(thing("id name"), max_size=3) | ANY,
        }
    ),
    "huggingface": st.lists(thing("file_name label split image") | OURS, max_size=3),
}


def read_all(name, file):
    """Every record, as an import and as a preview would take it; each can be written as text."""
    for record in FORMATS[name].read(file).records:
        assert record.path.encode()
        assert not record.path.startswith(("/", "../"))
        assert all(text is None or text.encode() for text in (record.label, record.stated, record.domain))
    preview(file)


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_no_json_breaks_a_reader(name, data):
    content = data.draw(FILES[name])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ("metadata.jsonl" if name == "huggingface" else "export.json")
        lines = name == "huggingface"
        file.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))
        (Path(folder) / "a.jpg").touch()
        with suppress(InputError):
            read_all(name, file)


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(str.encode),
    st.sampled_from([b"", b"path,label\n", b"\xff\xfe"]),
)
def test_no_bytes_break_a_reader(content, start):
    with tempfile.TemporaryDirectory() as folder:
        for name, file in (
            ("csv", "t.csv"),
            ("list", "t.txt"),
            ("huggingface", "metadata.parquet"),
            ("coco", "t.json"),
        ):
            (Path(folder) / file).write_bytes(start + content)
            with suppress(InputError):
                read_all(name, Path(folder) / file)


@pytest.mark.parametrize(
    "task",
    [
        {"meta": {"penumbra": {"path": "a.jpg", "history": [{"annotator": "x", "kind": ["answer"]}], "status": {}}}},
        {"annotations": [{"result": [{"id": "penumbra-" + "9" * 5000}]}], "meta": {"penumbra": {"path": "a.jpg"}}},
        {
            "annotations": [
                {"result": [choice], "lead_time": "1e999"} for choice in (None, {"type": "choices", "value": 1})
            ]
        },
        {"annotations": [{"result": [{"type": "choices", "value": {"choices": ["\ud800"]}}]}]},
    ],
)
def test_tasks_that_once_broke_the_reader_are_read(tmp_path, task):
    (tmp_path / "t.json").write_text(json.dumps([{"data": {"image": "a.jpg"}, **task}]))
    read_all("labelstudio", tmp_path / "t.json")


def test_numbers_without_end_are_an_error_of_the_file(tmp_path):
    (tmp_path / "t.json").write_text('{"images": [' + "9" * 5000 + "]}")
    with pytest.raises(InputError, match=r"t\.json is not whole JSON"):
        read_all("coco", tmp_path / "t.json")


def test_images_within_a_table_are_no_figures(tmp_path):
    import pandas as pd

    rows = [
        {"image": {"bytes": b"\xff\xd8", "path": "a.jpg"}, "thumbnail": b"\xff", "label": "cat", "day": pd.Timestamp(0)}
    ]
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    (record,) = FORMATS["huggingface"].read(tmp_path / "rows.parquet").records
    assert (record.path, record.stated, list(record.figures)) == ("a.jpg", "cat", ["day"])
