"""The images behind a bin are those that were counted in it."""

from collections import Counter

import pandas as pd
import pytest
import torch

from core.metrics import binned
from pages.parts.behind import bin_of, chosen_mark


def test_images_fall_into_the_bins_that_counted_them():
    rng = torch.Generator().manual_seed(0)
    confidence = torch.cat([torch.rand(500, generator=rng), torch.tensor([0.0, 1.0, 0.2, 0.4, 0.6])])
    table = pd.DataFrame([_row(row) for row in binned(confidence, confidence > 0.5, 15)])
    held = Counter(bin_of(float(each), table) for each in confidence)
    assert [held[number] for number in range(15)] == table["count"].tolist()


def _row(row) -> dict:
    return {"lower": row.lower, "upper": row.upper, "count": row.count}


@pytest.mark.parametrize(
    ("event", "number"),
    [(None, None), ({"selection": {"points": []}}, None), ({"selection": {"points": [{"customdata": [3, 20]}]}}, 3)],
)
def test_the_bin_of_a_clicked_mark(event, number):
    assert chosen_mark(event) == number
