"""Text to token ids and back, and conversations into prompts. Knows a model folder's files, nothing of how they came.

Byte-level BPE: every token is a run of bytes, so one token may hold half a character. `engine/stream_text.py` joins
the bytes of a reply into whole characters.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from engine.chat_template import ChatTemplate
from engine.errors import EyrieError, ModelFolderError
from engine.tokenizer_file import read_tokenizer

TOKENIZER_FILE = "tokenizer.json"
TEMPLATE_FILE = "chat_template.jinja"
CONFIG_FILE = "config.json"


class Tokenizer:
    """The tokenizer and chat template of one model folder. Safe to use from several threads."""

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        template: str,
        *,
        name: str = "this model",
        stop_ids: Sequence[int] = (),
        bos_id: int = -1,
    ) -> None:
        self.stop_ids = frozenset(stop_ids)
        self._backend = backend
        self._added = backend.get_added_tokens_decoder()
        self._bytes: dict[int, bytes] = {}
        self._pieces: dict[int, str] = {}
        bos, eos = (self.piece(i) if i >= 0 else "" for i in (bos_id, stop_ids[0] if stop_ids else -1))
        self._template = ChatTemplate(template, name=name, bos_token=bos, eos_token=eos)

    @classmethod
    def load(cls, folder: Path, cancel: threading.Event | None = None) -> Tokenizer:
        """Read `tokenizer.json`, `chat_template.jinja` and the stop and bos ids of `config.json`.

        A missing or broken file raises `ModelFolderError`, a set `cancel` `Cancelled`. The first stop id is the
        template's `eos_token`.
        """
        config = _read_config(folder)
        try:
            backend = read_tokenizer(_read(folder / TOKENIZER_FILE), cancel)
        except EyrieError:
            raise
        except Exception:  # tokenizers raises bare exceptions
            raise _broken(folder / TOKENIZER_FILE) from None
        stops = config.get("stop_token_ids", [])
        bos = config.get("bos_token_id", -1)
        if not isinstance(stops, list) or not all(type(i) is int for i in [*stops, bos]):
            raise _broken(folder / CONFIG_FILE)
        return cls(backend, _read(folder / TEMPLATE_FILE), name=folder.name, stop_ids=stops, bos_id=bos)

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; special tokens written in it are recognised, none are added.

        The one of the library's ways that lets other threads run meanwhile: a long conversation takes 0.2 s.
        """
        ids: list[int] = self._backend.encode_batch_fast([_whole_characters(text)], add_special_tokens=False)[0].ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids` without special tokens; bytes that are no UTF-8 show as U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", errors="replace")

    def piece(self, token: int) -> str:
        """Display text of one token alone: half a character shows as U+FFFD, a special token as it is written."""
        piece = self._pieces.get(token)
        if piece is None:
            added = self._added.get(token)
            piece = added.content if added else self.token_bytes(token).decode("utf-8", errors="replace")
            self._pieces[token] = piece
        return piece

    def raw(self, token: int) -> str:
        """The bytes of a token in hex where its `piece` cannot show them all, "" elsewhere."""
        return self.token_bytes(token).hex() if "\ufffd" in self.piece(token) else ""

    def token_bytes(self, token: int) -> bytes:
        """The exact bytes of one token; none for special tokens and for ids without a token."""
        value = self._bytes.get(token)
        if value is None:
            value = self._bytes[token] = self._look_up(token)
        return value

    def render(self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool = True) -> str:
        """The conversation as prompt text. A template that refuses it raises `ModelFolderError`."""
        return self._template.render(messages, add_generation_prompt=add_generation_prompt)

    def encode_chat(self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool = True) -> list[int]:
        """Token ids of the rendered conversation."""
        return self.encode(self.render(messages, add_generation_prompt=add_generation_prompt))

    def _look_up(self, token: int) -> bytes:
        added = self._added.get(token)
        if added is not None:
            return b"" if added.special else added.content.encode("utf-8")
        written = self._backend.id_to_token(token) if 0 <= token < 2**31 else None
        if written is None:
            return b""
        try:
            return bytes(_BYTE_OF[c] for c in written)
        except KeyError:
            return str(written).encode("utf-8")


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's one printable character per byte: printable Latin-1 stands for itself, the others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(printable)]
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(others)}


_BYTE_OF = _byte_alphabet()


def _whole_characters(text: str) -> str:
    """`text` with lone surrogates, which no encoding can hold, as U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    return text


def _read_config(folder: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(_read(folder / CONFIG_FILE))
    except (ValueError, RecursionError):
        raise _broken(folder / CONFIG_FILE) from None
    if not isinstance(config, dict):
        raise _broken(folder / CONFIG_FILE)
    return config


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelFolderError(
            f"{path} is missing: run `python main.py setup` to make the model folder again."
        ) from None
    except UnicodeDecodeError:
        raise _broken(path) from None
    except OSError as error:
        raise ModelFolderError(f"{path} cannot be read: {error.strerror}.") from None


def _broken(path: Path) -> ModelFolderError:
    return ModelFolderError(f"{path} is damaged: run `python main.py setup` to make the model folder again.")
