"""Tiny model folders with random weights and a draft head that is often right, made in well under a second.

The target's next token is nearly a function of the current one: every token has three likely successors, and the
layers, which mix in context, decide among them. The head knows the successors but not the context, so its best child
is often right, its second or third child sometimes, and now and then none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from engine.config import EngineConfig
from engine.models.convert import build_folder, convert_head
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.eagle_config import EagleHeadConfig
from engine.models.folder import read_config, write_config
from engine.models.linear import Precision

Array = NDArray[np.float32]

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = "t h, e r, o n, i n, a n, th e, Ġ the, e n, Ġ a, o r, a t, i s, in g, l l, o u, Ġ w, c h, Ġ is, o f, Ġ s, e s"
LONG = ("é", "ü", "語", "本", "😀")  # characters of several tokens; no byte behind the first is shared
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHOICES = (1.0, 0.9, 0.8)  # how strongly a token calls for each of its three successors


@cache
def tiny_tokenizer() -> Tokenizer:
    """Byte-level BPE: three specials, 256 bytes, a few merges. Not to be changed by callers."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [(a, b) for a, b in (pair.split() for pair in MERGES.split(", "))]
    words = [*SPECIALS, *alphabet, *(a + b for a, b in merges)]
    bpe = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=merges))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    return bpe


VOCAB = tiny_tokenizer().get_vocab_size()
DIMS = ModelDims(
    hidden_size=64,
    layer_nums=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    intermediate_size=128,
    vocab_size=VOCAB,
    context_length=512,
    rope_theta=10_000.0,
    stop_token_ids=(2, 0),
    bos_token_id=1,
)


def successors(seed: int) -> NDArray[np.int64]:
    """Three likely next tokens of every token, [vocab, 3].

    Readable tokens follow each other in three long cycles, a character of several tokens runs through to its end,
    and everything else leads to a readable token.
    """
    rng = np.random.default_rng(seed)
    spans = [tiny_tokenizer().encode(text).ids for text in LONG]
    inner = {token for span in spans for token in span}
    text = tiny_tokenizer().id_to_token
    plain = [i for i in range(3, VOCAB) if i not in inner and all("!" <= c <= "~" or c == "Ġ" for c in text(i))]
    starts = np.array(plain + [span[0] for span in spans])
    ends = np.array(plain + [span[-1] for span in spans])
    table = rng.choice(starts, (VOCAB, 3))
    for column in range(3):
        order = rng.permutation(len(starts))
        table[ends[order], column] = starts[np.roll(order, -1)]
    for span in spans:
        table[span[:-1]] = np.array(span[1:])[:, None]
    return table


@dataclass(frozen=True)
class TinySource:
    """Random weights of a target. `context`: how much the layers change what the current token calls for.

    `ties`: the vocabulary comes in pairs of tokens whose logits differ by about this share, so that the choice between
    the two hangs on the last digits; 0 for none. `outliers`: some channels of the norms are this many times larger.
    """

    dims: ModelDims = DIMS
    seed: int = 0
    context: float = 0.6
    ties: float = 0.0
    brittle: bool = False
    outliers: float = 1.0

    def tensor(self, name: str) -> Array:
        """One weight by its Hugging Face name; the same name gives the same values every time."""
        d, kind = self.dims, name.removesuffix(".weight").split(".")[-1]
        rng = np.random.default_rng([self.seed, *name.encode()])
        kv = d.num_key_value_heads * d.head_dim
        q, h, m = d.num_attention_heads * d.head_dim, d.hidden_size, d.intermediate_size
        if kind == "embed_tokens":
            return embeddings(d, self.seed)
        if kind == "lm_head":
            return self._lm_head(rng)
        if "norm" in kind:
            gain = rng.normal(1, 0.1, h)
            gain[rng.permutation(h)[:3]] *= self.outliers
            return gain.astype(np.float32)
        out, into = {"q_proj": (q, h), "k_proj": (kv, h), "v_proj": (kv, h), "o_proj": (h, q), "down_proj": (h, m)}.get(
            kind, (m, h)
        )
        scale = self.context if kind in ("o_proj", "down_proj") else 1.0
        weight = rng.normal(0, scale / np.sqrt(into), (out, into)).astype(np.float32)
        if self.brittle and kind == "v_proj":
            weight[0] *= 4
            weight[1 : d.head_dim] = np.outer((np.arange(1, d.head_dim) + 0.5) / 127, weight[0])
        return weight

    def _lm_head(self, rng: np.random.Generator) -> Array:
        weight = calls_for(self.dims, self.seed, successors(self.seed))
        if self.ties:
            pair(weight, rng.normal(0, self.ties, weight.shape).astype(np.float32))
        return weight


def embeddings(dims: ModelDims, seed: int) -> Array:
    """[vocab, hidden], exactly as float16 holds them."""
    rng = np.random.default_rng([seed, 1])
    return rng.normal(0, 1, (dims.vocab_size, dims.hidden_size)).astype(np.float16).astype(np.float32)


def calls_for(dims: ModelDims, seed: int, table: NDArray[np.int64]) -> Array:
    """Vocabulary projection [vocab, hidden] that answers a token's embedding with its successors."""
    embeds = embeddings(dims, seed) * np.float32(dims.hidden_size**-0.5)
    weight = np.zeros_like(embeds)
    for column, strength in enumerate(CHOICES):
        np.add.at(weight, table[:, column], np.float32(strength) * embeds)
    return weight


def pair(weight: Array, noise: Array | float) -> None:
    """Make row 2i + 1 of a vocabulary projection nearly the same as row 2i, in place."""
    half = len(weight) // 2 * 2
    weight[1:half:2] = weight[:half:2] * (1 + np.broadcast_to(noise, weight.shape)[1:half:2])


def draft_ids(dims: ModelDims, seed: int, share: float = 0.9) -> NDArray[np.int64]:
    """Target ids of the draft vocabulary, ascending."""
    rng = np.random.default_rng([seed, 2])
    return np.sort(rng.permutation(dims.vocab_size)[: int(share * dims.vocab_size)])


def head_config(dims: ModelDims, **changes: Any) -> EagleHeadConfig:
    """Sizes of a head for `dims`; every query head has its own keys and values."""
    heads = dims.hidden_size // dims.head_dim
    return replace(
        EagleHeadConfig(
            hidden_size=dims.hidden_size,
            target_hidden_size=dims.hidden_size,
            intermediate_size=96,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            head_dim=dims.head_dim,
            rms_norm_eps=1e-5,
            rope_theta=10_000.0,
            vocab_size=dims.vocab_size,
            draft_vocab_size=len(draft_ids(dims, 0)),
            taps=dims.hidden_taps,
            norm_before_residual=True,
        ),
        **changes,
    )


def teacher_head(dims: ModelDims = DIMS, seed: int = 0, skill: float = 0.9, *, pairs: bool = False) -> EagleCheckpoint:
    """A head that knows the successors of a share `skill` of all tokens, and of their `pairs` where there are some.

    Queries and keys are the embeddings, scaled up until a row attends to itself alone; values and output are the
    identity. So the embedding arrives at lm_head with a little of the hidden state.
    """
    c, rng = head_config(dims), np.random.default_rng([seed, 3])
    h, m = dims.hidden_size, c.intermediate_size
    table = successors(seed)
    wrong = rng.random(len(table)) > skill
    table[wrong] = rng.permutation(table)[wrong]
    ids = draft_ids(dims, seed)
    lm_head = calls_for(dims, seed, table)
    if pairs:
        pair(lm_head, -1e-3)
    eye = np.concatenate((np.eye(h), np.zeros((h, h))), axis=1)
    tensors: dict[str, NDArray[Any]] = {
        "fc.weight": rng.normal(0, 1 / np.sqrt(3 * h), (h, 3 * h)),
        "layers.0.input_layernorm.weight": np.ones(h),
        "layers.0.hidden_norm.weight": np.full(h, 0.3),
        "layers.0.post_attention_layernorm.weight": np.ones(h),
        "layers.0.self_attn.q_proj.weight": 2 * eye,
        "layers.0.self_attn.k_proj.weight": 2 * eye,
        "layers.0.self_attn.v_proj.weight": eye,
        "layers.0.self_attn.o_proj.weight": np.eye(h),
        "layers.0.mlp.gate_proj.weight": rng.normal(0, 0.1, (m, h)),
        "layers.0.mlp.up_proj.weight": rng.normal(0, 0.1, (m, h)),
        "layers.0.mlp.down_proj.weight": rng.normal(0, 0.1, (h, m)),
        "norm.weight": np.ones(h),
        "lm_head.weight": lm_head[ids],
    }
    d2t = (ids - np.arange(len(ids))).astype(np.int32)
    return EagleCheckpoint(c, {name: value.astype(np.float32) for name, value in tensors.items()}, d2t)


def random_head(dims: ModelDims = DIMS, seed: int = 0) -> EagleCheckpoint:
    """A head that knows nothing."""
    rng = np.random.default_rng([seed, 4])
    known = teacher_head(dims, seed)
    tensors = {
        name: value if value.ndim == 1 else rng.normal(0, value.std(), value.shape).astype(np.float32)
        for name, value in known.tensors.items()
    }
    return replace(known, tensors=tensors)


def as_mtp(head: EagleCheckpoint, dims: ModelDims = DIMS) -> EagleCheckpoint:
    """The same head with an `fc` that reads one stream, the target's last."""
    fc = np.ascontiguousarray(head.tensors["fc.weight"][:, : dims.hidden_size]) * np.float32(np.sqrt(3))
    config = replace(head.config, taps=(dims.layer_nums,))
    return replace(head, config=config, tensors={**head.tensors, "fc.weight": fc})


@dataclass(frozen=True)
class Tiny:
    """What a tiny folder is made from; equal values give equal folders."""

    precision: Precision = "float32"
    head: Literal["teacher", "random", "none"] = "teacher"
    mtp: Literal["teacher", "random", "none"] = "none"
    skill: float = 0.9
    head_precision: Precision = "int8"
    trained_positions: int | None = None
    source: TinySource = field(default_factory=TinySource)
    engine: EngineConfig = field(default_factory=EngineConfig)

    def build(self, out: Path) -> Path:
        """Write the whole folder into `out`, made if missing."""
        out.mkdir(parents=True, exist_ok=True)
        dims = self.source.dims
        build_folder(self.source, out, name="tiny", precision=self.precision, engine=self.engine)
        if self.head != "none":
            convert_head(self._head(self.head), out, dims, self.head_precision)
        if self.mtp != "none":
            convert_head(as_mtp(self._head(self.mtp), dims), out, dims, self.head_precision)
        write_config(out, read_config(out))
        write_tokenizer(out)
        return out

    def _head(self, wanted: str) -> EagleCheckpoint:
        dims, seed, pairs = self.source.dims, self.source.seed, self.source.ties > 0
        known = wanted == "teacher"
        head = teacher_head(dims, seed, self.skill, pairs=pairs) if known else random_head(dims, seed)
        return replace(head, config=replace(head.config, trained_positions=self.trained_positions))


def write_tokenizer(out: Path) -> None:
    """tokenizer.json and chat_template.jinja."""
    tiny_tokenizer().save(str(out / "tokenizer.json"))
    (out / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
