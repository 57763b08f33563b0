"""Search by words and by an image: the project's own encoder, the model's own heads."""

from pathlib import Path

import pytest
import torch

from core import atlas, search
from core.errors import InputError, NotReady, UnreadableImage
from db import repository
from tests.toy import ToyEncoder

pytestmark = pytest.mark.one_database


@pytest.fixture
def scene(database, project):
    with database.read() as s:
        return repository.project(s, project), repository.latest_round(s, project), repository.items(s, project)


def test_an_image_finds_itself(database, scene):
    project, newest, items = scene
    found = atlas.load(atlas.build(database, project.id))
    direction = search.by_image(project, newest, Path(project.root) / items[7].path)
    similar = search.similarity(found.units(), direction)
    assert int(similar.argmax()) == 7
    assert float(similar[7]) == pytest.approx(1, abs=2e-3)


def test_words_point_where_the_text_head_says(scene):
    project, newest, _ = scene
    encoder = ToyEncoder()
    embedded = encoder.encode_texts(["a red cup"]).embed(encoder.heads.text)
    torch.testing.assert_close(
        search.by_words(project, newest, " a red cup "), torch.nn.functional.normalize(embedded)[0]
    )


@pytest.mark.parametrize("words", ["", "   ", "x" * 1001])
def test_no_words_and_too_many_are_refused(scene, words):
    project, newest, _ = scene
    with pytest.raises(InputError, match="1 to 1000"):
        search.by_words(project, newest, words)


def test_what_is_no_image_is_refused(scene, tmp_path):
    project, newest, _ = scene
    (tmp_path / "no.jpg").write_text("<svg>")
    with pytest.raises(UnreadableImage):
        search.by_image(project, newest, tmp_path / "no.jpg")


def test_another_encoder_is_refused(scene, monkeypatch):
    project, newest, _ = scene
    monkeypatch.setattr(ToyEncoder, "fingerprint", "another")
    with pytest.raises(NotReady, match="encoder has changed"):
        search.by_words(project, newest, "cup")
