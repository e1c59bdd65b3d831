"""A llama model in a GGUF file, as dimensions and float32 weights under Hugging Face's names.

Checks the whole file against its own dimensions when it is opened, so that a conversion never starts on a file that
it cannot finish. Weights are read one at a time. Knows no graph and no tokenizer format.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NoReturn, Self

import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize
from numpy.typing import NDArray

from engine.errors import ConfigError, ModelFileError
from engine.models.dims import ModelDims
from engine.models.gguf_header import TensorInfo, read_header
from engine.models.gguf_metadata import GgufMetadata, refuse
from engine.models.gguf_tokenizer import stop_token_ids

ARCHITECTURE = "llama"
ROPE_FREQUENCIES = "rope_freqs.weight"


class GgufFile:
    """An open GGUF file. Use as a context manager; `tensor` fails after it is closed.

    `dims`: the model's dimensions; `metadata`: for the tokenizer; `kinds`: the tensor types found, most bytes first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open(path)
        try:
            header = read_header(self._file, os.fstat(self._file.fileno()).st_size, path)
            self.metadata = GgufMetadata(header.metadata, path)
            self._tensors = header.tensors
            self._check_architecture()
            self.dims = self._read_dims()
            self._names = _names(self.dims)
            self._check_tensors()
        except BaseException:
            self.close()
            raise

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the tensor types in the file, the one with most bytes first."""
        sizes: dict[str, int] = {}
        for info in self._tensors.values():
            sizes[info.kind.name] = sizes.get(info.kind.name, 0) + info.size
        return tuple(sorted(sizes, key=lambda kind: -sizes[kind]))

    @property
    def elements(self) -> int:
        """Numbers in all tensors together."""
        return sum(math.prod(info.shape) for info in self._tensors.values())

    def tensor(self, name: str) -> NDArray[np.float32]:
        """One weight by its Hugging Face name, float32, matrices [out, in]; q and k rows in half-split rotary order."""
        info = self._tensors[self._names[name][0]]
        raw = self._bytes(info)
        *rows, width = info.shape
        block, block_bytes = GGML_QUANT_SIZES[info.kind]
        with np.errstate(over="ignore", invalid="ignore"):
            values = dequantize(raw.reshape(*rows, width // block * block_bytes), info.kind).astype(np.float32)
        if not np.isfinite(values).all():
            self._fail(f"is damaged: tensor {info.name!r} holds values that are no numbers; download it again")
        if name.endswith("q_proj.weight"):
            return half_split_rows(values, self.dims.num_attention_heads)
        if name.endswith("k_proj.weight"):
            return half_split_rows(values, self.dims.num_key_value_heads)
        return values

    def tensors(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """All weights in the order of `names`, each read when it is asked for."""
        for name in self._names:
            yield name, self.tensor(name)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bytes(self, info: TensorInfo) -> NDArray[np.uint8]:
        self._file.seek(info.offset)
        raw = np.frombuffer(self._file.read(info.size), np.uint8)
        if raw.size < info.size:
            self._fail(f"was changed while it was read: tensor {info.name!r} is cut short; start again")
        return raw

    def _check_architecture(self) -> None:
        found = self.metadata.text("general.architecture")
        if found != ARCHITECTURE:
            self._fail(f"holds a model of architecture {found!r}; only {ARCHITECTURE!r} is supported")
        if self.metadata.whole("llama.expert_count", 0):
            self._fail("holds a mixture of experts, which is not supported; use a dense model")
        if 0 < self.metadata.whole("llama.attention.sliding_window", 0) < self.metadata.whole("llama.context_length"):
            self._fail("attends to a sliding window, which is not supported; use a model with full attention")
        scaling = self.metadata.text("llama.rope.scaling.type", "none")
        factor = self.metadata.number("llama.rope.scaling.factor", self.metadata.number("llama.rope.scale_linear", 1.0))
        if scaling == "none" and factor not in {0.0, 1.0}:
            scaling = f"linear, factor {factor:g}"
        if scaling != "none" or ROPE_FREQUENCIES in self._tensors:
            kind = scaling if scaling != "none" else "per frequency, as in Llama 3.1"
            self._fail(
                f"scales its rotary positions ({kind}), which is not supported; use a model without rope scaling"
            )

    def _read_dims(self) -> ModelDims:
        meta = self.metadata
        heads = meta.whole("llama.attention.head_count")
        hidden = meta.whole("llama.embedding_length")
        layers = meta.whole("llama.block_count")
        if layers > len(self._tensors):
            self._fail(f"is damaged: it claims {layers} layers and holds {len(self._tensors)} tensors")
        head_dim = meta.whole("llama.attention.key_length", hidden // heads if heads > 0 else 0)
        for key in ("llama.rope.dimension_count", "llama.attention.value_length"):
            if meta.whole(key, head_dim) != head_dim:
                self._fail(f"has {key} {meta.whole(key)} and heads of {head_dim}; they must be equal to be supported")
        vocab = self._tensors["token_embd.weight"].shape[0] if "token_embd.weight" in self._tensors else 0
        tokens = len(meta.texts("tokenizer.ggml.tokens"))
        if vocab and tokens > vocab:
            self._fail(f"is damaged: it has {tokens} tokens and embeddings for {vocab}")
        try:
            return ModelDims(
                hidden_size=hidden,
                layer_nums=layers,
                num_attention_heads=heads,
                num_key_value_heads=meta.whole("llama.attention.head_count_kv", heads),
                head_dim=head_dim,
                intermediate_size=meta.whole("llama.feed_forward_length"),
                vocab_size=vocab or tokens,
                context_length=meta.whole("llama.context_length"),
                rope_theta=meta.number("llama.rope.freq_base", 10_000.0),
                rms_norm_eps=meta.number("llama.attention.layer_norm_rms_epsilon"),
                tied_embeddings="output.weight" not in self._tensors,
                stop_token_ids=stop_token_ids(meta),
                bos_token_id=meta.whole("tokenizer.ggml.bos_token_id", -1),
            )
        except ConfigError as error:
            self._fail(f"is damaged: {str(error).rstrip('.')}")

    def _check_tensors(self) -> None:
        """Every tensor that the model needs is there in the right shape, and no tensor would be left out."""
        for gguf_name, shape in self._names.values():
            info = self._tensors.get(gguf_name)
            if info is None:
                self._fail(f"lacks the tensor {gguf_name!r}; use a complete file")
            if info.shape != shape:
                self._fail(f"has tensor {gguf_name!r} in shape {list(info.shape)}, and the model needs {list(shape)}")
        left_out = self._tensors.keys() - {gguf_name for gguf_name, _ in self._names.values()}
        if left_out:
            self._fail(f"has a tensor {min(left_out)!r} that this converter does not know; use a plain llama model")
        for info in {info.kind: info for info in self._tensors.values()}.values():
            self._check_type(info)

    def _check_type(self, info: TensorInfo) -> None:
        try:
            dequantize(np.zeros((1, GGML_QUANT_SIZES[info.kind][1]), np.uint8), info.kind)
        except NotImplementedError:
            self._fail(f"has tensor {info.name!r} of type {info.kind.name}, which is not supported; use Q8_0 or F16")

    def _fail(self, what: str) -> NoReturn:
        refuse(self.path, what)


def half_split_rows(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo GGUF's row order of llama's q and k, [heads·d, in].

    GGUF pairs rows 2i and 2i+1 of a head for rotary positions; Hugging Face, and Eyrie's graphs, pair i and i + d/2.
    """
    rows, width = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, width).swapaxes(1, 2).reshape(rows, width)


def _names(dims: ModelDims) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Hugging Face name → GGUF name and shape, of every weight of the model."""
    hidden, mlp = dims.hidden_size, dims.intermediate_size
    q, kv = dims.num_attention_heads * dims.head_dim, dims.num_key_value_heads * dims.head_dim
    names: dict[str, tuple[str, tuple[int, ...]]] = {
        "model.embed_tokens.weight": ("token_embd.weight", (dims.vocab_size, hidden))
    }
    for i in range(dims.layer_nums):
        layer, block = f"model.layers.{i}", f"blk.{i}"
        names |= {
            f"{layer}.input_layernorm.weight": (f"{block}.attn_norm.weight", (hidden,)),
            f"{layer}.self_attn.q_proj.weight": (f"{block}.attn_q.weight", (q, hidden)),
            f"{layer}.self_attn.k_proj.weight": (f"{block}.attn_k.weight", (kv, hidden)),
            f"{layer}.self_attn.v_proj.weight": (f"{block}.attn_v.weight", (kv, hidden)),
            f"{layer}.self_attn.o_proj.weight": (f"{block}.attn_output.weight", (hidden, q)),
            f"{layer}.post_attention_layernorm.weight": (f"{block}.ffn_norm.weight", (hidden,)),
            f"{layer}.mlp.gate_proj.weight": (f"{block}.ffn_gate.weight", (mlp, hidden)),
            f"{layer}.mlp.up_proj.weight": (f"{block}.ffn_up.weight", (mlp, hidden)),
            f"{layer}.mlp.down_proj.weight": (f"{block}.ffn_down.weight", (hidden, mlp)),
        }
    names["model.norm.weight"] = ("output_norm.weight", (hidden,))
    if not dims.tied_embeddings:
        names["lm_head.weight"] = ("output.weight", (dims.vocab_size, hidden))
    return names


def _open(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist; give the path of a GGUF file.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from None
    if os.fstat(file.fileno()).st_size == 0:
        file.close()
        raise ModelFileError(f"{path.name} is empty; download it again.")
    return file
