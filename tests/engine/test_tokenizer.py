"""Tokenizer: a model folder's text to ids and back, one piece at a time, and its refusal of broken folders."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelFolderError
from engine.models.gguf_file import GgufFile
from engine.models.gguf_tokenizer import write_tokenizer
from engine.tokenizer import Tokenizer
from tests.tiny_gguf import SPECIALS, write_tiny_gguf

PLAIN_TEXT = st.text(max_size=60).filter(lambda text: not any(special in text for special in SPECIALS))
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "the fox 12"}]


def make_folder(folder: Path) -> Path:
    """The tokenizer files of the tiny model."""
    folder.mkdir()
    with GgufFile(write_tiny_gguf(folder / "tiny.gguf", change={"tokenizer.chat_template": TEMPLATE})) as file:
        write_tokenizer(file.metadata, folder)
        (folder / "config.json").write_text(json.dumps(file.dims.to_mapping()))
    return folder


TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An intact folder, not to be changed."""
    return make_folder(tmp_path_factory.mktemp("tokenizer") / "tiny")


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of that folder."""
    return Tokenizer.load(folder)


def test_stop_ids_come_from_the_config(tokenizer: Tokenizer) -> None:
    """The engine ends a turn at these."""
    assert tokenizer.stop_ids == {0, 2}


@given(PLAIN_TEXT)
def test_decode_gives_back_what_was_encoded(tokenizer: Tokenizer, text: str) -> None:
    """Any message must survive, in any script."""
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(PLAIN_TEXT)
def test_the_bytes_of_tokens_are_the_bytes_of_the_text(tokenizer: Tokenizer, text: str) -> None:
    """The streaming decoder is built on this."""
    assert b"".join(map(tokenizer.token_bytes, tokenizer.encode(text))) == text.encode()


def test_every_byte_has_its_token(tokenizer: Tokenizer) -> None:
    """A hole in the byte alphabet would lose one character in a million, unseen."""
    assert {tokenizer.token_bytes(i) for i in range(400)} >= {bytes([b]) for b in range(256)}


def test_half_a_character_shows_as_a_replacement(tokenizer: Tokenizer) -> None:
    """An emoji is four byte tokens here; alone none can be shown, together they are the emoji."""
    ids = tokenizer.encode("😀")
    assert [tokenizer.piece(i) for i in ids] == ["\ufffd"] * 4
    assert tokenizer.decode(ids) == "😀"
    assert tokenizer.decode(ids[:2]) == "\ufffd"
    assert b"".join(bytes.fromhex(tokenizer.raw(i)) for i in ids) == tokenizer.decode(ids).encode()
    assert tokenizer.raw(tokenizer.encode("a")[0]) == tokenizer.raw(2) == ""


def test_special_tokens_are_recognised_shown_and_skipped(tokenizer: Tokenizer) -> None:
    """In prompts they are control tokens, in the tree they are shown as written, in the reply they are nothing."""
    ids = tokenizer.encode("the<|im_end|>")
    assert ids[-1] == 2
    assert tokenizer.piece(2) == "<|im_end|>"
    assert tokenizer.token_bytes(2) == b""
    assert tokenizer.decode(ids) == "the"


@pytest.mark.parametrize("token", [-1, 5000, 2**40])
def test_ids_without_a_token_are_empty(tokenizer: Tokenizer, token: int) -> None:
    """Models have more output rows than tokens; a drawn padding row must not raise."""
    assert tokenizer.piece(token) == ""
    assert tokenizer.token_bytes(token) == b""
    assert tokenizer.decode([token]) == ""


def test_lone_surrogates_do_not_raise(tokenizer: Tokenizer) -> None:
    """Half an emoji from a clipboard or a damaged file reaches us as one."""
    assert tokenizer.decode(tokenizer.encode("a\ud83db")) == "a\ufffdb"
    assert tokenizer.decode(tokenizer.encode("\ud83d\ude00")) == "😀"


def test_a_conversation_becomes_the_templates_text(tokenizer: Tokenizer) -> None:
    """bos comes from the config, eos is the first stop id."""
    expected = "<|im_start|>[system]Be brief.<|im_end|>[user]the fox 12<|im_end|>[assistant]"
    assert tokenizer.render(MESSAGES) == expected
    assert tokenizer.encode_chat(MESSAGES) == tokenizer.encode(expected)
    assert tokenizer.render(MESSAGES, add_generation_prompt=False) == expected.removesuffix("[assistant]")


BROKEN: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no tokenizer": ("tokenizer.json", Path.unlink, "is missing"),
    "no template": ("chat_template.jinja", Path.unlink, "is missing"),
    "no config": ("config.json", Path.unlink, "is missing"),
    "tokenizer cut": ("tokenizer.json", lambda p: p.write_text(p.read_text()[:3000]), "is damaged"),
    "tokenizer binary": ("tokenizer.json", lambda p: p.write_bytes(b"\xff\xfe\x00"), "is damaged"),
    "tokenizer other": ("tokenizer.json", lambda p: p.write_text('{"a": 1}'), "is damaged"),
    "config cut": ("config.json", lambda p: p.write_text(p.read_text()[:50]), "is damaged"),
    "config list": ("config.json", lambda p: p.write_text("[]"), "is damaged"),
    "config deep": ("config.json", lambda p: p.write_text("[" * 100_000), "is damaged"),
    "stop ids text": ("config.json", lambda p: p.write_text('{"stop_token_ids": "2"}'), "is damaged"),
    "stop ids mixed": ("config.json", lambda p: p.write_text('{"stop_token_ids": [2, null]}'), "is damaged"),
    "bos text": ("config.json", lambda p: p.write_text('{"bos_token_id": "1"}'), "is damaged"),
    "template broken": ("chat_template.jinja", lambda p: p.write_text("{% if %}"), "cannot be read"),
}


@pytest.mark.parametrize(("name", "damage", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_one_sentence(
    tmp_path: Path, name: str, damage: Callable[[Path], object], message: str
) -> None:
    """Half-copied and hand-edited folders are common; the sentence names the file and the way out."""
    folder = make_folder(tmp_path / "tiny")
    damage(folder / name)
    with pytest.raises(ModelFolderError, match=message) as caught:
        Tokenizer.load(folder)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value) or "chat template of tiny" in str(caught.value)


def test_other_threads_run_while_a_long_text_is_read(tokenizer: Tokenizer) -> None:
    """The window stood still for 0.2 s each time the tokens of a long conversation were counted."""
    text, ran, ids = "the quick brown fox " * 40_000, 0, []
    thread = threading.Thread(target=lambda: ids.append(tokenizer.encode(text)))
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)
        ran += 1
    assert len(ids[0]) > 40_000
    assert ran > 20
