"""Tables as other people keep them: how they are written is found out, and what they say stays within its folder."""

import pytest

from core.data.dataset import Dataset, Kind, Record, Status
from core.data.formats import FORMATS, preview, recognise, write
from core.data.formats.csv_file import read
from core.data.scan import Split
from core.data.table_file import look
from core.errors import InputError

ROWS = "path;label;split\na.jpg;Küche;train\nb/ü.jpg;Tür;val\n"


def table(tmp_path, text, name="t.csv", encoding="utf-8"):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return file


def records(file, **options):
    return list(read(file, **options).records)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_and_encoding_are_found_out(tmp_path, encoding, delimiter):
    file = table(tmp_path, ROWS.replace(";", delimiter), encoding=encoding)
    assert records(file) == [
        Record("a.jpg", stated="Küche", split=Split.POOL),
        Record("b/ü.jpg", stated="Tür", split=Split.VALIDATION),
    ]
    assert look(file).delimiter == delimiter
    assert recognise(file) is FORMATS["csv"]


def test_a_comma_within_quotes_cuts_nothing_and_a_long_file_is_looked_at_whole(tmp_path):
    text = 'path;label\n"a, b, c.jpg";"x, y, z"\n' + "long.jpg;name\n" * 9000
    assert look(table(tmp_path, text)).delimiter == ";"
    late = text.encode() + "spät.jpg;ü\n".encode("cp1252")
    assert look(table(tmp_path, late)).encoding == "cp1252"
    assert records(table(tmp_path, late))[-1] == Record("spät.jpg", stated="ü")


@pytest.mark.parametrize("columns", ["file_name,category", "Image Path,Class", "URL,Target", "filename,label"])
def test_columns_are_known_by_what_people_call_them(tmp_path, columns):
    assert records(table(tmp_path, f"{columns}\nx.jpg,cat\n")) == [Record("x.jpg", stated="cat")]


def test_without_a_first_line_of_names_there_are_paths_and_labels(tmp_path):
    assert records(table(tmp_path, "a.jpg,cat\nb.jpg,dog\n")) == [
        Record("a.jpg", stated="cat"),
        Record("b.jpg", stated="dog"),
    ]
    with pytest.raises(InputError, match=r"lacks a column with the paths.*name,age"):
        read(table(tmp_path, "name,age\nx,1\n"))


def test_with_a_name_beside_it_a_label_is_an_answer_and_several_are_one_record(tmp_path):
    text = "path,label,annotator,utc\na.jpg,cat,Ada,2026-01-02T12:00:00+01:00\na.jpg,dog,Bo,\nb.jpg,cat,Bo,\n"
    first, second = records(table(tmp_path, text))
    assert [(e.annotator, e.kind, e.label) for e in first.events] == [
        ("Ada", Kind.ANSWER, "cat"),
        ("Bo", Kind.ANSWER, "dog"),
    ]
    assert first.events[0].at.hour == 11, "in UTC"
    assert (first.status, first.label, first.stated) == (Status.CONFLICT, None, None)
    assert (second.status, second.label) == (Status.LABELLED, "cat")


def test_what_has_no_meaning_here_is_kept_as_it_is(tmp_path):
    (record,) = records(table(tmp_path, "path,label,width,split\na.jpg,cat,640,fold 3\n"))
    assert record.figures == {"width": "640", "split": "fold 3"}
    assert record.split is None


def test_paths_stay_within_their_folder(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.jpg").touch()
    lines = [
        "../../etc/passwd",
        "/etc/passwd",
        str(tmp_path / "in.jpg"),
        "file:///etc/passwd",
        "b\\1.jpg",
        "./b//2.jpg",
    ]
    lines += ["b/../../x.jpg", "", "https://x.org/a.jpg", "s3://bucket/a.jpg", "C:\\images\\9.jpg", "b/../ok.jpg"]
    found = read(table(tmp_path, "path,label\n" + "".join(f"{line},cat\n" for line in lines)))
    assert [record.path for record in found.records] == [
        *("in.jpg", "b/1.jpg", "b/2.jpg", "https://x.org/a.jpg", "s3://bucket/a.jpg", "C:/images/9.jpg", "ok.jpg"),
    ]
    told = {each.reason: each.count for each in found.left_out}
    assert told["its path leads out of the folder"] == 2
    assert told["it names no image"] == 1
    assert any("lies outside" in reason for reason in told)
    assert any("own files" in reason for reason in told)
    assert found.left_out[0].path.startswith("line 2: ../../etc/passwd")


def test_lines_that_do_not_fit_are_told_and_stop_nothing(tmp_path):
    found = read(table(tmp_path, "path,label\na.jpg,cat,dog\n\nb.jpg\nc.jpg,cat\n"))
    assert [record.path for record in found.records] == ["b.jpg", "c.jpg"]
    assert found.left_out[0].path == "line 2: a.jpg,cat,dog"
    with pytest.raises(InputError, match="cannot be opened"):
        read(tmp_path / "missing.csv")
    with pytest.raises(InputError):
        list(read(table(tmp_path, b"path,label\na.jpg,\0\0\0PNG\0\n" * 3)).records)


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''", "＝1", "=cmd|' /C calc'!A0"]
)
def test_no_cell_is_a_formula_and_every_cell_comes_back(tmp_path, name):
    dataset = Dataset(tmp_path, (name,), [Record(f"{name}.jpg", stated=name, domain=name)])
    write(dataset, "csv", tmp_path / "out")
    raw = (tmp_path / "out" / "labels.csv").read_bytes().decode()
    assert f",'{name}" in raw or f",\"'{name}" in raw
    assert records(tmp_path / "out" / "labels.csv") == list(dataset.records)


def test_formulas_that_others_made_safe_are_names_again_and_other_apostrophes_stay(tmp_path):
    labels = [record.stated for record in records(table(tmp_path, "path,label\na.jpg,'=1\nb.jpg,'tis\nc.jpg,''\n"))]
    assert labels == ["=1", "'tis", "''"]


def test_a_label_typed_into_our_own_table_is_a_label(tmp_path):
    file = write(Dataset(tmp_path, ("cat",), [Record("a.jpg", split=Split.POOL)]), "csv", tmp_path / "out").folder
    text = (file / "labels.csv").read_text().replace("pool,,unlabelled", "pool,cat,unlabelled")
    (record,) = records(table(tmp_path, text))
    assert (record.status, record.label) == (Status.LABELLED, "cat")


def test_a_preview_shows_the_first_rows_and_reads_no_more(tmp_path):
    file = table(tmp_path, b"path;label;note\n" + b"a.jpg;cat;'=x\n" * 9 + b'"never closed')
    shown = preview(file, rows=5)
    assert (shown.format, shown.columns, shown.roles) == ("csv", ("path", "label", "note"), ("path", "label", ""))
    assert shown.rows == (("a.jpg", "cat", "=x"),) * 5
    assert ("Delimiter", "semicolon") in shown.about
    assert ("Encoding", "UTF-8") in shown.about


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_metadata_of_hugging_face_in_its_three_forms(tmp_path, form):
    import pandas as pd

    (tmp_path / "train").mkdir()
    frame = pd.DataFrame(
        {"file_name": ["1.jpg", "sub/2.jpg", "../3.jpg"], "label": ["cat", None, "dog"], "n": [1, 2, 3]}
    )
    file = tmp_path / "train" / f"metadata.{form}"
    if form == "parquet":
        frame.to_parquet(file)
    elif form == "csv":
        frame.to_csv(file, index=False)
    else:
        file.write_text(frame.to_json(orient="records", lines=True))
    assert recognise(tmp_path) is recognise(file) is FORMATS["huggingface"]
    found = FORMATS["huggingface"].read(tmp_path)
    assert [(r.path, r.stated) for r in found.records] == [("train/1.jpg", "cat"), ("train/sub/2.jpg", None)]
    assert [r.figures for r in found.records] == [
        {"n": "1" if form == "csv" else 1},
        {"n": "2" if form == "csv" else 2},
    ]
    assert found.left_out[0].reason == "its path leads out of the folder"
    assert [row[0] for row in preview(tmp_path).rows[:2]] == ["train/1.jpg", "train/sub/2.jpg"]


@pytest.mark.parametrize("text", ['{"file_name": "a.jpg"}\nnot json\n', "[1]\n", '{"file_name": "\n'])
def test_metadata_that_is_broken_is_named_with_its_line(tmp_path, text):
    with pytest.raises(InputError, match=r"metadata.jsonl cannot be read as JSON lines at line \d"):
        FORMATS["huggingface"].read(table(tmp_path, text, "metadata.jsonl"))
    with pytest.raises(InputError, match="cannot be read as parquet"):
        FORMATS["huggingface"].read(table(tmp_path, b"PAR1 not really", "metadata.parquet"))
