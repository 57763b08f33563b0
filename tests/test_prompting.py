"""Prompts of a project weighed from answers, judged apart from them, adopted and given back."""

import pytest
import torch
from torch.testing import assert_close

from core import class_texts, cockpit, gaussians, prompting, rounds, workspace
from core.errors import InputError, NotReady
from core.projects import get_project
from core.prolip.prompts import PromptMethod, PromptWeights, equal_weights
from core.values import Features
from db import repository
from db.repository import NewLabel, Split
from tests.gaussian import ToyGaussians
from tests.toy import CLASSES

TEMPLATES = ("a photo of a {class}", "a {class}", "a small {class} in a large room")


@pytest.fixture
def encoder(monkeypatch) -> ToyGaussians:
    made = ToyGaussians()
    monkeypatch.setattr(gaussians, "gaussian_encoder", lambda name: made)
    return made


@pytest.fixture
def read(database, project, encoder) -> int:
    gaussians.encode_project(database, project, "toy-gaussians")
    return project


def answer(database, project: int, n: int) -> None:
    """The folder's classes as Ada's answers on the first n pool images."""
    with database.write() as s:
        person, truth = repository.person(s, "Ada"), repository.reference(s, project)
        ids = [each.id for each in repository.project(s, project).classes]
        items = repository.items(s, project, Split.POOL)[:n]
        events = [NewLabel(f"{n}:{i.id}", i.id, "answer", ids[truth[i.id]], source="csv") for i in items]
        assert all(each.accepted for each in repository.record(s, project, person, events))


# --- the pool as Gaussians ---------------------------------------------------------------------------------------


def test_a_project_is_encoded_once_with_its_progress(database, project, encoder):
    with database.read() as s:
        items = repository.items(s, project)
    assert gaussians.encoded(encoder, items) == ([], len(items))
    said = []
    gaussians.encode_project(database, project, "toy-gaussians", lambda *report: said.append(report))
    there, missing = gaussians.encoded(encoder, items)
    assert (there, missing) == (items, 0)
    assert said[-1][:2] == (len(items), len(items))
    found = gaussians.image_gaussians(encoder, items)
    assert len(found) == len(items)
    assert_close(gaussians.image_uncertainties(encoder, items), found.uncertainty)


def test_no_image_has_no_gaussian(encoder, database):
    assert len(gaussians.image_gaussians(encoder, [])) == 0
    assert len(gaussians.image_uncertainties(encoder, [])) == 0
    assert len(gaussians.text_gaussians(encoder, [])) == 0


def test_texts_are_read_once_ever_and_keep_their_order(database, encoder):
    texts = [f"text {i}" for i in range(150)] + ["text 3"]
    said = []
    first = gaussians.text_gaussians(encoder, texts, lambda *report: said.append(report[:2]))
    assert said == [(0, 150), (64, 150), (128, 150)]
    assert encoder.read == 150
    again = gaussians.text_gaussians(encoder, texts[::-1])
    assert encoder.read == 150
    assert_close(again.mean, first.mean.flip(0))
    assert_close(first.mean, encoder.text_gaussians(texts).mean)


def test_a_file_that_went_missing_becomes_a_problem(database, project, encoder, tmp_path):
    with database.read() as s:
        lost = repository.items(s, project)[0]
    (tmp_path / "images" / lost.path).unlink()
    gaussians.encode_project(database, project, "toy-gaussians")
    with database.read() as s:
        assert lost.path in [each.path for each in repository.problems(s, project)]


# --- weights and what they do ------------------------------------------------------------------------------------


def test_templates_are_checked_as_a_person_gives_them():
    assert prompting.checked_templates(["  a  {class} ", "", "a {class}"]) == ("a {class}",)
    for wrong in (["a dog"], [], [f"{i} {{class}}" for i in range(40)]):
        with pytest.raises(InputError):
            prompting.checked_templates(wrong)


def test_weights_come_from_answers_and_are_judged_on_other_images(database, read, encoder):
    project = get_project(database, read)
    nothing = prompting.answered(database, project, encoder)
    assert len(nothing) == 0
    prompts, equal = prompting.prompt_gaussians(project, encoder, TEMPLATES), equal_weights(CLASSES, TEMPLATES)
    with pytest.raises(InputError, match="answer"):
        prompting.weigh(nothing, prompts, equal, seed=0)
    answer(database, read, 30)
    shots = prompting.answered(database, project, encoder)
    assert len(shots) == sum(shots.by_class(len(CLASSES))) == 30
    weights = prompting.weigh(shots, prompts, equal, seed=0)
    assert weights.method == PromptMethod.BPRW
    assert_close(weights.weights.sum(dim=1), torch.ones(len(CLASSES), dtype=torch.float64))
    test = prompting.judged(database, project, encoder, Split.TEST, shots)
    assert not {each.sha256 for each in test.items} & {each.sha256 for each in shots.items}
    found = prompting.effect(project, encoder, weights, test)
    assert found.n == len(test) > 0
    assert 0 <= found.accuracy <= 1


def test_a_class_is_weighed_by_its_own_answers_alone_and_progress_is_said(database, read, encoder):
    project, said = get_project(database, read), []
    prompts, equal = prompting.prompt_gaussians(project, encoder, TEMPLATES), equal_weights(CLASSES, TEMPLATES)
    answer(database, read, 20)
    few = prompting.answered(database, project, encoder)
    some = prompting.weigh(few, prompts, equal, 0, lambda *report: said.append(report[:2]))
    assert said == [(c, len(CLASSES)) for c in range(len(CLASSES))]
    answer(database, read, 24)
    many = prompting.answered(database, project, encoder)
    same = [c for c in range(len(CLASSES)) if few.by_class(len(CLASSES))[c] == many.by_class(len(CLASSES))[c]]
    assert 0 < len(same) < len(CLASSES)
    assert_close(prompting.weigh(many, prompts, equal, 0).weights[same], some.weights[same])


def test_an_image_that_made_the_weights_does_not_judge_them(database, read, encoder):
    project = get_project(database, read)
    everything = prompting.judged(
        database, project, encoder, Split.TEST, prompting.answered(database, project, encoder)
    )
    apart = prompting.judged(database, project, encoder, Split.TEST, everything)
    assert len(everything) > 0 == len(apart)


def test_the_own_model_judges_one_prompt_as_its_round_did(database, read, encoder):
    project = get_project(database, read)
    test = prompting.judged(database, project, encoder, Split.TEST, prompting.answered(database, project, encoder))
    candidates = [prompting.single(project), equal_weights(CLASSES, TEMPLATES)]
    newest, found = prompting.own_effects(database, project, candidates, test)
    served = newest.metrics[newest.metrics["served"]]
    assert found[0].n == newest.metrics["n"]
    assert found[0].accuracy == pytest.approx(served["accuracy"])
    assert found[0].nlpd == pytest.approx(served["nlpd"], rel=1e-5)


# --- blended texts -----------------------------------------------------------------------------------------------


def test_a_linear_head_makes_of_the_blend_the_weighted_mean_of_what_it_makes_of_the_texts():
    rng = torch.Generator().manual_seed(0)
    C, T, p, D = 3, 4, 5, 2
    features = Features(torch.randn(C * T, p, generator=rng).double(), torch.randn(C * T, D, generator=rng).double())
    weights = torch.rand(C, T, generator=rng).double()
    weights /= weights.sum(dim=1, keepdim=True)
    head = torch.randn(D, p, generator=rng).double()
    slow = torch.stack(
        [sum(weights[c, t] * features[c * T + t : c * T + t + 1].embed(head)[0] for t in range(T)) for c in range(C)]
    )
    assert_close(class_texts.blend(features, weights).embed(head), slow)


def test_one_prompt_is_left_as_it_is():
    features = Features(torch.randn(3, 5))
    assert class_texts.blend(features, torch.ones(3, 1)) is features


def test_weights_of_another_size_are_refused():
    with pytest.raises(InputError, match="adopt"):
        class_texts.blend(Features(torch.randn(6, 5)), torch.ones(2, 2))


# --- adopted -----------------------------------------------------------------------------------------------------


def adopted_weights() -> PromptWeights:
    rows = torch.full((len(CLASSES), len(TEMPLATES)), 0.25, dtype=torch.float64)
    rows[:, 0] = 0.5
    return PromptWeights(CLASSES, TEMPLATES, rows, PromptMethod.BPRW)


def test_adopted_prompts_are_said_from_the_next_round_on(database, project):
    before = get_project(database, project)
    old = workspace.workspace(database, project)
    prompting.adopt(database, project, adopted_weights(), encoder="toy-gaussians", images=30)
    row = get_project(database, project)
    assert class_texts.templates(row) == TEMPLATES
    assert len(class_texts.prompts(row)) == len(CLASSES) * len(TEMPLATES)
    assert class_texts.changed(row, old.round)
    assert_close(workspace.workspace(database, project).texts.activations, old.texts.activations)
    made = rounds.run_round(database, project)
    assert not class_texts.changed(row, made)
    new = workspace.workspace(database, project).texts.activations
    encoded = rounds.encoder_for("toy").encode_texts(class_texts.prompts(row)).activations
    slow = [sum(w * encoded[3 * c + t] for t, w in enumerate((0.5, 0.25, 0.25))) for c in range(len(CLASSES))]
    assert_close(new, torch.stack(slow))
    assert made.settings["prompts"]["encoder"] == "toy-gaussians"
    assert before.prompt_weights is None


def test_a_round_keeps_its_texts_after_the_way_back(database, project):
    prompting.adopt(database, project, adopted_weights(), encoder="toy-gaussians", images=30)
    rounds.run_round(database, project)
    with database.read() as s:
        made = repository.latest_round(s, project)
    said = cockpit.judged(made, cockpit.measured(database, project, made.fingerprint))
    prompting.back_to_single(database, project)
    row = get_project(database, project)
    assert row.prompt_weights is None
    assert class_texts.templates(row) == (row.prompt,)
    assert_close(cockpit.judged(made, cockpit.measured(database, project, made.fingerprint)).density, said.density)
    with database.read() as s:
        assert class_texts.changed(row, repository.latest_round(s, project))


def test_a_class_that_came_later_weighs_its_prompts_alike(database, project):
    known = adopted_weights()
    part = PromptWeights(CLASSES[:-1], TEMPLATES, known.weights[:-1], PromptMethod.BPRW)
    with pytest.raises(InputError, match="classes have changed"):
        prompting.adopt(database, project, part, encoder="toy-gaussians", images=3)
    with database.write() as s:
        repository.set_prompt_weights(s, project, part.to_json())
    found = class_texts.weights(get_project(database, project))
    assert_close(found[-1], torch.full((3,), 1 / 3, dtype=torch.float64))
    assert_close(found[:-1], part.weights)


def test_texts_of_another_model_are_not_mixed_in(database, project, monkeypatch):
    class Other:
        fingerprint = "other"

    prompting.adopt(database, project, adopted_weights(), encoder="toy-gaussians", images=30)
    monkeypatch.setattr(rounds, "encoder_for", lambda model: Other())
    with pytest.raises(NotReady, match="not the model any more"):
        rounds.run_round(database, project)
