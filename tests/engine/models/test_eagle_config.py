"""Every config layout of public heads, and one clear sentence for every config that cannot be used."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.errors import CheckpointError
from engine.models.eagle_config import EagleHeadConfig, parse_head_config
from tests.tiny_eagle import TARGET, head_config, speculators_config


def parse(values: dict[str, Any], tensors: tuple[str, ...] = ()) -> tuple[EagleHeadConfig, list[str]]:
    """Parse for the tiny target."""
    return parse_head_config(values, TARGET, tensors)


def test_flat_config() -> None:
    """EAGLE's own layout: what it leaves out has EAGLE's meaning."""
    config, _ = parse(head_config(draft_vocab_size=None, num_key_value_heads=None))
    assert config == EagleHeadConfig(
        hidden_size=16,
        target_hidden_size=16,
        intermediate_size=40,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=4,
        rms_norm_eps=1e-5,
        rope_theta=10_000.0,
        vocab_size=64,
        draft_vocab_size=64,
        taps=(2, 6, 9),
        norm_before_residual=False,
        trained_positions=2048,
    )


def test_speculators_config_is_flattened() -> None:
    """RedHat heads nest the layer; draft vocabulary and norm flags stay at the top."""
    config, _ = parse(speculators_config(norm_before_residual=True))
    flat, _ = parse(head_config(norm_before_residual=True))
    assert config == flat


def test_nvidia_config_is_flattened() -> None:
    """NVIDIA nests its flags beside nulls, with ids of layers whose output is read."""
    nested = {"eagle_aux_hidden_state_layer_ids": [1, 5, 8], "use_aux_hidden_state": True, "use_mtp_layernorm": False}
    config, _ = parse(head_config(eagle_config={**nested, "norm_before_fc": None}) | {"rope_scaling": None})
    assert config == parse(head_config())[0]


@pytest.mark.parametrize("layout", [head_config, speculators_config])
@pytest.mark.parametrize("written", [True, False])
def test_residual_rule_is_taken_as_written(layout: Any, written: bool) -> None:
    """An explicit flag is never second-guessed."""
    assert parse(layout(norm_before_residual=written))[0].norm_before_residual is written


@pytest.mark.parametrize(
    "values",
    [
        speculators_config(),
        speculators_config(architectures=None, speculators_model_type=None, speculators_config=None),
        head_config(architectures=["Eagle3DraftModel"]),
        head_config(speculators_model_type="eagle3"),
    ],
)
def test_speculators_without_residual_rule_is_open(values: dict[str, Any]) -> None:
    """vLLM assumes true, the class default is false: only measuring tells."""
    assert parse(values)[0].norm_before_residual is None


def test_explicit_head_dim_wins() -> None:
    """Qwen-like heads have head_dim != hidden / heads."""
    assert parse(head_config(head_dim=8))[0].head_dim == 8


@pytest.mark.parametrize(
    ("changes", "theta"),
    [
        ({"rope_theta": 500_000}, 500_000.0),
        ({"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 77.0}}, 77.0),
        ({"rope_theta": None, "rope_scaling": {"type": "default", "rope_theta": 78.0}}, 78.0),
        ({"rope_theta": 5.0, "rope_parameters": {"rope_theta": 77.0}}, 5.0),
    ],
)
def test_rope_theta_of_the_draft(changes: dict[str, Any], theta: float) -> None:
    """The draft's own base counts, wherever Transformers 4 or 5 wrote it; the target's is 50000."""
    config, _ = parse(head_config(**changes))
    assert config.rope_theta == theta
    assert config.rope_theta_alternatives == ()


def test_missing_rope_theta_uses_the_targets_and_says_so() -> None:
    """EAGLE's code falls back to 10000 there, so that reading stays possible."""
    config, warnings = parse(head_config(rope_theta=None))
    assert (config.rope_theta, config.rope_theta_alternatives) == (50_000.0, (10_000.0,))
    assert any("rope_theta" in w and "50000" in w for w in warnings)
    plain = parse_head_config(head_config(rope_theta=None), replace(TARGET, rope_theta=10_000.0), ())[0]
    assert plain.rope_theta_alternatives == ()


def test_trained_positions_are_a_note_only() -> None:
    """A head trained to 2048 positions works beyond, only worse; the user is told once."""
    config, warnings = parse_head_config(head_config(), replace(TARGET, context_length=8192), ())
    assert config.trained_positions == 2048
    assert any("2048 positions" in w and "8192" in w for w in warnings)
    assert parse(head_config())[1] == []
    assert parse(head_config(max_position_embeddings=None))[0].trained_positions is None


def test_norm_output_counts_only_with_fc_norm() -> None:
    """An old SpecForge wrote norm_output=true into plain EAGLE-3 heads."""
    config, warnings = parse(head_config(norm_output=True))
    assert config.norm_output is False
    assert any("norm_output" in w for w in warnings)
    config, warnings = parse(head_config(norm_output=True, fc_norm=True), ("fc_norm.0.weight",))
    assert config.norm_output is True
    assert warnings == []
    assert parse(head_config(), ("fc_norm.0.weight",))[0].norm_output is False


def test_biases_are_known_by_their_tensors() -> None:
    """Some heads have biases and no flag."""
    assert parse(head_config(), ("layers.0.self_attn.q_proj.bias",))[0].attention_bias is True
    assert parse(head_config(attention_bias=False))[0].attention_bias is False


def test_other_width_than_the_target() -> None:
    """A narrower head says how wide the target is."""
    config, _ = parse(head_config(hidden_size=8, target_hidden_size=16))
    assert (config.hidden_size, config.target_hidden_size, config.head_dim) == (8, 16, 2)


ROPE = "rope_scaling"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (head_config(hidden_size=32), "hidden size 32 .* target has 16.*another model"),
        (head_config(target_hidden_size=32), "hidden size 32"),
        (head_config(vocab_size=65), "vocabulary of 65 .* target has 64.*another model"),
        (head_config(target_vocab_size=65), "vocabulary of 65"),
        (head_config(draft_vocab_size=65), "draft_vocab_size 65 is larger"),
        (head_config(num_key_value_heads=3), "no multiple"),
        (head_config(head_dim=5), "head_dim 5 is odd"),
        (head_config(hidden_size=None), "no hidden_size"),
        (head_config(num_attention_heads=None), "no num_attention_heads"),
        (head_config(intermediate_size=None), "no intermediate_size"),
        (head_config(rms_norm_eps=None), "no rms_norm_eps"),
        (head_config(hidden_size="16"), "hidden_size in config.json is '16'"),
        (head_config(hidden_size=16.0), "hidden_size in config.json is 16.0"),
        (head_config(num_attention_heads=0), "num_attention_heads in config.json is 0"),
        (head_config(num_attention_heads=True), "num_attention_heads in config.json is True"),
        (head_config(rms_norm_eps=-1), "rms_norm_eps in config.json is -1"),
        (head_config(rope_theta=float("nan")), "rope_theta in config.json is nan"),
        (head_config(rope_theta=10**400), "rope_theta in config.json"),
        (head_config(norm_before_residual="no"), "norm_before_residual in config.json is 'no'"),
        (head_config(hidden_act="gelu"), "hidden_act is 'gelu'"),
        (head_config(**{ROPE: {"rope_type": "llama3", "factor": 8.0}}), "llama3 rotary"),
        (head_config(**{ROPE: {"type": "yarn"}}), "yarn rotary"),
        (head_config(**{ROPE: {"type": "default", "mrope_section": [1, 2, 3]}}), "mrope rotary"),
        (head_config(rope_parameters={"full_attention": {"rope_theta": 1.0}}), "per-layer rotary"),
        (head_config(rope_parameters={"partial_rotary_factor": 0.5}), "partial_rotary_factor"),
        (head_config(partial_rotary_factor=0.5), "partial_rotary_factor"),
        (head_config(rope_scaling=[1]), "rope_scaling in config.json is .1.: it must be an object"),
        (head_config(eagle_config=3), "eagle_config in config.json is 3"),
        (head_config(eagle_config={"use_aux_hidden_state": False}), "EAGLE-1/2 head, not EAGLE-3"),
        (head_config(dflash_config={}), "DFlash head, not EAGLE-3"),
        (head_config(quantization_config={"bits": 4}), "quantized"),
        (speculators_config(speculators_model_type="peagle"), "peagle head, not EAGLE-3"),
        (speculators_config(transformer_layer_config=head_config(model_type="gemma3")), "of type gemma3"),
        (head_config(norm_before_fc=True), r"norm_before_fc but input_norm\.weight is missing"),
        (head_config(fc_norm=True), r"fc_norm but fc_norm\.0\.weight is missing"),
        (head_config(attention_bias=True), "attention_bias but .*bias is missing"),
    ],
)  # fmt: skip
def test_unusable_configs_are_named(values: dict[str, Any], words: str) -> None:
    """The user learns what is wrong, not that something is."""
    with pytest.raises(CheckpointError, match=words):
        parse(values)
