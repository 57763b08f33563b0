"""A model that leaves: it loads back to the same probabilities, also by plain open_clip, and its card says what it is.

Axes: N images · C classes.
"""

import json
from dataclasses import replace

import open_clip
import pytest
import torch
from torch.testing import assert_close

from core import model_export, projects, rounds
from core.choice import MAP, predict
from core.cli import main
from core.encoders import loading
from core.errors import InputError, ModelError, NotReady, UnknownName
from core.model_export import export_model, load_model
from core.posterior.laplace import Posterior
from core.projects import get_project
from core.values import KroneckerFactors
from core.workspace import class_texts, feature_store, home, rounds_of
from db import repository
from db.repository import Split
from tests import toy
from tests.encoders.test_loading import tiny, write_model
from tests.test_rounds import answer

pytestmark = pytest.mark.one_database


def factors(model, encoder):
    """Any curvature."""
    sizes = [(head.shape[1], head.shape[0]) for head in (encoder.heads.image, encoder.heads.text)]
    return tuple(KroneckerFactors(torch.eye(p), torch.eye(D), 100) for p, D in sizes)


@pytest.fixture
def learned(database, tmp_path, monkeypatch):
    """A project on a tiny open_clip model with random weights, after a round."""
    write_model(tmp_path / "base", tiny())
    for number in range(36):
        toy.draw(tmp_path / "images", number, side=32)
    monkeypatch.setattr(rounds, "factors_for", factors)
    monkeypatch.setattr(loading, "_reachable", lambda endpoint: False)  # the hub is not waited for
    rounds.encoder_for.cache_clear()
    project = projects.create_from_folder(
        database, name="tiny", folder=tmp_path / "images", model=f"local-dir:{tmp_path / 'base'}", classes=toy.CLASSES
    )
    rounds.prepare(database, project)
    with database.read() as s:
        pool = [item.id for item in repository.items(s, project, Split.POOL)]
    answer(database, project, pool[:15])
    rounds.run_round(database, project)
    yield project
    rounds.encoder_for.cache_clear()


def encoded(database, project):
    """(sha256 of each image, features [N, p])."""
    with database.read() as s:
        shas = [item.sha256 for item in repository.items(s, project)]
    return feature_store(rounds_of(database, project)[-1].fingerprint).load(shas)


def test_it_loads_back_to_the_same_probabilities(database, learned, tmp_path):
    card = export_model(database, learned, tmp_path / "out")
    row, images = rounds_of(database, learned)[-1], encoded(database, learned)
    posterior = Posterior.load(home() / row.checkpoint)
    texts = class_texts(get_project(database, learned), row.fingerprint)
    exported = load_model(tmp_path / "out")
    assert exported.classes == toy.CLASSES
    for served in ("posterior", MAP):
        one = replace(exported, card=exported.card | {"served": served})
        assert_close(one.predict(images), predict(posterior, images, texts, served), atol=1e-6, rtol=0)
    assert card == exported.card
    assert card["served"] == row.metrics["served"]


def test_plain_open_clip_loads_the_learned_heads(database, learned, tmp_path):
    export_model(database, learned, tmp_path / "out")
    model = open_clip.create_model(f"local-dir:{tmp_path / 'out' / 'open_clip'}", require_pretrained=True).eval()
    tokenize = open_clip.get_tokenizer(f"local-dir:{tmp_path / 'out' / 'open_clip'}")
    encoder = rounds.encoder_for(get_project(database, learned).model)
    with database.read() as s:
        paths = [item.path for item in repository.items(s, learned)]
    pixels = torch.stack([encoder.preprocess(toy.Image.open(tmp_path / "images" / path)) for path in paths])
    texts = load_model(tmp_path / "out").card["prompts"]["texts"]
    with torch.no_grad():
        images, words = model.encode_image(pixels, True), model.encode_text(tokenize(texts), True)
        probabilities = (model.logit_scale.exp() * images @ words.T).softmax(dim=1)
    exported = load_model(tmp_path / "out")
    expected = predict(exported.posterior, encoded(database, learned), exported.texts, MAP)
    assert_close(probabilities, expected, atol=1e-5, rtol=0)
    before = predict(Posterior.load(home() / rounds_of(database, learned)[0].checkpoint), encoded(database, learned),
                     exported.texts, MAP)  # fmt: skip
    assert (expected - before).abs().max() > 1e-3, "the round learned nothing, so nothing was shown"


def test_the_card_says_what_it_is_and_how_it_was_measured(database, learned, tmp_path):
    card = export_model(database, learned, tmp_path / "out")
    row = rounds_of(database, learned)[-1]
    assert card["classes"] == list(toy.CLASSES)
    assert card["prompts"]["texts"][0] == "a photo of a apple"
    assert card["base_model"]["fingerprint"] == row.fingerprint
    assert card["learned_from"] == {"answers": 15, "people": 1, "label_watermark": row.label_watermark}
    assert {"split", "bins", "n", "posterior", "map"} <= card["metrics"].keys()
    assert card["seed"] == row.seed
    written = sorted(
        str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert written == sorted(["CARD.md", "card.json", *card["files"]])
    sheet = (tmp_path / "out" / "CARD.md").read_text()
    assert f"{row.metrics['n']} images of the test split, 15 bins, seed {row.seed}" in sheet
    assert f"| accuracy | {row.metrics[row.metrics['served']]['accuracy']:.4f} |" in sheet


def test_an_older_round_is_written_by_its_number(database, learned, tmp_path):
    card = export_model(database, learned, tmp_path / "out", number=0)
    assert (card["round"], card["learned_from"]["answers"]) == (0, 0)
    with pytest.raises(UnknownName, match="no round 7: there are 2"):
        export_model(database, learned, tmp_path / "other", number=7)


@pytest.fixture
def light(database, project, monkeypatch):
    """A project whose base model is none of open_clip's."""

    def refuse(*_):
        raise ModelError("it is a toy")

    monkeypatch.setattr(model_export, "write_merged", refuse)
    return project


def test_a_base_model_that_open_clip_lacks_is_left_out_and_said(database, light, tmp_path):
    card = export_model(database, light, tmp_path / "out")
    assert card["open_clip"] == {"folder": None, "why": "it is a toy"}
    assert not (tmp_path / "out" / "open_clip").exists()
    assert load_model(tmp_path / "out").predict(encoded(database, light)).shape == (96, 12)
    assert "left out: it is a toy" in (tmp_path / "out" / "CARD.md").read_text()


def test_nothing_is_written_over_and_what_is_gone_is_said(database, light, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(InputError, match="holds something already"):
        export_model(database, light, tmp_path / "full")
    (home() / rounds_of(database, light)[-1].checkpoint).unlink()
    with pytest.raises(NotReady, match="is gone"):
        export_model(database, light, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_was_changed_is_not_loaded(database, light, tmp_path):
    export_model(database, light, tmp_path / "out")
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    (tmp_path / "out" / "texts.safetensors").write_bytes(b"other")
    with pytest.raises(InputError, match="not the file that the card names"):
        load_model(tmp_path / "out")
    card.pop("files")
    (tmp_path / "out" / "card.json").write_text(json.dumps(card))
    for folder in (tmp_path / "out", tmp_path / "nothing"):
        with pytest.raises(InputError, match="holds no exported model"):
            load_model(folder)


def test_hostile_names_are_only_shown(database, light, tmp_path):
    with database.write() as s:
        first = repository.project(s, light).classes[0]
        repository.rename_class(s, light, repository.person(s, "Ada"), first.id, "<b>`| # *x*")
    rounds.read_texts(get_project(database, light), "toy", projects.prompts(get_project(database, light)))
    card = export_model(database, light, tmp_path / "out")
    assert card["classes"][0] == "<b>`| # *x*"
    assert "\\<b\\>\\`\\| \\# \\*x\\*" in (tmp_path / "out" / "CARD.md").read_text()


def test_the_command_writes_it(database, light, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PENUMBRA_DATABASE_URL", database.url)
    name = get_project(database, light).name
    assert main(["model", "--project", name, "--out", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["folder"] == str(tmp_path / "out")
    assert load_model(said["folder"]).card["project"] == name
    assert main(["model", "--project", name, "--out", str(tmp_path / "out")]) == 2
