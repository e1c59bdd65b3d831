"""Stands in for what setup calls; what the tests of setup share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.config import SamplingConfig
from engine.models.folder import FolderConfig, write_config
from engine.models.gguf_file import GgufFile

WARM = SamplingConfig(temperature=0.9)


class Builder:
    """Stands in for the conversion: small files, counted, and made to fail on request."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.before: Callable[[Path], None] = lambda _: None

    def __call__(self, source: GgufFile, out: Path, **options: Any) -> None:
        self.calls.append(options)
        assert (out / "tokenizer.json").is_file()
        (out / "llm.onnx").write_bytes(source.tensor("model.norm.weight").tobytes())
        self.before(out)
        if options["head"]:
            (out / "eagle.onnx").write_bytes(b"head")
        engine, sampling = options["engine"], options["sampling"]
        write_config(out, FolderConfig(options["name"], options["precision"], "cpu", source.dims, engine, sampling))


def names_in(folder: Path) -> set[str]:
    """What is in a folder."""
    return {path.name for path in folder.iterdir()}


def give_head(tmp_path: Path, data: bytes) -> Path:
    """A head that ships for the tiny model; its folder."""
    head = tmp_path / "assets" / "heads" / "tiny-head"
    head.mkdir(parents=True, exist_ok=True)
    (head / "eagle.onnx").write_bytes(data)
    return head
