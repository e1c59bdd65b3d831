"""A cache takes memory for the rows it holds, not for the rows it could hold."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from engine.kv_cache import KVCache

STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_rows_that_are_not_used_take_no_memory() -> None:
    """A huge page holds a whole context of one head: with those, one token took as much as eight thousand."""
    cache = KVCache(layers=30, kv_heads=3, head_dim=64, capacity=8192)
    before = resident()
    cache.data[:, :, :16] = 1
    grown = resident() - before
    assert grown < 8 << 20
    assert cache.data.nbytes > 300 << 20
