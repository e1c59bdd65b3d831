"""Names, shapes and the draft vocabulary: nothing unknown, missing or contradictory gets through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.errors import CheckpointError
from engine.models.eagle_config import parse_head_config
from engine.models.eagle_tensors import check_tensors, normalise, read_d2t
from engine.models.stored_tensor import StoredTensor
from tests.tiny_eagle import DRAFT_VOCAB, IDS, SHAPES, TARGET, Tensors, head_config, head_tensors, renamed

DTYPES = {"float16": "F16", "float32": "F32", "int64": "I64", "int32": "I32", "bool": "BOOL", "uint8": "U8"}


def stored(tensors: Tensors) -> dict[str, StoredTensor]:
    """As a container would give them."""
    return {n: StoredTensor(n, DTYPES[v.dtype.name], v.shape, v.tobytes) for n, v in tensors.items()}


def check(tensors: Tensors, **config: Any) -> set[str]:
    """Names that pass all checks."""
    named = normalise(stored(tensors))
    check_tensors(named, parse_head_config(head_config(**config), TARGET, named.keys())[0])
    return set(named)


def d2t(tensors: Tensors, **config: Any) -> Any:
    """The offsets that are read."""
    named = normalise(stored(tensors))
    return read_d2t(named, parse_head_config(head_config(**config), TARGET, named.keys())[0])


NORMAL = {name.replace("midlayer", "layers.0") for name in SHAPES} | {"d2t", "t2d"}


def test_every_naming_is_one_head() -> None:
    """`midlayer`, `layers.0` and a `model.` prefix all name the same layer."""
    plain = head_tensors()
    assert check(plain) == NORMAL
    assert check(renamed(plain, "midlayer.", "layers.0.")) == NORMAL
    assert check(renamed(plain, "", "model.")) == NORMAL
    assert check(renamed(renamed(plain, "midlayer.", "layers.0."), "l", "model.l")) == NORMAL


@pytest.mark.parametrize(
    "name",
    ["verifier_norm.weight", "verifier_lm_head.weight", "model.verifier_norm.weight", "rotary_emb.inv_freq",
     "midlayer.self_attn.rotary_emb.inv_freq"],
)  # fmt: skip
def test_leftovers_of_training_are_left_out(name: str) -> None:
    """They are in real files and inference has no use for them."""
    assert check(head_tensors({name: (3, 5)})) == NORMAL


OPTIONAL = {
    "fc.bias": (16,),
    "midlayer.self_attn.q_proj.bias": (16,),
    "midlayer.self_attn.k_proj.bias": (8,),
    "midlayer.self_attn.v_proj.bias": (8,),
    "midlayer.self_attn.o_proj.bias": (16,),
    "midlayer.self_attn.q_norm.weight": (4,),
    "midlayer.self_attn.k_norm.weight": (4,),
    "embed_tokens.weight": (64, 16),
}


@pytest.mark.parametrize("norms", [{"input_norm.weight": (48,)}, {f"fc_norm.{i}.weight": (16,) for i in range(3)}])
def test_optional_tensors_are_used(norms: dict[str, tuple[int, ...]]) -> None:
    """Biases, head norms, EAGLE-3.1 norms and gpt-oss norms are all part of some public head."""
    extra = {**OPTIONAL, **norms}
    assert check(head_tensors(extra)) == NORMAL | {n.replace("midlayer", "layers.0") for n in extra}


@pytest.mark.parametrize("name", [n for n in SHAPES if n != "lm_head.weight"])
def test_required_tensors_are_required(name: str) -> None:
    """A missing weight must never be random (sglang#27908)."""
    with pytest.raises(CheckpointError, match=name.replace("midlayer", r"layers\.0") + " is missing"):
        check(head_tensors(without=(name,)))


@pytest.mark.parametrize("name", [*SHAPES, *OPTIONAL, "d2t", "t2d", "input_norm.weight"])
def test_every_shape_is_checked(name: str) -> None:
    """A tensor of another shape belongs to another config."""
    tensors = head_tensors({**OPTIONAL, "input_norm.weight": (48,)})
    tensors[name] = np.concatenate([tensors[name], tensors[name][:1]])
    with pytest.raises(CheckpointError, match=r"has shape|head_dim"):
        check(tensors)


UNKNOWN = ["fc2.weight", "midlayer.mlp.experts.0.up_proj.weight", "lm_head.bias", "norm.bias", "conv.weight",
           "midlayer.self_attn.kv_a_proj.weight", "fc_norm.3.weight", "model.model.norm.weight"]  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_tensors_are_named(name: str) -> None:
    """Loading without one would give a head that drafts noise (vllm#38111)."""
    with pytest.raises(CheckpointError, match=f"{name}.*not a tensor of an EAGLE-3 head"):
        check(head_tensors({name: (16,)}))


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("layers.1.mlp.up_proj.weight", r"more than one decoder layer \(layers\.1"),
        ("additional_layers.0.mlp.up_proj.weight", r"more than one decoder layer \(additional_layers"),
        ("mask_hidden", "P-EAGLE"),
        ("model.mask_hidden", "P-EAGLE"),
        ("midlayer.mlp.up_proj.qweight", "quantized"),
        ("midlayer.mlp.up_proj.weight_scale", "quantized"),
        ("midlayer.mlp.up_proj.weight_scale_inv", "quantized"),
        ("layers.0.mlp.up_proj.weight", "is there twice"),
        ("model.norm.weight", "is there twice"),
    ],
)
def test_other_kinds_of_heads_are_named(extra: str, words: str) -> None:
    """What cannot be used is refused by its name, not as an unknown tensor."""
    with pytest.raises(CheckpointError, match=words):
        check(head_tensors({extra: (16,)}))


def test_eagle_1_and_2_heads_are_named() -> None:
    """Their attention reads one hidden state; everything else would fit half-way."""
    shapes = {f"layers.0.self_attn.{m}_proj.weight": (16, 16) for m in "qkvo"}
    tensors = {name: np.zeros(shape, np.float16) for name, shape in shapes.items()}
    tensors |= {"fc.weight": np.zeros((16, 32), np.float16), "embed_tokens.weight": np.zeros((64, 16), np.float16)}
    with pytest.raises(CheckpointError, match="EAGLE-1/2 head, not EAGLE-3"):
        check(tensors)


@pytest.mark.parametrize("columns", [16, 32, 64, 47])
def test_fc_must_read_three_streams(columns: int) -> None:
    """The number of hidden streams is fc's width over the target's."""
    tensors = {**head_tensors(), "fc.weight": np.zeros((16, columns), np.float16)}
    with pytest.raises(CheckpointError, match=rf"fc\.weight has shape \[16, {columns}\].*3 hidden streams"):
        check(tensors)


def test_head_dim_must_fit_o_proj() -> None:
    """head_dim is wrong or missing in some configs; o_proj tells."""
    with pytest.raises(CheckpointError, match="head_dim 8 and 4 heads do not fit o_proj"):
        check(head_tensors(), head_dim=8)


@pytest.mark.parametrize(
    ("lost", "there"),
    [
        ("layers.0.self_attn.k_proj.bias", "layers.0.self_attn.q_proj.bias"),
        ("layers.0.self_attn.k_norm.weight", "layers.0.self_attn.q_norm.weight"),
        ("fc_norm.1.weight", "fc_norm.0.weight"),
    ],
)
def test_tensors_that_come_together(lost: str, there: str) -> None:
    """Half a group would be half a formula."""
    with pytest.raises(CheckpointError, match=f"{lost} is missing, although {there} is there"):
        check(head_tensors({there: (16,)}))


def test_two_norms_before_fc_exclude_each_other() -> None:
    """No trainer makes both."""
    norms = {f"fc_norm.{i}.weight": (16,) for i in range(3)}
    with pytest.raises(CheckpointError, match="both input_norm and fc_norm"):
        check(head_tensors({**norms, "input_norm.weight": (48,)}))


def test_d2t_holds_offsets() -> None:
    """target = i + d2t[i]."""
    offsets = d2t(head_tensors())
    assert offsets.dtype == np.int32
    assert np.array_equal(offsets + np.arange(DRAFT_VOCAB), IDS)


def test_d2t_may_be_left_out_for_a_whole_vocabulary() -> None:
    """Vicuna heads share the target's vocabulary (EAGLE#222)."""
    tensors = head_tensors(without=("d2t", "t2d"))
    assert d2t(tensors, draft_vocab_size=None).tolist() == [0] * 64
    with pytest.raises(CheckpointError, match="d2t is missing"):
        d2t(tensors)
    zeros = {**tensors, "d2t": np.zeros(64, np.int64), "t2d": np.ones(64, np.bool_)}
    assert d2t(zeros, draft_vocab_size=64).tolist() == [0] * 64


def broken(at: int, value: int) -> Any:
    """The right offsets but for one."""
    offsets = IDS - np.arange(DRAFT_VOCAB)
    offsets[at] = value
    return offsets


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        (broken(3, 64 - 3), "draft token 3 maps outside the vocabulary of 64"),
        (broken(3, -4), "draft token 3 maps outside"),
        (broken(0, 2**63 - 1), "draft token 0 maps outside"),
        (broken(1, IDS[0] - 1), "two draft tokens map to the same token"),
        (IDS, "token ids where offsets"),
    ],
)
@pytest.mark.parametrize("with_t2d", [True, False])
def test_wrong_d2t_is_named(offsets: Any, words: str, with_t2d: bool) -> None:
    """A wrong map gives valid tokens and no acceptance (verl-SpeCo#67)."""
    tensors = {**head_tensors(without=() if with_t2d else ("t2d",)), "d2t": np.asarray(offsets)}
    with pytest.raises(CheckpointError, match=f"d2t is wrong: .*{words}"):
        d2t(tensors)


def test_d2t_and_t2d_must_agree() -> None:
    """They are two views of one choice; a file where they differ was put together wrongly."""
    t2d = head_tensors()["t2d"]
    for other in (~t2d, np.roll(t2d, 1), np.zeros_like(t2d)):
        with pytest.raises(CheckpointError, match="disagrees with t2d"):
            d2t({**head_tensors(), "t2d": other})
    assert d2t({**head_tensors(), "t2d": t2d.astype(np.uint8)}).size == DRAFT_VOCAB
