"""Whether PyTorch is there, and which device and number format to compute in. Imports it only when asked."""

from __future__ import annotations

import sys
from importlib import util
from time import perf_counter
from typing import Any

from engine.errors import ConfigError

DEVICES = ("auto", "cpu", "cuda")
FORMATS = ("auto", "bfloat16", "float32")
_WORTH_IT = 1.2  # how much faster bfloat16 must be to be chosen


def require_torch() -> None:
    """Raise `ConfigError` that says how to install PyTorch if it is not there."""
    if util.find_spec("torch") is None:
        raise ConfigError(
            f"Training needs PyTorch, which is not installed: run '\"{sys.executable}\" -m pip install torch' "
            "and start again."
        )


def pick_device(name: str) -> str:
    """ "cpu" or "cuda"; "auto" takes a GPU where there is one."""
    if name not in DEVICES:
        raise ConfigError(f"Unknown device {name!r}: use one of {', '.join(DEVICES)}.")
    require_torch()
    import torch

    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ConfigError("There is no CUDA device here that PyTorch can use: leave --device out to use the processor.")
    return "cuda" if there and name != "cpu" else "cpu"


def pick_format(name: str, device: str) -> str:
    """ "bfloat16" or "float32"; "auto" tries a matrix product in both and takes the faster one."""
    if name not in FORMATS:
        raise ConfigError(f"Unknown number format {name!r}: use one of {', '.join(FORMATS)}.")
    if name != "auto":
        return name
    import torch

    if device == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    slow, fast = (_product_seconds(dtype) for dtype in (torch.float32, torch.bfloat16))
    return "bfloat16" if fast * _WORTH_IT < slow else "float32"


def _product_seconds(dtype: Any) -> float:
    """Best of a few products of the size that training does most."""
    import torch

    x, w = torch.ones(512, 512, dtype=dtype), torch.ones(1024, 512, dtype=dtype)
    best = float("inf")
    for _ in range(5):
        began = perf_counter()
        torch.nn.functional.linear(x, w)
        best = min(best, perf_counter() - began)
    return best
