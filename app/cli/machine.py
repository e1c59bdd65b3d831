"""What this machine is: system, processor, versions. Reads files and package metadata only; loads no model."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("onnxruntime", "numpy", "tokenizers", "PySide6-Essentials")
_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8", "asimddp", "i8mm", "sve")


def versions() -> dict[str, str]:
    """Package to version; "" where it is not installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, list[str]]:
    """Name, and those instruction sets that matter to 8-bit arithmetic; only what the system says."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine(), []
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    has = set((fields.get("flags") or fields.get("Features") or "").split())
    return fields.get("model name") or platform.machine(), [flag for flag in _FLAGS if flag in has]


def threads() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def facts() -> dict[str, object]:
    """All of it, for a measurement's file."""
    name, flags = processor()
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "processor": name,
        "flags": flags,
        "threads": threads(),
        "versions": versions(),
        "implementation": sys.implementation.name,
    }
