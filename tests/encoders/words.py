"""A tokenizer of few words, as Hugging Face's stand in a folder, and the official tiny ProLIP as an encoder with it."""

from dataclasses import replace

from open_clip.transform import PreprocessCfg, image_transform_v2
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from core.encoders.prolip import ProlipEncoder
from core.encoders.tokens import tokenizer_for
from core.prolip.model.model import Prolip
from tests.prolip.model.test_model import tiny
from tests.toy import CLASSES

SAMPLE = "a photo of the two mug cat dog red blue green in on and with one very small large room table"
WORDS = dict.fromkeys([*SAMPLE.split(), *CLASSES])


def write_tokenizer(folder):
    """Words split at blanks, then </s> (1); what is not known is <unk> (2), and padding is 0."""
    vocabulary = {"<pad>": 0, "</s>": 1, "<unk>": 2} | {word: 3 + i for i, word in enumerate(WORDS)}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder)


def tiny_encoder(folder, model: Prolip | None = None, device="cpu") -> ProlipEncoder:
    """The official tiny weights behind the words of `folder`, where they are written if they are not there."""
    model = model or tiny()
    if not (folder / "tokenizer.json").exists():
        write_tokenizer(folder)
    preprocess = image_transform_v2(PreprocessCfg(size=model.config.vision.image_size), is_train=False)
    words = tokenizer_for(replace(model.config.text, clean="canonicalize"), folder)
    return ProlipEncoder("tiny", model, preprocess, words, device)
