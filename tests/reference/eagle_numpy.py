"""An EAGLE-3 head (arXiv 2503.01840) in float64 numpy: what `eagle_fc.onnx` and `eagle.onnx` must compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.models.eagle_checkpoint import EagleCheckpoint
from tests.reference.layers_numpy import Array, KvCache, attend, log_softmax, rms_norm, rotate, swiglu

P = "layers.0"


class EagleReference:
    """One reading of a head (`norm_before_residual` decided). `embed`: token ids [S] → the target's embeddings."""

    def __init__(self, checkpoint: EagleCheckpoint, embed: Callable[[Any], NDArray[Any]]) -> None:
        assert checkpoint.config.norm_before_residual is not None, "take one of the variants"
        self.config = checkpoint.config
        self.embed = embed
        self._t = {name: values.astype(np.float64) for name, values in checkpoint.tensors.items()}

    def cache(self) -> KvCache:
        """An empty cache."""
        return KvCache(1, self.config.num_key_value_heads, self.config.head_dim)

    def fc(self, taps: Array) -> Array:
        """The target's three hidden streams, concatenated [S, 3·H_target] → g [S, H]."""
        x = np.asarray(taps, np.float64)
        if "input_norm.weight" in self._t:
            x = self._norm("input_norm", x)
        if "fc_norm.0.weight" in self._t:
            x = np.concatenate([self._norm(f"fc_norm.{i}", part) for i, part in enumerate(np.split(x, 3, -1))], -1)
        return self._linear("fc", x)

    def forward(
        self, embeds: Array, hidden: Array, positions: NDArray[np.int64], mask: Array, cache: KvCache
    ) -> tuple[Array, Array]:
        """One draft pass over S rows after the T - S rows in the cache, which grows by them.

        Row t holds the embedding of token t + 1 [S, H], the hidden state of t [S, H] (`fc` of the target's streams,
        or an earlier output of this function) and position t; mask [S, T] is additive. Returns the log-probabilities
        of token t + 2 over the draft vocabulary [S, Vd] and the hidden states for the next pass [S, H].
        """
        embeds, hidden = np.asarray(embeds, np.float64), np.asarray(hidden, np.float64)
        normed = self._norm(f"{P}.hidden_norm", hidden)
        x = np.concatenate([self._norm(f"{P}.input_layernorm", embeds), normed], axis=-1)
        residual = normed if self.config.norm_before_residual else hidden
        h = residual + self._attention(x, positions, mask, cache)
        mlp = (self._t[f"{P}.mlp.{m}_proj.weight"] for m in ("gate", "up", "down"))
        h = h + swiglu(self._norm(f"{P}.post_attention_layernorm", h), *mlp)
        out = self._norm("norm", h)
        return log_softmax(self._linear("lm_head", out)), out if self.config.norm_output else h

    def draft(
        self, tokens: Any, hidden: Array, positions: NDArray[np.int64], mask: Array, cache: KvCache
    ) -> tuple[Array, Array]:
        """`forward` with tokens [S] in place of their embeddings."""
        return self.forward(self.embed(tokens), hidden, positions, mask, cache)

    def _attention(self, x: Array, positions: NDArray[np.int64], mask: Array, cache: KvCache) -> Array:
        c = self.config
        q = self._linear(f"{P}.self_attn.q_proj", x).reshape(len(x), c.num_attention_heads, c.head_dim)
        k, v = (
            self._linear(f"{P}.self_attn.{m}_proj", x).reshape(len(x), c.num_key_value_heads, c.head_dim) for m in "kv"
        )
        if f"{P}.self_attn.q_norm.weight" in self._t:
            q, k = self._norm(f"{P}.self_attn.q_norm", q), self._norm(f"{P}.self_attn.k_norm", k)
        q, k = rotate(q, positions, c.rope_theta), rotate(k, positions, c.rope_theta)
        return self._linear(f"{P}.self_attn.o_proj", attend(q, *cache.append(0, k, v), mask))

    def _linear(self, name: str, x: Array) -> Array:
        y = x @ self._t[f"{name}.weight"].T
        return y + self._t[f"{name}.bias"] if f"{name}.bias" in self._t else y

    def _norm(self, name: str, x: Array) -> Array:
        return rms_norm(x, self._t[f"{name}.weight"], self.config.rms_norm_eps)
