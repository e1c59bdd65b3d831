"""The tokenizer and chat template made from GGUF metadata: equal to a slow BPE, and clear where they cannot be made."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelFileError
from engine.models.gguf_metadata import GgufMetadata
from engine.models.gguf_tokenizer import PRE_TOKENIZERS, chat_template, stop_token_ids, tokenizer_json, write_tokenizer
from tests import slow_bpe
from tests.tiny_gguf import SPECIALS, tiny_metadata

VALUES = tiny_metadata()
TOKENS, MERGES = VALUES["tokenizer.ggml.tokens"], VALUES["tokenizer.ggml.merges"]
RANKS = {tuple(line.split(" ")): rank for rank, line in enumerate(MERGES)}
VOCAB = {token: i for i, token in enumerate(TOKENS)}
CORPUS = [
    "The quick brown fox, the lazy dog: it's what they've said, I'd say; DON'T.",
    "def f(x: int) -> int:\n    return x ** 2  # 1,000\n\n\n\tpass\r\n",
    "0 00 007 1234567890 3.14 ½ Ⅷ ٣٤ १२ 〇",
    "😀👩‍👩‍👧🇫🇷 👍🏽 ❤️",
    "日本語の文章です。你好,世界!한국어 12",
    " a  b   c\td\t e \n f\n\ng\r\n  h   ",
    "\u00a0x\u3000y\u2003z\u200b\u2028w\ufeff\x85v",
    "Ünï cödé e\u0301 ß ﬁ １２ 𝟘 𠮷",
    "'' 's ''s 'sabc ’s '",
    "",
]


def _is_plain(text: str) -> bool:
    return not any(special in text for special in SPECIALS)


PLAIN_TEXT = st.text(max_size=60).filter(_is_plain)
KNOWN_TEXT = st.text(  # characters on whose category every version of Unicode since 3.2 agrees
    st.characters(exclude_categories=["Cs", "Cn"]).filter(
        lambda c: unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)
    ),
    max_size=40,
)
WORDY_TEXT = st.lists(
    st.sampled_from(["the", " quick", "12", " 3", "'s", " ", "\n", "\t", "é", "日", "!", "jump"])
).map("".join)


def _metadata(**change: Any) -> GgufMetadata:
    values = {**VALUES, **{f"tokenizer.{key}": value for key, value in change.items()}}
    values["tokenizer.ggml.token_type"] = np.array(values["tokenizer.ggml.token_type"], np.int32)
    return GgufMetadata({k: v for k, v in values.items() if v is not None}, Path("tiny.gguf"))


def _tokenizer(**change: Any) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(tokenizer_json(_metadata(**change)))


SMOLLM = _tokenizer()
GPT2 = _tokenizer(**{"ggml.pre": "gpt-2"})


@pytest.mark.parametrize("text", CORPUS)
def test_equal_to_the_reference_on_a_corpus(text: str) -> None:
    """Another split of spaces or digits costs the model quality that nobody can see."""
    assert SMOLLM.encode(text).ids == slow_bpe.encode(text, RANKS, VOCAB, digits_apart=True)
    assert GPT2.encode(text).ids == slow_bpe.encode(text, RANKS, VOCAB, digits_apart=False)


@given(KNOWN_TEXT.filter(_is_plain) | WORDY_TEXT)
def test_equal_to_the_reference_on_any_text(text: str) -> None:
    """The corpus cannot hold every mixture of categories."""
    assert SMOLLM.encode(text).ids == slow_bpe.encode(text, RANKS, VOCAB, digits_apart=True)
    assert GPT2.encode(text).ids == slow_bpe.encode(text, RANKS, VOCAB, digits_apart=False)


@given(PLAIN_TEXT)
def test_decode_gives_the_text_back(text: str) -> None:
    """Byte-level BPE loses nothing."""
    assert SMOLLM.decode(SMOLLM.encode(text).ids) == text


def _splits(name: str, text: str) -> list[str]:
    split = _tokenizer(**{"ggml.pre": name}).pre_tokenizer
    return ["".join(text[slice(*span)]) for _, span in split.pre_tokenize_str(text)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("smollm", "a 123's  x", ["a", " ", "1", "2", "3", "'s", " ", " x"]),
        ("gpt-2", "a 123's  x", ["a", " 123", "'s", " ", " x"]),
        ("llama-bpe", "a 12345's  x\n\ny?\n", ["a", " ", "123", "45", "'s", " ", " x", "\n\n", "y", "?\n"]),
        ("qwen2", "a 12's DON'T\r\n  z", ["a", " ", "1", "2", "'s", " DON", "'T", "\r\n", " ", " z"]),
    ],
)
def test_each_pre_tokenizer_cuts_as_its_model_family_does(name: str, text: str, expected: list[str]) -> None:
    """The rules differ in digits, contractions and line ends."""
    assert _splits(name, text) == expected


def test_families_differ_beyond_the_split() -> None:
    """Llama 3 keeps a known word whole; Qwen 2 composes characters first."""
    tokens = [*TOKENS, "xyzzy"]
    types = [*VALUES["tokenizer.ggml.token_type"], 1]
    change = {"ggml.tokens": tokens, "ggml.token_type": types}
    assert _tokenizer(**change, **{"ggml.pre": "llama-bpe"}).encode("xyzzy").ids == [len(TOKENS)]
    assert len(_tokenizer(**change).encode("xyzzy").ids) == 5
    composed = _tokenizer(**{"ggml.pre": "qwen2"})
    assert composed.encode("e\u0301").ids == composed.encode("\u00e9").ids


def test_special_tokens_keep_their_ids_and_are_recognised_in_text() -> None:
    """Rendered chat templates hold them as text."""
    assert SMOLLM.encode("<|im_start|>the<|im_end|>").ids == [VOCAB["<|im_start|>"], VOCAB["the"], VOCAB["<|im_end|>"]]
    assert SMOLLM.get_vocab_size() == len(TOKENS)
    assert {t.content for t in SMOLLM.get_added_tokens_decoder().values() if t.special} == set(SPECIALS)


def test_user_defined_tokens_are_text() -> None:
    """They are matched as one token, but belong to the reply's text."""
    types = [*VALUES["tokenizer.ggml.token_type"], 4]
    tokenizer = _tokenizer(**{"ggml.tokens": [*TOKENS, "a b"], "ggml.token_type": types})
    assert tokenizer.encode("xa bx").ids == [VOCAB["x"], len(TOKENS), VOCAB["x"]]
    assert tokenizer.decode([len(TOKENS)], skip_special_tokens=True) == "a b"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "sentencepiece": ({"ggml.model": "llama"}, "tokenizer of kind 'llama'"),
    "unknown split": ({"ggml.pre": "viking"}, "pre-tokenizer 'viking'; supported are smollm, gpt-2"),
    "no split": ({"ggml.pre": None}, "lacks the metadata 'tokenizer.ggml.pre'"),
    "no merges": ({"ggml.merges": None}, "lacks the metadata 'tokenizer.ggml.merges'"),
    "merge of one": ({"ggml.merges": ["ab"]}, "'ab' is not a merge"),
    "merge of three": ({"ggml.merges": ["a b c"]}, "'a b c' is not a merge"),
    "merge of strangers": ({"ggml.merges": ["th unheardof"]}, "merges do not fit"),
    "too few types": ({"ggml.token_type": [1]}, f"{len(TOKENS)} tokens and 1 token types"),
    "token twice": ({"ggml.tokens": [*TOKENS[:-1], TOKENS[5]]}, "holds a token twice"),
    "tokens are numbers": ({"ggml.tokens": np.arange(4)}, "should be a list of texts and is ndarray"),
    "template": ({"chat_template": "{% for %}"}, "chat template of tiny.gguf cannot be read"),
    "template refuses": ({"chat_template": "{{ raise_exception('no users') }}"}, "failed: no users"),
    "template number": ({"chat_template": 5}, "'tokenizer.chat_template' should be text and is 5"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_made_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """A tokenizer that is nearly right is worse than none."""
    with pytest.raises(ModelFileError) as caught:
        write_tokenizer(_metadata(**change), tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).startswith("tiny.gguf ")
    assert not list(tmp_path.iterdir())


def test_the_template_of_the_file_is_kept_as_it_is() -> None:
    """It is the one the model was trained with."""
    source = "{{ bos_token }}{{ messages[0].content }}\n"
    assert chat_template(_metadata(chat_template=source)) == source


def test_chatml_stands_in_only_where_its_tokens_exist() -> None:
    """A made-up format for a model without those tokens would look like a working chat with a stupid model."""
    assert "<|im_start|>" in chat_template(_metadata())
    renamed = [token.replace("im_end", "other") for token in TOKENS]
    with pytest.raises(ModelFileError, match="no chat template"):
        chat_template(_metadata(**{"ggml.tokens": renamed}))


def test_stop_ids_are_the_tokens_that_end_a_turn() -> None:
    """A missing one makes the model talk to itself; a plain word among them would cut replies."""
    assert stop_token_ids(_metadata()) == (2, 0)
    assert stop_token_ids(_metadata(**{"ggml.eot_token_id": 7})) == (2, 7, 0)
    normal = [1] * len(TOKENS)
    assert stop_token_ids(_metadata(**{"ggml.token_type": normal})) == (2,)


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_every_scheme_survives_its_json(name: str) -> None:
    """The folder holds the JSON, not the objects."""
    text = tokenizer_json(_metadata(**{"ggml.pre": name}))
    assert json.loads(text)["model"]["type"] == "BPE"
    assert (
        tokenizers.Tokenizer.from_str(text).decode(tokenizers.Tokenizer.from_str(text).encode("the 12").ids) == "the 12"
    )
