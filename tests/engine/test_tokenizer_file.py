"""`tokenizer.json` read in steps: the same tokenizer as the library reads at once, and other threads run meanwhile."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from engine import tokenizer_file
from engine.errors import Cancelled
from engine.tokenizer_file import read_tokenizer

WORDS = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "<pad>": 5}
PAIRS = [("a", "b"), ("ab", "c")]


def whole() -> tokenizers.Tokenizer:
    """Byte pairs with every part that a file may hold."""
    made = tokenizers.Tokenizer(models.BPE(WORDS, PAIRS, unk_token="<pad>", fuse_unk=True, ignore_merges=True))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<pad>", tokenizers.AddedToken("<s>", lstrip=True, normalized=False)])
    made.add_tokens([tokenizers.AddedToken("abcabc", single_word=True, rstrip=True), "<end>"])
    return made


def dictionary() -> tokenizers.Tokenizer:
    """Not byte pairs."""
    return tokenizers.Tokenizer(models.WordLevel(WORDS, unk_token="<pad>"))


def cutting() -> tokenizers.Tokenizer:
    """With a part that is not read in steps."""
    made = whole()
    made.enable_truncation(5)
    return made


@pytest.mark.parametrize("make", [whole, dictionary, cutting])
def test_it_is_the_librarys_tokenizer(make: Callable[[], tokenizers.Tokenizer]) -> None:
    """A lost field would split text another way, and no error would say so."""
    text = make().to_str()
    read = read_tokenizer(text)
    assert read.to_str() == tokenizers.Tokenizer.from_str(text).to_str()
    for sample in ("abc<s> a1b", "abcabc abcabcab<end>"):
        assert read.encode(sample).ids == make().encode(sample).ids


def test_byte_pairs_are_read_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual file must not fall back on the way that holds up the window."""
    text, steps = whole().to_str(), tokenizer_file._in_steps
    made: list[Any] = []
    monkeypatch.setattr(tokenizer_file, "_in_steps", lambda *given: made.append(steps(*given)) or made[-1])
    assert read_tokenizer(text) is made[0]


def test_spaces_between_fields_do_not_matter() -> None:
    """Files from elsewhere are written over many lines."""
    assert read_tokenizer(whole().to_str(pretty=True)).to_str() == whole().to_str()


def test_reading_can_be_stopped_between_any_two_steps() -> None:
    """Stop, pressed while one table was read, waited for the other and for the model."""

    class Later(threading.Event):
        """Set when it is looked at for the n-th time."""

        def __init__(self, looks: int) -> None:
            super().__init__()
            self.left = looks

        def is_set(self) -> bool:
            self.left -= 1
            return self.left < 0

    text, passed = whole().to_str(), 0
    while True:
        try:
            read_tokenizer(text, Later(passed))
            break
        except Cancelled:
            passed += 1
    assert passed > 15  # fields of the file and of the model, and the model itself


def test_older_files_are_read_by_the_library() -> None:
    """Pairs were written as one text with a space once."""
    fields = json.loads(whole().to_str())
    fields["model"]["merges"] = [" ".join(pair) for pair in PAIRS]
    assert read_tokenizer(json.dumps(fields)).to_str() == whole().to_str()


def test_numbers_out_of_order_are_left_to_the_library() -> None:
    """Tokens get their numbers in the order of the file, which may say otherwise."""
    fields = json.loads(whole().to_str())
    fields["added_tokens"].reverse()
    text = json.dumps(fields)
    assert read_tokenizer(text).to_str() == tokenizers.Tokenizer.from_str(text).to_str()


def test_a_broken_file_is_the_librarys_to_complain_of() -> None:
    """The tokenizer's own errors are turned into a sentence elsewhere."""
    for text in ("", "{", "[]", '{"model": 5}', whole().to_str()[:-1], whole().to_str().replace('"ab":3', '"ab":')):
        with pytest.raises(Exception):  # noqa: B017, PT011 - tokenizers raises bare exceptions
            read_tokenizer(text)


@pytest.fixture
def large() -> str:
    """As many tokens as the default model has."""
    letters = [chr(c) for c in range(0x4E00, 0x4E00 + 20_000)]
    pairs = list(zip(letters[::2], letters[1::2], strict=True))
    words = [*letters, *(left + right for left, right in pairs)]
    return str(tokenizers.Tokenizer(models.BPE({w: i for i, w in enumerate(words)}, pairs)).to_str())


def longest_silence(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds for which a waiting thread did not run while `call` ran in another one, and what `call` took."""
    thread = threading.Thread(target=call)
    began = last = time.perf_counter()
    longest = 0.0
    thread.start()
    while thread.is_alive():
        time.sleep(0.0005)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest, time.perf_counter() - began


def test_other_threads_run_meanwhile(large: str) -> None:
    """Stop was noticed 0.1 s late, 0.6 s on a busy machine, because the window's thread could not run."""
    old = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        tries = [longest_silence(lambda: read_tokenizer(large)) for _ in range(5)]
    finally:
        sys.setswitchinterval(old)
    assert min(silence / took for silence, took in tries) < 0.75
