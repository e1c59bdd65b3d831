"""Decodes many conversations at once, each with a length of its own, over one key-value cache.

A slot is a row of the cache. A pass takes any set of slots with any number of new tokens each. Knows no text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.training.slot_states import SlotStates
from engine.training.torch_target import TorchTarget, rotary, rotate


class BatchDecoder:
    """`slots` conversations of at most `capacity` tokens each. `states`: the hidden states of all are kept there.

    Attributes:
        best: the likeliest next token of each slot of the last pass, [S].
    """

    def __init__(self, target: TorchTarget, slots: int, capacity: int, *, keep_states: bool = False) -> None:
        d = target.dims
        self._target = target
        self.capacity = min(capacity, d.context_length)
        # One place more than can be read: padding is written there.
        shape = (d.layer_nums, slots, d.num_key_value_heads, self.capacity + 1, d.head_dim)
        self._keys = torch.zeros(shape, dtype=target.dtype, device=target.device)
        self._values = torch.zeros_like(self._keys)
        self.lengths = np.zeros(slots, np.int64)  # tokens in the cache
        self._cos, self._sin = rotary(d, self.capacity + 1, target.device)
        self.best = torch.zeros(0, dtype=torch.int64, device=target.device)
        self.states = SlotStates(d, slots, self.capacity) if keep_states else None

    @torch.no_grad()
    def forward(self, slots: Sequence[int], tokens: Sequence[Sequence[int]]) -> Tensor:
        """Append tokens, at least one each, to some slots → logits behind the last of each, [slots, vocab] float32."""
        t, device = self._target, self._target.device
        counts = np.array([len(part) for part in tokens])
        past, width = self.lengths[list(slots)], int(counts.max())
        ids = np.zeros((len(slots), width), np.int64)
        for row, part in enumerate(tokens):
            ids[row, : len(part)] = part
        places = past[:, None] + np.arange(width)  # [S, n]
        places[np.arange(width) >= counts[:, None]] = self.capacity
        at = torch.from_numpy(places).to(device)
        rows = torch.tensor(list(slots), device=device)
        seen = int((past + counts).max())
        groups = t.dims.num_attention_heads // t.dims.num_key_value_heads
        sees = torch.arange(seen, device=device) <= at[:, :, None]  # [S, n, T]
        mask = sees.repeat(1, groups, 1)[:, None]  # [S, 1, groups · n, T]
        apart = device == "cpu" and width == 1
        heads = torch.arange(t.dims.num_key_value_heads, device=device)
        spots = (rows[:, None, None], heads[:, None], at[:, None])
        cos, sin = self._cos[at][:, :, None], self._sin[at][:, :, None]
        stream = F.embedding(torch.from_numpy(ids).to(device), t.embed).float()
        for i, layer in enumerate(t.layers):
            if self.states:
                self.states.note(i, stream)
            q, k, v = t.split(t.normed(stream, layer["attn_norm"]), layer["qkv"])
            q, k = (rotate(x.float(), cos, sin).to(t.dtype) for x in (q, k))
            self._keys[i][spots] = k.transpose(1, 2)  # [S, kv_heads, n, d]
            self._values[i][spots] = v.transpose(1, 2)
            attended = self._attend_apart(i, slots, q) if apart else self._attend(i, rows, q, mask, seen)
            stream = t.finish_layer(stream, attended, layer)
        last = stream[torch.arange(len(slots)), torch.from_numpy(counts - 1)]
        self.lengths[list(slots)] += counts
        logits = F.linear(t.normed(last, t.norm), t.lm_head).float()
        self.best = likeliest(logits)
        if self.states:
            self.states.note(len(t.layers), stream)
            self.states.put(slots, past, counts, stream, self.best)
        return logits

    def _attend(self, layer: int, rows: Tensor, q: Tensor, mask: Tensor, seen: int) -> Tensor:
        """q [S, n, heads, d] over the slots' caches → [S, n, heads · d]. Query heads of a group become rows."""
        count, width, heads, _ = q.shape
        everyone = count == self._keys.shape[1]  # slots are given in order, so these are all of them
        keys, values = (
            cache[layer, :, :, :seen] if everyone else cache[layer, rows, :, :seen]  # [S, kv_heads, T, d]
            for cache in (self._keys, self._values)
        )
        groups = heads // keys.shape[1]
        q = q.unflatten(2, (-1, groups)).permute(0, 2, 3, 1, 4).flatten(2, 3)  # [S, kv_heads, groups · n, d]
        out = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return out.unflatten(2, (groups, width)).permute(0, 3, 1, 2, 4).flatten(2)

    def _attend_apart(self, layer: int, slots: Sequence[int], q: Tensor) -> Tensor:
        """`_attend` for one new token each, slot by slot: a processor reads only the keys that there are."""
        count, _, heads, width = q.shape
        kv_heads = self._keys.shape[2]
        q = q.view(count, 1, kv_heads, heads // kv_heads, width)
        out = torch.empty_like(q)
        for row, slot in enumerate(slots):
            seen = int(self.lengths[slot]) + 1
            keys, values = (cache[layer, slot, None, :, :seen] for cache in (self._keys, self._values))
            out[row] = F.scaled_dot_product_attention(q[row], keys, values)
        return out.flatten(1).unsqueeze(1)


def likeliest(logits: Tensor) -> Tensor:
    """[N, vocab] → [N]."""
    return logits.argmax(dim=-1)


def sample(logits: Tensor, temperature: float, top_k: int, top_p: float, random: torch.Generator) -> Tensor:
    """One token a row by temperature, the `top_k` likeliest of it, and of these the likeliest that hold `top_p`."""
    values, ids = logits.topk(min(top_k, logits.shape[1]), dim=-1)
    shares = (values / temperature).softmax(dim=-1)
    before = shares.cumsum(dim=-1) - shares
    shares = shares.masked_fill(before > top_p, 0.0)
    return ids.gather(1, torch.multinomial(shares, 1, generator=random)).squeeze(1)
