"""The rounds' figures on images are those that the rounds stored, and the advice follows its rule."""

import pytest
import torch

from core import cockpit, workspace
from core.acquisition.table import Acquisition
from core.choice import predict
from core.cockpit import Step, advice
from core.config import home
from core.figures import METRICS, SEED
from core.metrics import evaluate
from core.posterior.laplace import Posterior
from db import repository
from tests.test_history import learn_twice, rows_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def learned(database, project):
    learn_twice(database, project)
    return project


@pytest.fixture
def on(database, learned):
    return cockpit.measured(database, learned, "toy")


def test_figures_of_all_images_are_those_that_the_round_stored(database, learned, on):
    for row in rows_of(database, learned):
        for kind in ("posterior", "map"):
            found = cockpit.spread_of(row, on, on.rows(), row.metrics["bins"], kind)
            for metric in METRICS:
                assert found.value(metric) == pytest.approx(row.metrics[kind][metric], abs=1e-6)


def test_figures_of_a_class_are_those_of_its_images(database, learned, on):
    row = rows_of(database, learned)[-1]
    label = on.labels[0]
    images = on.rows(label=label)
    assert images == tuple(i for i, each in enumerate(on.labels) if each == label)
    space = workspace.workspace(database, learned, of=[on.items[i] for i in images])
    said = predict(space.posterior, space.features[:], space.texts, row.metrics["served"]).argmax(dim=1).tolist()
    share = sum(each == label for each in said) / len(said)
    assert cockpit.spread_of(row, on, images, 15).value("accuracy") == pytest.approx(share)
    assert on.rows(domain="nowhere") == ()


def test_a_model_is_asked_once_for_its_images(database, learned, on, monkeypatch):
    row = rows_of(database, learned)[-1]
    first = cockpit.judged(row, on)
    monkeypatch.setattr(cockpit, "predict", None)
    again = cockpit.judged(row, cockpit.measured(database, learned, "toy"))
    assert again is first


def test_a_step_is_the_paired_difference_over_the_same_draws(database, learned, on):
    """Images drawn one by one, both rounds measured on each draw."""
    rows = rows_of(database, learned)
    found = cockpit.step(rows[1], rows[2], on, on.rows(), 5)
    features = workspace.feature_store("toy").load([item.sha256 for item in on.items])
    texts, labels = workspace.class_texts(on.project, "toy"), torch.tensor(on.labels)
    probs = []
    for row in rows[1:]:
        posterior = Posterior.load(home() / row.checkpoint)
        probs.append(predict(posterior, features, texts, row.metrics["served"]))
    draws = torch.randint(len(labels), (500, len(labels)), generator=torch.Generator().manual_seed(SEED))
    differences = []
    for drawn in draws:
        before, after = (evaluate(each[drawn], labels[drawn], 5) for each in probs)
        differences.append(after.nlpd - before.nlpd)
    low, high = torch.tensor(differences, dtype=torch.float64).quantile(torch.tensor([0.025, 0.975]).double()).tolist()
    assert found.interval["nlpd"] == pytest.approx((low, high), abs=1e-6)
    assert found.shows("nlpd") == (not low <= 0 <= high)


def test_answers_leave_less_to_learn_of_the_same_images(database, learned):
    first, *_, last = rows_of(database, learned)
    start, now = (cockpit.left_to_learn(database, row, tau=10.0) for row in (first, last))
    assert (start.images, start.targets, start.tau) == (now.images, now.targets, now.tau)
    assert (start.unanswered, now.unanswered) == (start.images, start.images - 20)
    assert 0 <= now.mean < start.mean
    assert now.mean <= now.best
    assert cockpit.left_to_learn(database, last, tau=10.0) == now


def test_left_to_learn_is_what_the_ranking_puts_first(database, learned):
    """Where all is drawn, and at the model's own τ, the best score left is that of the next image to label."""
    last = rows_of(database, learned)[-1]
    space = workspace.workspace(database, learned)
    ranker = workspace.ranker_of(space, Acquisition.EPIG)
    with database.read() as s:
        answered = repository.answers(s, learned).keys()
    ranker.condition([i for i, item in enumerate(space.pool) if item.id in answered])
    (pick,) = ranker.take(1, [i for i, item in enumerate(space.pool) if item.id in answered])
    found = cockpit.left_to_learn(database, last, tau=space.posterior.image.tau)
    assert found.best == pytest.approx(pick.score, rel=1e-4)


def change(low: float, high: float) -> Step:
    return Step(3, dict.fromkeys(METRICS, (low + high) / 2), dict.fromkeys(METRICS, (low, high)))


@pytest.mark.parametrize(
    ("moved", "share", "unanswered", "n", "stop", "because"),
    [
        (None, None, 0, 300, True, "every pool image that was looked at is answered"),
        (change(-0.1, 0.1), 0.04, 9, 300, True, "moved neither accuracy nor NLPD"),
        (change(-0.1, 0.1), 0.04, 9, 60, True, "label more test images"),
        (change(-0.1, 0.1), 0.5, 9, 300, False, "The first holds"),
        (change(0.01, 0.1), 0.04, 9, 300, False, "The second holds"),
        (change(0.01, 0.1), 0.5, 9, 300, False, "Neither holds"),
        (None, 0.04, 9, 300, False, "The second holds"),
        (change(-0.1, 0.1), None, 9, 300, False, "The first holds"),
    ],
)
def test_the_advice_follows_its_rule(moved, share, unanswered, n, stop, because):
    found, why = advice(moved, share, unanswered, n)
    assert found == stop
    assert because in why


def test_a_step_without_an_interval_shows_nothing():
    undefined = Step(1, dict.fromkeys(METRICS), dict.fromkeys(METRICS))
    assert not undefined.shows("balanced_accuracy")
