"""Whole heads from folders: every public style reads to the same head, and damage ends in one sentence."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import CheckpointError
from engine.models.dims import ModelDims
from engine.models.eagle_checkpoint import EagleCheckpoint, read_eagle_checkpoint, variants
from tests.engine.models.test_torch_file import REAL
from tests.tiny_eagle import (
    DRAFT_VOCAB,
    IDS,
    TARGET,
    Tensors,
    head_config,
    head_tensors,
    random_tensors,
    renamed,
    speculators_config,
    write_head,
)

TRAINED = Path(__file__).resolve().parents[4] / "shared" / "head" / "smollm2-135m-eagle3"
SMOLLM2 = ModelDims(
    hidden_size=576,
    layer_nums=30,
    num_attention_heads=9,
    num_key_value_heads=3,
    head_dim=64,
    intermediate_size=1536,
    vocab_size=49152,
    context_length=8192,
    rope_theta=100_000.0,
    tied_embeddings=True,
)


def read(folder: Path, config: Any = None, tensors: Tensors | None = None, **options: Any) -> EagleCheckpoint:
    """Write a tiny head and read it."""
    return read_eagle_checkpoint(write_head(folder / "head", config, tensors), TARGET, **options)


def test_a_head_reads_to_what_was_written(tmp_path: Path) -> None:
    """Values, names and types are the contract with the graph writer."""
    head = read(tmp_path)
    written = {n.replace("midlayer", "layers.0"): v for n, v in head_tensors().items() if n not in ("d2t", "t2d")}
    assert head.tensors.keys() == written.keys()
    for name, values in written.items():
        assert head.tensors[name].dtype == np.float32
        assert np.array_equal(head.tensors[name], values), name
    assert np.array_equal(head.d2t + np.arange(DRAFT_VOCAB), IDS)
    assert head.d2t.dtype == np.int32
    assert head.warnings == ()


def torch_folder(folder: Path) -> Path:
    """The head as PyTorch saves it."""
    write_head(folder)
    (folder / "model.safetensors").unlink()
    shutil.copy(REAL, folder / "pytorch_model.bin")
    return folder


STYLES: dict[str, Callable[[Path], Path]] = {
    "prefixed": lambda f: write_head(f, tensors=renamed(head_tensors(), "", "model.")),
    "layers": lambda f: write_head(f, tensors=renamed(head_tensors(), "midlayer.", "layers.0.")),
    "speculators": lambda f: write_head(
        f,
        speculators_config(norm_before_residual=False),
        {**renamed(head_tensors(), "midlayer.", "layers.0."), **random_tensors({"verifier_norm.weight": (16,)})},
    ),
    "nvidia": lambda f: write_head(
        f, head_config(eagle_config={"eagle_aux_hidden_state_layer_ids": [1, 5, 8], "use_aux_hidden_state": True})
    ),
    "torch": torch_folder,
}


@pytest.mark.parametrize("style", STYLES)
def test_every_style_is_the_same_head(tmp_path: Path, style: str) -> None:
    """Who trained a head must not change what it drafts."""
    plain = read(tmp_path)
    head = read_eagle_checkpoint(STYLES[style](tmp_path / style), TARGET)
    assert head.config == plain.config
    assert head.tensors.keys() == plain.tensors.keys()
    for name, values in plain.tensors.items():
        assert np.allclose(head.tensors[name], values, rtol=2**-8, atol=0), name  # the .bin has lm_head in bfloat16
    assert np.array_equal(head.d2t, plain.d2t)


def test_the_trained_head_reads() -> None:
    """The head that ships was made elsewhere: shapes, taps and draft vocabulary must be as its README says."""
    if not TRAINED.is_dir():
        pytest.skip("the trained head is not beside this repository (../shared/head)")
    head = read_eagle_checkpoint(TRAINED, SMOLLM2)
    c = head.config
    assert (c.hidden_size, c.head_dim, c.draft_vocab_size, c.rope_theta) == (576, 64, 8192, 100_000.0)
    assert (c.taps, c.taps_alternatives, c.norm_before_residual, c.norm_output) == ((2, 15, 27), (), False, False)
    assert head.tensors["fc.weight"].shape == (576, 1728)
    assert head.tensors["layers.0.self_attn.q_proj.weight"].shape == (576, 1152)
    assert head.tensors["lm_head.weight"].shape == (8192, 576)
    ids = head.d2t + np.arange(8192)
    assert (np.diff(ids) > 0).all()
    assert 0 <= ids[0] <= ids[-1] < 49152
    assert 2 in ids  # the end-of-turn token can be drafted
    assert head.warnings == ()
    assert len(variants(head)) == 1


def target_weights(name: str) -> Any:
    """Weights of a target, by name; each is random in its own way."""
    shapes = {"lm_head.weight": (64, 16), "model.embed_tokens.weight": (64, 16)}
    return np.random.default_rng(len(name)).normal(0, 1, shapes[name]).astype(np.float32)


@pytest.mark.parametrize(("tied", "name"), [(True, "model.embed_tokens.weight"), (False, "lm_head.weight")])
def test_missing_lm_head_is_borrowed_from_the_target(tmp_path: Path, tied: bool, name: str) -> None:
    """Right only for one vocabulary and width; tie_word_embeddings of the draft's config plays no part."""
    folder = write_head(
        tmp_path, head_config(draft_vocab_size=64), head_tensors(without=("d2t", "t2d", "lm_head.weight"))
    )
    target = replace(TARGET, tied_embeddings=tied)
    head = read_eagle_checkpoint(folder, target, target_weights)
    assert np.array_equal(head.tensors["lm_head.weight"], target_weights(name))
    with pytest.raises(CheckpointError, match="together with its target's weights"):
        read_eagle_checkpoint(folder, target)


def test_missing_lm_head_that_cannot_be_borrowed(tmp_path: Path) -> None:
    """A random lm_head gave an acceptance length of 1.00 and no error (sglang#27908)."""
    with pytest.raises(CheckpointError, match=r"lm_head\.weight is missing"):
        read(tmp_path, tensors=head_tensors(without=("lm_head.weight",)), weights=target_weights)


def embedded(values: Any) -> Tensors:
    """A head with embeddings of its own."""
    return {**head_tensors(), "embed_tokens.weight": np.asarray(values, np.float32)}


def test_own_embeddings_are_compared_not_used(tmp_path: Path) -> None:
    """Heads carry untrained or copied embeddings; the target's are right for both (TorchSpec#38)."""
    same = target_weights("model.embed_tokens.weight")
    quantized = same + np.random.default_rng(1).normal(0, 0.1, same.shape)
    for values, differs in ((same, False), (quantized, False), (-same, True), (np.zeros_like(same), True)):
        head = read(tmp_path, tensors=embedded(values), weights=target_weights)
        assert "embed_tokens.weight" not in head.tensors
        assert any("embeddings differ" in w for w in head.warnings) is differs
    assert read(tmp_path, tensors=embedded(-same)).warnings == ()


def narrow(without: tuple[str, ...] = ()) -> Tensors:
    """A head 8 wide for the target of 16."""
    shapes = {"fc.weight": (8, 48), "lm_head.weight": (DRAFT_VOCAB, 8), "norm.weight": (8,)}
    shapes |= {f"midlayer.{n}.weight": (8,) for n in ("input_layernorm", "hidden_norm", "post_attention_layernorm")}
    shapes |= {f"midlayer.self_attn.{m}_proj.weight": (8 if m == "q" else 4, 16) for m in "qkv"}
    shapes |= {"midlayer.self_attn.o_proj.weight": (8, 8), "midlayer.mlp.down_proj.weight": (8, 40)}
    shapes |= {f"midlayer.mlp.{m}_proj.weight": (40, 8) for m in ("gate", "up")}
    tensors = {**head_tensors(), **random_tensors({**shapes, "embed_tokens.weight": (64, 8)})}
    return {name: values for name, values in tensors.items() if name not in without}


def test_a_narrower_head_uses_its_own_embeddings(tmp_path: Path) -> None:
    """The one case where the target's embeddings cannot be fed."""
    config = head_config(hidden_size=8, target_hidden_size=16)
    head = read(tmp_path, config, narrow(), weights=target_weights)
    assert np.array_equal(head.tensors["embed_tokens.weight"], narrow()["embed_tokens.weight"])
    assert head.warnings == ()
    with pytest.raises(CheckpointError, match=r"embed_tokens\.weight is missing: the head is 8 wide"):
        read(tmp_path, config, narrow(without=("embed_tokens.weight",)))


def test_unfilled_d2t_is_warned_about(tmp_path: Path) -> None:
    """All zeros is a valid map of the first tokens, and also what a buffer holds that was never filled."""
    tensors = {**head_tensors(without=("t2d",)), "d2t": np.zeros(DRAFT_VOCAB, np.int64)}
    assert any("all zeros" in w for w in read(tmp_path, tensors=tensors).warnings)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (head_config(), [(False, (2, 6, 9), 10_000)]),
        (speculators_config(), [(True, (2, 6, 9), 10_000), (False, (2, 6, 9), 10_000)]),
        (
            speculators_config(eagle_aux_hidden_state_layer_ids=[1, 5, 8]),
            [(True, (1, 5, 8), 10_000), (True, (2, 6, 9), 10_000), (False, (1, 5, 8), 10_000),
             (False, (2, 6, 9), 10_000)],
        ),
        (head_config(rope_theta=None), [(False, (2, 6, 9), 50_000), (False, (2, 6, 9), 10_000)]),
    ],
)  # fmt: skip
def test_variants_are_the_plausible_readings(tmp_path: Path, config: Any, expected: list[Any]) -> None:
    """Likeliest first, each decided, all over the same weights."""
    head = read(tmp_path, config)
    found = variants(head)
    assert [(v.config.norm_before_residual, v.config.taps, v.config.rope_theta) for v in found] == expected
    assert all(v.tensors is head.tensors and len(variants(v)) == 1 for v in found)
    assert len({str(v.config) for v in found}) == len(found)


def test_errors_name_the_head_in_one_sentence(tmp_path: Path) -> None:
    """The user sees exactly this text, with nothing around it."""
    with pytest.raises(CheckpointError) as caught:
        read_eagle_checkpoint(tmp_path / "gone", TARGET)
    assert str(caught.value) == (
        "Draft head gone: config.json is missing: a head's folder holds config.json and its weights."
    )
    with pytest.raises(CheckpointError, match=r"^Draft head head: .*another model") as caught:
        read_eagle_checkpoint(write_head(tmp_path / "head"), SMOLLM2)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count(". ") == 0


POSITION = st.floats(0, 1, exclude_max=True)
DAMAGE = st.lists(st.tuples(POSITION, st.integers(0, 255)), min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(DAMAGE, st.sampled_from(["model.safetensors", "header", "config.json"]), st.none() | POSITION)
def test_damage_gives_a_head_or_a_clear_error(
    tmp_path_factory: Any, damage: list[tuple[float, int]], where: str, cut: float | None
) -> None:
    """Whatever bytes change or are lost, nothing but CheckpointError may come out."""
    folder = write_head(Path(tmp_path_factory.getbasetemp()) / "fuzz")
    path = folder / ("model.safetensors" if where == "header" else where)
    data = bytearray(path.read_bytes())
    size = 8 + int.from_bytes(data[:8], "little") if where == "header" else len(data)
    for position, value in damage:
        data[int(position * size)] = value
    path.write_bytes(data if cut is None else data[: int(cut * len(data))])
    try:
        head = read_eagle_checkpoint(folder, TARGET)
    except CheckpointError:
        return
    assert all(np.isfinite(values).all() for values in head.tensors.values())


WORDS = st.text("ab\u4e2d", max_size=5)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda value: st.lists(value, max_size=3) | st.dictionaries(WORDS, value, max_size=2),
    max_leaves=4,
)
KEYS = [*head_config(), *speculators_config(), "head_dim", "eagle_config", "rope_scaling", "rope_parameters"]
KEYS += ["eagle_aux_hidden_state_layer_ids", "norm_before_residual", "norm_output"]


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), JSON_VALUES, min_size=1, max_size=3))
def test_any_config_value_gives_a_head_or_a_clear_error(tmp_path_factory: Any, changes: dict[str, Any]) -> None:
    """Configs are written by hand and by many programs: no type may surprise the reader."""
    folder = write_head(Path(tmp_path_factory.getbasetemp()) / "config_fuzz")
    (folder / "config.json").write_text(json.dumps(head_config() | changes))
    with contextlib.suppress(CheckpointError):
        read_eagle_checkpoint(folder, TARGET)
