"""Hugging Face's imagefolder: images below train, validation and test, each with a metadata file.

Written as parquet, whose columns have types even where all of a split is empty; `load_dataset` refuses splits whose
columns differ. Read as parquet, JSON lines and CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.data.dataset import Dataset, Record
from core.data.formats import csv_file, flat, manifest
from core.data.formats.base import Payload, gathered, reported, total
from core.data.formats.copying import copies
from core.data.formats.folders import SPLIT_FOLDERS
from core.data.formats.places import is_address, placed
from core.data.scan import Ignored
from core.data.table_file import look, rows
from core.errors import InputError
from core.values import Progress

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = ("metadata.parquet", "metadata.jsonl", "metadata.csv")
DEFAULT_FOLDER = "train"  # of images without a split, as load_dataset calls all of a folder without one
_ROWS = 1000  # in memory at once
_CARD = """---
pretty_name: {title}
configs:
- config_name: default
  data_files:
{splits}---

Images with labels, made by Penumbra: `load_dataset("imagefolder", data_dir="THIS FOLDER")`. The column `label` has the
team's label; of validation and test images without one it has the class that their source states. See manifest.json.
"""


def write(dataset: Dataset, folder: Path, on_progress: Progress) -> Payload:
    """A folder for each split with its images and metadata.parquet, and a card."""
    with copies(dataset, folder) as into, ExitStack() as stack:
        tables: dict[str, _Table] = {}
        for record in reported(dataset.records, total(dataset), on_progress, "Writing images"):
            split = DEFAULT_FOLDER if record.split is None else SPLIT_FOLDERS[record.split]
            place = into.place(record, split)
            if place is None:
                continue
            if split not in tables:
                tables[split] = stack.enter_context(_table(folder / split / METADATA[0]))
            tables[split].add(_values(record, place))
    splits = "".join(f"  - split: {split}\n    path: {split}/**\n" for split in tables)
    (folder / "README.md").write_text(_CARD.format(title="Labelled images", splits=splits), encoding="utf-8")
    return Payload(into.written, into.left_out)


def read(source: Path, *, root: Path | None = None) -> Dataset:
    """The rows of every metadata file below `source`, or of that one file. Raises InputError."""
    files = _files(source)
    start = root or (source if source.is_dir() else source.parent)
    order = manifest.classes(manifest.beside(source, "huggingface"))
    return gathered(start, lambda: _entries(files, start), order, "Hugging Face imagefolder")


def first(source: Path) -> Iterator[Record | Ignored]:
    """The first records, with nothing of the rest read."""
    return _entries(_files(source), source if source.is_dir() else source.parent)


def recognises(source: Path) -> bool:
    """A metadata file, a folder that has one in itself or one below, or any table of JSON lines or parquet."""
    if source.is_dir():
        return bool(_found(source))
    return source.name in METADATA or source.suffix.lower() in (".jsonl", ".ndjson", ".parquet")


def table(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(where, the row by column) of a metadata file in any of its three forms. Raises InputError."""
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        return _parquet(file)
    return _csv(file) if suffix in (".csv", ".tsv") else _lines(file)


class _Table:
    """Rows on their way to a parquet file, some at a time."""

    def __init__(self, file: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = {"votes": pa.int64(), "lead_ms": pa.int64(), "item_id": pa.int64(), "round": pa.int64()}
        numbers |= dict.fromkeys(("agreement", "probability", "entropy", "bald", "epig"), pa.float64())
        columns = ("file_name", "label", *(name for name in flat.COLUMNS if name != "label"))
        self._schema: pa.Schema = pa.schema([(name, numbers.get(name, pa.string())) for name in columns])
        self._writer = pq.ParquetWriter(file, self._schema)
        self._waiting: list[dict[str, Any]] = []

    def add(self, values: dict[str, Any]) -> None:
        self._waiting.append(values)
        if len(self._waiting) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa

        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=self._schema))
            self._waiting = []

    def close(self) -> None:
        self.flush()
        self._writer.close()


@contextmanager
def _table(file: Path) -> Iterator[_Table]:
    made = _Table(file)
    try:
        yield made
    finally:
        made.close()


def _values(record: Record, place: str) -> dict[str, Any]:
    return flat.labelled_row(record) | {"file_name": place.split("/", 1)[1]}


def _entries(files: Iterable[Path], root: Path) -> Iterator[Record | Ignored]:
    for file in files:
        for where, values in table(file):
            try:
                yield _record(values, file, root)
            except InputError as error:
                yield Ignored(f"{file.name} {where}", str(error))


def _record(values: Mapping[str, Any], file: Path, root: Path) -> Record:
    """The record of one row; of ours `path` is what it was before the export, and `file_name` where it is now."""
    ours = frozenset(values) >= flat.OURS
    below = file.parent if file.parent.is_relative_to(root) else root
    if not ours:
        found = flat.foreign(values, flat.roles(tuple(values)), below)
    elif "file_name" not in values:
        return flat.record(values, root, labels_shown=True)
    else:
        place = placed(values["file_name"], below, exactly=True)
        found = replace(flat.record(values, root, labels_shown=True), path=place, original=str(values["path"]))
    prefix = below.relative_to(root).as_posix()
    return found if prefix == "." or is_address(found.path) else replace(found, path=f"{prefix}/{found.path}")


def _files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    if (found := _found(source)) or manifest.beside(source, "huggingface"):
        return found
    raise InputError(f"{source} holds no {', '.join(METADATA)}, neither in itself nor in a folder of it")


def _found(source: Path) -> list[Path]:
    """The metadata files of a folder and of the folders in it, of each the first of the three kinds."""
    folders = [source, *sorted(each for each in source.iterdir() if each.is_dir() and not each.name.startswith("."))]
    here = [[folder / name for name in METADATA if (folder / name).is_file()] for folder in folders]
    return [some[0] for some in here if some]


def _parquet(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield f"row {number}", values
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file} cannot be read as parquet after row {number}: {error}") from error


def _lines(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    number = 0
    try:
        with file.open(encoding="utf-8-sig") as handle:
            for number, line in enumerate(handle, 1):
                if line.strip():
                    yield f"line {number}", _object(line)
    except OSError as error:
        raise InputError(f"{file} cannot be opened: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read as JSON lines at line {number}: {error}") from error


def _object(line: str) -> Mapping[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError(f"it is no object: {line[:40]!r}")
    return found


def _csv(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    how = look(file)
    columns, headed = csv_file.header(file, how)
    for number, (line, cells) in enumerate(rows(file, how)):
        if number or not headed:
            yield f"line {line}", csv_file.values(columns, cells)
