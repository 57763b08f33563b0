"""Image–text pairs, wherever they are: folders with a CSV file, CSV files anywhere, webdataset tars."""

from __future__ import annotations

from core.data.pairs.folders import Captioned, Named, read_captions, read_names, read_pairs
from core.data.pairs.items import Broken, Item, Pair
from core.data.pairs.stream import PairStream, open_pairs

__all__ = [
    "Broken",
    "Captioned",
    "Item",
    "Named",
    "Pair",
    "PairStream",
    "open_pairs",
    "read_captions",
    "read_names",
    "read_pairs",
]
