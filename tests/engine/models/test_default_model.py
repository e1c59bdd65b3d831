"""The default model's own file, read and tokenized as llama.cpp does. tests/data/smollm2_reference.json says how."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from engine.models.dims import ModelDims
from engine.models.gguf_file import GgufFile
from engine.models.gguf_tokenizer import write_tokenizer
from engine.tokenizer import Tokenizer
from tests import numpy_llama, slow_bpe

pytestmark = pytest.mark.model

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "smollm2_reference.json").read_text(encoding="utf-8")
)
SPECIALS = ("<|", "<repo_name>", "<file_sep>", "<gh_stars>", "<filename>", "<issue_", "<empty_output>")


@pytest.fixture(scope="module")
def folder(default_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its tokenizer files."""
    folder = tmp_path_factory.mktemp("smollm2")
    with GgufFile(default_gguf) as file:
        write_tokenizer(file.metadata, folder)
        (folder / "config.json").write_text(json.dumps(file.dims.to_mapping()))
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    """Loaded as the engine does."""
    return Tokenizer.load(folder)


def test_the_dimensions_are_those_published(default_gguf: Path) -> None:
    """SmolLM2-135M: 30 layers of 576, nine heads on three."""
    with GgufFile(default_gguf) as file:
        assert file.dims == ModelDims(
            hidden_size=576,
            layer_nums=30,
            num_attention_heads=9,
            num_key_value_heads=3,
            head_dim=64,
            intermediate_size=1536,
            vocab_size=49152,
            context_length=8192,
            rope_theta=100_000.0,
            rms_norm_eps=float(np.float32(1e-5)),
            tied_embeddings=True,
            hidden_taps=(2, 15, 27),
            stop_token_ids=(2, 0),
            bos_token_id=1,
        )
        assert file.kinds[0] == "Q4_1"


def test_the_header_equals_the_gguf_librarys_reading(default_gguf: Path) -> None:
    """Our reader of the header exists for speed and safety only; it must see the same bytes."""
    theirs = gguf.GGUFReader(default_gguf)
    with GgufFile(default_gguf) as ours:
        for key in ("tokens", "merges"):
            assert ours.metadata.texts(f"tokenizer.ggml.{key}") == theirs.fields[f"tokenizer.ggml.{key}"].contents()
        assert (
            ours.metadata.wholes("tokenizer.ggml.token_type") == theirs.fields["tokenizer.ggml.token_type"].contents()
        )
        q = next(t for t in theirs.tensors if t.name == "blk.3.ffn_up.weight")
        np.testing.assert_array_equal(
            ours.tensor("model.layers.3.mlp.up_proj.weight"), gguf.dequantize(q.data, q.tensor_type)
        )


@pytest.mark.parametrize(("text", "ids"), REFERENCE["texts"], ids=range(len(REFERENCE["texts"])))
def test_tokens_equal_llama_cpps(tokenizer: Tokenizer, text: str, ids: list[int]) -> None:
    """English, code, digits, emoji, CJK, odd white space, special tokens: the same ids, one by one."""
    assert tokenizer.encode(text) == ids


def test_tokens_equal_the_slow_reference(default_gguf: Path, tokenizer: Tokenizer) -> None:
    """Two independent references: this one follows from the definition of byte-level BPE."""
    with GgufFile(default_gguf) as file:
        vocab = {token: i for i, token in enumerate(file.metadata.texts("tokenizer.ggml.tokens"))}
        merges = file.metadata.texts("tokenizer.ggml.merges")
    ranks = {(line.split(" ")[0], line.split(" ")[1]): rank for rank, line in enumerate(merges)}
    for text, ids in REFERENCE["texts"]:
        if not any(special in text for special in SPECIALS):
            assert slow_bpe.encode(text, ranks, vocab, digits_apart=True) == ids


def test_text_comes_back(tokenizer: Tokenizer) -> None:
    """Also from the bytes of single tokens, which streaming uses."""
    for text, ids in REFERENCE["texts"]:
        if not any(special in text for special in SPECIALS):
            assert tokenizer.decode(ids) == text
            assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()


def test_the_chat_format_is_the_models_own(tokenizer: Tokenizer) -> None:
    """ChatML with SmolLM2's standing system message."""
    prompt = tokenizer.render([{"role": "user", "content": "What is the capital of France?"}])
    assert prompt == REFERENCE["greedy"][0]["prompt"]
    assert (
        tokenizer.encode_chat([{"role": "user", "content": "What is the capital of France?"}])
        == (REFERENCE["greedy"][0]["prompt_ids"])
    )


@pytest.mark.alone
def test_loading_and_chatting_are_fast(folder: Path) -> None:
    """Loading happens at every start, a whole conversation is encoded at every turn."""
    Tokenizer.load(folder)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        tokenizer = Tokenizer.load(folder)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.3
    chat = [{"role": "user", "content": "hi there " * 400}] * 5
    began = time.perf_counter()
    assert len(tokenizer.encode_chat(chat)) > 4000
    assert time.perf_counter() - began < 0.2


def test_the_weights_predict_what_llama_cpp_predicts(default_gguf: Path) -> None:
    """A wrong row order, scale or rotary base shows here. llama.cpp rounds activations to 8 bits, hence the margins."""
    with GgufFile(default_gguf) as file:
        weights, dims = dict(file.tensors()), file.dims
    for case in REFERENCE["greedy"]:
        ids, tokens = case["prompt_ids"], case["tokens"]
        found = numpy_llama.logits(ids + tokens, weights, dims)[len(ids) - 1 : -1]
        top = found.max(axis=-1, keepdims=True)
        logprobs = (found - top - np.log(np.exp(found - top).sum(axis=-1, keepdims=True)))[range(len(tokens)), tokens]
        assert (found.argmax(axis=-1) == tokens).mean() >= 0.85
        assert np.abs(logprobs - case["logprobs"]).mean() < 0.12
