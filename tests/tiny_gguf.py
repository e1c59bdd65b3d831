"""A llama of two layers in a GGUF file that the `gguf` library's own writer makes, for tests that need a model file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEXT = ["the quick brown fox jumps over the lazy dog and then the others jump too, in the end"] * 8
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, MLP = 2, 64, 4, 2, 16, 256
Weights = dict[str, NDArray[np.float32]]


def tiny_vocabulary() -> tuple[list[str], list[str]]:
    """Tokens (specials, 256 bytes, some merged words) and merges of a small byte-level BPE."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(vocab_size=317, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False),
    )
    vocab = bpe.get_vocab()
    merges = json.loads(bpe.to_str())["model"]["merges"]
    return sorted(vocab, key=vocab.__getitem__), [" ".join(pair) for pair in merges]


def tiny_weights(vocab: int, seed: int = 0, *, tied: bool = True) -> Weights:
    """Random weights under Hugging Face's names, matrices [out, in]."""
    rng = np.random.default_rng(seed)

    def matrix(out: int, into: int) -> NDArray[np.float32]:
        return (rng.standard_normal((out, into)) / np.sqrt(into)).astype(np.float32)

    def gain() -> NDArray[np.float32]:
        return (1 + 0.1 * rng.standard_normal(HIDDEN)).astype(np.float32)

    weights = {"model.embed_tokens.weight": matrix(vocab, HIDDEN), "model.norm.weight": gain()}
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        weights |= {
            f"{layer}.input_layernorm.weight": gain(),
            f"{layer}.self_attn.q_proj.weight": matrix(HEADS * HEAD_DIM, HIDDEN),
            f"{layer}.self_attn.k_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
            f"{layer}.self_attn.v_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
            f"{layer}.self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD_DIM),
            f"{layer}.post_attention_layernorm.weight": gain(),
            f"{layer}.mlp.gate_proj.weight": matrix(MLP, HIDDEN),
            f"{layer}.mlp.up_proj.weight": matrix(MLP, HIDDEN),
            f"{layer}.mlp.down_proj.weight": matrix(HIDDEN, MLP),
        }
    if not tied:
        weights["lm_head.weight"] = matrix(vocab, HIDDEN)
    return weights


def tiny_metadata() -> dict[str, Any]:
    """Every metadata key that a conversion reads."""
    tokens, merges = tiny_vocabulary()
    return {
        "general.name": "Tiny",
        "llama.block_count": LAYERS,
        "llama.context_length": 256,
        "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": MLP,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10000.0,
        "llama.rope.dimension_count": HEAD_DIM,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in SPECIALS else 1 for token in tokens],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def write_tiny_gguf(
    path: Path,
    *,
    weights: Weights | None = None,
    change: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    raw: Mapping[str, tuple[NDArray[np.uint8], Kind]] | None = None,
    architecture: str = "llama",
) -> Path:
    """Write the tiny model to `path`.

    `change`: metadata set to other values; `without`: metadata keys and GGUF tensor names left out; `kinds`: GGUF
    tensor name → type to quantize to (others stay F32); `raw`: further or other tensors as bytes.
    """
    metadata = {**tiny_metadata(), **(change or {})}
    if weights is None:
        weights = tiny_weights(len(metadata["tokenizer.ggml.tokens"]))
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in metadata.items():
        if key not in without:
            _add(writer, key, value)
    tensors = {_gguf_name(name): _interleave(name, value) for name, value in weights.items()}
    for name, value in tensors.items():
        if name not in without and name not in (raw or {}):
            kind = (kinds or {}).get(name, Kind.F32)
            writer.add_tensor(name, gguf.quantize(value, kind), raw_dtype=kind)
    for name, (data, kind) in (raw or {}).items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_array(key, value)


def _gguf_name(name: str) -> str:
    parts = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "lm_head": "output",
        "model.layers": "blk",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.o_proj": "attn_output",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for long, short in parts.items():
        name = name.replace(long, short)
    return name


def _interleave(name: str, value: NDArray[np.float32]) -> NDArray[np.float32]:
    """Put q and k rows in GGUF's order: of each head, row i and row i + d/2 become neighbours."""
    if not name.endswith(("q_proj.weight", "k_proj.weight")):
        return value
    heads = [
        value[start + i + half]
        for start in range(0, len(value), HEAD_DIM)
        for i in range(HEAD_DIM // 2)
        for half in (0, HEAD_DIM // 2)
    ]
    return np.stack(heads)
