"""What a tokenizer keeps of a text."""

from dataclasses import replace

import pytest

from core.encoders.tokens import read_texts, tokenizer_for
from core.prolip.model.configs import PUBLISHED, TextConfig
from tests.encoders.words import write_tokenizer

LIMIT = 11  # of 12, one ends the text


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    write_tokenizer(folder)
    return tokenizer_for(TextConfig(context_length=12, hf_tokenizer_name=str(folder), clean="canonicalize"))


def test_tokens_are_lower_case_without_punctuation(words):
    [reading] = read_texts(words, ["A photo, of THE mug_cat!"])
    assert (reading.kept, reading.tokens, reading.limit, reading.cut) == ("a photo of the mug cat", 6, LIMIT, False)
    assert words(["A photo, of THE mug_cat!"]).tolist() == words(["a photo of the mug cat"]).tolist()


@pytest.mark.parametrize(("n", "cut"), [(LIMIT - 1, False), (LIMIT, False), (LIMIT + 1, True), (300, True)])
def test_an_over_long_text_is_said_to_be_cut_exactly_where_tokens_are_lost(words, n, cut):
    text = " ".join(["red cat"] * n)[: 4 * n - 1]  # n words of 3 letters
    [reading] = read_texts(words, [text])
    assert (reading.tokens, reading.cut) == (n, cut)
    assert len(reading.kept.split()) == min(n, LIMIT)
    assert words([reading.kept]).tolist() == words([text]).tolist()  # the model sees the same


def test_an_empty_text_and_one_of_unknown_signs_keep_nothing(words):
    empty, emoji = read_texts(words, ["", "🦄"])
    assert (empty.kept, empty.tokens) == ("", 0)
    assert (emoji.kept, emoji.tokens, emoji.cut) == ("", 1, False)
    assert read_texts(words, []) == []


def test_without_a_name_tokens_are_clips():
    clip = tokenizer_for(PUBLISHED["ViT-H-14-ProLIP"].text)
    short, long = read_texts(clip, ["A Photo of a mug!", "word " * 100])
    assert (short.kept, short.tokens, short.limit, short.cut) == ("a photo of a mug !", 6, 75, False)
    assert (long.kept, long.tokens, long.cut) == (" ".join(["word"] * 75), 100, True)


def test_a_folder_with_a_tokenizer_is_taken_before_the_hubs(tmp_path):
    write_tokenizer(tmp_path)
    config = replace(PUBLISHED["ViT-B-16-ProLIP"].text, context_length=12)
    assert tokenizer_for(config, tmp_path)(["a photo"]).shape == (1, 12)
