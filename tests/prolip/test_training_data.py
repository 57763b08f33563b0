"""The order of batches, and what is masked of them: all of it by the seed and the place in the stream.

Axes: n pairs of a batch · k of them masked · L tokens.
"""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from open_clip.tokenizer import SimpleTokenizer

from core.data.pairs import open_pairs
from core.errors import InputError
from core.prolip.team import ALONE, Team
from core.prolip.train import TrainConfig, reader
from core.prolip.training_data import Masking, drop_tokens, plan, seeded
from tests.prolip.pairs import TEXTS, untrained, write_pairs

CONFIG = TrainConfig(steps=1, batch=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs") / "data")


@pytest.fixture(scope="module")
def trainee(tmp_path_factory):
    return untrained(tmp_path_factory.mktemp("model") / "new")


def texts(planned):
    return [[pair.text for pair in each.pairs] for each in planned]


def batch_of(trainee, folder, config=CONFIG, team=ALONE, size=16):
    planned = plan(open_pairs([folder]), size, config.seed)
    return next(reader(trainee, config, 1).batches(planned, team.share))


def test_every_epoch_has_every_pair_once_in_another_order(folder):
    first, second = (texts(islice(plan(open_pairs([folder]), 16, 0), 8))[part] for part in (slice(4), slice(4, 8)))
    for epoch in (first, second):
        assert sorted(text for batch in epoch for text in batch) == sorted(TEXTS)
    assert first != second
    assert first != texts(islice(plan(open_pairs([folder]), 16, 1), 4)), "another seed, another order"


@pytest.mark.parametrize("batch", [5, 16, 64, 100])
def test_from_any_place_on_the_same_batches_come(folder, batch):
    stream = open_pairs([folder])
    whole = list(islice(plan(stream, batch, 3), 40))
    for number in (0, 1, 7, 20):
        rest = islice(plan(stream, batch, 3, whole[number].after), 40 - number - 1)
        assert texts(rest) == texts(whole[number + 1 :])


def test_a_window_at_a_time_is_shuffled(folder, monkeypatch):
    monkeypatch.setattr("core.prolip.training_data.WINDOW", 2)
    batches = texts(islice(plan(open_pairs([folder]), 8, 0), 8))
    windows = [{text for batch in batches[start : start + 2] for text in batch} for start in range(0, 8, 2)]
    assert windows == [set(TEXTS[start : start + 16]) for start in range(0, 64, 16)]


def test_the_files_of_several_sources_come_in_another_order_each_epoch(tmp_path, monkeypatch):
    monkeypatch.setattr("core.prolip.training_data.WINDOW", 1)
    stream = open_pairs([write_pairs(tmp_path / str(number), 4) for number in range(5)])
    batches = list(islice(plan(stream, 4, 0), 15))  # each a file's
    sources = [{pair.image.parent.parent.name for pair in each.pairs} for each in batches]
    epochs = [[source.pop() for source in sources[start : start + 5]] for start in (0, 5, 10)]
    assert all(sorted(epoch) == list("01234") for epoch in epochs)
    assert len(set(map(tuple, epochs))) == 3


def test_small_remainders_are_left_out_and_large_ones_are_not(folder):
    assert [len(each.pairs) for each in islice(plan(open_pairs([folder]), 60, 0), 2)] == [60, 60]
    assert [len(each.pairs) for each in islice(plan(open_pairs([folder]), 40, 0), 2)] == [40, 24]


def test_a_stream_without_pairs_is_refused(tmp_path):
    (tmp_path / "captions.csv").write_text("file_name,caption\na.png,\n")
    with pytest.raises(InputError, match="two image–text pairs"):
        next(plan(open_pairs([tmp_path]), 4, 0))


def test_a_batch_holds_pairs_and_masked_twins(trainee, folder):
    batch = batch_of(trainee, folder)
    assert batch.pixels.shape == (16, 3, 32, 32)
    assert batch.tokens.shape == (16, 12)
    assert len(batch.masked) == len(batch.patches) == len(batch.masked_tokens) == 2  # an eighth
    assert batch.patches.shape[1] == 4  # a quarter of 16
    for twin, original in zip(batch.masked_tokens, batch.tokens[batch.masked], strict=True):
        assert (twin > 2).sum() == 1 < (original > 2).sum() == 3  # words: at least one, a quarter of three is none


def test_shares_of_a_team_make_up_the_whole(trainee, folder):
    whole = batch_of(trainee, folder)
    parts = [batch_of(trainee, folder, team=Team(rank, 3)) for rank in range(3)]
    for name in ("pixels", "tokens", "rows"):
        assert torch.equal(torch.cat([getattr(part, name) for part in parts]), getattr(whole, name)), name
    masked = {
        int(part.rows[own]): (patches, tokens)
        for part in parts
        for own, patches, tokens in zip(part.masked, part.patches, part.masked_tokens, strict=True)
    }
    for own, patches, tokens in zip(whole.masked, whole.patches, whole.masked_tokens, strict=True):
        found = masked.pop(int(whole.rows[own]))
        assert torch.equal(found[0], patches)
        assert torch.equal(found[1], tokens)
    assert not masked


def test_an_image_that_cannot_be_read_is_left_out(trainee, tmp_path):
    folder = write_pairs(tmp_path / "data", 16)
    (folder / "images" / "3.png").write_bytes(b"no image")
    batch = batch_of(trainee, folder)
    assert len(batch.pixels) == len(batch.tokens) == len(batch.rows) == 15
    assert (batch.masked < 15).all()
    for number in range(16):
        (folder / "images" / f"{number}.png").write_bytes(b"no image")
    with pytest.raises(InputError, match="none of 16"):
        batch_of(trainee, folder)


def test_how_much_is_masked_is_said(trainee, folder):
    config = replace(CONFIG, masking=Masking(share=0.5, dropped=0.5))
    batch = batch_of(trainee, folder, config)
    assert batch.patches.shape == (8, 8)


@pytest.mark.parametrize("dropped", [0.25, 0.5, 0.75])
def test_dropped_tokens_close_up_and_keep_their_order(dropped):
    tokenizer = SimpleTokenizer(context_length=20)
    tokens = tokenizer(["a photo of two cats and one large dog"])[0]
    left = drop_tokens(tokens, tokenizer, dropped, seeded(1))
    kept, words = left[left > 0].tolist(), tokens[tokens > 0].tolist()
    assert kept[0] == tokenizer.sot_token_id
    assert kept[-1] == tokenizer.eot_token_id
    assert len(kept) - 2 == int((1 - dropped) * (len(words) - 2))
    assert [word for word in words if word in kept] == kept
    assert (left[len(kept) :] == 0).all()


def test_texts_without_words_stay_as_they_are(trainee):
    for text in ("", "cat"):
        tokens = trainee.tokenizer([text])[0]
        assert torch.equal(drop_tokens(tokens, trainee.tokenizer, 0.75, seeded(0)), tokens)


def test_the_seed_of_a_draw_is_all_that_names_it():
    assert torch.equal(torch.rand(3, generator=seeded(1, "a")), torch.rand(3, generator=seeded(1, "a")))
    assert not torch.equal(torch.rand(3, generator=seeded(1, "a")), torch.rand(3, generator=seeded(1, "b")))
