"""The product's claims on real images: mini, its posterior and EPIG on PACS (needs the developers' folder)."""

import pytest
import torch

from core.choice import MAP, POSTERIOR
from core.finetune import Labelled
from core.learning import LearningConfig, learn, served_metrics
from core.ranking import make_ranker
from core.simulation.curve import SimulationConfig
from core.simulation.images import load_images
from core.simulation.parallel import Task, curves
from core.simulation.summary import table


@pytest.fixture(scope="module")
def images(pacs_home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENUMBRA_HOME", str(pacs_home))
        return load_images(pacs_home / "images", target="sketch")


def of_domain(images, domain, every=1):
    rows = [i for i, each in enumerate(images.domains) if each == domain][::every]
    return Labelled(images.features[rows], images.labels[rows])


@pytest.mark.parametrize(("domain", "least"), [("photo", 0.80), ("art_painting", 0.42)])
def test_mini_names_photos_and_paintings_without_any_label(images, domain, least):
    metrics = served_metrics(images.pretrained, images.texts, of_domain(images, domain), MAP, 15)
    print(f"\nzero-shot {domain}: {metrics.accuracy:.3f} of {metrics.n}")
    assert metrics.accuracy >= least


def test_the_posterior_is_better_calibrated_than_map_on_sketches(images):
    """τ from one half of the sketches, both measured on the other half."""
    sketches = of_domain(images, "sketch")
    tuning, test = (Labelled(sketches.features[i::2], sketches.labels[i::2]) for i in (0, 1))
    learned = learn(images.pretrained, images.texts, None, tuning, rng=None)
    bayes, plain = (served_metrics(learned.posterior, images.texts, test, kind, 15) for kind in (POSTERIOR, MAP))
    print(f"\nsketch, {test.labels.numel()} images: NLPD {bayes.nlpd:.3f} against MAP {plain.nlpd:.3f}, ", end="")
    print(f"ECE {bayes.ece:.3f} against MAP {plain.ece:.3f}")
    assert bayes.nlpd < plain.nlpd
    assert bayes.ece < plain.ece


@pytest.mark.parametrize("domain", ["photo", "sketch"])
def test_answers_alone_choose_a_better_predictive_than_the_default(images, domain):
    """30 answers that EPIG asked for, no validation label; both measured on the domain's other images."""
    inside = [i for i, each in enumerate(images.domains) if each == domain]
    pool, test = inside[::2], inside[1::2]
    towards = images.features[pool[:200]]
    picked = make_ranker("epig", images.pretrained, images.features[pool], towards, images.texts, rng=None).pick(30)
    answers = Labelled(images.features[pool][picked], images.labels[pool][picked])
    figures = {}
    for folds in (0, 5):
        rng, config = torch.Generator().manual_seed(0), LearningConfig(folds=folds)
        learned = learn(images.pretrained, images.texts, answers, None, rng=rng, config=config)
        judged = Labelled(images.features[test], images.labels[test])
        figures[folds] = served_metrics(learned.posterior, images.texts, judged, learned.served, 15)
        print(
            f"\n{domain}, by {learned.choice.by}: NLPD {figures[folds].nlpd:.3f}, ECE {figures[folds].ece:.3f}", end=""
        )
    assert figures[5].nlpd < figures[0].nlpd
    assert figures[5].ece < figures[0].ece


def test_epig_learns_sketches_faster_than_random(images):
    """Test accuracy averaged over 7 rounds of 10 answers, 3 seeds: at least 0.15 above random."""
    tasks = [Task(name, seed) for name in ("random", "epig") for seed in range(3)]
    points = [point for _, curve in curves(images, "sketch", tasks, SimulationConfig()) for point in curve]
    epig, random = table(points)
    for row in (epig, random):
        print(f"\n{row.strategy:8} {row.average:.3f}, to {random.final:.2f} after {row.labels_to_level} labels", end="")
    print(f"\ndifference {epig.difference:.3f} [{epig.low:.3f}, {epig.high:.3f}]")
    assert (epig.strategy, random.strategy) == ("epig", "random")
    assert epig.average >= random.average + 0.15
