"""The way from an image to [ROOT]: runs of one caption once, all steps counted, the root last."""

import torch
from torch.nn.functional import normalize

from core.prolip.traversal import STEPS, most_inclusive, traverse
from core.values import ProlipEmbeddings
from pages.parts.walking import Root, way


def some(n: int, seed: int, d: int = 6) -> ProlipEmbeddings:
    rng = torch.Generator().manual_seed(seed)
    mean = normalize(torch.randn(n, d, generator=rng), dim=1)
    return ProlipEmbeddings(mean, torch.randn(n, d, generator=rng) / 3 - 4)


IMAGE, CAPTIONS, EMPTY = some(1, 0), some(30, 1), some(1, 2)
TEXTS = [f"text {i}" for i in range(30)]


def test_it_passes_what_the_traversal_passes_and_ends_at_the_empty_text():
    stops = way(IMAGE, CAPTIONS, TEXTS, Root.EMPTY, EMPTY)
    assert [stop.text for stop in stops[:-1]] == [TEXTS[i] for i in traverse(IMAGE, CAPTIONS, EMPTY.mean[0])]
    assert stops[-1].text == "[ROOT] empty text"
    assert sum(stop.steps for stop in stops) == STEPS
    assert stops[-1].steps == 0


def test_the_inclusive_root_is_the_caption_that_covers_the_image_most():
    best = int(most_inclusive(IMAGE, CAPTIONS)[0])
    last = way(IMAGE, CAPTIONS, TEXTS, Root.INCLUSIVE, EMPTY)[-1]
    assert last.text == f"[ROOT] {TEXTS[best]}"
    assert last.uncertainty == float(CAPTIONS[best].uncertainty[0])


def test_one_caption_is_the_whole_way():
    (only, _root) = way(IMAGE, CAPTIONS[0], TEXTS[:1], Root.EMPTY, EMPTY)
    assert (only.text, only.steps) == ("text 0", STEPS)
