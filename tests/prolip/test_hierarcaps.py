"""Precision and recall of walks, counted by hand."""

import pytest
import torch
from torch.testing import assert_close

from core.errors import InputError
from core.prolip.hierarcaps import evaluate, retrieved
from core.prolip.traversal import walk
from core.values import ProlipEmbeddings
from tests.prolip.gaussians import random_gaussians

CHAIN = ("dog", "brown dog", "brown dog on grass", "a brown dog sits on the wet grass")


@pytest.mark.parametrize(
    ("found", "precision", "levels"),
    [
        (CHAIN, 1.0, (1, 1, 1, 1)),
        ((), 0.0, (0, 0, 0, 0)),
        (("dog", "cat", "red cat", "dog"), 1 / 3, (1, 0, 0, 0)),
        (("brown dog", CHAIN[3], "horse", "cow"), 0.5, (0, 1, 0, 1)),
    ],
)
def test_precision_counts_passed_captions_and_recall_levels(found, precision, levels):
    score = retrieved(found, [CHAIN])
    assert score.precision == pytest.approx(precision)
    assert score.levels == tuple(map(bool, levels))
    assert score.recall == pytest.approx(sum(levels) / 4)


def test_any_of_several_chains_counts():
    other = ("animal", "pet", "pet on grass", "someone's pet on grass")
    score = retrieved(("animal", "dog", "pet on grass", "car"), [CHAIN, other])
    assert score.precision == pytest.approx(3 / 4)
    assert score.levels == (True, False, True, False)


def test_chains_that_do_not_fit_each_other_are_refused():
    for chains in ([], [()], [CHAIN, CHAIN[:3]]):
        with pytest.raises(InputError, match="same number of levels"):
            retrieved(CHAIN, chains)


def test_evaluation_is_the_mean_over_images_of_their_walks():
    images, captions, root = random_gaussians(5), random_gaussians(20, seed=1), random_gaussians(1, seed=2).mean[0]
    texts = [f"caption {j % 13}" for j in range(20)]  # some of them twice
    chains = [[texts[4 * i : 4 * i + 4]] for i in range(5)]
    scores = evaluate(images, captions, texts, chains, root, steps=11)
    walks = walk(images, captions, root, steps=11)
    words = [{texts[j] for j in row.tolist()} for row in walks]
    precision = [len(words[i] & set(chains[i][0])) / len(words[i]) for i in range(5)]
    recall = [sum(caption in words[i] for caption in chains[i][0]) / 4 for i in range(5)]
    assert scores.precision == pytest.approx(sum(precision) / 5)
    assert scores.recall == pytest.approx(sum(recall) / 5) == pytest.approx(sum(scores.levels) / 4)
    assert scores.passed == pytest.approx(sum(map(len, words)) / 5)
    assert scores.n == 5


def test_an_image_whose_captions_lie_on_its_way_recalls_them_all():
    root, image = torch.eye(6, dtype=torch.float64)[:2]
    angles = torch.tensor([1.4, 1.0, 0.6, 0.1], dtype=torch.float64)[:, None]  # from the image: general first
    own = angles.cos() * image + angles.sin() * root
    mean = torch.cat([own, torch.eye(6, dtype=torch.float64)[2:]])
    captions = ProlipEmbeddings(mean, torch.zeros_like(mean))
    texts = [*CHAIN, "a", "b", "c", "d"]
    scores = evaluate(ProlipEmbeddings(image[None], image[None] * 0), captions, texts, [[CHAIN]], root)
    assert (scores.precision, scores.recall) == (1.0, 1.0)
    assert_close(torch.tensor(scores.levels), torch.ones(4))


def test_numbers_that_do_not_fit_are_refused():
    images, captions = random_gaussians(2), random_gaussians(4)
    with pytest.raises(InputError, match="2 images with 1 chains and 4 captions with 4 texts"):
        evaluate(images, captions, list("abcd"), [[CHAIN]], captions.mean[0])
    with pytest.raises(InputError, match="0 images"):
        evaluate(images[:0], captions, list("abcd"), [], captions.mean[0])
