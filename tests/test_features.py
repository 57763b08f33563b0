"""Axes: n images · p activations."""

from dataclasses import replace

import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from core import features as feature_store
from core.errors import ModelError, NotReady
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


class ShortOfMemory(MeanColour):
    """Its device holds `most` images, and fewer while `busy` others use it."""

    def __init__(self, most, busy=lambda encoded: 0):
        super().__init__()
        self.most, self.busy, self.refused = most, busy, 0

    def encode_images(self, pixels):
        if len(pixels) > self.most - self.busy(self.encoded):
            self.refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        features = super().encode_images(pixels)
        return Features(features.activations, features.activations.flip(1))


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


def test_a_file_whose_content_changed_is_not_stored_under_the_old_hash(tmp_path):
    files = paint(tmp_path, COLOURS[:3])
    Image.new("RGB", (8, 8), (1, 2, 3)).save(files[1][1])
    store = FeatureStore(tmp_path / "store", "f")
    [(path, reason)] = encode_files(store, MeanColour(), files)
    assert path == files[1][1]
    assert "changed" in reason
    assert store.missing([sha for sha, _ in files]) == [files[1][0]]


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


def test_an_encoders_own_log_variance_stays_with_its_rows(tmp_path):
    shas, features, parts = many(100, shards=3)
    features = replace(features, log_variance=features.activations[:, :3] - 5)
    store = FeatureStore(tmp_path, "f")
    for part in parts:
        store.append(shas[part], features[part])
    order = [70, 3, 3, 99, 0, 40]
    rows = FeatureStore(tmp_path, "f").load([shas[i] for i in order], torch.float64)
    assert_close(rows.log_variance, features.log_variance[order].double())
    chunks = store.iter_chunks(shas, rows=17)
    assert_close(torch.cat([chunk.log_variance for chunk in chunks]), features.log_variance)
    assert store.holds("log_variance")


def test_a_shard_without_an_own_log_variance_is_read_as_before(tmp_path):
    shas, features, _ = many(10, shards=1)
    store = FeatureStore(tmp_path, "f")
    assert not store.holds("residuals")
    store.append(shas, features)
    assert store.load(shas).log_variance is None
    assert store.holds("residuals")
    assert not store.holds("log_variance")


def test_texts_are_encoded_once_and_come_back_in_order(tmp_path):
    store = FeatureStore(tmp_path / "store", "f-texts")
    encode_texts(store, MeanColour(), ["mug", "lamp"])
    encode_texts(store, MeanColour(), ["mug", "bottle", "bottle"])
    assert store.load_texts(["bottle", "lamp", "mug"]).activations[:, 0].tolist() == [6, 4, 3]
    assert len(list(store.folder.glob("*.safetensors"))) == 2


@pytest.mark.parametrize(
    "encoder",
    [ShortOfMemory(1), ShortOfMemory(5), ShortOfMemory(9, busy=lambda encoded: 6 if encoded > 8 else 0)],
    ids=["one fits", "five fit", "another takes memory later"],
)
def test_a_full_memory_halves_the_batch_and_loses_and_shifts_nothing(tmp_path, encoder):
    files = paint(tmp_path, COLOURS)
    files[5][1].write_bytes(b"not an image")
    store, seen = FeatureStore(tmp_path / "store", "f"), []
    problems = encode_files(store, encoder, files, on_progress=lambda done, total, _: seen.append((done, total)))
    assert [path.name for path, _ in problems] == ["5.png"]
    kept = [i for i in range(20) if i != 5]
    rows = store.load([files[i][0] for i in kept])
    expected = torch.tensor([COLOURS[i] for i in kept]).float()
    assert_close(rows.activations, expected)
    assert_close(rows.residuals, expected.flip(1))
    assert encoder.encoded == 19
    assert 0 < encoder.refused < 6
    assert seen[-1] == (20, 20)


def test_where_not_one_image_fits_the_run_ends_and_says_so(tmp_path):
    with pytest.raises(ModelError, match="one image"):
        encode_files(FeatureStore(tmp_path / "store", "f"), ShortOfMemory(0), paint(tmp_path, COLOURS[:3]))


def test_no_more_images_are_decoded_ahead_than_two_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("core.encoding.starting_batch", lambda device, pixel_bytes: 2)
    decoded, ahead = [], []

    class Counting(MeanColour):
        def preprocess(self, image):
            decoded.append(image)
            return super().preprocess(image)

        def encode_images(self, pixels):
            ahead.append(len(decoded) - 1 - self.encoded)  # the first one only told the size
            return super().encode_images(pixels)

    encode_files(FeatureStore(tmp_path / "store", "f"), Counting(), paint(tmp_path, COLOURS), workers=3)
    assert max(ahead) <= 2 * 2 + 2


def test_shards_are_written_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(feature_store, "SHARD", 6)
    monkeypatch.setattr("core.encoding.starting_batch", lambda device, pixel_bytes: 4)
    files, store = paint(tmp_path, COLOURS), FeatureStore(tmp_path / "store", "f")

    def cancel(done, total, message):
        if done > 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_files(store, MeanColour(), files, on_progress=cancel)
    assert len(store.missing([sha for sha, _ in files])) == 12  # a shard of 8 is kept
    encode_files(store, MeanColour(), files)
    assert_close(store.load([sha for sha, _ in files]).activations, torch.tensor(COLOURS).float())


def many(n, p=5, *, shards, seed=0, residuals=True):
    """`n` random rows under random digests, and the same in a dictionary."""
    rng = torch.Generator().manual_seed(seed)
    shas = [bytes(row).hex() for row in torch.randint(0, 256, (n, 32), generator=rng, dtype=torch.uint8).tolist()]
    rows = torch.randn(n, p, generator=rng)
    parts = [slice(i * n // shards, (i + 1) * n // shards) for i in range(shards)]
    return shas, Features(rows, rows[:, :2] * 3 if residuals else None), parts


def test_any_rows_of_many_shards_come_in_the_order_asked_for(tmp_path):
    shas, features, parts = many(500, shards=7)
    store = FeatureStore(tmp_path, "f")
    for part in parts:
        store.append(shas[part], features[part])
        assert store.missing(shas) == shas[part.stop :]  # found while the store grows
    wanted = torch.randint(0, 500, (800,), generator=torch.Generator().manual_seed(1))
    found = FeatureStore(tmp_path, "f").load([shas[i] for i in wanted])
    assert torch.equal(found.activations, features.activations[wanted])
    assert torch.equal(found.residuals, features.residuals[wanted])


@pytest.mark.parametrize("end", ["00", "0000", "61"])
def test_digests_that_differ_in_their_last_byte_alone_are_told_apart(tmp_path, end):
    """Also those that end in zeros, which numpy's strings would drop."""
    store = FeatureStore(tmp_path, "f")
    shas = ["ab" * (32 - len(end) // 2) + end, "ab" * 31 + "01", "00" * 32]
    store.append(shas, Features(torch.eye(3)))
    assert torch.equal(store.load(shas[::-1]).activations, torch.eye(3).flip(0))
    assert store.missing(["ab" * 31 + "02"]) == ["ab" * 31 + "02"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, None])
def test_rows_load_as_the_type_asked_for(tmp_path, dtype):
    shas, features, parts = many(50, shards=3)
    store = FeatureStore(tmp_path, "f")
    for part in parts:
        store.append(shas[part], features[part])
    found = store.load(shas, dtype)
    assert torch.equal(found.activations, features.activations.to(dtype or torch.float32))
    assert found.residuals.dtype == (dtype or torch.float32)


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
def test_chunks_are_the_whole_in_parts(tmp_path, rows):
    shas, features, parts = many(50, shards=3, residuals=False)
    store = FeatureStore(tmp_path, "f")
    for part in parts:
        store.append(shas[part], features[part])
    found = list(store.iter_chunks(shas[::-1], rows))
    assert {len(chunk) for chunk in found[:-1]} <= {rows}
    assert torch.equal(Features.cat(found).activations, features.activations.flip(0))
