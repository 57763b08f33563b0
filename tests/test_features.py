"""Axes: n images · p activations."""

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from core.errors import NotReady
from core.features import FeatureStore, encode_files, encode_texts
from core.images import sha256_file
from core.values import Features, Heads


class MeanColour:
    """An encoder whose activations are an image's mean colour: which image a row belongs to can be seen."""

    name = "mean colour"
    fingerprint = "0" * 16
    heads = Heads(torch.eye(3), torch.eye(3), 10.0)

    def __init__(self):
        self.encoded = 0

    def preprocess(self, image):
        return torch.tensor(list(image.resize((1, 1)).getpixel((0, 0)))).reshape(3, 1, 1).float()

    def encode_images(self, pixels):
        self.encoded += len(pixels)
        return Features(pixels.reshape(len(pixels), 3))

    def encode_texts(self, texts):
        return Features(torch.tensor([[len(text), 0.0, 0.0] for text in texts]))


def paint(folder, colours):
    files = []
    for number, colour in enumerate(colours):
        path = folder / f"{number}.png"
        Image.new("RGB", (8, 8), colour).save(path)
        files.append((sha256_file(path), path))
    return files


COLOURS = [(10 * i, 255 - 10 * i, 5 * i) for i in range(20)]


def test_rows_belong_to_their_images_in_any_order(tmp_path):
    files = paint(tmp_path, COLOURS)
    store = FeatureStore(tmp_path / "store", "f")
    encode_files(store, MeanColour(), files[:13])
    encode_files(store, MeanColour(), files)  # a second shard
    order = [17, 3, 3, 0, 12, 13]
    rows = FeatureStore(tmp_path / "store", "f").load([files[i][0] for i in order])
    assert_close(rows.activations, torch.tensor([COLOURS[i] for i in order]).float())


def test_an_image_is_encoded_once_however_often_it_comes(tmp_path):
    files = paint(tmp_path, [*COLOURS[:3], COLOURS[0]])
    store, encoder = FeatureStore(tmp_path / "store", "f"), MeanColour()
    encode_files(store, encoder, files)
    encode_files(store, encoder, files)
    assert encoder.encoded == 3  # the fourth is an exact copy of the first


def test_a_file_that_vanished_or_broke_stops_nothing_and_shifts_no_row(tmp_path):
    files = paint(tmp_path, COLOURS)
    files[5][1].unlink()
    files[7][1].write_bytes(b"not an image")
    store = FeatureStore(tmp_path / "store", "f")
    problems = encode_files(store, MeanColour(), files)
    assert [path.name for path, _ in problems] == ["5.png", "7.png"]
    assert store.missing([sha for sha, _ in files]) == [files[5][0], files[7][0]]
    kept = [i for i in range(20) if i not in (5, 7)]
    assert_close(store.load([files[i][0] for i in kept]).activations, torch.tensor([COLOURS[i] for i in kept]).float())


def test_a_cancelled_run_leaves_whole_shards_only(tmp_path):
    files = paint(tmp_path, COLOURS)
    store = FeatureStore(tmp_path / "store", "f")

    def cancel(done, total, message):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_files(store, MeanColour(), files, on_progress=cancel)
    assert len(store.missing([sha for sha, _ in files])) == 20
    assert encode_files(store, MeanColour(), files) == []
    assert store.missing([sha for sha, _ in files]) == []


def test_what_was_never_encoded_is_said_to_be_missing(tmp_path):
    store = FeatureStore(tmp_path / "store", "f")
    with pytest.raises(NotReady, match="1 of 1 images"):
        store.load(["ab" * 32])


def test_residuals_stay_with_their_rows(tmp_path):
    store = FeatureStore(tmp_path / "store", "f")
    shas = ["aa" * 32, "bb" * 32]
    store.append(shas, Features(torch.eye(2), torch.tensor([[1.0], [2.0]])))
    assert_close(store.load(shas[::-1]).residuals, torch.tensor([[2.0], [1.0]]))


def test_texts_are_encoded_once_and_come_back_in_order(tmp_path):
    store = FeatureStore(tmp_path / "store", "f-texts")
    encode_texts(store, MeanColour(), ["mug", "lamp"])
    encode_texts(store, MeanColour(), ["mug", "bottle", "bottle"])
    assert store.load_texts(["bottle", "lamp", "mug"]).activations[:, 0].tolist() == [6, 4, 3]
    assert len(list(store.folder.glob("*.safetensors"))) == 2
