"""GgufFile: the weights and dimensions of a GGUF llama, and one sentence for every file that is not one."""

from __future__ import annotations

import contextlib
import os
import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Kind

from engine.errors import ModelFileError
from engine.models.gguf_file import GgufFile
from tests.tiny_gguf import HEADS, HIDDEN, MLP, tiny_metadata, tiny_weights, write_tiny_gguf

VOCAB = len(tiny_metadata()["tokenizer.ggml.tokens"])
DOWN = "blk.1.ffn_down.weight"


def _dequantizable(kind: Kind) -> bool:
    try:
        gguf.dequantize(np.zeros((1, GGML_QUANT_SIZES[kind][1]), np.uint8), kind)
    except NotImplementedError:
        return False
    return True


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The intact file."""
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def _refusal(path: Path) -> str:
    """The sentence with which reading everything in `path` fails."""
    with pytest.raises(ModelFileError) as caught, GgufFile(path) as file:
        for _ in file.tensors():
            pass
    message = str(caught.value)
    assert path.name in message
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_weights_come_back_under_hugging_face_names(tiny: Path) -> None:
    """Every later stage trusts these names, shapes and, for q and k, this order of rows."""
    expected = tiny_weights(VOCAB)
    with GgufFile(tiny) as file:
        found = dict(file.tensors())
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_an_untied_head_is_read(tmp_path: Path) -> None:
    """Without it the embeddings would silently be used as the output matrix."""
    weights = tiny_weights(VOCAB, tied=False)
    with GgufFile(write_tiny_gguf(tmp_path / "m.gguf", weights=weights)) as file:
        assert not file.dims.tied_embeddings
        np.testing.assert_array_equal(file.tensor("lm_head.weight"), weights["lm_head.weight"])


def test_dimensions_come_from_the_metadata(tiny: Path) -> None:
    """A wrong head count or rotary base gives fluent nonsense rather than an error."""
    with GgufFile(tiny) as file:
        dims = file.dims
    assert (dims.hidden_size, dims.layer_nums, dims.num_attention_heads, dims.num_key_value_heads) == (64, 2, 4, 2)
    assert (dims.head_dim, dims.intermediate_size, dims.vocab_size, dims.context_length) == (16, 256, VOCAB, 256)
    assert dims.rope_theta == 10000
    assert dims.rms_norm_eps == pytest.approx(1e-5)
    assert dims.tied_embeddings
    assert dims.stop_token_ids == (2, 0)
    assert dims.bos_token_id == 1


@pytest.mark.parametrize("kind", [k for k in Kind if _dequantizable(k)], ids=lambda k: k.name)
def test_every_type_the_gguf_library_dequantizes_is_read(tmp_path: Path, kind: Kind) -> None:
    """People bring files of any quantization; the numbers must be the library's own."""
    block, size = GGML_QUANT_SIZES[kind]
    data = np.random.default_rng(1).integers(0, 0x3C, (HIDDEN, MLP // block * size)).astype(np.uint8)  # small floats
    stored = data.view(np.float32) if kind is Kind.F32 else data.view(np.float16) if kind is Kind.F16 else data
    with GgufFile(write_tiny_gguf(tmp_path / "m.gguf", raw={DOWN: (stored, kind)})) as file:
        found = file.tensor("model.layers.1.mlp.down_proj.weight")
    assert found.shape == (HIDDEN, MLP)
    np.testing.assert_array_equal(found, gguf.dequantize(data, kind))


@pytest.mark.parametrize("kind", [k for k in Kind if not _dequantizable(k)], ids=lambda k: k.name)
def test_other_types_are_named(tmp_path: Path, kind: Kind) -> None:
    """The reader must say which type it cannot read before any work begins."""
    block, size = GGML_QUANT_SIZES[kind]
    data = np.zeros((HIDDEN, MLP // block * size), np.uint8)
    message = _refusal(write_tiny_gguf(tmp_path / "m.gguf", raw={DOWN: (data, kind)}))
    assert kind.name in message


def _patch(path: Path, at: int, value: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([value]))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "other architecture": ({"architecture": "qwen2"}, "architecture 'qwen2'"),
    "experts": ({"change": {"llama.expert_count": 8}}, "mixture of experts"),
    "yarn": ({"change": {"llama.rope.scaling.type": "yarn"}}, "yarn"),
    "linear": ({"change": {"llama.rope.scaling.factor": 2.0}}, "linear, factor 2"),
    "old linear": ({"change": {"llama.rope.scale_linear": 4.0}}, "linear, factor 4"),
    "window": ({"change": {"llama.attention.sliding_window": 64}}, "sliding window"),
    "partial rotary": ({"change": {"llama.rope.dimension_count": 8}}, "rope.dimension_count 8"),
    "zero heads": ({"change": {"llama.attention.head_count": 0}}, "heads of 0"),
    "odd groups": ({"change": {"llama.attention.head_count_kv": 3}}, "multiple of num_key_value_heads"),
    "text for number": ({"change": {"llama.context_length": "long"}}, "should be a whole number and is 'long'"),
    "heads per layer": ({"change": {"llama.attention.head_count": [4, 4]}}, "should be a whole number and is ndarray"),
    "many layers": ({"change": {"llama.block_count": 2**31}}, "claims 2147483648 layers"),
    "alignment": ({"change": {"general.alignment": "48"}}, "general.alignment is '48'"),
    "missing tensor": ({"without": ["blk.0.attn_v.weight"]}, "lacks the tensor 'blk.0.attn_v.weight'"),
    "missing embeddings": ({"without": ["token_embd.weight"]}, "lacks the tensor 'token_embd.weight'"),
    "other mlp": ({"change": {"llama.feed_forward_length": 128}}, r"ffn_gate.weight' in shape \[256, 64\]"),
    "eos out of range": ({"change": {"tokenizer.ggml.eos_token_id": 4000}}, "stop_token_ids is 4000"),
    "biases": ({"raw": {"blk.0.attn_q.bias": (np.ones(64, np.float32), Kind.F32)}}, "'blk.0.attn_q.bias'"),
    "llama 3.1 rope": ({"raw": {"rope_freqs.weight": (np.ones(8, np.float32), Kind.F32)}}, "Llama 3.1"),
    "nan": ({"raw": {DOWN: (np.full((HIDDEN, MLP), np.nan, np.float32), Kind.F32)}}, f"{DOWN}' holds values"),
    "three dimensions": ({"raw": {DOWN: (np.ones((2, 32, MLP), np.float32), Kind.F32)}}, "in shape"),
}


@pytest.mark.parametrize(("how", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_supported_is_named(tmp_path: Path, how: dict[str, Any], message: str) -> None:
    """Each of these would otherwise convert into a model that talks nonsense, or fail deep inside."""
    path = write_tiny_gguf(tmp_path / "odd.gguf", **how)
    with pytest.raises(ModelFileError, match=message), GgufFile(path) as file:
        list(file.tensors())


REQUIRED = [
    key
    for key in tiny_metadata()
    if key.startswith("llama.") and "rope" not in key and not key.endswith("head_count_kv")
] + ["tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.eos_token_id"]


@pytest.mark.parametrize("key", REQUIRED)
def test_missing_metadata_is_named(tmp_path: Path, key: str) -> None:
    """There is no safe guess for any of these."""
    assert f"'{key}'" in _refusal(write_tiny_gguf(tmp_path / "m.gguf", without=[key]))


NOT_GGUF: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "is empty"),
    "other magic": (lambda data: b"GGML" + data[4:], "not a GGUF file"),
    "html": (lambda _: b"<!doctype html><title>404</title>" * 9, "not a GGUF file"),
    "three bytes": (lambda _: b"GGU", "not a GGUF file"),
    "version 1": (lambda data: data[:4] + struct.pack("<I", 1) + data[8:], "GGUF version 1"),
    "version 9": (lambda data: data[:4] + struct.pack("<I", 9) + data[8:], "GGUF version 9"),
    "big-endian": (lambda data: data[:4] + struct.pack(">I", 3) + data[8:], "big-endian"),
    "2**63 tensors": (lambda data: data[:8] + struct.pack("<Q", 2**63) + data[16:], "cut short or damaged"),
    "2**63 keys": (lambda data: data[:16] + struct.pack("<Q", 2**63) + data[24:], "cut short or damaged"),
    "last byte missing": (lambda data: data[:-1], "past its end"),
}


@pytest.mark.parametrize(("damage", "message"), NOT_GGUF.values(), ids=NOT_GGUF)
def test_files_that_are_no_gguf(tmp_path: Path, tiny: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    """Interrupted downloads and saved error pages are what people really open."""
    path = tmp_path / "broken.gguf"
    path.write_bytes(damage(tiny.read_bytes()))
    assert message in _refusal(path)


def test_a_list_that_claims_no_end_is_refused_at_once(tmp_path: Path, tiny: Path) -> None:
    """The gguf library's own reader loops and allocates on such a count until memory is full."""
    data = bytearray(tiny.read_bytes())
    at = data.index(b"tokenizer.ggml.token_type") + len(b"tokenizer.ggml.token_type") + 8
    data[at : at + 8] = struct.pack("<Q", 2**60)
    path = tmp_path / "endless.gguf"
    path.write_bytes(data)
    tracemalloc.start()
    began = time.monotonic()
    _refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.monotonic() - began < 5
    assert peak < 20e6


def test_missing_and_unreadable_paths(tmp_path: Path) -> None:
    """A mistyped path is the commonest mistake."""
    with pytest.raises(ModelFileError, match="does not exist"):
        GgufFile(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="cannot be read"):
        GgufFile(tmp_path)


def test_truncated_anywhere_it_fails_with_one_sentence(tmp_path: Path, tiny: Path) -> None:
    """A download can break off at any byte; none may give another exception, a hang, or a model."""
    data = tiny.read_bytes()
    header = data.index(b"output_norm.weight") + 60
    rng = random.Random(7)
    cuts = [*range(1, 200), *rng.sample(range(200, header), 250), *rng.sample(range(header, len(data)), 50)]
    path = tmp_path / "cut.gguf"
    path.write_bytes(data)
    for cut in sorted(cuts, reverse=True):
        os.truncate(path, cut)
        _refusal(path)


def test_any_damaged_header_byte_is_survived(tmp_path: Path, tiny: Path) -> None:
    """A flipped byte either still makes a readable model or gives a ModelFileError; never anything else, never slow."""
    data = tiny.read_bytes()
    header = data.index(b"output_norm.weight") + 60
    rng = random.Random(11)
    path = tmp_path / "flipped.gguf"
    path.write_bytes(data)
    read = 0
    for at in [*range(4, 60), *rng.sample(range(60, header), 500)]:
        _patch(path, at, data[at] ^ rng.randrange(1, 256))
        began = time.monotonic()
        with contextlib.suppress(ModelFileError), GgufFile(path) as file:
            list(file.tensors())
            read += 1
        assert time.monotonic() - began < 5
        _patch(path, at, data[at])
    assert 0 < read < 400


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    """Somebody downloads it again meanwhile; a memory map would end the whole program here."""
    path = write_tiny_gguf(tmp_path / "m.gguf")
    with GgufFile(path) as file:
        os.truncate(path, 5000)
        with pytest.raises(ModelFileError, match="changed while it was read"):
            file.tensor("model.layers.1.mlp.down_proj.weight")


def test_the_largest_kind_comes_first(tmp_path: Path) -> None:
    """The model card says what a file was quantized to."""
    kinds = dict.fromkeys([DOWN, "token_embd.weight", "blk.0.ffn_down.weight"], Kind.Q8_0)
    kinds |= {f"blk.{i}.ffn_{part}.weight": Kind.Q8_0 for i in range(2) for part in ("up", "gate")}
    with GgufFile(write_tiny_gguf(tmp_path / "m.gguf", kinds=kinds)) as file:
        assert file.kinds[0] == "Q8_0"
        assert file.dims.num_attention_heads == HEADS
